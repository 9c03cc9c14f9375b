import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.mechanisms.data.tables.encoding import decode, encode
from rdpkit.mechanisms.data.tables.schema import Column, Schema
from tests.mechanisms.data.tables.tables import EVERY_KIND, codes_of, table_of


def _one(column, values, kind=None):
    table = pa.table({column.name: pa.array(values, type=kind)})
    return encode(table, Schema(columns=(column,)))[:, 0].tolist()


@settings(max_examples=25)
@given(st.integers(0, 50), st.integers(0, 2**32))
def test_codes_come_back_from_the_values_drawn_for_them(rows, seed):
    codes = codes_of(EVERY_KIND, rows, seed)
    table = decode(codes, EVERY_KIND, draws=np.random.default_rng(seed))
    np.testing.assert_array_equal(encode(table, EVERY_KIND), codes)


def test_what_comes_out_has_the_types_and_ranges_of_the_schema():
    table = table_of(EVERY_KIND, 500, 0)
    assert tuple(table.column_names) == EVERY_KIND.names
    assert [str(field.type) for field in table.schema] == [c.type for c in EVERY_KIND.columns]
    assert min(table["age"].to_pylist()) >= 17
    assert max(table["age"].to_pylist()) <= 90
    assert table["age"].null_count == 0 < table["height"].null_count


def test_values_outside_of_the_range_are_moved_inside():
    column = Column(name="n", kind="integer", range=(0, 9))
    assert _one(column, [-5, 0, 9, 10, 2**62]) == [0, 0, 9, 9, 9]
    number = Column(name="x", kind="number", range=(0.0, 1.0), bins=2)
    assert _one(number, [-1e308, 0.0, 0.5, 1.0, 1e308]) == [0, 0, 1, 1, 1]


def test_what_cannot_be_read_is_missing():
    column = Column(name="x", kind="number", range=(0.0, 1.0), bins=2, missing=True)
    assert _one(column, ["0.7", "many", "", None, "nan", "inf"]) == [1, 2, 2, 2, 2, 1]
    assert _one(column, [0.2, float("nan"), None]) == [0, 2, 2]


def test_categories_that_are_not_listed_are_others_or_missing_or_the_first():
    values = ["a", "b", "z", None]
    listed = {"name": "c", "kind": "category", "values": ("a", "b")}
    assert _one(Column(**listed), values) == [0, 1, 0, 0]
    assert _one(Column(**listed, missing=True), values) == [0, 1, 2, 2]
    assert _one(Column(**listed, other="rest"), values) == [0, 1, 2, 0]
    assert _one(Column(**listed, other="rest", missing=True), values) == [0, 1, 2, 3]


def test_words_and_texts_are_read_as_the_kind_of_the_column():
    assert _one(Column(name="b", kind="boolean"), ["yes", "FALSE", "1", "t"]) == [1, 0, 1, 1]
    day = Column(name="d", kind="date", range=("2020-01-01", "2020-01-10"))
    assert _one(day, ["2020-01-03", "2019-01-01"]) == [2, 0]
    assert _one(day, [dt.datetime(2020, 1, 3, 12)]) == [2]


def test_a_column_of_another_kind_is_an_error():
    with pytest.raises(ValueError, match="'x' to hold values of the kind number"):
        _one(Column(name="x", kind="number", range=(0, 1)), [[1, 2]])
    with pytest.raises(ValueError, match="to have the column 'height'"):
        encode(pa.table({"Age": [1]}), EVERY_KIND)


def test_codes_outside_of_the_domain_are_an_error():
    with pytest.raises(ValueError, match=r"codes of 'height' to be in \[0, 33\)"):
        decode(np.full((1, 7), 33), EVERY_KIND, draws=np.random.default_rng(0))
    with pytest.raises(ValueError, match="shape"):
        decode(np.zeros((1, 6), dtype=int), EVERY_KIND, draws=np.random.default_rng(0))


_HOSTILE = {
    "texts": pa.array(
        [
            *("1", "", " 2 ", "abc", None, "1e999", "nan", "1_000", "true", "\0", "9" * 400),
            *("2020-01-01", "99999-01-01", "2020-01-01T10:00:00", "2020-01-01T10:00:00+0200"),
            *("2020-01-01 10:00:00.123456789", "0001-01-01T00:00:00", "-9223372036854775809"),
            "9999-12-31T23:59:59.9999999",
        ]
    ),
    "floats": pa.array([1.5, float("nan"), float("inf"), float("-inf"), 1e308, None, 5e-324]),
    "integers": pa.array([0, 2**62, -(2**63), 2**63 - 1, None]),
    "unsigned": pa.array([0, 2**64 - 1, None], pa.uint64()),
    "views": pa.array(["1", "a", None], pa.string_view()),
    "days": pa.array([0, 2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32()),
    **{
        f"times in {unit}, {zone}": pa.array([0, 2**63 - 1, -(2**63) + 1, None], pa.int64()).cast(
            pa.timestamp(unit, tz=zone)
        )
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "Europe/Berlin")
    },
}
_YEARS = ("2000-01-01T00:00:00", "2020-12-31T23:59:59")
_COLUMNS = (
    *EVERY_KIND.columns,
    *(
        Column(name=unit, kind="datetime", type=f"timestamp[{unit}]", range=_YEARS, missing=True)
        for unit in ("s", "ms", "us", "ns")
    ),
)


@pytest.mark.parametrize("cells", list(_HOSTILE))
@pytest.mark.parametrize("column", _COLUMNS, ids=lambda column: column.name)
def test_no_cell_is_an_error_and_each_is_coded_as_if_it_were_alone(column, cells):
    array, schema = _HOSTILE[cells], Schema(columns=(column,))
    table = pa.table({column.name: array})
    is_time = column.kind in ("date", "datetime")
    if cells not in ("texts", "views") and is_time != cells.startswith(("times", "days")):
        # The type of the whole column, which every neighbour has, too.
        for rows in (table, table.slice(0, 1), table.slice(0, 0)):
            with pytest.raises(ValueError, match="to hold values of the kind"):
                encode(rows, schema)
        return
    found = encode(table, schema)
    alone = [encode(pa.table({column.name: array.slice(i, 1)}), schema) for i in range(len(array))]
    np.testing.assert_array_equal(found, np.concatenate(alone))
    assert found.min() >= 0
    assert found.max() < column.codes


def test_times_in_finer_units_are_rounded_down_and_far_ones_are_moved_inside():
    column = Column(
        name="t", kind="datetime", type="timestamp[s]", range=_YEARS, bins=2, missing=True
    )
    fine = [dt.datetime(2001, 1, 1, 0, 0, 0, 999_999), dt.datetime(2019, 1, 1, 0, 0, 0, 1), None]
    assert _one(column, fine) == [0, 1, 2]
    assert _one(column, [str(one) for one in fine[:2]]) == [0, 1]
    assert _one(column, [2**63 - 1, -(2**63) + 1], pa.timestamp("us")) == [1, 0]
    nanoseconds = Column(name="t", kind="datetime", type="timestamp[ns]", range=_YEARS, bins=2)
    assert _one(nanoseconds, [2**62, -(2**62)], pa.timestamp("s")) == [1, 0]


def test_large_unsigned_numbers_are_at_the_upper_end():
    column = Column(name="n", kind="integer", range=(0, 9))
    assert _one(column, [2**64 - 1, 2**63, 3], pa.uint64()) == [9, 9, 3]
