"""The verdicts of the explorer in plain words, for a reader who knows no theorem."""

from __future__ import annotations

from enum import StrEnum

from rdpkit import Adjacency
from rdpkit.formats.text import printable, rounded_down, rounded_up
from rdpkit.verification.auditing.findings import NOT_COMPUTED, Finding, Reproduction, Soundness
from rdpkit.verification.outputs.news import false_by_rounding
from rdpkit.verification.outputs.view import claimed, statable

# A claim that exceeds what is proven by less than this is called tight.
_CAUTIOUS = 1.1


class PlainVerdict(StrEnum):
    """What became of a claim, worst first."""

    FALSE = "false"
    OPEN = "open"
    INCOMPLETE = "incomplete"
    TRUE = "true"

    @classmethod
    def of(cls, finding: Finding) -> PlainVerdict:
        """The verdict of a finding."""
        if finding.soundness is Soundness.REFUTED:
            return cls.FALSE
        if finding.soundness is Soundness.SOUND:
            return cls.TRUE
        return cls.INCOMPLETE if finding.upper is None else cls.OPEN


MEANINGS = {
    PlainVerdict.FALSE: "refuted: two data sets that differ in one record, or the code or the "
    "files that the claim is about, show that it does not hold",
    PlainVerdict.OPEN: "unproven: neither a proof of the number nor a counterexample is known",
    PlainVerdict.INCOMPLETE: "cannot be recomputed: the source leaves something out",
    PlainVerdict.TRUE: "sound: a proven bound is at most the printed number",
}
"""What each verdict says, and what it is called elsewhere."""

NEIGHBOURS = {
    Adjacency.ADD_OR_REMOVE_ONE: "neighbouring data sets: one record more or less",
    Adjacency.REPLACE_ONE: "neighbouring data sets: one record replaced by another one",
    Adjacency.ZERO_OUT: "neighbouring data sets: one record replaced by a blank one",
}
"""Neighbouring relations in words."""


def sentence(finding: Finding) -> str:
    """What became of a claim, in one sentence with its numbers."""
    name, said = finding.claim.quantity, claimed(finding.claim)
    lower, upper = finding.lower, finding.upper
    match PlainVerdict.of(finding):
        case PlainVerdict.FALSE:
            number = finding.claim.epsilon
            if lower is not None and number is not None and lower.epsilon > float(number):
                low = _above(lower.epsilon, float(number))
                how = "False by its last digit alone" if false_by_rounding(finding) else "False"
                return (
                    f"{how}. The source says {name} {said}, and two neighbouring data sets leak "
                    f"at least {low}."
                )
            why = finding.refutation[-1] if finding.refutation else "see the notes below"
            return f"False. {printable(why)}"
        case PlainVerdict.TRUE:
            assert upper is not None
            high = rounded_up(upper.epsilon, digits=4)
            if finding.slack is not None and finding.slack >= _CAUTIOUS:
                return (
                    f"True, and too cautious. The source says {name} {said}; {name} {high} is "
                    f"proven, {finding.slack:.2g} times less."
                )
            return f"True. The source says {name} {said}; {name} {high} is proven."
        case PlainVerdict.OPEN:
            assert upper is not None
            high, below = rounded_up(upper.epsilon, digits=4), "no counterexample is known"
            if lower is not None:
                low = rounded_down(lower.epsilon, digits=4)
                below = f"two neighbouring data sets leak at least {low}"
            return f"Open. The source says {name} {said}; proven is {name} {high}, and {below}."
    failed = [note for note in finding.notes if note.startswith(NOT_COMPUTED)]
    if finding.claim.missing:
        return "Cannot be recomputed. The source does not give all that the number depends on."
    why = failed[0] if failed else "the library has no event for the mechanism"
    return f"Cannot be recomputed: {printable(why)}."


def _above(value: float, claimed: float) -> str:
    """A lower bound, rounded down to as many digits as show that it exceeds a claim."""
    for digits in range(4, 17):
        text = rounded_down(value, digits=digits)
        if float(text) > claimed:
            return text
    return repr(value)


def instead(finding: Finding) -> str:
    """What would be true instead; empty where the claim is true, or nothing is known."""
    if PlainVerdict.of(finding) not in (PlainVerdict.FALSE, PlainVerdict.OPEN):
        return ""
    number = statable(finding)
    if number is None:
        return ""
    claim = finding.claim
    if claim.epsilon is not None and number == str(claim.epsilon):
        return ""
    delta = "" if claim.delta is None else f" at delta {claim.delta:g}"
    order = "" if claim.order is None or claim.delta is not None else f" at order {claim.order:g}"
    return f"{claim.quantity} {number}{delta}{order} is true of the same release."


def reproduced(finding: Finding) -> str:
    """Whether the source's own formula gives the printed number."""
    published = finding.published
    match finding.reproduction:
        case Reproduction.EXACT:
            return "The source's own formula gives the printed number."
        case Reproduction.DIFFERS:
            assert published is not None
            gives = rounded_up(published.epsilon, digits=4)
            return f"The source's own formula gives {gives}, not the printed number."
        case Reproduction.UNNAMED:
            return "The source does not say by which formula the number was computed."
    return ""


__all__ = [
    "MEANINGS",
    "NEIGHBOURS",
    "PlainVerdict",
    "instead",
    "reproduced",
    "sentence",
]
