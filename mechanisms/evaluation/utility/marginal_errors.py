"""How far the distributions of single columns and of pairs of columns are from the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.evaluation.utility.cells import cells_of, total_variation
from rdpkit.mechanisms.evaluation.utility.samples import Sample

MOST_COLUMNS = 40
"""Pairs are made of at most so many columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalError:
    """How far one distribution is from the real one."""

    columns: tuple[str, ...]  # One column, or two
    error: float  # Total variation distance to the real records, in [0, 1]
    floor: float | None
    """The distance between two random halves of the real records; None if it was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """Distances of all columns and of pairs of columns."""

    # In the order of the columns.
    single: tuple[MarginalError, ...]
    pairs: tuple[MarginalError, ...]
    left_out: int  # How many columns were not compared, because there are too many

    def worst(self, distances: Sequence[MarginalError], count: int) -> list[MarginalError]:
        """The largest errors, the largest first."""
        return sorted(distances, key=lambda one: -one.error)[:count]


def mean(values: Sequence[float | None]) -> float | None:
    """The mean, or None if a value is not known or there is none."""
    known = [value for value in values if value is not None]
    return None if not known or len(known) < len(values) else float(np.mean(known))


def compared_columns(synthetic: Sample) -> Sample:
    """The columns that are compared: all, or those that vary most if there are very many.

    It is chosen by the release alone. Columns of categories are always among them.
    """
    if len(synthetic.columns) <= MOST_COLUMNS:
        return synthetic
    categories = [c for c in synthetic.columns if c.kind == "category"][:MOST_COLUMNS]
    numbers = [c for c in synthetic.columns if c.kind == "number"]
    spreads = [-float(np.nanvar(c.values)) for c in numbers]
    room = min(MOST_COLUMNS // 2, MOST_COLUMNS - len(categories))
    chosen = {numbers[i].name for i in np.argsort(spreads, kind="stable")[:room]}
    chosen |= {c.name for c in categories}
    return Sample(columns=tuple(c for c in synthetic.columns if c.name in chosen))


def marginal_errors(
    # With the same columns.
    synthetic: Sample,
    real: Sample,
    *,
    # Splits the real records into the two halves whose distance is the floor; None for no floor.
    rng: np.random.Generator | None,
) -> Marginals:
    """Compare all columns and pairs of columns of two samples."""
    chosen = compared_columns(synthetic)
    cells = [cells_of(column) for column in chosen.columns]
    made = [c.codes(column) for c, column in zip(cells, chosen.columns, strict=True)]
    true = [c.codes(real.column(c.name)) for c in cells]
    half = None if rng is None else rng.permutation(real.rows) < real.rows // 2
    single = tuple(
        _distance((c.name,), m, t, half, c.size) for c, m, t in zip(cells, made, true, strict=True)
    )
    pairs = tuple(
        _distance(
            (cells[i].name, cells[j].name),
            made[i] * cells[j].size + made[j],
            true[i] * cells[j].size + true[j],
            half,
            cells[i].size * cells[j].size,
        )
        for i, j in combinations(range(len(cells)), 2)
    )
    left_out = len(synthetic.columns) - len(chosen.columns)
    return Marginals(single=single, pairs=pairs, left_out=left_out)


def _distance(
    names: tuple[str, ...],
    made: NDArray[np.int64],
    true: NDArray[np.int64],
    half: NDArray[np.bool_] | None,
    size: int,
) -> MarginalError:
    floor = None
    if half is not None and 0 < half.sum() < half.size:
        floor = total_variation(shares(true[half], size), shares(true[~half], size))
    error = total_variation(shares(made, size), shares(true, size))
    return MarginalError(columns=names, error=error, floor=floor)


def shares(codes: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """The share of records in each of ``size`` cells."""
    return np.bincount(codes, minlength=size) / max(1, codes.size)
