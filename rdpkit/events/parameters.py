"""The parameters of events as tables and command lines name them, and events built from them."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event, declared_of


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an event, which is a key in TOML and an option on the command line."""

    name: str
    kind: Literal["integer", "integers", "number", "choice", "flag", "event", "events", "numbers"]
    required: bool
    choices: tuple[str, ...] = ()
    nullable: bool = False
    one_for_all: bool = False
    text: str = ""

    def annotation(self) -> str:
        """The type of its values, as a docstring names it."""
        if self.choices == tuple(Adjacency):
            return "Adjacency or str"
        choices = "{" + ", ".join(f'"{choice}"' for choice in self.choices) + "}"
        several = "int or sequence of int" if self.one_for_all else "sequence of int"
        one = {"choice": choices, "integers": several}.get(self.kind, _WORDS[self.kind][0])
        return one + (", optional" if self.nullable else "")

    def describe(self) -> str:
        """What is accepted, in words."""
        if self.kind == "choice":
            return "one of " + ", ".join(repr(choice) for choice in self.choices)
        return _WORDS[self.kind][1]


# For each kind of parameter its type in a docstring, and what is accepted in words.
_WORDS = {
    "integer": ("int", "an integer"),
    "integers": ("sequence of int", "a list of integers"),
    "number": ("float", "a number"),
    "numbers": ("sequence of float", "a list of numbers"),
    "flag": ("bool", "true or false"),
    "choice": ("str", "a name"),
    "event": ("Event", "a table with a key 'mechanism'"),
    "events": ("sequence of Event", "a list of tables, each with a key 'mechanism'"),
}


def _kind_of(annotation: Any) -> tuple[str, tuple[str, ...], bool]:
    """The kind of a parameter, its choices, and whether it may be None."""
    nullable = False
    if get_origin(annotation) in (types.UnionType, typing.Union):
        members = [m for m in get_args(annotation) if m is not type(None)]
        nullable = len(members) < len(get_args(annotation))
        if int in members and any(get_origin(m) is tuple for m in members):
            return "integers", (), nullable
        (annotation,) = members
    if get_origin(annotation) is Literal:
        return "choice", tuple(get_args(annotation)), nullable
    if get_origin(annotation) is tuple:
        inner = get_args(annotation)[0]
        names: dict[Any, str] = {int: "integers", float: "numbers", Event: "events"}
        return names[inner], (), nullable
    if isinstance(annotation, type) and issubclass(annotation, Event):
        return "event", (), nullable
    if isinstance(annotation, type) and issubclass(annotation, str):
        return "choice", tuple(str(m) for m in annotation), nullable  # type: ignore[attr-defined]
    plain: dict[Any, str] = {bool: "flag", int: "integer", float: "number"}
    return plain[annotation], (), nullable


def _one_for_all(annotation: Any) -> bool:
    """Whether a single integer may be given for a list of equal integers."""
    return get_origin(annotation) in (types.UnionType, typing.Union) and int in get_args(annotation)


# Annotations are evaluated once for each type of event.
_READ: dict[type[Event], tuple[Parameter, ...]] = {}


def parameters_of(event_type: type[Event]) -> tuple[Parameter, ...]:
    """The parameters of an event type, in the order in which it declares them."""
    if event_type not in _READ:
        _READ[event_type] = tuple(_read(event_type))
    return _READ[event_type]


def _read(event_type: type[Event]) -> Iterator[Parameter]:
    hints = typing.get_type_hints(event_type)
    for field in dataclasses.fields(event_type):
        kind, choices, nullable = _kind_of(hints[field.name])
        required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        declared = declared_of(field)
        yield Parameter(
            name=field.name,
            kind=typing.cast(Any, kind),
            required=required,
            choices=choices,
            nullable=nullable,
            one_for_all=kind == "integers" and _one_for_all(hints[field.name]),
            text="" if declared is None else declared.text,
        )


def build(mechanism: str, parameters: Mapping[str, Any], known: Mapping[str, type[Event]]) -> Event:
    """Build an event from its mechanism's name and plain parameters."""
    event_type = _known(mechanism, known)
    specification = {p.name: p for p in parameters_of(event_type)}
    for key in parameters:
        if key not in specification:
            raise ValueError(
                f"Unknown parameter {key!r} for mechanism {mechanism!r}; it takes "
                + ", ".join(specification)
                + f".{_validate.did_you_mean(key, specification)}"
            )
    missing = [p.name for p in specification.values() if p.required and p.name not in parameters]
    if missing:
        raise ValueError(
            f"Mechanism {mechanism!r} needs the parameter{'s' if len(missing) > 1 else ''} "
            + ", ".join(f"{name!r} ({specification[name].describe()})" for name in missing)
            + "."
        )
    values = {key: _convert(specification[key], value, known) for key, value in parameters.items()}
    return event_type(**values)


def _known(mechanism: Any, known: Mapping[str, type[Event]]) -> type[Event]:
    """The event type of that name. Packages that add events are imported only if needed."""
    if not isinstance(mechanism, str) or mechanism not in known:
        _validate.choice("mechanism", mechanism, sorted(known))
    return known[mechanism]


def check_given(
    mechanism: str, parameters: Mapping[str, Any], known: Mapping[str, type[Event]]
) -> None:
    """Check the parameters that are given, although others are missing.

    Missing parameters are filled with values that fit almost anything, once with small integers and
    once with large ones. An error is only passed on if both fail, and it is about a parameter that
    was given.
    """
    try:
        _check_filled(mechanism, parameters, known, integer=1)
    except ValueError:
        # A batch of 256 does not fit one record, and may well fit those that are missing.
        try:
            _check_filled(mechanism, parameters, known, integer=_MANY)
        except ValueError:
            pass
        else:
            return
        raise


_MANY = 10**9


def _check_filled(
    mechanism: str, parameters: Mapping[str, Any], known: Mapping[str, type[Event]], *, integer: int
) -> None:
    fitting: dict[str, Any] = {
        "integer": integer,
        "integers": (_validate.LARGEST_INTEGER,),
        "number": 1.0,
        "numbers": (2.0,),
        "flag": False,
    }
    filled = dict(parameters)
    own = parameters_of(_known(mechanism, known))
    for parameter in own:
        if parameter.required and parameter.name not in filled and parameter.kind in fitting:
            filled[parameter.name] = fitting[parameter.kind]
        elif parameter.required and parameter.kind == "choice":
            filled.setdefault(parameter.name, parameter.choices[0])
    try:
        build(mechanism, filled, known)
    except ValueError as error:
        about_what_is_missing = any(
            str(error).startswith((f"Expected {name} ", f"Mechanism {mechanism!r} needs"))
            for name in (*filled, *(parameter.name for parameter in own))
            if name not in parameters
        )
        if not about_what_is_missing:
            raise


def _convert(parameter: Parameter, value: Any, known: Mapping[str, type[Event]]) -> Any:
    if parameter.kind == "event":
        return _nested(parameter.name, value, known)
    if parameter.kind == "events":
        if not isinstance(value, (list, tuple)):
            raise _validate.fail(parameter.name, f"to be {parameter.describe()}", value)
        return tuple(_nested(f"{parameter.name}[{i}]", v, known) for i, v in enumerate(value))
    if parameter.kind == "flag" and not isinstance(value, bool):
        raise _validate.fail(parameter.name, "to be true or false", value)
    return value


def _nested(name: str, value: Any, known: Mapping[str, type[Event]]) -> Event:
    if not isinstance(value, Mapping) or not isinstance(value.get("mechanism"), str):
        raise _validate.fail(name, "to be a table with a key 'mechanism'", value)
    inner = {key: item for key, item in value.items() if key != "mechanism"}
    try:
        return build(value["mechanism"], inner, known)
    except ValueError as error:
        raise ValueError(f"In {name}: {error}") from None
