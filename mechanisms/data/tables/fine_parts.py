"""Fine public parts of ranges that nobody has cut: what noisy counts then join to coarser ones.

Half of the resolution is even, for values anywhere in the range. The other half is finer towards
the ends of the range and towards zero, where the many small values of a long tail lie.
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.data.tables.schema import BINS, Column, Schema

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
