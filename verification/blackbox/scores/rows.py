"""A score of sums of the rows of a release."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.scores.linear import linear
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs
from rdpkit.verification.estimators.base import Array, OutputScore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowSums:
    """A score of the sums of groups of rows of a release."""

    places: NDArray[np.intp]
    """The places of each row's varying numbers in the flattened output, group by group; shape
    (rows, columns).
    """
    starts: NDArray[np.intp]  # The first row of each group; shape (groups,)
    score: OutputScore  # Turns sums of shape (n, groups * columns) into scores

    def __call__(self, outputs: Array, /) -> Array:
        """The score of each output."""
        return self.score(_sums_of_rows(outputs, self.places, self.starts))


def _sums_of_rows(outputs: Array, places: NDArray[np.intp], starts: NDArray[np.intp]) -> Array:
    sums = np.add.reduceat(outputs[:, places], starts, axis=1)
    return np.asarray(sums.reshape(len(outputs), -1))


def row_sums(
    # Training outputs; shape (n, d) and (m, d)
    p_outputs: Array,
    q_outputs: Array,
    *,
    # The shapes of the arrays of a release, in the order in which they are flattened. There are
    # rows if all of them begin with the same number.
    shapes: tuple[tuple[int, ...], ...],
) -> RowSums | None:
    """A linear score of sums of rows; None if a release has no rows to add up.

    Rows are synthetic records, gradients of several steps or the like. The effect of a changed
    record on each row may be too small to be seen, and yet visible in their sum. Rows with the same
    constants, such as labels, are added up together.
    """
    if len({shape[:1] for shape in shapes}) != 1 or all(len(shape) < 2 for shape in shapes):
        return None
    rows = shapes[0][0]
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    parts = np.split(np.arange(p_outputs.shape[1]), ends)
    places = np.concatenate([part.reshape(rows, -1) for part in parts], axis=1)
    constant = ~_varies(p_outputs, q_outputs)[places].any(axis=0)
    labels = p_outputs[0][places[:, constant]]
    same = (labels == q_outputs[0][places[:, constant]]).all(axis=0)
    _, group = np.unique(labels[:, same], axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    starts = np.flatnonzero(np.diff(group.ravel()[order], prepend=-1))
    if constant.all() or len(starts) == rows:
        return None
    varying = places[np.ix_(order, np.flatnonzero(~constant))]
    sums = (_sums_of_rows(outputs, varying, starts) for outputs in (p_outputs, q_outputs))
    return RowSums(places=varying, starts=starts, score=linear(*sums))


def _varies(p_outputs: Array, q_outputs: Array) -> NDArray[np.bool_]:
    """For each column, whether it varies on either side."""
    return np.asarray(
        (p_outputs != p_outputs[0]).any(axis=0) | (q_outputs != q_outputs[0]).any(axis=0)
    )


def row_scores(training: TrainingOutputs) -> list[NamedScore]:
    """A linear score of sums of rows, if there are rows of numbers to add up."""
    if not training.is_number.all():
        return []
    score = row_sums(training.p, training.q, shapes=training.shapes)
    if score is None:
        return []
    return [NamedScore(name="linear, of rows added up", score=score, family="rows", share=2.0)]
