import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm

from rdpkit.verification.estimators.privacy_claims import DpClaim, ProfileClaim, RdpClaim

SIGMA = 2.0
ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 16.0])


def _gaussian_delta(epsilon):
    """Of a Gaussian mechanism with sensitivity 1, in closed form (Balle and Wang 2018)."""
    return norm.cdf(0.5 / SIGMA - epsilon * SIGMA) - math.exp(epsilon) * norm.cdf(
        -0.5 / SIGMA - epsilon * SIGMA
    )


CLAIMS = [
    DpClaim(epsilon=0.5, delta=_gaussian_delta(0.5)),
    ProfileClaim(epsilons=[0.1, 0.5, 1.0], deltas=[_gaussian_delta(e) for e in (0.1, 0.5, 1.0)]),
    RdpClaim(orders=ORDERS, values=ORDERS / (2.0 * SIGMA**2)),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=["dp", "profile", "rdp"])
def test_true_claims_imply_only_true_pairs(claim):
    epsilons, deltas = claim.supporting_lines()
    assert epsilons.shape == deltas.shape
    for epsilon, delta in zip(epsilons, deltas):
        assert delta >= _gaussian_delta(float(epsilon)) - 1e-12


@pytest.mark.parametrize("claim", CLAIMS, ids=["dp", "profile", "rdp"])
def test_a_claim_goes_to_workers(claim):
    claim.supporting_lines()
    # What joblib does; nothing is loaded that was not dumped here.
    back = pickle.loads(pickle.dumps(claim))
    assert back.describe() == claim.describe()
    for one, other in zip(back.supporting_lines(), claim.supporting_lines()):
        assert (one == other).all()


def test_curve_becomes_a_claim_and_infinite_values_are_left_out():
    claim = RdpClaim(orders=[2.0, 4.0], values=[0.5, math.inf])
    assert claim.orders.tolist() == [2.0]
    assert claim.describe() == "(2, 0.5)-RDP"
    with pytest.raises(ValueError, match="finite at one order"):
        RdpClaim(orders=[2.0], values=[math.inf])


@pytest.mark.thorough
def test_supporting_lines_are_computed_once_and_cannot_be_changed():
    claim = RdpClaim(orders=[2.0], values=[0.5])
    first, second = claim.supporting_lines(), claim.supporting_lines()
    assert first[0] is second[0]
    with pytest.raises(ValueError, match="read-only"):
        first[1][0] = 0.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: DpClaim(epsilon=-1.0, delta=0.0),
        lambda: DpClaim(epsilon=math.nan, delta=0.0),
        lambda: DpClaim(epsilon=351.0, delta=0.0),
        lambda: DpClaim(epsilon=1.0, delta=1.0),
        lambda: DpClaim(epsilon=1.0, delta=math.nan),
        lambda: ProfileClaim(epsilons=[], deltas=[]),
        lambda: ProfileClaim(epsilons=[1.0, 2.0], deltas=[0.1]),
        lambda: ProfileClaim(epsilons=[1.0], deltas=[math.nan]),
        lambda: RdpClaim(orders=[1.0], values=[0.5]),
        lambda: RdpClaim(orders=[2.0, 3.0], values=[0.5]),
        lambda: RdpClaim(orders=[2.0], values=[math.nan]),
        lambda: RdpClaim(orders=[2.0], values=[-0.1]),
    ],
)
def test_what_is_no_claim_raises(make):
    with pytest.raises((ValueError, ArithmeticError), match="Expected"):
        make()
