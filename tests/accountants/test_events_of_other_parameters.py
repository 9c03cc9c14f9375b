"""The examples of every event again, with other numbers in them: between both bounds as well.

One generator of parameters stands for a brute force of each event: what a member leaks is
enumerated by :mod:`tests.oracles.semantics`, and must not be above what is printed.
"""

import dataclasses
import random
from contextlib import suppress

import pytest

import rdpkit
from rdpkit.events import parameters_of
from rdpkit.events.base import Event
from tests.accountants.test_every_event_is_enumerated import EXAMPLES, members, named
from tests.oracles import semantics


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
