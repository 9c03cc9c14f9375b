"""Mean-and-covariance synthesis: formulas as printed, and soundness on data that exist.

Reference values: tests/oracles/gaussian_synthesis.py (mp.dps = 60).
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.bounds.synthesis import miura2023
from tests.events import unit
from tests.oracles.table import load

ENTRIES = load("gaussian_synthesis")
NAMES = [f"n={e['n']:.0e},d={e['d']},a={e['order']:g}" for e in ENTRIES]
UNBOUNDED = {"adjacency": "add_or_remove_one", "theorem": "miura2023-thm3.1"}
BOUNDED = {"adjacency": "replace_one", "theorem": "miura2023-cor3.2"}


def arguments(entry):
    return {name: entry[name] for name in ("n", "d", "min_eigenvalue")}


def tolerance(entry):
    """1e-12, and what differences of logarithms lose: 1e-16 times n over (order - 1) tau."""
    tau = 4.0 * entry["d"] / entry["min_eigenvalue"]
    return 1e-12 + 2e-15 * entry["n"] * entry["d"] / (entry["order"] - 1.0) / tau


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_theorem31(entry):
    found = rdpkit.gaussian_synthesis_rdp([entry["order"]], **arguments(entry), **UNBOUNDED)
    assert_allclose(found, float(entry["theorem31"]), rtol=tolerance(entry))


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["corollary32"]])
def test_corollary32(entry):
    found = rdpkit.gaussian_synthesis_rdp([entry["order"]], **arguments(entry), **BOUNDED)
    assert_allclose(found, float(entry["corollary32"]), rtol=tolerance(entry))


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["corollary32"]])
def test_corrected_corollary(entry):
    event = unit.synthesis(entry["n"], 1, entry["d"], entry["min_eigenvalue"])
    found = miura2023.CORRECTED.values(
        event, np.array([entry["order"]]), rdpkit.Adjacency.REPLACE_ONE
    )
    exact = float(entry["corollary32_both_at_n"])
    # Rounded up by what the differences of logarithms may have lost.
    assert found >= exact
    assert_allclose(found, exact, rtol=1e-9 + 2.0 * tolerance(entry))


def moments(data):
    return data.mean(axis=0), np.cov(data.T, bias=True).reshape(data.shape[1], data.shape[1])


def neighbours(seed, d, n, high):
    """Data sets of n - 1, n (two of them) and n + 1 records, and their smallest eigenvalue.

    The common records have coordinates -1 or ``high``; the others are corners of the cube, so with
    ``high`` near -1 they lie about as far from the mean as the cube and the eigenvalues allow.
    """
    rng = np.random.default_rng(seed)
    common = rng.choice([-1.0, high], size=(n - 1, d))
    extra, other = np.ones((1, d)), rng.choice([-1.0, 1.0], size=(1, d))
    stacks = ([common], [common, extra], [common, other], [common, extra, other])
    found = [moments(np.vstack(stack)) for stack in stacks]
    return found, min(float(np.linalg.eigvalsh(s).min()) for _, s in found) * (1.0 - 1e-12)


def largest(order, p, q):
    return max(
        rdpkit.gaussian_renyi_divergence(order, mean_p=a[0], cov_p=a[1], mean_q=b[0], cov_q=b[1])
        for a, b in ((p, q), (q, p))
    )


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([60, 500, 4000, 20000]),
    st.sampled_from([1.05, 1.5, 3.0, 7.0]),
    st.sampled_from([-0.8, 0.0, 1.0]),
)
def test_sound_on_data_that_exist(seed, d, n, order, high):
    """Records added, removed and replaced, with sigma as large as these data sets let it be.

    The divergence's own rounding is far below 1e-9.
    """
    (less, one, two, both), sigma = neighbours(seed, d, n, high)
    for adjacency, truth in (
        ("add_or_remove_one", max(largest(order, less, one), largest(order, one, both))),
        ("replace_one", largest(order, one, two)),
    ):
        bound = rdpkit.gaussian_synthesis_rdp(
            [order], n=n, d=d, min_eigenvalue=sigma, adjacency=adjacency
        )
        assert bound[0] >= truth * (1.0 - 1e-9)


@pytest.mark.parametrize("adjacency", ["add_or_remove_one", "replace_one"])
def test_best_is_infinite_where_nothing_holds(adjacency):
    found = rdpkit.gaussian_synthesis_rdp(
        [1.001, 1e6], n=50, d=2, min_eigenvalue=0.9, adjacency=adjacency
    )
    assert np.isfinite(found[0])
    assert found[1] == math.inf


def test_limits_on_orders():
    """Condition (1) and condition (2), and that too few records leave no order."""
    c = miura2023.limit(10**5, 6, 0.01)
    assert c == pytest.approx(1e10 / (2400.0 * 100001 - 1e5), rel=1e-14)
    assert miura2023.corollary_limit(10**5, 6, 0.01) == pytest.approx(c * c / (2 * c - 1))
    assert miura2023.corollary_limit(3, 6, 0.01) == 1.0


GOOD = {"n": 10**5, "d": 6, "min_eigenvalue": 0.01}


@pytest.mark.parametrize(
    ("order", "options", "message"),
    [
        (
            41.8,
            UNBOUNDED,
            r"Expected orders in \(1, 41\.68\d*\), where miura2023-thm3\.1 holds, got 41\.8",
        ),
        (
            22.0,
            BOUNDED,
            r"Expected orders in \(1, 21\.0\d*\), where miura2023-cor3\.2 holds, got 22",
        ),
    ],
)
def test_orders_outside_of_a_named_theorem(order, options, message):
    with pytest.raises(ValueError, match=message):
        rdpkit.gaussian_synthesis_rdp([2.0, order], **GOOD, **options)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n", 1, "n to be an integer >= 2"),
        ("d", 0, "d to be an integer >= 1"),
        ("min_eigenvalue", 0.0, "min_eigenvalue to be a finite number > 0"),
        ("min_eigenvalue", 1.5, r"min_eigenvalue in \(0, 1\]"),
        ("theorem", "thm3.1", "theorem to be one of 'best'"),
        ("adjacency", "unbounded", "adjacency to be one of"),
    ],
)
def test_bad_arguments(name, value, message):
    good = {**GOOD, "adjacency": "add_or_remove_one"}
    with pytest.raises(ValueError, match="Expected " + message):
        rdpkit.gaussian_synthesis_rdp([2.0], **{**good, name: value})


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        ({**UNBOUNDED, "adjacency": "replace_one"}, "add_or_remove_one"),
        ({**BOUNDED, "adjacency": "add_or_remove_one"}, "replace_one"),
    ],
)
def test_theorem_for_the_other_adjacency(options, accepted):
    with pytest.raises(ValueError, match=f"Expected adjacency to be '{accepted}'"):
        rdpkit.gaussian_synthesis_rdp([2.0], **GOOD, **options)
