"""Staircase, truncated and canonical noise, trade-off curves and draws with replacement."""

import math
from itertools import pairwise, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency
from tests.bounds.strategies import log_uniform

ADDED, REPLACED, ZEROED = Adjacency
EPSILONS = (0.0, 0.2, 0.7, 1.5, 4.0)


def both_sides(event, epsilon, relation=REPLACED):
    above = rdpkit.delta(event, epsilon=epsilon, adjacency=relation).delta
    below = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=relation)[0].delta
    return below, above


def staircase_excess(epsilon, gamma, moved, at, reach=40):
    """The hockey-stick divergence of two staircases, ``moved`` of a step apart, by its pieces."""

    def height(x):
        whole = math.floor(abs(x))
        return mp.exp(-epsilon * (whole + (abs(x) - whole >= gamma)))

    own = {s * (k + more) for k in range(reach) for more in (0.0, gamma) for s in (1, -1)}
    places = sorted({*own, *(x + moved for x in own)})
    total = mp.mpf(0)
    found = mp.mpf(0)
    for a, b in pairwise(places):
        middle = (a + b) / 2
        p, q = height(middle), height(middle - moved)
        total += (b - a) * p
        found += (b - a) * max(p - mp.exp(at) * q, 0)
    return float(found / total)


@pytest.mark.thorough
@settings(max_examples=10, deadline=None)
@given(log_uniform(0.7, 6.0), st.floats(0.0, 1.0), st.floats(0.05, 1.0))
def test_staircase(epsilon, gamma, moved):
    event = rdpkit.Staircase(epsilon=epsilon, gamma=gamma)
    for at in EPSILONS:
        below, above = both_sides(event, at)
        whole = staircase_excess(epsilon, gamma, 1.0, at)
        assert whole <= above * (1 + 1e-9) + 1e-10
        assert below <= whole * (1 + 1e-9) + 1e-10
        # Numbers that are nearer to each other tell less.
        assert staircase_excess(epsilon, gamma, moved, at) <= above * (1 + 1e-9) + 1e-10
    best = rdpkit.Staircase(epsilon=epsilon)
    assert rdpkit.epsilon(best, delta=0.0, adjacency=ADDED).epsilon == pytest.approx(epsilon)


def test_a_large_epsilon_of_a_staircase():
    for epsilon in (19.0, 21.0, 500.0):
        event = rdpkit.Staircase(epsilon=epsilon)
        found = rdpkit.epsilon(event, delta=1e-6, adjacency=ADDED).epsilon
        assert found == pytest.approx(epsilon, abs=1e-5)
    assert rdpkit.delta(event, epsilon=500.0, adjacency=ADDED).delta == 0.0


@settings(max_examples=15, deadline=None)
@given(log_uniform(0.3, 10.0), st.floats(1.05, 30.0), log_uniform(0.1, 2.0))
def test_truncated_laplace(scale, limit, norm):
    """Geng et al. 2020: (s / b, delta)-DP with delta = (e^(s/b) - 1) / (2 (e^(A/b) - 1))."""
    event = rdpkit.TruncatedLaplace(noise_scale=scale, noise_limit=limit * norm, record_norm=norm)
    epsilon, far = mp.mpf(norm) / mp.mpf(scale), mp.mpf(limit * norm) / mp.mpf(scale)
    delta = float(mp.expm1(epsilon) / (2 * mp.expm1(far)))
    for relation in (ADDED, ZEROED):
        below, above = both_sides(event, float(epsilon) * (1 + 1e-9), relation)
        assert below <= delta * (1 + 1e-9)
        assert delta * (1 - 1e-9) <= above <= delta * (1 + 1e-9) + 1e-300
    assert rdpkit.epsilon(event, delta=0.0, adjacency=ADDED).epsilon == math.inf


def test_noise_that_two_numbers_have_not_in_common():
    event = rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=1.0, record_norm=1.0)
    assert rdpkit.epsilon(event, delta=0.7, adjacency=ADDED).epsilon < math.inf
    with pytest.raises(ValueError, match="No privacy loss distribution is known"):
        rdpkit.lower_bound(event, delta=0.1, adjacency=REPLACED)
    limits = (3.0, 5.0, 10.0, 30.0)
    events = [
        rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=limit, record_norm=1.0)
        for limit in limits
    ]
    for ask in ({"epsilon": 0.5}, {"epsilon": 0.99}, {"epsilon": 1.1}):
        found = [rdpkit.delta(event, adjacency=ADDED, **ask).delta for event in events]
        assert found == sorted(found, reverse=True)
    plain = rdpkit.Laplace(noise_scale=1.0, record_norm=1.0)
    assert rdpkit.delta(events[-1], epsilon=0.5, adjacency=ADDED).delta == pytest.approx(
        rdpkit.delta(plain, epsilon=0.5, adjacency=ADDED).delta, rel=1e-9
    )


@pytest.mark.thorough
@settings(max_examples=5, deadline=None)
@given(st.floats(0.6, 3.0), st.integers(2, 5), st.integers(1, 4))
def test_discrete_gaussians_of_clients(sigma, clients, norm):
    """The sum of all noise, added up: near one discrete Gaussian, and between both bounds."""
    reach = int(9 * sigma) + 4
    weights = np.exp(-((np.arange(-reach, reach + 1) / sigma) ** 2) / 2.0)
    law = np.ones(1)
    for _ in range(clients):
        law = np.convolve(law, weights / weights.sum())
    event = rdpkit.DistributedDiscreteGaussian(
        sigma=sigma, clients=clients, record_norm=float(norm)
    )
    places = np.arange(law.size) - law.size // 2
    one = np.exp(-(places**2) / (2.0 * clients * sigma**2))
    near = np.abs(places) < 4 * sigma * math.sqrt(clients)
    ratios = np.log(law[near] / (one / one.sum())[near])
    assert np.abs(ratios).max() <= float(event.distance_from_one()) + 1e-9
    for relation, moved in ((ADDED, norm), (REPLACED, 2 * norm)):
        first = np.concatenate([law, np.zeros(moved)])
        second = np.concatenate([np.zeros(moved), law])
        for at in EPSILONS:
            truth = float(np.maximum(first - math.exp(at) * second, 0.0).sum())
            below, above = both_sides(event, at, relation)
            assert below <= truth + 1e-12
            assert truth <= above + 1e-12


def tulap(x, epsilon, delta):
    """The distribution function of truncated uniform-Laplace noise (Awan and Slavkovic 2018)."""
    b = math.exp(-epsilon)
    whole = round(x)
    share = x - whole + 0.5
    if x <= 0:
        found = b**-whole / (1 + b) * (b + share * (1 - b))
    else:
        found = 1 - b**whole / (1 + b) * (b + (1 - share) * (1 - b))
    q = 2 * delta * b / (1 - b + 2 * delta * b)
    return min(max((found - q / 2) / (1 - q), 0.0), 1.0)


@settings(max_examples=15, deadline=None)
@given(log_uniform(0.1, 3.0), st.sampled_from([0.0, 1e-9, 1e-3, 0.1]))
def test_canonical_noise_is_what_its_definition_says(epsilon, delta):
    """Tests between 0 and 1 are {noise > t}: the largest over a grid and where the noise ends."""
    event = rdpkit.CanonicalNoise(epsilon=epsilon, delta=delta)
    far = math.ceil(40.0 / epsilon)
    inside, end = 0.0, float(far)
    while inside < (middle := (inside + end) / 2) < end:
        inside, end = (middle, end) if tulap(middle, epsilon, delta) < 1.0 else (inside, middle)
    places = [end, *(k / 16 for k in range(-16 * far, 16 * far))]
    tests = [(1 - tulap(t - 1, epsilon, delta), 1 - tulap(t, epsilon, delta)) for t in places]
    for at in (0.0, 0.5 * epsilon, epsilon, 1.5 * epsilon):
        truth = max(0.0, *[p - math.exp(at) * q for p, q in tests])
        below, above = both_sides(event, at)
        assert truth <= above * (1 + 1e-9) + 1e-12
        assert below <= 1.001 * truth + 1e-12


POINTS = st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.05, 1.0)), min_size=1, max_size=4)


@pytest.mark.thorough
@settings(max_examples=12, deadline=None)
@given(POINTS, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=7))
def test_no_mechanism_with_the_points_of_a_curve_leaks_more(points, masses):
    """Random mechanisms; those whose tests are all allowed have no larger delta."""
    rates = sorted({rate for rate, _ in points})
    p, q = (np.array(side, float) + 1e-3 for side in zip(*masses, strict=True))
    p, q = p / p.sum(), q / q.sum()
    # The points are as far below the mechanism's own curves as the example says.
    misses = []
    for rate, (_, share) in zip(rates, points, strict=False):
        misses.append(share * min(missed(p, q, rate), missed(q, p, rate)))
    misses = np.maximum.accumulate(misses[::-1])[::-1]
    event = rdpkit.CustomTradeoff(
        false_positive_rates=rates, false_negative_rates=misses, adjacency=REPLACED
    )
    for at in EPSILONS:
        above = rdpkit.delta(event, epsilon=at, adjacency=REPLACED).delta
        for one, other in ((p, q), (q, p)):
            assert np.maximum(one - math.exp(at) * other, 0.0).sum() <= above + 1e-9


def missed(p, q, rate):
    """The smallest false negative rate of tests that call q p with a probability of ``rate``."""
    order = np.argsort(-p / q)
    power = np.interp(rate, [0.0, *np.cumsum(q[order])], [0.0, *np.cumsum(p[order])])
    return 1.0 - float(power)


def test_a_curve_that_was_read_off_an_event_says_nearly_as_much():
    event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)
    curve = rdpkit.tradeoff(event, adjacency=ADDED)
    rates = np.geomspace(1e-8, 0.5, 400)
    told = rdpkit.CustomTradeoff(
        false_positive_rates=rates,
        false_negative_rates=[curve.fnr(float(rate)).lower for rate in rates],
        adjacency=ADDED,
    )
    one, two = (rdpkit.epsilon(some, delta=1e-4, adjacency=ADDED).epsilon for some in (event, told))
    assert one <= two <= 1.03 * one
    with pytest.raises(ValueError, match="No privacy loss distribution"):
        rdpkit.lower_bound(told, delta=1e-5, adjacency=REPLACED)


def test_a_curve_from_below_and_from_above():
    rates = np.linspace(0.0, 1.0, 257) ** 2
    event = rdpkit.CustomTradeoff(
        false_positive_rates=rates, false_negative_rates=rates[::-1], adjacency=ADDED
    )
    shares = np.linspace(0.01, 0.99, 99)
    rough = rdpkit.CustomTradeoff(
        false_positive_rates=shares**3, false_negative_rates=(1 - shares) ** 3, adjacency=ADDED
    )
    assert rdpkit.lower_bound(rough, delta=0.1, adjacency=ADDED)[0].epsilon > 1.0
    for count in (1, 5):
        below = rdpkit.lower_bound(event * count, delta=0.05, adjacency=ADDED)[0].epsilon
        above = rdpkit.epsilon(event * count, delta=0.05, adjacency=ADDED).epsilon
        assert below <= above <= 1.2 * below


def test_trade_off_curves_that_no_mechanism_has():
    for rates, misses, words in (
        ([0.0, 0.5], [1.0, 0.6], "to be at most 1 - false_positive_rates"),
        ([0.5, 0.5], [0.1, 0.1], "strictly increasing"),
        ([0.0, 0.5], [0.1, 0.2], "nowhere increasing"),
        ([0.0, 0.5], [0.1], "nowhere increasing"),
    ):
        with pytest.raises(ValueError, match=words):
            rdpkit.CustomTradeoff(
                false_positive_rates=rates, false_negative_rates=misses, adjacency=ADDED
            )
    nothing = rdpkit.CustomTradeoff(
        false_positive_rates=[0.5], false_negative_rates=[0.5], adjacency=ADDED
    )
    assert rdpkit.epsilon(nothing, delta=0.0, adjacency=ADDED).epsilon == 0.0
    ends = rdpkit.CustomTradeoff(
        false_positive_rates=[0.0, 1.0], false_negative_rates=[1.0, 0.0], adjacency=ADDED
    )
    assert rdpkit.epsilon(ends, delta=0.1, adjacency=ADDED).epsilon == math.inf


@pytest.mark.thorough
@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4),
    st.lists(st.floats(0.1, 1.0), min_size=3, max_size=3),
    st.integers(1, 3),
    log_uniform(0.4, 4.0),
    st.booleans(),
)
def test_draws_with_replacement_of_three_records(places, weights, draws, noise, special):
    """Every sequence of draws; mixtures of Gaussians on a line, added up on a grid."""
    shares = [w / math.fsum(weights) for w in weights]
    event = rdpkit.SampledWithReplacementGaussian(
        noise_std=noise, record_norm=1.0, draws=draws, largest_share=max(shares)
    )
    relation = ZEROED if special else REPLACED
    grid, width = np.linspace(-3.0 - 9 * noise, 3.0 + 9 * noise, 6001, retstep=True)
    laws = []
    for changed in (places[0], 0.0 if special else places[3]):
        values, law = [changed, *places[1:3]], np.zeros_like(grid)
        for some in product(range(3), repeat=draws):
            mass = math.prod(shares[i] for i in some)
            centre = math.fsum(values[i] for i in some)
            law += mass * np.exp(-0.5 * ((grid - centre) / noise) ** 2)
        laws.append(law / (noise * math.sqrt(2 * math.pi)) * width)
    for at in EPSILONS[:4]:
        above = rdpkit.delta(event, epsilon=at, adjacency=relation).delta
        for one, two in (laws, laws[::-1]):
            assert np.maximum(one - math.exp(at) * two, 0.0).sum() <= above + 1e-6


def test_more_draws_and_larger_shares_are_worse():
    def found(draws, share, relation=REPLACED):
        event = rdpkit.SampledWithReplacementGaussian(
            noise_std=3.0, record_norm=1.0, draws=draws, largest_share=share
        )
        return rdpkit.delta(event, epsilon=0.5, adjacency=relation).delta

    assert found(1, 0.1) < found(2, 0.1) < found(20, 0.1) < found(20, 0.11) < found(200, 0.11)
    assert found(1, 1.0) == pytest.approx(found(1, 1.0 - 1e-12), rel=1e-6)
    assert found(5, 0.0) == 0.0
    with pytest.raises(ValueError, match="under which SampledWithReplacementGaussian is described"):
        found(5, 0.1, ADDED)
