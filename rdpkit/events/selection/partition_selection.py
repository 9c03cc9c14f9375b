"""Which groups of a table may be shown, chosen as often as differential privacy allows."""

from __future__ import annotations

import math
from itertools import product
from typing import ClassVar

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, event_class, integer, positive
from rdpkit.events.losses import Attained, Dominating, Losses, Several
from rdpkit.events.pairs import Outcomes, StatedPair


def kept_alone(probability: float, adjacency: Adjacency) -> Outcomes | StatedPair:
    """Partitions that one person alone is in, some of which are kept with a probability.

    A person who is replaced by somebody else leaves some, and the other one is alone in others.
    """
    if adjacency is Adjacency.REPLACE_ONE:
        return StatedPair(epsilon=0.0, delta=probability)
    return Outcomes(first=(probability, 1.0 - probability), second=(0.0, 1.0))


# The largest epsilon of a partition for which people are counted, and the digits for that.
_LARGEST, _BITS = 300.0, 1 << 11


def _delta(name: str, value: object) -> float:
    found = _validate.target_delta(name, value)
    if found == 0.0:
        raise _validate.fail(name, "to be in (0, 1)", found)
    return found


@event_class
class PartitionSelection(Event):
    """The names of partitions that enough people are in, by optimal partition selection.

    Released: for every partition (a key of a table, a cell, a word) whether it is kept, and nothing
    of those that nobody is in. A partition that n people are in is kept with the largest
    probability that (epsilon / k, delta') allows from n - 1 people to n, k = ``max_partitions``,
    delta' = 1 - (1 - delta)^(1/k): the truncated geometric strategy. A record is all that one
    person contributes, to k partitions at most. A pre-threshold changes nothing.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.PartitionSelection(epsilon=1.0, delta=1e-6, max_partitions=10)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.994
    """

    mechanism: ClassVar[str] = "partition_selection"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = ("no person is in more partitions than the event says",)

    epsilon: float = positive("What one person's partitions may tell together, in nats", private=-1)
    delta: float = declared(
        "Probability that some partition is kept of those that only one person is in",
        check=_delta,
        accepted="in (0, 1)",
    )
    max_partitions: int = integer("Most partitions that one person is in", default=1)

    def _changed(self, adjacency: Adjacency) -> int:
        """How many partitions change: a person who is replaced leaves some and joins others."""
        return self.max_partitions * (2 if adjacency is Adjacency.REPLACE_ONE else 1)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The worst mechanism with the guarantee of a partition, for each of them."""
        epsilon = self.epsilon / self.max_partitions * (1.0 + 2.0 * math.ulp(1.0))
        missed = StatedPair(epsilon=0.0, delta=self.delta)
        each = Several(loss=StatedPair(epsilon=epsilon, delta=0.0), count=self._changed(adjacency))
        return Dominating((*[missed] * (self._changed(adjacency) // self.max_partitions), each))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Partitions that the person is in alone, and those that are kept about every other time.

        A partition that somebody joins is kept less often before.
        """
        alone: Losses = (kept_alone(self.delta, adjacency),)
        several = self._middle()
        left = [self._around(people) for people in (several, several + 1)]
        joined = [one.reversed() for one in left]
        ways = product(left, joined) if adjacency is Adjacency.REPLACE_ONE else product(left)
        shared: list[Losses] = [
            tuple(Several(loss=one, count=self.max_partitions) for one in way) for way in ways
        ]
        return Attained((*shared, alone))

    def _middle(self) -> int:
        """The most people of whose partition the probability is still e^epsilon times and delta."""
        epsilon = self.epsilon / self.max_partitions
        if epsilon > _LARGEST:
            return 1
        delta = -math.expm1(math.log1p(-self.delta) / self.max_partitions)
        # It is so where it is at most (1 - delta) / (1 + e^epsilon) with one person less.
        most = (1.0 - delta) * (1.0 - 1e-9) * math.tanh(epsilon / 2.0)
        return 1 + math.floor(math.log1p(most / delta) / epsilon)

    def _around(self, people: int) -> Outcomes:
        """A partition that is kept, or not, with so many people in it and with one less.

        At most one more than :meth:`_middle`.
        """
        with ctx.workprec(_BITS):
            epsilon = arb(self.epsilon) / self.max_partitions
            delta = -((-arb(self.delta)).log1p() / self.max_partitions).expm1()
            before = delta * ((people - 1) * epsilon).expm1() / epsilon.expm1()
            missed = 1 - epsilon.exp() * before - delta
            missed = missed.max((-epsilon).exp() * (1 - before - delta))
            first, second = (1 - missed, missed), (before, 1 - before)
            return Outcomes(first=tuple(map(float, first)), second=tuple(map(float, second)))
