"""The words of a finding: outputs differ in their form, and take what they say from here."""

from __future__ import annotations

import dataclasses
import shlex
from collections import Counter
from collections.abc import Iterable

from rdpkit import BOUNDS, Adjacency
from rdpkit.accountants.loss_distributions import SOURCES
from rdpkit.formats.numbers import as_given
from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding, Reproduction, Side, read_in_part
from rdpkit.verification.auditing.regions.sentences import how
from rdpkit.verification.auditing.remedies import needs_noise, obstacles, remedies
from rdpkit.verification.auditing.rules import Rule, slack
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.outputs.verdict import QUALIFIED, claimed, instead, number, reason, word

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
    lines = []
    rules = tuple(rules)
    for rule in rules:
        lines.append(headline(finding, rule))
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
        lines.append(f"  or let     rdpkit fix {shlex.quote(printable(origin))} change the file")
    return lines


def report_of_code(claim: Claim, problems: Iterable[str], *, what: str = "code") -> list[str]:
    """A failed test of code, or of a training, in full, line by line."""
    return [
        f"{statement(claim)} is not what the {what} keeps:",
        *(f"  {text}" for text in problems),
        f"  change     the {what}, or the claim",
    ]
