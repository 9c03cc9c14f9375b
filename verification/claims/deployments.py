"""Entries of the OpenDP Deployments Registry: read as claims, written back with a certificate.

The registry's schema (deployments-schema.yaml of opendp/deployments-registry-data, commit 3e9c812)
has numbers for epsilon, delta and rho, and none for what was released; no field of it names a
neighbouring relation or a certificate. So whoever asks for a certificate says what was released,
and the statement goes into the free text ``deployment.administrative.notes``.

An entry may come from anybody. Its tree alone is read, of which no object is made, and lines are
put into its text, so that comments and layout stay.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

from rdpkit import Adjacency, Event
from rdpkit.formats.records import refused
from rdpkit.verification.claims.claim import Claim

# Entries of the registry have at most 12 kB and six levels.
_MOST_BYTES, _DEEPEST = 100_000, 20
# The most characters of a note about what was released.
_LONGEST = 500
# What is a decimal number to YAML and to people; 010, 1_000, 0x1F and 1:30 are others to some.
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,30})(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?")
_NULL = "tag:yaml.org,2002:null"
_PARAMETERS = "deployment.privacy_loss.privacy_parameters"
_HOME = "deployment.administrative"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentEntry:
    """What an entry states in numbers; None is not stated."""

    path: Path
    text: str  # The whole file, with its comments
    slug: str
    epsilon: Decimal | None
    delta: Decimal | None  # 0 if the variant is pure
    rho: Decimal | None


def read_entry(path: Path) -> DeploymentEntry:
    """Read an entry; what is no entry, or could be read in two ways, is a ValueError."""
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    try:
        text = content.decode("utf-8")
        root = _tree(text)
        epsilon, delta, rho = (
            None
            if (found := _text(root, f"{_PARAMETERS}.{name}")) is None
            else _number(name, found)
            for name in ("epsilon", "delta", "rho")
        )
        if delta is None and _text(root, "deployment.dp_variant.variant_name") == "Pure DP":
            delta = Decimal(0)
        slug = _text(root, "url_slug") or path.stem
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return DeploymentEntry(path=path, text=text, slug=slug, epsilon=epsilon, delta=delta, rho=rho)


def claim_of_entry(
    entry: DeploymentEntry,
    event: Event,  # What was released, which an entry does not say
    adjacency: Adjacency,  # Nor does it say this
    *,
    # What it may leave out; they may not differ from what it states.
    delta: float | None = None,
    epsilon: str | None = None,
) -> Claim:
    """The claim of an entry: its epsilon, or its rho if it has no epsilon and none is given."""
    about_rho = entry.rho is not None and entry.epsilon is None and epsilon is None
    if about_rho and delta is not None:
        raise ValueError(f"Expected no --delta: {entry.path} states rho, and no epsilon.")
    number, at = entry.rho, None
    if not about_rho:
        given = None if epsilon is None else _number("--claimed-epsilon", epsilon)
        number = _agreed(entry, "epsilon", "--claimed-epsilon", given)
        at = float(_agreed(entry, "delta", "--delta", None if delta is None else Decimal(delta)))
    return Claim(
        id=entry.slug,
        source=entry.path.name,
        mechanism=event.mechanism,
        adjacency=adjacency,
        epsilon=number,
        delta=at,
        order=None,
        bound=None,
        conversion=None,
        event=event,
        quantity="rho" if about_rho else "epsilon",
        origin=str(entry.path),
    )


def _agreed(entry: DeploymentEntry, name: str, option: str, given: Decimal | None) -> Decimal:
    """What is stated, or what the option gives where nothing is stated."""
    stated: Decimal | None = getattr(entry, name)
    found = given if stated is None else stated
    if found is None:
        raise ValueError(f"{name} is not stated in {entry.path}: expected {option}.")
    if given is not None and float(given) != float(found):
        raise ValueError(f"Expected {option} to be what {entry.path} states, {stated}.")
    return found


def note_about(entry: DeploymentEntry, certificate: str, file_name: str) -> str:
    """What an entry says about its certificate: what is shown, what is not, how to check it."""
    claim = json.loads(certificate)["claim"]
    said, promise, *rest = map(str.strip, import_module("rdpkit.kernel").statement(claim))
    released = "; ".join(line for line in rest if line.startswith("released"))
    if len(released) > _LONGEST:
        released = "released: see the certificate"
    given = ["the neighbouring relation", "what was released"]
    if "delta" in claim:
        given += [name for name in ("epsilon", "delta") if getattr(entry, name) is None]
    digest = hashlib.sha256(certificate.encode()).hexdigest()
    return (
        f"- Certificate (rdpkit): {said} {promise}, if what was released is as follows.\n"
        f"  - {released}\n"
        "  - Not stated in numbers by this entry, and given for the certificate: "
        f"{', '.join(given)}. Not shown: that this is what was released.\n"
        f"  - File `{file_name}`, SHA-256 {digest}; "
        f"`python -m rdpkit.kernel {file_name}` checks it."
    )


def with_note(entry: DeploymentEntry, note: str) -> str:
    """The text of an entry with a note under ``deployment.administrative``; the rest as it was."""
    root = _tree(entry.text)
    former, home = _at(root, f"{_HOME}.notes"), _at(root, _HOME)
    before = _text(root, f"{_HOME}.notes") or ""
    if note in before:
        return entry.text
    wanted = _plain(root)
    if (former is None or former.style == "|") and home is not None and not home.flow_style:
        wanted["deployment"]["administrative"]["notes"] = f"{before.strip()}\n\n{note}".strip()
        found = _inserted(entry.text, home.value[0][0].start_mark, former, note)
        # Nothing else may read as something else, whatever was in the file.
        if _reads_as(found, wanted):
            return found
    raise ValueError(
        f"{entry.path}: expected {_HOME} with a line for each key, and its notes to be absent "
        "or a block of text that begins with '|'."
    )


def _reads_as(text: str, wanted: Any) -> bool:
    try:
        found = _plain(_tree(text))
    except ValueError:
        return False
    home = found["deployment"]["administrative"]
    home["notes"] = home["notes"].strip()
    return bool(found == wanted)


def _inserted(text: str, first: Any, former: Any, note: str) -> str:
    """The text with a block of notes before the first key, or with lines behind the former one."""
    at, margin = first.index, first.column + 2
    frame = ["notes: |", " " * first.column]
    if former is not None:
        at = len(text[: former.end_mark.index].rstrip())
        block = text[former.start_mark.index : at].splitlines()[1:]
        margin = next((len(line) - len(line.lstrip()) for line in block if line.strip()), margin)
        frame = ["\n"]
    lines = [" " * margin + line for line in note.split("\n")]
    added = "\n".join([frame[0], *lines, *frame[1:]])
    return text[:at] + added.replace("\n", "\r\n" if "\r\n" in text else "\n") + text[at:]


def _tree(text: str) -> Any:
    """The tree of a YAML document: small, without aliases, and with no key twice in one place."""
    # Imported here because only the registry has YAML.
    import yaml  # noqa: PLC0415

    if len(text) > _MOST_BYTES:
        raise ValueError(f"expected an entry of at most {_MOST_BYTES} bytes.")
    try:
        depth = 0
        for step in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(step, yaml.CollectionStartEvent)
            depth -= isinstance(step, yaml.CollectionEndEvent)
            if isinstance(step, yaml.AliasEvent) or depth > _DEEPEST:
                raise ValueError(f"expected no aliases and at most {_DEEPEST} levels.")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, OverflowError) as error:
        raise ValueError(f"not a YAML file: {error}") from None
    if root is None or not isinstance(_plain(root), dict):
        raise ValueError("expected keys with values, as entries of the registry have them.")
    return root


def _plain(node: Any) -> Any:
    """A tree as texts, lists and tables."""
    if node.id == "scalar":
        return node.value
    if node.id == "sequence":
        return [_plain(item) for item in node.value]
    found = {}
    for key, value in node.value:
        if key.id != "scalar" or key.value in found:
            line = key.start_mark.line + 1
            raise ValueError(f"line {line}: expected keys to be texts, and each to be there once.")
        found[key.value] = _plain(value)
    return found


def _at(root: Any, path: str) -> Any:
    """What a tree has at a path; None where it has nothing or null."""
    above, _, name = path.rpartition(".")
    node = _at(root, above) if above else root
    if node is None:
        return None
    if node.id != "mapping":
        raise refused(above, "to have keys", _plain(node))
    found = next((value for key, value in node.value if key.value == name), None)
    return None if found is None or found.tag == _NULL else found


def _text(root: Any, path: str) -> str | None:
    node = _at(root, path)
    if node is not None and node.id != "scalar":
        raise refused(path, "to be a text", _plain(node))
    return None if node is None else str(node.value)


def _number(name: str, text: str) -> Decimal:
    if not _NUMBER.fullmatch(text) or (name == "delta" and float(text) >= 1):
        raise refused(name, f"to be a number >= 0{' and < 1' * (name == 'delta')}", text)
    return Decimal(text)
