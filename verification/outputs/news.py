"""What matters most in an audit, in sentences: what is false, what is open, what could be better.

The terminal, the report and the documentation begin with these sentences.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdpkit.formats.numbers import how_many
from rdpkit.verification.auditing.findings import (
    ClaimVerdict,
    Finding,
    Reproduction,
    Soundness,
    number_of,
)
from rdpkit.verification.auditing.rules import slack
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.outputs.words import HALVED


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """How many of some claims have each verdict."""

    # All printed numbers, the false ones, and those that are proven in every reading.
    claims: int
    refuted: int
    sound: int
    depends: int  # Numbers that are refuted in one reading, and not in another
    approximate: int  # Refuted numbers that their source calls approximations
    missing: int  # Claims that cannot be recomputed, because something is not given
    open: int  # Claims that can be computed, and are neither proven nor refuted
    differs: int  # Claims whose own formula gives another number
    halved: int  # Proven claims that could be said with half the number or less
    rounded: int  # Refuted claims that are false by their last printed digit alone

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> VerdictCounts:
        """The counts of findings."""
        findings = list(findings)
        worst: dict[str, ClaimVerdict] = {}
        order = list(ClaimVerdict)
        for one in findings:
            name = number_of(one.claim)
            worst[name] = min(one.verdict, worst.get(name, order[-1]), key=order.index)
        counts = Counter(worst.values())
        return cls(
            claims=len(worst),
            refuted=counts[ClaimVerdict.FALSE],
            sound=counts[ClaimVerdict.TRUE],
            depends=counts[ClaimVerdict.DEPENDS],
            approximate=counts[ClaimVerdict.APPROXIMATE],
            missing=counts[ClaimVerdict.INCOMPLETE],
            open=counts[ClaimVerdict.OPEN],
            differs=_numbers(one for one in findings if one.reproduction is Reproduction.DIFFERS),
            halved=_numbers(
                one
                for one in findings
                if worst[number_of(one.claim)] is ClaimVerdict.TRUE and could_be_halved(one)
            ),
            rounded=counts[ClaimVerdict.ROUNDED],
        )


def _numbers(findings: Iterable[Finding]) -> int:
    return len({number_of(one.claim) for one in findings})


def could_be_halved(finding: Finding) -> bool:
    """Whether a claim is proven and at least twice its best upper bound."""
    return finding.soundness is Soundness.SOUND and slack(finding) >= HALVED


def source_of(claim: Claim) -> str:
    """The work that a claim is from, or the name of its file."""
    if claim.work is not None:
        return claim.work.title
    return Path(claim.origin).name or "claims"


def by_source(findings: Iterable[Finding]) -> list[tuple[str, VerdictCounts]]:
    """The counts of each work or file, the worst first."""
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        groups.setdefault(source_of(one.claim), []).append(one)
    counted = [(name, VerdictCounts.of(group)) for name, group in groups.items()]
    return sorted(counted, key=lambda entry: (-entry[1].refuted, -entry[1].open))


def sentences(
    findings: Sequence[Finding],  # What the audit found
) -> list[str]:  # One sentence or more, each of which is true of exactly these findings
    """The news of an audit: theorems that are false, then the other claims."""
    # Such claims test a theorem at settings that were chosen for it.
    theorems = [one for one in findings if one.claim.kind == "theorem"]
    others = [one for one in findings if one.claim.kind != "theorem"]
    found = []
    if theorems:
        sources = len({source_of(one.claim) for one in findings})
        found.append(_about_theorems(theorems, sources))
    if others or not theorems:
        found += _about_claims(VerdictCounts.of(others), "budget" if theorems else "claim")
    return found


def _about_theorems(findings: Sequence[Finding], sources: int) -> str:
    """Which theorems are false, and at how many of their settings."""
    tested: dict[str, list[Finding]] = {}
    for one in findings:
        tested.setdefault(one.claim.bound or one.claim.source, []).append(one)
    false = {
        name: group
        for name, group in tested.items()
        if any(one.soundness is Soundness.REFUTED for one in group)
    }
    works = f"of {sources} papers" if sources > 1 else "of 1 paper"
    if not false:
        number = how_many(len(tested), "theorem")
        return f"{number} {works} {_were(len(tested))} tested, and none is refuted."
    refuted = sum(
        1 for group in false.values() for one in group if one.soundness is Soundness.REFUTED
    )
    settings = sum(len(group) for group in false.values())
    return (
        f"{how_many(len(false), 'theorem')} {works} {'is' if len(false) == 1 else 'are'} false as "
        f"printed: {refuted} of the {settings} settings at which "
        f"{'it' if len(false) == 1 else 'they'} "
        f"{_were(len(false))} tested {'leaks' if refuted == 1 else 'leak'} more than "
        f"{'it says' if len(false) == 1 else 'they say'}."
    )


# What is said of one claim, and of several, by the names of their counts.
_SAID = {
    "refuted": ("is refuted", "are refuted"),
    "depends": (
        "holds in one reading and not in another",
        "hold in one reading and not in another",
    ),
    "approximate": ("is an approximation below the truth", "are approximations below the truth"),
    "rounded": ("is false by the last digit alone", "are false by the last digit alone"),
    "differs": ("differs from its own formula", "differ from their own formula"),
    "open": ("can be neither proven nor refuted",) * 2,
    "missing": ("cannot be recomputed from what is given",) * 2,
    "sound": ("is proven", "are proven"),
}


def _about_claims(counts: VerdictCounts, noun: str) -> list[str]:
    """How many claims are refuted, cannot be recomputed, are open, or could be better."""
    if counts.claims == 0:
        return ["There are no such claims."]
    if counts.claims == 1:
        # It has one verdict; whether it differs from its formula is another question.
        (said,) = (
            one for name, (one, _) in _SAID.items() if name != "differs" and getattr(counts, name)
        )
        halved = ", and could be halved" if counts.halved else ""
        return [f"The {noun} {said.replace('the last', 'its last')}{halved}."]
    parts = []
    for name, (one, many) in _SAID.items():
        count = getattr(counts, name)
        if count or name in ("refuted", "sound"):
            parts.append(f"{count or 'none'} {many if count > 1 else one}")
    if counts.halved:
        parts[-1] += f", of which {counts.halved} could be halved"
    # Both refuted and proven ones are always counted.
    return [f"Of {counts.claims} {noun}s {', '.join(parts[:-1])}, and {parts[-1]}."]


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def summary(findings: Sequence[Finding]) -> dict[str, Any]:
    """The news as plain values for JSON: sentences, and counts of all and of each source."""
    return {
        "sentences": sentences(findings),
        **dataclasses.asdict(VerdictCounts.of(findings)),
        "sources": [
            {"source": name, **dataclasses.asdict(counts)} for name, counts in by_source(findings)
        ],
    }


_ATTENDED = (
    *(ClaimVerdict.FALSE, ClaimVerdict.DEPENDS, ClaimVerdict.OPEN),
    *(ClaimVerdict.APPROXIMATE, ClaimVerdict.ROUNDED),
)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Refuted claims, then open ones, then those that differ, by how far they are from the truth.

    Only those to which somebody has to attend: neither sound and reproduced claims, nor
    those that cannot be recomputed. Of several readings that are all refuted it is the one that
    leaks least.
    """

    def rank(finding: Finding) -> int | None:
        verdict = finding.verdict
        own = math.inf if finding.lower is None else finding.lower.epsilon
        if verdict is ClaimVerdict.FALSE and finding.readings:
            others = [math.inf if one.lower is None else one.lower for one in finding.readings]
            return 0 if own <= min(others) else None
        if verdict is ClaimVerdict.DEPENDS and finding.soundness is Soundness.SOUND:
            return None
        if verdict in _ATTENDED:
            return _ATTENDED.index(verdict)
        return len(_ATTENDED) if finding.reproduction is Reproduction.DIFFERS else None

    ranked = [(order, one) for one in findings if (order := rank(one)) is not None]
    ranked.sort(key=lambda entry: (entry[0], slack(entry[1])))
    return [one for _, one in ranked]
