from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rdpkit.mechanisms.data.tables.encoding import encode
from rdpkit.mechanisms.data.tables.files import read, write
from tests.mechanisms.data.tables.tables import EVERY_KIND, table_of

PANDAS = {
    ".csv": partial(pd.read_csv, keep_default_na=False), ".parquet": pd.read_parquet,
    ".arrow": pd.read_feather, ".feather": pd.read_feather,
}  # fmt: skip


@pytest.mark.parametrize("suffix", PANDAS)
def test_a_file_has_the_same_records_again(tmp_path, suffix):
    table = table_of(EVERY_KIND, 300, 1)
    path = tmp_path / f"t{suffix}"
    write(table, path)
    again = read(path, schema=EVERY_KIND)
    np.testing.assert_array_equal(encode(again, EVERY_KIND), encode(table, EVERY_KIND))
    frame = PANDAS[suffix](path)
    assert frame["job"].tolist() == table["job"].to_pylist()
    if suffix != ".csv":
        assert again.equals(table)
        assert [str(frame[name].dtype) for name in ("age", "height")] == ["int16", "float32"]


def test_a_data_frame_is_read_without_its_index():
    frame = pd.DataFrame({"a": [1, None], "b": ["x", None]}, index=[7, 9])
    found = read(frame)
    assert found.column_names == ["a", "b"]
    assert found["b"].to_pylist() == ["x", None]
    np.testing.assert_array_equal(
        encode(read(table_of(EVERY_KIND, 80, 2).to_pandas()), EVERY_KIND),
        encode(table_of(EVERY_KIND, 80, 2), EVERY_KIND),
    )


def test_anything_that_gives_out_arrow_data_is_read():
    class Frame:
        def __init__(self, table):
            self.table = table

        def __arrow_c_stream__(self, requested_schema=None):
            return self.table.__arrow_c_stream__(requested_schema)

    table = table_of(EVERY_KIND, 5, 0)
    assert read(Frame(table)).equals(table)


def test_an_empty_text_is_no_missing_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"",\n"x",1\n')
    assert read(path)["a"].to_pylist() == ["", "x"]
    assert read(path)["b"].to_pylist() == [None, 1]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_table_of_one_column_keeps_its_missing_values(tmp_path, suffix):
    table = pa.table({"a": pa.array(["x", None, "", None, None])})
    write(table, tmp_path / f"t{suffix}")
    assert read(tmp_path / f"t{suffix}").equals(table)


def test_line_breaks_in_quotes_are_no_rows_however_long_the_file(tmp_path):
    table = pa.table({"a": ["one\n\ntwo, three\r\n" * 9] * 12_000, "b": range(12_000)})
    write(table, tmp_path / "t.csv")
    assert read(tmp_path / "t.csv")["b"].equals(table["b"])


def test_an_index_that_pandas_wrote_is_no_column(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]}, index=[7, 9])
    frame.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").column_names == ["a"]


def test_texts_of_polars_are_texts():
    views = pa.array(["x", None], pa.string_view())
    codes = pa.array([1, 0], pa.uint8())
    entries = pa.DictionaryArray.from_arrays(codes, pa.array(["u", "v"], pa.string_view()))
    found = read(pa.table({"a": views, "b": entries}))
    assert found.schema.types == [pa.string(), pa.dictionary(pa.uint8(), pa.string())]
    assert found.to_pydict() == {"a": ["x", None], "b": ["v", "u"]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"\xff\xfe,\0b\0", "in UTF-8"),
        ("t.csv", "", "no table in csv"),
        ("t.csv", "a,a\n1,2\n", "named once"),
        ("t.parquet", "no", "no table in parquet"),
        ("t.arrow", "no", "no table in arrow"),
        ("t.txt", "no", r"to end in \.csv"),
    ],
)
def test_a_file_that_is_no_table_is_an_error(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read(tmp_path / name)


def test_other_things_are_no_tables(tmp_path):
    with pytest.raises(ValueError, match="source to be a file"):
        read(3)
    with pytest.raises(FileNotFoundError, match="no such file"):
        read(tmp_path / "t.csv")


def test_nothing_is_left_behind_after_an_error(tmp_path):
    with pytest.raises(ValueError, match="to end in"):
        write(pa.table({"a": [1]}), tmp_path / "t.txt")
    assert list(tmp_path.iterdir()) == []
