"""Layouts: rows for releases of any kind, of fixed and of varying structure."""

import pickle

import numpy as np
import pytest

from rdpkit.verification.blackbox.encoding import ReleaseLayout, layout_of, points_of
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.release_parts import MechanismError, take_apart


def structure_of(release):
    return tuple(part.known() for part in take_apart(release))


def layout(*releases):
    return layout_of([structure_of(release) for release in releases])


def row_of(found, release):
    return found.row(take_apart(release))


def names(found: ReleaseLayout) -> list[str]:
    return [found.name(column) for column in range(found.size)]


@pytest.mark.parametrize(
    ("release", "row", "shape"),
    [
        (2.5, [2.5], "()"),
        ([1, 2], [1.0, 2.0], "(2,)"),
        (np.array([[1, 2], [3, 4]], dtype=np.float32), [1.0, 2.0, 3.0, 4.0], "(2, 2)"),
        ((np.zeros((1, 2)), np.array([7])), [0.0, 0.0, 7.0], "(1, 2) and (1,)"),
        (np.array([True, False]), [1.0, 0.0], "(2,)"),
        ({"b": [1, 2], "a": 3.0}, [3.0, 1.0, 2.0], "['a'] () and ['b'] (2,)"),
        (tuple(range(9)), range(9), "() and () and () and () and () and () and 3 more"),
    ],
)
def test_a_fixed_structure_has_the_values_alone(release, row, shape):
    found = layout(release)
    assert row_of(found, release).tolist() == list(row)
    assert found.describe() == shape
    assert found.is_number.all()
    assert found.size == len(row)


def test_names_of_columns():
    found = layout({"age": 1.0, "weights": np.zeros((2, 2)), 3: "x"})
    assert names(found) == [
        "[3]",
        "['age']",
        "['weights'][0, 0]",
        "['weights'][0, 1]",
        "['weights'][1, 0]",
        "['weights'][1, 1]",
    ]
    assert found.is_number.tolist() == [False] + [True] * 5
    assert names(layout(np.zeros(2))) == ["[0]", "[1]"]
    assert names(layout(1.0)) == ["value"]


def test_keys_that_vary():
    found = layout({"a": 1.0, "b": 2.0}, {"a": 1.0}, {"a": 1.0, "c": "x"})
    assert names(found) == [
        "['a']",
        "whether ['b'] is there",
        "['b']",
        "whether ['c'] is there",
        "['c']",
        "number of values outside of the layout",
        "values outside of the layout",
        "number of values",
        "structure",
    ]
    kinds = [True, False, True, False, False, True, False, True, False]
    assert found.is_number.tolist() == kinds
    assert found.parts == ((9,),)
    assert row_of(found, {"a": 5.0, "b": 7.0})[:-1].tolist() == [5.0, 1.0, 7.0, 0, 0, 0, 0, 2.0]
    row = row_of(found, {"b": 7.0, "z": [1.0, 2.0]})
    assert row[:6].tolist() == [0, 1, 7, 0, 0, 2]
    assert 0 < row[6] < 2**53
    assert row[7] == 3
    # An exact record that only few releases hold comes again.
    assert row_of(found, {"z": [1.0, 2.0]})[6] == row[6] != row_of(found, {"z": [1.0, 3.0]})[6]
    structures = {row_of(found, one)[-1] for one in ({}, {"a": 1.0}, {"a": 2.0}, {"b": 1.0})}
    assert len(structures) == 3
    assert all(code < 2**53 and code == int(code) for code in structures)


def test_lengths_that_vary():
    found = layout(np.zeros((2, 3)), np.zeros((4, 3)))
    assert found.size == 1 + 12 + 4
    assert found.name(0) == "length of release"
    row = row_of(found, np.arange(9.0).reshape(3, 3))
    assert row[:13].tolist() == [3, *range(9), 0, 0, 0]
    assert row[-4:-1].tolist() == [0.0, 0.0, 9.0]
    # What lies beyond the lengths that were seen is counted.
    row = row_of(found, np.zeros((6, 3)))
    assert (row[0], row[-4], row[-2]) == (6.0, 6.0, 18.0)
    assert row[-3] == row_of(found, np.concatenate([np.ones((4, 3)), np.zeros((2, 3))]))[-3]


def test_lists_of_varying_length():
    found = layout(["x"], ["x", "y"], [])
    assert names(found)[:4] == ["whether release is there", "length of release", "[0]", "[1]"]
    one, two = row_of(found, ["x", "y"]), row_of(found, ["y"])
    assert one[:2].tolist() == [1.0, 2.0]
    assert two[2] == one[3] != one[2]
    assert row_of(found, [])[:4].tolist() == [0.0] * 4


def test_a_part_that_is_now_a_number_and_now_none():
    found = layout({"mean": 1.5}, {"mean": None})
    assert row_of(found, {"mean": 2.5})[:4].tolist() == [1.0, 2.5, 0.0, 0.0]
    row = row_of(found, {"mean": None})
    assert row[:3].tolist() == [0.0, 0.0, 1.0]
    assert row[3] > 0


def test_one_more_layout_for_many_keys():
    found = layout(*[{f"key {place}": 1.0, "usual": 2.0} for place in range(700)])
    assert len(found.fields) == 512
    assert "['usual']" in names(found)
    assert row_of(found, {"key 699": 1.0})[-4] == 1.0


def test_an_unexpected_structure_is_far_outside():
    found = layout((1.0, "x"))
    releases = ((1.0, "x", 2.0), (7.0, "y", 2.0), (1.0, "x", 3.0), (1.0,))
    rows = [row_of(found, one) for one in releases]
    # The noise in the usual parts does not hide what was added.
    assert np.array_equal(rows[0], rows[1])
    assert len({row[0] for row in rows}) == len({row[1] for row in rows}) == 3
    assert all(2.0**40 <= row[0] < 2.0**41 and 0 < row[1] < 2.0**53 for row in rows)
    assert found.fits(take_apart((3.0, "z")))
    assert not found.fits(take_apart((3.0, 4.0)))


def test_rows_of_many_releases():
    rng = np.random.default_rng(1)
    releases = [(rng.normal(size=(2, 2)), rng.integers(9)) for _ in range(5)]
    together = tuple(np.stack(part) for part in zip(*releases, strict=True))
    for found in (layout(releases[0]), layout((np.zeros((1, 2)), 3), releases[0])):
        rows, unexpected = found.rows(take_apart(together), 5)
        assert unexpected == 0
        assert np.array_equal(rows, np.stack([row_of(found, one) for one in releases]))


def test_releases_that_hold_nothing():
    with pytest.raises(MechanismError, match="returned an empty release"):
        layout(np.zeros((0, 3)))
    # A histogram of which no bin is large enough to be published is a release.
    found = layout({}, {})
    assert found.size == 4
    assert row_of(found, {})[:3].tolist() == [0.0, 0.0, 0.0]
    assert row_of(found, {"rare": 4.0})[[0, 2]].tolist() == [1.0, 1.0]


def test_what_may_vary():
    for release in (np.zeros(3), (1.0, np.zeros(3)), {"mean": 1.0, "covariance": np.eye(2)}):
        assert not any(part.loose for part in structure_of(release))
    for release in ({"flu": 3.0, "cold": 2.0}, ["flu", "cold"], {"flu"}):
        assert any(part.loose for part in structure_of(release))


def test_a_layout_travels():
    found = layout({"a": 1.0, "b": "x"}, {"a": 1.0})
    other = pickle.loads(pickle.dumps(found))
    assert other == found
    assert np.array_equal(row_of(other, {"b": "x"}), row_of(found, {"b": "x"}))


def test_points_of_a_pair():
    pair = Neighbours(
        first=LabelledData(features=[[float(row), 0.0] for row in range(50)], labels=[1] * 50),
        second=LabelledData(
            features=[[float(row), 0.0] for row in range(49)] + [[7.5, 1.0]], labels=[1] * 50
        ),
        adjacency="replace_one",
    )
    points = points_of(pair)
    assert points[:2].tolist() == [[49.0, 0.0], [7.5, 1.0]]
    assert len(points) == 7
    # The same features with another label differ as well.
    flipped = Neighbours(
        first=LabelledData(features=[[1.0], [2.0]], labels=[0, 0]),
        second=LabelledData(features=[[1.0], [2.0]], labels=[0, 1]),
        adjacency="replace_one",
    )
    assert points_of(flipped).tolist() == [[2.0], [1.0]]
