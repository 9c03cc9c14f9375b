"""Pairs of data sets that make code of any kind show what it does with one record.

A pair is found by search and not by chance: the record that differs lies at the ends of every
range, beyond them, has a class or a category of its own, misses a value, or is the only one there
is. Values are plain, so that the pair can be handed to code in another environment.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import Neighbours

Record = dict[str, Any]
LABEL = "label"
"""The column of classes."""
USUAL_RECORDS = 24
"""Records of the larger data set, unless the target says otherwise."""
_NEW_CATEGORY = "another one"
FEW = "hardly any records"
"""What is said of pairs on which code may refuse to run."""
# Sizes of a group that are tried one after the other: counts are compared with thresholds.
_LADDER = (*range(2, 13), 15, 16, 20, 25, 30, 32, 50, 64, 100)
# Pairs of random sizes and values, which come last.
_RANDOM = 24
# How many records each chain of data sets adds, along which pairs are looked for: under hundreds,
# noise decides less than they do.
_LINKS = (200, 24, 24)
# After how many pairs each is tried.
_CHAINS_AFTER = (3, 9, 12)
# How many records the user who differs has, where a user may have several.
_OF_A_USER = 5
# In how many of the first pairs they have different categories.
_SPREAD = 3
# How far beyond its range a value lies, in lengths of the range.
_BEYOND = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSpace:
    """What values a column has."""

    name: str
    low: float = 0.0
    high: float = 1.0
    categories: tuple[Any, ...] = ()  # None of them for a column of numbers
    whole: bool = False  # Whether its numbers are whole

    @classmethod
    def of(cls, name: str, stated: Any) -> ColumnSpace:
        """A column from what a target says: (low, high), or a list of categories."""
        condition = "to be [low, high] or a list of at least two categories"
        if not isinstance(stated, Sequence) or isinstance(stated, str) or len(stated) < 2:
            raise _validate.fail(f"columns[{name!r}]", condition, stated)
        numbers = [one for one in stated if isinstance(one, int | float)]
        if len(numbers) == len(stated) == 2 and name != LABEL:
            low, high = numbers
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise _validate.fail(f"columns[{name!r}]", "to have finite low < high", stated)
            whole = all(isinstance(one, int) for one in stated) and stated[1] - stated[0] > 1
            return cls(name=name, low=float(stated[0]), high=float(stated[1]), whole=whole)
        return cls(name=name, categories=tuple(stated))

    def drawn(self, rng: np.random.Generator) -> Any:
        """A value within the range."""
        if self.categories:
            return self.categories[int(rng.integers(len(self.categories)))]
        value = float(rng.uniform(self.low, self.high))
        return float(round(value)) if self.whole else value

    def at(self, part: float) -> Any:
        """The value at a part of the range, which may lie beyond it."""
        if self.categories:
            return self.categories[0 if part < 0.5 else -1]
        return self.low + part * (self.high - self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPair:
    """Two data sets that differ by one record."""

    # The records of D and of D'.
    first: tuple[Record, ...]
    second: tuple[Record, ...]
    columns: tuple[ColumnSpace, ...]  # What values they have
    words: str  # The pair in words
    beyond: str = ""
    """In what the record that differs lies outside of what the target said of its data; empty if it
    does not. Code that is only ever given other data is not at fault there. ``FEW`` where there are
    so few records that code may refuse to run.
    """

    chain: tuple[int, ...] = ()
    """Numbers of records: so many of D, and then those of D' at further places, make a data set
    that differs from the next by one record, or one user. With the same noise nothing may differ
    along a chain of these, however far its ends are apart; where something does, halving it finds
    the neighbours that are examined.
    """

    def at(self, place: int) -> RecordPair:
        """The neighbours at a place of the chain."""
        sizes = sorted(self.chain[place : place + 2], reverse=True)
        first, second = (self.first[:size] + self.second[size:] for size in sizes)
        return dataclasses.replace(self, first=first, second=second, chain=())

    @property
    def within(self) -> bool:
        """Whether all values are such as the target names."""
        return self.beyond in ("", FEW)

    def plain(self) -> list[dict[str, Any]]:
        """D and D' for an agent: lists of values by column, and which columns hold numbers."""
        names = [one.name for one in self.columns]
        numbers = [one.name for one in self.columns if not one.categories]
        return [
            {
                "columns": {name: [record[name] for record in side] for name in names},
                "numbers": numbers,
            }
            for side in (self.first, self.second)
        ]

    def describe(self) -> str:
        """The pair in words, with its sizes."""
        sizes = f"D has {len(self.first)} record(s), D' has {len(self.second)}"
        return f"{sizes}: {self.words}{f' ({self.beyond})' if self.beyond else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSpace:
    """What data a target takes."""

    columns: tuple[ColumnSpace, ...]
    records: int = USUAL_RECORDS
    stated: bool = False  # Whether the target itself names the ranges
    any_values: bool = False  # Whether its claim holds for other values as well
    user: str = ""  # The column that says whose a record is; then a user differs
    own: tuple[RecordPair, ...] = ()  # Pairs that are tried first
    alone: bool = False  # Whether no other pairs are tried

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Any],  # For every column (low, high), or its categories
        *,
        records: int | None = None,  # How many records the larger data set usually has
        any_values: bool = False,  # Whether the claim holds for values beyond these as well
        user: str = "",  # Which of them says whose a record is; its values are made up
    ) -> DataSpace:
        """The space that a target describes."""
        if not columns:
            raise _validate.fail("columns", "to have at least one column", columns)
        if records is not None and records < 1:
            raise _validate.fail("records", "to be at least 1", records)
        if user and user not in columns:
            raise _validate.fail("user", f"to be one of the columns {', '.join(columns)}", user)
        found = [
            ColumnSpace(name=name, categories=("somebody",))
            if name == user
            else ColumnSpace.of(name, stated)
            for name, stated in columns.items()
        ]
        return cls(
            columns=tuple(found),
            records=USUAL_RECORDS if records is None else records,
            stated=True,
            any_values=any_values,
            user=user,
        )

    def pairs(self, adjacency: Adjacency, seed: int) -> list[RecordPair]:
        """The pairs under a relation, those of ordinary data first."""
        found = [*self.own]
        sides: tuple[list[Record], list[Record]]
        if self.alone:
            return found
        chains = self._chains(adjacency, np.random.default_rng([seed, 1]))
        for rest, record, other, words, beyond in self._recipes(np.random.default_rng(seed)):
            if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
                sides, verb = ([record], []), "only D has"
            else:
                sides = ([record], [other])
                verb = "its place in D' has a record that is replaced, and D has"
            spread = len(found) < len(self.own) + _SPREAD
            first, second = ([*self._owned(rest), *self._of_a_user(one, spread)] for one in sides)
            found.append(
                RecordPair(
                    first=tuple(first),
                    second=tuple(second),
                    columns=self.columns,
                    words=f"{verb} {words}{self._several(spread)}",
                    beyond=beyond,
                )
            )
            if len(found) - len(self.own) in _CHAINS_AFTER:
                found.append(next(chains))
        return found

    def _chains(self, adjacency: Adjacency, rng: np.random.Generator) -> Iterator[RecordPair]:
        """Pairs that are looked for along chains: to the ends of all ranges, and to any records."""
        for place, links in enumerate(_LINKS):
            first = self._owned([self._drawn(rng) for _ in range(max(1, self.records - 1))])
            many = links // _OF_A_USER if self.user and not place else links
            ends = [(self._skewed(rng), self._at(1.0), self._at(0.0))[place] for _ in range(many)]
            second: list[Record] = []
            sizes = [len(first)]
            if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
                words = "only D has a record"
                for link, record in enumerate(ends):
                    # No more than each of the others has, so that none of these is sampled.
                    added = self._of_a_user([record], link % 2 == 0)[:2]
                    own = {self.user: f"somebody {link}"} if self.user else {}
                    first += [{**one, **own} for one in added]
                    sizes.append(len(first))
            else:
                words = "a record is replaced"
                second = [{**one, **other} for one, other in zip(first, ends, strict=False)]
                sizes = list(range(len(first) + 1))
            yield RecordPair(
                first=tuple(first),
                second=tuple(second),
                columns=self.columns,
                words=f"{words}, where a chain of data sets parts (search {place + 1})",
                # The noise is that of the first.
                chain=tuple(sizes[:: 1 if place else -1]),
            )

    def _several(self, spread: bool) -> str:
        several = any(len(one.categories) > 1 for one in self.columns)
        among = " with categories in turn" if spread and several else ""
        return f", {_OF_A_USER} times from one user{among}" if self.user else ""

    def _owned(self, rest: list[Record]) -> list[Record]:
        """The other records, two of each user where records have users."""
        if not self.user:
            return rest
        return [{**one, self.user: f"user {place // 2}"} for place, one in enumerate(rest)]

    def _of_a_user(self, record: list[Record], spread: bool) -> list[Record]:
        """The records of the user that differs: equal ones, or spread over all categories."""
        if not self.user:
            return record
        return [
            {**one, **(self._turned(one, place) if spread else {}), self.user: "somebody"}
            for one in record
            for place in range(_OF_A_USER)
        ]

    def _turned(self, record: Record, by: int) -> Record:
        """Its categories, so many places further in their lists."""
        return {
            one.name: one.categories[(one.categories.index(record[one.name]) + by) % many]
            for one in self.columns
            for many in [len(one.categories)]
            if many > 1
        }

    def _recipes(
        self, rng: np.random.Generator
    ) -> Iterator[tuple[list[Record], Record, Record, str, str]]:
        """The other records, the one that differs, what replaces it, and words."""
        rest = [self._drawn(rng) for _ in range(max(1, self.records - 1))]
        usual, top, bottom = self._drawn(rng), self._at(1.0), self._at(0.0)
        yield rest, usual, self._drawn(rng), "a record like the others", ""
        yield rest, top, bottom, "a record at the upper end of every range", ""
        yield rest, bottom, top, "a record at the lower end of every range", ""
        for same, other, end in ((bottom, top, "lower"), (top, bottom, "upper")):
            words = f"the only record that is not at the {end} end"
            yield [dict(same) for _ in rest], other, same, words, ""
        yield from self._with_categories(rest, usual)
        yield [], usual, top, "the only record", FEW
        yield rest[:1], top, bottom, "one of two records", FEW
        yield from self._beyond_ranges(rest, usual, top, bottom)
        for size in _LADDER:
            words = f"one of {size} equal records"
            yield [dict(top) for _ in range(size - 1)], top, bottom, words, ""
        for place in range(_RANDOM):
            size = int(rng.integers(1, 2 * self.records))
            among = [self._skewed(rng) for _ in range(size)]
            words = f"a record among {size + 1} (search {place + 1})"
            yield among, self._skewed(rng), self._skewed(rng), words, ""

    def _with_categories(
        self, rest: list[Record], usual: Record
    ) -> Iterator[tuple[list[Record], Record, Record, str, str]]:
        """Categories that one record alone has, and those that it makes the largest."""
        for column in self.columns:
            if len(column.categories) < 2:
                continue
            first, last = column.categories[0], column.categories[-1]
            alone = [
                {**record, column.name: first} if record[column.name] == last else record
                for record in rest
            ]
            words = f"the only record with {last!r} in {column.name}"
            yield alone, {**usual, column.name: last}, {**usual, column.name: first}, words, ""
            many = len(column.categories)
            even = [
                {**record, column.name: column.categories[place % many]}
                for place, record in enumerate(rest[: max(1, len(rest) // many) * many])
            ]
            words = f"the record that makes {last!r} the largest group of {column.name}"
            yield even, {**usual, column.name: last}, {**usual, column.name: first}, words, ""

    def _beyond_ranges(
        self, rest: list[Record], usual: Record, top: Record, bottom: Record
    ) -> Iterator[tuple[list[Record], Record, Record, str, str]]:
        """A category, a value and a missing value that the target does not name."""
        for column in self.columns:
            if len(column.categories) > 1:
                new: Any = _NEW_CATEGORY
                if all(isinstance(one, int | float) for one in column.categories):
                    new = max(column.categories) + 1
                changed = {**usual, column.name: new}
                words = f"a record with {new!r} in {column.name}"
                yield rest, changed, usual, words, self._beyond("a value")
        numbers = [one for one in self.columns if not one.categories]
        if numbers:
            far = {**top, **{one.name: one.at(_BEYOND) for one in numbers}}
            yield rest, far, usual, "an outlier", self._beyond("values")
            far = {**bottom, **{one.name: one.at(-_BEYOND) for one in numbers}}
            yield rest, far, usual, "an outlier below", self._beyond("values")
        for column in numbers:
            missing = {**usual, column.name: float("nan")}
            beyond = "" if self.any_values else "a missing value"
            yield rest, missing, usual, f"a record without {column.name}", beyond

    def _beyond(self, what: str) -> str:
        """Code whose ranges nobody names is expected to clip, and to take any class."""
        stated = self.stated and not self.any_values
        return f"{what} beyond what the target names" if stated else ""

    def _skewed(self, rng: np.random.Generator) -> Record:
        """A record whose values lie at an end of their ranges as often as between."""
        return {
            one.name: one.at(float(rng.integers(2))) if rng.random() < 0.5 else one.drawn(rng)
            for one in self.columns
        }

    def _drawn(self, rng: np.random.Generator) -> Record:
        return {one.name: one.drawn(rng) for one in self.columns}

    def _at(self, part: float) -> Record:
        return {one.name: one.at(part) for one in self.columns}


def of_neighbours(pair: Neighbours) -> RecordPair:
    """A pair of arrays as a pair of records; the one that differs comes last.

    The noise of a replay is matched from the first record on, so that the records that both have
    stand at the same places.
    """
    sides, keys = [], []
    for data in (pair.first, pair.second):
        rows = [
            {**{f"x{place}": value for place, value in enumerate(row)}, LABEL: label}
            for row, label in zip(data.features.tolist(), data.labels.tolist(), strict=True)
        ]
        sides.append(rows)
        keys.append([tuple(row.values()) for row in rows])
    common = list(keys[1])
    shared, only = [], []
    for row, key in zip(sides[0], keys[0], strict=True):
        if key in common:
            common.remove(key)
            shared.append(row)
        else:
            only.append(row)
    more = [dict(zip(sides[0][0] if sides[0] else sides[1][0], key, strict=True)) for key in common]
    columns = [
        ColumnSpace(name=f"x{place}", low=-1.0, high=1.0) for place in range(pair.first.dimension)
    ]
    labels = sorted({row[LABEL] for row in [*sides[0], *sides[1]]} | {0, 1})
    return RecordPair(
        first=(*shared, *only),
        second=(*shared, *more),
        columns=(*columns, ColumnSpace(name=LABEL, categories=tuple(labels))),
        words="; ".join(pair.description) or "the target's own pair",
    )


def space_of_pairs(
    pairs: Sequence[Neighbours],  # At least one
    *,
    alone: bool = False,  # Whether no other pairs are tried, because the target takes no other data
) -> DataSpace:
    """The space of records like those of some pairs of arrays, which come first."""
    own = tuple(map(of_neighbours, pairs))
    records = min(max(len(own[0].first), len(own[0].second), 8), USUAL_RECORDS)
    return DataSpace(columns=own[0].columns, records=records, own=own, alone=alone)
