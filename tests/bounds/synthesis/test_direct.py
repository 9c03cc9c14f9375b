"""Direct bounds on mean-and-covariance synthesis: digits, limits, and the balls beside floats.

Reference values: tests/oracles/synthesis_direct.py (mp.dps = 80).
"""

import math

import numpy as np
import pytest
from flint import arb, ctx
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.synthesis import direct, miura2023
from tests.events import unit
from tests.oracles import synthesis_direct as oracle
from tests.oracles.table import load

ENTRIES = load("synthesis_direct")
NAMES = [f"n={e['n']:.0e},d={e['d']},a={e['order']:g}" for e in ENTRIES]
REPLACE, UNBOUNDED = Adjacency.REPLACE_ONE, Adjacency.ADD_OR_REMOVE_ONE
ORDERS = np.array([1.0009765625, 1.25, 2.0, 2.5, 4.0, 10.0, 64.0])


def arguments(entry):
    return entry["n"], entry["d"], entry["min_eigenvalue"]


def event_of(n, d, sigma, outputs=1):
    return unit.synthesis(n, outputs, d, sigma)


def reference(text, width="1e-29"):
    """A ball around the table's number, which has 30 digits."""
    with ctx.workprec(160):
        return arb(text) * (1 + arb(0, width))


def single(order):
    return np.array([order])


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
@pytest.mark.parametrize(
    ("name", "rdp"),
    [
        ("replaced", direct.replaced_one_output),
        ("added_or_removed", direct.rdp_of_pair),
    ],
)
def test_floats(entry, name, rdp):
    """1e-12: a few roundings, and 8 units in the last place by which inputs are rounded up.

    The points keep away from the limit on orders, near which the bound magnifies them.
    """
    found = rdp(single(entry["order"]), *arguments(entry))
    expected = math.inf if entry[name] is None else float(entry[name])
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
@pytest.mark.parametrize(
    ("name", "ball"),
    [
        ("replaced", direct.replaced_ball),
        ("added_or_removed", direct.ball_of_pair),
    ],
)
def test_balls(entry, name, ball):
    """The ball, widened to the 30 digits of the table, holds the reference value."""
    found = ball(entry["order"], *arguments(entry))
    if entry[name] is None:
        assert not found.is_finite()
        return
    assert found.rel_accuracy_bits() >= 60
    assert found.overlaps(reference(entry[name]))


@pytest.mark.slow
@pytest.mark.parametrize("row", [0, 7, 15, 22, 30])
def test_the_oracle_gives_its_table(row):
    stored = ENTRIES[row]
    assert oracle.entry(*oracle.POINTS[row]) == stored


@pytest.mark.parametrize("entry", load("gaussian_synthesis"))
@pytest.mark.parametrize("sound", [False, True])
def test_balls_of_the_printed_theorems(entry, sound):
    """Theorem 3.1 exactly; the corollary's ball is for the p of the search, hence not below."""
    n, d, sigma, a = *arguments(entry), entry["order"]
    event = event_of(n, d, sigma)
    if entry["theorem31"] is not None:
        shifted = event_of(n + 1, d, sigma) if sound else event
        bound = miura2023.EVERY_PAIR if sound else miura2023.THEOREM
        ball = bound.ball(shifted, a, UNBOUNDED)
        assert ball.rel_accuracy_bits() >= 60
        assert ball.overlaps(reference(entry["theorem31"]))
    expected = entry["corollary32_both_at_n" if sound else "corollary32"]
    bound = miura2023.CORRECTED if sound else miura2023.COROLLARY
    ball = bound.ball(event, a, REPLACE)
    if expected is None:
        assert not ball.is_finite()
        return
    assert ball.rel_accuracy_bits() >= 60
    assert not ball < reference(expected)
    assert ball.overlaps(reference(expected, "1e-9"))


@pytest.mark.parametrize("bound", [direct.REPLACED, direct.ADDED_OR_REMOVED])
def test_bounds_multiply_by_outputs_and_agree_with_their_balls(bound):
    adjacency = bound.adjacencies[0]
    event = event_of(10**5, 6, 0.01, outputs=7)
    inside = ORDERS[bound.order_range(event, adjacency).contains(ORDERS)]
    assert inside.size == 6
    values = bound.values(event, inside, adjacency)
    ones = bound.values(event_of(10**5, 6, 0.01), inside, adjacency)
    assert_allclose(values, 7 * ones, rtol=1e-15)
    for order, value in zip(inside, values, strict=True):
        assert float(bound.ball(event, float(order), adjacency)) == pytest.approx(value, rel=1e-13)


# --- how the bounds compare ---------------------------------------------------------------------

SETTINGS = [
    (n, d, sigma)
    for n in (60, 1000, 10**4, 10**6, 10**9)
    for d, sigma in ((1, 1.0), (1, 0.1), (2, 0.9), (6, 0.01), (30, 0.003))
]


def printed_rounding(n, d, sigma, orders):
    """What the floats of Theorem 3.1 lose: see the tolerance of test_synthesis."""
    tau = 4.0 * d / sigma
    return 1e-12 + 2e-15 * n * d / (orders - 1.0) / tau


@pytest.mark.parametrize(("n", "d", "sigma"), SETTINGS)
def test_best_is_the_direct_bound(n, d, sigma):
    arguments = {"n": n, "d": d, "min_eigenvalue": sigma}
    for adjacency in ("replace_one", "add_or_remove_one"):
        best = rdpkit.gaussian_synthesis_rdp(ORDERS, adjacency=adjacency, **arguments)
        direct = rdpkit.gaussian_synthesis_rdp(
            ORDERS, adjacency=adjacency, theorem="direct", **arguments
        )
        assert not np.isnan(direct).any()
        assert (np.diff(direct[np.isfinite(direct)]) >= 0).all()
        margin = 1.0 + printed_rounding(n, d, sigma, ORDERS)
        assert (best <= direct).all()
        assert (best * margin >= direct)[np.isfinite(direct)].all()


# --- where no finite bound holds ----------------------------------------------------------------


def test_few_records_leave_no_order():
    """T >= 1: no bound, and neither NaN nor a warning."""
    event = event_of(2, 6, 0.01)
    assert np.isinf(direct.REPLACED.values(event, ORDERS, REPLACE)).all()
    assert np.isinf(direct.replaced_one_output(ORDERS, 2401, 6, 0.01)[3:]).all()
    assert np.isinf(direct.ADDED_OR_REMOVED.values(event, ORDERS[2:], UNBOUNDED)).all()
    assert not direct.replaced_ball(1.5, 2, 6, 0.01).is_finite()
    assert not direct.ball_of_pair(3.0, 1, 6, 0.01).is_finite()


@pytest.mark.parametrize(("n", "d", "sigma"), SETTINGS)
def test_finite_up_to_the_limit_on_orders_and_infinite_beyond(n, d, sigma):
    for rdp, limit in (
        (direct.replaced_one_output, direct.replaced_limit(n, d, sigma)),
        (direct.rdp_of_pair, direct.limit(n, d, sigma)),
    ):
        around = 1.0 + (limit - 1.0) * np.array([0.999999, 1.000001])
        if limit > 1.0:
            found = rdp(around, n, d, sigma)
            assert np.isfinite(found[0])
            assert found[1] == math.inf
