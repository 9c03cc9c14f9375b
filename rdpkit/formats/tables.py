"""Events and guarantees as tables of plain values, in both directions: TOML and JSON files."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.events import MECHANISMS, Event, event_from_parameters, parameters_of
from rdpkit.events.identity import size
from rdpkit.formats.records import as_plain
from rdpkit.guarantee import Enclosure, Guarantee, UncertifiedEnclosure

_MOST_EVENTS = 10**7


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    # tomllib also raises plain ValueError, for bytes that are no text and for too many digits.
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from None


def read_event(path: str | Path) -> Event:
    """Read an event from a TOML file with a key ``mechanism`` and the mechanism's parameters.

    Raises
    ------
    ValueError
        If the file is not TOML, or does not describe an event; the message names the file.
    OSError
        If the file cannot be read.
    """
    return event_in_file(path, read_toml(path))


def event_in_file(path: str | Path, table: Mapping[str, Any]) -> Event:
    """The event that the content of a file describes."""
    if not isinstance(table.get("mechanism"), str):
        raise ValueError(
            f"{path}: expected a key 'mechanism', one of " + ", ".join(sorted(MECHANISMS)) + "."
        )
    try:
        return event_from_table(table)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def mechanism_name(text: str) -> str:
    """The name of a mechanism as events spell it: dashes and underscores mean the same."""
    return text.replace("-", "_")


def event_from_table(table: Any) -> Event:
    """The event that a table describes: a key ``mechanism``, and the mechanism's parameters.

    Parameters
    ----------
    table : mapping of str to value
        As a TOML file or :func:`event_to_table` has it. Nested events are tables, and the text
        "inf" stands for infinity, which JSON cannot hold.

    Raises
    ------
    ValueError
        If it does not describe an event.
    """
    if not isinstance(table, Mapping) or not isinstance(table.get("mechanism"), str):
        raise _validate.fail("event", "to be a table with a key 'mechanism'", table)
    parameters = _as_events_spell(table)
    return event_from_parameters(parameters.pop("mechanism"), parameters)


def event_to_table(event: Event) -> dict[str, Any]:
    """An event as plain values that JSON can hold; nested events are tables too.

    Raises
    ------
    ValueError
        If it is made of more events than can be written out.
    """
    if size(event) > _MOST_EVENTS:
        raise ValueError(
            f"An event made of at most {_MOST_EVENTS} others can be written out, got one of "
            f"{size(event)}; rdpkit.Repeated says how often an event is released in one line."
        )
    table: dict[str, Any] = {"mechanism": event.mechanism}
    for parameter in parameters_of(type(event)):
        value = getattr(event, parameter.name)
        if value is not None:
            table[parameter.name] = _plain(value)
    return table


def guarantee_from_table(table: Any) -> Guarantee:
    """The guarantee of a table that ``Guarantee.as_dict`` made.

    Raises
    ------
    ValueError
        If a key is unknown or missing, or its value is not accepted.
    """
    if not isinstance(table, Mapping):
        raise _validate.fail("guarantee", "to be a table", table)
    check_keys(
        "guarantee",
        table,
        required=("bound", "kind", "epsilon", "delta", "adjacency", "assumptions", "notes"),
        optional=("order", "conversion", "computed", "enclosure", "rigorous", "lower", "asked"),
    )
    for key in ("bound", *(["conversion"] if "conversion" in table else [])):
        if not isinstance(table[key], str):
            raise _validate.fail(f"guarantee's {key}", "to be a string", table[key])
    return Guarantee(
        epsilon=_number("guarantee's epsilon", table["epsilon"], minimum=0.0),
        delta=_validate.open_probability("guarantee's delta", table["delta"]),
        adjacency=Adjacency.parse(table["adjacency"], name="guarantee's adjacency"),
        bound=table["bound"],
        kind=Kind(_validate.choice("guarantee's kind", table["kind"], [k.value for k in Kind])),
        order=_number("guarantee's order", table["order"]) if "order" in table else None,
        conversion=table.get("conversion"),
        computed=_computed(table),
        assumptions=strings("guarantee's assumptions", table["assumptions"]),
        notes=strings("guarantee's notes", table["notes"]),
        lower=_number("guarantee's lower", table["lower"], minimum=0.0)
        if "lower" in table
        else None,
        asked=_asked(table.get("asked", "epsilon")),
    )


def _asked(value: Any) -> Literal["epsilon", "delta"]:
    names = ("epsilon", "delta")
    return "delta" if _validate.choice("guarantee's asked", value, names) == "delta" else "epsilon"


def check_keys(
    name: str,
    table: Mapping[str, Any],
    *,
    required: tuple[str, ...],
    optional: tuple[str, ...] = (),
) -> None:
    """Check that a table has every key that is required, and no key that is unknown."""
    for key in table:
        if key not in required and key not in optional:
            hint = _validate.did_you_mean(key, (*required, *optional))
            raise ValueError(f"Unknown key {key!r} in {name}; it has {', '.join(required)}.{hint}")
    for key in required:
        if key not in table:
            raise ValueError(f"Missing key {key!r} in {name}.")


def strings(name: str, value: Any) -> tuple[str, ...]:
    """A list of strings, as a tuple."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _validate.fail(name, "to be a list of strings", value)
    return tuple(value)


def _computed(table: Mapping[str, Any]) -> Enclosure | UncertifiedEnclosure | None:
    """Tables that were written before there was a key of that name call it an enclosure."""
    name = "computed" if "computed" in table else "enclosure"
    if name not in table:
        return None
    ends = table[name]
    if not isinstance(ends, list) or len(ends) != 2:
        raise _validate.fail(f"guarantee's {name}", "to be a list of two numbers", ends)
    rigorous = _validate.one_of_a_kind("guarantee's rigorous", table.get("rigorous"), bool)
    lower, upper = (_number(f"guarantee's {name}", end) for end in ends)
    return (Enclosure if rigorous else UncertifiedEnclosure)(lower=lower, upper=upper)


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        return event_to_table(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return as_plain(value)


def _as_events_spell(value: Any) -> Any:
    """The value with "inf" as a number and mechanisms by the names that events have."""
    if isinstance(value, (list, tuple)):
        return [_as_events_spell(item) for item in value]
    if isinstance(value, Mapping):
        found = {key: _as_events_spell(item) for key, item in value.items()}
        name = found.get("mechanism")
        return {**found, "mechanism": mechanism_name(name)} if isinstance(name, str) else found
    return math.inf if isinstance(value, str) and value == "inf" else value


def _number(name: str, value: Any, *, minimum: float = -math.inf) -> float:
    number = {"inf": math.inf, "-inf": -math.inf}.get(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not number >= minimum:
        raise _validate.fail(name, 'to be a number or "inf"', value)
    return float(number)
