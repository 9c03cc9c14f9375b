"""Samples: uniform, without replacement, and of the size that was asked for."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.sampling import (
    LARGEST_SCALE,
    discrete_laplace,
    poisson_sample,
    subsets,
)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_subsets_have_no_record_twice(data):
    population = data.draw(st.integers(1, 300))
    size = data.draw(st.integers(1, population))
    count = data.draw(st.integers(0, 20))
    found = subsets(population, size, count, noise=NoiseSource.seeded(data.draw(st.integers(0, 9))))
    assert found.shape == (count, size)
    assert found.dtype == np.int64
    assert (found >= 0).all()
    assert (found < population).all()
    assert (np.diff(found, axis=1) > 0).all()


@pytest.mark.thorough
@pytest.mark.parametrize(("population", "size"), [(6, 1), (6, 2), (6, 3), (6, 4), (6, 5), (8, 4)])
def test_every_subset_is_equally_likely(population, size):
    """Seeded; with another seed one fails in 6 of 10,000 cases."""
    found = subsets(population, size, 70_000, noise=NoiseSource.seeded(11))
    counts = Counter(map(tuple, found.tolist()))
    table = [counts[c] for c in itertools.combinations(range(population), size)]
    assert sum(table) == 70_000
    assert stats.chisquare(table).pvalue > 1e-4


def test_rows_are_independent():
    """Seeded; with another seed it fails in 1 of 10,000 cases."""
    found = subsets(4, 2, 80_000, noise=NoiseSource.seeded(12)).reshape(-1, 2, 2)
    pairs = Counter((tuple(a), tuple(b)) for a, b in found.tolist())
    assert len(pairs) == 36
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-4


def test_all_of_them_is_one_subset():
    assert subsets(5, 5, 2, noise=NoiseSource.system()).tolist() == [[0, 1, 2, 3, 4]] * 2


def test_poisson_samples_join_independently():
    """Seeded; with another seed one of the two fails in 2 of 10,000 cases."""
    noise = NoiseSource.seeded(13)
    joined = np.zeros((20_000, 3), dtype=int)
    for row in joined:
        row[poisson_sample(3, 0.3, noise=noise)] = 1
    counts = Counter(map(tuple, joined.tolist()))
    outcomes = list(itertools.product((0, 1), repeat=3))
    expected = [20_000 * 0.3 ** sum(o) * 0.7 ** (3 - sum(o)) for o in outcomes]
    assert stats.chisquare([counts[o] for o in outcomes], expected).pvalue > 1e-4
    sizes = [poisson_sample(10**6, 0.01, noise=noise).size for _ in range(3)]
    # Five standard deviations of a binomial.
    assert np.abs(np.array(sizes) - 10_000).max() < 500


def test_the_extremes_of_poisson_samples():
    noise = NoiseSource.system()
    assert poisson_sample(10, 0.0, noise=noise).size == 0
    assert poisson_sample(10, 1.0, noise=noise).tolist() == list(range(10))
    empty = poisson_sample(0, 0.5, noise=noise)
    assert (empty.size, empty.dtype) == (0, np.int64)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda n: subsets(3, 4, 1, noise=n), "size"),
        (lambda n: subsets(3, 0, 1, noise=n), "size"),
        (lambda n: subsets(0, 1, 1, noise=n), "population"),
        (lambda n: subsets(3, 1, -1, noise=n), "count"),
        (lambda n: poisson_sample(3, 1.5, noise=n), "probability"),
        (lambda n: poisson_sample(3, float("nan"), noise=n), "probability"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=f"Expected {name} "):
        call(NoiseSource.seeded(0))


def law(scale, reach):
    """Probabilities of -reach, ..., reach, by the formula."""
    p = math.exp(-1.0 / scale)
    return (1.0 - p) / (1.0 + p) * p ** np.abs(np.arange(-reach, reach + 1))


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1, 2, 7])
def test_the_law_is_that_of_the_formula(scale):
    """Seeded; with another seed one of the three fails in 3 of 10,000 cases."""
    from scipy.stats import chisquare

    count, reach = 6000, 4 * scale
    drawn = discrete_laplace(count, scale=scale, noise=NoiseSource.seeded(scale))
    expected = law(scale, reach) * count
    beyond = count - expected.sum()
    seen = np.array([np.sum(drawn == k) for k in range(-reach, reach + 1)])
    observed, wanted = [*seen, count - seen.sum()], [*expected, beyond]
    assert chisquare(observed, wanted).pvalue > 1e-4


def test_a_large_scale_is_drawn_as_well_and_a_larger_one_is_refused():
    drawn = discrete_laplace(50, scale=LARGEST_SCALE, noise=NoiseSource.seeded(0))
    # A single one is below 2^20 in absolute value in one of a million cases.
    assert np.abs(drawn).max() > 2**20
    with pytest.raises(ValueError, match="Expected scale"):
        discrete_laplace(1, scale=2 * LARGEST_SCALE, noise=NoiseSource.seeded(0))
    assert discrete_laplace(0, scale=1, noise=NoiseSource.seeded(0)).shape == (0,)
