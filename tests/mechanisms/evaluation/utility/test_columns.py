"""Cells and distances against counts by hand."""

import numpy as np
import pyarrow as pa
import pytest

from rdpkit.mechanisms.evaluation.utility.columns import (
    MOST_COLUMNS,
    cells_of,
    column_summaries,
    compared_columns,
    correlations,
    histograms,
    marginal_errors,
)
from rdpkit.mechanisms.evaluation.utility.samples import SampleColumn, kinds_of, of_arrays, of_table


def sample(columns, kinds=None):
    table = pa.table(columns)
    return of_table(table, kinds or kinds_of(table), where="a table")


def test_the_error_of_categories_is_the_share_that_must_be_changed():
    made = sample({"c": ["a", "a", "b", None], "d": ["x", "x", "y", "y"]})
    true = sample({"c": ["a", "c", "d", "b"], "d": ["x", "y", "y", "y"]})
    found = marginal_errors(made, true, rng=None)
    # Of c: one a and the missing value must become c and d; of d: one x must become y.
    assert [one.error for one in found.single] == [0.5, 0.25]
    assert [one.floor for one in found.single] == [None, None]
    # The pairs (a, x), (b, y) are right, and half of the records must be changed.
    assert found.pairs[0].columns == ("c", "d")
    assert found.pairs[0].error == 0.5


def test_values_beyond_the_release_fall_into_its_outer_cells():
    values = np.repeat([1.0, 2.0], 50)
    cells = cells_of(SampleColumn(name="n", kind="number", values=values))
    beyond = SampleColumn(
        name="n", kind="number", values=np.array([-1e300, 1.4, 1.6, 1e300, np.nan])
    )
    assert cells.codes(beyond).tolist() == [0, 0, 1, 1, 2]


def test_a_value_that_many_share_has_a_cell_of_its_own():
    values = np.concatenate([np.zeros(700), np.linspace(1.0, 100.0, 300)])
    cells = cells_of(SampleColumn(name="n", kind="number", values=values))
    asked = SampleColumn(name="n", kind="number", values=np.array([0.0, 1.0]))
    first, second = cells.codes(asked)
    assert first != second
    assert cells.shares(SampleColumn(name="n", kind="number", values=values))[first] == 0.7


def test_the_floor_is_the_distance_of_two_halves():
    true = sample({"c": ["a", "b"] * 500})
    found = marginal_errors(true, true, rng=np.random.default_rng(0))
    assert found.single[0].error == 0.0
    # Two samples of 500 coins differ by about 1/sqrt(1000 * pi / 2); 0.12 is five times as much.
    assert 0.0 < found.single[0].floor < 0.12


def test_of_many_columns_those_that_vary_most_are_compared():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(30, 90)) * np.arange(90)
    made = of_arrays(features, np.arange(30) % 3, image=None)
    names = compared_columns(made).names
    assert len(names) <= MOST_COLUMNS
    assert names[-1] == "label"
    assert "x89" in names
    assert "x1" not in names
    assert marginal_errors(made, made, rng=None).left_out == 91 - len(names)


def test_summaries_say_what_is_lost_and_what_is_invented():
    made = sample({"c": ["a", "z", "a", "a"], "n": [0.0, 1.5, 2.5, 9.5]})
    kinds = {"c": "category", "n": "number"}
    true = sample({"c": ["a", "b", "b", "y"], "n": [1.0, 1.5, 2.0, None]}, kinds)
    first, second = column_summaries(made, true)
    assert (first.lost, first.invented, first.outside) == (("b", "y"), ("z",), 0.25)
    assert second.ranges == (0.0, 9.5, 1.0, 2.0)
    assert second.missing == (0.0, 0.25)
    assert second.outside == 0.75
    shown = histograms(made, true)[0]
    assert sum(shown.synthetic) == pytest.approx(1.0)
    assert sum(shown.real) == pytest.approx(1.0)


def test_correlations_use_records_that_have_both_numbers():
    up = sample({"a": [0.5, 1.5, 2.5, None], "b": [1.0, 2.5, 3.0, 9.0]})
    down = sample({"a": [0.5, 1.5, 2.5, 1.0], "b": [3.0, 2.0, 1.0, None]})
    flat = sample({"a": [0.5, 0.5], "b": [1.5, 2.5]})
    (found,) = correlations(up, down)
    assert found.real == pytest.approx(-1.0)
    assert found.synthetic > 0.9
    assert correlations(flat, flat)[0].real == 0.0


def test_kinds_come_from_the_release_and_errors_name_the_column():
    table = pa.table({"a": [1, 2], "t": ["x", "y"], "f": [0.5, 1.5], "b": [True, False]})
    kinds = kinds_of(table)
    assert kinds == {"a": "category", "t": "category", "f": "number", "b": "category"}
    with pytest.raises(ValueError, match="Expected there to have the column 't', as the release"):
        of_table(table.drop_columns("t"), kinds, where="there")
    with pytest.raises(ValueError, match="column 't' of there to hold numbers or dates"):
        of_table(table, {"t": "number"}, where="there")
    with pytest.raises(ValueError, match="records and columns, got none"):
        of_table(table.slice(0, 0), kinds, where="there")
