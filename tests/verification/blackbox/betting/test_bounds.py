"""Bounds that hold whenever a test stops, and what a test would have seen."""

import math
from functools import partial

import numpy as np
import pytest

from rdpkit.verification.blackbox.betting.bounds import (
    CountedEvent,
    _bets,
    _SimulatedTest,
    best_event,
    detectable_violation,
    epsilon_of,
    highest_rate,
    largest_bound,
    lowest_rate,
    mu_of,
)
from rdpkit.verification.estimators.base import Direction, ThresholdEvent
from rdpkit.verification.estimators.bets import BOLDNESS, best_bet, event_witness
from rdpkit.verification.estimators.privacy_claims import DpClaim
from rdpkit.verification.estimators.sequential import SequentialTest

EPSILON = partial(epsilon_of, 0.0)
EVENT = ThresholdEvent(threshold=0.5, above=True, direction=Direction.P_OVER_Q)


def counted(share, other, trials, event=EVENT, choice=1):
    hits = [round(share * trials), round(other * trials)]
    return CountedEvent(column=0, event=event, choice=choice, hits=hits, trials=trials)


def test_they_approach_the_truth_from_below():
    found = [
        largest_bound([counted(0.6, 0.2, n)], partial(epsilon_of, 0.1), failure=0.05)[0]
        for n in (100, 10_000, 1_000_000)
    ]
    assert found == sorted(found)
    assert found[-1] <= math.log(0.5 / 0.2)
    assert found[-1] == pytest.approx(math.log(0.5 / 0.2), abs=0.02)


def test_the_best_of_several_events_and_its_direction():
    back = ThresholdEvent(threshold=0.5, above=False, direction=Direction.Q_OVER_P)
    events = [counted(0.3, 0.2, 10_000), counted(0.1, 0.7, 10_000, event=back, choice=2)]
    epsilon, _, event = largest_bound(events, EPSILON, failure=0.05)
    assert event is back
    assert 1.5 < epsilon < math.log(7.0)
    assert largest_bound(events, mu_of, failure=0.05)[2] is back


def test_nothing_seen_gives_zero():
    for events in ([], [counted(0.5, 0.5, 0)], [counted(0.5, 0.5, 1000)]):
        for of in (EPSILON, mu_of):
            assert largest_bound(events, of, failure=0.05) == (0.0, (0, 0), None)


def test_later_choices_get_smaller_parts_of_the_failure():
    bounds = [
        largest_bound([counted(0.6, 0.2, 500, choice=k)], EPSILON, failure=0.05)[0]
        for k in (1, 2, 5)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert len(set(bounds)) == 3


def test_mu_of_a_gaussian_mechanism():
    # Scores N(1, 1) and N(0, 1): the mechanism is 1-GDP, and every threshold attains it.
    rng = np.random.default_rng(1)
    p, q = rng.normal(1.0, 1.0, 50_000), rng.normal(0.0, 1.0, 50_000)
    _, event = best_event(p[:1000], q[:1000], of=mu_of)
    found = CountedEvent(column=0, event=event, choice=1)
    found.count(p[1000:, None], q[1000:, None])
    assert 0.9 < largest_bound([found], mu_of, failure=0.05)[0] <= 1.0


def test_the_event_is_chosen_for_the_bound():
    # At delta 0 a likelihood ratio in the tail is worth most, if it has been seen often enough.
    rng = np.random.default_rng(2)
    p, q = rng.normal(1.0, 1.0, 50_000), rng.normal(0.0, 1.0, 50_000)
    bounds = []
    for size in (500, 50_000):
        bound, event = best_event(p[:size], q[:size], of=EPSILON)
        bounds.append(bound)
    assert bounds[0] < bounds[1]
    # The ratio of the tails at the threshold is at least e^(threshold - 1/2).
    assert bounds[1] > 1.5
    assert event.threshold > 1.0 or event.threshold < 0.0


def test_the_bounds_enclose_the_share_and_tighten():
    widths = []
    for trials in (10, 1000, 100_000):
        low = float(lowest_rate(np.array([0.3 * trials]), trials, 0.01)[0])
        high = float(highest_rate(np.array([0.3 * trials]), trials, 0.01)[0])
        assert 0.0 <= low < 0.3 < high <= 1.0
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.02


def test_ends():
    assert float(lowest_rate(np.array([0.0]), 100, 0.05)[0]) == 0.0
    assert float(highest_rate(np.array([100.0]), 100, 0.05)[0]) == 1.0
    assert float(lowest_rate(np.array([0.0]), 0, 0.05)[0]) == 0.0
    # 100 hits of 100: Clopper-Pearson's bound is larger, because it holds at one time only.
    assert 0.9 < float(lowest_rate(np.array([100.0]), 100, 0.05)[0]) < 0.05 ** (1 / 100)


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.9])
def test_they_hold_at_all_times_together(probability):
    # 400 walks of 1,000 steps; each bound fails with probability at most 0.05. More than 40 of 400
    # failures have a probability below 1e-4.
    rng = np.random.default_rng(1)
    hits = np.cumsum(rng.random((400, 1000)) < probability, axis=1).astype(float)
    looks = np.unique(np.geomspace(1, 1000, 40).astype(int))
    below = np.zeros(400, dtype=bool)
    above = np.zeros(400, dtype=bool)
    for n in looks:
        below |= lowest_rate(hits[:, n - 1], n, 0.05) > probability
        above |= highest_rate(hits[:, n - 1], n, 0.05) < probability
    assert below.sum() <= 40
    assert above.sum() <= 40


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
    test = _SimulatedTest(math.exp(epsilon), delta, 4000, 100, NEEDED, 0.0)
    assert test.rejected(math.exp(epsilon) * q + delta, q) <= 0.1


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
