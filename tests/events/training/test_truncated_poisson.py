"""Truncated Poisson samples: all samples of small data sets, and the numbers of dp-accounting."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.adjacency import Adjacency
from rdpkit.events.training.truncated_poisson_gaussian import binomial_tail
from tests.events import unit

PLAIN = {"noise_std": 1.0, "record_norm": 1.0, "sampling_probability": 0.01}
FOUR_OF_TWELVE = unit.truncated(1.0, 0.3, 4, 12)


def outputs(records, q, largest):
    """Centres of the released sum with their probabilities, every sample and every cut of it."""
    found = {}
    for joined in itertools.product((0, 1), repeat=len(records)):
        members = [r for r, j in zip(records, joined) if j]
        weight = q ** len(members) * (1 - q) ** (len(records) - len(members))
        cuts = list(itertools.combinations(members, min(largest, len(members))))
        for cut in cuts:
            found[sum(cut)] = found.get(sum(cut), 0.0) + weight / len(cuts)
    return found


def divergence(first, second, noise, epsilon):
    """The hockey stick of two mixtures on the line, by a sum over a grid, good to about 1e-5."""
    x = np.linspace(-12 * noise - 4, 12 * noise + 4, 40_001)

    def density(centres):
        parts = [w * np.exp(-0.5 * ((x - c) / noise) ** 2) for c, w in centres.items()]
        return sum(parts) / (noise * math.sqrt(2 * math.pi))

    gap = np.maximum(density(first) - math.exp(epsilon) * density(second), 0.0)
    return float(gap.sum() * (x[1] - x[0]))


def upper(event, adjacency, epsilon):
    return rdpkit.delta(event, epsilon=epsilon, adjacency=adjacency).delta


@pytest.mark.parametrize(
    ("q", "largest", "count", "noise"), [(0.9, 1, 3, 1.0), (0.5, 2, 4, 0.5), (0.2, 1, 2, 2.0)]
)
def test_no_small_data_set_leaks_more(q, largest, count, noise):
    """A record as far from the others as may be."""
    event, rest, epsilon = unit.truncated(noise, q, largest, count + 1), [-1.0] * count, 0.3
    present = outputs([*rest, 1.0], q, largest)
    versions = {
        Adjacency.ADD_OR_REMOVE_ONE: rest,
        Adjacency.ZERO_OUT: [*rest, 0.0],
        Adjacency.REPLACE_ONE: [*rest, -1.0],
    }
    for adjacency, records in versions.items():
        bound, absent = upper(event, adjacency, epsilon), outputs(records, q, largest)
        for pair in ((present, absent), (absent, present)):
            assert divergence(*pair, noise, epsilon) <= bound + 1e-5


@pytest.mark.thorough
def test_batches_that_never_overflow_are_poisson_samples():
    event = rdpkit.TruncatedPoissonGaussian(**PLAIN, max_batch_size=1000, population_size=1000)
    plain = rdpkit.PoissonSampledGaussian(**PLAIN)
    for adjacency in Adjacency:
        found, expected = (
            rdpkit.epsilon(e * 500, delta=1e-6, adjacency=adjacency).epsilon for e in (event, plain)
        )
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sampling", "noise", "count", "delta", "theirs"),
    [
        # dp-accounting's development version, PLDAccountant, add-or-remove-one, November 2026.
        ((1000, 0.01, 15), 1.0, 100, 1e-5, 4.079701053479529),
        ((1000, 0.01, 11), 1.0, 100, 1e-5, 5.020414399572557),
        ((60000, 256 / 60000, 300), 1.1, 1000, 1e-6, 2.7414014328575016),
        ((100, 0.2, 20), 2.0, 50, 1e-4, 8.249028782071514),
    ],
)
def test_never_above_dp_accounting(sampling, noise, count, delta, theirs):
    size, q, largest = sampling
    event = unit.truncated(noise, q, largest, size)
    event = event * count
    found = rdpkit.epsilon(event, delta=delta, adjacency="add_or_remove_one").epsilon
    lower = rdpkit.lower_bound(event, delta=delta, adjacency="add_or_remove_one")[0].epsilon
    # They compare no full sample with samples of one record less.
    assert lower <= found <= theirs


def test_the_probability_in_a_full_batch_is_the_mean_over_the_others():
    weights = [math.comb(11, m) * 0.3**m * 0.7 ** (11 - m) for m in range(4, 12)]
    mean = sum(w * 0.3 * 4 / (m + 1) for m, w in zip(range(4, 12), weights)) / sum(weights)
    assert FOUR_OF_TWELVE.probability_if_full == pytest.approx(mean, rel=1e-12)
    assert FOUR_OF_TWELVE.probability_if_full >= mean


def test_the_curve_of_branches_is_their_mean():
    event = rdpkit.TruncatedPoissonGaussian(**PLAIN, max_batch_size=9, population_size=1000)
    (least,) = event.dominating(Adjacency.ADD_OR_REMOVE_ONE)
    pair, *edged = least.branches
    whole = kind_of(pair).curve(pair, True)(arb(0.3))
    parts = [
        w * kind_of(one).curve(one, True)(arb(0.3)) for w, one in zip(pair.weights, pair.branches)
    ]
    assert float(whole) == pytest.approx(float(sum(parts, arb(0))), rel=1e-12)
    for one in (pair, *edged):
        assert sum(one.weights) >= 1.0
        assert one.reversed().weights == (one.second or one.weights)
        assert sum(one.second or (1.0,)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", [*Adjacency])
@pytest.mark.parametrize("largest", [5, 8])
def test_the_least_curve_is_convex_and_below_all(adjacency, largest):
    event = rdpkit.TruncatedPoissonGaussian(**PLAIN, max_batch_size=largest, population_size=1000)
    (least,) = event.dominating(adjacency)
    for pair in (least, least.reversed()):
        curve = kind_of(pair).curve(pair, True)
        with ctx.workprec(256):
            losses = [arb(k) / 16 for k in range(-60, 61)]
            heights = [curve(loss) for loss in losses]
            ratios = [loss.exp() for loss in losses]
            slopes = [
                (b - a) / (y - x)
                for a, b, x, y in zip(heights, heights[1:], ratios, ratios[1:], strict=False)
            ]
            assert all(a <= b + arb(2) ** -60 for a, b in itertools.pairwise(slopes))
            for loss, height in zip(losses, heights, strict=True):
                known = [kind_of(one).curve(one, True)(loss) for one in pair.branches]
                # A chord between two knots may pass above a curve.
                assert height <= min(known) * 1.5 + arb(10) ** -12


@pytest.mark.thorough
def test_a_few_full_samples_cost_little():
    """Above by 8% where one sample in 250 is cut; with which it is known, it was four times."""
    event = unit.truncated(1.0, 256 / 60000, 300, 60000)
    steps = event * 1000
    for adjacency in (Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE):
        above = rdpkit.epsilon(steps, delta=1e-5, adjacency=adjacency).epsilon
        below = rdpkit.lower_bound(steps, delta=1e-5, adjacency=adjacency)[0].epsilon
        assert below <= above <= 1.08 * below


def test_a_record_alone_is_drawn_as_often_as_it_stays():
    """From below all others are 0: it joins, and is among those that are kept."""
    weights = [math.comb(11, m) * 0.3**m * 0.7 ** (11 - m) for m in range(12)]
    drawn = sum(w * 0.3 * min(1.0, 4 / (m + 1)) for m, w in enumerate(weights))
    (pair,) = FOUR_OF_TWELVE.attained(Adjacency.ADD_OR_REMOVE_ONE)[0]
    assert pair.sampling_probability == pytest.approx(drawn, rel=1e-12)
    assert pair.sampling_probability <= drawn


@settings(max_examples=60)
@given(st.integers(1, 60), st.floats(0, 1), st.integers(-1, 61))
def test_the_enclosure_contains_the_sum(count, probability, least):
    p = Fraction(probability)
    exact = sum(
        math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(max(least, 0), count + 1)
    )
    low, high = binomial_tail(count, probability, least)
    assert low <= exact <= high
    assert float(high) <= float(exact) * (1 + 1e-12) + 1e-300 or count == least


@pytest.mark.parametrize("count", [10**6, 10**9, 10**12])
def test_large_numbers_stay_sharp(count):
    low, high = binomial_tail(count, 100.0 / count, 200)
    # 100 of very many: a Poisson distribution of mean 100, for which the tail is 3.7e-19.
    assert 0.0 < low <= high <= low * (1 + 1e-9)
    assert 1e-20 < high < 1e-18
