"""Every known pair: its curve against brute force, its tails against its curve, its sums."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rdpkit.accountants import loss_distributions as losses
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.events import pairs
from rdpkit.events.losses import Step
from rdpkit.numerics.discrete_gaussian import upper_tail
from tests.bounds.strategies import log_uniform
from tests.oracles import known_pairs as oracle

PROBABILITIES = log_uniform(1e-4, 0.99)
LOSSES = st.floats(-3.0, 3.0)


def curve(step, loss, *, leaks_more):
    with ctx.workprec(160):
        return kind_of(step).curve(step, leaks_more)(arb(loss))


def check(step, loss, exact, *, slack=1e-13):
    """Both sides enclose what brute force finds, and are close to each other.

    Parameters with roundings are moved by 8 units in the last place, which moves a divergence by
    that times the parameter's size at most; brute force is good to ``slack`` where it integrates.
    """
    exact = float(exact)
    high = float(curve(step, loss, leaks_more=True).upper())
    low = float(curve(step, loss, leaks_more=False).lower())
    scale = slack * (1.0 + math.exp(loss))
    assert low - scale <= exact <= high + scale
    assert high - low <= 1e-12 * (1.0 + math.exp(loss))


@settings(max_examples=12)
@given(log_uniform(1e-3, 20.0), LOSSES)
def test_laplace(distance, loss):
    check(pairs.LaplacePair(distance=distance), loss, oracle.laplace(loss, distance=distance))


@pytest.mark.thorough
@settings(max_examples=8)
@given(log_uniform(0.05, 5.0), PROBABILITIES, LOSSES)
def test_opposed_laplace(distance, q, loss):
    step = pairs.OpposedLaplacePair(distance=distance, sampling_probability=q)
    # The integrand has a kink inside of one piece.
    check(step, loss, oracle.opposed_laplace(loss, distance=distance, q=q), slack=1e-5)


@settings(max_examples=40)
@given(log_uniform(0.3, 3.0), st.integers(1, 6), LOSSES)
def test_discrete_laplace(rate, distance, loss):
    outcomes = oracle.discrete_laplace(rate=rate, distance=distance)
    step = pairs.DiscreteLaplacePair(rate=rate, distance=distance)
    check(step, loss, oracle.by_outcomes(loss, outcomes))


@settings(max_examples=30)
@given(log_uniform(0.3, 8.0), st.integers(1, 4), LOSSES)
def test_discrete_gaussian(sigma, distance, loss):
    outcomes = oracle.discrete_gaussian(sigma=sigma, distance=distance)
    step = pairs.DiscreteGaussianPair(sigma=sigma, distance=distance)
    check(step, loss, oracle.by_outcomes(loss, outcomes))


@settings(max_examples=25, deadline=None)
@given(log_uniform(0.1, 60.0), st.integers(1, 4), LOSSES)
def test_skellam(variance, distance, loss):
    outcomes = oracle.skellam(variance=variance, distance=distance)
    step = pairs.SkellamPair(variance=variance, distance=distance)
    check(step, loss, oracle.by_outcomes(loss, outcomes))


@pytest.mark.parametrize("sigma", [127.0, 128.0])
@pytest.mark.parametrize("m", [0, 3, 300, 1500])
def test_both_ways_to_sum_tails_agree(monkeypatch, sigma, m):
    """Term by term and by Euler and Maclaurin, at 200 bits, as far as 1e-30."""
    with ctx.workprec(200):
        summed = upper_tail(m, sigma)
        monkeypatch.setattr("rdpkit.numerics.discrete_gaussian._SUMMED", 1.0)
        integrated = upper_tail(m, sigma)
        assert summed.overlaps(integrated)
        assert integrated.rad() < integrated.mid() * arb(2) ** -100


@pytest.mark.parametrize("sigma", [129.0, 1e3])
def test_tails_of_wide_noise(sigma):
    """Against a plain sum at 40 digits."""
    weights = [mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(sigma) ** 2)) for k in range(int(12 * sigma))]
    whole = 2 * mp.fsum(weights) - 1
    for m in (0, int(sigma), int(4 * sigma)):
        exact = mp.fsum(weights[m + 1 :]) / whole
        with ctx.workprec(128):
            found = upper_tail(m, sigma)
        assert float(found.mid()) == pytest.approx(float(exact), rel=1e-13)


@settings(max_examples=40)
@given(log_uniform(1e-3, 0.999), st.integers(2, 20), LOSSES)
def test_randomised_response(noise, buckets, loss):
    outcomes = oracle.response(noise_parameter=noise, num_buckets=buckets)
    step = pairs.ResponsePair(noise_parameter=noise, num_buckets=buckets)
    check(step, loss, oracle.by_outcomes(loss, outcomes))


@settings(max_examples=40)
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), LOSSES)
def test_two_outcomes(first, second, loss):
    step = pairs.TwoOutcomes(first=first, second=second)
    exact = oracle.by_outcomes(
        loss, [(mp.mpf(first), mp.mpf(second)), (1 - mp.mpf(first), 1 - mp.mpf(second))]
    )
    check(step, loss, exact)


@settings(max_examples=40)
@given(log_uniform(1e-3, 10.0), log_uniform(1e-12, 0.5), LOSSES)
def test_stated(epsilon, delta, loss):
    step = pairs.StatedPair(epsilon=epsilon, delta=delta)
    check(step, loss, oracle.by_outcomes(loss, oracle.stated(epsilon=epsilon, delta=delta)))


@pytest.mark.thorough
@settings(max_examples=30)
@given(log_uniform(1e-2, 5.0), st.floats(0.51, 4.0), LOSSES)
def test_truncated_laplace(distance, part, loss):
    reach = part * distance
    exact = oracle.truncated_laplace(loss, distance=distance, reach=reach)
    # Where little is left of the noise, its parameters' roundings are multiplied by as much.
    slack = 1e-13 / min(1.0, reach, 2.0 * reach - distance)
    step = pairs.TruncatedLaplacePair(distance=distance, reach=reach)
    with ctx.workprec(160):
        high = float(kind_of(step).curve(step, True)(arb(loss)).upper())
        low = float(kind_of(step).curve(step, False)(arb(loss)).lower())
    assert low - slack * math.exp(abs(loss)) <= float(exact) <= high + slack * math.exp(abs(loss))
    assert high - low <= 10.0 * slack * math.exp(abs(loss))


MASSES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=6)


def several_outcomes(masses):
    """Outcomes in proportion to whole numbers, in the order of their losses; and in fractions."""
    p, q = (sum(side) for side in zip(*masses, strict=True))
    exact = [(mp.mpf(a) / p, mp.mpf(b) / q) for a, b in masses if a or b]
    exact.sort(key=lambda one: -one[0] / one[1] if one[1] else -mp.inf)
    first, second = zip(*[(float(a), float(b)) for a, b in exact], strict=True)
    return pairs.Outcomes(first=first, second=second), exact


def overlap(masses):
    return any(a and b for a, b in masses)


@settings(max_examples=100)
@given(MASSES.filter(overlap), LOSSES)
def test_outcomes(masses, loss):
    step, exact = several_outcomes(masses)
    check(step, loss, oracle.by_outcomes(loss, exact), slack=1e-13)
    with ctx.workprec(160):
        alone = float(sum(p for p, q in exact if q == 0))
        assert alone <= float(kind_of(step).infinite(step).upper()) <= alone * (1 + 1e-12)
        largest = max([float(mp.log(p / q)) for p, q in exact if p and q])
        assert float(kind_of(step).largest(step, True).upper()) >= max(largest, 0.0) - 1e-15


@settings(max_examples=20, deadline=None)
@given(MASSES.filter(overlap), st.integers(1, 4), st.floats(0.0, 4.0, allow_subnormal=False))
@example([(1, 1), (1, 1)], 2, 0.0)
@example([(1, 3), (1, 3)], 3, 1e-14)
@example([(3, 0), (1, 1)], 2, 0.0)
@example([(1, 0), (7, 1), (0, 1)], 4, 0.56)
def test_several_outcomes_several_times(masses, count, epsilon):
    step, exact = several_outcomes(masses)
    releases = ((step, count),)
    truth = float(oracle.by_outcomes(epsilon, oracle.composed(exact, count)))
    above = losses.delta_above(losses.of_a_pair(releases), epsilon=epsilon).value
    assert truth <= above * (1 + 1e-12) + 1e-300
    assert losses.delta_below(releases, epsilon=epsilon).value <= truth * (1 + 1e-12)
    assert above <= truth * 1.02 + 1e-4


@settings(max_examples=12)
@given(log_uniform(0.05, 5.0), st.floats(-1.0, 1.0), st.none() | st.floats(0.5, 1.0))
def test_bounded_range(epsilon, part, most):
    loss = part * epsilon
    largest = None if most is None else most * epsilon
    step = pairs.BoundedRange(epsilon=epsilon, largest=largest)
    found = curve(step, loss, leaks_more=True)
    exact = float(oracle.bounded_range(loss, epsilon=epsilon, largest=largest))
    # The best of 401 values of t is within some (epsilon / 800)^2 of the supremum.
    assert exact <= float(found.upper()) + 1e-13
    assert float(found.lower()) <= exact + 20.0 * (epsilon / 800.0) ** 2 + 1e-13


@pytest.mark.thorough
@settings(max_examples=3, deadline=None)
@given(
    st.sampled_from(["removed", "added"]),
    log_uniform(0.3, 5.0),
    st.lists(st.floats(0.1, 3.0), min_size=1, max_size=3),
    st.floats(0.05, 0.95),
    LOSSES,
)
def test_gaussian_mixture(kind, std, centres, at_zero, loss):
    positions = (0.0, *centres)
    weights = (at_zero, *[(1.0 - at_zero) / len(centres)] * len(centres))
    step = pairs.GaussianMixturePair(kind=kind, noise_std=std, positions=positions, weights=weights)
    exact = oracle.gaussian_mixture(loss, kind=kind, std=std, positions=positions, weights=weights)
    # The integrand has a kink inside of one of 60 pieces.
    check(step, loss, exact, slack=1e-4)


def test_a_mixture_of_two_is_the_sampled_gaussian():
    for kind in ("removed", "added"):
        mixture = pairs.GaussianMixturePair(
            kind=kind, noise_std=2.0, positions=(0.0, 1.0), weights=(0.75, 0.25)
        )
        step = Step(kind=kind, noise_multiplier=2.0, sampling_probability=0.25)
        for loss in (-0.2, 0.0, 0.1, 1.0):
            one, two = (curve(each, loss, leaks_more=True) for each in (mixture, step))
            assert float(one.mid()) == pytest.approx(float(two.mid()), rel=1e-12, abs=1e-30)


BASES = {
    "response": (
        pairs.ResponsePair(noise_parameter=0.3, num_buckets=3),
        oracle.response(noise_parameter=0.3, num_buckets=3),
    ),
    "discrete-laplace": (
        pairs.DiscreteLaplacePair(rate=0.7, distance=2),
        oracle.discrete_laplace(rate=0.7, distance=2),
    ),
    "stated": (
        pairs.StatedPair(epsilon=1.0, delta=0.01),
        oracle.stated(epsilon=1.0, delta=0.01),
    ),
}


@settings(max_examples=40)
@given(st.sampled_from(sorted(BASES)), st.sampled_from(["removed", "added"]), PROBABILITIES, LOSSES)
def test_samples(name, kind, q, loss):
    base, outcomes = BASES[name]
    step = pairs.SampledPair(kind=kind, pair=base, sampling_probability=q)
    exact = oracle.by_outcomes(loss, oracle.sampled(outcomes, q=q, kind=kind))
    check(step, loss, exact)


@settings(max_examples=15)
@given(log_uniform(0.1, 3.0), PROBABILITIES, st.floats(0.0, 1.0))
def test_a_replacement_in_a_sample_is_above_opposed_records(norm, q, part):
    """The curve from convexity lies above the pair of two opposed records."""
    step = pairs.SampledReplacement(
        replaced=pairs.LaplacePair(distance=2.0 * norm),
        removed=pairs.LaplacePair(distance=norm),
        sampling_probability=q,
    )
    pair = pairs.OpposedLaplacePair(distance=norm, sampling_probability=q)
    loss = part * 2.0 * norm
    above = float(curve(step, loss, leaks_more=True).upper())
    assert float(curve(pair, loss, leaks_more=False).lower()) <= above


ATTAINED = [
    pairs.LaplacePair(distance=0.7),
    pairs.OpposedLaplacePair(distance=0.7, sampling_probability=0.2),
    pairs.DiscreteLaplacePair(rate=0.4, distance=3),
    pairs.DiscreteGaussianPair(sigma=3.0, distance=2),
    pairs.SkellamPair(variance=4.0, distance=2),
    pairs.ResponsePair(noise_parameter=0.5, num_buckets=5),
    pairs.TwoOutcomes(first=0.6, second=0.45),
    pairs.StatedPair(epsilon=0.5, delta=1e-4),
    pairs.GaussianMixturePair(
        kind="removed", noise_std=2.0, positions=(0.0, 1.0, 2.0), weights=(0.7, 0.2, 0.1)
    ),
    pairs.GaussianMixturePair(
        kind="added", noise_std=2.0, positions=(0.0, 1.0, 2.0), weights=(0.7, 0.2, 0.1)
    ),
    pairs.SampledPair(
        kind="removed", pair=pairs.LaplacePair(distance=1.0), sampling_probability=0.1
    ),
    pairs.SampledPair(
        kind="added",
        pair=pairs.DiscreteGaussianPair(sigma=2.0, distance=1),
        sampling_probability=0.1,
    ),
]


@pytest.mark.parametrize("step", ATTAINED, ids=repr)
def test_tails_are_probabilities_of_events_that_shrink(step):
    guide = kind_of(step).guide(step, 40.0)
    tails = kind_of(step).tails(step)
    places = np.unique(guide.places)[:: max(1, guide.places.size // 40)]
    with ctx.workprec(128):
        found = [tails(arb(place)) for place in places.tolist()]
        for (p, q), (r, s) in pairwise(found):
            assert not p < r
            assert not q < s
        # No event tells more than the curve says, and some event tells about as much.
        for loss in (0.0, 0.05):
            top = curve(step, loss, leaks_more=True)
            events = [p - arb(loss).exp() * q for p, q in found]
            events += [-one + 1 - arb(loss).exp() for one in events]
            assert all(not one > top for one in events)


@pytest.mark.thorough
@pytest.mark.parametrize("step", ATTAINED, ids=repr)
@pytest.mark.parametrize(("count", "delta"), [(1, 1e-3), (2, 1e-5), (100, 1e-6), (10**4, 1e-9)])
def test_lower_is_close_to_upper(step, count, delta):
    """The same pair from both sides; what is above is proven for all, what is below is attained."""
    releases = ((step, count),)
    above = losses.epsilon_above(releases, delta=delta).value
    below = losses.epsilon_below(releases, delta=delta).value
    assert below <= above
    if math.isfinite(above):
        # Labels are rounded to the grid, which costs a few parts in ten thousand.
        assert below >= above * (1.0 - 2e-3) - 1e-9
    else:
        assert count * step.delta > delta
