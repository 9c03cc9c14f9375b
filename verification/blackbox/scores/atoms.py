"""Scores of values that repeat: categories, answers of a selection, zeros, whole rows.

The best score of an output with few possible values is the logarithm of the ratio of their
probabilities, which is estimated from how often each value was seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs, thinned
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
