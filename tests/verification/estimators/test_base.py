import json
import math

import numpy as np
import pytest

from rdpkit.verification.estimators.base import (
    ConfidenceInterval,
    Diagnostic,
    DiagnosticKind,
    Direction,
    EpsilonLowerBound,
    Estimate,
    Stop,
    ThresholdEvent,
    Verdict,
    check_outputs,
    check_scores,
)


def test_interval_contains_its_ends_and_nothing_beyond():
    interval = ConfidenceInterval(lower=1.0, upper=2.0, confidence=0.9)
    assert 1.0 in interval
    assert 2.0 in interval
    assert 0.999 not in interval
    assert 2.001 not in interval
    assert interval.width == 1.0


@pytest.mark.parametrize(("low", "high"), [(2.0, 1.0), (math.nan, 1.0), (0.0, math.nan)])
def test_interval_with_wrong_ends_raises(low, high):
    with pytest.raises(ArithmeticError, match="interval"):
        ConfidenceInterval(lower=low, upper=high, confidence=0.9)


def test_nan_estimate_raises():
    interval = ConfidenceInterval(lower=0.0, upper=1.0, confidence=0.9)
    with pytest.raises(ArithmeticError, match="nan"):
        Estimate(value=math.nan, interval=interval, samples=3, effective_samples=3.0)
    with pytest.raises(ArithmeticError):
        Estimate(value=0.5, interval=interval, samples=3, effective_samples=math.nan)


@pytest.mark.parametrize("epsilon", [math.nan, -0.1])
def test_lower_bound_is_a_nonnegative_number(epsilon):
    with pytest.raises(ArithmeticError, match="epsilon"):
        EpsilonLowerBound(epsilon=epsilon, delta=0.0, confidence=0.9, samples=(1, 1))


def test_verdict_from_nan_raises():
    with pytest.raises(ArithmeticError, match="log_e_value"):
        _verdict(log_e_value=math.nan)


def test_outcome_is_json_with_its_parts():
    event = ThresholdEvent(threshold=math.inf, above=True, direction=Direction.P_OVER_Q)
    bound = EpsilonLowerBound(
        epsilon=math.inf, delta=0.1, confidence=0.9, samples=(4, 5), event=event
    )
    diagnostic = Diagnostic(kind=DiagnosticKind.UNDERPOWERED, message="m", advice="a")
    found = _verdict(log_e_value=math.inf, bound=bound, diagnostics=(diagnostic,))
    shown = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert shown["rejected"] is True
    assert shown["stop"] == "rejected"
    assert shown["diagnostics"][0]["kind"] == "underpowered"
    assert shown["bound"]["kind"] == "lower"
    assert shown["bound"]["event"]["direction"] == "p_over_q"


def _verdict(**changed):
    return Verdict(
        rejected=True,
        false_alarm_rate=0.05,
        claim="c",
        method="m",
        samples=(4, 5),
        stop=Stop.REJECTED,
        **changed,
    )


def test_threshold_event_is_strict_on_both_sides():
    scores = np.array([-1.0, 0.0, 1.0])
    above = ThresholdEvent(threshold=0.0, above=True, direction=Direction.P_OVER_Q)
    below = ThresholdEvent(threshold=0.0, above=False, direction=Direction.Q_OVER_P)
    assert above.contains(scores).tolist() == [False, False, True]
    assert below.contains(scores).tolist() == [True, False, False]
    assert "D than on D'" in above.describe()
    assert "D' than on D" in below.describe()


def test_scores_may_be_infinite_or_integers_but_not_nan():
    assert check_scores("s", [1, -math.inf, math.inf]).dtype == np.float64
    with pytest.raises(ArithmeticError, match="nan"):
        check_scores("s", [1.0, math.nan])


@pytest.mark.parametrize("bad", [[], [[1.0]], 1.0, ["a"], [True], [1j]])
def test_scores_of_a_wrong_kind_raise(bad):
    with pytest.raises(ValueError, match="Expected s"):
        check_scores("s", bad)


def test_outputs_get_two_axes_and_nan_raises():
    assert check_outputs("o", [1.0, 2.0]).shape == (2, 1)
    with pytest.raises(ArithmeticError, match="nan"):
        check_outputs("o", [[1.0, math.nan]])
    for bad in ([], np.zeros((2, 0)), np.zeros((1, 1, 1)), [["a"]]):
        with pytest.raises(ValueError, match="Expected o"):
            check_outputs("o", bad)
    with pytest.raises(ValueError, match="at least 3"):
        check_outputs("o", [1.0, 2.0], minimum=3)
