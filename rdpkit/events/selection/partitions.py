"""Groups of a table that nobody knew: which of them are shown, and their noisy counts."""

from __future__ import annotations

import math
from itertools import product
from typing import ClassVar, Literal

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent
from rdpkit.events.fields import choice, declared, event_class, integer, noise, positive
from rdpkit.events.free_parameters import number
from rdpkit.events.losses import Attained, Dominating, Losses, Several, attains, sampled_step
from rdpkit.events.pairs import LaplacePair, Outcomes, StatedPair
from rdpkit.numerics.balls import float_above, float_below, upper_tail


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
class PartitionSelection(DescribedEvent):
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


Noise = Literal["laplace", "gaussian"]


@event_class
class ThresholdedCounts(DescribedEvent):
    """Noisy counts of partitions, where they are at least a threshold: keys that nobody knew.

    Released: of every partition (a key of a table, a cell, a word) that somebody is in its count or
    sum with noise, or that it is there, if the noisy number is at least ``threshold``; nothing of
    other partitions, nor of those that nobody is in. A record is all that one person contributes:
    something in [0, ``max_per_partition``] to each of ``max_partitions`` partitions at most.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.ThresholdedCounts(
    ...     noise="gaussian", noise_scale=4.0, threshold=25.0, max_partitions=3
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-6, adjacency="add_or_remove_one").epsilon, 3)
    1.926
    """

    mechanism: ClassVar[str] = "thresholded_counts"
    assumed = ("no person contributes more, or to more partitions, than the event says",)

    noise_scale: float = noise(
        "Scale of Laplace noise or standard deviation of Gaussian noise, in the units of the counts"
    )
    noise: Noise = choice("The distribution of the noise", Noise)
    threshold: float | None = declared(
        "What a noisy count must reach to be released, in the units of the counts",
        check=_validate.non_negative,
        accepted="at least 0",
        free=number(1),
        default=None,
    )
    delta: float | None = declared(
        "In place of the threshold: the probability for which it is made, that anything is "
        "released of the partitions that one person alone is in",
        check=_validate.open_probability,
        accepted="in (0, 1)",
        default=None,
    )
    max_partitions: int = integer("Most partitions that one person contributes to", default=1)
    max_per_partition: float = positive(
        "The most that one person contributes to a partition", private=-1, default=1.0
    )

    def _check_together(self) -> None:
        if (self.threshold is None) is (self.delta is None):
            condition = "to be given, or delta in its place, and not both"
            raise _validate.fail("threshold", condition, self.threshold)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Noise in every partition that changes, and beside it what may only be there at all."""
        seen = min(float_above(self._kept_alone()), 1.0) if self.delta is None else self.delta
        if seen == 1.0:
            raise self._no_losses(adjacency)
        return Dominating((*self._noisy(adjacency), StatedPair(epsilon=0.0, delta=seen)))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Partitions with many others, or those that nobody else is in."""
        seen = max(float_below(self._kept_alone()), 0.0) if self.delta is None else self.delta
        shared = self._noisy(adjacency)
        if seen == 0.0:
            return attains(shared)
        return Attained((shared, (kept_alone(seen, adjacency),)))

    def _noisy(self, adjacency: Adjacency) -> Losses:
        """A person who is replaced leaves some partitions and joins others."""
        partitions = self.max_partitions * (2 if adjacency is Adjacency.REPLACE_ONE else 1)
        if self.noise == "laplace":
            pair = LaplacePair(distance=self.max_per_partition / self.noise_scale)
            return (Several(loss=pair, count=partitions),)
        z = self.noise_scale / (self.max_per_partition * math.sqrt(partitions))
        return sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0)

    def _kept_alone(self) -> arb:
        """Probability that some partition is released that one person alone is in."""
        with ctx.workprec(1 << 12):
            above = arb(self.threshold or 0.0) - arb(self.max_per_partition)
            place = above / arb(self.noise_scale)
            if self.noise == "gaussian":
                tail = upper_tail(place)
            else:
                tail = (-place).exp() / 2 if place >= 0 else 1 - place.exp() / 2
            return -(self.max_partitions * (-tail).log1p()).expm1()
