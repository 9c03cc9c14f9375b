"""Noisy counts of the groups of a table, of those alone that exceed a threshold."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import choice, declared, event_class, integer, noise, positive
from rdpkit.events.free_parameters import number
from rdpkit.events.losses import Attained, Dominating, Losses, Several, attains, sampled_step
from rdpkit.events.pairs import LaplacePair, StatedPair
from rdpkit.events.selection.partition_selection import kept_alone
from rdpkit.numerics.balls import float_above, float_below

Noise = Literal["laplace", "gaussian"]


@event_class
class ThresholdedCounts(Event):
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
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
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
                tail = (place / arb(2).sqrt()).erfc() / 2
            else:
                tail = (-place).exp() / 2 if place >= 0 else 1 - place.exp() / 2
            return -(self.max_partitions * (-tail).log1p()).expm1()
