import numpy as np
import pytest

from rdpkit.mechanisms.parts.marginals.mixture import (
    MixtureFit,
    WantedMarginal,
    fit_mixture,
    pair_marginals,
    rows_of_mixture,
)
from rdpkit.mechanisms.parts.marginals.rounds import in_front, two_way


def _mixture(components=6, sizes=(3, 2, 5), seed=0):
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.full(size, 0.5), components) for size in sizes]


def test_marginals_of_a_mixture_are_means_of_products():
    columns = _mixture()
    together = pair_marginals(columns)
    starts = in_front([3, 2, 5])
    block = together[starts[0] : starts[1], starts[2] : starts[3]]
    by_hand = np.mean([np.outer(a, b) for a, b in zip(columns[0], columns[2], strict=True)], axis=0)
    np.testing.assert_allclose(block, by_hand, rtol=1e-12)


def test_a_mixture_meets_marginals_that_can_be_met():
    columns = _mixture(components=4)
    starts = in_front([3, 2, 5])
    together = pair_marginals(columns)
    pairs = {
        (i, j): WantedMarginal(together[starts[i] : starts[i + 1], starts[j] : starts[j + 1]], 1.0)
        for i, j in [(0, 1), (0, 2), (1, 2)]
    }
    singles = [WantedMarginal(column.mean(axis=0), 1.0) for column in columns]
    fit = MixtureFit(components=30, steps=300)
    found = pair_marginals(fit_mixture(singles, pairs, fit, seed=0))
    for (i, j), target in pairs.items():
        block = found[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
        assert np.abs(block - target.values).sum() < 0.03


@pytest.mark.parametrize("count", [1, 1000])
def test_rows_have_the_counts_of_the_mixture(count):
    columns = _mixture()
    rows = rows_of_mixture(columns, count, np.random.default_rng(1))
    assert rows.shape == (count, 3)
    assert all(rows[:, j].min() >= 0 and rows[:, j].max() < s for j, s in enumerate((3, 2, 5)))
    starts = in_front([3, 2, 5])
    wanted = pair_marginals(columns) * count
    if count == 1000:
        drawn = 0.0
        for i, j in [(0, 1), (0, 2), (1, 2)]:
            block = wanted[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            drawn += np.abs(two_way(rows, (3, 2, 5), (i, j)) - block).sum()
        # A sample of 1000 would be off by some 250 in all.
        assert drawn < 60


def test_columns_with_one_code_and_tables_with_one_column():
    assert rows_of_mixture([np.ones((4, 1))], 5, np.random.default_rng(0)).tolist() == [[0]] * 5
    two = rows_of_mixture([np.ones((4, 1)), np.full((4, 2), 0.5)], 6, np.random.default_rng(0))
    assert np.bincount(two[:, 1]).tolist() == [3, 3]


@pytest.mark.parametrize("given_fit", [{"components": 0}, {"steps": 0}, {"step_size": 0.0}])
def test_fits_that_are_refused(given_fit):
    with pytest.raises(ValueError, match=next(iter(given_fit))):
        MixtureFit(**given_fit)
