"""The neighbouring data sets by which an event describes how its lower bound is attained.

Nearly always all records lie on one line through the origin, and the changed record is as far from
the others as records may be. What a release tells about the changed record is then a pair of
one-dimensional distributions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rdpkit.adjacency import Adjacency
from rdpkit.formats.numbers import how_many

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordGroup:
    """Several equal records."""

    count: int  #: Number of records
    position: float  #: Signed L2 distance from the origin along the line
    label: int = 0  #: Class, from 0; -1 for the special record of zero-out, which is in no class
    across: float = 0.0
    """Distance from the line, along a second unit vector that is orthogonal to it."""

    def describe(self) -> str:
        """The group in words."""
        if self.label == SPECIAL.label:
            return "the special record, which contributes nothing"
        place = f"{self.position:+.6g} u" + (f" {self.across:+.6g} v" if self.across else "")
        return f"{how_many(self.count, 'record')} of class {self.label} at {place}"


SPECIAL = RecordGroup(count=1, position=0.0, label=-1)
"""The special record of zero-out: a zero vector that is in no class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set given by its groups of equal records.

    Parameters
    ----------
    groups : tuple of RecordGroup
        Groups, none of them empty.
    """

    groups: tuple[RecordGroup, ...]

    def __len__(self) -> int:
        return sum(group.count for group in self.groups)

    def arrays(self, direction: Array) -> tuple[Array, NDArray[np.int64]]:
        """Features, shape (n, d), along the unit vector ``direction``, and labels, shape (n,).

        Records that are not on that line need two coordinates.
        """
        counts = [group.count for group in self.groups]
        positions = np.repeat([group.position for group in self.groups], counts)
        labels = np.repeat(np.array([g.label for g in self.groups], dtype=np.int64), counts)
        features = np.asarray(positions[:, None] * direction[None, :], dtype=np.float64)
        if any(group.across for group in self.groups):
            across = np.repeat([group.across for group in self.groups], counts)
            features += across[:, None] * orthogonal(direction)[None, :]
        return features, labels

    def describe(self) -> str:
        """The groups in words."""
        return "; ".join(g.describe() for g in self.groups if g.count) or "no records"


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbouringDataSets:
    """Two neighbouring data sets, on one line unless a group of records is said to be off it."""

    first: DataSet  #: The data set with the changed record; under add-or-remove-one the larger one
    second: DataSet  #: The data set without that record, or with another in its place
    direction: Literal["axis", "diagonal"] = "axis"
    """The direction of the line: the first coordinate axis, or (1, ..., 1)/sqrt(d)."""


def orthogonal(direction: Array) -> Array:
    """A unit vector that is orthogonal to the unit vector ``direction``."""
    if len(direction) < 2:
        raise ValueError(
            "Expected at least 2 coordinates, since the records are not on one line, got 1."
        )
    # The axis that is nearest to orthogonal, without what of it is along the line.
    found = np.zeros(len(direction))
    found[np.argmin(np.abs(direction))] = 1.0
    found -= (found @ direction) * direction
    return found / math.sqrt(found @ found)


def data_set(*groups: RecordGroup) -> DataSet:
    """The data set made of these groups, without the empty ones."""
    return DataSet(groups=tuple(group for group in groups if group.count))


def one_record_changed(
    adjacency: Adjacency,
    *,
    changed: float,
    replacement: float,
    rest: tuple[RecordGroup, ...] = (),
    label: int = 0,
    new_label: int = 0,
    direction: Literal["axis", "diagonal"] = "axis",
    replacement_across: float = 0.0,
) -> NeighbouringDataSets:
    """A record at ``changed`` that is removed, or replaced by another or by the special one.

    Parameters
    ----------
    adjacency : Adjacency
        The neighbouring relation.
    changed, replacement : float
        Positions of the record, and of its replacement under replace-one.
    rest : tuple of RecordGroup
        The records that both data sets have.
    label, new_label : int
        Classes of the record and of its replacement.
    direction : {"axis", "diagonal"}
        The direction of the line on which the positions are.
    replacement_across : float
        How far from that line the replacement is.
    """
    first = data_set(*rest, RecordGroup(count=1, position=changed, label=label))
    match adjacency:
        case Adjacency.ADD_OR_REMOVE_ONE:
            second = data_set(*rest)
        case Adjacency.REPLACE_ONE:
            other = RecordGroup(
                count=1, position=replacement, label=new_label, across=replacement_across
            )
            second = data_set(*rest, other)
        case Adjacency.ZERO_OUT:
            second = data_set(*rest, SPECIAL)
    return NeighbouringDataSets(first=first, second=second, direction=direction)


def one_integer_changed(
    adjacency: Adjacency,  # The neighbouring relation
    *,
    norm: float,  # The largest absolute value of a record
    distance: float,  # The largest distance of a record from its replacement
) -> NeighbouringDataSets:
    """A record with a whole number, as far from none, or from another, as whole numbers may be."""
    changed = math.floor(norm)
    replacement = max(changed - math.floor(distance), -changed)
    return one_record_changed(adjacency, changed=changed, replacement=replacement)


def one_record_of_a_class_changed(
    sizes: tuple[int, ...],
    adjacency: Adjacency,
    touched: tuple[int, ...],
    *,
    others: float,
    changed: float,
    replacement: float,
    direction: Literal["axis", "diagonal"] = "axis",
) -> NeighbouringDataSets:
    """Neighbours in which one record of one class is at ``changed``, and all others at ``others``.

    Parameters
    ----------
    sizes : tuple of int
        Number of records of each class in the larger data set.
    adjacency : Adjacency
        The neighbouring relation.
    touched : tuple of int
        The class that the record leaves, and, if it moves, the class that it joins. An empty tuple
        means that it leaves the first class.
    others, changed : float
        Positions of all other records, and of the changed record.
    replacement : float
        Position of the new record under replace-one if it stays in the class.
    direction : {"axis", "diagonal"}
        The direction of the line on which the positions are.
    """
    left = touched[0] if touched else 0
    moved = len(touched) > 1
    first, second = [], []
    for label, size in enumerate(sizes):
        if label != left:
            first.append(RecordGroup(count=size, position=others, label=label))
            second.append(first[-1])
            continue
        rest = RecordGroup(count=size - 1, position=others, label=label)
        first += [rest, RecordGroup(count=1, position=changed, label=label)]
        second.append(rest)
        if adjacency is Adjacency.REPLACE_ONE and not moved:
            second.append(RecordGroup(count=1, position=replacement, label=label))
    if moved:
        second.append(RecordGroup(count=1, position=changed, label=touched[1]))
    if adjacency is Adjacency.ZERO_OUT:
        second.append(SPECIAL)
    return NeighbouringDataSets(
        first=data_set(*first), second=data_set(*second), direction=direction
    )
