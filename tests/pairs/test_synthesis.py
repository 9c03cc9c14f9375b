"""Data sets that attain the direct bounds on mean-and-covariance synthesis, or nearly."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rdpkit import gaussian_renyi_divergence, gaussian_synthesis_rdp
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.synthesis import BOUNDS
from rdpkit.pairs.synthesis import WeightedRows, attained_pair
from tests.events import unit

BOTH = [Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE]
SETTINGS = [
    (10, 1, 0.5),
    (60, 1, 0.5),
    (300, 3, 0.1),
    (1000, 2, 0.9),
    (1000, 4, 0.5),
    (10**4, 6, 0.01),
    (10**5, 50, 0.05),
    (10**6, 6, 0.01),
    (10**9, 6, 0.01),
]


def event_of(n, d, sigma):
    return unit.synthesis(n, 1, d, sigma)


def difference(one: WeightedRows, two: WeightedRows) -> dict:
    """Records with how much more often they occur in the first than in the second."""
    found: dict = dict(zip(one.rows, one.counts, strict=True))
    for row, count in zip(two.rows, two.counts, strict=True):
        found[row] = found.get(row, 0) - count
    return {row: count for row, count in found.items() if count}


def as_counts(data: WeightedRows) -> WeightedRows:
    """The same data set with equal rows together."""
    found: dict = {}
    for row, count in zip(data.rows, data.counts, strict=True):
        found[row] = found.get(row, 0) + count
    return WeightedRows(rows=tuple(found), counts=tuple(found.values()))


def exact_covariance(data: WeightedRows) -> list[list[Fraction]]:
    rows = [[Fraction(x) for x in row] for row in data.rows]
    n = len(data)
    d = range(len(rows[0]))
    mean = [sum(c * r[i] for r, c in zip(rows, data.counts)) / n for i in d]
    return [
        [
            sum(c * (r[i] - mean[i]) * (r[j] - mean[j]) for r, c in zip(rows, data.counts)) / n
            for j in d
        ]
        for i in d
    ]


def is_positive_semidefinite(matrix: list[list[Fraction]]) -> bool:
    """By symmetric elimination in exact arithmetic."""
    work = [row[:] for row in matrix]
    for k in range(len(work)):
        if work[k][k] < 0 or (work[k][k] == 0 and any(work[k][j] for j in range(k, len(work)))):
            return False
        for i in range(k + 1, len(work)):
            factor = work[i][k] / work[k][k] if work[k][k] else 0
            work[i] = [x - factor * y for x, y in zip(work[i], work[k])]
    return True


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize(("n", "d", "sigma"), SETTINGS)
@pytest.mark.parametrize("order", [1.05, 1.5, 4.0])
def test_the_divergence_is_that_of_the_data_sets_and_below_every_upper_bound(
    n, d, sigma, order, adjacency
):
    """The float divergence loses about 1e-16 n digits to differences of nearly equal moments."""
    event = event_of(n, d, sigma)
    pair = attained_pair(event, order, adjacency)
    (p, s), (q, r) = pair.first.moments(), pair.second.moments()
    found = gaussian_renyi_divergence(order, mean_p=p, cov_p=s, mean_q=q, cov_q=r)
    assert pair.divergence == pytest.approx(found, rel=1e-12 + 1e-16 * n)
    for bound in BOUNDS:
        if bound.applies(event, adjacency) and bound.kind == "upper":
            assert pair.divergence <= bound.values(event, np.array([order]), adjacency)[0]


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize(("n", "d", "sigma"), [s for s in SETTINGS if s[1] < 10])
def test_the_data_sets_are_admissible_neighbours(n, d, sigma, adjacency):
    pair = attained_pair(event_of(n, d, sigma), 1.5, adjacency)
    sizes = sorted([len(pair.first), len(pair.second)])
    assert sizes == ([n, n] if adjacency is Adjacency.REPLACE_ONE else [n - 1, n])
    changes = sorted(difference(as_counts(pair.first), as_counts(pair.second)).values())
    assert changes == [-1, 1] if adjacency is Adjacency.REPLACE_ONE else changes in ([1], [-1])
    for data in (pair.first, pair.second):
        assert all(count > 0 for count in data.counts)
        assert all(-1.0 <= x <= 1.0 for row in data.rows for x in row)
        covariance = exact_covariance(data)
        for i in range(d):
            covariance[i][i] -= Fraction(sigma)
        assert is_positive_semidefinite(covariance)


@pytest.mark.parametrize("n", [10**4, 10**5, 10**6, 10**7, 10**9])
@pytest.mark.parametrize("order", [1.001, 2.0, 4.0])
def test_the_bounds_are_nearly_attained(n, order):
    """Within two per cent where a record is replaced, and one in a thousand where it is removed."""
    for adjacency, least in ((Adjacency.REPLACE_ONE, 0.98), (Adjacency.ADD_OR_REMOVE_ONE, 0.999)):
        pair = attained_pair(event_of(n, 6, 0.01), order, adjacency)
        bound = gaussian_synthesis_rdp(
            [order], n=n, d=6, min_eigenvalue=0.01, adjacency=adjacency, theorem="direct"
        )[0]
        assert least * bound <= pair.divergence <= bound


def test_records_are_the_rows_repeated():
    pair = attained_pair(event_of(300, 3, 0.1), 2.0, "add_or_remove_one")
    records = pair.first.records()
    assert records.shape == (300, 3)
    mean, covariance = pair.first.moments()
    np.testing.assert_allclose(records.mean(axis=0), mean, rtol=1e-13)
    np.testing.assert_allclose(np.cov(records.T, bias=True), covariance, rtol=1e-11, atol=1e-15)


def test_beyond_the_limit_on_orders_the_divergence_is_infinite():
    pair = attained_pair(event_of(100, 1, 0.5), 1000.0, "add_or_remove_one")
    assert pair.divergence == math.inf


@pytest.mark.parametrize(
    ("n", "d", "sigma"), [(2, 1, 1.0), (1001, 1, 1.0), (5, 6, 0.01), (10**6, 400, 0.01)]
)
@pytest.mark.parametrize("adjacency", BOTH)
def test_no_pair_of_this_form(n, d, sigma, adjacency):
    with pytest.raises(ValueError, match="Expected event to leave room for corners"):
        attained_pair(event_of(n, d, sigma), 1.5, adjacency)


def test_order_is_checked():
    with pytest.raises(ValueError, match="order"):
        attained_pair(event_of(300, 3, 0.1), 1.0, "replace_one")
