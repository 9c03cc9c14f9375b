"""Guarantees that are stated: curves, points of a profile and zCDP, and what they compose to.

Mechanisms with few outcomes have exact profiles, divergences and compositions; the bounds are
computed from a few points of the profile alone and must never fall below.
"""

import math
from itertools import combinations, product

import mpmath
import mpmath as mp
import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import gammaln

import rdpkit
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.bounds import stated
from rdpkit.events import CustomProfile
from rdpkit.events.losses import NoLossDistributionError
from tests.bounds.strategies import envelope_at, log_uniform
from tests.events import unit

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE


def curve(orders, values, asked, adjacency=ADD):
    event = rdpkit.CustomRdp(orders=orders, values=values, adjacency=adjacency)
    return rdpkit.RdpCurve.of(event, orders=asked, adjacency=adjacency).values


def test_chord_of_the_scaled_divergence():
    """(a-1) r is 0.2 at 2 and 6.3 at 8: at 5 the chord is 3.25, and r = 3.25 / 4."""
    assert_allclose(curve((2.0, 8.0), (0.2, 0.9), [5.0]), [0.8125], rtol=1e-15)


def test_below_the_first_order_its_value():
    assert curve((2.0, 8.0), (0.2, 0.9), [1.0 + 1e-9, 1.5]).tolist() == [0.2, 0.2]


def test_above_the_last_order_nothing():
    assert curve((2.0, 8.0), (0.2, 0.9), [8.0, 8.5]).tolist() == [0.9, math.inf]


def test_infinite_values():
    found = curve((2.0, 4.0, 8.0), (0.2, 0.4, math.inf), [2.0, 4.0, 6.0, 8.0])
    assert_allclose(found, [0.2, 0.4, math.inf, math.inf], rtol=5e-16)


@settings(max_examples=60)
@given(
    st.lists(log_uniform(0.01, 200.0), min_size=2, max_size=6, unique=True),
    log_uniform(0.01, 200.0),
    log_uniform(1e-3, 0.9),
)
def test_never_below_the_curve_it_samples(gaps, gap, q):
    """Chords of a true curve lie above it; inf above its last order. Rounding: 1e-11."""
    orders = 1.0 + np.sort(np.array(gaps))
    if (np.diff(orders) <= 0.0).any():
        return
    options = {"noise_multiplier": 2.0, "sampling_probability": q}
    values = rdpkit.sampled_gaussian_rdp(orders, **options)
    found = curve(tuple(orders), tuple(values), [1.0 + gap])[0]
    assert found >= rdpkit.sampled_gaussian_rdp([1.0 + gap], **options)[0] * (1.0 - 1e-11)


@pytest.mark.parametrize(
    ("event", "most"),
    [
        (rdpkit.CustomRdp(orders=(2.0,), values=(0.2,), adjacency="replace_one"), 12.0),
        (CustomProfile(epsilons=(0.5,), deltas=(1e-7,), adjacency="replace_one"), 0.5),
        (rdpkit.ZeroConcentrated(rho=0.1, adjacency="replace_one"), 2.3),
    ],
)
def test_holds_under_its_own_adjacency_only(event, most):
    assert rdpkit.RdpCurve.of(event, orders=[2.0], adjacency=ADD).values.tolist() == [math.inf]
    found = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD)
    assert found.epsilon == math.inf
    assert found.order is None
    assert rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon < most


def profile(epsilons, deltas, adjacency=ADD):
    return CustomProfile(epsilons=epsilons, deltas=deltas, adjacency=adjacency)


def at(event, epsilons):
    nodes = stated.envelope(event)
    return envelope_at(nodes, np.asarray(epsilons, dtype=np.float64))


def rdp(event, orders):
    return rdpkit.RdpCurve.of(event, orders=orders, adjacency=event.adjacency).values


def hockey_stick(p, q, epsilon):
    """E_eps(P||Q) of two vectors."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


POINTS = st.lists(
    st.tuples(log_uniform(1e-3, 20.0), st.one_of(log_uniform(1e-9, 1.0), st.just(0.0))),
    min_size=1,
    max_size=6,
    unique_by=lambda point: point[0],
).map(
    lambda points: (
        tuple(sorted(eps for eps, _ in points)),
        tuple(sorted((delta for _, delta in points), reverse=True)),
    )
)
WEIGHTS = st.lists(st.one_of(st.floats(0.01, 1.0), st.just(0.0)), min_size=2, max_size=4)


@st.composite
def pairs(draw):
    """Two distributions on two to four outcomes; some outcomes impossible under one of them."""
    p = draw(WEIGHTS.filter(any))
    q = draw(st.lists(st.floats(0.01, 1.0), min_size=len(p), max_size=len(p)))
    p, q = np.array(p), np.array(q)
    return p / p.sum(), q / q.sum()


@st.composite
def pairs_with_points(draw):
    """A pair, and a few points of the larger of its two profiles, rounded up."""
    p, q = draw(pairs())
    epsilons = sorted(draw(st.lists(log_uniform(1e-3, 8.0), min_size=1, max_size=5, unique=True)))
    deltas = [max(hockey_stick(p, q, e), hockey_stick(q, p, e)) for e in epsilons]
    deltas = np.minimum(np.minimum.accumulate(np.array(deltas) * (1.0 + 1e-13)), 1.0)
    return p, q, profile(tuple(epsilons), tuple(deltas))


class TestEnvelope:
    @settings(max_examples=30)
    @given(POINTS, log_uniform(1e-3, 25.0))
    def test_it_is_the_least_that_the_chords_allow(self, points, epsilon):
        """All chords between all points and their mirror images, by brute force in 60 digits."""
        with mpmath.workdps(60):
            given_ = [(mpmath.mpf(0), mpmath.mpf(1))]
            for eps, delta in zip(*points, strict=True):
                g = mpmath.exp(eps)
                given_ += [(g, mpmath.mpf(delta)), (1 / g, 1 - 1 / g + delta / g)]
            x = mpmath.exp(epsilon)
            least = mpmath.mpf(1)
            for (a, fa), (b, fb) in combinations(sorted(given_), 2):
                if a <= x <= b:
                    least = min(least, fa + (fb - fa) * (x - a) / (b - a))
            least = min([least, *(f for g, f in given_ if g <= x)])
        # Nodes are chosen in floats, and the last digits of points of 1e-9 beside ones of 1 count.
        assert_allclose(at(profile(*points), [epsilon])[0], float(least), rtol=1e-7, atol=1e-15)

    @settings(max_examples=12)
    @given(pairs_with_points(), st.floats(-8.0, 8.0))
    def test_it_is_never_below_the_profile_that_the_points_are_of(self, example, epsilon):
        p, q, event = example
        found = at(event, [epsilon])[0]
        assert found >= hockey_stick(p, q, epsilon) * (1.0 - 1e-12) - 1e-15
        assert found >= hockey_stick(q, p, epsilon) * (1.0 - 1e-12) - 1e-15

    def test_epsilons_too_large_for_exponentials(self):
        found = at(profile((1.0, 5000.0, 9000.0), (0.5, 0.1, 0.0)), [0.0, 5000.0, 8000.0, 9000.0])
        assert_allclose(found, [0.5 + 0.5 * math.tanh(0.5), 0.1, 0.1, 0.0], rtol=1e-12)


class TestDivergence:
    @pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 300.0])
    def test_pure_privacy_is_randomised_response(self, epsilon):
        """log[(e^{a eps} + e^{(1-a) eps}) / (1 + e^eps)] / (a-1), in 60 digits."""
        orders = [1.0 + 1e-6, 1.5, 2.0, 17.3, 1000.0]
        with mpmath.workdps(60):
            e = mpmath.mpf(epsilon)
            exact = [
                mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e)))
                / (a - 1)
                for a in map(mpmath.mpf, orders)
            ]
        # The exponent (a-1) eps loses its own last digits at the largest.
        found = rdp(profile((epsilon,), (0.0,)), orders)
        assert_allclose(found, [float(v) for v in exact], rtol=1e-12)

    @settings(max_examples=15)
    @given(POINTS, log_uniform(1e-4, 300.0))
    def test_it_is_the_hockey_stick_integral_of_the_envelope(self, points, gap):
        """Integrated segment by segment in 40 digits."""
        epsilons, deltas = points
        event = profile(epsilons, (*deltas[:-1], 0.0))
        nodes = stated.envelope(event)
        with mpmath.workdps(40):
            a = 1 + mpmath.mpf(gap)
            g = [mpmath.exp(e) for e in nodes.epsilons]
            values = [mpmath.mpf(v) for v in nodes.values]
            total = mpmath.mpf(0)
            for k in range(len(g) - 1):
                slope = (values[k + 1] - values[k]) / (g[k + 1] - g[k])
                base = values[k] - slope * g[k]
                for power in (a - 2, -a - 1):
                    for n, factor in ((1, base), (2, slope)):
                        s = power + n
                        if s == 0:
                            total += factor * mpmath.log(g[k + 1] / g[k])
                        else:
                            total += factor * (g[k + 1] ** s - g[k] ** s) / s
            exact = mpmath.log1p(a * (a - 1) * total) / (a - 1)
        # The node at 0 is a float there, and a product here: relative 1e-16 of it.
        assert_allclose(rdp(event, [1.0 + gap])[0], float(exact), rtol=1e-6, atol=1e-15)

    @settings(max_examples=20)
    @given(POINTS, log_uniform(1e-4, 300.0))
    def test_the_ball_contains_it(self, points, gap):
        event = profile(points[0], (*points[1][:-1], 0.0))
        with ctx.workprec(128):
            ball = stated.PROFILE.ball(event, 1.0 + gap, ADD)
        assert_allclose(rdp(event, [1.0 + gap])[0], float(ball.mid()), rtol=1e-9)
        assert ball.rel_accuracy_bits() >= 50 or ball == 0

    @settings(max_examples=30)
    @given(pairs_with_points(), log_uniform(1e-3, 100.0))
    def test_it_is_never_below_the_divergence_of_the_pair(self, example, gap):
        """Both directions; the pair's divergence is inf where an outcome is impossible."""
        p, q, event = example
        order = 1.0 + gap
        found = rdp(event, [order])[0]
        for one, two in ((p, q), (q, p)):
            with np.errstate(divide="ignore"):
                terms = order * np.log(one) + (1.0 - order) * np.log(two)
            exact = np.logaddexp.reduce(terms[one > 0.0]) / gap
            assert found >= exact * (1.0 - 1e-9) - 1e-13

    def test_none_is_claimed_where_delta_stays_above_zero(self):
        assert rdp(profile((1.0,), (1e-300,)), [1.5, 100.0]).tolist() == [math.inf] * 2

    def test_the_laplace_mechanism_by_many_points(self):
        """delta(eps) = 1 - e^{(eps-1)/2}; Mironov 2017, Proposition 6 is exact."""
        epsilons = np.linspace(0.0, 1.0, 513)
        orders = np.array([1.1, 2.0, 8.0, 64.0])
        exact = np.log(
            orders / (2.0 * orders - 1.0) * np.exp(orders - 1.0)
            + (orders - 1.0) / (2.0 * orders - 1.0) * np.exp(-orders)
        ) / (orders - 1.0)
        found = rdp(profile(tuple(epsilons), tuple(-np.expm1(0.5 * (epsilons - 1.0)))), orders)
        assert (found >= exact * (1.0 - 1e-12)).all()
        assert_allclose(found, exact, rtol=1e-5)  # what the chords cost


def optimal_delta(epsilon, delta, count, at_epsilon):
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3: the composed pair is binomial."""
    j = np.arange(count + 1)
    losses = (2 * j - count) * epsilon
    logs = gammaln(count + 1) - gammaln(j + 1) - gammaln(count - j + 1)
    mass = np.exp(logs + j * epsilon - count * np.log1p(math.exp(epsilon)))
    kept = np.where(losses > at_epsilon, -np.expm1(np.minimum(at_epsilon - losses, 0.0)), 0.0)
    return 1.0 - (1.0 - delta) ** count * (1.0 - float(mass @ kept))


def optimal_epsilon(epsilon, delta, count, at_delta):
    low, high = 0.0, count * epsilon
    for _ in range(200):
        middle = 0.5 * (low + high)
        if optimal_delta(epsilon, delta, count, middle) > at_delta:
            low = middle
        else:
            high = middle
    return high


class TestComposition:
    @pytest.mark.parametrize(
        ("epsilon", "delta", "count", "at_delta"),
        [
            (0.1, 1e-7, 100, 1e-4),
            (0.1, 0.0, 100, 1e-5),
            (1.0, 1e-6, 20, 1e-4),
            (0.01, 1e-9, 5000, 1e-5),
            (2.0, 1e-3, 2, 1e-2),
            (0.7, 0.0, 1, 1e-3),
        ],
    )
    def test_one_point_composes_by_the_optimal_theorem(self, epsilon, delta, count, at_delta):
        """The losses lie on the grid: only the transform's rounding is left."""
        event = profile((epsilon,), (delta,)) * count
        exact = optimal_epsilon(epsilon, delta, count, at_delta)
        found = rdpkit.epsilon(event, delta=at_delta, adjacency=ADD)
        assert_allclose(found.epsilon, exact, rtol=1e-7)
        other = rdpkit.delta(event, epsilon=exact, adjacency=ADD)
        assert_allclose(other.delta, at_delta, rtol=1e-6)

    def test_a_point_gives_itself_back(self):
        """One part in 1e15 above, by which the grid covers the last point."""
        event = profile((1.0, 2.0), (1e-3, 1e-5))
        assert_allclose(rdpkit.epsilon(event, delta=1e-5, adjacency=ADD).epsilon, 2.0, rtol=1e-9)
        # Halving the step to 1/1000 of the result leaves that much between two points.
        found = rdpkit.epsilon(event, delta=1e-3, adjacency=ADD).epsilon
        assert 1.0 <= found <= 1.0 * (1.0 + 1e-3)

    @pytest.mark.thorough
    @settings(max_examples=6)
    @given(pairs_with_points(), st.integers(1, 4), st.floats(0.0, 4.0))
    def test_it_is_never_below_the_composed_pair(self, example, count, epsilon):
        """All outcomes of up to four releases, enumerated."""
        p, q, event = example
        bound = rdpkit.delta(event * count, epsilon=epsilon, adjacency=ADD).delta
        for one, two in ((p, q), (q, p)):
            many_one = np.array([math.prod(c) for c in product(one, repeat=count)])
            many_two = np.array([math.prod(c) for c in product(two, repeat=count)])
            assert bound >= hockey_stick(many_one, many_two, epsilon) * (1.0 - 1e-9) - 1e-10

    def test_pure_points_are_certified_together_with_curves(self):
        curve = rdpkit.CustomRdp(orders=(2.0, 64.0), values=(0.01, 0.3), adjacency=ADD)
        event = rdpkit.Composed(events=(curve, profile((0.1,), (0.0,))))
        found = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD)
        assert found.bound == "custom-rdp + custom-profile"
        assert found.enclosure.rigorous

    def test_perfect_and_no_privacy(self):
        perfect, none = profile((0.0,), (0.0,)), profile((0.0,), (1.0,))
        assert rdpkit.epsilon(perfect, delta=1e-5, adjacency=ADD).epsilon == 0.0
        assert rdpkit.epsilon(none, delta=0.99, adjacency=ADD).epsilon == math.inf
        assert rdpkit.delta(none, epsilon=100.0, adjacency=ADD).delta == 1.0
        noise = unit.gaussian(4.0)
        both = rdpkit.Composed(events=(noise, perfect))
        question = {"delta": 1e-5, "adjacency": ADD}
        assert rdpkit.epsilon(both, **question) == rdpkit.epsilon(noise, **question)
        assert rdpkit.epsilon(rdpkit.Composed(events=(noise, none)), **question).epsilon == math.inf

    def test_no_data_sets_attain_it(self):
        event = profile((0.5,), (1e-7,))
        with pytest.raises(NoLossDistributionError, match="custom_profile"):
            rdpkit.lower_bound(event, adjacency=ADD, delta=1e-5)

    def test_losses_may_be_large(self):
        event = profile((300.0,), (0.0,))
        assert rdpkit.epsilon(event, delta=0.0, adjacency=ADD).epsilon == 300.0
        twice = event * 2
        assert rdpkit.epsilon(twice, delta=1e-9, adjacency=ADD).epsilon <= 600.0


@settings(max_examples=60)
@given(log_uniform(1e-9, 1e3), log_uniform(1e-9, 1e3), log_uniform(1e-3, 1e5))
def test_it_is_its_definition(rho, xi, gap):
    event = rdpkit.ZeroConcentrated(rho=rho, xi=xi, adjacency=ADD)
    order = 1.0 + gap
    assert UpperBounds().rdp(event, np.array([order]), ADD)[0] == pytest.approx(xi + rho * order)
    assert float(UpperBounds().ball(event, order, ADD)) == pytest.approx(xi + rho * order)


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-100])
@pytest.mark.parametrize("noise", [0.5, 5.0, 1e4])
def test_a_gaussian_by_its_renyi_divergences(noise, delta):
    stated = rdpkit.ZeroConcentrated(rho=0.5 / noise**2, adjacency=ADD)
    gaussian = unit.gaussian(noise)
    found = rdpkit.epsilon(stated, delta=delta, adjacency=ADD)
    assert found.bound == "zero-concentrated"
    same = rdpkit.epsilon(gaussian, delta=delta, adjacency=ADD, bound="best-rdp")
    assert found.epsilon == pytest.approx(same.epsilon, rel=1e-9)
    exact = rdpkit.epsilon(gaussian, delta=delta, adjacency=ADD)
    assert found.epsilon >= exact.epsilon


def test_nothing_spent_is_nothing_leaked():
    event = rdpkit.ZeroConcentrated(rho=0.0, adjacency=ADD)
    assert rdpkit.epsilon(event, delta=1e-5, adjacency=ADD).epsilon < 1e-300


@settings(max_examples=20)
@given(log_uniform(0.05, 20.0), log_uniform(1e-12, 1e-2))
def test_calibration_of_rho_never_exceeds_the_target(target, delta):
    event = rdpkit.ZeroConcentrated(rho=0.5, adjacency=ADD)
    found = rdpkit.calibrate(
        event, target_epsilon=target, delta=delta, adjacency=ADD, parameter="rho"
    )
    assert 0.999 * target < found.guarantee.epsilon <= target
    # Bun and Steinke's conversion, rho + 2 sqrt(rho log(1/delta)), is never below ours.
    rho = found.event.rho
    assert rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta)) >= found.guarantee.epsilon


def gaussian_or_everything(rho, delta, epsilon, count):
    """Several releases that tell everything with the probability delta, and a Gaussian else."""
    with mp.workdps(50):
        mu = mp.sqrt(2 * mp.mpf(rho) * count)
        rest = mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
        kept = (1 - mp.mpf(delta)) ** count
        return float(1 - kept + kept * rest)


@pytest.mark.thorough
@settings(max_examples=12, deadline=None)
@given(log_uniform(1e-3, 2.0), log_uniform(1e-12, 0.3), log_uniform(0.01, 5.0), st.integers(1, 5))
def test_what_is_left_out_with_a_delta(rho, delta, epsilon, count):
    one = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD, delta=delta)
    event = one * count
    truth = gaussian_or_everything(rho, delta, epsilon, count)
    above = rdpkit.delta(event, epsilon=epsilon, adjacency=ADD).delta
    below = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=ADD)[0].delta
    assert below <= truth * (1 + 1e-9) <= above * (1 + 2e-9)
    assert above * (1 + 1e-12) >= -math.expm1(count * math.log1p(-delta))
    # Bun and Steinke 2016, Lemma 8.8: delta and the conversion of what is left, one after another.
    less = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD)
    rest = rdpkit.delta(less * count, epsilon=epsilon, adjacency=ADD)
    assert above <= (count * delta + rest.delta) * (1 + 1e-9)
    if above < 0.5:
        back = rdpkit.epsilon(event, delta=above, adjacency=ADD).epsilon
        assert gaussian_or_everything(rho, delta, back, count) <= above * (1 + 1e-9)
        assert back <= epsilon * (1 + 1e-4) + 1e-6


def test_a_delta_beside_divergences_alone():
    curve = rdpkit.CustomRdp(orders=[4.0, 16.0], values=[0.2, 0.6], adjacency=ADD)
    stated = rdpkit.EpsilonDelta(epsilon=0.1, delta=1e-6, adjacency=ADD)
    pure = rdpkit.EpsilonDelta(epsilon=0.1, delta=0.0, adjacency=ADD)
    found = rdpkit.epsilon(curve + stated * 3, delta=1e-4, adjacency=ADD).epsilon
    room = (1e-4 - 3e-6) / (1 - 3e-6)
    rest = rdpkit.epsilon(curve + pure * 3, delta=room, adjacency=ADD).epsilon
    assert found == pytest.approx(rest, rel=1e-5)
    assert rdpkit.epsilon(curve + stated * 3, delta=2.9e-6, adjacency=ADD).epsilon == math.inf


def test_no_rho_is_stated_dp():
    event = rdpkit.ZeroConcentrated(rho=0.0, xi=0.4, adjacency=ADD, delta=1e-3)
    stated = rdpkit.EpsilonDelta(epsilon=0.4, delta=1e-3, adjacency=ADD)
    for epsilon in (0.0, 0.1, 0.4, 1.0):
        ask = {"epsilon": epsilon, "adjacency": ADD}
        both = [rdpkit.delta(one, **ask).delta for one in (event, stated)]
        assert both[0] == pytest.approx(both[1], rel=1e-9)
    assert rdpkit.lower_bound(event, delta=0.01, adjacency=ADD)[0].epsilon > 0.38


@pytest.mark.thorough
def test_a_delta_is_not_forgotten_elsewhere():
    event = rdpkit.ZeroConcentrated(rho=0.1, adjacency="replace_one", delta=1e-3)
    assert rdpkit.zcdp(event, adjacency="replace_one").rho == math.inf
    sample = rdpkit.FixedSizeSampled(event=event, sample_size=5, population_size=100)
    assert rdpkit.epsilon(sample, delta=1e-5, adjacency="replace_one").epsilon == math.inf
    curve = rdpkit.RdpCurve.of(event, orders=[2.0], adjacency="replace_one")
    assert curve.values[0] == math.inf


@settings(max_examples=20)
@given(log_uniform(1e-6, 100.0), log_uniform(1e-12, 1e-2))
def test_the_lower_bound_is_a_gaussian_that_has_the_guarantee(rho, delta):
    event = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD)
    lower, _ = rdpkit.lower_bound(event, delta=delta, adjacency=ADD)
    gaussian = unit.gaussian(math.sqrt(0.5 / rho))
    exact = rdpkit.epsilon(gaussian, delta=delta, adjacency=ADD)
    assert lower.epsilon <= exact.epsilon
    # The noise is rounded up by 1e-14, and the grids of the two bounds are finite.
    assert lower.epsilon == pytest.approx(exact.epsilon, rel=1e-3, abs=1e-6)
    assert lower.epsilon <= rdpkit.epsilon(event, delta=delta, adjacency=ADD).epsilon


def test_a_claim_that_the_guarantee_does_not_imply_is_refuted():
    # 10 releases of rho = 0.1 each have the epsilon of one with rho = 1, which is above 4 at 1e-5.
    event = rdpkit.ZeroConcentrated(rho=0.1, adjacency=ADD) * 10
    found = rdpkit.check(event, epsilon=4.0, delta=1e-5, adjacency=ADD)
    assert found.soundness == "refuted"
    with pytest.raises(ValueError, match="zero_concentrated"):
        rdpkit.lower_bound(event, delta=1e-5, adjacency="replace_one")
