"""The manifest of a release: what was released, how, and what it guarantees, as plain JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rdpkit import Event, Guarantee, Kind, _validate
from rdpkit.formats.tables import (
    check_keys,
    event_from_table,
    event_to_table,
    guarantee_from_table,
    strings,
)

FORMAT = 1
"""The version of the format; other versions are refused."""

_LARGEST_FILE = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description of a release: what it is, how it was made and what it guarantees.

    Parameters
    ----------
    mechanism : str
        What produced it; the event's name unless several mechanisms share an event.
    parameters : mapping
        Everything that produced it, as plain JSON values, including what is not in the event.
    event : Event or None
        What was released; None for a baseline without any privacy.
    guarantee : Guarantee or None
        What ``rdpkit.epsilon`` says of the event; None where there is none.
    reproducible_noise : bool
        Whether the noise came from a seed. Whoever knows the seed can subtract the noise.
    private : bool
        Whether the guarantee holds: it exists, is finite, and the noise is secret.
    notes : tuple of str
        What a reader has to know, such as a use of private statistics that no account covers.
    versions : mapping of str to str
        Versions of the program and of the libraries that it used.
    arrays : mapping of str to mapping
        ``shape``, ``dtype`` and ``sha256`` of every array; the hash is of its bytes in C order.

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
        if self.private and not _is_finite_bound(self.guarantee):
            raise ValueError("Expected private to be false without a finite guarantee.")
        if (self.event is None) != (self.guarantee is None):
            raise ValueError("Expected an event together with its guarantee, or neither.")
        # Parameters that JSON cannot hold would be lost or raise when the release is saved.
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
            "event": None if self.event is None else event_to_table(self.event),
            "parameters": dict(self.parameters),
            "notes": list(self.notes),
            "versions": dict(self.versions),
            "arrays": {name: dict(entry) for name, entry in self.arrays.items()},
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Manifest:
        """The manifest from a table that :meth:`as_dict` has made.

        Raises
        ------
        ValueError
            If a key is unknown or missing, or its value is not accepted.
        """
        if not isinstance(table, Mapping):
            raise _validate.fail("the manifest", "to be a table", table)
        if table.get("format") != FORMAT:
            raise _validate.fail("format", f"to be {FORMAT}", table.get("format"))
        check_keys(
            "the manifest",
            table,
            required=("format", *(one.name for one in fields(cls))),
        )
        for name in ("parameters", "versions", "arrays"):
            if not isinstance(table[name], Mapping):
                raise _validate.fail(name, "to be a table", table[name])
        return cls(
            mechanism=table["mechanism"],
            parameters=table["parameters"],
            event=_event(table["event"]),
            guarantee=None
            if table["guarantee"] is None
            else guarantee_from_table(table["guarantee"]),
            reproducible_noise=table["reproducible_noise"],
            private=table["private"],
            notes=strings("notes", table["notes"]),
            versions=dict(table["versions"]),
            arrays=dict(table["arrays"]),
        )


def load_manifest(path: str | Path) -> Manifest:
    """Read a manifest from its JSON file, without reading the arrays.

    Parameters
    ----------
    path : str or Path
        The JSON file.

    Returns
    -------
    Manifest
        What the file says. :func:`rdpkit.mechanisms.releases.release.check_arrays` tells whether
        the arrays are those that it describes.

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


def _event(table: Any) -> Event | None:
    try:
        return None if table is None else event_from_table(table)
    except ValueError as error:
        raise ValueError(f"In event: {error}") from None


def _is_finite_bound(guarantee: Guarantee | None) -> bool:
    return (
        guarantee is not None
        and guarantee.kind is Kind.UPPER
        and math.isfinite(guarantee.epsilon)
        and guarantee.delta < 1.0
    )


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


__all__ = ["FORMAT", "Manifest", "load_manifest"]
