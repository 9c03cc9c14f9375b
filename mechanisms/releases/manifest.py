"""The manifest of a release: what was released, how, and what it guarantees, as plain JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rdpkit import (
    Adjacency,
    Enclosure,
    Event,
    Guarantee,
    Kind,
    UncertifiedEnclosure,
    _validate,
    event_from_parameters,
)
from rdpkit.events import parameters_of

FORMAT = 1
"""The version of the format; other versions are refused."""

_LARGEST_FILE = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a release says of itself.

    Parameters
    ----------
    mechanism : str
        What produced it; the event's name unless several mechanisms share an event.
    parameters : mapping
        All that produced it, as plain JSON values, including what is not in the event.
    event : Event or None
        What was released; None for a baseline without any privacy.
    guarantee : Guarantee or None
        What ``rdpkit.epsilon`` says of the event; None where there is none.
    reproducible_noise : bool
        Whether the noise came from a seed: then whoever knows the seed can take it off.
    private : bool
        Whether the guarantee holds: it exists, is finite, and the noise is secret.
    notes : tuple of str
        What a reader has to know, such as an unaccounted use of private statistics.
    versions : mapping of str to str
        Of the program and of the libraries it used.
    arrays : mapping of str to mapping
        For every array ``shape``, ``dtype`` and ``sha256``, of its bytes in C order.

    Raises
    ------
    ValueError
        If a value is not of its kind, or ``private`` is claimed where it cannot be true.
    """

    mechanism: str
    parameters: Mapping[str, Any]
    event: Event | None
    guarantee: Guarantee | None
    reproducible_noise: bool
    private: bool
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, str) or not self.mechanism:
            raise _validate.fail("mechanism", "to be a non-empty string", self.mechanism)
        _validate.one_of_a_kind("event", self.event, (Event, type(None)))
        _validate.one_of_a_kind("guarantee", self.guarantee, (Guarantee, type(None)))
        for name in ("reproducible_noise", "private"):
            _validate.one_of_a_kind(name, getattr(self, name), bool)
        if not isinstance(self.notes, tuple) or not all(isinstance(n, str) for n in self.notes):
            raise _validate.fail("notes", "to be a tuple of strings", self.notes)
        for name, array in self.arrays.items():
            _check_array_entry(name, array)
        if self.private and self.reproducible_noise:
            raise ValueError("Expected private to be false where the noise is reproducible.")
        if self.private and not _says_something(self.guarantee):
            raise ValueError("Expected private to be false without a finite guarantee.")
        if (self.event is None) != (self.guarantee is None):
            raise ValueError("Expected an event together with its guarantee, or neither.")
        # What JSON cannot hold would be lost, or fail, when the release is saved.
        try:
            plain = json.loads(json.dumps(dict(self.parameters), allow_nan=False))
        except (TypeError, ValueError):
            raise _validate.fail(
                "parameters", "to be plain JSON values, none NaN or infinite", self.parameters
            ) from None
        object.__setattr__(self, "parameters", plain)

    @property
    def epsilon(self) -> float:
        """The guarantee's epsilon, an upper bound; inf where there is none."""
        return math.inf if self.guarantee is None else self.guarantee.epsilon

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; infinite numbers are the strings "inf" and "-inf"."""
        return {
            "format": FORMAT,
            "mechanism": self.mechanism,
            "private": self.private,
            "reproducible_noise": self.reproducible_noise,
            "guarantee": None if self.guarantee is None else self.guarantee.as_dict(),
            "event": None if self.event is None else event_table(self.event),
            "parameters": dict(self.parameters),
            "notes": list(self.notes),
            "versions": dict(self.versions),
            "arrays": {name: dict(entry) for name, entry in self.arrays.items()},
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Manifest:
        """The manifest that :meth:`as_dict` made the table of.

        Raises
        ------
        ValueError
            If a key is unknown or missing, or its value is not accepted.
        """
        if not isinstance(table, Mapping):
            raise _validate.fail("the manifest", "to be a table", table)
        if table.get("format") != FORMAT:
            raise _validate.fail("format", f"to be {FORMAT}", table.get("format"))
        _same_keys(
            "the manifest",
            table,
            required=(
                "format",
                "mechanism",
                "private",
                "reproducible_noise",
                "guarantee",
                "event",
                "parameters",
                "notes",
                "versions",
                "arrays",
            ),
        )
        for name in ("parameters", "versions", "arrays"):
            if not isinstance(table[name], Mapping):
                raise _validate.fail(name, "to be a table", table[name])
        return cls(
            mechanism=table["mechanism"],
            parameters=table["parameters"],
            event=None if table["event"] is None else event_from_table(table["event"]),
            guarantee=None if table["guarantee"] is None else guarantee_of(table["guarantee"]),
            reproducible_noise=table["reproducible_noise"],
            private=table["private"],
            notes=_strings("notes", table["notes"]),
            versions=dict(table["versions"]),
            arrays=dict(table["arrays"]),
        )


def load_manifest(path: str | Path) -> Manifest:
    """Read a manifest from its JSON file; the arrays are not looked at.

    Parameters
    ----------
    path : str or Path
        The JSON file.

    Returns
    -------
    Manifest
        What the file says; see :func:`rdpkit.mechanisms.releases.release.check_arrays` for whether
        it is true.

    Raises
    ------
    ValueError
        If the file is not a manifest; the message names the file and what is wrong.
    OSError
        If it cannot be read.
    """
    try:
        if Path(path).stat().st_size > _LARGEST_FILE:
            raise ValueError(f"it has more than {_LARGEST_FILE} bytes.")
        table = json.loads(Path(path).read_bytes(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a manifest in JSON: {error}") from None
    try:
        return Manifest.from_dict(table)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None


def event_table(event: Event) -> dict[str, Any]:
    """An event as plain values, with a key ``mechanism``; nested events are tables too."""
    found: dict[str, Any] = {"mechanism": event.mechanism}
    for parameter in parameters_of(type(event)):
        value = getattr(event, parameter.name)
        if value is not None:
            found[parameter.name] = _plain(value)
    return found


def event_from_table(table: Any) -> Event:
    """The event of a table that :func:`event_table` made.

    Raises
    ------
    ValueError
        If it does not describe an event.
    """
    if not isinstance(table, Mapping) or not isinstance(table.get("mechanism"), str):
        raise _validate.fail("event", "to be a table with a key 'mechanism'", table)
    rest = {key: _numbers(value) for key, value in table.items() if key != "mechanism"}
    try:
        return event_from_parameters(table["mechanism"], rest)
    except ValueError as error:
        raise ValueError(f"In event: {error}") from None


def guarantee_of(table: Any) -> Guarantee:
    """The guarantee of a table that ``Guarantee.as_dict`` made.

    Raises
    ------
    ValueError
        If a key is unknown or missing, or its value is not accepted.
    """
    if not isinstance(table, Mapping):
        raise _validate.fail("guarantee", "to be a table", table)
    _same_keys(
        "guarantee",
        table,
        required=("bound", "kind", "epsilon", "delta", "adjacency", "assumptions", "notes"),
        optional=("order", "conversion", "enclosure", "rigorous"),
    )
    for key in ("bound", *(["conversion"] if "conversion" in table else [])):
        if not isinstance(table[key], str):
            raise _validate.fail(f"guarantee's {key}", "to be a string", table[key])
    enclosure: Enclosure | UncertifiedEnclosure | None = None
    if "enclosure" in table:
        ends = table["enclosure"]
        if not isinstance(ends, list) or len(ends) != 2:
            raise _validate.fail("guarantee's enclosure", "to be a list of two numbers", ends)
        rigorous = _validate.one_of_a_kind("guarantee's rigorous", table.get("rigorous"), bool)
        lower, upper = (_float("guarantee's enclosure", end) for end in ends)
        enclosure = (Enclosure if rigorous else UncertifiedEnclosure)(lower=lower, upper=upper)
    return Guarantee(
        epsilon=_float("guarantee's epsilon", table["epsilon"], minimum=0.0),
        delta=_validate.open_probability("guarantee's delta", table["delta"]),
        adjacency=Adjacency.parse(table["adjacency"], name="guarantee's adjacency"),
        bound=table["bound"],
        kind=Kind(_validate.choice("guarantee's kind", table["kind"], [k.value for k in Kind])),
        order=_float("guarantee's order", table["order"]) if "order" in table else None,
        conversion=table.get("conversion"),
        enclosure=enclosure,
        assumptions=_strings("guarantee's assumptions", table["assumptions"]),
        notes=_strings("guarantee's notes", table["notes"]),
    )


def _says_something(guarantee: Guarantee | None) -> bool:
    return (
        guarantee is not None
        and guarantee.kind is Kind.UPPER
        and math.isfinite(guarantee.epsilon)
        and guarantee.delta < 1.0
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        return event_table(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value.value if isinstance(value, Adjacency) else value


def _numbers(value: Any) -> Any:
    """The same with "inf" as a number again; no event takes a text of that name."""
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _numbers(item) for key, item in value.items()}
    return math.inf if value == "inf" else value


def _float(name: str, value: Any, *, minimum: float = -math.inf) -> float:
    number = {"inf": math.inf, "-inf": -math.inf}.get(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not number >= minimum:
        raise _validate.fail(name, 'to be a number or "inf"', value)
    return float(number)


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _validate.fail(name, "to be a list of strings", value)
    return tuple(value)


def _same_keys(
    name: str,
    table: Mapping[str, Any],
    *,
    required: tuple[str, ...],
    optional: tuple[str, ...] = (),
) -> None:
    for key in table:
        if key not in required and key not in optional:
            raise ValueError(f"Unknown key {key!r} in {name}; it has {', '.join(required)}.")
    for key in required:
        if key not in table:
            raise ValueError(f"Missing key {key!r} in {name}.")


def _check_array_entry(name: str, entry: Any) -> None:
    where = f"arrays[{name!r}]"
    if not isinstance(entry, Mapping) or set(entry) != {"shape", "dtype", "sha256"}:
        raise _validate.fail(where, "to be a table of shape, dtype and sha256", entry)
    if not isinstance(entry["shape"], list) or not all(
        isinstance(size, int) and not isinstance(size, bool) and size >= 0
        for size in entry["shape"]
    ):
        raise _validate.fail(f"{where}'s shape", "to be a list of integers >= 0", entry["shape"])
    for key in ("dtype", "sha256"):
        if not isinstance(entry[key], str):
            raise _validate.fail(f"{where}'s {key}", "to be a string", entry[key])


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


__all__ = ["FORMAT", "Manifest", "event_from_table", "event_table", "load_manifest"]
