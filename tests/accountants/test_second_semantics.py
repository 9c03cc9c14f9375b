"""Random trees of every combinator, between the bounds that the product prints for them.

The truth is enumerated by :mod:`tests.oracles.semantics` from the theory page "What an event
means". ``SECOND_SEMANTICS_TREES=20000 pytest -m slow -n 0 -s`` of this file runs as many trees to
the end, and prints how many were answered and how many refused.
"""

import os
import random
from collections import Counter

import pytest

import rdpkit
from rdpkit import Adjacency
from tests.events import unit
from tests.oracles import semantics

FAST = 100
MANY = int(os.environ.get("SECOND_SEMANTICS_TREES", "2000"))
FIRST = int(os.environ.get("SECOND_SEMANTICS_FIRST", "100000"))
BOUNDS = ("best", "best-rdp", "pld-upper")
EPSILONS = (0.0, 0.1, 0.3, 1.0, 2.0, 4.0, 9.0)
DELTAS = (0.0, 1e-12, 1e-7, 1e-5, 1e-3, 0.01, 0.1, 0.4)
# Roundings of the oracle and of the numbers that it is asked about, relative and absolute.
SLACK, TINY = 1e-9, 1e-40

ADDED, REPLACED, ZEROED = Adjacency


def stated(rng, relation):
    """A guarantee in numbers that are not round."""
    epsilon = rng.choice((0.01, 0.1, 0.4, 1.0, 2.5)) * rng.uniform(0.5, 1.5)
    delta = rng.choice((0.0, 0.0, 1e-9, 1e-5, 1e-3, 0.05, 0.3)) * rng.uniform(0.5, 1.5)
    if rng.random() < 0.6:
        return rdpkit.EpsilonDelta(
            epsilon=rng.choice((0.0, epsilon, epsilon, epsilon)), delta=delta, adjacency=relation
        )
    more = [epsilon * factor for factor in (1.0, 1.7, 2.6)][: rng.randint(1, 3)]
    less = sorted((delta, delta / 3, delta * 0.8)[: len(more)], reverse=True)
    return rdpkit.CustomProfile(epsilons=more, deltas=less, adjacency=relation)


class Dice(random.Random):
    """A generator of events, with finitely many outcomes if ``finite``, which is fast."""

    finite = False


def leaf(rng, relation, named):
    """A primitive event; guarantees are stated under the relation ``named``."""
    if rng.finite and rng.random() < 0.8:
        return stated(rng, named)
    if rng.finite:
        return rdpkit.DiscreteLaplace(noise_scale=rng.uniform(1, 4), record_norm=rng.randint(1, 3))
    z = rng.choice((0.3, 1.0, 3.0)) * rng.uniform(0.7, 1.4)
    monotone = rng.random() < 0.5
    diameter = rng.choice((None, None, 1.0, 0.5))
    makers = [lambda: stated(rng, named)] * 6 + [
        lambda: unit.gaussian(z, record_diameter=diameter),
        lambda: unit.laplace(z, record_diameter=diameter),
        lambda: rdpkit.DiscreteLaplace(noise_scale=2 * z, record_norm=rng.randint(1, 3)),
        lambda: rdpkit.DiscreteGaussian(sigma=1.0 + z, record_norm=rng.randint(1, 2)),
        lambda: rdpkit.Exponential(epsilon=z, monotone_scores=monotone),
        lambda: rdpkit.PermuteAndFlip(epsilon=z, monotone_scores=monotone),
        lambda: unit.noisy_maximum(
            2 / z, rng.choice(("laplace", "gumbel", "exponential")), monotone_scores=monotone
        ),
        lambda: unit.sparse_vector(2 / z, 4 / z),
        lambda: unit.poisson(z, rng.choice((0.01, 0.2, 0.7)), record_diameter=diameter),
        lambda: rdpkit.ZeroConcentrated(
            rho=z * z / 8,
            adjacency=named,
            xi=rng.choice((0.0, 0.1)),
            delta=rng.choice((0.0, 0.0, 1e-3)),
        ),
        lambda: rdpkit.CustomRdp(orders=[2.0, 8.0], values=[z / 9, z / 4], adjacency=named),
    ]
    if relation is REPLACED:
        buckets = rng.randint(2, 4)
        makers += [
            lambda: rdpkit.RandomizedResponse(noise_parameter=min(z / 4, 1.0), num_buckets=buckets)
        ] * 2
    else:
        makers.append(
            lambda: rdpkit.MixtureOfGaussians(
                noise_std=z, sensitivities=[0.0, 1.0, 2.0], probabilities=[0.7, 0.2, 0.1]
            )
        )
    return rng.choice(makers)()


def tree(rng, relation, depth, named=None):
    """A random event, at most ``depth`` deep."""
    named = named or relation
    kind = rng.choice(("composed", "repeated", "parallel", "parallel", "group", "sampled", "leaf"))
    if depth == 1 or kind == "leaf":
        return leaf(rng, relation, named)
    if kind == "parallel":
        keeps = rng.random() < 0.3
        inside = ADDED if relation is ZEROED and not keeps else relation
        moves = relation is REPLACED and not keeps
        named = rng.choice((ADDED, REPLACED)) if moves else inside
        parts = [tree(rng, inside, depth - 1, named) for _ in range(rng.randint(2, 3))]
        return rdpkit.Parallel(
            events=parts, record_keeps_its_part=keeps, fixed_partition=rng.random() < 0.3
        )
    inner = tree(rng, relation, depth - 1, named)
    q = rng.choice((0.01, 0.1, 0.5, 0.9))
    match kind:
        case "composed":
            several = [tree(rng, relation, depth - 1, named) for _ in range(rng.randint(0, 1))]
            # An event of a composition is often there twice.
            return rdpkit.Composed(events=[inner, rng.choice((inner, *several)), *several])
        case "repeated":
            same = rng.random() < 0.7
            return rdpkit.Repeated(event=inner, count=rng.randint(2, 4), same_partition=same)
        case "group":
            return rdpkit.Group(event=inner, size=rng.randint(2, 4))
        case _:
            if relation is REPLACED and rng.random() < 0.3:
                return rdpkit.FixedSizeSampled(event=inner, sample_size=10, population_size=25)
            return rdpkit.PoissonSampled(event=inner, sampling_probability=q)


def asked(question, *arguments, **named):
    """What the product answers; None if it refuses, which is a ValueError."""
    try:
        return question(*arguments, **named)
    except ValueError:
        return None


def false_numbers(event, relation, epsilon, delta, count, *, bounds=BOUNDS):
    """Every number the product prints for an event that the oracle contradicts, in words.

    With a single bound only that is asked, and what is attained at ``epsilon``.
    """
    ways = semantics.ways(event, relation)
    low, high = semantics.truth(ways, epsilon)
    low = max(low, semantics.adaptive(event, relation, epsilon))
    same = {"adjacency": relation}
    # On samples of samples Renyi divergences of high orders take minutes. A check has no limits of
    # them; what it refutes is attained, which is asked as well.
    orders = {"order_limits": (1.01, 12.0)} if "PoissonSampled(" in repr(event) else {}
    for bound in bounds:
        found = asked(rdpkit.delta, event, epsilon=epsilon, bound=bound, **same, **orders)
        count[f"{bound} {'refused' if found is None else 'answered'}"] += 1
        if found is not None and found.delta < float(low) * (1 - SLACK) - TINY:
            yield f"{bound}: delta {found.delta!r} at epsilon {epsilon}, truth >= {float(low)!r}"
        found = asked(rdpkit.epsilon, event, delta=delta, bound=bound, **same, **orders)
        if found is not None and found.epsilon < 5000.0:
            truth = float(
                max(
                    semantics.truth(ways, found.epsilon)[0],
                    semantics.adaptive(event, relation, found.epsilon),
                )
            )
            if truth > delta * (1 + SLACK) + TINY:
                yield f"{bound}: epsilon {found.epsilon!r} at {delta}, where delta >= {truth!r}"
    lower = asked(rdpkit.lower_bound, event, epsilon=epsilon, **same)
    count[f"lower {'refused' if lower is None else 'answered'}"] += 1
    if lower is not None and lower[0].delta > float(high) * (1 + SLACK) + TINY:
        yield f"lower: delta {lower[0].delta!r} at epsilon {epsilon}, truth <= {float(high)!r}"
    if len(bounds) == 1:
        return
    lower = asked(rdpkit.lower_bound, event, delta=delta, **same)
    if lower is not None and lower[0].epsilon > 0.0:
        place = min(lower[0].epsilon * (1 - SLACK), 5000.0)
        truth = float(semantics.truth(ways, place)[1])
        if truth < delta * (1 - SLACK) - TINY or truth == 0.0:
            yield f"lower: epsilon {lower[0].epsilon!r} at delta {delta}, where delta <= {truth!r}"
    true = [e for e in EPSILONS if float(semantics.truth(ways, e)[1]) <= delta * (1 - SLACK)]
    if true and delta > 0.0 and not orders:
        verdict = asked(rdpkit.check, event, epsilon=true[0], delta=delta, **same)
        if verdict is not None and verdict.soundness.value == "refuted":
            yield f"check: epsilon {true[0]} at delta {delta} is true, and called refuted"


def tree_of(seed, *, finite=False):
    """The event, the relation and the questions of a seed; None if the event is refused."""
    rng = Dice(seed)
    rng.finite = finite
    relation = rng.choice((ADDED, REPLACED, ZEROED))
    event = asked(tree, rng, relation, rng.randint(2, 3 if finite else 4))
    return event, relation, rng.choice(EPSILONS), rng.choice(DELTAS)


def run(seeds, *, every=True):
    """Counts over many trees, and what is false, with the seed that shows it."""
    count, false = Counter(), []
    for seed in seeds:
        event, relation, epsilon, delta = tree_of(seed, finite=not every)
        if event is None:
            count["events refused"] += 1
            continue
        try:
            bounds = BOUNDS if every else (BOUNDS[seed % len(BOUNDS)],)
            found = list(false_numbers(event, relation, epsilon, delta, count, bounds=bounds))
        except semantics.NotEnumeratedError:
            count["not enumerated"] += 1
            continue
        except (ArithmeticError, LookupError, TypeError) as error:
            found = [f"{type(error).__name__}: {error}"]
        count["trees"] += 1
        false += [f"seed {seed}: {words}\n  {relation.value}, {event!r}" for words in found]
    return count, false


@pytest.mark.parametrize("start", range(0, FAST, 20))
def test_random_trees(start):
    count, false = run(range(start, start + 20), every=False)
    assert not false, "\n".join(false)
    assert count["trees"] > 5


@pytest.mark.thorough
@pytest.mark.parametrize("start", range(0, FAST, 20))
def test_random_trees_of_all_events(start):
    _, false = run(range(start, start + 12))
    assert not false, "\n".join(false)


def stated_as(epsilon, delta):
    return rdpkit.EpsilonDelta(epsilon=epsilon, delta=delta, adjacency=ADDED)


GAUSSIAN = unit.gaussian(1.0)


@pytest.mark.parametrize(
    ("event", "epsilon", "delta"),
    [
        (rdpkit.Parallel(events=(stated_as(0.1, 1e-3), GAUSSIAN)), 4.0, 1e-5),
        (rdpkit.Group(event=stated_as(1.0, 0.0), size=2), 0.0, 0.3),
        (rdpkit.Group(event=stated_as(1.0, 0.01), size=3), 1.5, 0.3),
        (rdpkit.PoissonSampled(event=stated_as(1.0, 0.1), sampling_probability=0.3), 0.1, 0.02),
        (
            rdpkit.Composed(
                events=(
                    stated_as(0.9, 0.0),
                    rdpkit.Parallel(events=(stated_as(2.1, 0.0), stated_as(0.3, 0.4))),
                )
            ),
            2.0,
            0.45,
        ),
    ],
    ids=["infinite losses", "pure group", "group", "sample", "late partition"],
)
def test_rules_that_were_confused_once(event, epsilon, delta):
    assert not list(false_numbers(event, ADDED, epsilon, delta, Counter()))


@pytest.mark.slow
def test_many_random_trees():
    count, false = run(range(FIRST, FIRST + MANY))
    print("\n" + "\n".join(f"{value:7} {name}" for name, value in sorted(count.items())))
    print(f"{len(false):7} false numbers")
    assert not false, "\n".join(false)


def spent(seed, composition):
    """What a filter allows of a random sequence, in which events recur."""
    rng = Dice(seed)
    relation = rng.choice((ADDED, REPLACED, ZEROED))
    epsilon, delta = rng.choice((0.5, 1.0, 3.0, 6.0)), rng.choice((1e-6, 1e-3, 0.05))
    budget = rdpkit.PrivacyFilter(
        epsilon=epsilon, delta=delta, adjacency=relation, composition=composition
    )
    several = [asked(tree, rng, relation, rng.randint(1, 3)) for _ in range(2)]
    allowed = []
    for event in rng.choices([event for event in several if event is not None] or [None], k=4):
        if event is None or asked(budget.spend, event) is None:
            continue
        allowed.append(event)
    return allowed, relation, epsilon, delta


@pytest.mark.thorough
@pytest.mark.parametrize("composition", ["fixed-schedule", "basic", "renyi"])
@pytest.mark.parametrize("start", [0, 10])
def test_what_a_filter_allows_is_within_its_budget(composition, start):
    seen = 0
    for seed in range(start, start + 10):
        allowed, relation, epsilon, delta = spent(seed, composition)
        if not allowed:
            continue
        try:
            ways = semantics.ways(rdpkit.Composed(events=allowed), relation)
        except semantics.NotEnumeratedError:
            continue
        seen += 1
        truth = float(semantics.truth(ways, epsilon)[0])
        assert truth <= delta * (1 + SLACK), f"seed {seed}: {allowed!r} has delta {truth!r}"
    assert seen
