"""Direct bounds on mean-and-covariance synthesis: digits, the steps of the proof, and real data.

Reference values: tests/oracles/synthesis_direct.py (mp.dps = 80).
"""

import math

import numpy as np
import pytest
from flint import arb, ctx
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.synthesis import direct as synthesis_direct
from rdpkit.bounds.synthesis import exact as synthesis_exact
from rdpkit.bounds.synthesis import miura2023_cor32, miura2023_thm31
from rdpkit.bounds.synthesis.exact import log_part
from rdpkit.events import GaussianSynthesis
from rdpkit.pairs.synthesis import attained_pair
from tests.oracles import gaussian_synthesis
from tests.oracles import synthesis_direct as oracle
from tests.oracles.table import load

ENTRIES = load("synthesis_direct")
NAMES = [f"n={e['n']:.0e},d={e['d']},a={e['order']:g}" for e in ENTRIES]
REPLACE, UNBOUNDED = Adjacency.REPLACE_ONE, Adjacency.ADD_OR_REMOVE_ONE
ORDERS = np.array([1.0009765625, 1.25, 2.0, 2.5, 4.0, 10.0, 64.0])


def arguments(entry):
    return entry["n"], entry["d"], entry["min_eigenvalue"]


def event_of(n, d, sigma, outputs=1):
    return GaussianSynthesis(records=n, outputs=outputs, dimension=d, min_eigenvalue=sigma)


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
        ("replaced", synthesis_direct.rdp_one_output),
        ("added_or_removed", synthesis_exact.rdp_of_pair),
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
        ("replaced", synthesis_direct.ball_one_output),
        ("added_or_removed", synthesis_exact.ball_of_pair),
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
        bound = miura2023_thm31.UPPER if sound else miura2023_thm31.PUBLISHED
        ball = bound.ball(shifted, a, UNBOUNDED)
        assert ball.rel_accuracy_bits() >= 60
        assert ball.overlaps(reference(entry["theorem31"]))
    expected = entry["corollary32_both_at_n" if sound else "corollary32"]
    bound = miura2023_cor32.UPPER if sound else miura2023_cor32.PUBLISHED
    ball = bound.ball(event, a, REPLACE)
    if expected is None:
        assert not ball.is_finite()
        return
    assert ball.rel_accuracy_bits() >= 60
    assert not ball < reference(expected)
    assert ball.overlaps(reference(expected, "1e-9"))


def test_corollary_oracle_is_the_minimum_over_p():
    """So that the comparison above is with what it says: other p give more."""
    n, d, sigma, a = 10**5, 6, 0.01, 4.0
    best = float(gaussian_synthesis.entry(n, d, sigma, a)["corollary32"])
    c = miura2023_thm31.limit(n, d, sigma)
    for p in (1.2, 1.9, 2.3, 4.0):
        assert p * a < c
        one = miura2023_thm31.rdp_one_output(single(p * a), n, d, sigma)
        two = miura2023_thm31.rdp_one_output(single((p * a - 1) / (p - 1)), n + 1, d, sigma)
        assert ((a - 1 / p) / (a - 1) * one + two)[0] >= best


@pytest.mark.parametrize("bound", [synthesis_direct.BOUND, synthesis_exact.BOUND])
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


def test_numbers_of_the_theory_page():
    """Outputs as many as records; the paper's Corollary 3.2 has 266.7, 23.36 and 2.307."""
    for n, replaced, unbounded in (
        (10**4, 1047.4347, 1029.5809),
        (10**5, 59.616618, 58.960863),
        (10**6, 5.7833720, 5.7207490),
        (10**7, 0.57666467, 0.57042948),
    ):
        arguments = {"n": n, "d": 6, "min_eigenvalue": 0.01, "theorem": "direct"}
        for adjacency, expected in (("replace_one", replaced), ("add_or_remove_one", unbounded)):
            found = rdpkit.gaussian_synthesis_rdp([4.0], adjacency=adjacency, **arguments)
            assert n * found[0] == pytest.approx(expected, rel=1e-7)


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
def test_below_the_corrected_corollary(n, d, sigma):
    event = event_of(n, d, sigma)
    corollary = miura2023_cor32.UPPER.values(event, ORDERS, REPLACE)
    direct = synthesis_direct.BOUND.values(event, ORDERS, REPLACE)
    assert (direct <= corollary * (1.0 + printed_rounding(n, d, sigma, ORDERS))).all()
    finite = np.isfinite(corollary)
    assert (direct[finite] < 0.5 * corollary[finite]).all()


@pytest.mark.parametrize(("n", "d", "sigma"), SETTINGS)
def test_below_theorem_31_at_the_same_pair(n, d, sigma):
    c = miura2023_thm31.limit(n, d, sigma)
    orders = ORDERS[c > ORDERS]
    if not orders.size:
        return
    theorem = miura2023_thm31.rdp_one_output(orders, n, d, sigma)
    exact = synthesis_exact.rdp_of_pair(orders, n, d, sigma)
    assert (exact <= theorem * (1.0 + printed_rounding(n, d, sigma, orders))).all()


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
    assert np.isinf(synthesis_direct.BOUND.values(event, ORDERS, REPLACE)).all()
    assert np.isinf(synthesis_direct.rdp_one_output(ORDERS, 2401, 6, 0.01)[3:]).all()
    assert np.isinf(synthesis_exact.BOUND.values(event, ORDERS[2:], UNBOUNDED)).all()
    assert not synthesis_direct.ball_one_output(1.5, 2, 6, 0.01).is_finite()
    assert not synthesis_exact.ball_of_pair(3.0, 1, 6, 0.01).is_finite()


@pytest.mark.parametrize(("n", "d", "sigma"), SETTINGS)
def test_finite_up_to_the_limit_on_orders_and_infinite_beyond(n, d, sigma):
    for rdp, limit in (
        (synthesis_direct.rdp_one_output, synthesis_direct.limit(n, d, sigma)),
        (synthesis_exact.rdp_of_pair, synthesis_exact.limit(n, d, sigma)),
    ):
        around = 1.0 + (limit - 1.0) * np.array([0.999999, 1.000001])
        if limit > 1.0:
            found = rdp(around, n, d, sigma)
            assert np.isfinite(found[0])
            assert found[1] == math.inf


def test_the_divergence_is_infinite_at_the_limit():
    """The limit is not an artefact: replacing the far record by the mean of the others attains it.

    In one dimension, with the smaller variance sigma.
    """
    spread = synthesis_direct.spread(50, 1, 0.5)
    limit = synthesis_direct.limit(50, 1, 0.5)
    for factor, finite in ((0.999, True), (1.001, False)):
        found = rdpkit.gaussian_renyi_divergence(
            1.0 + (limit - 1.0) * factor,
            mean_p=[0.0],
            cov_p=[[1.0 + spread]],
            mean_q=[0.0],
            cov_q=[[1.0]],
        )
        assert math.isfinite(found) == finite


def test_unknown_theorem():
    with pytest.raises(ValueError, match=r"'best', 'direct', 'miura2023-thm3\.1'"):
        rdpkit.gaussian_synthesis_rdp(
            [2.0], n=100, d=1, min_eigenvalue=0.5, adjacency="replace_one", theorem="indirect"
        )


# --- the steps of the proof ---------------------------------------------------------------------


def gram_matrices(seed, count):
    """Gram matrices (A, B, C) below T = 1 times those of three points in a cube.

    Mixtures of the six corners of the hexagon of (v_i, w_i), then shrunk in a random direction.
    """
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet([0.3] * 3, size=count)
    a, b, c = weights[:, 0] + weights[:, 1], weights[:, 1] + weights[:, 2], weights[:, 1]
    left, low = np.sqrt(a), c / np.sqrt(a)
    right = np.sqrt(np.maximum(b - low * low, 0.0))
    angle = rng.uniform(0.0, math.pi, count)
    one = rng.uniform(0.0, 1.0, count) ** rng.choice([0.0, 0.01, 1.0], count)
    two = rng.uniform(0.0, 1.0, count) ** rng.choice([0.0, 0.1, 1.0, 5.0], count)
    cos, sin = np.cos(angle), np.sin(angle)
    k11, k22 = one * cos * cos + two * sin * sin, one * sin * sin + two * cos * cos
    k12 = (one - two) * cos * sin
    return (
        left * k11 * left,
        low * (k11 * low + k12 * right) + right * (k12 * low + k22 * right),
        left * (k11 * low + k12 * right),
    )


def eigenvalues(a, b, c):
    """x >= 0 and -y <= 0 of the matrix of v v' - w w', given the Gram entries."""
    difference, product = a - b, np.maximum(a * b - c * c, 0.0)
    root = np.sqrt(difference * difference + 4.0 * product)
    return (root + difference) / 2.0, (root - difference) / 2.0


def test_gram_set_is_what_the_page_says():
    a, b, c = gram_matrices(0, 20000)
    for largest in (a, b, a + b - 2.0 * c, a + b - c):
        assert largest.max() <= 1.0 + 1e-12


def test_lemma_on_the_eigenvalues():
    """x^2 + 2 y^2 <= T^2 for A >= B, and the constant is attained."""
    a, b, c = gram_matrices(1, 200000)
    x, y = eigenvalues(a, b, c)
    found = (x * x + 2.0 * y * y)[a >= b]
    assert 0.999 < found.max() <= 1.0 + 1e-9


def divergence(order, spread, m, gram):
    """D_order of one output from Gram entries in the metric of the second covariance."""
    a, b, c = (spread * entry for entry in gram)
    x, y = eigenvalues(a, b, c)
    room = (1.0 - (order - 1.0) * x) * (1.0 + (order - 1.0) * y)
    orders = np.broadcast_to(order, x.shape)
    return order / (2.0 * m) * (a + b - 2.0 * c) / room + log_part(orders, x) + log_part(orders, -y)


@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 3.0, 20.0])
@pytest.mark.parametrize("share", [0.03, 0.5, 0.95, 0.999])
def test_monte_carlo_over_the_gram_set(order, share):
    """Both directions: A >= B by the theorem; A < B if the first covariance's Gram set allows it.

    1e-9: rounding of the eigenvalues next to the pole.
    """
    spread = share * min(1.0, 1.0 / (order - 1.0))
    for m in (3, 10**6):
        # One output of n = m + 1 records, at tau that makes T what it is here.
        n = m + 1
        tau = spread * n * n / m
        sigma = min(4.0 / tau, 1.0)
        if sigma == 1.0:
            continue
        bound = synthesis_direct.rdp_one_output(single(order), n, 1, sigma)[0]
        a, b, c = gram_matrices(int(1000 * share), 30000)
        found = divergence(order, spread, m, (a, b, c))
        assert found[a >= b].max() <= bound * (1.0 + 1e-9)
        # Gram entries in the metric of the first covariance, (G^-1 + diag(1, -1))^-1.
        p, q, r = spread * a, spread * b, spread * c
        det = (1.0 + p) * (1.0 - q) + r * r
        p, q, r = ((1.0 - q) * p + r * r) / det, ((1.0 + p) * q - r * r) / det, r / det
        largest = np.max([p, q, p + q - 2.0 * r, p + q - r], axis=0)
        allowed = (det > 0.0) & (largest <= spread)
        assert allowed.any()
        assert found[allowed].max() <= bound * (1.0 + 1e-9)


def test_exchanging_the_records_lowers_the_divergence():
    """The larger direction is the one with A >= B, in the metric of the common records."""
    a, b, c = gram_matrices(2, 50000)
    a, b = np.maximum(a, b), np.minimum(a, b)
    rng = np.random.default_rng(3)
    spread = rng.uniform(0.0, 2.0, a.size)
    order = 1.0 + rng.uniform(1e-3, 1.0, a.size) / spread

    def value(a, b, c):
        minor = a * b - c * c
        det = (1.0 - (order - 1.0) * a) * (1.0 + order * b) + order * (order - 1.0) * c * c
        logs = np.log(det) + (order - 1.0) * np.log1p(a) - order * np.log1p(b)
        return order / 6.0 * (a + b - 2 * c + minor) / det - logs / (2.0 * (order - 1.0))

    one, two = value(spread * a, spread * b, spread * c), value(spread * b, spread * a, spread * c)
    assert (one >= two - 1e-9 * np.abs(one) - 1e-12).all()


# --- data sets that exist -----------------------------------------------------------------------


def moments(data):
    return data.mean(axis=0), np.cov(data.T, bias=True).reshape(data.shape[1], data.shape[1])


def both_ways(order, one, two):
    (p, s), (q, r) = moments(one), moments(two)
    return max(
        rdpkit.gaussian_renyi_divergence(order, mean_p=p, cov_p=s, mean_q=q, cov_q=r),
        rdpkit.gaussian_renyi_divergence(order, mean_p=q, cov_p=r, mean_q=p, cov_q=s),
    )


def smallest(*data):
    return min(float(np.linalg.eigvalsh(moments(one)[1]).min()) for one in data)


def ratio(common, x, other, order):
    """What a pair of data sets leaks, over the bound at the largest sigma that they satisfy."""
    n, d = len(common) + 1, common.shape[1]
    one = np.vstack([common, x])
    if other is None:
        neighbour, rdp, size = common, synthesis_exact.rdp_of_pair, n - 1
    else:
        neighbour, rdp, size = np.vstack([common, other]), synthesis_direct.rdp_one_output, n
    sigma = smallest(one, neighbour) * (1.0 - 1e-12)
    if sigma <= 1e-9:
        return 0.0
    bound = rdp(single(order), size, d, sigma)[0]
    return 0.0 if math.isinf(bound) else both_ways(order, one, neighbour) / bound


@pytest.mark.thorough
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("order", [1.05, 1.8, 3.0])
def test_search_for_data_that_leak_more(d, order, replace):
    """Hill climbing over all records; 1e-9 for the divergence's own rounding.

    From random corners, and from data sets that come near to the bound, so that it could fail.
    """
    rng = np.random.default_rng(17 * d + replace)
    x, other = np.ones((1, d)), -np.ones((1, d)) if replace else None
    starts = [rng.choice([-1.0, 1.0], size=(n - 1, d), p=[0.85, 0.15]) for n in (8, 40)]
    near = attained_pair(event_of(400, d, 0.1), order, REPLACE if replace else UNBOUNDED)
    records = max(near.first, near.second, key=lambda data: (len(data), (1.0,) * d in data.rows))
    starts.append(records.records()[:-1])
    assert (records.records()[-1] == 1.0).all()
    for common in starts:
        state = (common, x, other)
        best = ratio(*state, order)
        for step in range(40):
            width = rng.choice([0.02, 0.3, 2.0])
            moved = [
                None
                if part is None
                else np.clip(
                    part + width * rng.normal(size=part.shape) * (rng.random(part.shape) < 0.2),
                    -1.0,
                    1.0,
                )
                for part in state
            ]
            if step % 3:
                moved[step % 3 - 1] = state[step % 3 - 1]
            found = ratio(*moved, order)
            assert found <= 1.0 + 1e-9
            if found > best:
                best, state = found, tuple(moved)
    assert best > 0.7
