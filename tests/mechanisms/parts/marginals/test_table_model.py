import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.mechanisms.parts.marginals.rounds import MeasuredCounts
from rdpkit.mechanisms.parts.marginals.table_model import (
    contiguous_places,
    in_parts,
    public_groups,
    split_groups,
    with_totals,
)


@given(st.integers(0, 3000), st.integers(0, 3), st.integers(0, 2**32), st.floats(0.01, 1e6))
def test_every_code_is_in_one_part_and_every_part_in_one_group(ordered, others, seed, std):
    codes = max(1, ordered + others)
    ordered = codes - others if ordered else 0
    groups = public_groups(codes, ordered)
    noisy = np.random.default_rng(seed).normal(0.0, 1e4, len(groups))
    parts = split_groups(groups, MeasuredCounts(noisy, 1.0), codes, std)
    assert parts[0] == 0
    assert (np.diff(parts, append=codes) > 0).all()
    assert set(groups) <= set(parts)
    # Codes that are not ordered are never joined to others.
    assert set(range(ordered, codes)) <= set(groups)
    found, (count,) = in_parts(np.arange(codes)[:, None], [parts])
    np.testing.assert_array_equal(np.unique(found), np.arange(count))


def test_totals_are_put_together_by_their_noise():
    parts = MeasuredCounts(np.array([10.0, 20.0, 5.0]), 2.0)
    groups = MeasuredCounts(np.array([38.0, 5.0]), 1.0)
    found = with_totals(parts, np.array([0, 3, 8]), groups, np.array([0, 8]))
    # The total 30 has the variance 8, and 38 the variance 1: together 38 - 8 / 9.
    assert found.counts[:2].sum() == pytest.approx(38.0 - 8.0 / 9.0)
    assert found.counts[1] - found.counts[0] == pytest.approx(10.0)
    assert found.counts[2] == pytest.approx(5.0)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60), st.integers(1, 24))
def test_places_are_neighbours_and_hold_about_as_many_records(masses, most):
    probabilities = np.array(masses) + 1e-6
    probabilities /= probabilities.sum()
    places = contiguous_places(probabilities, np.arange(len(masses)) < len(masses) - 1, most)
    assert (np.diff(places) >= 0).all()
    np.testing.assert_array_equal(np.unique(places), np.arange(places.max() + 1))
    assert (places == places[-1]).sum() == 1
    held = np.bincount(places, weights=probabilities)
    shared = np.bincount(places) > 1
    largest = probabilities.max()
    assert (held[shared] <= 1.0 / most + largest + 1e-9).all()
