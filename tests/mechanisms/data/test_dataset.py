"""Data sets: what their arrays must be, and tables in CSV files."""

import numpy as np
import pytest

from rdpkit.mechanisms.data import Dataset
from rdpkit.mechanisms.data.dataset import load_table


def dataset(**changes):
    arguments = {
        "name": "d",
        "train_features": np.array([[0, 255], [51, 102], [0, 0]], np.uint8),
        "train_labels": np.array([0, 1, 1]),
        "test_features": np.array([[0, 1]], np.uint8),
        "test_labels": np.array([0]),
        "classes": ("a", "b", "c"),
        "value_range": (0.0, 255.0),
    }
    return Dataset(**(arguments | changes))


def test_scaling_uses_the_public_range_not_the_data():
    data = dataset()
    # float32 rounding of k / 255: half a unit in the last place of 1.
    np.testing.assert_allclose(data.scaled("train"), [[0, 1], [0.2, 0.4], [0, 0]], atol=1e-7)
    np.testing.assert_allclose(data.scaled("test", low=-1.0), [[-1, 2 / 255 - 1]], atol=1e-7)
    assert data.scaled("train", low=-1.0).min() >= -1.0
    assert data.scaled("train").dtype == np.float32
    assert data.class_sizes == (1, 2, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_labels": np.array([0, 1])}, "Expected train_labels to be integers of shape"),
        ({"train_labels": np.array([0.0, 1, 1])}, "Expected train_labels to be integers"),
        ({"test_labels": np.array([3])}, r"Expected test_labels to be in \[0, 2\]"),
        ({"test_features": np.zeros((1, 3), np.uint8)}, "Expected test_features to have 2 columns"),
        ({"image_shape": (1, 2, 2)}, "Expected image_shape to hold 2 values"),
        ({"value_range": (0.0, 100.0)}, r"Expected train_features to be in \[0, 100\]"),
        ({"value_range": (1.0, 1.0)}, "Expected value_range"),
        ({"train_features": np.zeros((0, 2))}, "Expected train_features to be a non-empty array"),
        ({"test_features": np.array([[np.nan, 0.0]])}, "Expected test_features to be in"),
    ],
)
def test_parts_must_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        dataset(**changes)


def test_bad_scales_are_errors():
    with pytest.raises(ValueError, match="Expected part to be one of 'train', 'test'"):
        dataset().scaled("validation")
    with pytest.raises(ValueError, match="Expected low to be below high"):
        dataset().scaled("train", low=2.0)


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
