"""Outputs that scores are learnt from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.estimators.base import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingOutputs:
    """Outputs of past runs on both data sets, and what is known about their columns.

    Parameters
    ----------
    p, q : ndarray, shape (n, d) and (m, d)
        Encoded outputs on D and on D'.
    is_number : ndarray of bool, shape (d,)
        Whether a column holds a number; False for codes of categories, of which only equality
        means anything.
    shapes : tuple of tuple of int
        The shapes of the arrays of a release, in the order in which they are flattened.
    pair : Neighbours or None
        The data sets; None if they are not known.

    Raises
    ------
    ValueError
        If the shapes do not match.
    """

    p: Array
    q: Array
    is_number: NDArray[np.bool_]
    shapes: tuple[tuple[int, ...], ...]
    pair: Neighbours | None = None

    def __post_init__(self) -> None:
        width = self.p.shape[1:]
        if self.p.ndim != 2 or self.q.shape[1:] != width or self.is_number.shape != width:
            raise ValueError(
                "Expected outputs on D and D' of shapes (n, d) and (m, d) and one entry of "
                f"is_number for each column, got {self.p.shape}, {self.q.shape} and "
                f"{self.is_number.shape}."
            )


__all__ = ["TrainingOutputs"]
