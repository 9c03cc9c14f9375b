"""The Renyi divergence between Gaussians against 30 stored digits, and its own properties.

Reference values: tests/oracles/gaussian_divergence.py (mp.dps = 60).
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from rdpkit import gaussian_renyi_divergence
from tests.bounds.strategies import log_uniform
from tests.oracles.table import load

ENTRIES = load("gaussian_divergence")


@pytest.mark.parametrize(
    "entry", ENTRIES, ids=[f"d={len(e['mean_p'])},a={e['order']:g}" for e in ENTRIES]
)
def test_stored_values(entry):
    """An eigenproblem of at most 4 x 4, condition below 1e3: 1e-12."""
    arguments = {name: entry[name] for name in ("mean_p", "cov_p", "mean_q", "cov_q")}
    found = gaussian_renyi_divergence(entry["order"], **arguments)
    assert_allclose(found, float(entry["divergence"]), rtol=1e-12)


def random_pair(seed: int, d: int, spread: float):
    """Two Gaussians with covariances of condition below about 50."""
    rng = np.random.default_rng(seed)

    def one():
        m = rng.normal(size=(d, d))
        return rng.normal(size=d), np.eye(d) + spread * (m @ m.T) / d

    (mean_p, cov_p), (mean_q, cov_q) = one(), one()
    return {"mean_p": mean_p, "cov_p": cov_p, "mean_q": mean_q, "cov_q": cov_q}


SEEDS = st.integers(0, 10**6)
DIMENSIONS = st.integers(1, 5)
ORDERS = log_uniform(1e-3, 30.0).map(lambda gap: 1.0 + gap)


@settings(max_examples=40)
@given(SEEDS, DIMENSIONS, ORDERS)
def test_zero_between_equal_ones(seed, d, order):
    """Whitening leaves exact zeros: no rounding."""
    pair = random_pair(seed, d, 1.0)
    pair["mean_q"], pair["cov_q"] = pair["mean_p"], pair["cov_p"]
    assert gaussian_renyi_divergence(order, **pair) == 0.0


@settings(max_examples=60)
@given(
    ORDERS, st.floats(-3.0, 3.0), log_uniform(0.2, 5.0), st.floats(-3.0, 3.0), log_uniform(0.2, 5.0)
)
def test_one_dimension_by_integration(order, mean_p, var_p, mean_q, var_q):
    """The integrand is a Gaussian in x: the trapezoid rule at a quarter of its width is exact."""
    precision = order / var_p + (1.0 - order) / var_q
    found = gaussian_renyi_divergence(
        order, mean_p=[mean_p], cov_p=[[var_p]], mean_q=[mean_q], cov_q=[[var_q]]
    )
    assume(abs(precision) > 1e-3)
    if precision < 0.0:
        assert found == math.inf
        return
    centre = (order * mean_p / var_p + (1.0 - order) * mean_q / var_q) / precision
    step = 0.25 / math.sqrt(precision)
    x = centre + step * np.arange(-40, 41)
    logs = -order * ((x - mean_p) ** 2 / (2 * var_p) + math.log(2 * math.pi * var_p) / 2)
    logs -= (1 - order) * ((x - mean_q) ** 2 / (2 * var_q) + math.log(2 * math.pi * var_q) / 2)
    total = logsumexp(logs) + math.log(step)
    # The rounding of the largest logarithm, over order - 1.
    tolerance = 1e-14 * (1.0 + np.abs(logs).max() + centre**2 * order) / (order - 1.0)
    assert abs(found - total / (order - 1.0)) <= tolerance


@pytest.mark.parametrize(
    ("order", "variance", "finite"),
    [
        (2.0, 1.999, True),
        (2.0, 2.0, False),
        (2.0, 2.001, False),
        (1.25, 4.9, True),
        (1.25, 5.1, False),
    ],
)
def test_infinite_where_s_is_not_positive_definite(order, variance, finite):
    """S = (1 - a) cov_p + a cov_q, in one direction of three."""
    found = gaussian_renyi_divergence(
        order,
        mean_p=np.zeros(3),
        cov_p=np.diag([1.0, variance, 0.5]),
        mean_q=np.zeros(3),
        cov_q=np.eye(3),
    )
    assert math.isfinite(found) is finite


GOOD = {"mean_p": [0.0, 0.0], "cov_p": np.eye(2), "mean_q": [0.0, 0.0], "cov_q": np.eye(2)}


@pytest.mark.parametrize("name", ["cov_p", "cov_q"])
@pytest.mark.parametrize(
    "bad",
    [
        [[1.0, 2.0], [2.0, 1.0]],  # indefinite
        [[1.0, 0.5], [0.4, 1.0]],  # not symmetric
        [[1.0, 1.0], [1.0, 1.0]],  # singular
        [[0.0, 0.0], [0.0, 0.0]],
        -np.eye(2),
        np.eye(3),
        [1.0, 1.0],
        1.0,
        [[1.0, math.nan], [math.nan, 1.0]],
        [[math.inf, 0.0], [0.0, 1.0]],
        [["1", "0"], ["0", "1"]],
        [[True, False], [False, True]],
        "identity",
    ],
    ids=repr,
)
def test_bad_covariance(name, bad):
    with pytest.raises(
        ValueError, match=f"Expected {name} to be a symmetric positive definite matrix"
    ):
        gaussian_renyi_divergence(2.0, **{**GOOD, name: bad})


@pytest.mark.parametrize("name", ["mean_p", "mean_q"])
@pytest.mark.parametrize(
    "bad", [[], 0.0, [[0.0, 0.0]], [0.0, math.nan], [0.0, math.inf], ["0", "0"], None], ids=repr
)
def test_bad_mean(name, bad):
    with pytest.raises(ValueError, match=f"Expected {name} to be finite, of shape"):
        gaussian_renyi_divergence(2.0, **{**GOOD, name: bad})


def test_means_of_different_length():
    with pytest.raises(ValueError, match=r"Expected mean_q to be finite, of shape \(2,\)"):
        gaussian_renyi_divergence(2.0, **{**GOOD, "mean_q": [0.0, 0.0, 0.0]})


@pytest.mark.parametrize("order", [1.0, 0.5, 0, -1, math.nan, math.inf, "2", True, [2.0], None])
def test_bad_order(order):
    with pytest.raises(ValueError, match="Expected order to be a finite Renyi order > 1"):
        gaussian_renyi_divergence(order, **GOOD)
