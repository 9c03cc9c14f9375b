import numpy as np
import pytest

from rdpkit.mechanisms.data.tables.schema import BINS, Column, Schema, load_schema
from tests.mechanisms.data.tables.tables import EVERY_KIND


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
