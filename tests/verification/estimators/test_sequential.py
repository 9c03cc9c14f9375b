"""Tests that may stop at any time: their error rate, what clears a claim, and diagnostics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, norm

from rdpkit.verification.estimators import sequential
from rdpkit.verification.estimators.base import DiagnosticKind, Stop
from rdpkit.verification.estimators.bets import best_bet, event_witness
from rdpkit.verification.estimators.event_search import best_allocation, best_event
from rdpkit.verification.estimators.privacy_claims import DpClaim, ProfileClaim, RdpClaim
from rdpkit.verification.estimators.sequential import SequentialTest, largest_excess

ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 16.0])
# A Gaussian mechanism with noise 2 and sensitivity 1: (1, 0.0071)-DP by its closed form.
TRUE = {
    "dp": DpClaim(epsilon=1.0, delta=0.0072),
    "profile": ProfileClaim(epsilons=[1.0, 1.5], deltas=[0.0072, 1.2e-3]),
    "rdp": RdpClaim(orders=ORDERS, values=ORDERS / 8.0),
}


def _run(claim, seed, *, shift, most, batch=2000, rate=0.01):
    rng = np.random.default_rng(seed)
    test = SequentialTest(claim, false_alarm_rate=rate)
    while sum(test.samples) < 2 * most:
        p, q = rng.normal(shift, 1.0, batch), rng.normal(0.0, 1.0, batch)
        if test.update(p, q) is not None:
            break
    return test


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_violation_is_rejected_in_either_direction(name, sign):
    test = _run(TRUE[name], 1, shift=sign, most=20_000)
    outcome = test.outcome()
    assert outcome.rejected
    assert outcome.stop is Stop.REJECTED
    assert outcome.log_e_value >= math.log(100.0)
    assert outcome.witness
    assert test.clarity > 0.0


@pytest.mark.parametrize("clarity", [1e6, -1e6])
def test_of_two_witnesses_the_clearer_is_bet_on(monkeypatch, clarity):
    def another(claim, p, q, *, ratio):
        found = best_event(claim, p, q, ratio=ratio)
        return event_witness(found.event, epsilon=found.epsilon, delta=found.delta), clarity

    monkeypatch.setattr(sequential, "best_renyi_witness", another)
    test = _run(TRUE["rdp"], 1, shift=0.5, most=4000)
    assert (test.clarity == clarity) == (clarity > 0.0)


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("seed", range(3))
def test_the_truth_is_not_rejected(name, seed):
    outcome = _run(TRUE[name], seed, shift=0.5, most=20_000).outcome()
    assert not outcome.rejected
    assert outcome.log_e_value < math.log(100.0)


def test_a_claim_far_from_false_is_cleared():
    test = _run(DpClaim(epsilon=1.0, delta=0.1), 3, shift=0.1, most=200_000)
    assert test.clarity < 0.0
    outcome = test.outcome()
    assert outcome.stop is Stop.CLEARED
    assert not outcome.rejected
    assert outcome.diagnostics == ()
    assert sum(outcome.samples) < 100_000


@pytest.mark.parametrize(
    "batches", [[(100, 100)] * 60, [(1, 1)] * 300 + [(5700, 5700)], [(6000, 2000)], [(99, 2000)]]
)
def test_batches_of_any_sizes_are_looked_at_in_full(batches):
    rng = np.random.default_rng(4)
    test = SequentialTest(TRUE["dp"], false_alarm_rate=1e-9)
    for first, second in batches:
        test.update(rng.normal(0.5, 1.0, first), rng.normal(0.0, 1.0, second))
    assert test.samples == tuple(map(sum, zip(*batches)))
    assert math.isfinite(test.log_e_value)


def test_scores_after_a_stop_change_nothing():
    test = _run(TRUE["dp"], 1, shift=3.0, most=20_000)
    before = test.samples, test.log_e_value
    assert test.update([0.0], [0.0]) is Stop.REJECTED
    assert (test.samples, test.log_e_value) == before


def test_atoms_and_infinite_scores_are_tested():
    """An output that only one data set can have."""
    rng = np.random.default_rng(6)
    test = SequentialTest(DpClaim(epsilon=1.0, delta=0.01), false_alarm_rate=0.01)
    stop = None
    while stop is None and sum(test.samples) < 40_000:
        p = np.where(rng.random(1000) < 0.05, math.inf, 0.0)
        stop = test.update(p, np.zeros(1000))
    assert stop is Stop.REJECTED


def test_few_and_equal_scores_are_diagnosed():
    test = SequentialTest(DpClaim(epsilon=1.0, delta=1e-3), false_alarm_rate=0.01)
    test.update(np.zeros(5), np.zeros(5))
    kinds = {diagnostic.kind for diagnostic in test.outcome().diagnostics}
    assert DiagnosticKind.TOO_FEW_SAMPLES in kinds
    assert DiagnosticKind.NO_SEPARATION in kinds


def test_nan_and_wrong_shapes_raise_and_do_not_count():
    test = SequentialTest(DpClaim(epsilon=1.0, delta=1e-3), false_alarm_rate=0.01)
    with pytest.raises(ArithmeticError, match="p_scores"):
        test.update([math.nan], [1.0])
    with pytest.raises(ArithmeticError, match="q_scores"):
        test.update([1.0], [math.nan])
    for bad in ([], [[1.0]], ["a"]):
        with pytest.raises(ValueError, match="q_scores"):
            test.update([1.0], bad)
    assert test.samples == (0, 0)


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match="false_alarm_rate"):
        SequentialTest(DpClaim(epsilon=1.0, delta=0.0), false_alarm_rate=0.0)
    with pytest.raises((ValueError, TypeError), match="claim"):
        SequentialTest("DP", false_alarm_rate=0.1)


def test_small_batches_share_a_bet(monkeypatch):
    """A bet is computed once for some thirty scores, and again with every new witness."""
    made = []

    def counted(*args, **kwargs):
        made.append(kwargs["ratio"])
        return best_bet(*args, **kwargs)

    monkeypatch.setattr(sequential, "best_bet", counted)
    test = _run(TRUE["dp"], 1, shift=0.5, most=2000, batch=1)
    assert sum(test.samples) == 4000
    # 1750 scores a side after the first lesson, and a lesson at each growth by 1.3.
    assert 1750 // 32 <= len(made) <= 1750 // 32 + 10


def test_a_bet_is_made_for_the_sizes_of_its_batch():
    """The capital is the product of fair factors whatever the sizes: here they change each time."""
    rng = np.random.default_rng(1)
    test = SequentialTest(TRUE["dp"], false_alarm_rate=0.01)
    for turn in range(600):
        sizes = (1 + turn % 3, 1 + turn % 5)
        if test.update(rng.normal(2.0, 1.0, sizes[0]), rng.normal(0.0, 1.0, sizes[1])):
            break
    assert test.outcome().rejected


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
    assert best_allocation(TRUE["dp"], [0.0], [0.0], total=4) == (2, 2)
    with pytest.raises(ValueError, match="total"):
        best_allocation(TRUE["dp"], [0.0], [0.0], total=3)


def _true_excess(shift, epsilon, delta):
    """Largest P(E) - e^epsilon Q(E) - delta over thresholds of N(shift, 1) against N(0, 1)."""
    t = np.linspace(-8.0, 8.0, 4001)
    return float((norm.sf(t - shift) - math.exp(epsilon) * norm.sf(t)).max()) - delta


@pytest.mark.parametrize("shift", [0.0, 0.5, -0.5, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_bound_is_above_the_truth_and_comes_near_it(shift, seed):
    rng = np.random.default_rng(seed)
    p, q = rng.normal(shift, 1.0, 40_000), rng.normal(0.0, 1.0, 40_000)
    found = largest_excess(DpClaim(epsilon=0.5, delta=0.05), p, q, confidence=0.999)
    truth = _true_excess(abs(shift), 0.5, 0.05)
    assert truth <= found <= truth + 0.12


def test_equal_scores_clear_a_loose_claim_and_not_a_tight_one():
    p, q = np.zeros(5000), np.zeros(5000)
    assert largest_excess(DpClaim(epsilon=1.0, delta=0.1), p, q, confidence=0.99) < 0.0
    assert largest_excess(DpClaim(epsilon=0.0, delta=0.0), p, q, confidence=0.99) > 0.0


@pytest.mark.parametrize("far", [7.0, -7.0])
def test_an_atom_on_one_side_only_is_seen(far):
    p = np.concatenate([np.full(300, far), np.zeros(4700)])
    found = largest_excess(DpClaim(epsilon=1.0, delta=0.01), p, np.zeros(5000), confidence=0.99)
    # P(score = far) is 0.06, its estimate; Q never has it.
    assert found > 0.05 - 0.01


@pytest.mark.parametrize("size", [1, 2])
def test_of_few_scores_the_bound_is_known(size):
    """Above them all P is 1 - (0.1 / 8 / size)^(1 / size) at most: eight bands, a rank a score."""
    scores, claim = np.zeros(size), DpClaim(epsilon=1.0, delta=0.1)
    found = largest_excess(claim, scores, scores, confidence=0.9)
    least = (0.1 / 8.0 / size) ** (1.0 / size)
    assert found == pytest.approx(1.0 - least - 0.1, rel=1e-9)


def at_each_threshold(scores, thresholds, failure, *, upper):
    """Bounds on P(score > t): for each t the best of those of the order statistics beside it."""
    n, found = len(scores), []
    ranks = set(np.round(np.geomspace(1.0, n, n)))
    for t in thresholds:
        best = 1.0 if upper else 0.0
        for place, score in enumerate(sorted(scores)):
            rank, each = n - place, failure / len(ranks)
            if rank in ranks and upper and score <= t:
                best = min(best, beta.isf(each, rank, n - rank + 1))
            if rank in ranks and not upper and score > t:
                best = max(best, beta.ppf(each, rank, n - rank + 1))
        found.append(best)
    return np.array(found)


@pytest.mark.parametrize("seed", range(6))
def test_between_scores_the_bound_is_that_of_the_scores_beside(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.integers(0, 6, 12), rng.integers(0, 5, 9)
    thresholds, wanted = np.arange(-6.5, 7.0, 0.5), -math.inf
    for sign in (1, -1):
        for first, second in ((sign * p, sign * q), (sign * q, sign * p)):
            above = at_each_threshold(first, thresholds, 0.5 / 8.0, upper=True)
            below = at_each_threshold(second, thresholds, 0.5 / 8.0, upper=False)
            wanted = max(wanted, float((above - math.exp(0.5) * below).max()) - 0.05)
    found = largest_excess(DpClaim(epsilon=0.5, delta=0.05), p, q, confidence=0.5)
    assert found == pytest.approx(wanted, rel=1e-9)


def test_nan_raises():
    with pytest.raises(ArithmeticError, match="nan"):
        largest_excess(DpClaim(epsilon=1.0, delta=0.0), [math.nan], [0.0], confidence=0.9)
    with pytest.raises(ValueError, match="confidence"):
        largest_excess(DpClaim(epsilon=1.0, delta=0.0), [0.0], [0.0], confidence=1.0)
