"""Releases of any kind as rows of numbers, all of the same length.

A layout says what each column of a row holds. It is made from the first releases on both data sets
of a pair, which are then not tested on, so it is a fixed function of a release afterwards.

If all of those releases have the same structure, a row holds their values and nothing else. A later
release with another structure becomes a row of numbers far outside of all others, which depend on
its structure and on the values that such releases did not have.

If their structures vary, as those of a histogram that publishes only large bins do, the layout is
the union of what was seen. Parts that were sometimes missing have a column that says whether they
are there, and axes of varying length have one for the length. Four more columns hold the number of
values outside of the layout, a hash of them, the number of all values, and a hash of the structure.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.release_parts import (
    MechanismError,
    PartShape,
    ReleasePart,
    code_of,
    digest,
    one_of,
)
from rdpkit.verification.estimators.base import Array

ReleaseStructure = tuple[PartShape, ...]

# In a release whose structure was not expected, all numbers are at least this.
_OUTSIDE = 2.0**40
# The largest number of parts that a layout of varying structure has; the rest is counted.
_MOST_FIELDS = 512
_MOST_NAMED = 4
# On how many other records of a pair a model is asked, besides those in which the pair differs.
_OTHER_POINTS = 6
_VARYING_COLUMNS = (
    "number of values outside of the layout",
    "values outside of the layout",
    "number of values",
    "structure",
)


@dataclass(frozen=True, kw_only=True)
class ReleaseLayout:
    """What each column of an encoded release holds."""

    fields: ReleaseStructure  # The parts of a release, in the order of their columns
    varying: bool = False  # Whether releases of different structures were seen
    points: Array | None = field(default=None, compare=False)
    """Records on which a released model is asked for its outputs; shape (n, d)."""
    kinds: str = ""
    """How the kinds of the first releases differ between the data sets; empty if they do not."""

    @cached_property
    def _places(self) -> dict[tuple[str, bool, int], tuple[int, PartShape]]:
        """Where each field begins, and the field."""
        ends = itertools.accumulate(one.columns for one in self.fields)
        return {
            (one.path, one.is_number, len(one.shape)): (end - one.columns, one)
            for one, end in zip(self.fields, ends, strict=True)
        }

    @property
    def size(self) -> int:
        """How many columns a row has."""
        return sum(one.columns for one in self.fields) + len(_VARYING_COLUMNS) * self.varying

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays of a release; of a varying structure, that of its row."""
        if self.varying:
            return ((self.size,),)
        return tuple(one.shape for one in self.fields if not one.is_order)

    @property
    def is_number(self) -> NDArray[np.bool_]:
        """For each column, whether it holds a number; otherwise it holds a category."""
        found: list[bool] = []
        for one in self.fields:
            found += [False] * one.optional + [True] * len(one.varying_axes)
            found += [one.is_number] * math.prod(one.shape)
        return np.array(found + [True, False, True, False] * self.varying, dtype=bool)

    def name(self, column: int) -> str:
        """The name of a column, such as ``weights[3]`` or ``['age']``."""
        place = range(self.size)[column]
        for one in self.fields:
            if place < one.columns:
                return one.name(place)
            place -= one.columns
        return _VARYING_COLUMNS[place]

    def describe(self) -> str:
        """The structure in words: the shapes of the arrays, with names where they have any."""
        if self.varying:
            return f"{self.size} columns for releases of varying structure"
        named = any(
            (one.path and not one.path.startswith("[")) or "'" in one.path for one in self.fields
        )
        told = [one for one in self.fields if not one.is_order]
        shown = [f"{one.path} {one.shape}" if named else str(one.shape) for one in told[:6]]
        more = len(told) - len(shown)
        return " and ".join([*shown, f"{more} more"] if more else shown)

    def fits(
        self,
        parts: Sequence[ReleasePart],
        *,
        # Whether they are those of many releases, along the first axes of their arrays.
        batched: bool = False,
    ) -> bool:
        """Whether a release has the structure that was seen before; a varying one always fits."""
        if self.varying:
            return True
        axes = int(batched)
        found = [(one.path, one.is_number, one.values.shape[axes:]) for one in parts]
        return found == [(one.path, one.is_number, one.shape) for one in self.fields]

    def row(self, parts: Sequence[ReleasePart]) -> Array:
        """The row of a release that was taken apart."""
        if self.varying:
            return self._varying_row(parts)
        if not self.fits(parts):
            code = code_of(f"{structure_code(parts)} {digest(self._outside(parts))}")
            return np.where(self.is_number, _OUTSIDE * (1.0 + code / 2.0**53), code)
        if len(parts) == 1:
            return np.array(parts[0].values.ravel())
        return np.concatenate([one.values.ravel() for one in parts])

    def rows(self, parts: Sequence[ReleasePart], count: int) -> tuple[Array, int]:
        """The rows of ``count`` releases, which are along the first axes of the arrays.

        Returns also how many of them have another structure than was seen before.
        """
        if not self.varying and self.fits(parts, batched=True):
            arrays = [one.values.reshape(count, -1) for one in parts]
            return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1), 0
        each = [one_of(parts, place) for place in range(count)]
        return np.stack([self.row(one) for one in each]), sum(not self.fits(one) for one in each)

    def _varying_row(self, parts: Sequence[ReleasePart]) -> Array:
        row = np.zeros(self.size)
        for part in parts:
            start, one = self._place(part)
            if one is None:
                continue
            if one.optional:
                row[start] = 1.0
            lengths = start + int(one.optional)
            row[lengths : start + one.extra] = [part.values.shape[a] for a in one.varying_axes]
            values = row[start + one.extra : start + one.columns].reshape(one.shape)
            kept = _common(one.shape, part.values.shape)
            values[kept] = part.values[kept]
        outside = self._outside(parts)
        row[-4:] = (
            sum(max(1, part.values.size) for part in outside),
            code_of(digest(outside)) if outside else 0.0,
            sum(part.values.size for part in parts),
            structure_code(parts),
        )
        return row

    def _place(self, part: ReleasePart) -> tuple[int, PartShape | None]:
        key = (part.path, part.is_number, part.values.ndim)
        return self._places.get(key, (0, None))

    def _outside(self, parts: Sequence[ReleasePart]) -> list[ReleasePart]:
        """What has no column in the layout."""
        found = []
        for part in parts:
            one = self._place(part)[1]
            if one is None:
                found.append(part)
            elif any(np.greater(part.values.shape, one.shape)):
                beyond = np.ones(part.values.shape, dtype=np.bool_)
                beyond[_common(one.shape, part.values.shape)] = False
                found.append(replace(part, values=part.values[beyond]))
        return found


def _common(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[slice, ...]:
    """The cells that arrays of both shapes have."""
    return tuple(slice(min(lengths)) for lengths in zip(one, two, strict=True))


def structure_code(parts: Sequence[ReleasePart]) -> float:
    """A whole number below 2^53 that stands for the structure of a release."""
    return code_of(repr([(one.path, one.is_number, one.values.shape) for one in parts]))


def kind_in_words(structure: ReleaseStructure) -> str:
    """What a release of a structure holds, in words."""
    shown = [
        f"{one.path or 'a value'}{f' {one.shape}' if one.shape else ''}"
        for one in structure[:_MOST_NAMED]
    ]
    more = len(structure) - len(shown)
    return " and ".join([*shown, *([f"{more} more"] if more else [])]) or "nothing"


def layout_of(
    structures: Sequence[ReleaseStructure],  # What was seen on both data sets, at least one
    *,
    points: Array | None = None,  # Records on which released models were asked
) -> ReleaseLayout:
    """The layout for releases of these structures.

    Raises MechanismError if releases hold no value.
    """
    first = structures[0]
    if len(set(structures)) > 1 or not first:
        return ReleaseLayout(fields=tuple(_union(structures)), varying=True, points=points)
    layout = ReleaseLayout(fields=first, points=points)
    if layout.size == 0:
        raise MechanismError("returned an empty release")
    return layout


def _union(structures: Sequence[ReleaseStructure]) -> Iterator[PartShape]:
    """All parts that were seen, in the order in which they were first seen."""
    shapes: dict[tuple[str, bool, int], set[tuple[int, ...]]] = {}
    seen: Counter[tuple[str, bool, int]] = Counter()
    for structure in structures:
        for part in structure:
            key = (part.path, part.is_number, len(part.shape))
            shapes.setdefault(key, set()).add(part.shape)
            seen[key] += 1
    kept = {key for key, _ in seen.most_common(_MOST_FIELDS)}
    for key, found in shapes.items():
        if key in kept:
            lengths = [set(axis) for axis in zip(*found, strict=True)]
            yield PartShape(
                path=key[0],
                is_number=key[1],
                shape=tuple(max(axis) for axis in lengths),
                optional=seen[key] < len(structures),
                varying_axes=tuple(at for at, axis in enumerate(lengths) if len(axis) > 1),
            )


def points_of(pair: Neighbours) -> Array:
    """The features on which models are asked: where the pair differs, and a few others."""
    one, two = pair.first.records(), pair.second.records()
    differing = [
        row
        for data, alone in ((pair.first, one - two), (pair.second, two - one))
        for row, label in zip(data.features, data.labels, strict=True)
        if row.tobytes() + label.tobytes() in alone
    ]
    larger = pair.first if len(pair.first) >= len(pair.second) else pair.second
    places = np.unique(np.linspace(0, len(larger) - 1, _OTHER_POINTS).round().astype(int))
    rows = [*differing, *larger.features[places]]
    return np.array(list(dict.fromkeys(tuple(row.tolist()) for row in rows)))
