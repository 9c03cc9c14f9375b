"""Which findings make a check fail, why, and what the author of the claim can do about it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum

from rdpkit.verification.auditing.findings import Finding, Reproduction, Side, Soundness
from rdpkit.verification.claims.printed_precision import agrees_rounded, rounded
from rdpkit.verification.claims.reading import Claim

from rdpkit.text import rounded_down, rounded_up

NOTHING = "nothing"
_SLACK = "slack>"


class Rule(StrEnum):
    """What may be wrong with a claim. The names are stable: other programs keep them."""

    REFUTED = "refuted"
    UNPROVEN = "unproven"
    DIFFERS = "differs"
    UNDERSPECIFIED = "underspecified"
    SLACK = "slack"


MEANING = {
    Rule.REFUTED: "The claim is false: something leaks more than it says.",
    Rule.UNPROVEN: "No theorem in the library reaches the claim, and nothing refutes it.",
    Rule.DIFFERS: "The published formula with the stated parameters gives another number.",
    Rule.UNDERSPECIFIED: "Parameters are missing, so nothing can be computed.",
    Rule.SLACK: "The claim is true, and could be much smaller.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailOn:
    """Which rules make a check fail.

    Parameters
    ----------
    rules : frozenset of Rule
        Those.
    slack_above : float
        For the rule slack: claims that exceed their best upper bound by more than this factor.
    """

    rules: frozenset[Rule]
    slack_above: float = math.inf

    @classmethod
    def parse(cls, words: Iterable[str]) -> FailOn:
        """From words like ``refuted``, ``unproven,differs``, ``slack>1.5`` and ``nothing``.

        Raises
        ------
        ValueError
            For any other word.
        """
        rules, above = set(), math.inf
        parts = [part.strip() for word in words for part in word.split(",")]
        for part in parts:
            if part.startswith(_SLACK):
                above = min(above, _factor(part))
                rules.add(Rule.SLACK)
            elif part != NOTHING:
                if part not in set(Rule) - {Rule.SLACK}:
                    raise _unknown(part)
                rules.add(Rule(part))
        if NOTHING in parts and rules:
            raise ValueError(f"Expected {NOTHING} alone in fail-on, got {', '.join(parts)}.")
        return cls(rules=frozenset(rules), slack_above=above)


DEFAULT = FailOn(rules=frozenset({Rule.REFUTED, Rule.DIFFERS}))
"""For files that a user names."""


def _unknown(part: str) -> ValueError:
    return ValueError(
        "Expected fail-on to be refuted, unproven, differs, underspecified, slack>N or nothing, "
        f"got {part!r:.80}."
    )


def _factor(part: str) -> float:
    try:
        factor = float(part.removeprefix(_SLACK))
    except ValueError:
        raise _unknown(part) from None
    if not 1.0 <= factor < math.inf:
        raise ValueError(f"Expected slack>N with N >= 1 in fail-on, got {part!r:.80}.")
    return factor


def broken_rules(finding: Finding, *, slack_above: float = math.inf) -> tuple[Rule, ...]:
    """Every rule that a finding breaks, the worst first."""
    found = []
    if finding.soundness is Soundness.REFUTED:
        found.append(Rule.REFUTED)
    if finding.reproduction is Reproduction.DIFFERS:
        found.append(Rule.DIFFERS)
    if finding.soundness is Soundness.UNPROVEN:
        found.append(Rule.UNPROVEN)
    if finding.reproduction is Reproduction.UNDERSPECIFIED:
        found.append(Rule.UNDERSPECIFIED)
    if _slack(finding) > slack_above:
        found.append(Rule.SLACK)
    return tuple(found)


def failures(finding: Finding, fail_on: FailOn) -> tuple[Rule, ...]:
    """The rules for which a finding makes the check fail, the worst first."""
    broken = broken_rules(finding, slack_above=fail_on.slack_above)
    return tuple(rule for rule in broken if rule in fail_on.rules)


def _slack(finding: Finding) -> float:
    if finding.slack is not None:
        return finding.slack
    # Nothing is lost, and something was claimed: a slack without end.
    nothing = finding.upper is not None and finding.upper.epsilon == 0.0
    claimed = finding.claim.epsilon
    return math.inf if nothing and claimed is not None and claimed > 0 else 0.0


def headline(finding: Finding, rule: Rule) -> str:
    """One sentence: what is wrong, with the numbers that show it."""
    claim = finding.claim
    said = f"epsilon {claimed(claim)}{at(claim)}"
    match rule:
        case Rule.REFUTED:
            if finding.lower is not None and _beyond(finding.lower, claim):
                low = rounded_down(finding.lower.epsilon, digits=6)
                return f"{said} is refuted: two neighbouring data sets attain at least {low}"
            return f"{said} is refuted: {_last(finding)}"
        case Rule.UNPROVEN:
            if finding.upper is None:
                return f"{said} is unproven: there is nothing to compute it from"
            high = rounded_up(finding.upper.epsilon, digits=6)
            return f"{said} is unproven: the best upper bound is {high}, by {finding.upper.bound}"
        case Rule.DIFFERS:
            assert finding.published is not None
            gives = rounded_up(finding.published.epsilon, digits=6)
            return f"{said} differs: the formula {finding.published.bound} gives {gives}"
        case Rule.UNDERSPECIFIED:
            return f"{said} is underspecified: {_missing(finding)}"
        case Rule.SLACK:
            assert finding.upper is not None
            high = rounded_up(finding.upper.epsilon, digits=6)
            return f"{said} is {_slack(finding):.3g} times its best upper bound, {high}"


def _missing(finding: Finding) -> str:
    """What is not given, or why nothing was computed from what is."""
    failed = [note for note in finding.notes if note.startswith("not computed: ")]
    known = (*finding.claim.missing, *failed)
    return "; ".join(known) or "the library has no event for the mechanism"


def _beyond(side: Side, claim: Claim) -> bool:
    return claim.epsilon is not None and side.epsilon > float(claim.epsilon)


def _last(finding: Finding) -> str:
    return finding.refutation[-1] if finding.refutation else "see its notes"


def advice(finding: Finding, rule: Rule) -> str:
    """What the author of the claim can change."""
    match rule:
        case Rule.REFUTED | Rule.UNPROVEN:
            if rule is Rule.REFUTED and not (
                finding.lower is not None and _beyond(finding.lower, finding.claim)
            ):
                return (
                    "correct what the claim points at, the code or the release; or claim what it is"
                )
            number = statable(finding)
            if number is None:
                return "give what is missing, or a mechanism and adjacency that a theorem is about"
            return (
                f"claim epsilon = {number}, or add noise: rdpkit calibrate finds how much is enough"
            )
        case Rule.DIFFERS:
            assert finding.published is not None
            assert finding.claim.epsilon is not None
            gives = _stated(finding.published.epsilon, finding.claim.epsilon)
            return (
                f"print epsilon = {gives}, or correct the parameters, or name the bound and the "
                "conversion that the number comes from"
            )
        case Rule.UNDERSPECIFIED:
            return "give the missing parameters, and take them off the list"
        case Rule.SLACK:
            return f"claim epsilon = {statable(finding)}: the same release, stated better"


def statable(finding: Finding) -> str | None:
    """The smallest number that can be claimed, with as many digits as the claim has, or one more.

    Returns
    -------
    str or None
        None where no finite upper bound is known.
    """
    upper, printed = finding.upper, finding.claim.epsilon
    if upper is None or printed is None or math.isinf(upper.epsilon):
        return None
    return _stated(upper.epsilon, printed)


def _stated(value: float, printed: Decimal) -> str:
    if math.isinf(value):
        return "inf"
    if not printed.is_finite() or printed == 0:
        return rounded_up(value, digits=3)
    up = rounded(value, printed, ROUND_CEILING)
    # A coarse unit must not make a small number large.
    if up > Decimal(value) * Decimal("1.05") and not agrees_rounded(value, printed):
        return rounded_up(value, digits=3)
    return f"{up:f}"


def claimed(claim: Claim) -> str:
    """The claimed number as printed, in at most a few characters."""
    if claim.epsilon is None:
        return "(none printed)"
    if not claim.epsilon.is_finite():
        return "inf"
    text = str(claim.epsilon)
    return text if len(text) <= 14 else f"{claim.epsilon:.6e}"


def at(claim: Claim) -> str:
    """Where it is claimed: delta, order and adjacency."""
    parts = "" if claim.delta is None else f" at delta {claim.delta:g}"
    parts += "" if claim.order is None else f" at order {claim.order:g}"
    return f"{parts} ({claim.adjacency.value})"


def sides(finding: Finding) -> list[tuple[str, str]]:
    """The claimed number and the sides of the sandwich, each with its theorem, for people."""
    lines = [("claimed", f"epsilon {claimed(finding.claim)}{at(finding.claim)}")]
    for name, side in (
        ("published", finding.published),
        ("upper", finding.upper),
        ("lower", finding.lower),
    ):
        if side is not None:
            shown = (rounded_down if name == "lower" else rounded_up)(side.epsilon, digits=6)
            order = "" if side.order is None else f" at order {side.order:.6g}"
            lines.append((name, f"{shown} by {side.bound}{order}"))
    return lines


def report(finding: Finding, rules: Iterable[Rule]) -> list[str]:
    """A failure in full, line by line: claimed, upper, lower, theorems, what to change."""
    lines = []
    rules = tuple(rules)
    for rule in rules:
        lines.append(headline(finding, rule))
    lines += [f"  {name:10} {text}" for name, text in sides(finding)]
    lines += [f"  refuted by {text}" for text in finding.refutation]
    upper = finding.upper
    if upper is not None:
        lines += [f"  assumes    {text}" for text in upper.assumptions]
    lines += [f"  note       {text}" for text in finding.notes]
    lines += [
        f"  change     {text}" for text in dict.fromkeys(advice(finding, rule) for rule in rules)
    ]
    return lines


__all__ = [
    "DEFAULT",
    "MEANING",
    "FailOn",
    "Rule",
    "advice",
    "at",
    "broken_rules",
    "claimed",
    "failures",
    "headline",
    "report",
    "sides",
    "statable",
]
