"""What moved since a baseline: only what got worse makes a check fail.

A baseline is a file of JSON in the repository, with the numbers and verdicts of every claim when
it was written. A change that makes an epsilon larger is worse, and so is a claim that breaks a
rule which it kept before; to accept it, write the baseline anew in the same change, where
reviewers see it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdpkit.formats import records
from rdpkit.formats.files import write_whole
from rdpkit.formats.records import Key, as_plain, read_table
from rdpkit.verification.auditing.findings import Finding, Reproduction, Soundness
from rdpkit.verification.auditing.rules import FailOn, failures

FORMAT = 1
# Floats differ between machines by less than this relative difference.
_TOLERANCE = 1e-6
_NUMBERS = ("claimed", "published", "upper", "lower")
_VERDICTS = ("reproduction", "soundness")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a baseline says of one claim: its numbers, verdicts, and the rules that it breaks."""

    claimed: float | None
    published: float | None
    upper: float | None
    lower: float | None
    adjacency: str
    delta: float | None
    order: float | None
    reproduction: str
    soundness: str
    fails: tuple[str, ...]


_NUMBER = Key(records.optional(records.number(minimum=0.0, maximum=math.inf)))
_ENTRY = {
    **dict.fromkeys((*_NUMBERS, "delta", "order"), _NUMBER),
    "adjacency": Key(records.string()),
    "reproduction": Key(records.choice(list(Reproduction))),
    "soundness": Key(records.choice(list(Soundness))),
    "fails": Key(records.many(records.string(), "strings")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One thing that moved."""

    what: str  # "claimed", "published", "upper", "lower", "reproduction", "soundness" or "claim"
    # In words.
    before: str
    now: str
    worse: bool  # Whether this makes the check fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What moved in one claim."""

    id: str
    moved: tuple[Moved, ...]

    @property
    def worse(self) -> bool:
        """Whether any of it is worse."""
        return any(one.worse for one in self.moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """What moved in all claims; claims in which nothing moved are left out."""

    changes: tuple[Change, ...]

    @property
    def worse(self) -> bool:
        """Whether any claim is worse."""
        return any(change.worse for change in self.changes)

    def lines(self) -> list[str]:
        """A diff, for people."""
        found = []
        for change in self.changes:
            found.append(f"{change.id}{' is worse' if change.worse else ''}:")
            for one in change.moved:
                found.append(f"  - {one.what} {one.before}")
                found.append(f"  + {one.what} {one.now}{'   (worse)' if one.worse else ''}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        changes = [{**as_plain(change), "worse": change.worse} for change in self.changes]
        return {"worse": self.worse, "changes": changes}


def write_baseline(
    path: Path,  # The file
    findings: Sequence[Finding],  # What to write down
    fail_on: FailOn,  # The rules; those that a claim breaks are written down too
) -> None:
    """Write a baseline, under a temporary name that is then moved."""
    claims = {finding.claim.id: as_plain(_entry(finding, fail_on)) for finding in findings}
    text = json.dumps(
        {"format": FORMAT, "claims": claims},
        indent=1,
        sort_keys=True,
        allow_nan=False,
        ensure_ascii=False,
    )
    write_whole(path, (text + "\n").encode())


def read_baseline(path: Path) -> dict[str, Entry]:
    """The claims of a baseline, by id."""
    try:
        content = json.loads(path.read_bytes(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a baseline in JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path}: expected a baseline of format {FORMAT}.")
    if not isinstance(content.get("claims"), dict):
        raise ValueError(f"{path}: expected claims to be a table.")
    claims = {}
    for identifier, entry in content["claims"].items():
        where = f"{path}: claim {identifier!r}"
        if not isinstance(entry, dict) or set(entry) != set(_ENTRY):
            raise ValueError(f"{where}: expected a table of {', '.join(sorted(_ENTRY))}.")
        try:
            claims[identifier] = Entry(**read_table(entry, _ENTRY))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return claims


def compare(
    findings: Sequence[Finding],  # What there is now
    baseline: dict[str, Entry],  # As :func:`read_baseline` returns it
    fail_on: FailOn,  # The rules that count
) -> BaselineComparison:
    """What moved since the baseline.

    A claim is worse if its published or upper number grew or is no longer known; if its claimed
    number grew although the claim held before; if its delta, order or adjacency changed; or if it
    breaks a rule of ``fail_on`` that it did not break before. A new claim is worse if it breaks a
    rule.
    """
    changes = []
    seen = set()
    for finding in findings:
        identifier = finding.claim.id
        seen.add(identifier)
        now = _entry(finding, fail_on)
        before = baseline.get(identifier)
        if before is None:
            state = f"new: epsilon {_shown(now.claimed)}, {now.reproduction}, {now.soundness}"
            moved = [Moved(what="claim", before="not there", now=state, worse=bool(now.fails))]
        else:
            moved = _moved(before, now)
        if moved:
            changes.append(Change(id=identifier, moved=tuple(moved)))
    for identifier in baseline:
        if identifier not in seen:
            gone = Moved(what="claim", before="there", now="removed", worse=False)
            changes.append(Change(id=identifier, moved=(gone,)))
    return BaselineComparison(changes=tuple(changes))


def _entry(finding: Finding, fail_on: FailOn) -> Entry:
    claim = finding.claim
    sides = {"published": finding.published, "upper": finding.upper, "lower": finding.lower}
    return Entry(
        claimed=None if claim.epsilon is None else float(claim.epsilon),
        **{name: None if side is None else side.epsilon for name, side in sides.items()},
        adjacency=claim.adjacency.value,
        delta=claim.delta,
        order=claim.order,
        reproduction=finding.reproduction.value,
        soundness=finding.soundness.value,
        fails=tuple(rule.value for rule in failures(finding, fail_on)),
    )


def _moved(before: Entry, now: Entry) -> list[Moved]:
    """What differs between two entries about the same claim."""
    found: list[Moved] = []

    def moved(name: str, worse: bool) -> None:
        one, two = _shown(getattr(before, name)), _shown(getattr(now, name))
        found.append(Moved(what=name, before=one, now=two, worse=worse))

    for name in ("adjacency", "delta", "order"):
        if getattr(before, name) != getattr(now, name):
            # It is another statement, so nobody can tell whether its numbers are better.
            moved(name, worse=True)
    for name in _NUMBERS:
        one, two = getattr(before, name), getattr(now, name)
        if one == two or _close(one, two):
            continue
        worse = one is not None and (two is None or two > one)
        # A larger lower bound is a better bound, and the verdict says what follows from it. A
        # larger claim is not worse if it did not hold before, because that corrects it.
        corrected = name == "claimed" and bool(before.fails)
        moved(name, worse=worse and name != "lower" and not corrected)
    newly = set(now.fails) - set(before.fails)
    for name in _VERDICTS:
        verdict = getattr(now, name)
        if getattr(before, name) != verdict:
            moved(name, worse=verdict in newly)
            newly.discard(verdict)
    for rule in sorted(newly):
        found.append(Moved(what="rule", before="kept", now=f"broken: {rule}", worse=True))
    return found


def _close(one: float | None, two: float | None) -> bool:
    if one is None or two is None or math.isinf(one) or math.isinf(two):
        return False
    return math.isclose(one, two, rel_tol=_TOLERANCE)


def _shown(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else "none" if value is None else str(value)


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
