"""Privacy claims as data: the TOML format, read strictly.

A claim is a number that somebody printed, with the parameters that they printed beside it. It is
never code. Every mistake in a file is one error that names the file, the claim, the key, the
value and what is accepted.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from rdpkit import Adjacency, Event, event_from_parameters
from rdpkit.events import MECHANISMS, check_given_parameters

UNMODELLED = "unmodelled"
"""Mechanism of a claim about something that the library has no event for."""

_KEYS = (
    "id",
    "source",
    "mechanism",
    "adjacency",
    "epsilon",
    "delta",
    "order",
    "bound",
    "conversion",
    "parameters",
    "missing",
    "scenario",
    "notes",
)
# Decimal exponents beyond this are no privacy budgets, and slow to compute with.
_LARGEST = 300
_SCENARIO_KEYS = ("description", "parameters", "delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Values for what a paper leaves out, and the event and delta that they complete."""

    description: str
    event: Event
    delta: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One printed privacy budget.

    Parameters
    ----------
    id : str
        Unique within a run.
    source : str
        Where it is printed.
    mechanism : str
        A mechanism's name, or "unmodelled".
    adjacency : Adjacency
        The neighbouring relation.
    epsilon : Decimal or None
        The number exactly as printed, so that its precision is known; None if it is not printed.
    delta : float or None
        None for a claim about one Renyi order.
    order : float or None
        The Renyi order that the claim is about, or at which it was converted if there is a delta.
    bound : str or None
        Id of the formula that the number comes from, where the mechanism has several.
    conversion : str or None
        The conversion that was used, where it differs from the formula's own.
    event : Event or None
        What was released; None if the parameters do not say.
    missing : tuple of str
        What the source does not give.
    scenarios : tuple of Scenario
        Completions of what is missing.
    notes : tuple of str
        Remarks for the reader.
    origin : str
        The file.
    """

    id: str
    source: str
    mechanism: str
    adjacency: Adjacency
    epsilon: Decimal | None
    delta: float | None
    order: float | None
    bound: str | None
    conversion: str | None
    event: Event | None
    missing: tuple[str, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    notes: tuple[str, ...] = ()
    origin: str = field(default="", compare=False)


def shipped_files() -> list[Path]:
    """The claims of the papers, shipped with the package: one file a paper."""
    folder = resources.files("verification") / "claims"
    return sorted(Path(str(item)) for item in folder.iterdir() if item.name.endswith(".toml"))


def load_files(paths: Iterable[str | Path]) -> list[Claim]:
    """Read claims from files.

    Raises
    ------
    ValueError
        If a file is not TOML or does not follow the format, or two claims share an id.
    OSError
        If a file cannot be read.
    """
    claims: list[Claim] = []
    seen: dict[str, str] = {}
    for path in paths:
        for claim in loads(Path(path).read_bytes(), origin=str(path)):
            if claim.id in seen:
                raise ValueError(
                    f"{path}: claim {claim.id!r}: expected id to be unique, but "
                    f"{seen[claim.id]} has it too."
                )
            seen[claim.id] = str(path)
            claims.append(claim)
    return claims


def loads(content: bytes | str, *, origin: str = "<claims>") -> list[Claim]:
    """Read claims from the text of one file.

    Raises
    ------
    ValueError
        If the text is not TOML or does not follow the format.
    """
    try:
        # A number may have more digits than Decimal or int accept: their errors are the file's.
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{origin}: not a TOML file: {error}") from None
    for key in document:
        if key != "claim":
            raise ValueError(f"{origin}: unknown key {key!r}; a claims file holds [[claim]] only.")
    tables = document.get("claim")
    if not isinstance(tables, list) or not tables:
        raise ValueError(f"{origin}: expected at least one [[claim]].")
    claims = []
    for number, table in enumerate(tables, start=1):
        label = f"{origin}: claim {number}"
        if not isinstance(table, dict):
            raise ValueError(f"{label}: expected a table, [[claim]].")
        identifier = table.get("id")
        if isinstance(identifier, str) and identifier:
            label = f"{origin}: claim {identifier!r}"
        try:
            claims.append(_claim(table, origin))
        except RecursionError:
            raise ValueError(f"{label}: its tables are nested too deeply.") from None
        except ValueError as error:
            raise ValueError(f"{label}: {error}") from None
    identifiers = [claim.id for claim in claims]
    for claim in claims:
        if identifiers.count(claim.id) > 1:
            raise ValueError(f"{origin}: claim {claim.id!r}: expected id to be unique.")
    return claims


def _claim(table: Mapping[str, Any], origin: str) -> Claim:
    _known_keys(table, _KEYS)
    missing = _texts(table, "missing")
    mechanism = _text(table, "mechanism")
    parameters = table.get("parameters", {})
    if not isinstance(parameters, dict):
        raise ValueError("expected parameters to be a table, [claim.parameters].")
    epsilon = _epsilon(table.get("epsilon"), missing)
    order = _optional_number(table, "order", lambda v: 1.0 < v < math.inf, "> 1 and finite")
    delta = _optional_number(table, "delta", lambda v: 0.0 < v < 1.0, "in (0, 1)")
    if delta is None and order is None and not missing:
        raise ValueError(
            "expected delta in (0, 1), or order > 1 for a claim about one Renyi order."
        )
    event, scenarios = _what_was_released(mechanism, parameters, missing, table, delta)
    return Claim(
        id=_text(table, "id"),
        source=_text(table, "source"),
        mechanism=mechanism,
        adjacency=Adjacency.parse(table.get("adjacency")),
        epsilon=epsilon,
        delta=delta,
        order=order,
        bound=_text(table, "bound") if "bound" in table else None,
        conversion=_conversion(table),
        event=event,
        missing=missing,
        scenarios=scenarios,
        notes=_texts(table, "notes"),
        origin=origin,
    )


def _what_was_released(
    mechanism: str,
    parameters: dict[str, Any],
    missing: tuple[str, ...],
    table: Mapping[str, Any],
    delta: float | None,
) -> tuple[Event | None, tuple[Scenario, ...]]:
    tables = table.get("scenario", [])
    if not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
        raise ValueError("expected scenario to be a list of tables, [[claim.scenario]].")
    if mechanism == UNMODELLED:
        if not missing or tables or parameters:
            raise ValueError(
                f"a claim with mechanism {UNMODELLED!r} lists what is missing, and has neither "
                "parameters nor scenarios."
            )
        return None, ()
    if mechanism not in MECHANISMS:
        names = ", ".join(repr(name) for name in (*sorted(MECHANISMS), UNMODELLED))
        raise ValueError(f"expected mechanism to be one of {names}, got {mechanism!r}.")
    if not missing:
        if tables:
            raise ValueError("scenarios are for claims that list what is missing.")
        return event_from_parameters(mechanism, _plain(parameters)), ()
    check_given_parameters(mechanism, _plain(parameters))
    scenarios = []
    for item in tables:
        _known_keys(item, _SCENARIO_KEYS)
        given = item.get("parameters", {})
        if not isinstance(given, dict):
            raise ValueError("expected a scenario's parameters to be a table.")
        own = _optional_number(item, "delta", lambda v: 0.0 < v < 1.0, "in (0, 1)")
        if own is None and delta is None and "order" not in table:
            raise ValueError("expected delta in (0, 1) in the scenario, or in the claim.")
        scenarios.append(
            Scenario(
                description=_text(item, "description"),
                event=event_from_parameters(mechanism, _plain({**parameters, **given})),
                delta=delta if own is None else own,
            )
        )
    return None, tuple(scenarios)


def _plain(value: Any) -> Any:
    """Decimals, which keep printed digits, as the floats that events are made of."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _known_keys(table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"unknown key {key!r}; accepted are {', '.join(known)}.")


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected {key} to be a non-empty string, got {_shown(value)}.")
    return value


def _texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError(f"expected {key} to be a list of strings, got {_shown(value)}.")
    return tuple(value)


def _conversion(table: Mapping[str, Any]) -> str | None:
    if "conversion" not in table:
        return None
    value = table["conversion"]
    accepted = ("mironov2017", "balle2020", "optimal")
    if value not in accepted:
        raise ValueError(f"expected conversion to be one of {accepted}, got {_shown(value)}.")
    return str(value)


def _epsilon(value: Any, missing: tuple[str, ...]) -> Decimal | None:
    if value is None and missing:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise ValueError(f"expected epsilon to be a number >= 0, got {_shown(value)}.")
    number = Decimal(value)
    if number.is_nan() or number.is_signed():
        raise ValueError(f"expected epsilon to be a number >= 0, got {_shown(value)}.")
    exponent = number.as_tuple().exponent
    if number.is_finite() and (number.adjusted() > _LARGEST or int(exponent) < -_LARGEST):
        raise ValueError(
            f"expected epsilon between 1e-{_LARGEST} and 1e{_LARGEST}, got {_shown(value)}."
        )
    return number


def _optional_number(
    table: Mapping[str, Any], key: str, accepts: Any, condition: str
) -> float | None:
    if key not in table:
        return None
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise ValueError(f"expected {key} to be a number {condition}, got {_shown(value)}.")
    size = Decimal(value).adjusted() if value else 0
    number = float(value) if abs(size) < _LARGEST else math.nan
    if math.isnan(number) or not accepts(number):
        raise ValueError(f"expected {key} {condition}, got {_shown(value)}.")
    return number


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
