"""What the words of a report mean, in plain sentences, and the order in which claims are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rdpkit.verification.auditing.findings import (
    ClaimVerdict,
    Finding,
    Reproduction,
    Soundness,
)
from rdpkit.verification.outputs.verdict import MEANINGS


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedWord:
    """A word and its meaning."""

    id: str  # Its anchor
    term: str  # The word
    meaning: str  # What it means, in a sentence or two


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimGroup:
    """Claims that are shown under one heading."""

    id: str  # Its anchor
    title: str  # The heading
    about: str  # What these claims have in common


def _word(term: str, meaning: str) -> DefinedWord:
    return DefinedWord(id=f"word-{term.replace(' ', '-')}", term=term, meaning=meaning)


VERDICTS = tuple(
    _word(one.value, f"{MEANINGS[one][0].upper()}{MEANINGS[one][1:]}.") for one in ClaimVerdict
)
"""Whether a claim is true, the worst first."""

REPRODUCTION = (
    _word(
        Reproduction.DIFFERS.value,
        "The formula that the source names gives another number than the printed one.",
    ),
    _word(
        Reproduction.UNDERSPECIFIED.value,
        "Something is missing in what was read, so the number cannot be computed again.",
    ),
    _word(
        Reproduction.UNNAMED.value,
        "No formula is named here, and the usual one gives another number, so how it was "
        "computed is not judged.",
    ),
    _word(
        Reproduction.EXACT.value,
        "The source's formula gives the printed number, to its last printed digit.",
    ),
)
"""Whether the printed number comes out again, the worst first."""

NUMBERS = (
    _word(
        "lower",
        "What two neighbouring data sets really leak. No true claim about the mechanism is "
        "smaller.",
    ),
    _word(
        "upper",
        "The best proven bound: no two neighbouring data sets leak more. Every claim that is at "
        "least this is true.",
    ),
    _word(
        "published",
        "What the source's own formula gives for the source's own parameters. The formula may be "
        "wrong, so this proves nothing.",
    ),
    _word("claimed", "The number that the source prints."),
)
"""The four numbers of a claim, in the order of the legend."""

OTHERS = (
    _word(
        "slack",
        "The claim divided by the upper bound. At 2, half the number would have been true as "
        "well; below 1, the claim is not proven.",
    ),
    _word(
        "epsilon",
        "How much one record may change what comes out: the probability of no outcome grows by "
        "more than the factor e to the epsilon. Smaller is more private.",
    ),
    _word(
        "delta",
        "A small probability that is allowed on top of the factor of epsilon. It should be far "
        "below one in the number of records.",
    ),
    _word(
        "adjacency",
        "Which data sets are neighbours. With add_or_remove_one, one of them has one record more; "
        "with replace_one, one record is another one.",
    ),
    _word(
        "neighbouring data sets",
        "Two data sets that differ in one record, as the adjacency says. Privacy means that they "
        "can hardly be told apart by what is released.",
    ),
    _word(
        "Renyi divergence",
        "Another measure of how far outcomes from two neighbours are apart, one number for each "
        "order. Many formulas compute it first and convert it to epsilon.",
    ),
    _word(
        "certified",
        "Computed with intervals that contain every rounding error, and rounded to the safe side.",
    ),
    _word(
        "scenario",
        "One way to complete what is missing. What a formula gives for it is no verdict.",
    ),
)
"""Other words of the page."""

WORDS = (*VERDICTS, *REPRODUCTION, *NUMBERS, *OTHERS)
"""All words."""

GROUPS = (
    ClaimGroup(
        id="refuted",
        title="Refuted",
        about="As they are read here these claims are false: more leaks than they say. Where "
        "another reading of the number holds, the claim says so.",
    ),
    ClaimGroup(
        id="open",
        title="Unproven",
        about="These claims can be computed, and are neither proven nor refuted.",
    ),
    ClaimGroup(
        id="differs",
        title="Not what the formula gives",
        about="These numbers are not those of the formula that their source names.",
    ),
    ClaimGroup(
        id="missing",
        title="Incomplete",
        about="Something that these numbers depend on is missing in what was read, so they are "
        "neither proven nor refuted.",
    ),
    ClaimGroup(
        id="sound",
        title="Sound",
        about="These claims are proven. Those that could be said best with a smaller number come "
        "first.",
    ),
)
"""The headings under which claims are shown, the worst first."""


def group_of(finding: Finding) -> int:
    """The place in :data:`GROUPS` of the heading under which a finding is shown."""
    if finding.soundness is Soundness.REFUTED:
        return 0
    if finding.soundness is Soundness.UNPROVEN and finding.upper is not None:
        return 1
    if finding.reproduction is Reproduction.DIFFERS:
        return 2
    return 3 if finding.soundness is Soundness.UNPROVEN else 4


def worst_first(findings: Sequence[Finding]) -> list[int]:
    """The places of findings, the worst first.

    Refuted claims are ordered by how far they are from the truth, sound ones by how much better
    they could be said. What is equal stays in the order of the files.
    """

    def rank(place: int) -> tuple[int, float]:
        finding = findings[place]
        group = group_of(finding)
        slack = finding.slack if finding.slack is not None else 1.0
        return group, -slack if group == len(GROUPS) - 1 else slack

    return sorted(range(len(findings)), key=rank)
