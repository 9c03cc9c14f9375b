"""Records and their keys: what cannot be read is said, and what has no places is left out."""

import pytest

from rdpkit.verification.training.checks.records import keys_of_records, parts_of


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
