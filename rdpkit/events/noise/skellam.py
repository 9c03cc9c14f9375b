"""Integers with Skellam noise, which many clients can add a share of each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_integer_changed
from rdpkit.events.fields import declared, diameter, event_class, integer, noise, positive
from rdpkit.events.geometry import record_move, with_longer_records
from rdpkit.events.losses import Attained, Dominating, Losses, Several
from rdpkit.events.pairs import SkellamPair
from rdpkit.numerics.skellam import MOST


@event_class
class Skellam(Event):
    """The sum of integer vectors plus Skellam noise, the difference of two Poisson variables.

    Released: sum of x_i plus independent integers in each coordinate, k with the probability
    e^-variance I_k(variance). Shares of this noise add up to this noise, so that it does not matter
    how many clients add it, as long as ``variance`` is that of all shares which certainly arrive.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Skellam(variance=25.0, record_norm=1.0)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.685
    """

    mechanism: ClassVar[str] = "skellam"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = ("nobody sees less than the sum of all noise whose variance is stated",)

    variance: float = noise("Variance of the noise in each coordinate, of all shares together")
    record_norm: float = positive("Largest L2 norm of one record's vector of integers")
    record_diameter: float | None = diameter(
        "Largest L2 distance between two records' vectors", free=False, default=None
    )
    dimension: int = integer("Number of coordinates", default=1)
    record_l1_norm: float | None = declared(
        "Largest L1 norm of one record's vector",
        check=_validate.positive,
        accepted="above 0; by default what follows from integers of that L2 norm",
        default=None,
    )

    def sensitivity(self, adjacency: Adjacency) -> float:
        """L2 sensitivity of the sum between neighbours."""
        return record_move(self, adjacency)

    def l1_sensitivity(self, adjacency: Adjacency) -> float:
        """L1 sensitivity: of integers at most the squared L2 norm."""
        moved = self.sensitivity(adjacency)
        stated = math.inf if self.record_l1_norm is None else self.record_l1_norm
        times = 1 + (adjacency is Adjacency.REPLACE_ONE)
        return min(times * stated, moved * moved, math.sqrt(self.dimension) * moved)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two distributions; in several coordinates no pair above all others is known."""
        if self.dimension > 1 or self.variance > MOST:
            raise self._no_losses(adjacency)
        return Dominating(self._along_an_axis(adjacency))

    def attained(self, adjacency: Adjacency) -> Attained:
        """A record along an axis, or one of ones and its mirror image."""
        if self.variance > MOST:
            raise self._no_losses(adjacency)
        apart = 1 + (adjacency is Adjacency.REPLACE_ONE)
        square = min(self.record_norm, self.sensitivity(adjacency) / apart) ** 2
        ones = min(self.dimension, math.floor(min(square, self._longest())))
        found = [self._along_an_axis(adjacency)]
        if ones > 1:
            pair = SkellamPair(variance=self.variance, distance=apart)
            found.append((Several(loss=pair, count=ones),))
        return Attained(tuple(found))

    def _longest(self) -> float:
        """The L1 norm of the longest record along an axis."""
        l1_norm = math.inf if self.record_l1_norm is None else self.record_l1_norm
        return min(self.record_norm**2, l1_norm)

    def _along_an_axis(self, adjacency: Adjacency) -> Losses:
        most = math.floor(min(self.record_norm, self._longest()))
        most *= 1 + (adjacency is Adjacency.REPLACE_ONE)
        distance = min(most, math.floor(self.sensitivity(adjacency)))
        return (SkellamPair(variance=self.variance, distance=distance),) if distance else ()

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none, or two records on one axis."""
        norm = min(self.record_norm, self._longest())
        return one_integer_changed(adjacency, norm=norm, distance=self.sensitivity(adjacency))

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        l1_norm = None if self.record_l1_norm is None else size * self.record_l1_norm
        return with_longer_records(replace(self, record_l1_norm=l1_norm), size)

    def attained_in_groups(self, size: int) -> Event | None:
        """Equal records of one coordinate, which are whole numbers."""
        whole = math.floor(self.record_norm)
        if self.dimension > 1 or self.record_diameter is not None or not whole:
            return None
        return replace(self, record_norm=float(whole)).in_groups(size)
