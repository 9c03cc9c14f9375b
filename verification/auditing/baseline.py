"""What moved since a baseline: only what got worse makes a check fail.

A baseline is a file of JSON in the repository, with the numbers and verdicts of every claim when
it was written. A change that makes an epsilon larger is worse, and so is a claim that breaks a
rule which it kept before; whoever means it writes the baseline anew, in the same change, where
reviewers see it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.judgement import FailOn, failures

from rdpkit.files import write_whole
from rdpkit.guarantee import plain

FORMAT = 1
# Floats differ in their last digits between machines; a loss that grows by more is worse.
_TOLERANCE = 1e-6
_NUMBERS = ("claimed", "published", "upper", "lower")
_VERDICTS = ("reproduction", "soundness")
_ACCEPTED = {
    "reproduction": ("exact", "differs", "underspecified"),
    "soundness": ("sound", "refuted", "unproven"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One thing that moved.

    Parameters
    ----------
    what : str
        "claimed", "published", "upper", "lower", "reproduction", "soundness" or "claim".
    before, now : str
        In words.
    worse : bool
        Whether this makes the check fail.
    """

    what: str
    before: str
    now: str
    worse: bool


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
class Comparison:
    """What moved in all claims; those that stayed as they were are left out."""

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
        return {
            "worse": self.worse,
            "changes": [
                {
                    "id": change.id,
                    "worse": change.worse,
                    "moved": [
                        {"what": m.what, "before": m.before, "now": m.now, "worse": m.worse}
                        for m in change.moved
                    ],
                }
                for change in self.changes
            ],
        }


def write_baseline(path: Path, findings: Sequence[Finding], fail_on: FailOn) -> None:
    """Write a baseline, under a temporary name that is then moved.

    Parameters
    ----------
    path : Path
        The file.
    findings : sequence of Finding
        What to write down.
    fail_on : FailOn
        Which rules a claim breaks is written down too.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    claims = {finding.claim.id: _entry(finding, fail_on) for finding in findings}
    text = json.dumps(
        {"format": FORMAT, "claims": claims},
        indent=1,
        sort_keys=True,
        allow_nan=False,
        ensure_ascii=False,
    )
    write_whole(path, (text + "\n").encode())


def read_baseline(path: Path) -> dict[str, dict[str, Any]]:
    """The claims of a baseline, by id.

    Raises
    ------
    ValueError
        If the file is no baseline; the message names it.
    OSError
        If it cannot be read.
    """
    try:
        content = json.loads(path.read_bytes(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a baseline in JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path}: expected a baseline of format {FORMAT}.")
    claims = content.get("claims")
    if not isinstance(claims, dict):
        raise ValueError(f"{path}: expected claims to be a table.")
    for identifier, entry in claims.items():
        _check(entry, f"{path}: claim {identifier!r}")
    return claims


def compare(
    findings: Sequence[Finding], baseline: dict[str, dict[str, Any]], fail_on: FailOn
) -> Comparison:
    """What moved since the baseline.

    Worse are: a published or upper number that grew, or that was known and is not any more; a
    claimed number that grew though the claim held before; another delta, order or adjacency; a rule
    of ``fail_on`` that is broken now and was not before, also by a claim that is new.

    Parameters
    ----------
    findings : sequence of Finding
        What there is now.
    baseline : dict
        As :func:`read_baseline` returns it.
    fail_on : FailOn
        The rules that count.
    """
    changes = []
    seen = set()
    for finding in findings:
        identifier = finding.claim.id
        seen.add(identifier)
        now = _entry(finding, fail_on)
        before = baseline.get(identifier)
        moved = _new(now) if before is None else _moved(before, now)
        if moved:
            changes.append(Change(id=identifier, moved=tuple(moved)))
    for identifier in baseline:
        if identifier not in seen:
            gone = Moved(what="claim", before="there", now="removed", worse=False)
            changes.append(Change(id=identifier, moved=(gone,)))
    return Comparison(changes=tuple(changes))


def _entry(finding: Finding, fail_on: FailOn) -> dict[str, Any]:
    claim = finding.claim
    numbers = (
        None if claim.epsilon is None else float(claim.epsilon),
        *(
            None if side is None else side.epsilon
            for side in (finding.published, finding.upper, finding.lower)
        ),
    )
    return {
        **{
            name: None if number is None else plain(number)
            for name, number in zip(_NUMBERS, numbers, strict=True)
        },
        "adjacency": claim.adjacency.value,
        "delta": claim.delta,
        "order": claim.order,
        "reproduction": finding.reproduction.value,
        "soundness": finding.soundness.value,
        "fails": [rule.value for rule in failures(finding, fail_on)],
    }


def _new(now: dict[str, Any]) -> list[Moved]:
    claimed = _shown(now["claimed"])
    state = f"new: epsilon {claimed}, {now['reproduction']}, {now['soundness']}"
    return [Moved(what="claim", before="not there", now=state, worse=bool(now["fails"]))]


def _moved(before: dict[str, Any], now: dict[str, Any]) -> list[Moved]:
    found = []
    newly = set(now["fails"]) - set(before["fails"])
    for name in ("adjacency", "delta", "order"):
        if before[name] != now[name]:
            # Another statement: its numbers cannot be told to be better or worse.
            found.append(
                Moved(what=name, before=_shown(before[name]), now=_shown(now[name]), worse=True)
            )
    for name in _NUMBERS:
        one, two = _number(before[name]), _number(now[name])
        if one == two or _close(one, two):
            continue
        worse = one is not None and (two is None or two > one)
        if name == "lower":
            # From below a larger number is a better bound; what it means, the verdict says.
            worse = False
        if name == "claimed" and before["fails"]:
            # A claim that did not hold may be corrected; the loss itself is the upper bound.
            worse = False
        found.append(
            Moved(what=name, before=_shown(before[name]), now=_shown(now[name]), worse=worse)
        )
    for name in _VERDICTS:
        if before[name] != now[name]:
            found.append(
                Moved(what=name, before=before[name], now=now[name], worse=now[name] in newly)
            )
            newly.discard(now[name])
    for rule in sorted(newly):
        found.append(Moved(what="rule", before="kept", now=f"broken: {rule}", worse=True))
    return found


def _close(one: float | None, two: float | None) -> bool:
    if one is None or two is None or math.isinf(one) or math.isinf(two):
        return False
    return math.isclose(one, two, rel_tol=_TOLERANCE)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _shown(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else "none" if value is None else str(value)


def _check(entry: Any, where: str) -> None:
    keys = {*_NUMBERS, *_VERDICTS, "adjacency", "delta", "order", "fails"}
    if not isinstance(entry, dict) or set(entry) != keys:
        raise ValueError(f"{where}: expected a table of {', '.join(sorted(keys))}.")
    for name in (*_NUMBERS, "delta", "order"):
        value = entry[name]
        number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        if not (number or value is None or value == "inf"):
            raise ValueError(f"{where}: expected {name} to be a number, got {value!r:.80}.")
    for name, accepted in _ACCEPTED.items():
        if entry[name] not in accepted:
            raise ValueError(f"{where}: expected {name} to be one of {accepted}.")
    if not isinstance(entry["adjacency"], str):
        raise ValueError(f"{where}: expected adjacency to be a string.")
    fails = entry["fails"]
    if not isinstance(fails, list) or not all(isinstance(rule, str) for rule in fails):
        raise ValueError(f"{where}: expected fails to be a list of strings.")


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


__all__ = [
    "Change",
    "Comparison",
    "Moved",
    "compare",
    "read_baseline",
    "write_baseline",
]
