"""Descriptions of events in which the parameters that are searched for may be left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from rdpkit import _validate
from rdpkit.calibration.parameters import stands_for
from rdpkit.events import MECHANISMS, Parameter, parameters_of

Wanted = Callable[[str], bool]
"""Whether the parameter at a path is one that is searched for."""

# What fits whatever the other parameters are, and is of a usual size.
_FITTING: Mapping[str, Any] = {
    "sampling_probability": 0.5,
    "min_eigenvalue": 0.5,
    "population_size": _validate.LARGEST_INTEGER,
    "records": 10**6,
}
_BY_KIND: Mapping[str, Any] = {"number": 1.0, "integer": 1}


def named(names: list[str]) -> Wanted:
    """The paths that one of the names stands for."""
    return lambda path: any(stands_for(name, path) for name in names)


def filled(table: Mapping[str, Any], wanted: Wanted, prefix: str = "") -> dict[str, Any]:
    """The table of an event, with something for every parameter that is wanted and not there.

    Parameters
    ----------
    table : mapping
        As in a TOML file: ``mechanism`` and its parameters, events being tables themselves. What
        is wrong with it is left for others to say.
    wanted : callable
        Which parameters may be left out.
    prefix : str
        The path of the table.
    """
    result = dict(table)
    kind = MECHANISMS.get(str(table.get("mechanism")))
    if kind is None:
        return result
    for parameter in parameters_of(kind):
        path = prefix + parameter.name
        inner = table.get(parameter.name)
        if parameter.kind == "event" and isinstance(inner, Mapping):
            result[parameter.name] = filled(inner, wanted, f"{path}.")
        elif parameter.kind == "events" and isinstance(inner, list):
            result[parameter.name] = [
                filled(part, wanted, f"{path}[{i}].") if isinstance(part, Mapping) else part
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
    return _FITTING.get(parameter.name, _BY_KIND.get(parameter.kind))


def check_nothing_missing(mechanism: str, given: Mapping[str, Any]) -> None:
    """Whether a mechanism has all that it requires.

    Raises
    ------
    click.UsageError
        If not; it names the first option that is missing.
    """
    for parameter in parameters_of(MECHANISMS[mechanism]):
        if parameter.required and parameter.name not in given:
            raise click.UsageError(f"Missing option '--{parameter.name.replace('_', '-')}'.")
