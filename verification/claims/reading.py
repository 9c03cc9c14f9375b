"""Privacy claims as data: the TOML format, read strictly.

A claim is a number that somebody printed, with the parameters that they printed beside it. It is
never code. Every mistake in a file is one error that names the file, the claim, the key, the
value and what is accepted.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from rdpkit import Event, event_from_parameters
from rdpkit.events import MECHANISMS, check_given_parameters
from rdpkit.formats.records import (
    Mistakes,
    Refused,
    check_none,
    did_you_mean,
    each_of,
    read_table,
    record,
    refused,
    shown,
)
from rdpkit.formats.text import rounded_up
from rdpkit.verification.blackbox.options import NEIGHBOURS, read_options
from rdpkit.verification.claims.claim import Claim, CodeTest, Scenario, TrainingTest, Work
from rdpkit.verification.claims.editing import claim_lines, key_line
from rdpkit.verification.claims.format import (
    CLAIM_KEYS,
    CODE_KEYS,
    FORMAT,
    QUANTITIES,
    SCENARIO_KEYS,
    TRAINING_KEYS,
    UNMODELLED,
    WORK_KEYS,
)
from rdpkit.verification.claims.ledgers import LEDGER, claims_of_ledger
from rdpkit.verification.claims.unknown import Unknown, read_unknown
from rdpkit.verification.training.options import TrainingOptions


def shipped_files() -> list[Path]:
    """The claims of the papers, shipped with the package: one file a paper."""
    return _files_in("shipped")


def register_files() -> list[Path]:
    """The register: claims of the wider literature, shipped with the package, one file a work."""
    return _files_in("register")


def _files_in(name: str) -> list[Path]:
    folder = resources.files("rdpkit.verification.claims") / name
    return sorted(Path(str(item)) for item in folder.iterdir() if item.name.endswith(".toml"))


def load_files(paths: Iterable[str | Path]) -> list[Claim]:
    """Read claims from files in TOML, manifests of releases (.json), or ledgers (.jsonl).

    Raises
    ------
    ValueError
        If a file is not TOML or does not follow the format, or two claims share an id: all mistakes
        at once, with their lines, files that cannot be read among them.
    OSError
        If nothing is wrong but that one file cannot be read.
    """
    claims: dict[str, Claim] = {}
    problems: list[ValueError | OSError] = []
    for path in paths:
        try:
            found = _from_file(Path(path))
        except (ValueError, OSError) as error:
            problems += each_of(error)
            continue
        for claim in found:
            before = claims.setdefault(claim.id, claim)
            if before is not claim:
                problems.append(
                    ValueError(
                        f"{_where(claim.origin, claim.line)}: claim {claim.id!r}: expected id to "
                        f"be unique, but {before.origin} has it too."
                    )
                )
    check_none(problems)
    return list(claims.values())


def _where(origin: str, line: int) -> str:
    """A place in a file, as editors understand it; claims of manifests have no line."""
    return f"{origin}:{line}" if line else origin


def _from_file(path: Path) -> list[Claim]:
    if path.suffix == ".json":
        return [claim_of_release(path)]
    if path.suffix == LEDGER:
        return claims_of_ledger(path)
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
        The name of the file in errors.
    folder : Path, optional
        Where releases that claims point at are looked for; without it such claims are refused.

    Raises
    ------
    ValueError
        If the text is not TOML or does not follow the format.
    """
    try:
        # Decimal and int raise errors of their own for numbers with too many digits.
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{origin}: not a TOML file: {error}") from None
    problems: list[ValueError | OSError] = [
        ValueError(f"{origin}: unknown key {key!r}; a claims file holds [work] and [[claim]] only.")
        for key in document
        if key not in ("claim", "format", "work")
    ]
    version = document.get("format", FORMAT)
    if isinstance(version, bool) or version != FORMAT:
        raise ValueError(
            f"{origin}: expected format to be {FORMAT}, the version of the format that this "
            f"program reads, got {shown(version)}."
        )
    work = None
    try:
        work = _work(document, origin)
    except ValueError as error:
        problems += each_of(error)
    claims = []
    tables = document.get("claim")
    if not isinstance(tables, list) or not tables:
        tables = []
        problems.append(ValueError(f"{origin}: expected at least one [[claim]]."))
    lines = claim_lines(text, len(tables))
    for number, (table, line) in enumerate(zip(tables, lines, strict=True), start=1):
        try:
            claim = _claim(table, origin, line, folder)
            if work is not None:
                claim = dataclasses.replace(claim, work=work, kind=claim.kind or work.kind)
            claims.append(claim)
        except ValueError as error:
            for one in each_of(error):
                place = key_line(text, one.key, line) if isinstance(one, Refused) else line
                label = f"{_where(origin, place)}: claim {_name(table, number)}"
                problems.append(ValueError(f"{label}: {one}"))
        except RecursionError:
            label = f"{_where(origin, line)}: claim {_name(table, number)}"
            problems.append(ValueError(f"{label}: its tables are nested too deeply."))
    names = [_name(table, number) for number, table in enumerate(tables, start=1)]
    for index, (name, line) in enumerate(zip(names, lines, strict=True)):
        if name in names[:index]:
            label = f"{_where(origin, key_line(text, 'id', line))}: claim {name}"
            problems.append(ValueError(f"{label}: expected id to be unique."))
    check_none(problems or _wrong_readings(claims))
    return claims


def _name(table: Any, number: int) -> str:
    """How errors call a claim: by its id, or by its number in the file."""
    identifier = table.get("id") if isinstance(table, dict) else None
    return repr(identifier) if isinstance(identifier, str) and identifier else str(number)


def _wrong_readings(claims: list[Claim]) -> list[ValueError | OSError]:
    """Claims that read a number of others have to name it, and to say how they read it."""
    problems: list[ValueError | OSError] = []
    known = {claim.id: claim for claim in claims}
    for claim in claims:
        if claim.reads is None:
            continue
        other = known.get(claim.reads)
        problem = None
        if other is None:
            problem = refused("reads", "to be the id of a claim of this file", claim.reads)
        elif other.reads is not None or other is claim:
            problem = refused("reads", "to be a claim that reads no other", claim.reads)
        elif (other.epsilon, other.quantity) != (claim.epsilon, claim.quantity):
            problem = refused("reads", "to be a claim of the same number", claim.reads)
        elif not (claim.reading and other.reading):
            problem = ValueError("expected both claims to have a reading, which says how they do.")
        if problem is not None:
            label = f"{_where(claim.origin, claim.line)}: claim {claim.id!r}"
            problems.append(ValueError(f"{label}: {problem}"))
    return problems


def _work(document: Mapping[str, Any], origin: str) -> Work | None:
    """What the file's claims were printed in, if it says so."""
    if "work" not in document:
        return None
    try:
        found: Work = record(WORK_KEYS, Work, header="[work]").read("work", document["work"])
    except ValueError as error:
        raise Mistakes([ValueError(f"{origin}: {one}") for one in each_of(error)]) from None
    return found


def claim_of_release(path: Path) -> Claim:
    """What the manifest of a release claims: the epsilon of its guarantee, rounded up.

    Parameters
    ----------
    path : Path
        The manifest, a JSON file.

    Raises
    ------
    ValueError
        If the file is not a manifest, or the manifest guarantees nothing.
    OSError
        If it cannot be read.
    """
    # Imported here because most claims name no release.
    from rdpkit.mechanisms.releases.manifest import load_manifest  # noqa: PLC0415

    manifest = load_manifest(path)
    guarantee = manifest.guarantee
    if manifest.event is None or guarantee is None or math.isinf(guarantee.epsilon):
        raise ValueError(f"{path}: the manifest of {manifest.mechanism!r} guarantees nothing.")
    by_loss = guarantee.bound == "pld-upper"
    bound: str | None = guarantee.bound if by_loss else "best-rdp"
    if manifest.has_noisy_counts:
        # What noisy counts cost is added to the epsilon of a bound, so no bound gives the sum.
        bound = None
    return Claim(
        id=path.stem,
        source=str(path),
        mechanism=manifest.event.mechanism,
        adjacency=guarantee.adjacency,
        epsilon=Decimal(rounded_up(guarantee.epsilon, digits=8)),
        delta=guarantee.delta,
        order=None,
        bound=bound,
        conversion=None if by_loss or bound is None else guarantee.conversion,
        event=manifest.event,
        notes=manifest.notes,
        origin=str(path),
        release=str(path),
    )


def _wrong_parameters(table: Mapping[str, Any]) -> list[Refused]:
    """What is wrong with the mechanism or parameters of a claim that is wrong already."""
    mechanism, parameters = table.get("mechanism"), table.get("parameters", {})
    if not isinstance(mechanism, str) or mechanism == UNMODELLED:
        return []
    if mechanism not in MECHANISMS:
        return [_no_such_mechanism(mechanism)]
    if not isinstance(parameters, dict):
        return []
    found: list[Refused] = []
    for name, value in _floats(parameters).items():
        try:
            check_given_parameters(mechanism, {name: value})
        except ValueError as error:
            found.append(Refused(str(error), name))
    return found


def _no_such_mechanism(mechanism: str) -> Refused:
    known = (*sorted(MECHANISMS), UNMODELLED)
    error = refused("mechanism", "to be one of " + ", ".join(map(repr, known)), mechanism)
    return Refused(f"{error}{did_you_mean(mechanism, known)}", "mechanism")


def _event(mechanism: str, parameters: Mapping[str, Any]) -> Event:
    """The event of these parameters; all that are wrong are named."""
    try:
        return event_from_parameters(mechanism, parameters)
    except ValueError as error:
        found = _wrong_parameters({"mechanism": mechanism, "parameters": parameters})
        known = {str(one) for one in found}
        others = [one for one in each_of(error) if str(one) not in known]
        raise Mistakes([*others, *found]) from None


def _claim(table: Any, origin: str, line: int, folder: Path | None) -> Claim:
    if not isinstance(table, dict):
        raise ValueError("expected a table, [[claim]].")
    try:
        given = read_table(table, CLAIM_KEYS)
    except ValueError as error:
        known = {one.key for one in each_of(error) if isinstance(one, Refused)}
        others = [one for one in _wrong_parameters(table) if one.key not in known]
        raise Mistakes([*each_of(error), *others]) from None
    missing, delta, order = given["missing"], given["delta"], given["order"]
    name = given["release"]
    released = None if name is None else _release(table, name, folder)
    mechanism: str = (
        released[1].mechanism
        if released
        else CLAIM_KEYS["mechanism"].kind.read("mechanism", given["mechanism"])
    )
    quantity = _quantity(given)
    if quantity == "epsilon" and given["epsilon"] is None and not missing:
        raise refused("epsilon", "to be a number >= 0", None)
    if quantity == "epsilon" and delta is None and order is None and not missing:
        raise ValueError(
            "expected delta in [0, 1), or order > 1 for a claim about one Renyi order."
        )
    code = None if given["code"] is None else _code(given, mechanism)
    # Every output shows the notes, so that no unread claim passes for read.
    unread = () if given["unread"] is None else (f"{UNREAD}: {given['unread']}",)
    event, scenarios = (released[1], ()) if released else _what_was_released(given, mechanism)
    return Claim(
        mechanism=mechanism,
        event=event,
        scenarios=scenarios,
        origin=origin,
        line=line,
        release=released[0] if released else None,
        certificate=_certificate(given["certificate"], folder),
        code=code,
        training=None if given["training"] is None else _training(given),
        quantity=quantity,
        notes=(*unread, *given["notes"]),
        unknown=None if given["unknown"] is None else _unknown(given, mechanism),
        **{name: given[name] for name in _TAKEN_AS_READ} | {"epsilon": given[quantity]},
    )


def _certificate(name: str | None, folder: Path | None) -> str | None:
    """The certificate that a claim carries; nothing of it is believed here."""
    if name is None:
        return None
    if folder is None or Path(name).is_absolute():
        raise refused("certificate", "to be a path relative to the claims file", name)
    try:
        with (folder / name).open("rb") as file:
            return file.read(_MOST_BYTES).decode()
    except (OSError, ValueError) as error:
        raise ValueError(f"certificate {shown(name)} cannot be read: {error}") from None


UNREAD = "the source was not read"
"""The beginning of the note on a claim that nobody read where it is printed."""


def _quantity(given: Mapping[str, Any]) -> str:
    """What the claimed number is; the keys that only an epsilon has are refused beside others."""
    found = [name for name in QUANTITIES if given[name] is not None]
    if len(found) > 1:
        raise ValueError(f"expected one of {', '.join(QUANTITIES)}, got {' and '.join(found)}.")
    quantity = found[0] if found else "epsilon"
    if (quantity == "tpr") != (given["fpr"] is not None):
        raise ValueError("expected fpr, the false positive rate, beside tpr and nowhere else.")
    others = ("order", "bound", "conversion", "scenario", "unknown", "release", "code", "training")
    beside = [name for name in others if given[name]]
    if quantity != "mu" and given["delta"] is not None:
        beside.insert(0, "delta")
    if quantity != "epsilon" and beside:
        raise ValueError(f"expected no {beside[0]} beside {quantity}.")
    return quantity


def _unknown(claim: Mapping[str, Any], mechanism: str) -> Unknown:
    """Which values of what is missing are looked at."""
    if not claim["missing"]:
        raise ValueError("expected missing beside unknown: what the source does not give.")
    if claim["order"] is not None:
        raise ValueError("expected no order beside unknown: regions are about a delta.")
    return read_unknown(
        _floats(claim["unknown"]),
        mechanism=mechanism,
        modelled=mechanism != UNMODELLED,
        parameters=_floats(claim["parameters"]),
        epsilon=claim["epsilon"],
        delta=claim["delta"],
    )


# The checker refuses files that are longer.
_MOST_BYTES = 70000

# Keys of a claim whose values are used as they are read.
_TAKEN_AS_READ = (
    *("id", "source", "adjacency", "epsilon", "delta", "order"),
    *("bound", "conversion", "missing", "fpr", "kind", "unread"),
    *("reads", "reading", "approximation"),
)


def _release(table: Mapping[str, Any], name: str, folder: Path | None) -> tuple[str, Event]:
    """The manifest that a claim points at, and the event in it."""
    for key in ("parameters", "missing", "scenario"):
        if key in table:
            raise ValueError(f"expected no {key} beside release: the manifest has them.")
    if folder is None or Path(name).is_absolute():
        raise refused("release", "to be a path relative to the claims file", name)
    path = folder / name
    # Imported here because most claims name no release.
    from rdpkit.mechanisms.releases.manifest import load_manifest  # noqa: PLC0415

    try:
        if not path.is_file():
            raise refused("release", "to be a manifest, a file", name)
        manifest = load_manifest(path)
    except (OSError, ArithmeticError) as error:
        raise ValueError(f"release {shown(name)} cannot be read: {error}") from None
    if manifest.event is None:
        raise ValueError(f"release {shown(name)} guarantees nothing: it has no event.")
    if table.get("mechanism", manifest.event.mechanism) != manifest.event.mechanism:
        condition = f"to be {manifest.event.mechanism!r}, as the release says, or to be left out"
        raise refused("mechanism", condition, table["mechanism"])
    return str(path), manifest.event


def _code(claim: Mapping[str, Any], mechanism: str) -> CodeTest:
    """The code that a claim points at; it is neither imported nor looked for here."""
    given = read_table(claim["code"], CODE_KEYS)
    if mechanism == UNMODELLED and given["neighbours"] == "worst":
        accepted = ", ".join(repr(name) for name in NEIGHBOURS if name != "worst")
        raise refused("neighbours", f"to be one of {accepted} without an event", "worst")
    _check_complete(claim, "code")
    beside = [key for key in ("dimension", "records", "record_norm") if given[key] is not None]
    if beside and given["neighbours"] == "own":
        raise ValueError(f"expected no {beside[0]} with neighbours 'own': the code's are taken.")
    name = given.pop("callable")
    return CodeTest(callable=name, options=read_options(given))


def _training(claim: Mapping[str, Any]) -> TrainingTest:
    """The training that a claim points at; it is neither imported nor looked for here."""
    given = read_table(claim["training"], TRAINING_KEYS)
    _check_complete(claim, "a training")
    target = given.pop("target")
    stated = {name: value for name, value in given.items() if value is not None}
    return TrainingTest(target=target, options=TrainingOptions(**stated))


def _check_complete(claim: Mapping[str, Any], what: str) -> None:
    """What is run is held against an epsilon and a delta, so a claim about it has both."""
    complete = claim["epsilon"] is not None and claim["delta"] is not None
    if not complete or claim["order"] is not None or claim["missing"]:
        raise ValueError(
            f"expected epsilon, delta, no order and nothing missing in a claim about {what}."
        )


def _what_was_released(
    claim: Mapping[str, Any], mechanism: str
) -> tuple[Event | None, tuple[Scenario, ...]]:
    """The event of a claim's parameters, or the ways to complete it where something is missing."""
    missing, tables = claim["missing"], claim["scenario"]
    if mechanism == UNMODELLED:
        if not (missing or claim["code"] or claim["training"]) or tables or claim["parameters"]:
            raise ValueError(
                f"a claim with mechanism {UNMODELLED!r} lists what is missing, and has neither "
                "parameters nor scenarios."
            )
        return None, ()
    if mechanism not in MECHANISMS:
        raise _no_such_mechanism(mechanism)
    parameters = _floats(claim["parameters"])
    if not missing:
        if tables:
            raise ValueError("scenarios are for claims that list what is missing.")
        return _event(mechanism, parameters), ()
    check_given_parameters(mechanism, parameters)
    scenarios = []
    for table in tables:
        given = read_table(table, SCENARIO_KEYS)
        delta = claim["delta"] if given["delta"] is None else given["delta"]
        if delta is None and claim["order"] is None:
            raise ValueError("expected delta in [0, 1) in the scenario, or in the claim.")
        completed = {**parameters, **_floats(given["parameters"])}
        event = event_from_parameters(mechanism, completed)
        scenarios.append(Scenario(description=given["description"], event=event, delta=delta))
    return None, tuple(scenarios)


def _floats(value: Any) -> Any:
    """Parameters as events take them: with floats in place of the decimals of a claims file."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return value
