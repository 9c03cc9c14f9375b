"""A table of 50,000 rows and 15 mixed columns through files, a draft, codes, and pandas."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rdpkit.mechanisms.data.tables.drafting import draft_schema
from rdpkit.mechanisms.data.tables.encoding import decode, encode
from rdpkit.mechanisms.data.tables.files import read, write

ROWS = 50_000
_READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".arrow": pd.read_feather}


def _table() -> pa.Table:
    rng = np.random.default_rng(7)
    start = np.datetime64("2015-01-01T00:00:00", "us")
    moments = start + rng.integers(0, 5 * 365 * 86_400, ROWS).astype("timedelta64[s]")
    absent = rng.random(ROWS) < 0.1
    jobs = np.array(["clerk", 'nurse, "night"', "=SUM(A1)", "two\nlines"])[rng.integers(0, 4, ROWS)]
    return pa.table(
        {
            "age": pa.array(rng.integers(17, 91, ROWS), pa.int8()),
            "hours": pa.array(rng.integers(0, 100, ROWS), pa.uint8()),
            "weight": pa.array(rng.integers(12_000, 1_500_000, ROWS)),
            "children": pa.array(rng.integers(0, 8, ROWS), pa.int16(), mask=absent),
            "wage": pa.array(np.round(rng.lognormal(3, 1, ROWS), 2)),
            "height": pa.array(rng.normal(1.7, 0.1, ROWS), pa.float32(), mask=absent),
            "score": pa.array(rng.random(ROWS)),
            "job": pa.array(jobs),
            "region": pa.array(rng.choice(["N", "S", "E", "W"], ROWS), mask=absent),
            "code": pa.array(rng.choice(["a", "b"], ROWS)).dictionary_encode(),
            "married": pa.array(rng.random(ROWS) < 0.5, mask=absent),
            "citizen": pa.array(rng.random(ROWS) < 0.9),
            "born": pa.array(rng.integers(-10_000, 18_000, ROWS).astype("M8[D]"), pa.date32()),
            "seen": pa.array(moments, pa.timestamp("us"), mask=absent),
            "paid": pa.array(moments, pa.timestamp("ms", tz="UTC")),
        }
    )


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", list(_READERS))
def test_types_ranges_and_missing_values_are_kept_through_files(tmp_path, suffix):
    table = _table()
    schema = draft_schema(table, keep=table.column_names).schema
    schema = schema.confirmed(dict.fromkeys(schema.names, "made for tests"))
    write(table, tmp_path / f"private{suffix}")
    records = read(tmp_path / f"private{suffix}", schema=schema)
    codes = encode(records, schema)
    np.testing.assert_array_equal(codes, encode(table, schema))

    synthetic = decode(codes, schema, draws=np.random.default_rng(1))
    assert synthetic.schema.equals(table.schema)
    for column in schema.columns:
        assert synthetic[column.name].null_count == table[column.name].null_count
        if column.kind in ("number", "integer"):
            found = synthetic[column.name].drop_null().to_numpy()
            assert column.range[0] <= found.min()
            assert found.max() <= column.range[1]

    path = tmp_path / f"synth{suffix}"
    write(synthetic, path)
    np.testing.assert_array_equal(
        encode(read(path, schema=schema), schema), encode(synthetic, schema)
    )
    frame = _READERS[suffix](path)
    assert list(frame.columns) == table.column_names
    assert frame["job"].tolist() == synthetic["job"].to_pylist()
    assert frame["children"].isna().sum() == table["children"].null_count
    if suffix == ".csv":
        # CSV has no types: pandas is told which columns are times, and guesses the others.
        assert pd.to_datetime(frame["seen"]).min() >= pd.Timestamp(2015, 1, 1)
    else:
        assert frame["age"].dtype == np.int8
        assert frame["height"].dtype == np.float32
        assert frame["paid"].dt.tz is not None
        assert frame["born"].dropna().iloc[0] >= dt.date(1942, 1, 1)
