"""Placeholders for parameters that are searched for, and that a description may leave out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from rdpkit import _validate
from rdpkit.events import MECHANISMS, Parameter, parameters_of
from rdpkit.formats.tables import mechanism_name

Wanted = Callable[[str], bool]
"""Whether the parameter at a path is searched for."""

# Values of a usual size that events accept whatever their other parameters are.
_FITTING: Mapping[str, Any] = {
    "sampling_probability": 0.5,
    "min_eigenvalue": 0.5,
    "population_size": _validate.LARGEST_INTEGER,
    "records": 10**6,
}
_FITTING_KIND: Mapping[str, Any] = {"number": 1.0, "integer": 1}


def with_placeholders(
    # As in a TOML file: ``mechanism`` and its parameters, where events are tables themselves.
    # Mistakes in it are kept; whoever builds the event reports them.
    table: Mapping[str, Any],
    wanted: Wanted,  # Which parameters are searched for
    prefix: str = "",  # The path of the table
) -> dict[str, Any]:
    """The table of an event, with a value in every place that is searched for and left empty."""
    result = dict(table)
    kind = MECHANISMS.get(mechanism_name(str(table.get("mechanism"))))
    if kind is None:
        return result
    for parameter in parameters_of(kind):
        path = prefix + parameter.name
        inner = table.get(parameter.name)
        if parameter.kind == "event" and isinstance(inner, Mapping):
            result[parameter.name] = with_placeholders(inner, wanted, f"{path}.")
        elif parameter.kind == "events" and isinstance(inner, list):
            result[parameter.name] = [
                with_placeholders(part, wanted, f"{path}[{i}].")
                if isinstance(part, Mapping)
                else part
                for i, part in enumerate(inner)
            ]
        elif inner is None and parameter.required and wanted(path):
            value = _fitting(parameter, table)
            if value is not None:
                result[parameter.name] = value
    return result


def _fitting(parameter: Parameter, table: Mapping[str, Any]) -> Any:
    if parameter.name == "record_norm":
        # A diameter that is given must not exceed twice the norm.
        diameter = table.get("record_diameter")
        return max(1.0, diameter) if isinstance(diameter, (int, float)) else 1.0
    if parameter.kind == "integers":
        return 1 if parameter.one_for_all else None
    return _FITTING.get(parameter.name, _FITTING_KIND.get(parameter.kind))


def check_nothing_missing(mechanism: str, given: Mapping[str, Any]) -> None:
    """Check that options gave everything that a mechanism requires.

    Raises click.UsageError if not; the message names the first option that is missing.
    """
    for parameter in parameters_of(MECHANISMS[mechanism]):
        if parameter.required and parameter.name not in given:
            raise click.UsageError(f"Missing option '--{parameter.name.replace('_', '-')}'.")
