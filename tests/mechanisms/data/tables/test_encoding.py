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


def test_each_record_is_coded_by_itself():
    table = table_of(EVERY_KIND, 60, 3)
    whole = encode(table, EVERY_KIND)
    alone = np.concatenate([encode(table.slice(i, 1), EVERY_KIND) for i in range(60)])
    np.testing.assert_array_equal(whole, alone)


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
