"""Where the losses of every known pair end, and where they have atoms, by their curves alone."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants import loss_distributions as losses
from rdpkit.accountants.losses.kinds import _KINDS, kind_of
from rdpkit.accountants.losses.kinds.outcomes import _response, _two
from rdpkit.accountants.losses.steps import FiniteSum, ProfileStep
from rdpkit.bounds.stated import envelope
from rdpkit.events import pairs
from rdpkit.events.losses import ProfilePoints, Step
from tests.events import unit

BITS = 600
STATED = pairs.StatedPair(epsilon=0.7, delta=0.01)
PURE = pairs.StatedPair(epsilon=0.7, delta=0.0)
RESPONSE = pairs.ResponsePair(noise_parameter=0.25, num_buckets=4)
LAPLACE = pairs.LaplacePair(distance=0.8)
LATTICE = pairs.DiscreteLaplacePair(rate=0.5, distance=3)
GAUSSIAN = Step(kind="removed", noise_multiplier=1.5, sampling_probability=0.2)
MIXTURE = pairs.GaussianMixturePair(
    kind="removed", noise_std=1.0, positions=(0.0, 1.0, 2.0), weights=(0.5, 0.25, 0.25)
)


def sampled(pair, kind="removed", q=0.005):
    return pairs.SampledPair(kind=kind, pair=pair, sampling_probability=q)


ONCE = [
    STATED,
    PURE,
    RESPONSE,
    LAPLACE,
    LATTICE,
    GAUSSIAN,
    MIXTURE,
    pairs.TwoOutcomes(first=0.75, second=0.125),
    pairs.Outcomes(first=(0.125, 0.5, 0.375), second=(0.0, 0.25, 0.75)),
    pairs.TruncatedLaplacePair(distance=0.8, reach=2.0),
    pairs.BoundedRange(epsilon=0.9),
    pairs.DiscreteGaussianPair(sigma=1.25, distance=2),
    pairs.SkellamPair(variance=2.0, distance=1),
    pairs.BoundedRange(epsilon=0.9, largest=0.6),
    pairs.OpposedLaplacePair(distance=0.8, sampling_probability=0.1),
    pairs.ShuffledMaximum(kind="removed", noise_multiplier=2.0, batches=3, presence=1.0),
    pairs.AllocatedPair(kind="removed", noise_multiplier=3.0, batches=2),
    pairs.AllocatedMoves(noise_multiplier=3.0, batches=2, gains=(1.0, -1.0), losses=(1.0, -1.0)),
    pairs.BranchedPair(branches=(LAPLACE, STATED), weights=(0.5, 0.5)),
    pairs.BranchedPair(branches=(GAUSSIAN, MIXTURE), weights=(0.25, 0.75), second=(0.125, 0.875)),
    pairs.LargestOf(branches=(LAPLACE, PURE)),
    pairs.LeastOf(branches=(GAUSSIAN, MIXTURE)),
    ProfileStep(profile=envelope(ProfilePoints(epsilons=(0.0, 1.0), deltas=(0.5, 0.0)))),
    ProfileStep(profile=envelope(ProfilePoints(epsilons=(0.0, 1.0), deltas=(0.5, 0.25)))),
    Step(kind="replaced", noise_multiplier=1.5, sampling_probability=0.2, other=-1.0),
    Step(kind="replaced", noise_multiplier=1.5, sampling_probability=1.0),
    pairs.SampledReplacement(replaced=LAPLACE, removed=LAPLACE, sampling_probability=0.3),
    sampled(STATED),
    sampled(PURE),
    sampled(RESPONSE, q=0.5),
    sampled(LAPLACE),
    sampled(LATTICE),
    sampled(sampled(STATED), q=0.5),
    sampled(sampled(STATED, "added"), q=0.5),
    sampled(GAUSSIAN, q=0.5),
    FiniteSum(releases=((STATED, 3), (RESPONSE, 2))),
]
STEPS = [*ONCE, *(one.reversed() for one in ONCE if one.reversed() != one)]


def test_no_kind_is_left_out():
    assert {type(step) for step in STEPS} == set(_KINDS)


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_the_curve_is_constant_beyond_the_largest_loss_and_not_before(step):
    kind = kind_of(step)
    with ctx.workprec(BITS):
        largest, infinite = kind.largest(step, True), kind.infinite(step)
        curve = kind.curve(step, True)
        if largest is None:
            assert curve(arb(2)) > infinite * (1 + arb(2) ** -40)
            return
        scale = abs(largest) + 1
        beyond = curve(largest + scale * arb(2) ** -40)
        assert abs(beyond - infinite) < arb(2) ** -38 * (infinite + arb(2) ** -60)
        assert curve(largest - scale / 256) > infinite * (1 + arb(2) ** -40)
        assert not kind.largest(step, False) > largest


def finite(step):
    """The outcomes of a pair with finitely many, on either data set."""
    if isinstance(step, pairs.SampledPair):
        q = arb(step.sampling_probability)
        mixed = [((1 - q) * b + q * a, b) for a, b in finite(step.pair)]
        return mixed if step.kind == "removed" else [(b, a) for a, b in mixed]
    if isinstance(step, pairs.StatedPair):
        delta, grown = arb(step.delta), arb(step.epsilon).exp()
        large, small = (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown)
        return [(delta, arb(0)), (large, small), (small, large), (arb(0), delta)]
    known = {pairs.ResponsePair: _response, pairs.TwoOutcomes: _two}
    return known[type(step)](step, False)


FINITE = [
    step
    for inner in (STATED, PURE, RESPONSE, pairs.TwoOutcomes(first=0.75, second=0.125))
    for one in (inner, sampled(inner), sampled(sampled(inner, "added"), q=0.25))
    for step in (one, one.reversed())
]


@pytest.mark.parametrize("step", FINITE, ids=repr)
def test_ends_and_atoms_of_finite_pairs(step):
    with ctx.workprec(BITS):
        outcomes = finite(step)
        exact = sorted(float((a / b).log()) for a, b in outcomes if a > 0 and b > 0)
        kind = kind_of(step)
        for leaks_more in (True, False):
            assert float(kind.largest(step, leaks_more)) == pytest.approx(exact[-1], rel=1e-12)
        infinite = sum((a for a, b in outcomes if b == 0), arb(0))
        assert float(kind.infinite(step)) == pytest.approx(float(infinite), rel=1e-12, abs=0.0)
        atoms = kind.atoms(step)
        for loss in exact:
            assert np.abs(atoms - loss).min() < 1e-12 * (1.0 + abs(loss))


def test_an_output_may_show_that_a_record_was_absent():
    """A record that is in the sample half of the time, and always changes the output."""
    step = sampled(pairs.StatedPair(epsilon=0.01, delta=0.5), "added", q=0.5)
    assert losses.largest_loss(((step, 1),)) == pytest.approx(math.log(2.0), rel=1e-12)


@settings(max_examples=50)
@given(
    delta=st.fractions(Fraction(1, 1000), Fraction(999, 1000)), q=st.sampled_from([0.25, 0.5, 0.75])
)
def test_no_delta_remains_beyond_the_largest_loss(delta, q):
    step = sampled(pairs.StatedPair(epsilon=0.5, delta=float(delta)), "added", q=q)
    largest = losses.largest_loss(((step, 1),))
    assert largest == pytest.approx(-math.log1p(-q), rel=1e-12)
    assert losses.delta_above(((step, 1),), epsilon=largest).value == 0.0
    assert losses.delta_above(((step, 1),), epsilon=0.99 * largest).value > 0.0
    assert losses.epsilon_above(((step, 1),), delta=0.0).value == largest


def test_samples_of_losses_beyond_floats_have_the_bound_without_samples():
    event = rdpkit.FixedSizeSampled(event=unit.laplace(1e-160), sample_size=5, population_size=100)
    found = rdpkit.epsilon(event, delta=1e-5, adjacency="zero_out")
    assert found.epsilon == pytest.approx(1e160)
