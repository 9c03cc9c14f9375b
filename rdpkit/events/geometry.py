"""How far one record moves a noisy sum: by its norm, or by the distance of two records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed


def diameter_of(event: Any) -> float:
    """The largest distance of two records: the one given, but at most twice the norm."""
    largest: float = 2.0 * event.record_norm
    return largest if event.record_diameter is None else min(event.record_diameter, largest)


def record_move(event: Any, adjacency: Adjacency) -> float:
    """How far one record moves the sum between neighbours."""
    match adjacency:
        case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
            return float(event.record_norm)
        case Adjacency.REPLACE_ONE:
            return diameter_of(event)


def with_longer_records(event: Any, size: int) -> Event:
    """The event with records ``size`` times as long, as equal records of a group add up to."""
    diameter = None if event.record_diameter is None else size * event.record_diameter
    longer: Event = replace(event, record_norm=size * event.record_norm, record_diameter=diameter)
    return longer


def opposite_records(event: Any, adjacency: Adjacency) -> NeighbouringDataSets:
    """One record and none (or the special one), or one record and its mirror image."""
    position = record_move(event, adjacency)
    if adjacency is Adjacency.REPLACE_ONE:
        position /= 2.0
    return one_record_changed(adjacency, changed=position, replacement=-position)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumOfRecords(DescribedEvent):
    """A sum of records with a ``record_norm`` and perhaps a ``record_diameter``, plus noise."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Sensitivity of the sum between neighbours, in the norm that ``record_norm`` is in."""
        return record_move(self, adjacency)

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        return with_longer_records(self, size)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumOfVectors(SumOfRecords):
    """A noisy sum that opposite records attain; equal ones add up to one that is longer."""

    losses_are_attained = True
    groups_are_attained = True

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none (or the special one), or one record and its mirror image."""
        return opposite_records(self, adjacency)
