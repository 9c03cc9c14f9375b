"""Compositions with finitely many sums of losses: against enumeration and closed formulas."""

from itertools import product

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants import loss_distributions as losses
from rdpkit.accountants.losses.kinds.outcomes import has_few_sums
from rdpkit.accountants.losses.steps import FiniteSum
from rdpkit.events.pairs import LaplacePair, ResponsePair, SampledPair, StatedPair, TwoOutcomes

ADD = "add_or_remove_one"
DIGITS = 60
EPSILONS = st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0])


def outcomes(step):
    """The probabilities of a pair, written down from its description."""
    if isinstance(step, SampledPair):
        q = mp.mpf(step.sampling_probability)
        mixed = [((1 - q) * b + q * a, b) for a, b in outcomes(step.pair)]
        return mixed if step.kind == "removed" else [(b, a) for a, b in mixed]
    if isinstance(step, StatedPair):
        d, e = mp.mpf(step.delta), mp.exp(mp.mpf(step.epsilon))
        a, b = (1 - d) * e / (1 + e), (1 - d) / (1 + e)
        return [(d, mp.mpf(0)), (a, b), (b, a), (mp.mpf(0), d)]
    if isinstance(step, ResponsePair):
        p, k = mp.mpf(step.noise_parameter), step.num_buckets
        return [(1 - p + p / k, p / k), *[(p / k, p / k)] * (k - 2), (p / k, 1 - p + p / k)]
    first, second = mp.mpf(step.first), mp.mpf(step.second)
    return [(first, second), (1 - first, 1 - second)]


def enumerated(releases, epsilon):
    """Delta, from all tuples of outcomes."""
    with mp.workdps(DIGITS):
        grown = mp.exp(mp.mpf(epsilon))
        steps = [outcomes(step) for step, count in releases for _ in range(count)]
        total = mp.mpf(0)
        for choice in product(*steps):
            p, q = mp.fprod(a for a, _ in choice), mp.fprod(b for _, b in choice)
            total += max(p - grown * q, 0)
        return total


STEPS = st.one_of(
    st.builds(StatedPair, epsilon=EPSILONS, delta=st.sampled_from([0.0, 1e-6, 0.125])),
    st.builds(
        ResponsePair,
        noise_parameter=st.sampled_from([0.25, 0.5]),
        num_buckets=st.integers(2, 4),
    ),
    st.builds(TwoOutcomes, first=st.just(0.75), second=st.sampled_from([0.125, 0.5])),
    st.builds(TwoOutcomes, first=st.just(0.125), second=st.sampled_from([0.5, 0.25])),
    st.builds(
        SampledPair,
        kind=st.sampled_from(["removed", "added"]),
        pair=st.builds(StatedPair, epsilon=EPSILONS, delta=st.just(0.0)),
        sampling_probability=st.sampled_from([0.125, 0.5]),
    ),
)


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(STEPS, min_size=2, max_size=3, unique=True),
    counts=st.lists(st.integers(1, 2), min_size=3, max_size=3),
    epsilon=st.floats(0.0, 4.0),
)
def test_delta_is_that_of_all_outcomes(steps, counts, epsilon):
    releases = tuple(zip(steps, counts, strict=False))
    assert has_few_sums(releases)
    exact = enumerated(releases, epsilon)
    above = losses.delta_above(releases, epsilon=epsilon).value
    below = losses.delta_below(releases, epsilon=epsilon).value
    assert below <= exact <= above
    # Probabilities of two outcomes are moved by 2^-44 of them, the rate of a sample by 2^-50.
    assert above - below <= 1e-11 * (1.0 + mp.exp(epsilon))


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(STEPS, min_size=2, max_size=2, unique=True),
    delta=st.sampled_from([1e-6, 1e-3, 0.25]),
)
def test_epsilon_is_where_delta_is_met(steps, delta):
    releases = tuple((step, 1) for step in steps)
    above = losses.epsilon_above(releases, delta=delta).value
    below = losses.epsilon_below(releases, delta=delta).value
    assert below <= above
    if above < 1e30:
        with mp.workdps(DIGITS):
            assert enumerated(releases, above) <= delta * (1 + mp.mpf("1e-30"))
        if above > 1e-6:
            assert enumerated(releases, above * (1.0 - 1e-8) - 1e-9) > delta * (1.0 - 1e-12)


def best_power(releases, fpr):
    """The best test takes the likeliest outcomes, and a share of the last one."""
    with mp.workdps(DIGITS):
        left, power = mp.mpf(fpr), mp.mpf(0)
        both = [
            (a * c, b * d)
            for (a, b), (c, d) in product(*[outcomes(step) for step, _ in releases])
            if b * d > 0
        ]
        for p, q in sorted(both, key=lambda one: -one[0] / one[1]):
            taken = min(q, left)
            power, left = power + p * taken / q, left - taken
        return power


def test_the_trade_off_curve_of_one_and_two():
    """At a false positive rate of .1 the line through two corners is met, not a chord above."""
    event = rdpkit.EpsilonDelta(epsilon=1.0, delta=0.0, adjacency=ADD) + rdpkit.EpsilonDelta(
        epsilon=2.0, delta=0.0, adjacency=ADD
    )
    curve = rdpkit.tradeoff(event, adjacency=ADD)
    releases = ((StatedPair(epsilon=1.0, delta=0.0), 1), (StatedPair(epsilon=2.0, delta=0.0), 1))
    for fpr in (0.01, 0.1, 0.3):
        exact = best_power(releases, fpr)
        found = curve.tpr(fpr)
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower < 1e-5
    assert curve.tpr(0.1).upper == pytest.approx(0.828598, abs=1e-6)


def test_it_is_no_looser_than_a_grid():
    pair = StatedPair(epsilon=0.1, delta=1e-9)
    many = ((pair, 100),)
    for delta in (1e-3, 1e-6):
        exact = losses.epsilon_above(many, delta=delta).value
        assert exact <= losses._epsilon_on_grids(many, delta, 1e-4, 10.0).value


def test_what_has_no_few_sums_is_left_to_a_grid():
    pair = StatedPair(epsilon=0.1, delta=0.0)
    assert not has_few_sums(((LaplacePair(distance=1.0), 2),))
    assert not has_few_sums(((pair, 10**6),))
    sampled = SampledPair(
        kind="removed", pair=StatedPair(epsilon=0.1, delta=0.5), sampling_probability=0.5
    )
    assert not has_few_sums(((sampled, 2),))
    both = FiniteSum(releases=((sampled, 1), (pair, 2)))
    assert both.reversed().reversed() == both
    assert both.is_a_pair
