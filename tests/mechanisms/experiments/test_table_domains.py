"""How ranges are cut, and ranges and categories that are found with noise."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.data.tables.drafting import draft_schema
from rdpkit.mechanisms.data.tables.encoding import decode, encode
from rdpkit.mechanisms.data.tables.schema import Column, Schema
from rdpkit.mechanisms.experiments.table_domains import DomainSearch, with_fine_parts
from rdpkit.mechanisms.parts.noise import NoiseSource


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
        # Steps that doubles or calendars do not tell apart.
        {"kind": "integer", "range": (1700000000000000001, 1700000000000100001)},
        {"kind": "integer", "range": (-(2**53) - 1, 5000)},
        {"kind": "datetime", "type": "timestamp[ns]", "range": ("2024-01-01", "2024-01-02")},
    ],
)
def test_what_is_cut_or_cannot_be_cut_stays_as_it_is(given_column):
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


@pytest.mark.thorough
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


REPLACE = rdpkit.Adjacency.REPLACE_ONE


def people(count, seed=0):
    rng = np.random.default_rng(seed)
    days = [dt.date(2000, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 7000, count)]
    return pa.table(
        {
            "pay": np.exp(rng.normal(8.0, 2.0, count)),
            "age": rng.integers(18, 90, count),
            "job": rng.choice(["clerk", "boss"], count),
            "day": pa.array(days, pa.date32()),
            "time": pa.array(days, pa.date32()).cast(pa.timestamp("us")),
            "gain": rng.normal(size=count),
        }
    )


def search(table, seed=1, noise_std=2.0, **changes):
    schema = draft_schema(table, paid=True).schema
    found = DomainSearch(schema=schema, delta_of_names=1e-8, adjacency=REPLACE, **changes)
    return found.found(table, NoiseSource.seeded(seed), noise_std)


def test_parts_hold_equal_shares_of_heavy_tails():
    """Seeded; the noise of a count is about 30, and a part has 600 records."""
    table = people(20_000)
    schema = search(table)
    assert schema["job"].values == ("boss", "clerk")
    for name in ("pay", "age", "gain", "day", "time"):
        codes = encode(table, schema.select([name]))[:, 0]
        shares = np.bincount(codes, minlength=schema[name].parts) / len(codes)
        assert schema[name].parts >= 25
        assert shares.max() < 0.12
    assert (schema["age"].range[0], schema["day"].range[0][:3]) == (18, "199")
    made = decode(encode(table, schema), schema, draws=np.random.default_rng(0))
    assert made.schema.equals(table.schema)


@pytest.mark.parametrize("count", [0, 3, 60])
def test_few_records_show_nothing(count):
    table = people(count + 1).slice(1)
    secret = table.set_column(2, "job", pa.array(["SECRET"] * count, pa.string()))
    assert search(secret) == search(secret.slice(0, 0)) if count < 4 else True
    assert "SECRET" not in str(search(secret).as_table())


def test_no_value_is_a_reason_to_fail():
    numbers = [np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, -1e308, None, 1.5] * 50
    schema = Schema(
        columns=(
            Column(name="x", kind="number", paid=True),
            Column(name="y", kind="integer", paid=True, range=(0, 10)),
            Column(name="z", kind="datetime", type="timestamp[ns]", paid=True),
        )
    )
    table = pa.table(
        {
            "x": numbers,
            "y": pa.array([2**63, 0, 5] * 150, pa.uint64()),
            "z": pa.array([-(2**63) + 1, 2**63 - 1, 0] * 150).cast(pa.timestamp("ns")),
        }
    )
    found = DomainSearch(schema=schema, delta_of_names=1e-8, adjacency=REPLACE)
    made = found.found(table, NoiseSource.seeded(0), 0.01)
    assert made["y"].range[0] >= 0
    assert made["y"].range[1] <= 10
    assert encode(table, made).shape == (450, 3)


@pytest.mark.thorough
@pytest.mark.parametrize("most", [1, 4])
def test_a_name_of_one_person_is_shown_as_rarely_as_stated(most):
    """Seeded; at 1e-2 between 1 and 42 of 2,000 by five standard errors."""
    column = Column(name="job", kind="category", paid=True)
    table = pa.table({"job": ["SECRET"] * most})
    found = DomainSearch(
        schema=Schema(columns=(column,)),
        delta_of_names=1e-2,
        adjacency=REPLACE,
        most_per_person=most,
    )
    noise = NoiseSource.seeded(5)
    shown = sum("SECRET" in found.found(table, noise, 1.0)["job"].values for _ in range(2000))
    assert 1 <= shown <= 42


def test_what_is_searched_is_what_the_event_says():
    schema = draft_schema(people(10), paid=True).schema
    found = DomainSearch(schema=schema, delta_of_names=1e-8, adjacency=REPLACE)
    counted, names = found.events(2.0)
    assert counted.noise_std == pytest.approx(2.0 * np.sqrt(0.85 / 0.15))
    assert (names.epsilon, names.delta) == (0.0, 1e-8)
    assert DomainSearch(
        schema=schema.select(["pay"]), delta_of_names=1e-8, adjacency=REPLACE
    ).events(2.0) == (counted,)
    closed = Schema(columns=(Column(name="x", kind="boolean"),))
    assert DomainSearch(schema=closed, delta_of_names=0.0, adjacency=REPLACE).events(2.0) == ()
