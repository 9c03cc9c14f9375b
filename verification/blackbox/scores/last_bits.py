"""Scores of the last bits of the outputs, which rounding leaves to chance, or not.

The last bits of a number say nothing about its size. They tell the data sets apart if the noise was
drawn with fewer bits than the sum, or if something was written into them.

Every mechanism that adds noise to floating-point numbers shows a little of this: where the sum is
smaller than the noise, it has fewer random digits, and sums that lie between two numbers are
rounded to the even one. That is true of correct code for every claim about real numbers, so a bit
pattern is tested only if its probabilities differ by far more than such rounding explains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs
from rdpkit.verification.estimators.base import Array

Counts = NDArray[np.intp]

# Tables are learnt from at most this many values of each side, and from this many columns.
_MOST_VALUES, _MOST_COLUMNS = 2**19, 256
# The bits of a double that a single has not.
_BEYOND_SINGLE = 29
_ZEROS = 54
_SMOOTHING = 0.5
# A pattern is used if the probability of a set of its values differs by at least this much. The
# rounding of sums of doubles makes differences below 0.25.
_LEAST_DIFFERENCE = 0.35
_FEWEST = 50
# The last bits of a column count if at least this share of so many values of each side is new.
_MOST_NEW, _MOST_COMPARED = 0.9, 500
_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class BitPattern:
    """A feature of the last bits of a number."""

    name: str  # What it is
    bits: int  # How many of the last bits; 0 for the number of zeros at the end
    shift: int  # How many bits are left out at the end

    @property
    def size(self) -> int:
        """How many values it has."""
        return 2**self.bits if self.bits else _ZEROS

    def of(self, outputs: Array) -> Counts:
        """The feature of each number."""
        words = np.ascontiguousarray(outputs).view(np.uint64) >> np.uint64(self.shift)
        if self.bits:
            return np.asarray(words & np.uint64(2**self.bits - 1)).astype(np.intp)
        lowest = words & (~words + np.uint64(1))
        # The exponent of a power of two is its place; 0 has no last bit.
        place = np.frexp(lowest.astype(np.float64))[1] - 1
        return np.where(lowest == 0, _ZEROS - 1, np.minimum(place, _ZEROS - 1)).astype(np.intp)


_PATTERNS = (
    BitPattern(name="the last bit", bits=1, shift=0),
    BitPattern(name="the last 4 bits", bits=4, shift=0),
    BitPattern(name="the last 8 bits", bits=8, shift=0),
    BitPattern(name="zeros at the end", bits=0, shift=0),
    BitPattern(name="the last bit of a single", bits=1, shift=_BEYOND_SINGLE),
    BitPattern(name="the last 4 bits of a single", bits=4, shift=_BEYOND_SINGLE),
    BitPattern(name="the last 8 bits of a single", bits=8, shift=_BEYOND_SINGLE),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BitTables:
    """The sum over columns of the logarithms of a bit pattern's ratio of probabilities."""

    pattern: BitPattern
    columns: NDArray[np.intp]  # The columns; shape (k,)
    log_ratios: Array  # Of each column and pattern; shape (k, pattern.size)

    def __call__(self, outputs: Array, /) -> Array:
        """The sum for each output."""
        patterns = self.pattern.of(outputs[:, self.columns])
        found = np.zeros(len(outputs))
        for column, table in zip(patterns.T, self.log_ratios, strict=True):
            found += table[column]
        return found


def last_bits_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Scores of the bit patterns whose probabilities differ, those that differ most first."""
    columns = _of_many_digits(training)
    if not len(columns) or training.runs < _FEWEST:
        return []
    some = TrainingOutputs(
        p=training.p[:, columns], q=training.q[:, columns], shapes=((len(columns),),)
    ).within(_MOST_VALUES)
    halves = [some.half(which) for which in (0, 1)]
    found: list[tuple[float, NamedScore]] = []
    for pattern in _PATTERNS:
        counts = [[_counts(side, pattern) for side in (half.p, half.q)] for half in halves]
        differences = _differences(counts[0], counts[1])
        used = np.flatnonzero(differences >= _LEAST_DIFFERENCE)
        if not len(used):
            continue
        p, q = (counts[0][side][used] + counts[1][side][used] for side in (0, 1))
        tables = BitTables(pattern=pattern, columns=columns[used], log_ratios=_log_ratios(p, q))
        found.append((float(differences.max()), _named(pattern.name, tables, training)))
    return [one for _, one in sorted(found, key=lambda entry: -entry[0])]


def _of_many_digits(training: TrainingOutputs) -> NDArray[np.intp]:
    """Columns whose values hardly ever repeat; the last bits of the others are a part of them."""
    columns = training.numbers[:_MOST_COLUMNS]
    some = training.thinned(_MOST_COMPARED)
    ordered = np.sort(np.concatenate([some.p[:, columns], some.q[:, columns]]), axis=0)
    new = (ordered[1:] != ordered[:-1]).mean(axis=0)
    return np.asarray(columns[new > _MOST_NEW])


def _named(name: str, score: BitTables, training: TrainingOutputs) -> NamedScore:
    columns = training.names(score.columns.tolist())
    return NamedScore(
        name=name,
        score=score,
        family="last-bits",
        share=_SHARE,
        explanation=mistake_of(MistakeKind.LOW_BITS, name=name, columns=columns),
    )


def _counts(outputs: Array, pattern: BitPattern) -> Counts:
    width = outputs.shape[1]
    places = pattern.of(outputs) + pattern.size * np.arange(width)
    return np.bincount(places.ravel(), minlength=width * pattern.size).reshape(width, -1)


def _differences(learnt: list[Counts], tested: list[Counts]) -> Array:
    """For each column, at least how much the probability of a set of patterns differs.

    The set holds the patterns that are more frequent on D in the learnt half. What is returned is
    the difference in the other half, less two standard errors.
    """
    more = _log_ratios(learnt[0], learnt[1]) > 0.0
    sizes = [int(side[0].sum()) for side in tested]
    p, q = (
        np.where(more, side, 0).sum(axis=1) / size for side, size in zip(tested, sizes, strict=True)
    )
    # No more than for a probability of one half.
    error = 0.5 * np.sqrt(1.0 / sizes[0] + 1.0 / sizes[1])
    return np.asarray(p - q - 2.0 * error)


def _log_ratios(p: Counts, q: Counts) -> Array:
    n, m = p.sum(axis=1, keepdims=True), q.sum(axis=1, keepdims=True)
    smoothed = np.log(p + _SMOOTHING) - np.log(q + _SMOOTHING) + np.log((m + 1.0) / (n + 1.0))
    return np.where(p + q > 0, smoothed, 0.0)
