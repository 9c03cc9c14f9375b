"""A schema with a column of every kind, and tables of it."""

from __future__ import annotations

import numpy as np

from rdpkit.mechanisms.data.tables.encoding import decode
from rdpkit.mechanisms.data.tables.schema import Column, Schema

EVERY_KIND = Schema(
    columns=(
        Column(name="height", kind="number", range=(0, 10.0), missing=True, type="float"),
        Column(name="age", kind="integer", range=(17, 90), bins=10, type="int16"),
        Column(
            name="job",
            kind="category",
            values=("clerk", 'nurse, "night"', "=SUM(A1)\n", ""),
            other="another",
            type="dictionary<values=string, indices=int32, ordered=0>",
        ),
        Column(name="married", kind="boolean", missing=True),
        Column(name="born", kind="date", range=("1920-01-01", "2020-12-31")),
        Column(
            name="seen",
            kind="datetime",
            type="timestamp[us, tz=UTC]",
            range=("2000-01-01T00:00:00+00:00", "2020-12-31T00:00:00+00:00"),
            missing=True,
        ),
        Column(name="rooms", kind="category", values=(1, 2, 3), type="int32", missing=True),
    )
)


def codes_of(schema: Schema, rows: int, seed: int) -> np.ndarray:
    """Codes from all of the domain."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, d, rows) for d in schema.domain], axis=1).astype(np.int32)


def table_of(schema: Schema, rows: int, seed: int):
    """A table with values from all of the domain."""
    return decode(codes_of(schema, rows, seed), schema, draws=np.random.default_rng(seed))
