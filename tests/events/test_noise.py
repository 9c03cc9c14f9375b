"""Noise of other laws, at their ends and by brute force."""

import dataclasses
import math
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import rdpkit
from rdpkit import Adjacency
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.numerics import skellam as tails
from tests.bounds.strategies import log_uniform
from tests.events import unit
from tests.oracles import semantics

ADDED, REPLACED, _ = Adjacency


def test_a_large_epsilon_of_a_staircase():
    for epsilon in (19.0, 21.0, 500.0):
        event = rdpkit.Staircase(epsilon=epsilon)
        found = rdpkit.epsilon(event, delta=1e-6, adjacency=ADDED).epsilon
        assert found == pytest.approx(epsilon, abs=1e-5)
    assert rdpkit.delta(event, epsilon=500.0, adjacency=ADDED).delta == 0.0


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
    plain = unit.laplace(1.0)
    assert rdpkit.delta(events[-1], epsilon=0.5, adjacency=ADDED).delta == pytest.approx(
        rdpkit.delta(plain, epsilon=0.5, adjacency=ADDED).delta, rel=1e-9
    )


def test_a_curve_that_was_read_off_an_event_says_nearly_as_much():
    event = unit.gaussian(1.0)
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


RELATIONS = tuple(Adjacency)


@settings(max_examples=20, deadline=None)
@given(log_uniform(0.05, 50.0), log_uniform(0.1, 100.0), st.floats(0.01, 1.0))
def test_the_scale_of_holohan(b, width, part):
    """Holohan et al. 2018, Theorem 3.5, at delta = 0: b >= s / (epsilon - log ratio)."""
    moved = part * width
    event = rdpkit.BoundedLaplace(
        noise_scale=b, minimum=2.0, maximum=2.0 + width, sensitivity=moved
    )

    def left(x):
        return 1 - (mp.exp(-x / mp.mpf(b)) + mp.exp(-(width - x) / mp.mpf(b))) / 2

    stated = float(mp.mpf(moved) / b + mp.log(left(mp.mpf(moved)) / left(mp.mpf(0))))
    for relation in RELATIONS:
        ask = {"delta": 0.0, "adjacency": relation}
        assert rdpkit.epsilon(event, **ask).epsilon == pytest.approx(stated, rel=1e-9)
    assert 1.0 * moved / b <= stated * (1 + 1e-9)
    assert stated <= 2.0 * moved / b * (1 + 1e-9)


def test_a_range_that_is_empty_is_refused():
    with pytest.raises(ValueError, match=r"Expected maximum to be above minimum = 1\.0"):
        rdpkit.BoundedLaplace(noise_scale=1.0, minimum=1.0, maximum=1.0, sensitivity=1.0)


def test_a_number_that_may_be_anything_in_the_range():
    wide = rdpkit.BoundedLaplace(noise_scale=1.0, minimum=0.0, maximum=1.0, sensitivity=50.0)
    same = rdpkit.BoundedLaplace(noise_scale=1.0, minimum=0.0, maximum=1.0, sensitivity=1.0)
    assert wide.distance() == 1.0
    for epsilon in (0.0, 0.5):
        ask = {"epsilon": epsilon, "adjacency": RELATIONS[1]}
        assert rdpkit.delta(wide, **ask).delta == rdpkit.delta(same, **ask).delta


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.6, 1.0])
def test_the_lower_bound_is_what_numbers_at_the_end_or_in_the_middle_leak(epsilon):
    event = rdpkit.BoundedLaplace(noise_scale=1.0, minimum=0.0, maximum=3.0, sensitivity=1.0)
    # Cells of a thousandth of the range, which take a little away.
    exact = float(semantics.truth(semantics.ways(event, RELATIONS[1]), epsilon)[0])
    lower = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=RELATIONS[1])[0].delta
    assert 0.9 * exact <= lower <= 1.0001 * exact


def law(variance):
    """Probabilities around 0, far out."""
    reach = int(12 * math.sqrt(variance)) + 25
    k = np.arange(-reach, reach + 1)
    return special.ive(np.abs(k), variance)


def shifted(one, moved):
    """The law and the same law moved, on common places."""
    far = np.zeros(abs(moved))
    sides = np.concatenate([one, far]), np.concatenate([far, one])
    return sides if moved >= 0 else sides[::-1]


def excess(vector, variance, epsilon):
    """The hockey-stick divergence of 0 and a vector of integers, over all outcomes."""
    first, second = np.ones(1), np.ones(1)
    for moved in vector:
        p, q = shifted(law(variance), moved)
        first, second = np.outer(first, p).ravel(), np.outer(second, q).ravel()
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


VECTORS = st.lists(st.integers(-2, 2), min_size=2, max_size=3).filter(any)


@pytest.mark.thorough
@settings(max_examples=12, deadline=None)
@given(log_uniform(0.5, 6.0), VECTORS, st.sampled_from([0.1, 1.0, 3.0]))
def test_vectors_leak_no_more_than_the_theorem_says(variance, vector, epsilon):
    length = math.sqrt(sum(x * x for x in vector))
    event = rdpkit.Skellam(
        variance=variance,
        record_norm=length,
        dimension=len(vector),
        record_l1_norm=float(sum(map(abs, vector))),
    )
    truth = excess(vector, variance, epsilon)
    above = rdpkit.delta(event, epsilon=epsilon, adjacency=ADDED).delta
    assert truth <= above + 1e-9
    assert rdpkit.lower_bound(event, epsilon=epsilon, adjacency=ADDED)[0].delta <= above
    opposite = excess([2 * x for x in vector], variance, epsilon)
    assert opposite <= rdpkit.delta(event, epsilon=epsilon, adjacency=REPLACED).delta + 1e-9


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
def test_ones_in_many_coordinates(relation):
    event = rdpkit.Skellam(variance=50.0, record_norm=3.0, dimension=3)
    apart = 2 if relation is REPLACED else 1
    truth = excess([apart] * 3, 50.0, 1.0)
    below = rdpkit.lower_bound(event, epsilon=1.0, adjacency=relation)[0].delta
    # Both a record of ones and one of 3 along an axis are within the norm.
    longest = excess([3 * apart], 50.0, 1.0)
    assert max(truth, longest) * (1 - 1e-3) <= below <= max(truth, longest) * (1 + 1e-9)
    far = rdpkit.Skellam(variance=1e4, record_norm=30.0, dimension=10**4)
    ask = {"delta": 1e-5, "adjacency": relation}
    assert rdpkit.epsilon(far, **ask).epsilon <= 1.11 * rdpkit.lower_bound(far, **ask)[0].epsilon


def test_a_tail_far_out_in_forty_digits():
    with mp.workdps(40):
        terms = [mp.besseli(k, 9) for k in range(31, 200)]
        exact = mp.exp(-9) * mp.fsum(terms)
    assert float(tails.upper_tail(30, 9.0)) == pytest.approx(float(exact), rel=1e-13)


def test_noise_that_is_too_large_to_list():
    event = rdpkit.Skellam(variance=1e12, record_norm=1e5, dimension=10**6)
    assert 0.0 < rdpkit.epsilon(event, delta=1e-5, adjacency=ADDED).epsilon < 1.0
    with pytest.raises(ValueError, match="No privacy loss distribution is known"):
        rdpkit.lower_bound(event, delta=1e-5, adjacency=ADDED)


PURE = rdpkit.EpsilonDelta(epsilon=1.0, delta=0.0, adjacency=ADDED)
UNTIL = partial(rdpkit.FirstAboveThreshold, stopping_probability=0.2)


@pytest.mark.parametrize(
    ("event", "epsilon"),
    [
        (UNTIL(event=PURE * 2), 4.0),
        (UNTIL(event=unit.laplace(1.0) * 2), 4.0),
        (rdpkit.TopOptions(noise="laplace", noise_scale=4.0, sensitivity=1.0, options=3), 1.5),
        (rdpkit.Group(event=unit.sparse_vector(4.0, 3.0), size=3), 2.75),
        (rdpkit.Group(event=rdpkit.PermuteAndFlip(epsilon=1.0), size=3), 3.0),
        (rdpkit.Group(event=rdpkit.DiscreteLaplace(noise_scale=2.0, record_norm=1), size=3), 1.5),
    ],
    ids=lambda value: getattr(value, "mechanism", str(value)),
)
def test_pure_privacy_is_what_the_theorems_say(event, epsilon):
    found = rdpkit.epsilon(event, delta=0.0, adjacency=ADDED).epsilon
    assert found == pytest.approx(epsilon, rel=1e-9)


COUNTS = partial(rdpkit.ThresholdedCounts, noise="laplace", noise_scale=1.0)


@pytest.mark.parametrize(
    ("event", "least"),
    [
        (COUNTS(threshold=0.5), 1.0 - math.exp(-0.5) / 2),
        (COUNTS(delta=0.01), 0.01),
        (COUNTS(threshold=4.0, max_per_partition=2.0), math.exp(-2.0) / 2 - 1e-12),
        (
            rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=1.5, record_norm=2.0),
            0.5 + 0.5 * (1.0 - math.exp(-0.5)) / (1.0 - math.exp(-1.5)) - 1e-12,
        ),
        (
            rdpkit.CustomTradeoff(
                false_positive_rates=[0.1], false_negative_rates=[0.5], adjacency=ADDED
            ),
            1.0 - 0.5 / 0.9,
        ),
        (UNTIL(event=dataclasses.replace(PURE, delta=0.01)), 0.01),
    ],
    ids=lambda value: getattr(value, "mechanism", str(value)),
)
def test_what_may_be_told_with_certainty_remains(event, least):
    assert rdpkit.delta(event, epsilon=30.0, adjacency=ADDED).delta >= least


def test_runs_and_clients_are_counted_as_in_the_theorems():
    assert UNTIL(event=PURE).mean >= 5.0
    event = rdpkit.DistributedDiscreteGaussian(sigma=0.5, clients=4, record_norm=1.0)
    terms = [math.exp(-2 * (math.pi * 0.5) ** 2 * k / (k + 1)) for k in (1, 2, 3)]
    assert float(event.distance_from_one()) == pytest.approx(10 * sum(terms), rel=1e-12)


def test_short_integer_vectors_of_a_group_add_up():
    event = rdpkit.Skellam(variance=9.0, record_norm=1.0, record_l1_norm=1.0)
    longer = rdpkit.Skellam(variance=9.0, record_norm=3.0, record_l1_norm=3.0)
    assert rdpkit.Group(event=event, size=3).expand() == longer


def skellam(order):
    """With variance 9 and numbers up to 2."""
    more = min(((2 * order - 1) * 4 + 6 * 2) / (4 * 81), 3 * 2 / 18)
    return order * 4 / 18 + more


def many_clients(dimension):
    return rdpkit.DistributedDiscreteGaussian(
        sigma=1.0, clients=100, record_norm=4.0, dimension=dimension
    )


def of_many_clients(dimension):
    """At order 4."""
    tau = float(many_clients(dimension).distance_from_one())
    return min(2 * 0.4**2 + tau * dimension, 2 * (0.4 + tau * math.sqrt(dimension)) ** 2)


MIXTURE = rdpkit.MixtureOfGaussians(
    noise_std=1.0, sensitivities=[0.0, 1.0, 2.0], probabilities=[0.5, 0.3, 0.2]
)


@pytest.mark.parametrize(
    ("event", "order", "divergence"),
    [
        (rdpkit.Skellam(variance=9.0, record_norm=2.0), 3.0, skellam(3)),
        (rdpkit.Skellam(variance=9.0, record_norm=2.0), 20.0, skellam(20)),
        (rdpkit.Skellam(variance=9.0, record_norm=2.0), 2.5, (skellam(2) / 2 + skellam(3)) / 1.5),
        (many_clients(2), 4.0, of_many_clients(2)),
        (many_clients(10**4), 4.0, of_many_clients(10**4)),
        (MIXTURE, 2.0, math.log(0.5 + 0.3 * math.e + 0.2 * math.e**4)),
        (
            rdpkit.TopOptions(noise="laplace", noise_scale=1.0, sensitivity=1.0, options=2),
            4.0,
            math.inf,
        ),
    ],
)
def test_divergences_are_those_of_the_theorems(event, order, divergence):
    found = UpperBounds().rdp(event, np.array([order]), ADDED)
    assert found[0] == pytest.approx(divergence, rel=1e-9)
