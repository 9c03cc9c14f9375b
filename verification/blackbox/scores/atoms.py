"""Scores of values that repeat, and of the last bits of those that do not.

The best score of an output with few possible values (categories, answers of a selection, zeros,
whole rows) is the logarithm of the ratio of their probabilities, which is estimated from how often
each value was seen.

The last bits of a number say nothing about its size. They tell the data sets apart if the noise was
drawn with fewer bits than the sum, or if something was written into them. Every mechanism that adds
noise to floating-point numbers shows a little of this: where the sum is smaller than the noise, it
has fewer random digits, and sums that lie between two numbers are rounded to the even one. That is
true of correct code for every claim about real numbers, so a bit pattern is tested only if its
probabilities differ by far more than such rounding explains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.named_score import NamedScore, TrainingOutputs, thinned
from rdpkit.verification.estimators.base import Array

Hashes = NDArray[np.uint64]

# Columns are compared on at most this many values of each side.
_MOST_VALUES = 2**21
# A naive Bayes score uses at most this many columns, and each has at most so many atoms.
_MOST_COLUMNS, _MOST_ATOMS = 64, 4096
# Of wider releases, this many columns are looked at, evenly spread.
_MOST_SCREENED = 4096
# A column is a part of whole rows if at least this share of its values repeats.
_DISCRETE = 0.5
# A column counts if its atoms differ by this many standard errors.
_CLEAR = 3.0
# Added to each count.
_SMOOTHING = 0.5
_SHARE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AtomTable:
    """Values of one column that repeat, and the logarithm of their probabilities' ratio."""

    column: int
    values: Array  # The values, in ascending order; shape (k,)
    log_ratios: Array  # Of each value; shape (k,)

    def __call__(self, outputs: Array, /) -> Array:
        """The logarithm of the ratio for each output, 0 for values that are not known."""
        return _looked_up(outputs[:, self.column], self.values, self.log_ratios)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AtomSum:
    """The sum of the tables of several columns."""

    tables: tuple[AtomTable, ...]

    def __call__(self, outputs: Array, /) -> Array:
        """The sum for each output."""
        found = np.zeros(len(outputs))
        for table in self.tables:
            found += table(outputs)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowAtoms:
    """Whole rows that repeat, and the logarithm of their probabilities' ratio."""

    columns: NDArray[np.intp]  # The columns that are compared; shape (c,)
    hashes: Hashes  # Hashes of the rows, in ascending order; shape (k,)
    log_ratios: Array  # Of each row; shape (k,)

    def __call__(self, outputs: Array, /) -> Array:
        """The logarithm of the ratio for each output, 0 for rows that are not known."""
        return _looked_up(hashes_of(outputs[:, self.columns]), self.hashes, self.log_ratios)


def _looked_up(values: Array | Hashes, known: Array | Hashes, log_ratios: Array) -> Array:
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[places] == values, log_ratios[places], 0.0)


def hashes_of(rows: Array) -> Hashes:
    """A number for each row that is the same for equal rows, and different for most others."""
    rng = np.random.default_rng(rows.shape[1])
    odd = rng.integers(2**63, size=(rows.shape[1],), dtype=np.uint64)
    found = np.zeros(len(rows), dtype=np.uint64)
    # 0.0 and -0.0 are equal.
    bits: Hashes = np.ascontiguousarray(rows + 0.0).view(np.uint64)
    for column in range(rows.shape[1]):
        word, factor = bits[:, column], odd[column : column + 1]
        # The last bits of most numbers are 0, so the first bits are mixed in.
        mixed = (word ^ (word >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ factor) * (np.uint64(2) * factor + np.uint64(1))
        found = (found ^ mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Counted:
    """The values of a column that repeat, and how often each was seen on both sides."""

    values: Array | Hashes
    p: NDArray[np.intp]
    q: NDArray[np.intp]
    n: int
    m: int

    @property
    def repeated(self) -> float:
        """The share of outputs whose value repeats."""
        return float(self.p.sum() + self.q.sum()) / (self.n + self.m)

    @property
    def log_ratios(self) -> Array:
        smoothed = np.log(self.p + _SMOOTHING) - np.log(self.q + _SMOOTHING)
        return np.asarray(smoothed + math.log((self.m + 1.0) / (self.n + 1.0)))

    @property
    def clearness(self) -> float:
        """How much the counts differ, in standard errors; values that never repeat are one more."""
        p = np.append(self.p, self.n - self.p.sum())
        q = np.append(self.q, self.m - self.q.sum())
        both = p + q
        expected = both / (self.n + self.m)
        seen = both > 0
        # The likelihood ratio of two sets of probabilities against a single one.
        ratio = (
            xlogy(p[seen], p[seen] / (self.n * expected[seen]))
            + xlogy(q[seen], q[seen] / (self.m * expected[seen]))
        ).sum()
        freedom = max(1.0, float(seen.sum()) - 1.0)
        excess = 2.0 * float(ratio) - freedom
        return excess / math.sqrt(2.0 * freedom)


def _counted(p: Array | Hashes, q: Array | Hashes) -> _Counted | None:
    """None if hardly any value repeats, or if all are equal."""
    both = np.concatenate([p, q])
    ordered = np.sort(both)
    again = ordered[1:] == ordered[:-1]
    if not again.any() or again.all():
        return None
    values = np.unique(ordered[1:][again])
    counts = []
    for side in (p, q):
        places = np.minimum(np.searchsorted(values, side), len(values) - 1)
        hit = values[places] == side
        counts.append(np.bincount(places[hit], minlength=len(values)))
    if len(values) > _MOST_ATOMS:
        kept = np.sort(np.argsort(-(counts[0] + counts[1]), kind="stable")[:_MOST_ATOMS])
        values, counts = values[kept], [side[kept] for side in counts]
    return _Counted(values=values, p=counts[0], q=counts[1], n=len(p), m=len(q))


def atom_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Scores of single columns, of several, and of whole rows, where values repeat."""
    some = training.within(_MOST_VALUES)
    width = training.p.shape[1]
    screened = {
        column: found
        for column in np.unique(np.linspace(0, width - 1, min(width, _MOST_SCREENED)).astype(int))
        if (found := _counted(some.p[:, column], some.q[:, column])) is not None
    }
    order = sorted(screened, key=lambda column: (-screened[column].clearness, column))
    counted = {
        column: found
        for column in order[:_MOST_COLUMNS]
        if (found := _counted(training.p[:, column], training.q[:, column])) is not None
    }
    if not counted:
        return []
    order = sorted(counted, key=lambda column: (-counted[column].clearness, column))
    tables = {
        column: AtomTable(
            column=column,
            values=np.asarray(counted[column].values, dtype=np.float64),
            log_ratios=counted[column].log_ratios,
        )
        for column in order
    }
    first = _explained(counted[order[0]], f"Output {training.name(order[0])}")
    scores = [
        NamedScore(
            name="repeated values of a column",
            score=tables[order[0]],
            family="atoms",
            share=_SHARE,
            explanation=first,
        )
    ]
    clear = [column for column in order if counted[column].clearness > _CLEAR]
    if len(clear) > 1:
        scores.append(
            NamedScore(
                name="repeated values of columns",
                score=AtomSum(tables=tuple(tables[column] for column in clear)),
                family="atoms",
                share=_SHARE,
                explanation=first,
            )
        )
    discrete = np.array(
        sorted(column for column in screened if screened[column].repeated > _DISCRETE)
    )
    if len(discrete) > 1:
        scores += _of_rows(training, discrete.astype(np.intp))
    rare = [c for c in order if counted[c].repeated < _DISCRETE and training.is_number[c]]
    return scores + (_of_few_levels(training, rare) if rare else [])


def _of_few_levels(training: TrainingOutputs, columns: list[int]) -> list[NamedScore]:
    """The score of all values that were seen, for noise that has few of them.

    Where numbers with noise repeat at all, values that were seen once may come again as well.
    """
    tables = []
    for column in columns:
        p, q = training.p[:, column], training.q[:, column]
        values = np.unique(np.concatenate([p, q]))
        signs = np.isin(values, p).astype(np.float64) - np.isin(values, q)
        tables.append(AtomTable(column=column, values=values, log_ratios=signs))
    return [
        NamedScore(
            name="values that were seen before",
            score=AtomSum(tables=tuple(tables)),
            family="atoms",
            explanation=mistake_of(MistakeKind.COARSE_NOISE, "levels"),
        )
    ]


def kind_scores(
    # The outputs to learn from; the last column says what kind an output is.
    training: TrainingOutputs,
    kinds: str,  # How the kinds of the first releases differ between the data sets, in words
) -> list[NamedScore]:
    """The score of what kind of release there is, if there are several."""
    column = training.p.shape[1] - 1
    counted = _counted(training.p[:, column], training.q[:, column])
    if counted is None:
        return []
    values = np.asarray(counted.values, dtype=np.float64)
    table = AtomTable(column=column, values=values, log_ratios=counted.log_ratios)
    return [
        NamedScore(
            name="the kind of a release",
            score=table,
            family="atoms",
            share=_SHARE,
            explanation=mistake_of(MistakeKind.KIND_OF_RELEASE, kinds=kinds),
        )
    ]


def _of_rows(training: TrainingOutputs, columns: NDArray[np.intp]) -> list[NamedScore]:
    most = max(1, _MOST_VALUES // len(columns))
    hashes = [hashes_of(thinned(side, most)[:, columns]) for side in (training.p, training.q)]
    counted = _counted(hashes[0], hashes[1])
    if counted is None:
        return []
    score = RowAtoms(
        columns=columns,
        hashes=np.asarray(counted.values, dtype=np.uint64),
        log_ratios=counted.log_ratios,
    )
    return [
        NamedScore(
            name="repeated rows",
            score=score,
            family="atoms",
            share=_SHARE,
            explanation=_explained(counted, "The tuple of the outputs that repeat"),
        )
    ]


def _explained(counted: _Counted, subject: str) -> Mistake:
    weight = np.abs(counted.log_ratios) * np.sqrt(counted.p + counted.q)
    clearest = int(np.argmax(weight))
    value = counted.values[clearest]
    return mistake_of(
        MistakeKind.CATEGORIES_TOO_LIKELY,
        "value",
        subject=subject,
        value=f"{value:.6g}" if isinstance(value, np.float64) else "the same",
        hits=counted.p[clearest],
        runs=counted.n,
        other_hits=counted.q[clearest],
        other_runs=counted.m,
    )


Counts = NDArray[np.intp]

# Tables are learnt from at most this many values of each side, and from this many columns.
_MOST_BITS, _MOST_BIT_COLUMNS = 2**19, 256
# The bits of a double that a single has not.
_BEYOND_SINGLE = 29
_ZEROS = 54
# A pattern is used if the probability of a set of its values differs by at least this much. The
# rounding of sums of doubles makes differences below 0.25.
_LEAST_DIFFERENCE = 0.35
_FEWEST = 50
# The last bits of a column count if at least this share of so many values of each side is new.
_MOST_NEW, _MOST_COMPARED = 0.9, 500
_BITS_SHARE = 0.5


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
    ).within(_MOST_BITS)
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
    columns = training.numbers[:_MOST_BIT_COLUMNS]
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
        share=_BITS_SHARE,
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
