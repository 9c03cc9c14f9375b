"""How the ranges of columns are cut, and what is found with noise where nobody can state it."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.stats import norm

from rdpkit import Adjacency, Event, Gaussian
from rdpkit.events import EpsilonDelta
from rdpkit.mechanisms.data.tables.arrow_types import limits
from rdpkit.mechanisms.data.tables.encoding import read_values
from rdpkit.mechanisms.data.tables.schema import BINS, Column, Schema
from rdpkit.mechanisms.parts.noise import NoiseSource

# Fine public parts of ranges that nobody has cut: what noisy counts then join to coarser ones.
#
# Half of the resolution is even, for values anywhere in the range. The other half is finer towards
# the ends of the range and towards zero, where the many small values of a long tail lie.

_EVEN = 1024  # Equal parts of a range
_OCTAVES = (7, 35)  # Halvings of the range at which ends lie near a limit or near 0
_OF_OCTAVE = 6  # Parts of each octave

Floats = NDArray[np.float64]


def with_fine_parts(schema: Schema) -> tuple[Schema, list[int]]:
    """The schema with fine parts of ranges, and for each column how many, where they are many.

    Columns with stated or paid parts stay as they are, and have no fine ones.
    """
    fine = replace(schema, columns=tuple(_fine(column) for column in schema.columns))
    many = [
        new.parts if new != old and new.parts > BINS else 0
        for new, old in zip(fine.columns, schema.columns, strict=True)
    ]
    return fine, many


def _fine(column: Column) -> Column:
    stated = column.paid or column.bins is not None or column.edges is not None
    if stated or not column.is_ordered or column.range is None or column.parts < BINS:
        return column
    low, high = (float(column.steps_of(end)) for end in column.range)
    try:
        found = with_parts(column, np.clip(_ends(low, high), low, high))
    except ValueError:
        # Ends that are less than a microsecond apart are the same time of a calendar.
        return column
    # Doubles do not tell large whole numbers apart, and no value may lie outside of the range.
    exact = map(column.steps_of, column.range) if column.is_whole else ()
    assert found.range is not None
    return found if all(map(operator.eq, exact, map(column.steps_of, found.range))) else column


def _ends(low: float, high: float) -> Floats:
    """Ends of fine parts, in any order."""
    share = np.arange(_EVEN + 1) / _EVEN
    distances = 2.0 ** -(np.arange(_OCTAVES[0] * _OF_OCTAVE, _OCTAVES[1] * _OF_OCTAVE) / _OF_OCTAVE)
    # No difference of the ends, which may overflow.
    near = [low * (1.0 - distances) + high * distances, high * (1.0 - distances) + low * distances]
    if low < 0.0 < high:
        width = min(high / 2.0 - low / 2.0, 1e300)
        near += [2.0 * width * distances, -2.0 * width * distances, np.zeros(1)]
    return np.concatenate([low * (1.0 - share) + high * share, *near])


def with_parts(column: Column, ends: Floats) -> Column:
    """The column with parts between these ends, the outer two included.

    Ends of whole steps are rounded to these, and those of numbers with decimals to half a decimal
    below one, so that no number lies at an end.
    """
    ends = np.sort(ends)
    if column.is_whole:
        first = math.ceil(ends[0])
        last = max(first, math.floor(ends[-1]))
        inner = np.clip(np.rint(ends[1:-1]), first, last)
        steps: list[Any] = sorted({first, *(int(step) for step in inner), last})
    else:
        if column.decimals is not None:
            half = 0.5 / 10.0**column.decimals
            with np.errstate(over="ignore"):
                inner = np.round(ends[1:-1], column.decimals) - half
            ends[1:-1] = np.clip(inner, ends[0], ends[-1])
        steps = [float(end) for end in np.unique(ends)]
    if len(steps) == 1 and not column.is_whole:
        steps.append(math.nextafter(steps[0], math.inf))
    shown = [column.value_of(step) for step in steps]
    edges = tuple(shown[:-1]) if len(shown) > 1 else (shown[0],)
    return replace(column, range=(shown[0], shown[-1]), edges=edges)


# Ranges, parts and categories that are found with noise, where nobody can state them.
#
# Numbers are counted in a tree over all floating-point numbers in their order, which is public: six
# levels, of which each cuts the intervals with many records into sixteen. Categories are counted by
# name, and a name is shown where its noisy count exceeds a threshold that hardly any name of a
# single record reaches.

Interval = tuple[int, int, float]
"""The first of its keys, the bits in which its keys differ, and a noisy count of records."""

# Of the noise of the rounds that follow: domains take 15 % of what all of them tell of a record.
_NOISE = math.sqrt(0.85 / 0.15)
_LEVELS, _BITS = 6, 4  # Times that an interval is cut, and bits of a cut
_BRANCHES = 2**_BITS
# Down to where an interval is at most a power of two wide, intervals are cut as far as they can be.
_COARSE_LEVELS = 3
# An interval with less than this many standard deviations of noise has no records to speak of.
_DEVIATIONS = 4.5
_ALL: Interval = (0, 64, math.inf)  # All 64-bit keys
_DAYS_OF_YEAR_ONE = 719_162  # Before 1970
_LARGEST = 2.0**53  # Whole numbers up to it are floats


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSearch:
    """How domains are found, and what that tells of a record.

    Guarantee
    ---------
    A record adds one count to each level of each tree and one to the names of each column of
    categories: a vector whose squares add up to ``6 k + c`` for k trees and c such columns; two
    records are at most sqrt(2) times as far apart. Levels are chosen by the noisy counts of those
    before. A name that only the differing record has is shown with probability
    ``delta_of_names / c`` at most, independently of all other counts, and what is shown besides is
    that of the Gaussian noise.
    """

    schema: Schema  # What is publicly known; open columns are searched
    delta_of_names: float
    """The probability that a name is shown which only one record has; it is needed where categories
    are to be found.
    """
    adjacency: Adjacency  # Of the event
    most_per_person: int = 1
    """How many records a person has at most; a name is as secret with all of them as with one."""

    @property
    def _open(self) -> tuple[Column, ...]:
        return tuple(column for column in self.schema.columns if column.is_open)

    @property
    def _names(self) -> int:
        return sum(not column.is_ordered for column in self._open)

    @property
    def delta_shown(self) -> float:
        """The probability that any name is shown which only one record has."""
        return self.delta_of_names if self._names else 0.0

    def events(self, noise_std: float) -> tuple[Event, ...]:
        """What is released, beside rounds with this noise; nothing where no column is open."""
        if not self._open:
            return ()
        std = noise_std * _NOISE
        counted = Gaussian(noise_std=std, record_norm=1.0, record_diameter=math.sqrt(2.0))
        if not self.delta_shown:
            return (counted,)
        shown = EpsilonDelta(epsilon=0.0, delta=self.delta_shown, adjacency=self.adjacency)
        return (counted, shown)

    def found(self, table: pa.Table, noise: NoiseSource, noise_std: float) -> Schema:
        """The schema with all domains; every table of these columns has one."""
        if not self._open:
            return self.schema
        square = _LEVELS * (len(self._open) - self._names) + self._names
        std = noise_std * _NOISE * math.sqrt(square) * (1.0 + 1e-12)
        columns = list(self.schema.columns)
        for place, column in enumerate(columns):
            if column.is_open:
                search = _cut if column.is_ordered else self._named
                columns[place] = search(column, table[column.name], std, noise)
        return replace(self.schema, columns=tuple(columns))

    def _named(
        self, column: Column, given: pa.ChunkedArray, std: float, noise: NoiseSource
    ) -> Column:
        counts: dict[Any, int] = {}
        values = read_values(given, column)
        for one in pc.value_counts(pa.array(values, pa.string())):
            if one["values"].is_valid:
                counts[one["values"].as_py()] = one["counts"].as_py()
        beyond = std * float(norm.isf(self.delta_of_names / self._names)) * (1.0 + 1e-9)
        threshold = self.most_per_person + beyond
        noisy = np.array(list(counts.values()), np.float64)
        noise.add_normal(noisy, std=std)
        # In the order of their names, because the order in which they occur is private.
        shown = sorted(name for name, count in zip(counts, noisy, strict=True) if count > threshold)
        other = next(name for name in ("other", "(other)", "((other))") if name not in shown)
        return replace(column, values=tuple(shown) or (other,), other=other if shown else None)


def _cut(column: Column, given: pa.ChunkedArray, std: float, noise: NoiseSource) -> Column:
    values = read_values(given, column).astype(np.float64)
    shift = _shift(column)
    low, high = _widest(column)
    keys = np.sort(_keys(np.clip(values[~np.isnan(values)], low, high) + shift))
    leaves = _leaves(keys, std, noise)
    # Where all of it drowns in noise there is nothing to tell.
    ends = _quantiles(leaves) - shift if leaves != [_ALL] else np.array([0.0, 1.0])
    return with_parts(column, np.clip(ends, low, high))


def _shift(column: Column) -> float:
    """Dates and times are counted from the year 1, so that no century is finer than another."""
    if column.kind == "date":
        return float(_DAYS_OF_YEAR_ONE)
    if column.kind == "datetime":
        return float(_DAYS_OF_YEAR_ONE * column.steps_of_day)
    return 0.0


def _widest(column: Column) -> tuple[float, float]:
    """The widest range that the column can have by its type, or as it is stated."""
    if column.range is not None:
        low, high = (float(column.steps_of(end)) for end in column.range)
        return low, high
    if column.kind in ("date", "datetime"):
        unit = column.steps_of_day if column.kind == "datetime" else 1
        return max(-(2.0**61), -_DAYS_OF_YEAR_ONE * unit), min(2.0**61, 2_932_000 * unit)
    ends = limits(column.arrow_type) or (-1e300, 1e300)
    largest = _LARGEST if column.is_whole else 1e300
    return max(float(ends[0]), -largest), min(float(ends[1]), largest)


def _keys(values: Floats) -> NDArray[np.uint64]:
    """Whole numbers in the order of the values, one for each floating-point number."""
    bits = (values + 0.0).view(np.uint64)
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)


def _values_of(keys: NDArray[np.uint64]) -> Floats:
    top = np.uint64(1 << 63)
    return np.where(keys & top, keys ^ top, ~keys).view(np.float64)


def _leaves(
    keys: NDArray[np.uint64], std: float, noise: NoiseSource, whole: Interval = _ALL, level: int = 0
) -> list[Interval]:
    """Intervals that have records, in order; ``keys`` are those of the records, in order."""
    least = _DEVIATIONS * std
    start, bits, count = whole
    if level == _LEVELS or (level >= _COARSE_LEVELS and count < least * _BRANCHES / 2):
        return [whole]
    starts = [start + (k << (bits - _BITS)) for k in range(_BRANCHES)]
    at = np.searchsorted(keys, np.array([*starts, start + (1 << bits) - 1], np.uint64))
    at[-1] = np.searchsorted(keys, np.uint64(start + (1 << bits) - 1), side="right")
    counts = np.diff(at).astype(np.float64)
    noise.add_normal(counts, std=std)
    heavy = [
        (first, bits - _BITS, float(number))
        for first, number in zip(starts, counts, strict=True)
        if number > least
    ]
    # An interval whose parts all drown in noise stays whole.
    parts = [leaf for part in heavy for leaf in _leaves(keys, std, noise, part, level + 1)]
    return parts or [whole]


def _quantiles(leaves: list[Interval]) -> Floats:
    """Values between which there are equal shares of the records, the two ends included."""
    low = _values_of(np.array([start for start, _, _ in leaves], np.uint64))
    high = _values_of(np.array([start + (1 << bits) - 1 for start, bits, _ in leaves], np.uint64))
    low, high = _finite(low), _finite(high)
    masses = np.array([count for _, _, count in leaves])
    upto = np.concatenate([[0.0], np.cumsum(masses)]) / masses.sum()
    wanted = np.linspace(0.0, 1.0, BINS + 1)[1:-1]
    at = np.clip(np.searchsorted(upto, wanted, side="right") - 1, 0, len(masses) - 1)
    place = (wanted - upto[at]) / (upto[at + 1] - upto[at])
    # Not their difference, which may overflow.
    inner = low[at] * (1.0 - place) + high[at] * place
    return np.unique(np.concatenate([[low[0]], inner, [high[-1]]]))


def _finite(values: Floats) -> Floats:
    return np.clip(np.nan_to_num(values, nan=1e300), -1e300, 1e300)
