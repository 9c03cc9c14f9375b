"""What a source leaves out, and which values of it are looked at: the table ``[claim.unknown]``.

A claim whose source leaves something out is neither true nor false. For some values of what is
missing it would be true, and for others false. The table says which values are looked at: one
parameter is searched for the boundaries, and the others take every value that is listed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rdpkit import Event, event_from_parameters
from rdpkit.events import MECHANISMS, Parameter, parameters_of
from rdpkit.formats import records
from rdpkit.formats.records import Key, ValueKind, did_you_mean, read_table, refused

EPSILON, DELTA = "epsilon", "delta"
"""What can be searched for besides the parameters of the mechanism."""

MOST_CASES = 64
"""The largest number of combinations of the listed values of one claim."""

_LARGEST = 1e45


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One combination of the listed values."""

    values: tuple[tuple[str, Any], ...]
    """The parameters that were listed, each with its value here, in the file's order."""
    event: Event  # The mechanism with these values; what is searched has a value that only fits
    delta: float | None  # The delta; None where it is what is searched


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Which values of what a source leaves out are looked at."""

    search: tuple[str, ...]
    """The parameters whose boundary is searched: one, or several that are equal. "epsilon" and
    "delta" stand for the claim's own. Empty where no region can be given.
    """
    cases: tuple[Case, ...] = ()  # Every combination of the listed values
    # The range in which is searched; None for the range of the parameter.
    low: float | None = None
    high: float | None = None
    meets: str | None = None  # The formula by which the source sets the parameters ``calibrated``
    calibrated: tuple[str, ...] = ()
    """Parameters that are set, all to the same value, so that the formula ``meets`` gives the
    claimed number.
    """
    because: str = ""
    """Why this mechanism and these values are looked at, or why no region can be given."""


def _names(name: str, value: Any) -> tuple[str, ...]:
    """One name, or a list of several."""
    given = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(one, str) and one.strip() for one in given):
        raise refused(name, "to be a name or a list of names", value)
    if len(set(given)) < len(given):
        raise refused(name, "to be different names", value)
    return tuple(given)


_NAMES = ValueKind(
    _names,
    {
        "anyOf": [
            {"type": "string", "pattern": r"\S"},
            {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"type": "string", "pattern": r"\S"},
            },
        ]
    },
)
_END = records.number("> 0", above=0.0, maximum=_LARGEST)

UNKNOWN_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "search": Key(
            kind=_NAMES,
            meaning="The parameter whose boundary is searched, or several that are equal; epsilon "
            "or delta for the claim's own.",
        ),
        "from": Key(kind=_END, meaning="The smallest value that is looked at."),
        "to": Key(kind=_END, meaning="The largest value that is looked at."),
        "values": Key(
            kind=records.table("[claim.unknown.values]"),
            meaning="The other parameters that the source does not give, and delta: one value, or "
            "a list of values, every combination of which is looked at.",
            default=MappingProxyType({}),
        ),
        "meets": Key(
            kind=records.text(),
            meaning="Id of the formula by which the source sets the parameters in calibrated.",
        ),
        "calibrated": Key(
            kind=_NAMES,
            meaning="Parameters that the source sets, all to one value, so that the formula meets "
            "gives the claimed epsilon.",
            default=(),
        ),
        "mechanism": Key(
            kind=records.text(),
            meaning="What is taken to be released, for a claim whose mechanism is unmodelled.",
        ),
        "because": Key(
            kind=records.text(), meaning="Why this is looked at, for the reader.", default=""
        ),
        "none": Key(kind=records.text(), meaning="Why no region can be given; no other key then."),
    }
)
"""The keys of a ``[claim.unknown]``."""


def read_unknown(
    table: Mapping[str, Any],  # The table, with floats in place of decimals
    *,
    mechanism: str,  # The claim's
    modelled: bool,  # Whether the library has an event for it
    parameters: Mapping[str, Any],  # The claim's
    epsilon: object,  # The claim's; None if none is printed
    delta: float | None,  # The claim's
) -> Unknown:
    """What a source leaves out, from its table."""
    given = read_table(table, UNKNOWN_KEYS)
    if given["none"] is not None:
        if len(table) > 1:
            raise ValueError("expected no other key beside none in unknown.")
        return Unknown(search=(), because=given["none"])
    if given["search"] is None:
        raise ValueError("expected search, the parameter whose boundary is looked for, in unknown.")
    if modelled != (given["mechanism"] is None):
        raise ValueError(
            "expected mechanism in unknown for a claim that is unmodelled, and for no other."
        )
    search: tuple[str, ...] = given["search"]
    if (EPSILON in search) != (epsilon is None):
        raise ValueError("expected search to be epsilon where none is printed, and only there.")
    if len(search) > 1 and (EPSILON in search or DELTA in search):
        raise refused("search", "to be epsilon, delta, or names of parameters", list(search))
    if (given["meets"] is None) != (not given["calibrated"]):
        raise ValueError("expected calibrated beside meets in unknown, and nowhere else.")
    low, high = given["from"], given["to"]
    if low is not None and high is not None and low > high:
        raise refused("to", f"to be at least from, {low:g}", high)
    name = given["mechanism"] or mechanism
    if name not in MECHANISMS:
        error = refused("mechanism", "to be a known one", name)
        raise ValueError(f"{error}{did_you_mean(name, sorted(MECHANISMS))}")
    fitting = {
        **{one: low or high or 1.0 for one in search if one not in (EPSILON, DELTA)},
        **dict.fromkeys(given["calibrated"], 1.0),
    }
    if DELTA in search and delta is not None:
        raise refused("search", "to be something that the claim does not give", DELTA)
    cases = _cases(name, parameters, given["values"], fitting, delta=delta)
    # Imported here because most claims are complete.
    from rdpkit.calibration.search_variable import matching  # noqa: PLC0415

    for one in fitting:
        matching(cases[0].event, one)  # what cannot be searched is an error
    return Unknown(
        search=search,
        cases=cases,
        low=low,
        high=high,
        meets=given["meets"],
        calibrated=given["calibrated"],
        because=given["because"],
    )


def _cases(
    mechanism: str,
    parameters: Mapping[str, Any],
    values: Mapping[str, Any],
    fitting: Mapping[str, float],
    *,
    delta: float | None,
) -> tuple[Case, ...]:
    known = {one.name: one for one in parameters_of(MECHANISMS[mechanism])}
    for name in values:
        if name not in known and name != DELTA:
            raise ValueError(
                f"unknown parameter {name!r} in unknown.values; {mechanism} takes "
                f"{', '.join(known)}.{did_you_mean(name, known)}"
            )
    both = [name for name in fitting if name in values]
    if both:
        raise refused(both[0], "to be searched, calibrated or listed, and one of them only", both)
    listed = {name: _alternatives(name, known.get(name), value) for name, value in values.items()}
    if math.prod(map(len, listed.values())) > MOST_CASES:
        raise ValueError(f"expected at most {MOST_CASES} combinations in unknown.values.")
    begin = {
        name: _fitting(known.get(name), value)
        for name, value in fitting.items()
        if name in known and name not in parameters
    }
    found = []
    for combination in itertools.product(*listed.values()):
        chosen = dict(zip(listed, combination, strict=True))
        own = chosen.pop(DELTA, delta)
        event = event_from_parameters(mechanism, {**parameters, **begin, **chosen})
        pairs = tuple(
            (name, _plain(value)) for name, value in zip(listed, combination, strict=True)
        )
        found.append(Case(values=pairs, event=event, delta=own))
    return tuple(found)


def _alternatives(name: str, parameter: Parameter | None, value: Any) -> list[Any]:
    """The values of one parameter; a list of numbers that is one value stays one."""
    one_list = parameter is not None and parameter.kind in ("integers", "numbers", "events")
    several = isinstance(value, list) and not (
        one_list and parameter is not None and not parameter.one_for_all
    )
    found = list(value) if several else [value]
    if not found:
        raise refused(name, "to have a value", value)
    if name == DELTA:
        kind = records.number("in (0, 1)", above=0.0, below=1.0)
        return [kind.read(DELTA, one) for one in found]
    return found


def _fitting(parameter: Parameter | None, value: float) -> float | int:
    """A value with which an event can be made before it is searched."""
    whole = parameter is not None and parameter.kind in ("integer", "integers")
    return max(1, int(value)) if whole else value


def _plain(value: Any) -> Any:
    """A value that can be compared and kept: lists as tuples, tables as their text."""
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    return str(dict(value)) if isinstance(value, Mapping) else value
