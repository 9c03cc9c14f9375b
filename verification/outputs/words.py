"""The words of a finding: outputs differ in their form, and take what they say from here."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rdpkit import BOUNDS, Adjacency
from rdpkit.accountants.loss_distributions import SOURCES
from rdpkit.formats.numbers import as_given, beside
from rdpkit.formats.text import printable, rounded_down, rounded_up
from rdpkit.verification.auditing.findings import (
    ClaimVerdict,
    Finding,
    OtherReading,
    Reproduction,
    Side,
    Soundness,
    read_in_part,
    refuted_by_bound,
)
from rdpkit.verification.auditing.regions.sentences import how
from rdpkit.verification.auditing.remedies import needs_noise, obstacles, remedies, statable
from rdpkit.verification.auditing.rules import Rule, slack
from rdpkit.verification.claims.claim import Claim

THEOREMS = {bound.id: f"{bound.title}: {bound.source}" for bound in BOUNDS} | SOURCES
"""Titles and sources of theorems, by the ids that findings name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SideView:
    """One side of a claim in words."""

    kind: str  # "published", "upper" or "lower"
    text: str  # The number, rounded so that it stays true
    bound: str  # The theorem's id, or several with " + " between them
    order: str  # The Renyi order; empty if the number does not belong to one
    theorems: tuple[str, ...]  # Title and source of each theorem
    enclosure: str  # The interval that the number was taken from; empty where there is none
    assumptions: tuple[str, ...]  # What must hold besides

    def __str__(self) -> str:
        order = f" at order {self.order}" if self.order else ""
        return f"{self.text} by {self.bound}{order}"


_KINDS = ("published", "upper", "lower")


def sides(finding: Finding, kinds: Iterable[str] = _KINDS) -> list[SideView]:
    """The numbers of a finding that are known, in words."""
    return [_side(kind, side) for kind, side in named_sides(finding, kinds)]


def named_sides(finding: Finding, kinds: Iterable[str] = _KINDS) -> list[tuple[str, Side]]:
    """The sides of a finding that are known, with their names, in the order of ``kinds``.

    What the mechanism's usual formula gives is left out where the claim comes from another, unnamed
    one: its source published no such number.
    """
    other = finding.reproduction is Reproduction.UNNAMED
    kinds = [kind for kind in kinds if not (other and kind == "published")]
    named = [(kind, getattr(finding, kind)) for kind in kinds]
    return [(kind, side) for kind, side in named if side is not None]


def _side(kind: str, side: Side) -> SideView:
    enclosure = ""
    if side.computed is not None:
        how = "certified" if side.rigorous else "floating-point"
        enclosure = f"{how} interval [{side.computed[0]!r}, {side.computed[1]!r}]"
    return SideView(
        kind=kind,
        text=number(kind, side.epsilon),
        bound=printable(side.bound),
        order="" if side.order is None else f"{side.order:.6g}",
        theorems=tuple(THEOREMS[name] for name in theorem_ids(side)),
        enclosure=enclosure,
        assumptions=tuple(map(printable, side.assumptions)),
    )


def theorem_ids(side: Side) -> list[str]:
    """The ids of the theorems that a number rests on, without those that have no title."""
    return [name for name in side.bound.split(" + ") if name in THEOREMS]


_RELATIONS = {
    Adjacency.ADD_OR_REMOVE_ONE: "for one record more or less",
    Adjacency.REPLACE_ONE: "for one record replaced by another",
    Adjacency.ZERO_OUT: "for one record replaced by nothing",
}


def relation_in_words(claim: Claim) -> str:
    """How the two data sets differ that the claim is about, for who knows none of the terms."""
    return _RELATIONS[claim.adjacency]


def statement(claim: Claim, *, relation: str | None = None) -> str:
    """The whole claim: epsilon, delta, order and adjacency, or ``relation`` in its place."""
    delta = "" if claim.delta is None else f" at delta {as_given(claim.delta)}"
    order = "" if claim.order is None else f" at order {claim.order:g}"
    if claim.quantity == "mu":
        delta = delta.replace(" at delta ", " for delta >= ")
    rate = "" if claim.fpr is None else f" at fpr {claim.fpr:g}"
    about = f"{claim.quantity} {claimed(claim)}{delta}{order}{rate}"
    return f"{about} ({claim.adjacency.dashed})" if relation is None else f"{about}, {relation}"


def shown(finding: Finding) -> dict[str, Any]:
    """What pages show of a claim in the same words, as text in which nothing steers a reader."""
    claim = finding.claim
    return {
        "id": printable(claim.id),
        "source": printable(claim.source),
        "mechanism": printable(claim.mechanism),
        "claimed": claimed(claim),
        "refutation": [printable(text) for text in finding.refutation],
        "scenarios": [
            (printable(text), f"{number('published', side.epsilon)} by {side.bound}")
            for text, side in finding.scenarios
        ],
    }


NOT_STATED = "not stated"


def evaluation(finding: Finding) -> list[tuple[str, str]]:
    """What NIST SP 800-226 asks of a claim, as far as the claim and the audit say it.

    Its questions, in our words: what is protected, what is promised, by what, who has to be
    trusted, and what the promise leaves out. What nobody states is said to be not stated.
    """
    claim = finding.claim
    sides = [side for _, side in named_sides(finding)]
    assumed = dict.fromkeys(text for side in sides for text in side.assumptions)
    per_user = getattr(claim.event, "examples_per_user", 1)
    unit = f"all {per_user} records of a user" if per_user > 1 else "one record"
    given = [f"{name} = {value}" for name, value in parameters(claim)]
    if claim.event is None:
        given = [f"{NOT_STATED}: {', '.join(claim.missing) or 'what an event would need'}"]
    about = {
        "its training was checked": finding.training,
        "the release was compared with its manifest": claim.release,
        "its code is named; the notes say whether it was tested": claim.code,
    }
    seen = "; ".join(text for text, found in about.items() if found is not None)
    return [
        ("Unit of privacy", unit),
        ("Whose records these are", NOT_STATED),
        ("Neighbouring data sets", relation_in_words(claim)),
        ("Promise", statement(claim)),
        ("Does it hold", f"{finding.verdict.value}, by the audit"),
        ("Mechanism and its parameters", ", ".join([claim.mechanism, *given])),
        (
            "Assumed",
            "; ".join(assumed) or ("nothing beyond the mechanism" if sides else NOT_STATED),
        ),
        (
            "Not in what was read" if read_in_part(claim) else "Left out by the source",
            "; ".join(claim.missing) or "nothing that the audit needs",
        ),
        ("Implementation", seen or "not looked at"),
        ("Who has to be trusted, and who sees the data", NOT_STATED),
        ("Other releases of the same data, tuning, side channels", f"not covered; {NOT_STATED}"),
    ]


def parameters(claim: Claim) -> list[tuple[str, str]]:
    """The parameters of the claim's event, each with its value."""
    if claim.event is None:
        return []
    return [
        (field.name, printable(str(getattr(claim.event, field.name))))
        for field in dataclasses.fields(claim.event)
        if field.compare
    ]


def slack_words(finding: Finding) -> str:
    """The claim over its best upper bound; empty where there is none."""
    return "" if finding.slack is None else f"{finding.slack:.3g}"


def how_many_fail(failing: int, every: int) -> str:
    """A sentence: "1 of 3 fails.", "2 of 3 fail."."""
    return f"{failing} of {every} {'fails' if failing == 1 else 'fail'}."


def counted(findings: Iterable[Finding], axis: str) -> str:
    """How many findings have each verdict, of "reproduction" or the "verdict"."""
    counts = Counter(getattr(finding, axis).value for finding in findings)
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def headline(finding: Finding, rule: Rule) -> str:
    """One sentence: what is wrong, with the numbers that show it."""
    said = statement(finding.claim)
    match rule:
        case Rule.DIFFERS:
            assert finding.published is not None
            gives = number("published", finding.published.epsilon)
            return f"{said} differs: the formula {finding.published.bound} gives {gives}"
        case Rule.SLACK:
            return f"{said} is {slack(finding):.3g} times its best upper bound: {reason(finding)}"
    verdict = word(finding) if finding.verdict in QUALIFIED else rule.value
    return f"{said} is {verdict[0].lower()}{verdict[1:]}: {reason(finding)}"


def in_short(finding: Finding) -> list[str]:
    """What the claim says, whether that is true and why, and what is true instead."""
    claim = finding.claim
    if claim.epsilon is None:
        said = f"No {claim.quantity} is printed."
    else:
        said = f"The claim: at most {statement(claim, relation=relation_in_words(claim))}."
    found = [said, f"{word(finding)}: {reason(finding)}.", instead(finding)]
    return [text for text in found if text]


def advice(finding: Finding, *, noise: bool = True) -> str:
    """What the author of the claim can change, in one sentence without its full stop."""
    return ", ".join(what_to_change(finding, noise=noise))


def what_to_change(
    finding: Finding,  # What the audit found
    *,
    # Whether to calibrate how much noise would be enough, which takes about as long as the audit of
    # the claim.
    noise: bool = True,
) -> list[str]:
    """Every remedy in words, each with the exact lines; then why there are no others."""
    found = [one.sentence for one in remedies(finding, noise=noise)]
    if not noise and needs_noise(finding):
        found.append("raise the noise: rdpkit audit --explain says how much is enough")
    found = [text if place == 0 else f"or {text}" for place, text in enumerate(found)]
    found += obstacles(finding, noise=noise)
    return [printable(text) for text in found] or ["correct the parameters"]


def would_need(finding: Finding) -> list[str]:
    """For which values of what its source leaves out a claim would be true, a sentence a case.

    Empty for a claim that is complete, or whose region is not known.
    """
    region = finding.region
    if region is None:
        return []
    return [printable(text) for text in region.sentences] or [
        f"No region can be given: {printable(region.because)}"
    ]


def region_words(finding: Finding) -> list[str]:
    """The sentences of :func:`would_need`, then what they rest on and assume."""
    return [*would_need(finding), *region_reasons(finding)]


def region_reasons(finding: Finding) -> list[str]:
    """What the region of a claim rests on, and what it assumes."""
    region = finding.region
    if region is None or not region.rows:
        return []
    return [printable(text) for text in how(region)]


def sandwich(finding: Finding) -> list[tuple[str, str]]:
    """The claim and the numbers that it stands between, each with its name."""
    return [
        ("claimed", statement(finding.claim)),
        *((side.kind, str(side)) for side in sides(finding)),
    ]


def report(finding: Finding, rules: Iterable[Rule], *, noise: bool = True) -> list[str]:
    """A failure in full, line by line: claimed, upper, lower, theorems, what to change."""
    lines = [headline(finding, rule) for rule in rules]
    lines += [f"  {name:10} {text}" for name, text in sandwich(finding)]
    lines += [f"  refuted by {text}" for text in finding.refutation]
    upper = finding.upper
    if upper is not None:
        lines += [f"  assumes    {text}" for text in upper.assumptions]
    lines += [f"  would need {text}" for text in would_need(finding)]
    lines += [f"  note       {text}" for text in finding.notes]
    lines += [f"  change     {text}" for text in what_to_change(finding, noise=noise)]
    origin = finding.claim.origin
    if origin.endswith(".toml") and remedies(finding, noise=False):
        command = f"rdpkit claims fix {shlex.quote(printable(origin))}"
        lines.append(f"  or let     {command} change the file")
    return lines


def report_of_code(claim: Claim, problems: Iterable[str], *, what: str = "code") -> list[str]:
    """A failed test of code, or of a training, in full, line by line."""
    return [
        f"{statement(claim)} is not what the {what} keeps:",
        *(f"  {text}" for text in problems),
        f"  change     the {what}, or the claim",
    ]


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

NUMBER_NAMES = {
    "claimed": "claimed",
    "published": "published",
    "lower": "attained",
    "upper": "proven",
}
"""What a reader is told of each number: what somebody printed, and what data sets attain."""

NUMBER_MEANINGS = {
    "claimed": "what the source prints",
    "published": "what the source's own formula gives, right or wrong",
    "attained": "two data sets that differ in one record leak at least this (a lower bound)",
    "proven": "no two such data sets leak more than this (an upper bound)",
}
"""Each word of a drawing, explained."""

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
