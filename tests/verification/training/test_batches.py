"""Batches of all shapes are counted, cut, joined and multiplied; records are told apart."""

import numpy as np
import pytest

from rdpkit.verification.training.batches import (
    joined,
    keys_of_batch,
    keys_of_records,
    parts_of,
    rows,
    scaled,
    size,
)

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


class Records:
    """Ten records, reading which fails in some way."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 10

    def __getitem__(self, place):
        raise self.error


@pytest.mark.parametrize("error", [TypeError(), KeyError(0), NotImplementedError()])
def test_records_without_places_have_no_keys(error):
    assert keys_of_records(Records(error)) is None
    assert parts_of(Records(error)) is None


def test_a_record_that_cannot_be_read_is_an_error():
    for read in (keys_of_records, parts_of):
        with pytest.raises(ValueError, match=r"records\[0\] raised OSError: disk"):
            read(Records(OSError("disk")))
