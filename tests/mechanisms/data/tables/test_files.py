import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rdpkit.mechanisms.data.tables.encoding import encode
from rdpkit.mechanisms.data.tables.reading import read
from rdpkit.mechanisms.data.tables.writing import write
from tests.mechanisms.data.tables.tables import EVERY_KIND, table_of


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".feather"])
def test_a_file_has_the_same_records_again(tmp_path, suffix):
    table = table_of(EVERY_KIND, 300, 1)
    path = tmp_path / f"t{suffix}"
    write(table, path)
    again = read(path, schema=EVERY_KIND)
    np.testing.assert_array_equal(encode(again, EVERY_KIND), encode(table, EVERY_KIND))
    if suffix != ".csv":
        assert again.equals(table)


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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "a,b\n1\n", "not a table in csv"),
        ("t.csv", "", "not a table in csv"),
        ("t.csv", "a,a\n1,2\n", "named once"),
        ("t.parquet", "no", "not a table in parquet"),
        ("t.arrow", "no", "not a table in arrow"),
        ("t.txt", "no", r"to end in \.csv"),
    ],
)
def test_a_file_that_is_no_table_is_an_error(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
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
