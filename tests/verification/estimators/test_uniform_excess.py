import math

import numpy as np
import pytest
from scipy.stats import norm

from rdpkit.verification.estimators.privacy_claims import DpClaim, RdpClaim
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


def test_an_atom_on_one_side_only_is_seen():
    p = np.concatenate([np.full(300, 7.0), np.zeros(4700)])
    found = largest_excess(DpClaim(epsilon=1.0, delta=0.01), p, np.zeros(5000), confidence=0.99)
    # P(score = 7) is 0.06, its estimate; Q never has it.
    assert found > 0.05 - 0.01


@pytest.mark.thorough
def test_bound_falls_with_more_samples():
    rng = np.random.default_rng(1)
    claim = RdpClaim(orders=[2.0, 4.0], values=[0.25, 0.5])
    found = [
        largest_excess(claim, rng.normal(0.5, 1.0, n), rng.normal(0.0, 1.0, n), confidence=0.99)
        for n in (100, 1000, 20_000)
    ]
    assert found[0] > found[1] > found[2]


def test_one_score_a_side_says_nothing():
    assert largest_excess(DpClaim(epsilon=1.0, delta=0.1), [0.0], [0.0], confidence=0.9) > 0.5


def test_nan_raises():
    with pytest.raises(ArithmeticError, match="nan"):
        largest_excess(DpClaim(epsilon=1.0, delta=0.0), [math.nan], [0.0], confidence=0.9)
    with pytest.raises(ValueError, match="confidence"):
        largest_excess(DpClaim(epsilon=1.0, delta=0.0), [0.0], [0.0], confidence=1.0)
