import math

import numpy as np
import pytest

from rdpkit.verification.estimators.base import Density, DiagnosticKind
from rdpkit.verification.estimators.importance import GaussianDensity, MixtureDensity, Proposal
from rdpkit.verification.estimators.renyi_importance import gaussian_proposal, renyi_importance

P = GaussianDensity(mean=[1.0, 0.0], std=1.5)
Q = GaussianDensity(mean=[0.0, 0.5], std=1.5)
ORDERS = np.array([1.01, 2.0, 8.0, 64.0, 512.0])


class Laplace:
    """Of scale 1, around a centre."""

    def __init__(self, centre):
        self.centre = centre

    def sample(self, rng, n):
        return rng.laplace(self.centre, 1.0, (n, 1))

    def log_density(self, x):
        return -np.abs(x[:, 0] - self.centre) - math.log(2.0)


class Bits:
    """One bit, 1 with a probability."""

    def __init__(self, p):
        self.p = p

    def sample(self, rng, n):
        return (rng.random((n, 1)) < self.p).astype(float)

    def log_density(self, x):
        with np.errstate(divide="ignore"):
            return np.where(x[:, 0] == 1.0, np.log(self.p), np.log1p(-self.p))


def _truth(order, distance=1.25, std=1.5):
    return order * distance / (2.0 * std**2)


def estimates(p, q, orders, *, seed, samples=20_000, **options):
    return renyi_importance(
        p, q, orders=orders, samples=samples, confidence=0.9999, rng=np.random.default_rng(seed),
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_gaussians_at_every_order(seed):
    found = estimates(P, Q, ORDERS, seed=seed, samples=3000, proposal=gaussian_proposal(P, Q))
    for order, estimate in zip(ORDERS, found):
        assert _truth(order) in estimate.interval
        assert estimate.value in estimate.interval
        # The mean is within a tenth, and the divergence is its logarithm over (order - 1).
        assert estimate.interval.width < 0.2 / (order - 1.0)
        assert estimate.effective_samples > 1000
        assert estimate.diagnostics == ()


def test_without_a_bound_upper_ends_are_infinite_and_lower_ends_hold():
    found = estimates(P, Q, ORDERS, seed=1, samples=3000)
    for order, estimate in zip(ORDERS, found):
        kinds = [diagnostic.kind for diagnostic in estimate.diagnostics]
        assert DiagnosticKind.UNBOUNDED_WEIGHTS in kinds
        assert estimate.interval.upper == math.inf
        assert estimate.interval.lower <= _truth(order)
    # P and Q hardly ever visit where order 512 lives.
    assert DiagnosticKind.LOW_EFFECTIVE_SAMPLE_SIZE in [d.kind for d in found[-1].diagnostics]


def test_mixtures_with_a_proposal_that_covers_them():
    """A sampled Gaussian: p = 0.9 N(0, 1) + 0.1 N(1, 1) against q = N(0, 1), at order 4.

    p^4 q^-3 is a sum of five Gaussians around 0, ..., 4 with weights
    C(4, k) 0.9^(4-k) 0.1^k e^(k(k-1)/2): the proposal with these weights is exact.
    """
    parts = tuple(GaussianDensity(mean=[float(k)], std=1.0) for k in range(5))
    weights = [
        math.comb(4, k) * 0.9 ** (4 - k) * 0.1**k * math.exp(k * (k - 1) / 2) for k in range(5)
    ]
    total = sum(weights)
    p = MixtureDensity(parts=parts[:2], weights=[0.9, 0.1])
    proposal = Proposal(
        density=MixtureDensity(parts=parts, weights=weights), log_bound=math.log(total)
    )
    (estimate,) = estimates(p, parts[0], [4.0], seed=3, proposal=lambda order: proposal)
    assert math.log(total) / 3.0 in estimate.interval
    assert estimate.interval.width < 0.02


def test_discrete_outputs_and_an_impossible_one():
    truth = math.log(0.75**3 / 0.25**2 + 0.25**3 / 0.75**2) / 2.0
    (estimate,) = estimates(Bits(0.75), Bits(0.25), [3.0], seed=4, log_ratio_bound=math.log(3.0))
    assert truth in estimate.interval
    # p = 0 somewhere is nothing; q = 0 where p > 0 is an infinite divergence.
    (one_sided,) = estimates(Bits(1.0), Bits(0.5), [2.0], seed=5, log_ratio_bound=math.log(2.0))
    assert math.log(2.0) in one_sided.interval
    with pytest.raises(ArithmeticError, match="inf"):
        estimates(Bits(0.5), Bits(1.0), [2.0], seed=5)


def test_equal_distributions_have_no_divergence():
    (estimate,) = estimates(P, P, [8.0], seed=6, samples=1000, proposal=gaussian_proposal(P, P))
    assert estimate.interval.lower == 0.0
    assert estimate.value == pytest.approx(0.0, abs=1e-12)


def test_a_false_bound_is_found_out():
    with pytest.raises(ValueError, match="log_ratio_bound is wrong"):
        estimates(P, Q, [8.0], seed=7, samples=2000, log_ratio_bound=0.1)


def test_nan_densities_and_wrong_arguments_raise():
    class Bad(Laplace):
        def log_density(self, x):
            return np.full(len(x), math.nan)

    rng = np.random.default_rng(8)
    good = {"orders": [2.0], "samples": 100, "confidence": 0.9, "rng": rng}
    with pytest.raises(ArithmeticError, match="nan"):
        renyi_importance(Bad(0.0), Laplace(0.0), **good)
    for wrong in ({"orders": [1.0]}, {"samples": 0}, {"confidence": 1.0}, {"log_ratio_bound": -1}):
        with pytest.raises(ValueError, match="Expected"):
            renyi_importance(P, Q, **{**good, **wrong})
    with pytest.raises(ValueError, match="standard deviation"):
        gaussian_proposal(P, GaussianDensity(mean=[0.0, 0.0], std=1.0))
    with pytest.raises(ValueError, match="dimension"):
        gaussian_proposal(P, GaussianDensity(mean=[0.0], std=1.5))
    with pytest.raises(ValueError, match="log_bound"):
        Proposal(density=P, log_bound=math.nan)
    with pytest.raises(ValueError, match="weights"):
        MixtureDensity(parts=(P, Q), weights=[1.0, 0.0])
    with pytest.raises(ValueError, match="shape"):
        P.log_density(np.zeros((3, 1)))


def test_densities_agree_with_scipy():
    from scipy.stats import multivariate_normal

    x = np.random.default_rng(9).normal(size=(50, 2))
    one = multivariate_normal([1.0, 0.0], 2.25 * np.eye(2))
    other = multivariate_normal([0.0, 0.5], 2.25 * np.eye(2))
    assert P.log_density(x) == pytest.approx(one.logpdf(x), rel=1e-12)
    mixture = MixtureDensity(parts=(P, Q), weights=[3.0, 1.0])
    wanted = np.log(0.75 * one.pdf(x) + 0.25 * other.pdf(x))
    assert mixture.log_density(x) == pytest.approx(wanted, rel=1e-12)
    assert isinstance(mixture, Density)
    drawn = mixture.sample(np.random.default_rng(10), 20_000)
    # Four standard deviations of a mean of 20 000 with variance below 2.7.
    assert drawn.mean(axis=0) == pytest.approx([0.75, 0.125], abs=0.05)
