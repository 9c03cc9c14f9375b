"""The parameters of an event that calibration may choose, and their ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rdpkit import _validate

Direction = Literal[1, -1, 0]
ValueKind = Literal["number", "integer", "integers"]
Role = Literal["noise", "batch", "count", "records", ""]
"""What a parameter means to people: the size of noise, how much of the data takes part at a time,
how often something is released, how many records there are; empty where it is none of these."""

SMALLEST, LARGEST = 1e-45, 1e45
"""The range of every search. The quotient of two numbers in it is still a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeParameter:
    """One parameter of an event that calibration may choose."""

    private: Direction
    """1 if larger values are more private, -1 if smaller values are, 0 if it depends. Upper bounds
    rest on it: of two releases on disjoint parts of the data that differ in such parameters alone,
    the more private one is not evaluated. Where it is not certain, say 0; one of {1, -1, 0}.
    """
    kind: ValueKind  #: The type of its values; one of {"number", "integer", "integers"}
    # The ends of its range while all other parameters keep their values.
    lowest: float
    highest: float
    scaled: tuple[str, ...] = ()
    """Only if ``private`` is 0: the names of noises. If they are multiplied by high/low, a release
    at ``low`` leaks no more than a release at any value in [low, high] with the noises as they
    were.
    """
    role: Role = ""
    """What it means to people. No number rests on it; it says which parameters are shown together;
    one of {"noise", "batch", "count", "records", ""}.
    """


def number(
    private: Direction, *, lowest: float = SMALLEST, highest: float = LARGEST, role: Role = ""
) -> FreeParameter:
    """A real parameter."""
    return FreeParameter(private=private, kind="number", lowest=lowest, highest=highest, role=role)


def integer(
    private: Direction,
    *,
    lowest: float = 1,
    highest: float = _validate.LARGEST_INTEGER,
    scaled: tuple[str, ...] = (),
    role: Role = "",
) -> FreeParameter:
    """A parameter that is a count."""
    return FreeParameter(
        private=private, kind="integer", lowest=lowest, highest=highest, scaled=scaled, role=role
    )


def integers(private: Direction, *, lowest: float = 1, role: Role = "") -> FreeParameter:
    """A parameter that is one count for each class."""
    return FreeParameter(
        private=private,
        kind="integers",
        lowest=lowest,
        highest=_validate.LARGEST_INTEGER,
        role=role,
    )


NOISE = number(1, role="noise")
"""The standard deviation of noise."""
NORM = number(-1)
"""A bound on the size of a record, where nothing else limits it."""
COUNT = integer(-1, role="count")
"""How often something is released."""
COORDINATES = integer(-1)
"""How many coordinates a release has."""
