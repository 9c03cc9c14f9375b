"""No event and no upper bound without an independent guard, and none that is twice too small.

Every event of ``rdpkit.events`` has an example here, and a meaning in the second semantics, from
which a member is enumerated. What the product prints must not be below what the member leaks,
and must be close enough to it that a halved number would be.

The examples are also asked with other numbers in them, and under other relations.
"""

import dataclasses
import math
import random
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import rdpkit
from rdpkit import Adjacency, events
from rdpkit.accountants.event_tree import UpperBounds, _NoBallError
from rdpkit.bounds import BOUNDS, Kind
from rdpkit.bounds.base import InnerDivergences
from rdpkit.events import parameters_of
from rdpkit.events.base import Event
from rdpkit.events.losses import NoLossDistributionError
from tests.events import of_papers, unit
from tests.oracles import semantics

ADDED, REPLACED, ZEROED = Adjacency
GAUSSIAN = unit.gaussian(1.0)
ONE = {"noise_std": 1.0, "record_norm": 1.0}


def pure(relation):
    return rdpkit.EpsilonDelta(epsilon=1.0, delta=0.0, adjacency=relation)


LAPLACE_OF_TWO = rdpkit.FixedSizeSampled(event=unit.laplace(1.0), sample_size=2, population_size=3)
OF_ADDED = (
    GAUSSIAN,
    unit.poisson(1.0, 0.5),
    unit.fixed_size(1.0, 9, 10),
    rdpkit.Composed(events=(GAUSSIAN, GAUSSIAN)),
    GAUSSIAN * 2,
    rdpkit.CustomRdp(orders=[2, 4, 8], values=[0.4, 0.8, 1.4], adjacency=ADDED),
    rdpkit.CustomProfile(epsilons=[1.0], deltas=[0.01], adjacency=ADDED),
    rdpkit.CustomProfile(epsilons=[1.0], deltas=[0.0], adjacency=ADDED),
    rdpkit.ZeroConcentrated(rho=0.5, adjacency=ADDED),
    rdpkit.ZeroConcentrated(rho=0.5, adjacency=ADDED, delta=1e-4),
    rdpkit.PoissonSampled(event=pure(ADDED), sampling_probability=0.5),
    LAPLACE_OF_TWO,
    pure(ADDED),
    rdpkit.MixtureOfGaussians(noise_std=1.0, sensitivities=[0.0, 1.0], probabilities=[0.3, 0.7]),
    unit.laplace(1.0),
    rdpkit.DiscreteLaplace(noise_scale=2.0, record_norm=2),
    rdpkit.DiscreteGaussian(sigma=2.0, record_norm=2),
    rdpkit.FirstAboveThreshold(event=GAUSSIAN, stopping_probability=0.2),
    rdpkit.RepeatAndSelect(event=GAUSSIAN, mean=1.5, shape=1.0),
    rdpkit.Group(event=GAUSSIAN, size=2),
    of_papers.class_wise_dpmix([12, 12], 1, 11, noise=0.2, shape=(4, 2)),
    of_papers.dpcda([12, 12], 1, 11, noise=0.2),
    of_papers.ldpdc([12, 12], 1, 8, noise=1.0, dimension=1),
    of_papers.ndpdc([12, 12], 1, 8, noise=1.0),
    unit.synthesis(20, 1, 1, 0.3),
    events.RegularisedSynthesis(records=20, outputs=1, dimension=1, added_variance=0.3),
    rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=20, batch_size=10, steps=2),
    unit.allocated(1.0, 2),
    unit.allocated(1.0, 1),
    unit.allocated(1.0, 3, batches_per_record=2),
    unit.truncated(1.0, 0.5, 8, 10),
    events.UserSampledGaussian(**ONE, sampling_probability=0.5, records_per_user=2),
    rdpkit.PartitionSelection(epsilon=1.0, delta=0.005, max_partitions=2),
    rdpkit.ThresholdedCounts(noise="laplace", noise_scale=1.0, threshold=4.0, max_partitions=2),
    rdpkit.TeacherVotes(noise="laplace", noise_scale=2.0, queries=2),
    rdpkit.DistributedDiscreteGaussian(sigma=1.5, clients=3, record_norm=3.0),
    rdpkit.Skellam(variance=9.0, record_norm=2.0),
    rdpkit.Staircase(epsilon=1.0),
    rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=6.0, record_norm=1.0),
    rdpkit.CanonicalNoise(epsilon=1.0, delta=0.001),
    rdpkit.CustomTradeoff(
        false_positive_rates=[k * k / 16384 for k in range(1, 128)],
        false_negative_rates=[(128 - k) ** 2 / 16384 for k in range(1, 128)],
        adjacency=ADDED,
    ),
    rdpkit.Staircase(epsilon=1.0, gamma=0.2),
    rdpkit.Group(event=rdpkit.Group(event=unit.laplace(4.0), size=2), size=2),
    rdpkit.Group(event=rdpkit.EpsilonDelta(epsilon=1.0, delta=0.01, adjacency=ADDED), size=3),
    rdpkit.Group(event=rdpkit.Composed(events=(unit.gaussian(4.0), unit.laplace(2.0))), size=2),
)
OF_REPLACED = (
    unit.poisson(1.0, 0.98, record_diameter=1.0),
    unit.fixed_size(1.0, 9, 10),
    rdpkit.Parallel(events=(GAUSSIAN, GAUSSIAN)),
    rdpkit.PoissonSampled(event=pure(REPLACED), sampling_probability=0.98),
    rdpkit.FixedSizeSampled(
        event=rdpkit.ZeroConcentrated(rho=0.5, adjacency=REPLACED),
        sample_size=9,
        population_size=10,
    ),
    LAPLACE_OF_TWO,
    rdpkit.RandomizedResponse(noise_parameter=0.4, num_buckets=3),
    rdpkit.Exponential(epsilon=1.0),
    rdpkit.PermuteAndFlip(epsilon=1.0),
    unit.noisy_maximum(2.0, "laplace"),
    unit.noisy_maximum(2.0, "gumbel"),
    unit.sparse_vector(4.0, 3.0),
    rdpkit.GaussianAboveThreshold(
        threshold_noise_std=1.0, query_noise_std=2.0, sensitivity=1.0, queries=1
    ),
    of_papers.dpmix(10, 1, 9, noise=0.2, shape=(4, 2)),
    unit.shuffled(1.0, 10, 21),
    unit.shuffled(1.0, 21, 21),
    rdpkit.TreeAggregation(**ONE, steps=5),
    events.ClassMoments(noise_std=1.0, sum_weight=0.6, pooled_weight=0.8),
    rdpkit.TopOptions(noise="gumbel", noise_scale=2.0, sensitivity=1.0, options=2),
    rdpkit.TopOptions(noise="laplace", noise_scale=4.0, sensitivity=1.0, options=1),
    rdpkit.PartitionSelection(epsilon=1.0, delta=0.008),
    rdpkit.ThresholdedCounts(noise="gaussian", noise_scale=1.0, threshold=3.5),
    rdpkit.TeacherVotes(noise="gaussian", noise_scale=1.5, queries=1),
    rdpkit.Skellam(variance=2.0, record_norm=1.0),
    rdpkit.BoundedLaplace(noise_scale=1.0, minimum=0.0, maximum=3.0, sensitivity=1.0),
    rdpkit.Staircase(epsilon=2.0, gamma=0.7),
    rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=3.0, record_norm=1.0),
    rdpkit.SampledWithReplacementGaussian(**ONE, draws=4, largest_share=0.3, record_diameter=1.0),
    rdpkit.DiscreteGaussian(sigma=2.0, record_norm=2),
    rdpkit.RandomizedResponse(noise_parameter=0.9, num_buckets=5),
    rdpkit.Group(event=unit.gaussian(3.0, record_diameter=1.5), size=3),
    rdpkit.Group(event=rdpkit.RandomizedResponse(noise_parameter=0.6, num_buckets=3), size=2),
    rdpkit.Group(event=rdpkit.Exponential(epsilon=0.5), size=2),
    rdpkit.Group(event=unit.noisy_maximum(4.0, "gumbel"), size=2),
    rdpkit.Exponential(epsilon=2.0, monotone_scores=True),
    rdpkit.PermuteAndFlip(epsilon=2.0, monotone_scores=True),
    unit.noisy_maximum(2.0, "exponential"),
    rdpkit.TopOptions(
        noise="gumbel", noise_scale=1.0, sensitivity=1.0, options=2, monotone_scores=True
    ),
    rdpkit.ThresholdedCounts(noise="laplace", noise_scale=1.0, threshold=4.0),
    rdpkit.ThresholdedCounts(
        noise="gaussian", noise_scale=4.0, threshold=9.0, max_per_partition=2.0
    ),
    rdpkit.BoundedLaplace(noise_scale=1.0, minimum=0.0, maximum=3.0, sensitivity=5.0),
)
OF_ZEROED = (
    rdpkit.TreeAggregation(**ONE, steps=(1, 5)),
    unit.allocated(1.0, 2, record_diameter=0.5),
    rdpkit.MatrixFactorization(**ONE, steps=4, coefficients=[1.0, 0.5], min_separation=2),
    rdpkit.MatrixFactorization(
        **ONE, steps=2, matrix=[1.0, 0.0, 1.0], min_separation=1, sampling_probability=0.5
    ),
)
EXAMPLES = (
    *((event, ADDED) for event in OF_ADDED),
    *((event, REPLACED) for event in OF_REPLACED),
    *((event, ZEROED) for event in OF_ZEROED),
)

# What these print is more than twice what any member leaks that is enumerated; half of it is seen
# by another test.
LOOSE = {
    "AboveThreshold": "tests/events/selection/test_sparse_vectors.py",
    "GaussianSynthesis": "tests/bounds/synthesis/test_gaussian_synthesis.py",
    "RegularisedSynthesis": "tests/bounds/synthesis/test_regularised.py",
}
LOOSE_THEOREMS = {
    "above-threshold-AboveThreshold": "tests/events/selection/test_sparse_vectors.py",
    "pure-dp-AboveThreshold": "tests/events/selection/test_sparse_vectors.py",
    "poisson-weak-triangle-PoissonSampledGaussian": "tests/bounds/test_weak_triangle.py",
    "dpcda-theorem1-corrected-DPCDA": "tests/verification/estimators/test_monte_carlo_bounds.py",
    "miura2023-thm3.1-every-pair-GaussianSynthesis": LOOSE["GaussianSynthesis"],
    "miura2023-cor3.2-corrected-GaussianSynthesis": LOOSE["GaussianSynthesis"],
    "synthesis-direct-GaussianSynthesis": "tests/bounds/synthesis/test_direct.py",
    "synthesis-exact-GaussianSynthesis": LOOSE["GaussianSynthesis"],
    "synthesis-regularised-replaced-RegularisedSynthesis": LOOSE["RegularisedSynthesis"],
    "synthesis-regularised-RegularisedSynthesis": LOOSE["RegularisedSynthesis"],
}

HERE = "tests/accountants/test_every_event_is_enumerated.py"
ADVICE = (
    "{} has no independent guard. Say what it means in docs/theory/meanings.md, add a line to "
    "MEANINGS in tests/oracles/semantics.py (from that meaning, without code of rdpkit), and an "
    f"example to EXAMPLES in {HERE}."
)


def test_what_guards_the_others_exists():
    root = Path(__file__).parents[2]
    for path in (*LOOSE.values(), *LOOSE_THEOREMS.values()):
        assert (root / path).is_file(), path


def named(example):
    return f"{type(example[0]).__name__}-{example[1].value}"


def test_every_event_is_enumerated():
    with_example = {type(event) for event, _ in EXAMPLES}
    for event_type in events._OWN:
        guarded = event_type in semantics.MEANINGS and event_type in with_example
        assert guarded, ADVICE.format(event_type.__name__)


def members(event, relation):
    """The ways of an event; of a sample of zCDP one that a Gaussian is."""
    inside = getattr(event, "event", None)
    if type(event) is rdpkit.FixedSizeSampled and isinstance(inside, rdpkit.ZeroConcentrated):
        return semantics.member(semantics.mixed(semantics.concentrated(event.event), 0.9))
    return semantics.ways(event, relation)


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_an_event_leaks_what_its_members_leak_and_not_twice_as_much(example):
    event, relation = example
    ways = members(event, relation)
    smallest = 1.0
    for delta in (1e-6, 1e-3, 0.01, 0.1, 0.2):
        printed = rdpkit.epsilon(event, delta=delta, adjacency=relation).epsilon
        if math.isinf(printed):
            continue
        leaks = float(semantics.truth(ways, printed)[0])
        assert leaks <= delta * (1 + 1e-9), (
            f"{event!r} leaks delta {leaks!r} at the epsilon {printed!r} printed for {delta}: "
            "tests/oracles/semantics.py says what it means"
        )
        half = float(semantics.truth(ways, printed / 2)[0])
        smallest = min(smallest, delta / half if half else math.inf)
    if type(event).__name__ not in LOOSE:
        assert smallest < 1.0, f"half of what is printed for {event!r} would not be noticed"


@pytest.mark.thorough
@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_what_an_event_attains_is_below_every_upper_bound(example):
    event, relation = example
    for delta in (1e-5, 0.05):
        printed = {}
        for bound in ("pair-lower", "pld-upper", "best-rdp"):
            with suppress(NoLossDistributionError):
                found = rdpkit.epsilon(event, delta=delta, adjacency=relation, bound=bound)
                printed[bound] = found.epsilon
        # The numbers are proven, and need no tolerance.
        lowest = printed.pop("pair-lower", 0.0)
        assert all(lowest <= above for above in printed.values()), (event, delta, lowest, printed)


UPPER = [bound for bound in BOUNDS if bound.kind is Kind.UPPER]


def divergences_of(event, relation):
    """What a theorem about another event is given of this one."""
    inside = UpperBounds()
    return InnerDivergences(
        rdp=lambda orders: inside.rdp(event, orders, relation).copy(),
        ball=lambda order: inside.certain_ball(event, order, relation),
    )


def examples_of(bound):
    """Values of a bound beside what a member has, under each relation and at some orders."""
    for event, relation in product({event: None for event, _ in EXAMPLES}, bound.adjacencies):
        if not bound.applies(event, relation):
            continue
        try:
            ways = members(event, relation)
        except semantics.NotEnumeratedError:
            continue
        pairs = [s for way in ways for s in (way, way.reversed())]
        inner = None if bound.inner is None else divergences_of(bound.inner(event), relation)
        orders = np.array([2.0, 4.0, 32.0])
        values = bound.values(event, orders, relation, inner)
        for order, value in zip(orders.tolist(), values.tolist(), strict=True):
            yield value, max(semantics.divergence(side.below, order) for side in pairs)


def theorem(bound):
    return f"{bound.id}-{bound.event_type.__name__}"


@pytest.mark.parametrize("bound", UPPER, ids=theorem)
def test_a_theorem_is_not_below_a_member_and_not_far_above_it(bound):
    found = [pair for pair in examples_of(bound) if math.isfinite(pair[0])]
    assert found or theorem(bound) in LOOSE_THEOREMS, (
        f"the bound {bound.id!r} has no example: add an event of type {bound.event_type.__name__}, "
        f"under a relation of the bound, to EXAMPLES in {HERE}"
    )
    for value, member in found:
        assert value >= member * (1 - 1e-9), (
            f"the bound {bound.id!r} says {value!r}, where a member of "
            f"{bound.event_type.__name__} that tests/oracles/semantics.py enumerates has {member!r}"
        )
    if theorem(bound) not in LOOSE_THEOREMS:
        closest = max(member / value for value, member in found)
        assert closest > 0.5, (
            f"half of what the bound {bound.id!r} says would not be noticed: no member has more "
            f"than {closest:.3f} of it. Add an event for which it is nearly attained to EXAMPLES "
            f"in {HERE}, or to LOOSE_THEOREMS there the test that guards it"
        )


# Floats are no theorem of the one that is left out.
@pytest.mark.parametrize("bound", [b for b in UPPER if b.id != "above-threshold"], ids=theorem)
def test_what_is_certified_is_what_floats_say(bound):
    """In balls and in floats theorems are written down twice."""
    more = (
        (unit.truncated(0.1, 0.5, 8, 10), ADDED),
        (rdpkit.ZeroConcentrated(rho=0.5, adjacency=ADDED, xi=0.1), ADDED),
    )
    known = {event: None for event, _ in (*EXAMPLES, *more)}
    for event, relation in product(known, bound.adjacencies):
        if not bound.applies(event, relation):
            continue
        inner = None if bound.inner is None else divergences_of(bound.inner(event), relation)
        orders = np.array([1.5, 4.0])
        orders = orders[bound.order_range(event, relation).contains(orders)]
        values = bound.values(event, orders, relation, inner)
        for order, value in zip(orders.tolist(), values.tolist(), strict=True):
            # Of an event inside nothing may be certified.
            with suppress(_NoBallError):
                ball = bound.enclosure(event, order, relation, inner)
                if ball is not None:
                    assert float(ball.upper()) >= value * (1 - 1e-9)
                    assert float(ball.lower()) * (1 - 1e-9) <= value


def other(value, parameter, rng):
    """Another value of a parameter; not all of them fit beside the other parameters."""
    if isinstance(value, Event):
        return varied(value, rng)
    match parameter.kind:
        case "number" if value is not None:
            return value * rng.uniform(0.5, 1.8)
        case "integer" if value is not None:
            return value + rng.choice((-1, 0, 1, 2))
        case "flag":
            return rng.random() < 0.3
        case "choice" if parameter.name != "adjacency":
            return rng.choice(parameter.choices)
        case "events":
            return [varied(part, rng) for part in value]
    return value


def varied(event, rng):
    """An event of the same kind; the same one if no other is found."""
    for _ in range(30):
        changed = {
            p.name: other(getattr(event, p.name), p, rng) for p in parameters_of(type(event))
        }
        with suppress(ValueError):
            return dataclasses.replace(event, **changed)
    return event


@pytest.mark.thorough
@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_other_numbers_and_relations_lie_between_the_bounds(example):
    rng = random.Random(named(example))
    # With other numbers of partitions there are too many ways in which one person may matter.
    fixed = isinstance(example[0], rdpkit.PartitionSelection)
    for relation in example[1:] if fixed else rdpkit.Adjacency:
        event = example[0] if fixed else varied(example[0], rng)
        # An event may say nothing under another relation, or only from above.
        with suppress(semantics.NotEnumeratedError, ValueError):
            ways = members(event, relation)
            for epsilon in (rng.choice((0.1, 0.5, 1.5)), 20.0):
                ask = {"epsilon": epsilon, "adjacency": relation}
                above = rdpkit.delta(event, **ask).delta
                low, high = (float(side) for side in semantics.truth(ways, epsilon))
                assert low <= above * (1 + 1e-9) + 1e-40, (event, ask, low, above)
                below = rdpkit.lower_bound(event, **ask)[0].delta
                assert below <= min(above, high) * (1 + 1e-9) + 1e-40, (event, ask, below, high)
