from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.mechanisms.parts.marginals import edges
from rdpkit.mechanisms.parts.marginals.edges import LEVELS, Range, noisy_edges
from rdpkit.mechanisms.parts.noise import NoiseSource

MILLION = Range(low=0.0, high=1e6, whole=False)
WHOLE = Range(low=-50.0, high=1000.0, whole=True)


class _Recorded:
    """Noise that is drawn as it is asked for; what it is added to, and how much, is kept."""

    def __init__(self, seed):
        self.source, self.exact, self.stds = NoiseSource.seeded(seed), [], []

    def add_normal(self, array, *, std):
        self.exact.append(array.copy())
        self.stds.append(std)
        self.source.add_normal(array, std=std)


@pytest.mark.parametrize("std", [0.5, 5.0])
@pytest.mark.parametrize("columns", [1, 4])
def test_each_level_has_the_noise_that_the_account_says(std, columns):
    """A value is in one part of a level, so all levels of all columns move by 1 over the noise."""
    noise = _Recorded(0)
    values = [np.exp(np.random.default_rng(1).normal(size=4000)) for _ in range(columns)]
    noisy_edges(values, [MILLION] * columns, std=std, noise=noise)
    assert len(noise.stds) == LEVELS * columns
    assert math.fsum(one**-2 for one in noise.stds) <= std**-2
    assert all(counts.sum() == 4000 for counts in noise.exact)


@given(st.lists(st.floats(-2e6, 2e6) | st.just(math.nan) | st.just(math.inf), max_size=60))
def test_any_values_give_edges_that_a_schema_takes(values):
    for one in (MILLION, WHOLE, Range(low=0.0, high=5e-324, whole=False)):
        (found,) = noisy_edges([np.array(values)], [one], std=0.1, noise=NoiseSource.seeded(2))
        assert (np.diff(found) > 0).all()
        assert len(found) < 80
        if len(found):
            assert one.low < found[0] <= found[-1] < one.high
        if one.whole:
            assert (found == np.rint(found)).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_parts_hold_about_as_many_values_each(scale):
    values = np.minimum(scale * np.exp(np.random.default_rng(3).normal(size=50_000)), 1e6)
    (found,) = noisy_edges([values], [MILLION], std=5.0, noise=NoiseSource.seeded(3))
    shares = np.bincount(np.searchsorted(found, values)) / len(values)
    assert len(found) >= 16
    assert shares.max() < 0.1


def test_too_few_values_get_no_edges():
    values = np.random.default_rng(4).random(100) * 1e6
    (found,) = noisy_edges([values], [MILLION], std=20.0, noise=NoiseSource.seeded(4))
    assert not len(found)


def test_a_value_that_many_have_begins_a_part_of_its_own():
    values = np.where(np.arange(20_000) % 2, 0.0, 1.0 + np.arange(20_000) % 900)
    (found,) = noisy_edges([values], [WHOLE], std=3.0, noise=NoiseSource.seeded(5))
    assert 0.0 in found
    assert 1.0 in found


def test_what_is_asked_depends_on_noisy_counts_alone(monkeypatch):
    """With the same noisy counts, other records are asked the same and give the same edges."""
    answers = iter([])
    monkeypatch.setattr(edges, "_counted", lambda values, cuts, asked, **given: next(answers)(cuts))
    found = []
    for values in (np.zeros(10), np.full(10, 5e5)):
        answers = iter([lambda cuts: 100.0 * (np.arange(len(cuts) - 1) % 3 == 0)] * LEVELS)
        found.append(noisy_edges([values], [MILLION], std=0.1, noise=NoiseSource.seeded(6))[0])
    np.testing.assert_array_equal(*found)
