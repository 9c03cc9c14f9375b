import numpy as np
import pytest

from rdpkit.mechanisms.data.table import load_table

TRAIN = "age,kind,height\n20,a,1.5\n40,b,1.0\n90,a,2.5\n"


@pytest.fixture
def table(tmp_path):
    def write(train=TRAIN, test="age,kind,height\n60,b,2\n", **changes):
        (tmp_path / "train.csv").write_text(train)
        (tmp_path / "test.csv").write_text(test)
        arguments = {"label": "kind", "classes": ["a", "b"], "ranges": {"age": (0, 80),
                     "height": (1, 2)}} | changes  # fmt: skip
        return load_table(tmp_path / "train.csv", tmp_path / "test.csv", **arguments)

    return write


def test_numbers_are_scaled_by_public_ranges_and_clipped(table):
    data = table()
    np.testing.assert_allclose(data.train_features, [[0.25, 0.5], [0.5, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(data.train_labels, [0, 1, 0])
    np.testing.assert_allclose(data.test_features, [[0.75, 1.0]])
    assert data.image_shape is None
    assert data.model_input == (2, (1, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": "age,kind,height\n20,a\n"}, r"train\.csv: line 2: expected 3 values, got 2"),
        ({"train": "age,kind,height\n20,c,1\n"}, "line 2: expected kind to be one of 'a', 'b'"),
        ({"train": "age,kind,height\n20,a,x\n"}, "line 2: expected height to be a finite number"),
        ({"train": "age,kind,height\nnan,a,1\n"}, "expected age to be a finite number"),
        ({"train": "age,kind,height\n"}, "expected at least one record, got none"),
        ({"train": ""}, "expected a header of different names with a column 'kind'"),
        ({"test": "age,kind,weight\n1,a,1\n"}, r"test\.csv: expected the header of"),
        ({"ranges": {"age": (0, 80)}}, r"Expected ranges to have exactly the columns"),
        ({"ranges": (1, 1)}, "Expected ranges of 'age'"),
        ({"classes": ["a"]}, "Expected classes to be at least two"),
        ({"train": 'age,kind,height\n"20,a,1\n'}, r"train\.csv: line "),
    ],
)
def test_errors_name_file_line_and_column(table, changes, message):
    with pytest.raises(ValueError, match=message):
        table(**changes)
