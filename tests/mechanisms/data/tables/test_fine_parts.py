import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.mechanisms.data.tables.encoding import decode, encode
from rdpkit.mechanisms.data.tables.fine_parts import with_fine_parts
from rdpkit.mechanisms.data.tables.schema import Column, Schema


def fine(**given):
    found, ordered = with_fine_parts(Schema(columns=(Column(name="x", **given),)))
    return found, ordered[0]


@pytest.mark.parametrize(
    "given_column",
    [
        {"kind": "number", "range": (0.0, 1.0), "bins": 40},
        {"kind": "number", "range": (0.0, 1.0), "edges": (0.1, 0.2)},
        {"kind": "number", "range": (0.0, 1.0), "paid": True},
        {"kind": "integer", "range": (0, 9)},
        {"kind": "category", "values": ("a", "b")},
    ],
)
def test_what_somebody_has_cut_stays_as_it_is(given_column):
    schema = Schema(columns=(Column(name="x", **given_column),))
    assert with_fine_parts(schema) == (schema, [0])


@pytest.mark.parametrize(
    "ends",
    [(0.0, 1.0), (-1e300, 1e300), (-1e308, 1.7e308), (5.0, 5.0 + 1e-12), (-1e9, 3.0), (1e-300, 1)],
)
def test_every_range_of_numbers_has_fine_parts_inside(ends):
    schema, _ = fine(kind="number", range=ends)
    cuts = schema["x"].cuts
    assert (cuts[0], cuts[-1]) == ends
    assert (np.diff(cuts) > 0.0).all()
    made = decode(encode(pa.table({"x": list(ends)}), schema), schema, draws=_Middle())
    assert encode(made, schema)[:, 0].tolist() == [0, schema["x"].parts - 1]


class _Middle:
    def random(self, size):
        return np.full(size, 0.5)


@given(
    st.integers(0, 4),
    st.integers(-(10**6), 10**6),
    st.integers(1, 10**6),
    st.integers(0, 2**32),
)
def test_numbers_with_decimals_stay_in_their_part(decimals, low, width, seed):
    scale = 10**decimals
    schema, _ = fine(kind="number", range=(low / scale, (low + width) / scale), decimals=decimals)
    rng = np.random.default_rng(seed)
    values = rng.integers(low, low + width + 1, 50) / scale
    codes = encode(pa.table({"x": values}), schema)
    made = decode(codes, schema, draws=rng)
    np.testing.assert_array_equal(encode(made, schema), codes)
    found = np.asarray(made["x"])
    np.testing.assert_array_equal(found, np.round(found, decimals))
    if width < 500:
        # Every number has a part of its own.
        np.testing.assert_array_equal(found, values)


def test_dates_times_and_integers_have_fine_parts():
    for column in (
        {"kind": "date", "range": ("1900-01-01", "2020-01-01")},
        {"kind": "datetime", "range": ("1900-01-01T00:00:00", "2020-01-01T00:00:00")},
        {"kind": "datetime", "type": "timestamp[ns]", "range": ("1700-01-01", "2200-01-01")},
        {"kind": "integer", "range": (0, 10**7)},
        {"kind": "integer", "range": (-(2**62), 2**62)},
    ):
        schema, ordered = fine(**column)
        assert ordered == schema["x"].parts > 1000


@pytest.mark.parametrize(
    "given_column",
    [
        {"kind": "integer", "range": (1700000000000000001, 1700000000000100001)},
        {"kind": "integer", "range": (-(2**53) - 1, 5000)},
        {
            "kind": "datetime",
            "type": "timestamp[ns]",
            "range": ("2024-01-01T00:00:00", "2024-01-02T00:00:00"),
        },
    ],
)
def test_steps_that_doubles_or_calendars_do_not_tell_apart_have_no_fine_parts(given_column):
    schema = Schema(columns=(Column(name="x", **given_column),))
    assert with_fine_parts(schema) == (schema, [0])
