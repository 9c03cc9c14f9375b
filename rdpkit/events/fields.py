"""What a field of an event says of itself, once: its meaning, its range and how it is calibrated.

A field is declared by a function of this module. Its check, its paragraph of the docstring, the
help of its option on the command line and its place among the free parameters follow from that.
"""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import MISSING, dataclass
from functools import partial
from math import ceil
from typing import Any, TypeVar, dataclass_transform, get_args

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events import free_parameters
from rdpkit.events.base import Declared, Event
from rdpkit.events.free_parameters import (
    COORDINATES,
    COUNT,
    NOISE,
    SMALLEST,
    Direction,
    FreeParameter,
    Role,
)
from rdpkit.events.parameters import parameters_of

Free = Callable[[Any], FreeParameter]
EventType = TypeVar("EventType", bound=type[Event])
_WIDTH = 96


def declared(
    text: str,
    *,
    check: Callable[..., Any] | None = None,
    accepted: str = "",
    free: FreeParameter | Free | None = None,
    most: str = "",
    holds_events: bool = False,
    default: Any = MISSING,
) -> Any:
    """A field of an event.

    Parameters
    ----------
    text : str
        What it means, with its unit, in one or more sentences without the last full stop.
    check : callable, optional
        ``check(name, value)`` returns the value to keep, or raises a ValueError. With ``most`` it
        is given ``maximum=`` as well. None and a default that is not replaced are not checked.
    accepted : str
        The range in words, which follow the first sentence.
    free : FreeParameter or callable, optional
        How calibration may choose it, perhaps as a function of the event.
    most : str
        The name of another field, which limits it.
    holds_events : bool
        Whether its values are events, which the event is made of.
    default : object
        Its default; without one it has to be given.
    """
    first, stop, rest = text.partition(". ")
    words = f"{first}; {accepted}" if accepted else first
    made = free if free is None or callable(free) else lambda _: free
    about = Declared(
        text=f"{words}{stop}{rest}.", check=check, free=made, most=most, holds_events=holds_events
    )
    return dataclasses.field(default=default, metadata={"declared": about})


def noise(
    text: str = "Standard deviation of the noise in each coordinate, in the units of the sum",
) -> Any:
    """The size of noise: above 0, and more of it is more private."""
    return declared(text, check=_validate.positive, accepted="above 0", free=NOISE)


def positive(
    text: str, *, private: Direction | None = None, role: Role = "", default: Any = MISSING
) -> Any:
    """A number above 0; calibration may choose it if it is said which values are private."""
    free = None if private is None else free_parameters.number(private, role=role)
    return declared(text, check=_validate.positive, accepted="above 0", free=free, default=default)


def non_negative(
    text: str, *, private: Direction | None = None, role: Role = "", default: Any = MISSING
) -> Any:
    """A number of at least 0, as :func:`positive`."""
    free = None if private is None else free_parameters.number(private, role=role)
    return declared(
        text, check=_validate.non_negative, accepted="at least 0", free=free, default=default
    )


def norm(
    text: str = "Largest L2 norm of one record's vector, in the units of the sum", *, more: str = ""
) -> Any:
    """The largest norm of a record: above 0, and larger records are less private."""
    return declared(_with(text, more), check=_validate.positive, accepted="above 0", free=_norm)


def diameter(
    text: str = "Largest L2 distance between two records' vectors, in the units of the sum",
    *,
    more: str = "",
    free: bool = True,
    default: Any = MISSING,
) -> Any:
    """The largest distance of two records, of which ``record_norm`` bounds the norms."""
    return declared(
        _with(text, more),
        check=_diameter,
        accepted="above 0 and at most 2 * record_norm, which is the default",
        free=_free_diameter if free else None,
        most="record_norm",
        default=default,
    )


def _with(text: str, more: str) -> str:
    return f"{text}. {more}" if more else text


def _norm(event: Any) -> FreeParameter:
    given = getattr(event, "record_diameter", None) or 0.0
    return free_parameters.number(-1, lowest=given / 2.0 or SMALLEST)


def _free_diameter(event: Any) -> FreeParameter:
    return free_parameters.number(-1, highest=2.0 * event.record_norm)


def _diameter(name: str, value: Any, *, maximum: float) -> float:
    """A diameter that is given: at most twice the norm, but for a rounding."""
    found, largest = _validate.positive(name, value), 2.0 * maximum
    if found > largest * (1.0 + 1e-12):
        raise _validate.fail(name, f"to be at most 2 * record_norm = {largest}", value)
    return found


def probability(text: str, *, default: Any = MISSING) -> Any:
    """The probability with which a record takes part: in [0, 1], and less is more private."""
    return declared(
        text,
        check=_validate.probability,
        accepted="in [0, 1]",
        free=free_parameters.number(-1, highest=1.0, role="batch"),
        default=default,
    )


def integer(
    text: str,
    *,
    minimum: int = 1,
    maximum: int | None = None,
    accepted: str = "",
    free: FreeParameter | Free | None = None,
    most: str = "",
    default: Any = MISSING,
) -> Any:
    """An integer from a minimum to a maximum, or to the value of the field ``most``."""
    words = f"at least {minimum}" if maximum is None else f"in [{minimum}, {maximum}]"
    return declared(
        text,
        check=partial(_integer, minimum, maximum),
        accepted=accepted or (f"{words} and at most {most}" if most else words),
        free=free,
        most=most,
        default=default,
    )


def _integer(
    minimum: int, most: int | None, name: str, value: Any, *, maximum: int | None = None
) -> int:
    return _validate.integer(name, value, minimum=minimum, maximum=maximum or most)


def count(text: str, *, default: Any = MISSING) -> Any:
    """How often something is released: at least 1, and less is more private."""
    return integer(text, free=COUNT, default=default)


def coordinates(text: str) -> Any:
    """How many coordinates something has: at least 1, and less is more private."""
    return integer(text, free=COORDINATES)


def batch(text: str, *, most: str) -> Any:
    """How many of the records take part, ``most`` of them at most; less is more private."""

    def free(event: Any) -> FreeParameter:
        return free_parameters.integer(-1, highest=getattr(event, most), role="batch")

    return integer(text, most=most, free=free)


def records(text: str, *, minimum: int = 1, least: str = "") -> Any:
    """How many records there are, of which the field ``least`` takes some; more is more private."""

    def free(event: Any) -> FreeParameter:
        lowest = getattr(event, least) if least else minimum
        return free_parameters.integer(1, lowest=lowest, role="records")

    return integer(text, minimum=minimum, accepted=f"at least {least or minimum}", free=free)


def sizes(text: str, *, least: str) -> Any:
    """How many records each class has, of which ``least`` are taken; more is more private."""

    def free(event: Any) -> FreeParameter:
        return free_parameters.integers(1, lowest=ceil(getattr(event, least)), role="records")

    accepted = f"each at least {least}"
    return declared(text, check=_validate.integers, accepted=accepted, free=free)


def flag(text: str, *, default: Any = MISSING) -> Any:
    """True or false."""
    return declared(text, check=partial(_validate.one_of_a_kind, kind=bool), default=default)


def choice(text: str, options: Any, *, default: Any = MISSING) -> Any:
    """One of the names of a ``Literal``."""
    return declared(
        text, check=partial(_validate.choice, options=get_args(options)), default=default
    )


def relation(text: str) -> Any:
    """A neighbouring relation, of which the name will do."""
    return declared(text, check=lambda _, value: Adjacency.parse(value))


def part(text: str) -> Any:
    """An event inside of this one."""
    check = partial(_validate.one_of_a_kind, kind=Event)
    return declared(text, check=check, holds_events=True)


def parts(text: str) -> Any:
    """Several events inside of this one."""
    return declared(text, check=_events, accepted="at least one event", holds_events=True)


def _events(name: str, value: object) -> tuple[Event, ...]:
    condition = "to be a non-empty sequence of events"
    if not isinstance(value, (tuple, list)) or not value:
        raise _validate.fail(name, condition, value)
    if not all(isinstance(item, Event) for item in value):
        raise _validate.fail(name, condition, value)
    return tuple(value)


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    field_specifiers=(
        batch,
        choice,
        coordinates,
        count,
        declared,
        diameter,
        flag,
        integer,
        noise,
        non_negative,
        norm,
        part,
        parts,
        positive,
        probability,
        records,
        relation,
        sizes,
    ),
)
def event_class(cls: EventType) -> EventType:
    """A decorator that makes a class a frozen dataclass, with its parameters in the docstring."""
    written = cls.__doc__ or ""
    made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    made.__doc__ = _Docstring(written)  # type: ignore[assignment]
    return made  # type: ignore[return-value]


class _Docstring:
    """The docstring of an event; the sections about its parameters are made when it is read."""

    def __init__(self, written: str) -> None:
        self._written = written

    def __get__(self, instance: object, owner: type[Event]) -> str:
        entries = [
            f"{parameter.name} : {parameter.annotation()}\n"
            + textwrap.indent(textwrap.fill(parameter.text, _WIDTH, break_on_hyphens=False), "    ")
            for parameter in parameters_of(owner)
        ]
        own = _SECTIONS.format("\n".join(entries)) if entries else ""
        before, heading, after = inspect.cleandoc(self._written).partition("\n\nExamples\n")
        return before + own + heading + after


_SECTIONS = """

Parameters
----------
{}

Raises
------
ValueError
    If a parameter is outside of its range, or parameters do not fit together."""
