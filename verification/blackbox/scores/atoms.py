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
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.named_score import NamedScore, TrainingOutputs, thinned
from rdpkit.verification.estimators.base import Array, OutputScore

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


# The values that repeat, or hashes of rows, in ascending order, shape (k,), and for each the
# logarithm of the ratio of its probabilities.
Atoms = tuple[Array | Hashes, Array]


def _of_columns(tables: tuple[tuple[int, Atoms], ...], outputs: Array, /) -> Array:
    """The sum over columns of the logarithms of ratios, 0 for values that are not known."""
    found = np.zeros(len(outputs))
    for column, atoms in tables:
        found += _looked_up(outputs[:, column], *atoms)
    return found


def _of_hashes(columns: NDArray[np.intp], atoms: Atoms, outputs: Array, /) -> Array:
    """The logarithm for whole rows of these columns."""
    return _looked_up(hashes_of(outputs[:, columns]), *atoms)


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
    spread = np.unique(np.linspace(0, width - 1, min(width, _MOST_SCREENED)).astype(int))
    screened = _in_columns(some, spread)
    counted = _in_columns(training, list(screened)[:_MOST_COLUMNS])
    if not counted:
        return []
    order = list(counted)
    tables = {column: (column, _table(counted[column])) for column in order}
    first = order[0]
    why = _explained(counted[first], f"Output {training.name(first)}")
    alone = partial(_of_columns, (tables[first],))
    scores = [_named("repeated values of a column", alone, explanation=why)]
    clear = [column for column in order if counted[column].clearness > _CLEAR]
    if len(clear) > 1:
        several = partial(_of_columns, tuple(tables[column] for column in clear))
        scores.append(_named("repeated values of columns", several, explanation=why))
    discrete = np.array(
        sorted(column for column in screened if screened[column].repeated > _DISCRETE),
        dtype=np.intp,
    )
    if len(discrete) > 1:
        most = max(1, _MOST_VALUES // len(discrete))
        hashes = [hashes_of(thinned(side, most)[:, discrete]) for side in (training.p, training.q)]
        rows = _counted(hashes[0], hashes[1])
        if rows is not None:
            score = partial(_of_hashes, discrete, (rows.values, rows.log_ratios))
            why = _explained(rows, "The tuple of the outputs that repeat")
            scores.append(_named("repeated rows", score, explanation=why))
    rare = [c for c in order if counted[c].repeated < _DISCRETE and training.is_number[c]]
    return scores + (_of_few_levels(training, rare) if rare else [])


def _in_columns(training: TrainingOutputs, columns: Iterable[int]) -> dict[int, _Counted]:
    """The values of columns that repeat, the clearest column first."""
    counted = {
        column: found
        for column in columns
        if (found := _counted(training.p[:, column], training.q[:, column])) is not None
    }
    return dict(sorted(counted.items(), key=lambda item: (-item[1].clearness, item[0])))


def _table(counted: _Counted) -> Atoms:
    return np.asarray(counted.values, dtype=np.float64), counted.log_ratios


def _named(name: str, score: OutputScore, *, explanation: Mistake) -> NamedScore:
    return NamedScore(name, score, family="atoms", share=_SHARE, explanation=explanation)


def _of_few_levels(training: TrainingOutputs, columns: list[int]) -> list[NamedScore]:
    """The score of all values that were seen, for noise that has few of them.

    Where numbers with noise repeat at all, values that were seen once may come again as well.
    """
    tables = []
    for column in columns:
        p, q = training.p[:, column], training.q[:, column]
        values = np.unique(np.concatenate([p, q]))
        tables.append(
            (column, (values, np.isin(values, p).astype(np.float64) - np.isin(values, q)))
        )
    score, why = partial(_of_columns, tuple(tables)), mistake_of(MistakeKind.COARSE_NOISE, "levels")
    return [NamedScore("values that were seen before", score, family="atoms", explanation=why)]


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
    why = mistake_of(MistakeKind.KIND_OF_RELEASE, kinds=kinds)
    score = partial(_of_columns, ((column, _table(counted)),))
    return [_named("the kind of a release", score, explanation=why)]


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


class BitPattern(NamedTuple):
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
    BitPattern("the last bit", 1, 0),
    BitPattern("the last 4 bits", 4, 0),
    BitPattern("the last 8 bits", 8, 0),
    BitPattern("zeros at the end", 0, 0),
    BitPattern("the last bit of a single", 1, _BEYOND_SINGLE),
    BitPattern("the last 4 bits of a single", 4, _BEYOND_SINGLE),
    BitPattern("the last 8 bits of a single", 8, _BEYOND_SINGLE),
)


def _of_bits(
    pattern: BitPattern,
    columns: NDArray[np.intp],  # The columns; shape (k,)
    log_ratios: Array,  # Of each column and pattern; shape (k, pattern.size)
    outputs: Array,
    /,
) -> Array:
    """The sum over columns of the logarithms of a bit pattern's ratio of probabilities."""
    patterns = pattern.of(outputs[:, columns])
    found = np.zeros(len(outputs))
    for column, table in zip(patterns.T, log_ratios, strict=True):
        found += table[column]
    return found


def last_bits_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Scores of the bit patterns whose probabilities differ, those that differ most first."""
    columns = training.numbers[:_MOST_BIT_COLUMNS]
    few = training.thinned(_MOST_COMPARED)
    ordered = np.sort(np.concatenate([few.p[:, columns], few.q[:, columns]]), axis=0)
    # Values hardly ever repeat; the last bits of those that do are a part of them.
    columns = columns[(ordered[1:] != ordered[:-1]).mean(axis=0) > _MOST_NEW]
    if not len(columns) or training.runs < _FEWEST:
        return []
    some = TrainingOutputs(
        p=training.p[:, columns], q=training.q[:, columns], shapes=((len(columns),),)
    ).within(_MOST_BITS)
    halves = [some.half(which) for which in (0, 1)]
    found: list[tuple[float, NamedScore]] = []
    for pattern in _PATTERNS:
        counts = [[_counts(side, pattern) for side in (half.p, half.q)] for half in halves]
        # The set of patterns that are more frequent on D in one half of the outputs: at least how
        # much its probability differs in the other half, that is less two standard errors.
        more = _log_ratios(*counts[0]) > 0.0
        sizes = [int(side[0].sum()) for side in counts[1]]
        p, q = (
            np.where(more, side, 0).sum(axis=1) / size
            for side, size in zip(counts[1], sizes, strict=True)
        )
        # No more than for a probability of one half.
        error = 0.5 * np.sqrt(1.0 / sizes[0] + 1.0 / sizes[1])
        differences = np.asarray(p - q - 2.0 * error)
        used = np.flatnonzero(differences >= _LEAST_DIFFERENCE)
        if not len(used):
            continue
        both = [counts[0][side][used] + counts[1][side][used] for side in (0, 1)]
        names = training.names(columns[used].tolist())
        named = NamedScore(
            pattern.name,
            partial(_of_bits, pattern, columns[used], _log_ratios(*both)),
            family="last-bits",
            share=_BITS_SHARE,
            explanation=mistake_of(MistakeKind.LOW_BITS, name=pattern.name, columns=names),
        )
        found.append((float(differences.max()), named))
    return [one for _, one in sorted(found, key=lambda entry: -entry[0])]


def _counts(outputs: Array, pattern: BitPattern) -> Counts:
    width = outputs.shape[1]
    places = pattern.of(outputs) + pattern.size * np.arange(width)
    return np.bincount(places.ravel(), minlength=width * pattern.size).reshape(width, -1)


def _log_ratios(p: Counts, q: Counts) -> Array:
    n, m = p.sum(axis=1, keepdims=True), q.sum(axis=1, keepdims=True)
    smoothed = np.log(p + _SMOOTHING) - np.log(q + _SMOOTHING) + np.log((m + 1.0) / (n + 1.0))
    return np.where(p + q > 0, smoothed, 0.0)
