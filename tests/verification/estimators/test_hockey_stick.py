import math

import numpy as np
import pytest
from scipy.stats import norm

from rdpkit.verification.estimators.base import DiagnosticKind
from rdpkit.verification.estimators.hockey_stick import hockey_stick
from rdpkit.verification.estimators.importance import GaussianDensity

P, Q = GaussianDensity(mean=[1.0], std=1.0), GaussianDensity(mean=[0.0], std=1.0)


def _truth(epsilon):
    """Balle and Wang 2018, at noise and sensitivity 1."""
    return norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon)


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("pair", [(P, Q), (Q, P)])
def test_gaussians(epsilon, pair):
    found = hockey_stick(
        *pair, epsilon=epsilon, samples=50_000, confidence=0.9999, rng=np.random.default_rng(1)
    )
    assert _truth(epsilon) in found.interval
    assert found.interval.width < 0.02
    assert found.value in found.interval
    assert found.diagnostics == ()


def test_equal_and_disjoint_distributions():
    rng = np.random.default_rng(2)
    none = hockey_stick(P, P, epsilon=0.1, samples=1000, confidence=0.99, rng=rng)
    assert none.value == 0.0
    assert none.interval.lower == 0.0
    assert none.diagnostics[0].kind is DiagnosticKind.TOO_FEW_SAMPLES
    far = GaussianDensity(mean=[1e6], std=1.0)
    all_ = hockey_stick(far, Q, epsilon=1.0, samples=1000, confidence=0.99, rng=rng)
    assert all_.value == 1.0
    assert all_.interval.upper == 1.0


def test_nan_densities_and_wrong_arguments_raise():
    class Bad:
        def sample(self, rng, n):
            return rng.normal(size=(n, 1))

        def log_density(self, x):
            return np.full(len(x), self.value)

    rng = np.random.default_rng(3)
    good = {"epsilon": 1.0, "samples": 10, "confidence": 0.9, "rng": rng}
    for value in (math.nan, math.inf, -math.inf):
        bad = Bad()
        bad.value = value
        with pytest.raises(ArithmeticError, match="density"):
            hockey_stick(bad, Q, **good)
    for wrong in ({"epsilon": math.nan}, {"samples": 0}, {"confidence": 0.0}):
        with pytest.raises(ValueError, match="Expected"):
            hockey_stick(P, Q, **{**good, **wrong})
