import math

import numpy as np
import pytest

from rdpkit.verification.estimators.base import DiagnosticKind, Direction, Stop
from rdpkit.verification.estimators.event_test import best_allocation, event_test
from rdpkit.verification.estimators.privacy_claims import DpClaim, RdpClaim

CLAIM = DpClaim(epsilon=1.0, delta=1e-2)


def _scores(seed, n, m, shift):
    rng = np.random.default_rng(seed)
    return rng.normal(shift, 1.0, n), rng.normal(0.0, 1.0, m)


@pytest.mark.parametrize("shift", [1.5, -1.5])
@pytest.mark.parametrize("sizes", [(4000, 4000), (2000, 6000)])
def test_a_violation_is_rejected_in_either_direction(shift, sizes):
    found = event_test(CLAIM, *_scores(1, *sizes, shift), false_alarm_rate=0.01)
    assert found.rejected
    assert found.p_value <= 0.01
    assert found.stop is Stop.REJECTED
    assert found.samples == sizes


def test_a_violation_on_the_other_data_set_is_rejected():
    q, p = _scores(2, 4000, 4000, 1.5)
    assert event_test(CLAIM, p, q, false_alarm_rate=0.01).rejected


@pytest.mark.parametrize("seed", range(5))
def test_the_truth_is_not_rejected(seed):
    found = event_test(CLAIM, *_scores(seed, 4000, 4000, 0.5), false_alarm_rate=0.01)
    assert not found.rejected
    assert found.stop is Stop.EXHAUSTED
    assert found.p_value > 0.01


def test_rdp_claim_is_tested_at_the_pairs_that_it_implies():
    orders = np.array([2.0, 4.0, 8.0])
    claim = RdpClaim(orders=orders, values=orders / 8.0)
    assert event_test(claim, *_scores(3, 5000, 5000, 2.0), false_alarm_rate=0.01).rejected
    assert not event_test(claim, *_scores(3, 5000, 5000, 0.5), false_alarm_rate=0.01).rejected


@pytest.mark.thorough
def test_bound_and_verdict_agree_and_the_bound_is_below_the_truth():
    """Epsilon of randomised response with 3 to 1 odds is log 3 at delta 0."""
    rng = np.random.default_rng(4)
    p, q = (rng.random(8000) < 0.75).astype(float), (rng.random(8000) < 0.25).astype(float)
    for epsilon in (0.95, 1.09, 3.0):
        claim = DpClaim(epsilon=epsilon, delta=0.0)
        found = event_test(claim, p, q, false_alarm_rate=0.05, with_bound=True)
        # No claim here is so near to the bound that verdict and bound could differ.
        assert found.rejected == (found.bound.epsilon >= epsilon)
        assert 0.95 < found.bound.epsilon <= math.log(3.0)
        assert found.bound.confidence == 0.95


def test_bound_is_zero_where_nothing_is_rejected():
    found = event_test(CLAIM, *_scores(5, 500, 500, 0.0), false_alarm_rate=0.05, with_bound=True)
    assert found.bound.epsilon == 0.0


def test_event_does_not_depend_on_what_it_is_tested_on():
    p, q = _scores(6, 2000, 2000, 1.0)
    one = event_test(CLAIM, p, q, false_alarm_rate=0.05, training=0.25, with_bound=True)
    p[500:], q[500:] = p[500:][::-1] * 2.0, q[500:][::-1] * 3.0
    other = event_test(CLAIM, p, q, false_alarm_rate=0.05, training=0.25, with_bound=True)
    assert one.bound.event == other.bound.event


def test_few_scores_are_diagnosed():
    found = event_test(CLAIM, [0.0, 0.0], [0.0, 0.0], false_alarm_rate=0.01)
    kinds = {diagnostic.kind for diagnostic in found.diagnostics}
    assert not found.rejected
    assert DiagnosticKind.TOO_FEW_SAMPLES in kinds


def test_allocation_follows_the_standard_deviations():
    """A large epsilon: P(E) = e^3 Q(E), so P needs about e^-1.5 of what Q gets."""
    rng = np.random.default_rng(7)
    p, q = (rng.random(50_000) < 0.4) * 1.0, (rng.random(50_000) < 0.4 / math.exp(3.0)) * 1.0
    n, m = best_allocation(DpClaim(epsilon=3.0, delta=0.0), p, q, total=10_000)
    assert n + m == 10_000
    wanted = math.sqrt(0.4 * 0.6) / (math.exp(3.0) * math.sqrt(0.02 * 0.98))
    # Estimated from some thousand hits.
    assert n / m == pytest.approx(wanted, rel=0.15)
    reverse = best_allocation(DpClaim(epsilon=3.0, delta=0.0), q, p, total=10_000)
    assert reverse[1] / reverse[0] == pytest.approx(n / m, rel=0.15)


def test_allocation_is_never_extreme():
    n, m = best_allocation(DpClaim(epsilon=300.0, delta=0.0), [0.0, 1.0], [0.0, 1.0], total=2100)
    assert sorted((n, m)) == [100, 2000]
    assert best_allocation(CLAIM, [0.0], [0.0], total=4) == (2, 2)


def test_nan_wrong_shapes_and_wrong_arguments_raise():
    good = [0.0, 1.0, 2.0]
    with pytest.raises(ArithmeticError, match="nan"):
        event_test(CLAIM, [0.0, math.nan], good, false_alarm_rate=0.05)
    for bad in ([0.0], [[0.0, 1.0]], ["a", "b"]):
        with pytest.raises(ValueError, match="q_scores"):
            event_test(CLAIM, good, bad, false_alarm_rate=0.05)
    for wrong in ({"false_alarm_rate": 0.0}, {"training": 1.0}, {"training": math.nan}):
        with pytest.raises((ValueError, ArithmeticError), match="Expected"):
            event_test(CLAIM, good, good, **{"false_alarm_rate": 0.05, **wrong})
    with pytest.raises(ValueError, match="total"):
        best_allocation(CLAIM, good, good, total=3)
    assert Direction.P_OVER_Q.value == "p_over_q"
