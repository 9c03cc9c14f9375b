"""The rules that a finding may break, and which of them make a check fail."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rdpkit.formats.records import did_you_mean
from rdpkit.verification.auditing.findings import Finding, Reproduction, Soundness

NOTHING = "nothing"
_SLACK = "slack>"


class Rule(StrEnum):
    """What may be wrong with a claim. The names never change, because other programs store them."""

    REFUTED = "refuted"
    UNPROVEN = "unproven"
    DIFFERS = "differs"
    UNDERSPECIFIED = "underspecified"
    SLACK = "slack"


MEANING = {
    Rule.REFUTED: "The claim is false: something leaks more than it says.",
    Rule.UNPROVEN: "No theorem in the library reaches the claim, and nothing refutes it.",
    Rule.DIFFERS: "The formula that the claim names gives another number.",
    Rule.UNDERSPECIFIED: "Parameters are missing, so nothing can be computed.",
    Rule.SLACK: "The claim is true, and could be much smaller.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailOn:
    """Which rules make a check fail."""

    rules: frozenset[Rule]
    slack_above: float = math.inf
    """For the rule slack: claims that exceed their best upper bound by more than this factor."""

    @classmethod
    def parse(cls, words: Iterable[str]) -> FailOn:
        """The rules of words: ``refuted``, ``unproven,differs``, ``slack>1.5``, ``nothing``."""
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
"""The rules for files that a user names."""


def _unknown(part: str) -> ValueError:
    return ValueError(
        "Expected fail-on to be refuted, unproven, differs, underspecified, slack>N or nothing, "
        f"got {part!r:.80}.{did_you_mean(part, [*Rule, NOTHING])}"
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
    is_broken = {
        Rule.REFUTED: finding.soundness is Soundness.REFUTED,
        Rule.DIFFERS: finding.reproduction is Reproduction.DIFFERS,
        Rule.UNPROVEN: finding.soundness is Soundness.UNPROVEN,
        Rule.UNDERSPECIFIED: finding.reproduction is Reproduction.UNDERSPECIFIED,
        Rule.SLACK: slack(finding) > slack_above,
    }
    return tuple(rule for rule, broken in is_broken.items() if broken)


def failures(finding: Finding, fail_on: FailOn) -> tuple[Rule, ...]:
    """The rules for which a finding makes the check fail, the worst first."""
    broken = broken_rules(finding, slack_above=fail_on.slack_above)
    return tuple(rule for rule in broken if rule in fail_on.rules)


def slack(finding: Finding) -> float:
    """By what factor a claim exceeds its best upper bound; 0 where nobody can tell."""
    if finding.slack is not None:
        return finding.slack
    # If nothing is lost and some loss was claimed, the slack is infinite.
    nothing = finding.upper is not None and finding.upper.epsilon == 0.0
    claimed = finding.claim.epsilon
    return math.inf if nothing and claimed is not None and claimed > 0 else 0.0
