"""What follows from the declaration of a field: check, docstring, options and calibration."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Literal

import pytest

from rdpkit.events import MECHANISMS, DiscreteLaplace
from rdpkit.events.base import Event, declared_of
from rdpkit.events.fields import (
    batch,
    choice,
    declared,
    diameter,
    event_class,
    flag,
    integer,
    noise,
    non_negative,
    norm,
    records,
)
from rdpkit.events.free_parameters import NOISE

Colour = Literal["red", "green"]


@event_class
class Toy(Event):
    """A toy.

    Examples
    --------
    >>> 1 + 1
    2
    """

    mechanism: ClassVar[str] = "toy"

    std: float = noise("Its noise, in metres. Nothing else")
    record_norm: float = norm()
    drawn: int = batch("Records that are drawn", most="records_in_all")
    records_in_all: int = records("All records", least="drawn")
    colour: Colour = choice("Its colour", Colour, default="red")
    repeats: int | None = integer("How often", minimum=3, maximum=5, default=None)
    weight: float = non_negative("Its weight", default=0.0)
    loud: bool = flag("Whether it is loud", default=False)
    record_diameter: float | None = diameter(default=None)
    free_form: int = declared("Anything", default=7)

    def _check_together(self) -> None:
        if self.loud and self.colour == "green":
            raise ValueError("green is never loud")


TOY = Toy(std=1, record_norm=2, drawn=3, records_in_all=10)

DOCSTRING = """A toy.

Parameters
----------
std : float
    Its noise, in metres; above 0. Nothing else.
record_norm : float
    Largest L2 norm of one record's vector, in the units of the sum; above 0.
drawn : int
    Records that are drawn; at least 1 and at most records_in_all.
records_in_all : int
    All records; at least drawn.
colour : {"red", "green"}
    Its colour.
repeats : int, optional
    How often; in [3, 5].
weight : float
    Its weight; at least 0.
loud : bool
    Whether it is loud.
record_diameter : float, optional
    Largest L2 distance between two records' vectors, in the units of the sum; above 0 and at most 2
    * record_norm, which is the default.
free_form : int
    Anything.

Raises
------
ValueError
    If a parameter is outside of its range, or parameters do not fit together.

Examples
--------
>>> 1 + 1
2"""


def test_the_docstring_has_the_fields():
    assert Toy.__doc__ == DOCSTRING
    assert TOY.__doc__ == DOCSTRING


def test_values_are_kept_as_their_checks_return_them():
    assert (TOY.std, type(TOY.std)) == (1.0, float)
    assert TOY.repeats is None
    assert replace(TOY, record_diameter=4).record_diameter == 4.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"std": 0.0}, r"Expected std to be a finite number > 0, got 0.0\."),
        ({"std": None}, r"Expected std to be a finite number > 0, got None\."),
        ({"record_norm": float("nan")}, r"Expected record_norm to be a finite number > 0"),
        ({"drawn": 11}, r"Expected drawn to be an integer in \[1, 10\], got 11\."),
        ({"records_in_all": 2}, r"Expected drawn to be an integer in \[1, 2\], got 3\."),
        ({"drawn": 0}, r"Expected drawn to be an integer in \[1, 10\], got 0\."),
        ({"records_in_all": "x"}, r"Expected records_in_all to be an integer >= 1, got 'x'\."),
        ({"colour": "blue"}, r"Expected colour to be one of 'red', 'green', got 'blue'\."),
        ({"repeats": 2}, r"Expected repeats to be an integer in \[3, 5\], got 2\."),
        ({"repeats": True}, r"Expected repeats to be an integer in \[3, 5\], got True\."),
        ({"weight": None}, r"Expected weight to be a finite number >= 0, got None\."),
        ({"loud": 1}, r"Expected loud to be bool, got 1\."),
        ({"record_diameter": 4.1}, r"Expected record_diameter to be at most 2 \* record_norm = 4"),
        ({"loud": True, "colour": "green"}, "green is never loud"),
    ],
)
def test_each_field_is_checked(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(TOY, **changes)


def test_calibration_may_choose_what_the_fields_declare():
    found = replace(TOY, record_diameter=3.0).free_parameters()
    assert list(found) == ["std", "record_norm", "drawn", "records_in_all", "record_diameter"]
    assert found["std"] == NOISE
    assert found["record_norm"].lowest == 1.5
    assert (found["drawn"].highest, found["drawn"].private) == (10, -1)
    assert (found["records_in_all"].lowest, found["records_in_all"].private) == (3, 1)
    assert found["record_diameter"].highest == 4.0


def test_fields_are_declared_in_a_plain_dataclass_too():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Plain(Event):
        """A plain dataclass."""

        std: float = noise("Its noise")
        other: object = None

    assert Plain(std=2.0).free_parameters() == {"std": NOISE}
    with pytest.raises(ValueError, match="Expected std to be"):
        Plain(std=-1.0)


@pytest.mark.parametrize("kind", MECHANISMS.values(), ids=list(MECHANISMS))
def test_every_field_of_every_event_is_declared(kind):
    assert [field.name for field in fields(kind) if declared_of(field) is None] == []
    assert "__post_init__" not in vars(kind), "the checks of fields would be lost"


def test_a_diameter_of_integers_is_at_most_twice_the_norm():
    with pytest.raises(ValueError, match=r"Expected record_diameter to be an integer in \[1, 4\]"):
        DiscreteLaplace(noise_scale=1.0, record_norm=2, record_diameter=5)
