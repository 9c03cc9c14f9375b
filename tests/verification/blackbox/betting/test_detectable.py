"""What a test would have seen."""

import math

import numpy as np
import pytest

from rdpkit.verification.blackbox.betting.detectable import _bets, _rejected, detectable_violation
from rdpkit.verification.estimators.base import Direction, ThresholdEvent
from rdpkit.verification.estimators.bets import BOLDNESS, best_bet
from rdpkit.verification.estimators.privacy_claims import DpClaim
from rdpkit.verification.estimators.sequential import SequentialTest
from rdpkit.verification.estimators.witness import event_witness

NEEDED = math.log(20.0)


@pytest.mark.parametrize("hits", [(400, 100), (40, 0), (999, 3), (300, 200)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (0.0, 0.0), (0.2, 1e-5)])
def test_the_simulated_bets_are_those_of_the_test(hits, epsilon, delta):
    event = ThresholdEvent(threshold=0.0, above=True, direction=Direction.P_OVER_Q)
    witness = event_witness(event, epsilon=epsilon, delta=delta)
    counts = [np.array([1000 - count, count]) for count in hits]
    bet = best_bet(witness, *counts, ratio=1.0, boldness=BOLDNESS)
    expected = bet._terms(witness)
    found = _bets(np.array([hits], dtype=float), 1000.0, math.exp(epsilon), delta, 0.0)
    for one, other in zip(found, expected, strict=True):
        # Newton's method stops at a gain of 1e-14, so bets are known to about the root of that.
        np.testing.assert_allclose(one[0], other, atol=1e-5)


def test_more_runs_see_smaller_violations():
    found = [
        detectable_violation(
            epsilon=1.0, delta=1e-3, runs=runs, first=256, log_needed=NEEDED, caution=0.0
        )
        for runs in (1000, 10_000)
    ]
    assert found[1].excess < found[0].excess
    assert found[1].rare_excess < found[0].rare_excess
    assert found[1].rare_excess < found[1].excess
    assert "would have been rejected with probability 0.95 (estimate)" in found[1].describe()
    assert found[1].as_dict()["kind"] == "estimate"


def test_nothing_can_be_seen_in_a_few_runs():
    found = detectable_violation(
        epsilon=8.0, delta=1e-5, runs=60, first=20, log_needed=NEEDED, caution=0.0
    )
    assert found.excess is None
    assert found.rare_excess is None
    assert found.describe().startswith("no violation of")


def test_no_violation_is_rejected_rarely():
    # P(E) = e^epsilon Q(E) + delta exactly: the simulated test may reject at most 1 in 20 times;
    # 40 of 400 or more have a probability below 1e-4.
    q, epsilon, delta = 0.2, 0.5, 0.01
    share = _rejected(
        (math.exp(epsilon) * q + delta, q),
        slope=math.exp(epsilon),
        delta=delta,
        plan=[100] * 40,
        first=100,
        log_needed=NEEDED,
        caution=0.0,
    )
    assert share <= 0.1


@pytest.mark.thorough
def test_the_test_itself_rejects_what_is_said_to_be_seen():
    # The stated power is 0.95; 15 of 20 or fewer have a probability below 1e-3.
    epsilon, delta, runs = 1.0, 0.01, 6000
    found = detectable_violation(
        epsilon=epsilon, delta=delta, runs=runs, first=256, log_needed=NEEDED, caution=0.0
    )
    rejected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p, q = (
            (rng.random(runs) < share).astype(float) for share in (delta + found.rare_excess, 0.0)
        )
        test = SequentialTest(DpClaim(epsilon=epsilon, delta=delta), false_alarm_rate=0.05)
        test.update(p, q)
        rejected += test.outcome().rejected
    assert rejected > 15
