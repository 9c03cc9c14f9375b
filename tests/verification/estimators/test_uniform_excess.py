import math

import numpy as np
import pytest
from scipy.stats import beta, norm

from rdpkit.verification.estimators.privacy_claims import DpClaim
from rdpkit.verification.estimators.uniform_excess import largest_excess


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
