"""Privacy claims as data: the TOML format, read strictly.

A claim is a number that somebody printed, with the parameters that they printed beside it. It is
never code. Every mistake in a file is one error that names the file, the claim, the key, the
value and what is accepted.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from rdpkit import Adjacency, Event, event_from_parameters
from rdpkit.cli.output import rounded_up
from rdpkit.events import MECHANISMS, check_given_parameters
from verification.claims_keys import (
    CLAIM_KEYS,
    CODE_KEYS,
    CONVERSIONS,
    FORMAT,
    NEIGHBOURS,
    SCENARIO_KEYS,
    UNMODELLED,
)
from verification.claims_lines import claim_lines

# Decimal exponents beyond this are no privacy budgets, and slow to compute with.
_LARGEST = 300
_TIME_BUDGET = 60.0
_FALSE_ALARM_RATE = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Values for what a paper leaves out, and the event and delta that they complete."""

    description: str
    event: Event
    delta: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeTest:
    """The code that a claim is about, and how long to test it. Reading it runs nothing.

    Parameters
    ----------
    callable : str
        ``module:callable``, called as ``callable(dataset, rng)``.
    time_budget : float
        Seconds.
    false_alarm_rate : float
        How often a true claim may be rejected.
    neighbours : {"worst", "random"}
        The data sets: the worst-case pair of the event, or the clearest of random ones.
    dimension : int
        Features of a record.
    records : int or None
        Records of the larger data set.
    record_norm : float or None
        Largest L2 norm of a record, for random neighbours.
    samples : int or None
        The most runs of the code.
    seed : int or None
        None: from the operating system.
    """

    callable: str
    time_budget: float
    false_alarm_rate: float
    neighbours: str
    dimension: int
    records: int | None = None
    record_norm: float | None = None
    samples: int | None = None
    seed: int | None = None


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
    line : int
        The line of the file at which the claim begins.
    release : str or None
        The manifest of the release that the claim is about.
    code : CodeTest or None
        The code that the claim is about.
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
    line: int = field(default=1, compare=False)
    release: str | None = None
    code: CodeTest | None = None


def shipped_files() -> list[Path]:
    """The claims of the papers, shipped with the package: one file a paper."""
    folder = resources.files("verification") / "claims"
    return sorted(Path(str(item)) for item in folder.iterdir() if item.name.endswith(".toml"))


def load_files(paths: Iterable[str | Path]) -> list[Claim]:
    """Read claims from files: TOML, or the manifest of a release if the name ends in .json.

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
        for claim in _from_file(Path(path)):
            if claim.id in seen:
                raise ValueError(
                    f"{path}: claim {claim.id!r}: expected id to be unique, but "
                    f"{seen[claim.id]} has it too."
                )
            seen[claim.id] = str(path)
            claims.append(claim)
    return claims


def _from_file(path: Path) -> list[Claim]:
    if path.suffix == ".json":
        return [claim_of_release(path)]
    return loads(path.read_bytes(), origin=str(path), folder=path.parent)


def loads(
    content: bytes | str, *, origin: str = "<claims>", folder: Path | None = None
) -> list[Claim]:
    """Read claims from the text of one file.

    Parameters
    ----------
    content : bytes or str
        The text.
    origin : str
        What to call it in errors.
    folder : Path, optional
        Where releases that claims point at are looked for; without it such claims are refused.

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
        if key not in ("claim", "format"):
            raise ValueError(f"{origin}: unknown key {key!r}; a claims file holds [[claim]] only.")
    version = document.get("format", FORMAT)
    if isinstance(version, bool) or version != FORMAT:
        raise ValueError(
            f"{origin}: expected format to be {FORMAT}, the version of the format that this "
            f"program reads, got {_shown(version)}."
        )
    tables = document.get("claim")
    if not isinstance(tables, list) or not tables:
        raise ValueError(f"{origin}: expected at least one [[claim]].")
    claims = []
    lines = claim_lines(text, len(tables))
    for number, table in enumerate(tables, start=1):
        label = f"{origin}: claim {number}"
        if not isinstance(table, dict):
            raise ValueError(f"{label}: expected a table, [[claim]].")
        identifier = table.get("id")
        if isinstance(identifier, str) and identifier:
            label = f"{origin}: claim {identifier!r}"
        try:
            claims.append(_claim(table, origin, lines[number - 1], folder))
        except RecursionError:
            raise ValueError(f"{label}: its tables are nested too deeply.") from None
        except ValueError as error:
            raise ValueError(f"{label}: {error}") from None
    for identifier, count in Counter(claim.id for claim in claims).items():
        if count > 1:
            raise ValueError(f"{origin}: claim {identifier!r}: expected id to be unique.")
    return claims


def claim_of_release(path: Path) -> Claim:
    """What the manifest of a release claims: the epsilon of its guarantee, rounded up.

    Parameters
    ----------
    path : Path
        The manifest, a JSON file.

    Raises
    ------
    ValueError
        If it is none, or guarantees nothing.
    OSError
        If it cannot be read.
    """
    # Only where a release is named: reading claims needs no mechanism.
    from mechanisms.manifest import load_manifest  # noqa: PLC0415

    manifest = load_manifest(path)
    guarantee = manifest.guarantee
    if manifest.event is None or guarantee is None or math.isinf(guarantee.epsilon):
        raise ValueError(f"{path}: the manifest of {manifest.mechanism!r} guarantees nothing.")
    by_loss = guarantee.bound == "pld-upper"
    return Claim(
        id=path.stem,
        source=str(path),
        mechanism=manifest.event.mechanism,
        adjacency=guarantee.adjacency,
        epsilon=Decimal(rounded_up(guarantee.epsilon, digits=8)),
        delta=guarantee.delta,
        order=None,
        bound=guarantee.bound if by_loss else "best-rdp",
        conversion=None if by_loss else guarantee.conversion,
        event=manifest.event,
        notes=manifest.notes,
        origin=str(path),
        release=str(path),
    )


def _claim(table: Mapping[str, Any], origin: str, line: int, folder: Path | None) -> Claim:
    _known_keys(table, tuple(CLAIM_KEYS))
    missing = _texts(table, "missing")
    release = _release(table, folder) if "release" in table else None
    mechanism = release[1].mechanism if release else _text(table, "mechanism")
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
    code = _code(table, mechanism, delta)
    event, scenarios = (
        (release[1], ())
        if release
        else _what_was_released(mechanism, parameters, missing, table, delta)
    )
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
        line=line,
        release=release[0] if release else None,
        code=code,
    )


def _release(table: Mapping[str, Any], folder: Path | None) -> tuple[str, Event]:
    """The manifest that a claim points at, and the event in it."""
    for key in ("parameters", "missing", "scenario"):
        if key in table:
            raise ValueError(f"expected no {key} beside release: the manifest has them.")
    name = _text(table, "release")
    if folder is None or Path(name).is_absolute():
        raise ValueError(
            f"expected release to be a path relative to the claims file, got {_shown(name)}."
        )
    path = folder / name
    # Only where a release is named: reading claims needs no mechanism.
    from mechanisms.manifest import load_manifest  # noqa: PLC0415

    try:
        if not path.is_file():
            raise ValueError(f"expected release to be a manifest, a file, got {_shown(name)}.")
        manifest = load_manifest(path)
    except (OSError, ArithmeticError) as error:
        raise ValueError(f"release {_shown(name)} cannot be read: {error}") from None
    if manifest.event is None:
        raise ValueError(f"release {_shown(name)} guarantees nothing: it has no event.")
    if table.get("mechanism", manifest.event.mechanism) != manifest.event.mechanism:
        raise ValueError(
            f"expected mechanism to be {manifest.event.mechanism!r}, as the release says, or to be "
            f"left out, got {_shown(table['mechanism'])}."
        )
    return str(path), manifest.event


def _code(table: Mapping[str, Any], mechanism: str, delta: float | None) -> CodeTest | None:
    """The code that a claim points at; it is neither imported nor looked for here."""
    if "code" not in table:
        return None
    given = table["code"]
    if not isinstance(given, dict):
        raise ValueError("expected code to be a table, [claim.code].")
    _known_keys(given, tuple(CODE_KEYS))
    name = _text(given, "callable")
    module, _, path = name.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *path.split(".")]):
        raise ValueError(f"expected callable to be module:callable, got {_shown(name)}.")
    worst = "random" if mechanism == UNMODELLED else "worst"
    neighbours = given.get("neighbours", worst)
    if neighbours not in NEIGHBOURS or (neighbours == "worst" and mechanism == UNMODELLED):
        accepted = "'random'" if mechanism == UNMODELLED else f"one of {NEIGHBOURS}"
        raise ValueError(f"expected neighbours to be {accepted}, got {_shown(neighbours)}.")
    if delta is None or "order" in table or table.get("epsilon") is None or table.get("missing"):
        raise ValueError(
            "expected epsilon, delta, no order and nothing missing in a claim about code."
        )
    norm = _optional_number(given, "record_norm", lambda v: 0.0 < v < math.inf, "> 0 and finite")
    if neighbours == "random" and norm is None:
        raise ValueError("expected record_norm > 0 in [claim.code], with random neighbours.")
    budget = _optional_number(given, "time_budget", lambda v: 0.0 < v <= 86400.0, "in (0, 86400]")
    rate = _optional_number(given, "false_alarm_rate", lambda v: 0.0 < v < 1.0, "in (0, 1)")
    dimension = _optional_integer(given, "dimension", 1)
    if dimension is None:
        raise ValueError("expected dimension, the features of a record, in [claim.code].")
    return CodeTest(
        callable=name,
        time_budget=_TIME_BUDGET if budget is None else budget,
        false_alarm_rate=_FALSE_ALARM_RATE if rate is None else rate,
        neighbours=neighbours,
        dimension=dimension,
        records=_optional_integer(given, "records", 1),
        record_norm=norm,
        samples=_optional_integer(given, "samples", 200),
        seed=_optional_integer(given, "seed", 0),
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
        if not (missing or "code" in table) or tables or parameters:
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
        _known_keys(item, tuple(SCENARIO_KEYS))
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
    if value not in CONVERSIONS:
        raise ValueError(f"expected conversion to be one of {CONVERSIONS}, got {_shown(value)}.")
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


def _optional_integer(table: Mapping[str, Any], key: str, minimum: int) -> int | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= 10**9:
        raise ValueError(
            f"expected {key} to be an integer in [{minimum}, 10^9], got {value!r:.80}."
        )
    return value


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
