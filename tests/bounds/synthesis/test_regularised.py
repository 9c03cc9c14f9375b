"""Synthesis with a regularised covariance: digits, and every kind of data set.

Reference values are written out here at 60 digits from the divergence between two Gaussians.
"""

import itertools

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf, nstr
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.synthesis import direct, regularised
from tests.events import unit
from tests.oracles.synthesis_direct import gil, replaced

REPLACE, UNBOUNDED = Adjacency.REPLACE_ONE, Adjacency.ADD_OR_REMOVE_ONE
POINTS = [
    *((10**k, 6, 0.01, a) for k in (4, 6, 9) for a in (1.0009765625, 1.5, 4.0)),
    *((10**6, 20, 0.05, a) for a in (1.000001, 8.0, 64.0)),
    *((1000, 1, 1.0, a) for a in (1.0009765625, 2.0, 50.0)),
    *((50, 2, 3.0, a) for a in (1.125, 2.0, 5.5)),
    *((40, 7, 1000.0, a) for a in (1.125, 2.0, 30.0)),
    (2, 1, 3.0, 1.5),
    (3, 2, 4.0, 1.125),
]


def written_out(n, d, sigma, a):
    """The bound for add-or-remove-one, by logarithms of determinants as they stand."""
    with mp.workdps(60):
        a, size, m = mpf(a), mpf(n), mpf(n) - 1
        top = 4 * d / mpf(sigma) * m / size**2

        def logs(first, second):
            return gil(a, [mpf(0)] * len(first), first, second)

        one, rest = [mpf(1)], [mpf(1)] * (d - 1)
        share = d / (d + mpf(sigma))
        shrunk = [1 - share / size]
        stretch = size / (size - a * share)
        removed = max(logs([1 + top], one), logs(shrunk, one)) + logs(shrunk * (d - 1), rest)
        removed += a * top / (2 * m * (1 - (a - 1) * top))
        added = max(logs(one, [1 + top]), logs(one, shrunk)) + logs(rest, shrunk * (d - 1))
        added += a * top * stretch / (2 * m * (1 + a * top * stretch))
        return max(removed, added, replaced(a, n, d, sigma))


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_floats_and_balls(point):
    n, d, sigma, a = point
    expected = written_out(*point)
    assert_allclose(
        regularised.rdp_one_output(np.array([a]), n, d, sigma)[0], float(expected), rtol=1e-12
    )
    ball = regularised.ball_one_output(a, n, d, sigma)
    assert ball.rel_accuracy_bits() >= 60
    with ctx.workprec(160):
        assert ball.overlaps(arb(nstr(expected, 30)) * (1 + arb(0, "1e-29")))


def event_of(n, d, sigma, outputs=1):
    return rdpkit.RegularisedSynthesis(
        records=n, outputs=outputs, dimension=d, added_variance=sigma
    )


@pytest.mark.parametrize("bound", [regularised.REPLACED, regularised.ADDED_OR_REMOVED])
def test_outputs_multiply(bound):
    (adjacency,) = bound.adjacencies
    orders = np.array([1.5, 4.0])
    one = bound.values(event_of(10**5, 6, 0.01), orders, adjacency)
    assert_allclose(bound.values(event_of(10**5, 6, 0.01, 7), orders, adjacency), 7 * one)
    assert np.isfinite(one).all()


@pytest.mark.parametrize("adjacency", [REPLACE, UNBOUNDED])
def test_an_event_has_a_certified_epsilon_and_no_published_bound(adjacency):
    event = event_of(10**6, 6, 0.1)
    found = rdpkit.epsilon(event, delta=1e-6, adjacency=adjacency)
    assert found.kind is rdpkit.Kind.UPPER
    assert found.enclosure.rigorous
    assert found.bound.startswith("synthesis-regularised")
    # The same number of draws from a law whose smallest eigenvalue is assumed costs as much: what
    # the data may be is what differs. 1e-3 is the relative difference of the two theorems.
    assumed = unit.synthesis(10**6, 1, 6, 0.1)
    other = rdpkit.epsilon(assumed, delta=1e-6, adjacency=adjacency)
    assert found.epsilon == pytest.approx(other.epsilon, rel=0.1)
    assert found.epsilon >= other.epsilon * (1.0 - 1e-12)


@pytest.mark.parametrize("rdp", [direct.replaced_one_output, regularised.rdp_one_output])
def test_more_records_and_more_variance_leak_less(rdp):
    """The bound at a public lower limit covers all larger data sets; hence it must fall."""
    orders = np.array([1.0009765625, 1.5, 2.0, 3.0, 8.0])
    for d in (1, 3):
        for sigma in (0.02, 0.5, 7.0):
            values = np.array([rdp(orders, n, d, sigma) for n in (*range(2, 60), 999, 10**6)])
            assert (values[1:] <= values[:-1]).all()
        values = np.array([rdp(orders, 40, d, s) for s in np.geomspace(1e-3, 1e3, 60)])
        assert (values[1:] <= values[:-1]).all()


def test_where_no_finite_bound_holds_it_is_infinite():
    # The orders end at N / h = 40 (1 + 2 / 2) and at 1 + 1 / T = 1 + 10 * 40 / 39.
    orders = np.array([1.5, 2.0, 11.2, 11.3, 41.0, 1e6])
    found = regularised.rdp_one_output(orders, 40, 1, 1.0)
    assert np.isfinite(found[:3]).all()
    assert np.isinf(found[3:]).all()
    assert not regularised.ball_one_output(41.0, 40, 1, 1.0).is_finite()
    assert np.isinf(regularised.rdp_one_output(orders, 2, 6, 0.01)).all()
    assert np.isinf(regularised.rdp_one_output(orders, 2, 6, 1e-308)).all()
    assert not regularised.ball_one_output(1.5, 2, 6, 0.01).is_finite()


# --- data sets ----------------------------------------------------------------------------------


def fitted(rows, counts, sigma):
    """Means and regularised covariances of many data sets: which rows, and how often each."""
    size = counts.sum(axis=1, keepdims=True)
    means = counts @ rows / size
    second = np.einsum("sk,ki,kj->sij", counts, rows, rows) / size[:, :, None]
    covariances = second - means[:, :, None] * means[:, None, :]
    return means, covariances + sigma * np.eye(rows.shape[1])


def divergences(order, first, second):
    """D_order of the first law from the second, for many pairs; inf where it diverges."""
    (mean_p, cov_p), (mean_q, cov_q) = first, second
    mixed = (1.0 - order) * cov_p + order * cov_q
    fine = np.linalg.eigvalsh(mixed)[:, 0] > 0.0
    safe = np.where(fine[:, None, None], mixed, np.eye(mixed.shape[1]))
    step = mean_p - mean_q
    quadratic = np.einsum("si,si->s", step, np.linalg.solve(safe, step[..., None])[..., 0])
    logs = [np.linalg.slogdet(one)[1] for one in (safe, cov_p, cov_q)]
    total = logs[0] - (1.0 - order) * logs[1] - order * logs[2]
    return np.where(fine, order / 2.0 * quadratic - total / (2.0 * (order - 1.0)), np.inf)


def both_ways(order, first, second):
    return np.maximum(divergences(order, first, second), divergences(order, second, first))


def data_sets(points, size):
    """Every data set of so many records at these points, as counts."""
    chosen = itertools.combinations_with_replacement(range(points), size)
    return np.array([np.bincount(np.array(c, dtype=int), minlength=points) for c in chosen])


def worst_replaced(rows, n, sigma, order):
    """The largest divergence over all data sets of n of these points, and all replacements."""
    common = data_sets(len(rows), n - 1)
    ones = np.eye(len(rows), dtype=int)
    worst = 0.0
    for i, j in itertools.combinations(range(len(rows)), 2):
        found = both_ways(
            order, fitted(rows, common + ones[i], sigma), fitted(rows, common + ones[j], sigma)
        )
        worst = max(worst, float(found.max()))
    return worst


def worst_changed(rows, n, sigma, order):
    """The largest divergence if a record is added to n - 1 or n points, or to fewer, filled up."""
    ones, zero = np.eye(len(rows), dtype=int), int(np.flatnonzero(~rows.any(axis=1))[0])
    worst = 0.0
    for there in range(n + 1):
        own = data_sets(len(rows), there)
        for i in range(len(rows)):
            pair = []
            for counts in (own, own + ones[i]):
                missing = np.maximum(n - counts.sum(axis=1), 0)
                pair.append(fitted(rows, counts + missing[:, None] * ones[zero], sigma))
            worst = max(worst, float(both_ways(order, *pair).max()))
    # Not filled up, one record below the public number.
    own = data_sets(len(rows), n - 1)
    for i in range(len(rows)):
        pair = [fitted(rows, counts, sigma) for counts in (own, own + ones[i])]
        worst = max(worst, float(both_ways(order, *pair).max()))
    return worst


GRID = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=2)))
LINE = np.array([[-1.0], [-0.4], [0.0], [1.0]])


@pytest.mark.parametrize("order", [1.05, 1.5, 2.0, 3.0])
@pytest.mark.parametrize(
    ("rows", "n", "sigma"),
    [(LINE, 2, 1.2), (LINE, 3, 9.0), (LINE, 5, 2.0), (GRID, 3, 5.0), (GRID, 4, 2.5)],
)
def test_no_pair_of_small_data_sets_leaks_more(rows, n, sigma, order):
    """Every data set on a grid with the corners, singular ones included; 1e-9 for rounding."""
    d = rows.shape[1]
    for rdp, worst in (
        (direct.replaced_one_output, worst_replaced),
        (regularised.rdp_one_output, worst_changed),
    ):
        bound = float(rdp(np.array([order]), n, d, sigma)[0])
        assert worst(rows, n, sigma, order) <= bound * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("rdp", "worst"),
    [
        (direct.replaced_one_output, worst_replaced),
        (regularised.rdp_one_output, worst_changed),
    ],
)
def test_a_mechanism_that_adds_less_is_noticed(rdp, worst):
    """A control: with four fifths of the variance some pair exceeds the bound, both ways."""
    bound = float(rdp(np.array([2.0]), 5, 1, 4.0)[0])
    assert worst(LINE, 5, 4.0, 2.0) <= bound
    assert worst(LINE, 5, 3.2, 2.0) > bound


def at_the_corner(n, d, far):
    """n - 1 records in the corner -1, and one more at ``far`` times the opposite corner."""
    rows = np.array([[-1.0] * d, [far] * d])
    return rows, np.array([[n - 1, 1]])


@pytest.mark.parametrize(("n", "d", "sigma"), [(100, 3, 1.0), (10**5, 6, 0.01), (10**7, 20, 0.05)])
@pytest.mark.parametrize("order", [2.0, 3.0])
def test_data_in_one_corner_attain_both_bounds(n, d, sigma, order):
    """The covariance of the common records is 0: what the theorem without regularisation excludes.

    1e-6: the covariances lose digits at n = 10^7.
    """
    rows, counts = at_the_corner(n, d, 1.0)
    changed = fitted(rows, counts, sigma)
    others = fitted(rows, np.array([[n, 0]]), sigma), fitted(rows, np.array([[n - 1, 0]]), sigma)
    for rdp, other, share in (
        (direct.replaced_one_output, others[0], 1.0 - 1e-6),
        (regularised.rdp_one_output, others[1], 0.98),
    ):
        bound = float(rdp(np.array([order]), n, d, sigma)[0])
        found = float(divergences(order, changed, other)[0])
        assert share * bound <= found <= bound * (1.0 + 1e-6)
