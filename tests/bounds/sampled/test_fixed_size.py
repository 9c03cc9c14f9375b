"""Sampling a subset of fixed size: theorems by name, and what no sound bound may undercut.

Reference values: tests/oracles/fixed_size.py (mp.dps = 900 for moments, 60 for sums).
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.bounds.sampled.fixed_size import BOUNDS
from tests.bounds.pairs import GEOMETRIES, exact_divergence
from tests.bounds.strategies import NOISE, ORDERS, PROPER_SAMPLES
from tests.oracles.table import load

ENTRIES = [entry for entry in load("fixed_size") if "sample" in entry]
NAMES = [f"{e['sample']}of{e['population']},z={e['z']:g},a={e['order']:g}" for e in ENTRIES]
THEOREMS = {"theorem9": "wang2019-thm9", "theorem27": "wang2019-thm27", "minimum": "wang2019"}
REPLACE = [b.id for b in BOUNDS if rdpkit.Adjacency.REPLACE_ONE in b.adjacencies]
ADD = [b.id for b in BOUNDS if rdpkit.Adjacency.ADD_OR_REMOVE_ONE in b.adjacencies]


def rdp(orders, z, sizes, theorem="best", adjacency="replace_one"):
    sample, population = sizes
    return rdpkit.fixed_size_gaussian_rdp(
        orders,
        noise_multiplier=z,
        sample_size=sample,
        population_size=population,
        adjacency=adjacency,
        theorem=theorem,
    )


@pytest.mark.parametrize("column", THEOREMS)
@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_stored_values(entry, column):
    """log-gamma at 256 is about 1e3: 1e-13 in the exponent of each binomial, and less in B."""
    found = rdp(
        [entry["order"]], entry["z"], (entry["sample"], entry["population"]), THEOREMS[column]
    )
    assert_allclose(found, float(entry[column]), rtol=1e-12)


@pytest.mark.parametrize("theorem", THEOREMS.values())
def test_no_order_is_dropped(theorem):
    orders = np.concatenate([1.0 + np.geomspace(1e-6, 500.0, 40), np.arange(2.0, 300.0, 13.0)])
    for z, sample in ((0.3, 1), (1.0, 10), (20.0, 999), (100.0, 1000)):
        found = rdp(orders, z, (sample, 1000), theorem)
        assert np.isfinite(found).all()
        assert (found > 0.0).all()


@pytest.mark.parametrize("theorem", THEOREMS.values())
def test_fractional_orders_by_the_chord(theorem):
    """Corollary 10: (a - 1) r is interpolated linearly between integers."""
    low, high = rdp([4.0, 5.0], 1.3, (30, 1000), theorem)
    found = rdp([4.75], 1.3, (30, 1000), theorem)[0]
    assert_allclose(3.75 * found, 0.25 * 3.0 * low + 0.75 * 4.0 * high, rtol=1e-13)
    assert rdp([1.3], 1.3, (30, 1000), theorem) == rdp([2.0], 1.3, (30, 1000), theorem)


@settings(max_examples=40)
@given(ORDERS, NOISE, st.integers(1, 500))
def test_whole_population_is_the_gaussian(order, z, size):
    """Everybody is drawn: the bound is attained, from above and below; 1e-12 for its rounding."""
    found = rdp([order], z, (size, size))
    assert_allclose(found, rdpkit.gaussian_rdp([order], noise_multiplier=z), rtol=1e-12)


@pytest.mark.parametrize("theorem", [*ADD, "best"])
def test_whole_population_has_no_smaller_neighbour(theorem):
    """From n - 1 records a sample of n cannot be drawn: nothing is claimed."""
    assert rdp([2.0, 5.0], 1.0, (7, 7), theorem, "add_or_remove_one").tolist() == [math.inf] * 2


@settings(max_examples=50)
@given(ORDERS, NOISE, PROPER_SAMPLES)
def test_swap_coupling_is_the_poisson_formula(order, z, sizes):
    """With the swap distance as sensitivity: the same code, so the same number."""
    found = rdp([order], z, sizes, "swap-coupling", "add_or_remove_one")
    poisson = rdpkit.sampled_gaussian_rdp(
        [order], noise_multiplier=z, sampling_probability=sizes[0] / sizes[1]
    )
    assert found == poisson


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("z", [0.7, 2.0, 20.0])
@pytest.mark.parametrize("sizes", [(1, 1000), (1, 10), (1, 2), (19, 20)])
def test_no_replace_bound_below_any_geometry(sizes, z, geometry):
    orders = [1.05, 2.0, 3.5, 20.0]
    q = sizes[0] / sizes[1]
    exact = np.array([exact_divergence(a, z, q, *GEOMETRIES[geometry]) for a in orders])
    for theorem in (*REPLACE, "best"):
        assert (exact <= rdp(orders, z, sizes, theorem) * (1.0 + 1e-8)).all(), theorem


GOOD = {
    "noise_multiplier": 1.0,
    "sample_size": 10,
    "population_size": 100,
    "adjacency": "replace_one",
}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("noise_multiplier", 0.0, "noise_multiplier to be a finite number > 0"),
        ("sample_size", 101, r"sample_size to be an integer in \[1, 100\]"),
        ("population_size", 0, "population_size to be an integer >= 1"),
        ("adjacency", "replaced", "adjacency to be one of 'add_or_remove_one', 'replace_one'"),
        ("theorem", "wang", "theorem to be one of 'best'"),
    ],
)
def test_bad_arguments(name, value, message):
    with pytest.raises(ValueError, match="Expected " + message):
        rdpkit.fixed_size_gaussian_rdp([2.0], **{**GOOD, name: value})


@pytest.mark.parametrize(
    ("theorem", "adjacency", "accepted"),
    [
        ("wang2019-thm9", "add_or_remove_one", "replace_one"),
        ("wang2019-thm27", "add_or_remove_one", "replace_one"),
        ("wang2019", "add_or_remove_one", "replace_one"),
        ("swap-coupling", "replace_one", "add_or_remove_one"),
    ],
)
def test_theorem_for_the_other_adjacency(theorem, adjacency, accepted):
    with pytest.raises(ValueError, match=f"Expected adjacency to be '{accepted}'"):
        rdpkit.fixed_size_gaussian_rdp(
            [2.0], **{**GOOD, "adjacency": adjacency, "theorem": theorem}
        )
