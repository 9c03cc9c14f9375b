"""The rows of a sweep: the values of each parameter, and the event that each row stands for."""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rdpkit._validate import did_you_mean
from rdpkit.cli.event_commands import with_adjacency
from rdpkit.cli.option_types import dashed, option_name, parameter_name
from rdpkit.events import MECHANISMS, Event, Parameter, event_from_parameters, parameters_of
from rdpkit.formats import columns
from rdpkit.formats.tables import event_in_file, read_toml

_SYNTAX = "X,X,... or FROM:TO:COUNT, with :log at the end for equal ratios"

_LARGEST = 10_000_000


def numbers(
    name: str,  # The option or the path that gives them, for errors
    # Numbers with commas between them, or ``FROM:TO:COUNT``, both ends included, or
    # ``FROM:TO:COUNT:log``.
    text: str,
) -> list[float]:
    """Read the values that one parameter takes.

    Examples
    --------
    >>> numbers("noise", "1,2.5")
    [1.0, 2.5]
    >>> numbers("noise", "0:1:3")
    [0.0, 0.5, 1.0]
    >>> numbers("noise", "1:100:3:log")
    [1.0, 10.0, 100.0]
    """
    try:
        if ":" not in text:
            return [_finite(item) for item in text.split(",")]
        parts = text.split(":")
        scale = parts.pop() if len(parts) == 4 else ""
        if len(parts) != 3 or scale not in ("", "log"):
            raise ValueError
        first, last, count = _finite(parts[0]), _finite(parts[1]), int(parts[2])
        if not 1 <= count <= _LARGEST or (scale and not (first > 0.0 and last > 0.0)):
            raise ValueError
        spaced = np.geomspace if scale else np.linspace
        found: list[float] = spaced(first, last, count).tolist()
    except ValueError:
        raise ValueError(f"Expected {name} to be {_SYNTAX}, got {text!r}.") from None
    return found


def integers(name: str, text: str) -> list[int]:
    """Read the integers that one parameter takes; a range is rounded and keeps each once.

    Examples
    --------
    >>> integers("count", "1:1000:4:log")
    [1, 10, 100, 1000]
    """
    found = numbers(name, text)
    if ":" in text:
        return sorted({round(value) for value in found})
    if any(value != math.floor(value) for value in found):
        raise ValueError(f"Expected {name} to be integers with commas between them, got {text!r}.")
    return [int(value) for value in found]


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


_STEP = re.compile(r"[A-Za-z_]\w*|\[\d+\]")

Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class MechanismSource:
    """A mechanism whose parameters vary."""

    name: str  # As the library spells it
    adjacency: str  # The neighbouring relation, which is a parameter of a few mechanisms
    parameters: Mapping[str, Parameter]  # The mechanism's parameters by their names

    @classmethod
    def of(cls, name: str, adjacency: str) -> MechanismSource:
        """The source for a mechanism."""
        return cls(
            name, adjacency, {option_name(p.name): p for p in parameters_of(MECHANISMS[name])}
        )

    own: ClassVar[tuple[str, ...]] = ("count", "delta")
    """Columns that are no parameters of the event, which may be repeated."""

    def grid(self, given: Mapping[str, Any]) -> Columns:
        """The values of every parameter that is given."""
        found = {
            key: _values(self.parameters[key], text)
            for key, text in given.items()
            if key in self.parameters and text is not None
        }
        return {**found, "count": integers("--count", given["count"])}

    def check_column(self, table: Path, column: str) -> None:
        """Columns are parameters, count and delta."""
        known = (*self.parameters, *self.own)
        if column not in known:
            raise ValueError(
                f"{table}: expected columns among {', '.join(known)}, got {column!r}."
                + did_you_mean(column, known)
            )

    def event(self, row: Mapping[str, Any]) -> Event:
        """The event; a table may hold an integer as a float."""
        given = {
            parameter_name(key): _whole(self.parameters[key], value) for key, value in row.items()
        }
        return event_from_parameters(self.name, with_adjacency(self.name, given, self.adjacency))


@dataclass(frozen=True, slots=True)
class FileSource:
    """A TOML file that describes an event, of which some numbers vary."""

    path: str  # The file
    content: dict[str, Any]  # What it holds
    counted: bool = False
    """Whether ``--count`` says how often the event is released; otherwise the file does."""

    @classmethod
    def of(cls, path: str, *, counted: bool = False) -> FileSource:
        """The source for a file, which is read now."""
        return cls(path, read_toml(path), counted)

    @property
    def own(self) -> tuple[str, ...]:
        """With ``--count`` a column says how often."""
        return ("count", "delta") if self.counted else ("delta",)

    def grid(self, given: Mapping[str, Any]) -> Columns:
        """The values of every number that ``--vary`` names."""
        found = {}
        for text in given["vary"]:
            path, separator, values = text.partition("=")
            if not separator or not _STEP.findall(path):
                raise ValueError(f"Expected --vary to be PATH=AXIS, got {text!r}.")
            self._place(self.content, path)
            read = numbers(f"--vary {path}", values)
            found[path] = [int(v) if v.is_integer() else v for v in read]
        if not self.counted:
            return found
        if "count" in found:
            raise ValueError("Expected --count or --vary count=..., got both.")
        return {**found, "count": integers("--count", given["count"])}

    def check_column(self, table: Path, column: str) -> None:
        """Columns are paths of numbers, and delta."""
        if column not in self.own:
            try:
                self._place(self.content, column)
            except ValueError as error:
                raise ValueError(f"{table}: {error}") from None

    def event(self, row: Mapping[str, Any]) -> Event:
        """The event with some of its numbers replaced."""
        changed = copy.deepcopy(self.content)
        for path, value in row.items():
            place, last = self._place(changed, path)
            # A whole number stays a float where the file has one.
            place[last] = float(value) if isinstance(place[last], float) else value
        return event_in_file(self.path, changed)

    def _place(self, content: dict[str, Any], path: str) -> tuple[Any, Any]:
        """The table or list that holds the number at a path, and its key or index there."""
        parts = [int(p[1:-1]) if p.startswith("[") else p for p in _STEP.findall(path)]
        place: Any = content
        try:
            for part in parts[:-1]:
                place = place[part]
            present = place[parts[-1]]
        except (KeyError, IndexError, TypeError):
            present = None
        if isinstance(present, bool) or not isinstance(present, (int, float)):
            raise ValueError(
                f"Expected {path!r} to be the path of a number in {self.path}, like noise_std, "
                "event.noise_std or events[0].count."
            )
        return place, parts[-1]


Source = MechanismSource | FileSource
"""What is swept: a mechanism with options, or the numbers of a file."""


def columns_of(
    source: Source,  # What is swept
    given: Mapping[str, Any],  # The options that give values, and ``delta``
    # A table that takes the place of the grid; options then give one value each.
    table: Path | None,
) -> Columns:
    """The columns of a sweep, without their answers."""
    axes = source.grid(given)
    if given["delta"] is not None:
        axes["delta"] = numbers("--delta", given["delta"])
    found = _product(axes) if table is None else _from_table(source, axes, table)
    if "delta" not in found:
        raise ValueError("Expected --delta, or a column 'delta' in the table.")
    return found


def _product(axes: Columns) -> Columns:
    combinations = list(itertools.product(*axes.values()))
    return {key: [row[i] for row in combinations] for i, key in enumerate(axes)}


def _from_table(source: Source, axes: Columns, table: Path) -> Columns:
    rows = columns.read(table)
    for column in rows:
        source.check_column(table, column)
    height = len(next(iter(rows.values()), []))
    constants = {}
    for key, values in axes.items():
        if key in rows:
            continue
        if len(values) != 1:
            raise ValueError(f"Expected one value for {key} beside a table, got {len(values)}.")
        constants[key] = values * height
    return {**rows, **constants}


def _values(parameter: Parameter, text: str) -> list[Any]:
    """The values of one parameter: several for a number, one for anything else."""
    name = "--" + dashed(option_name(parameter.name))
    if parameter.kind == "flag" and text not in ("true", "false"):
        raise ValueError(f"Expected {name} to be true or false, got {text!r}.")
    if parameter.kind == "flag":
        return [text == "true"]
    if parameter.kind not in ("number", "integer", "numbers", "integers"):
        return [text]
    found = list((integers if parameter.kind.startswith("integer") else numbers)(name, text))
    if parameter.kind in ("number", "integer"):
        return found
    return [found[0] if parameter.one_for_all and len(found) == 1 else tuple(found)]


def _whole(parameter: Parameter, value: Any) -> Any:
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if parameter.kind == "integer" and whole else value
