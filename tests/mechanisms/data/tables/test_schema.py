"""Schemas of tables: what they state, and what a draft may read."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from rdpkit.mechanisms.data.tables.drafting import MOST_CATEGORIES, draft_schema
from rdpkit.mechanisms.data.tables.encoding import decode, encode
from rdpkit.mechanisms.data.tables.files import read
from rdpkit.mechanisms.data.tables.schema import BINS, Column, Schema, load_schema
from tests.mechanisms.data.tables.tables import EVERY_KIND, table_of


def test_a_schema_comes_back_from_toml_and_from_json(tmp_path):
    (tmp_path / "s.toml").write_text(EVERY_KIND.as_toml())
    assert load_schema(tmp_path / "s.toml") == EVERY_KIND
    assert Schema.from_table(EVERY_KIND.as_table()) == EVERY_KIND


def test_a_column_has_a_code_for_each_part_and_one_for_missing_values():
    assert EVERY_KIND.domain == (BINS + 1, 10, 5, 3, BINS, BINS + 1, 4)


def test_a_short_range_of_integers_has_a_code_for_each_value():
    column = Column(name="n", kind="integer", range=(3, 7))
    assert column.cuts.tolist() == [3, 4, 5, 6, 7, 8]


def test_parts_of_a_range_may_be_stated():
    number = Column(name="x", kind="number", range=(0.0, 100.0), edges=(1.0, 10.0))
    whole = Column(name="n", kind="integer", range=(0, 100), edges=(0, 1, 50))
    assert number.cuts.tolist() == [0.0, 1.0, 10.0, 100.0]
    assert whole.cuts.tolist() == [0, 1, 50, 101]


def test_ranges_may_be_as_large_as_floats_are():
    column = Column(name="x", kind="number", range=(-1.7e308, 1.7e308), bins=4)
    assert np.all(np.isfinite(column.cuts))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "integer"\nrange = [3, 1]', "ascending values"),
        ('kind = "integer"', "expected the key range"),
        ('kind = "category"', "expected the key values"),
        ('kind = "text"', "to be one of 'number'"),
        ('kind = "number"\nrange = [0, inf]', "range to be"),
        ('kind = "number"\nrange = [0, 1]\nbinz = 3', "Did you mean 'bins'"),
        ('kind = "date"\nrange = ["2020-01-01", "2020-13-01"]', "to be dates"),
        ('kind = "datetime"\nrange = ["2020-01-01T00:00:00+00:00", "2021-01-01"]', "time zone"),
        ('kind = "category"\nvalues = ["a", "a"]', "to be different"),
        ('kind = "category"\nvalues = ["a"]\ntype = "float"', "type of the kind"),
        ('kind = "boolean"\nbins = 3', "bins has no meaning"),
        ('kind = "number"\nrange = [0, 1]\nbins = 3\nedges = [0.5]', "at most one of"),
        ('kind = "number"\nrange = [0, 1]\nedges = [0.5, 0.2]', "ascend inside"),
    ],
)
def test_an_error_names_the_file_the_column_and_what_is_accepted(tmp_path, text, message):
    path = tmp_path / "s.toml"
    path.write_text('[[column]]\nname = "age"\n' + text)
    with pytest.raises(ValueError, match=message) as error:
        load_schema(path)
    assert str(error.value).startswith(f"{path}: column 'age': ")


def test_columns_are_chosen_by_their_names():
    assert EVERY_KIND.drop(["age", "job"]).names == ("height", "married", "born", "seen", "rooms")
    with pytest.raises(ValueError, match="Did you mean 'height'"):
        EVERY_KIND.select(["hight"])


def test_a_column_that_nobody_confirmed_is_named():
    column = Column(name="x", kind="boolean", public=False)
    assert Schema(columns=(column,)).unconfirmed == ("x",)
    schema = Schema(columns=(column, Column(name="y", kind="boolean", drafted=True)))
    assert schema.unconfirmed == ("x", "y")
    assert schema.confirmed({"y": "a question of the form"}).unconfirmed == ("x",)
    again = Schema.from_table(schema.confirmed({"x": "as y", "y": "a form"}).as_table())
    assert [one.source for one in again.columns] == ["stated", "confirmed"]
    with pytest.raises(ValueError, match="'z'"):
        schema.confirmed({"z": "a form"})
    with pytest.raises(ValueError, match="a reason"):
        Column(name="x", kind="boolean", public=" ")


def test_a_range_is_one_that_the_type_has():
    with pytest.raises(ValueError, match=r"range to be in \[0, 255\], as the type uint8 is"):
        Column(name="n", kind="integer", type="uint8", range=(0, 256))
    with pytest.raises(ValueError, match="as the type decimal128"):
        Column(name="n", kind="number", type="decimal128(3, 1)", range=(0.0, 100.0))


def test_a_draft_describes_every_kind_of_column_and_confirms_none(tmp_path):
    table = table_of(EVERY_KIND, 400, 0)
    draft = draft_schema(table, keep=table.column_names)
    (tmp_path / "s.toml").write_text(draft.as_toml())
    schema = load_schema(tmp_path / "s.toml")
    assert schema == draft.schema
    assert schema.unconfirmed == tuple(table.column_names)
    assert [c.type for c in schema.columns] == [c.type for c in EVERY_KIND.columns]
    kinds = ["number", "integer", "category", "boolean", "date", "datetime", "integer"]
    assert [c.kind for c in schema.columns] == kinds
    assert [c.missing for c in schema.columns] == [c.missing for c in EVERY_KIND.columns]
    codes = encode(table, schema)
    again = decode(codes, schema, draws=np.random.default_rng(0))
    assert again.schema.equals(table.schema)


def test_ranges_are_rounded_outwards():
    table = pa.table(
        {
            "age": [17, 64, 89],
            "wage": [0.5, 99.25, 3871.75],
            "share": [0.012, 0.5, 0.031],
            "day": [dt.date(1999, 5, 2), dt.date(2003, 1, 1), dt.date(2001, 1, 1)],
            "same": [2.5, 2.5, 2.5],
        }
    )
    schema = draft_schema(table).schema
    assert schema["age"].range == (15, 90)
    assert schema["wage"].range == (0.0, 3900.0)
    assert (schema["wage"].decimals, schema["share"].decimals) == (2, 3)
    assert schema["share"].range == (0.0, 0.5)
    assert schema["day"].range == ("1999-01-01", "2003-12-31")
    low, high = schema["same"].range
    assert low <= 2.5 <= high
    for name in table.column_names:
        column = schema[name]
        for value in (table[name][i].as_py() for i in range(3)):
            steps = column.steps_of(value.isoformat() if isinstance(value, dt.date) else value)
            assert column.cuts[0] <= steps <= column.cuts[-1]


def test_what_may_name_people_is_left_out_with_the_reason():
    many = 1000
    table = pa.table(
        {
            "patient name": ["a", "b"] * 500,
            "note": [f"n{i % 201}" for i in range(many)],
            "who": [f"secret{i % 150}" for i in range(180)] + ["x"] * 820,
            "who else": [f"secret{i}" for i in range(180)] + [None] * 820,
            "number": list(range(many)),
            "large": [2**60 + i // 2 for i in range(many)],
            "day": ["12/31/2020", "1/2/2021"] * 500,
            "share": ["1,5", "2,25"] * 500,
            "none": pa.nulls(many),
            "visitor": [f"{a} {b}" for a in ("Ann", "Bo", "Cy") for b in ("Doe", "Roe")] * 166
            + ["Ann Doe"] * 4,
            "job": ["clerk"] * 997 + ["spy", "boss", "king"],
        }
    )
    draft = draft_schema(table, keep=["who"])
    reasons = dict(draft.proposed)
    assert draft.schema.names == ("who", "job")
    assert draft.schema["who"].values == ("x",)
    assert (draft.schema["job"].values, draft.schema["job"].other) == (("clerk",), "other")
    for name, why in (
        ("patient name", "identifier"),
        ("note", "nearly all"),
        ("who else", "nearly all"),
        ("number", "numbers of people"),
        ("large", "64 bits"),
        ("day", "2020-12-31"),
        ("share", "with a point"),
        ("none", "no values"),
        ("visitor", "names or addresses of people"),
    ):
        assert why in reasons[name]
    assert "secret" not in draft.as_toml()


@pytest.mark.parametrize("header", ["alice,34", "2020-01-02,b", ",b"])
def test_a_record_in_the_place_of_names_is_not_quoted(tmp_path, header):
    (tmp_path / "t.csv").write_text(f"{header}\nbob,35\n")
    with pytest.raises(ValueError, match="first line to name the columns") as error:
        draft_schema(read(tmp_path / "t.csv"))
    assert "alice" not in str(error.value)


def test_signs_of_files_are_understood(tmp_path):
    lines = "zip;age;pay;state\n" + "02134;NA;1.5;NA\n90210;41;?;MA\n" * 50
    (tmp_path / "t.csv").write_text(lines)
    schema = draft_schema(read(tmp_path / "t.csv")).schema
    assert schema["zip"].values == ("02134", "90210")
    assert [schema[name].kind for name in ("age", "pay", "state")] == [
        "integer", "number", "category"
    ]  # fmt: skip
    assert schema["age"].missing


def test_a_draft_whose_domains_are_paid_for_reads_names_and_kinds_alone():
    table = table_of(EVERY_KIND, 400, 0)
    draft = draft_schema(table, paid=True, keep=table.column_names)
    other = draft_schema(table_of(EVERY_KIND, 300, 1), paid=True, keep=table.column_names)
    assert draft == other
    assert all(column.is_open for column in draft.schema.columns if column.paid)


def test_free_text_is_refused_with_what_to_do():
    table = pa.table({"id": [f"n{i}" for i in range(MOST_CATEGORIES + 1)], "none": [None] * 201})
    with pytest.raises(ValueError, match=r"2 columns of 2 would be left out.*--keep"):
        draft_schema(table)
    with pytest.raises(ValueError, match="to name columns of the table"):
        draft_schema(table, drop=["other"])
    kept = pa.table({"id": table["id"], "x": [1.5] * 201})
    assert draft_schema(kept, drop=["id"], bins=5).schema["x"].parts == 5


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_of_all_units_are_drafted_by_the_year(unit, zone):
    values = pa.array([1_600_000_000, 1_650_000_000], type=pa.timestamp("s", tz=zone))
    table = pa.table({"t": values.cast(pa.timestamp(unit, tz=zone))})
    schema = draft_schema(table).schema
    assert schema["t"].range[0].startswith("2020-01-01T00:00:00")
    assert schema["t"].range[1].startswith("2022-12-31T23:59:59")
    assert encode(table, schema)[:, 0].tolist() == [7, 24]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([-128, 127], pa.int8()),
        pa.array([0, 255], pa.uint8()),
        pa.array([3, 30_001], pa.int16()),
        pa.array([Decimal("1.5"), Decimal("99.9")], pa.decimal128(3, 1)),
        pa.array([float("nan"), 1.5, 2.5]),
    ],
    ids=str,
)
def test_a_drafted_range_is_inside_of_its_type(values):
    table = pa.table({"x": values})
    schema = draft_schema(table).schema
    codes = np.arange(schema.domain[0]).repeat(100)[:, None]
    found = decode(codes, schema, draws=np.random.default_rng(0))
    assert found.schema.field("x").type == values.type


def test_times_that_no_calendar_has_are_left_out():
    days = pa.array([2**31 - 1], pa.int32()).cast(pa.date32())
    draft = draft_schema(pa.table({"far": days, "near": [1]}))
    assert draft.proposed == (("far", "no range holds its values"),)
