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
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from rdpkit.verification.claims import fields
from rdpkit.verification.claims.claim import Claim, CodeTest, Scenario
from rdpkit.verification.claims.keys import (
    CLAIM_KEYS,
    CODE_KEYS,
    FORMAT,
    NEIGHBOURS,
    SCENARIO_KEYS,
    UNMODELLED,
)
from rdpkit.verification.claims.lines import claim_lines

from rdpkit import Adjacency, Event, event_from_parameters
from rdpkit.events import MECHANISMS, check_given_parameters
from rdpkit.text import rounded_up

__all__ = [
    "Claim",
    "CodeTest",
    "Scenario",
    "claim_of_release",
    "load_files",
    "loads",
    "shipped_files",
]

_TIME_BUDGET = 60.0
_FALSE_ALARM_RATE = 0.001


def shipped_files() -> list[Path]:
    """The claims of the papers, shipped with the package: one file a paper."""
    folder = resources.files("rdpkit.verification.claims") / "shipped"
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
            f"program reads, got {fields.shown(version)}."
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
    from rdpkit.mechanisms.releases.manifest import load_manifest  # noqa: PLC0415

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
    fields.known_keys(table, tuple(CLAIM_KEYS))
    missing = fields.texts(table, "missing")
    release = _release(table, folder) if "release" in table else None
    mechanism = release[1].mechanism if release else fields.text(table, "mechanism")
    parameters = table.get("parameters", {})
    if not isinstance(parameters, dict):
        raise ValueError("expected parameters to be a table, [claim.parameters].")
    epsilon = fields.epsilon(table.get("epsilon"), missing)
    order = fields.optional_number(table, "order", lambda v: 1.0 < v < math.inf, "> 1 and finite")
    delta = fields.optional_number(table, "delta", lambda v: 0.0 < v < 1.0, "in (0, 1)")
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
        id=fields.text(table, "id"),
        source=fields.text(table, "source"),
        mechanism=mechanism,
        adjacency=Adjacency.parse(table.get("adjacency")),
        epsilon=epsilon,
        delta=delta,
        order=order,
        bound=fields.text(table, "bound") if "bound" in table else None,
        conversion=fields.conversion(table),
        event=event,
        missing=missing,
        scenarios=scenarios,
        notes=fields.texts(table, "notes"),
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
    name = fields.text(table, "release")
    if folder is None or Path(name).is_absolute():
        raise ValueError(
            f"expected release to be a path relative to the claims file, got {fields.shown(name)}."
        )
    path = folder / name
    # Only where a release is named: reading claims needs no mechanism.
    from rdpkit.mechanisms.releases.manifest import load_manifest  # noqa: PLC0415

    try:
        if not path.is_file():
            raise ValueError(
                f"expected release to be a manifest, a file, got {fields.shown(name)}."
            )
        manifest = load_manifest(path)
    except (OSError, ArithmeticError) as error:
        raise ValueError(f"release {fields.shown(name)} cannot be read: {error}") from None
    if manifest.event is None:
        raise ValueError(f"release {fields.shown(name)} guarantees nothing: it has no event.")
    if table.get("mechanism", manifest.event.mechanism) != manifest.event.mechanism:
        raise ValueError(
            f"expected mechanism to be {manifest.event.mechanism!r}, as the release says, or to be "
            f"left out, got {fields.shown(table['mechanism'])}."
        )
    return str(path), manifest.event


def _code(table: Mapping[str, Any], mechanism: str, delta: float | None) -> CodeTest | None:
    """The code that a claim points at; it is neither imported nor looked for here."""
    if "code" not in table:
        return None
    given = table["code"]
    if not isinstance(given, dict):
        raise ValueError("expected code to be a table, [claim.code].")
    fields.known_keys(given, tuple(CODE_KEYS))
    name = fields.text(given, "callable")
    module, _, path = name.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *path.split(".")]):
        raise ValueError(f"expected callable to be module:callable, got {fields.shown(name)}.")
    worst = "random" if mechanism == UNMODELLED else "worst"
    neighbours = given.get("neighbours", worst)
    if neighbours not in NEIGHBOURS or (neighbours == "worst" and mechanism == UNMODELLED):
        accepted = f"one of {NEIGHBOURS[1:] if mechanism == UNMODELLED else NEIGHBOURS}"
        raise ValueError(f"expected neighbours to be {accepted}, got {fields.shown(neighbours)}.")
    if delta is None or "order" in table or table.get("epsilon") is None or table.get("missing"):
        raise ValueError(
            "expected epsilon, delta, no order and nothing missing in a claim about code."
        )
    norm = fields.optional_number(
        given, "record_norm", lambda v: 0.0 < v < math.inf, "> 0 and finite"
    )
    if neighbours == "random" and norm is None:
        raise ValueError("expected record_norm > 0 in [claim.code], with random neighbours.")
    budget = fields.optional_number(
        given, "time_budget", lambda v: 0.0 < v <= 86400.0, "in (0, 86400]"
    )
    rate = fields.optional_number(given, "false_alarm_rate", lambda v: 0.0 < v < 1.0, "in (0, 1)")
    dimension = fields.optional_integer(given, "dimension", 1)
    if dimension is None and neighbours != "own":
        raise ValueError("expected dimension, the features of a record, in [claim.code].")
    beside = [key for key in ("dimension", "records", "record_norm") if key in given]
    if beside and neighbours == "own":
        raise ValueError(f"expected no {beside[0]} with neighbours 'own': the code's are taken.")
    return CodeTest(
        callable=name,
        time_budget=_TIME_BUDGET if budget is None else budget,
        false_alarm_rate=_FALSE_ALARM_RATE if rate is None else rate,
        neighbours=neighbours,
        dimension=dimension,
        records=fields.optional_integer(given, "records", 1),
        record_norm=norm,
        samples=fields.optional_integer(given, "samples", 200),
        seed=fields.optional_integer(given, "seed", 0),
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
        return event_from_parameters(mechanism, fields.plain(parameters)), ()
    check_given_parameters(mechanism, fields.plain(parameters))
    scenarios = []
    for item in tables:
        fields.known_keys(item, tuple(SCENARIO_KEYS))
        given = item.get("parameters", {})
        if not isinstance(given, dict):
            raise ValueError("expected a scenario's parameters to be a table.")
        own = fields.optional_number(item, "delta", lambda v: 0.0 < v < 1.0, "in (0, 1)")
        if own is None and delta is None and "order" not in table:
            raise ValueError("expected delta in (0, 1) in the scenario, or in the claim.")
        scenarios.append(
            Scenario(
                description=fields.text(item, "description"),
                event=event_from_parameters(mechanism, fields.plain({**parameters, **given})),
                delta=delta if own is None else own,
            )
        )
    return None, tuple(scenarios)
