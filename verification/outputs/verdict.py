"""The verdict on a claim in words. Every output takes its sentences from here."""

from __future__ import annotations

import math

from rdpkit.formats.numbers import as_given, beside
from rdpkit.formats.text import printable, rounded_down, rounded_up
from rdpkit.verification.auditing.findings import (
    ClaimVerdict,
    Finding,
    OtherReading,
    Reproduction,
    Soundness,
    read_in_part,
    refuted_by_bound,
)
from rdpkit.verification.auditing.remedies import statable
from rdpkit.verification.claims.claim import Claim

NOT_PRINTED = "not printed"
"""The text for a number that the source of a claim does not print."""

LOOSE = 1.05
"""A true claim that is so many times what is proven is called too cautious."""

HALVED = 2.0
"""A true claim that is so many times what is proven could be halved."""

_DIGITS = 6


MEANINGS = {
    ClaimVerdict.FALSE: "two data sets that differ in one record, or the code or the files that "
    "the claim is about, show that it does not hold",
    ClaimVerdict.DEPENDS: "true or false by how the source is read: the number is printed once, "
    "and one reading of it is refuted while another is not",
    ClaimVerdict.OPEN: "neither a proof of the number nor a counterexample is known",
    ClaimVerdict.INCOMPLETE: "cannot be recomputed: something is missing in what was read",
    ClaimVerdict.APPROXIMATE: "refuted as a bound; the source itself calls the number an "
    "approximation",
    ClaimVerdict.ROUNDED: "true to its printed digits: rounded up, its last digit would be proven, "
    "and as it stands it is refuted",
    ClaimVerdict.TRUE: "a proven bound is at most the number, if the parameters are what was run",
}
"""What each verdict says."""

QUALIFIED = (ClaimVerdict.DEPENDS, ClaimVerdict.APPROXIMATE, ClaimVerdict.ROUNDED)
"""Verdicts on claims that are refuted in a way that has to be said with it."""


def number(kind: str, value: float, *, digits: int = _DIGITS) -> str:
    """A number for people: a lower bound is rounded down, and every other number up."""
    return (rounded_down if kind == "lower" else rounded_up)(value, digits=digits)


def claimed(claim: Claim) -> str:
    """The claimed number with all its digits: with fewer it would be another claim."""
    if claim.epsilon is None:
        return NOT_PRINTED
    return str(claim.epsilon) if claim.epsilon.is_finite() else "inf"


def word(finding: Finding) -> str:
    """The verdict in a word or a few, which begin a sentence."""
    match finding.verdict:
        case ClaimVerdict.FALSE:
            return "False"
        case ClaimVerdict.ROUNDED:
            return "False by its last digit alone"
        case ClaimVerdict.APPROXIMATE:
            how = printable(str(finding.claim.approximation))
            return f"Below the truth, as an approximation {how}"
        case ClaimVerdict.DEPENDS:
            return "True or false by how it is read"
        case ClaimVerdict.TRUE:
            return "True, and too cautious" if (finding.slack or 0.0) >= LOOSE else "True"
        case ClaimVerdict.OPEN:
            return "Open"
    return "Cannot be recomputed"


def reason(finding: Finding) -> str:
    """What the verdict rests on, in one clause with its numbers."""
    others = (f"read with {printable(one.reading)}: {_in_short(one)}" for one in finding.readings)
    return "; ".join([_own_reason(finding), *others])


def _in_short(other: OtherReading) -> str:
    match other.soundness:
        case Soundness.SOUND if other.upper is not None:
            return f"{number('upper', other.upper)} is proven"
        case Soundness.REFUTED if other.lower is not None:
            return f"at least {number('lower', other.lower)} is attained"
    return f"it is {other.soundness.value}"


def _own_reason(finding: Finding) -> str:
    name, lower, upper = finding.claim.quantity, finding.lower, finding.upper
    low = "" if lower is None else number("lower", lower.epsilon)
    said = float(finding.claim.epsilon or 0)
    high = "" if upper is None else f"{name} {number('upper', upper.epsilon)}"
    match finding.soundness:
        case Soundness.REFUTED if lower is not None and refuted_by_bound(finding):
            low = _above(said, "lower", lower.epsilon)
            leak = f"two neighbouring data sets leak at least {low}"
            reading = finding.claim.reading
            return leak if reading is None else f"with {printable(reading)}, {leak}"
        case Soundness.REFUTED:
            return printable(finding.refutation[-1] if finding.refutation else "see its notes")
        case Soundness.SOUND:
            slack = finding.slack or 0.0
            times = f", {slack:.3g} times less" if LOOSE <= slack < math.inf else ""
            return f"{high} is proven{times}"
        case Soundness.UNPROVEN if upper is not None:
            attained = f"two neighbouring data sets leak at least {low}"
            proven = f"{name} {_above(said, 'upper', upper.epsilon)} is proven"
            if math.isinf(upper.epsilon):
                proven = "no bound is proven"
            return f"{proven}, and {attained if low else 'no counterexample is known'}"
    failed = [] if finding.failure is None else [finding.failure]
    if finding.claim.missing:
        begin = (
            "not in what was read:" if read_in_part(finding.claim) else "the source does not give"
        )
        failed.insert(0, f"{begin} {'; '.join(finding.claim.missing)}")
    return printable("; ".join(failed) or "the library has no event for the mechanism")


def sentence(finding: Finding) -> str:
    """What became of a claim, with its numbers."""
    if finding.verdict is ClaimVerdict.INCOMPLETE:
        return f"{word(finding)}: {reason(finding)}."
    said = f"The source says {finding.claim.quantity} {claimed(finding.claim)}"
    return f"{word(finding)}. {said}; {reason(finding)}."


def _above(said: float, kind: str, value: float) -> str:
    return beside(said, value, lambda digits: number(kind, value, digits=digits), _DIGITS)


def instead(finding: Finding) -> str:
    """What would be true instead; empty where the claim is true, or nothing is known."""
    if finding.soundness is Soundness.SOUND or finding.upper is None:
        return ""
    number = statable(finding)
    if number is None:
        return ""
    claim = finding.claim
    if claim.epsilon is not None and number == str(claim.epsilon):
        return ""
    delta = "" if claim.delta is None else f" at delta {as_given(claim.delta)}"
    order = "" if claim.order is None or claim.delta is not None else f" at order {claim.order:g}"
    return f"{claim.quantity} {number}{delta}{order} is true of the same release."


def reproduced(finding: Finding) -> str:
    """Whether the source's own formula gives the printed number."""
    published, claim = finding.published, finding.claim
    match finding.reproduction:
        case Reproduction.EXACT if claim.bound is None and claim.conversion is None:
            return "The mechanism's usual formula gives the printed number."
        case Reproduction.EXACT:
            return "The source's own formula gives the printed number."
        case Reproduction.DIFFERS:
            assert published is not None
            gives = number("published", published.epsilon)
            return f"The source's own formula gives {gives}, not the printed number."
        case Reproduction.UNNAMED:
            return "By which formula the number was computed is not said, or not known here."
    return ""
