"""Tables read by a description of their keys: strict, with one error a mistake, and a schema."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal

import jsonschema
import pytest

from rdpkit.formats import records
from rdpkit.formats.records import Key


@dataclass(frozen=True)
class Point:
    x: float
    names: tuple[str, ...] = ()


POINT = {
    "x": Key(records.number("in [0, 1)", minimum=0.0, below=1.0), needed=True),
    "names": Key(records.texts(), default=()),
}
KEYS = {
    "kind": Key(records.choice(["near", "far"]), "Which of the two.", needed=True),
    "count": Key(records.integer(1), default=3),
    "exact": Key(records.flag()),
    "size": Key(records.optional(records.number(minimum=0.0, maximum=math.inf))),
    "point": Key(records.record(POINT, Point)),
    "points": Key(records.many(records.record(POINT, Point), "points"), default=()),
    "pair": Key(records.row(records.text(), records.integer(0))),
}
FULL = {
    "kind": "far",
    "count": 7,
    "exact": True,
    "size": "inf",
    "point": {"x": 0.5, "names": ["a"]},
    "points": [{"x": 0}],
    "pair": ["b", 0],
}


def test_what_is_left_out_is_its_default():
    found = records.read_table({"kind": "near"}, KEYS)
    assert found == {
        **dict.fromkeys(KEYS),
        "kind": "near",
        "count": 3,
        "points": (),
    }


def test_values_are_read_in_the_form_in_which_they_are_used():
    found = records.read_table(FULL, KEYS)
    assert found["point"] == Point(0.5, ("a",))
    assert found["points"] == (Point(0.0),)
    assert found["pair"] == ("b", 0)
    assert found["size"] == math.inf
    assert records.read_table({"kind": "far", "size": None}, KEYS)["size"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kinf": 1}, r"unknown key 'kinf'; accepted are kind, .*\. Did you mean 'kind'\?"),
        ({"kind": "fare"}, r"kind to be one of 'near', 'far', got 'fare'\. Did you mean 'far'\?"),
        ({"kind": None}, "expected kind to be one of 'near', 'far', got None"),
        ({"count": 0}, r"expected count to be an integer in \[1, 10\^9\], got 0\."),
        ({"count": True}, r"expected count to be an integer in \[1, 10\^9\], got True\."),
        ({"exact": 1}, r"expected exact to be true or false, got 1\."),
        ({"size": -1}, "expected size to be a number, got -1"),
        ({"size": math.nan}, "expected size to be a number, got nan"),
        ({"point": 1}, "expected point to be a table, got 1"),
        ({"point": {"x": 1}}, r"expected x in \[0, 1\), got 1"),
        ({"point": {}}, r"expected x to be a number in \[0, 1\), got None"),
        ({"points": {}}, r"expected points to be a list of points, got \{\}"),
        ({"pair": ["b"]}, r"expected pair to be a list of 2 values, got \['b'\]"),
        ({"pair": ["b", "c"]}, r"expected pair\[1\] to be an integer in"),
    ],
)
def test_a_mistake_is_one_error_with_key_value_and_what_is_accepted(changes, message):
    with pytest.raises(ValueError, match=message):
        records.read_table({**FULL, **changes}, KEYS)


@pytest.mark.parametrize("value", [Decimal("1e400"), Decimal("1e-400"), 10**400, Decimal("nan")])
def test_numbers_beyond_floats_are_refused(value):
    with pytest.raises(ValueError, match="expected x > 0, got "):
        records.number("> 0", above=0.0).read("x", value)


def test_the_schema_says_the_same():
    schema = records.table_schema(KEYS)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["properties"]["kind"]["description"] == "Which of the two."
    check = jsonschema.Draft7Validator(schema).is_valid
    assert check({**FULL, "size": 2.0})
    for wrong in ({"kinf": 1}, {"kind": "x"}, {"count": 0}, {"point": {}}, {"points": [1]}):
        assert not check({**FULL, **wrong})


def test_values_of_json_are_read_as_they_were_written():
    point = Point(0.25, ("a", "b"))
    table = json.loads(json.dumps(records.as_plain({"p": point, "y": math.inf}), allow_nan=False))
    assert table == {"p": {"x": 0.25, "names": ["a", "b"]}, "y": "inf"}
    assert records.record(POINT, Point).read("p", table["p"]) == point
    with pytest.raises(ValueError, match="NaN"):
        records.as_plain(math.nan)
