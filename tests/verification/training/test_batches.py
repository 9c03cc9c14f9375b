"""Batches of all shapes are counted, cut, put together and multiplied."""

import numpy as np
import pytest

from rdpkit.verification.training.batches import joined, rows, scaled, size
from rdpkit.verification.training.checks.records import keys_of_batch

ARRAY = np.arange(6.0).reshape(3, 2)
BATCHES = {
    "array": ARRAY,
    "columns": (ARRAY, np.arange(3)),
    "dictionary": {"x": ARRAY, "y": [0, 1, 2]},
    "lists of numbers": (ARRAY.tolist(), [0, 1, 2]),
    "records": [(row, 1) for row in ARRAY],
    "named records": [{"x": row, "y": 1} for row in ARRAY],
}


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_every_shape_has_records(batch):
    assert size(batch) == 3
    parts = [rows(batch, [place]) for place in range(3)]
    assert [size(part) for part in parts] == [1, 1, 1]
    assert keys_of_batch(joined(parts)) == keys_of_batch(batch)
    assert len(set(keys_of_batch(batch))) == 3
    assert keys_of_batch(scaled(batch, 1.0)) == keys_of_batch(batch)
    assert not set(keys_of_batch(scaled(parts[1], 10.0))) & set(keys_of_batch(batch))
