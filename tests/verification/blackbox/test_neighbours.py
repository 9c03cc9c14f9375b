"""Data sets, and pairs that are neighbours."""

import pickle

import numpy as np
import pytest

from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours, load

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE


def data(*rows, labels=None):
    return LabelledData(features=list(rows), labels=labels)


def test_arrays_are_read_only_and_copied():
    source = np.array([[1.0, 2.0]])
    found = LabelledData(features=source)
    source[0, 0] = 9.0
    assert found.features[0, 0] == 1.0
    for array in (found.features, found.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_read_only_in_another_process_too():
    found = pickle.loads(pickle.dumps(data([1.0], [2.0], labels=[0, 1])))
    assert found.labels.tolist() == [0, 1]
    assert not found.features.flags.writeable


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        ([1.0, 2.0], None, r"Expected features .*shape \(n, d\)"),
        ([[1.0, np.nan]], None, "Expected features"),
        ([[1.0, np.inf]], None, "Expected features"),
        ([["a"]], None, "Expected features"),
        ([[1.0]], [0, 1], r"Expected labels to be integers of shape \(1,\)"),
        ([[1.0]], [0.5], "Expected labels"),
        (np.zeros((2, 0)), None, "Expected features"),
    ],
)
def test_what_is_no_data_set(features, labels, message):
    with pytest.raises(ValueError, match=message):
        LabelledData(features=features, labels=labels)


def test_neighbours_in_either_relation():
    assert Neighbours(first=data([1.0], [2.0]), second=data([2.0]), adjacency=ADD).size == 2
    assert Neighbours(first=data([2.0]), second=data([1.0], [2.0]), adjacency="add_or_remove_one")
    # Multisets: order does not matter, multiplicity does.
    assert Neighbours(first=data([1.0], [2.0]), second=data([2.0], [3.0]), adjacency=REPLACE)
    # A record is its features and its label.
    assert Neighbours(
        first=data([1.0], labels=[0]), second=data([1.0], labels=[1]), adjacency=REPLACE
    )


@pytest.mark.parametrize(
    ("first", "second", "adjacency"),
    [
        (data([1.0]), data([1.0]), ADD),
        (data([1.0]), data([1.0]), REPLACE),
        (data([1.0]), data([2.0]), ADD),
        (data([1.0], [1.0]), data([1.0]), REPLACE),
        (data([1.0], [2.0]), data([3.0], [4.0]), REPLACE),
        (data([1.0], [1.0], [1.0]), data([1.0]), ADD),
        (data([0.0]), data([-0.0]), REPLACE),
    ],
)
def test_what_are_no_neighbours(first, second, adjacency):
    with pytest.raises(ValueError, match="to be neighbours under"):
        Neighbours(first=first, second=second, adjacency=adjacency)


def test_different_numbers_of_features():
    with pytest.raises(ValueError, match="same number of features, got 1 and 2"):
        Neighbours(first=data([1.0]), second=data([1.0, 2.0]), adjacency=REPLACE)


def test_scaled_pairs_stay_neighbours():
    pair = Neighbours(first=data([1.0], [2.0]), second=data([2.0]), adjacency=ADD)
    assert pair.scaled(0.5).first.features.tolist() == [[0.5], [1.0]]


def test_a_file(tmp_path):
    path = tmp_path / "pair.npz"
    np.savez(
        path,
        features=np.zeros((2, 1)),
        labels=np.array([0, 1]),
        features_prime=np.zeros((1, 1)),
        labels_prime=np.array([1]),
    )
    found = load(path, adjacency=ADD)
    assert (len(found.first), found.second.labels.tolist()) == (2, [1])
    with pytest.raises(ValueError, match=r"pair.npz: Expected D and D' to be neighbours"):
        load(path, adjacency=REPLACE)


def test_a_file_with_pickles_is_refused(tmp_path):
    path = tmp_path / "evil.npz"

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    features = np.empty((1, 1), dtype=object)
    features[0, 0] = Evil()
    np.savez(path, features=features, features_prime=np.zeros((1, 1)))
    words = r"evil\.npz: not a pair of data sets: an array is damaged, or holds objects"
    with pytest.raises(ValueError, match=words):
        load(path, adjacency=REPLACE)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04broken"])
def test_what_is_no_file_of_a_pair(tmp_path, content):
    path = tmp_path / "pair.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"pair\.npz: not a pair of data sets") as error:
        load(path, adjacency=REPLACE)
    assert "pickle" not in str(error.value)


def test_a_file_with_other_arrays(tmp_path):
    path = tmp_path / "pair.npz"
    np.savez(path, x=np.zeros(1))
    with pytest.raises(ValueError, match="expected the arrays features"):
        load(path, adjacency=REPLACE)
    single = tmp_path / "single.npy"
    np.save(single, np.zeros(1))
    with pytest.raises(ValueError, match="it holds a single array"):
        load(single, adjacency=REPLACE)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.npz", adjacency=REPLACE)


def test_code_is_run_on_ordinary_records_alone():
    data = LabelledData(features=[[0.0]])
    with pytest.raises(ValueError, match="got 'zero_out': code is run on ordinary records alone"):
        Neighbours(first=data, second=data, adjacency="zero-out")
