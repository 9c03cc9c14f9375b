"""Scores that count and order: sizes, zeros, values above a level, the smallest and the largest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.separation import clearness
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs
from rdpkit.verification.estimators.base import Array

# Order statistics and numbers of different values are taken of at most this many columns.
_MOST_SORTED = 1024
# Summaries are compared on at most this many values of each side.
_MOST_VALUES = 2**20
# The levels above which values are counted are these quantiles of all outputs.
_LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_ORDERS = (0.05, 0.25, 0.5, 0.75, 0.95)
_SHARE = 0.5
_LARGEST = 1e300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutputSummary:
    """A number that summarises an output."""

    kind: str  # What it is, one of the keys of ``KINDS``
    columns: NDArray[np.intp]  # The columns that it is computed from; shape (k,)
    level: float = 0.0  # A threshold, or a place in the order; unused by most kinds
    rows: int = 0  # Rows that the columns form, for kinds that look at rows

    def __call__(self, outputs: Array, /) -> Array:
        """The summary of each output."""
        values = outputs
        if len(self.columns) != outputs.shape[1]:
            values = outputs[:, self.columns]
        return np.asarray(_computed(self, values), dtype=np.float64)


def _computed(summary: OutputSummary, values: Array) -> Array:
    match summary.kind:
        case "zeros":
            return np.asarray((values == 0.0).sum(axis=1))
        case "negative values":
            return np.asarray((values < 0.0).sum(axis=1))
        case "values above a level":
            return np.asarray((values > summary.level).sum(axis=1))
        case "rows that are not zero":
            return np.asarray((values.reshape(len(values), summary.rows, -1) != 0.0).any(2).sum(1))
        case "different values":
            ordered = np.sort(values, axis=1)
            return np.asarray((ordered[:, 1:] != ordered[:, :-1]).sum(axis=1))
        case "smallest value":
            return np.asarray(values.min(axis=1))
        case "largest value":
            return np.asarray(values.max(axis=1))
        case "range":
            return np.asarray(values.max(axis=1) / 2.0 - values.min(axis=1) / 2.0)
        case "largest size":
            return np.asarray(np.maximum(values.max(axis=1), -values.min(axis=1)))
        case "sum":
            return np.asarray(np.clip(values, -_LARGEST, _LARGEST) @ np.ones(values.shape[1]))
        case "order statistic":
            place = round(summary.level * (values.shape[1] - 1))
            return np.asarray(np.partition(values, place, axis=1)[:, place])
        case _:
            raise ValueError(f"Expected a known kind of summary, got {summary.kind!r}.")


# Only these say how much is released; the others say how large it is.
_SIZES = ("zeros", "rows that are not zero", "different values")
_EVERY = ("zeros", "negative values", "smallest value", "largest value", "range", "largest size")


def count_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Summaries of outputs, the clearest first, as one half of the outputs shows them."""
    columns = training.numbers
    if len(columns) < 2:
        return []
    some = training.within(_MOST_VALUES).half(0)
    found = []
    for name, summary in _summaries(some, columns):
        clear = clearness(summary(some.p), summary(some.q))
        found.append((clear, name, summary))
    return [
        NamedScore(
            name=name,
            score=summary,
            family="counts",
            share=_SHARE,
            explanation=_explained(name, summary, some) if summary.kind in _SIZES else None,
        )
        for clear, name, summary in sorted(found, key=lambda entry: -entry[0])
        if clear > -np.inf
    ]


def _summaries(
    training: TrainingOutputs, columns: NDArray[np.intp]
) -> list[tuple[str, OutputSummary]]:
    found = [(kind, OutputSummary(kind=kind, columns=columns)) for kind in _EVERY]
    found.append(("sum", OutputSummary(kind="sum", columns=columns)))
    values = np.concatenate([training.p[:, columns].ravel(), training.q[:, columns].ravel()])
    levels = np.quantile(values, _LEVELS, method="inverted_cdf")
    for share, level in zip(_LEVELS, levels, strict=True):
        summary = OutputSummary(kind="values above a level", columns=columns, level=float(level))
        found.append((f"values above their {share:g} quantile", summary))
    if len(columns) <= _MOST_SORTED:
        found.append(("different values", OutputSummary(kind="different values", columns=columns)))
        for order in _ORDERS:
            summary = OutputSummary(kind="order statistic", columns=columns, level=order)
            found.append((f"quantile {order:g} of the values", summary))
    start = 0
    for part, shape in enumerate(training.shapes):
        size = int(np.prod(shape))
        places = np.arange(start, start + size)
        start += size
        if len(shape) < 2 or not training.is_number[places].all() or not size:
            continue
        summary = OutputSummary(kind="rows that are not zero", columns=places, rows=shape[0])
        found.append((f"rows of part {part} that are not zero", summary))
    return found


def _explained(name: str, summary: OutputSummary, training: TrainingOutputs) -> Mistake:
    p, q = (float(np.mean(summary(side) / 4.0)) * 4.0 for side in (training.p, training.q))
    return mistake_of(MistakeKind.SIZE_OF_RELEASE, name=name, p=p, q=q)
