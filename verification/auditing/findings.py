"""What an audit finds: two verdicts on a claim, the numbers behind them, and what mends it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rdpkit.formats import html
from rdpkit.formats.numbers import formatted, how_many, printable
from rdpkit.formats.printed_precision import agrees_rounded
from rdpkit.formats.records import as_plain
from rdpkit.pairs.claim_check import Soundness
from rdpkit.verification.auditing.regions.region import Region
from rdpkit.verification.claims.claim import Claim

if TYPE_CHECKING:
    from rdpkit.verification.training.results import TrainingVerification

RemedyKind = Literal[
    "sampling", "clipping", "accountant", "relation", "delta", "unit", "count", "noise", "claim",
    "tighter"
]  # fmt: skip


class Edit(NamedTuple):
    """One changed key of a claim."""

    key: str  # Its path in the claim's table: "epsilon", "parameters.events[0].noise_std"
    old: str  # Its value now, as TOML; empty if the claim does not have it
    new: str  # Its value then, as TOML; empty if the line is to be removed

    @property
    def line(self) -> str:
        """The line of the claims file, without the name of its table; empty if it is removed."""
        return f"{self.name} = {self.new}" if self.new else ""

    @property
    def name(self) -> str:
        """The key without the name of its table."""
        return self.key.removeprefix("parameters.")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Changes of a claims file after which the claim is proven."""

    kind: RemedyKind
    """What changes. With the first seven number and noise stay. "sampling": batches are drawn by
    Poisson sampling. "clipping": each gradient is clipped on its own. "accountant": another
    accountant is named. "relation": other data sets are neighbours. "delta": another delta is
    claimed. "unit": the noise was that of a mean. "count": the release is made less often.
    "noise": the release has more noise. "claim": another number is claimed. "tighter": the claim
    is true, and so is a smaller number.
    """
    sentence: str  # What to do, in words, with the exact lines
    edits: tuple[Edit, ...]  # The changes

    @property
    def lines(self) -> tuple[str, ...]:
        """The changed lines, without those that are removed."""
        return tuple(edit.line for edit in self.edits if edit.new)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "edits": [edit._asdict() for edit in self.edits],
        }


# A claim that is false by more than this factor is not merely rounded.
_ROUNDED = 1.02


class Bounds(StrEnum):
    """Which bounds an audit computes.

    ``ALL``: every one, so that each claim stands between a lower and the best upper bound.
    ``NEEDED``: certified Renyi bounds, and privacy loss distributions for the claims that those do
    not prove. ``RDP``: certified Renyi bounds alone, which prove claims and refute none.
    """

    ALL = "all"
    NEEDED = "needed"
    RDP = "rdp"


class Reproduction(StrEnum):
    """Whether the published formula with the stated parameters gives the claimed number.

    ``UNNAMED``: the claim names no formula, and its number is not the one of the mechanism's usual
    formula. Such a number was not computed by a formula that could be repeated, so it is not
    judged; whether it is true is still decided.
    """

    EXACT = "exact"
    DIFFERS = "differs"
    UNDERSPECIFIED = "underspecified"
    UNNAMED = "unnamed"


class ClaimVerdict(StrEnum):
    """What became of a claim in a word, worst first: every output says it by this one.

    It is the soundness, but for claims that are refuted and yet hold in another reading, to their
    printed digits, or as the approximation that they are said to be, and for those that cannot be
    computed.
    """

    FALSE = "refuted"
    DEPENDS = "depends"
    OPEN = "unproven"
    INCOMPLETE = "incomplete"
    APPROXIMATE = "approximation"
    ROUNDED = "rounded"
    TRUE = "sound"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a claim: a number, and the theorem that it comes from.

    ``epsilon`` is a Renyi divergence if the claim is about one order, and otherwise an epsilon at
    the claim's delta.
    """

    bound: str
    epsilon: float
    order: float | None = None
    computed: tuple[float, float] | None = None
    rigorous: bool = False
    assumptions: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found: dict[str, Any] = {"bound": self.bound, "epsilon": as_plain(self.epsilon)}
        if self.order is not None:
            found["order"] = as_plain(self.order)
        if self.computed is not None:
            found["computed"] = as_plain(self.computed)
            found["rigorous"] = self.rigorous
        if self.assumptions:
            found["assumptions"] = list(self.assumptions)
        return found


class OtherReading(NamedTuple):
    """What became of another reading of the same printed number."""

    id: str
    reading: str
    soundness: Soundness
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the audit found about one claim.

    ``pair`` describes the two data sets of the lower bound; ``refutation`` adds delta at the
    claimed epsilon, where the lower bound exceeds the claim. ``region`` says for which values of
    what the source leaves out the claim would be true; None where nothing is known of it, or it was
    not asked for. ``training`` has the checks of the training that the claim points at, where they
    were made. ``failure`` is the note that says why a number could not be computed. ``searched`` is
    what a search for another sampling and for noise found before, if there was one. ``readings``
    has the verdicts on the other readings of the same number.
    """

    claim: Claim
    published: Side | None
    upper: Side | None
    lower: Side | None
    reproduction: Reproduction
    soundness: Soundness
    slack: float | None
    scenarios: tuple[tuple[str, Side], ...]
    notes: tuple[str, ...]
    refutation: tuple[str, ...] = ()
    pair: tuple[str, ...] = ()
    region: Region | None = None
    training: TrainingVerification | None = None
    failure: str | None = None
    searched: tuple[Remedy | str | None, ...] | None = None
    readings: tuple[OtherReading, ...] = ()

    @property
    def verdict(self) -> ClaimVerdict:
        """What became of the claim: a number is false only if it is in every reading of it."""
        others = {one.soundness for one in self.readings}
        if self.soundness is Soundness.UNPROVEN:
            return ClaimVerdict.INCOMPLETE if self.upper is None else ClaimVerdict.OPEN
        if self.soundness is Soundness.SOUND:
            return ClaimVerdict.DEPENDS if Soundness.REFUTED in others else ClaimVerdict.TRUE
        if others - {Soundness.REFUTED}:
            # What nobody has proven does not hold, and what is open in a reading is not false.
            return ClaimVerdict.DEPENDS if Soundness.SOUND in others else ClaimVerdict.OPEN
        if self.claim.approximation is not None and refuted_by_bound(self):
            return ClaimVerdict.APPROXIMATE
        return ClaimVerdict.ROUNDED if false_by_rounding(self) else ClaimVerdict.FALSE

    def __str__(self) -> str:
        claim = self.claim
        known = [f"{name} {number}" for name, number in self.numbers(5).items()]
        number = "no number" if claim.epsilon is None else f"{claim.quantity} = {claim.epsilon}"
        about = [claim.adjacency.dashed, *known]
        verdicts = f"{self.verdict.value}, {self.reproduction.value}"
        return printable(f"{claim.id}: {verdicts}: {number} ({', '.join(about)})")

    def numbers(self, digits: int) -> dict[str, str]:
        """Every side that is known, rounded so that it stays true."""
        sides = {"published": self.published, "upper": self.upper, "lower": self.lower}
        return {
            name: formatted(side.epsilon, f".{digits}g", up=name != "lower") or ""
            for name, side in sides.items()
            if side is not None
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the keys of the command line's contract."""
        claim = self.claim
        number = None if claim.epsilon is None else as_plain(float(claim.epsilon))
        about = {}
        if claim.quantity != "epsilon":
            # What is claimed is no epsilon.
            about = {
                "claimed_epsilon": None,
                "quantity": claim.quantity,
                "claimed": number,
                "fpr": claim.fpr,
            }
        return {
            "id": claim.id,
            "source": claim.source,
            "kind": claim.kind,
            # What it was printed in; nulls where its file does not say.
            "work": None if claim.work is None else claim.work.title,
            **{name: getattr(claim.work, name, None) for name in ("authors", "year", "url")},
            "unread": claim.unread,
            "mechanism": claim.mechanism,
            "adjacency": claim.adjacency.value,
            "delta": claim.delta,
            "order": claim.order,
            "claimed_epsilon": number,
            **about,
            "published": None if self.published is None else self.published.as_dict(),
            "upper": None if self.upper is None else self.upper.as_dict(),
            "lower": None if self.lower is None else self.lower.as_dict(),
            "reproduction": self.reproduction.value,
            "soundness": self.soundness.value,
            "verdict": self.verdict.value,
            "slack": as_plain(self.slack),
            "missing": list(claim.missing),
            "scenarios": [
                {"description": text, "published": side.as_dict()} for text, side in self.scenarios
            ],
            "region": None if self.region is None else self.region.as_dict(),
            **({} if self.training is None else {"training": as_plain(self.training.as_dict())}),
            "reading": claim.reading,
            "other_readings": [as_plain(one._asdict()) for one in self.readings],
            "approximation": claim.approximation,
            "refutation": list(self.refutation),
            "notes": list(self.notes),
        }


class Findings(tuple[Finding, ...]):
    """What an audit found, in the order of the claims: a tuple that shows itself.

    Parameters
    ----------
    iterable : iterable of Finding
        The findings.
    """

    __slots__ = ()

    @property
    def refuted(self) -> Findings:
        """The findings about claims that are false."""
        return Findings(one for one in self if one.soundness is Soundness.REFUTED)

    def as_dicts(self) -> list[dict[str, Any]]:
        """The findings as plain values for JSON."""
        return [one.as_dict() for one in self]

    def __str__(self) -> str:
        counts = Counter(one.verdict for one in self)
        summary = ", ".join(f"{counts[one]} {one.value}" for one in ClaimVerdict if counts[one])
        return "\n".join([*map(str, self), f"{how_many(len(self), 'claim')}: {summary}"])

    def _repr_html_(self) -> str:
        """What a notebook shows: a row for each claim."""
        headings = ("claim", "claimed", "published", "upper", "lower", "reproduction", "verdict")
        rows = [
            (
                one.claim.id,
                str(one.claim.epsilon or ""),
                *(one.numbers(5).get(name, "") for name in ("published", "upper", "lower")),
                one.reproduction.value,
                one.verdict.value,
            )
            for one in self
        ]
        return html.block(html.grid(headings, rows))


REPEAT = "to repeat it: "
"""The beginning of the note with the command line that repeats a test of code."""


def read_in_part(claim: Claim) -> bool:
    """Whether the rest of a claim's source may say what the claim leaves open."""
    read = None if claim.work is None else claim.work.read
    return claim.unread is not None or not (read is None or read.startswith("the whole text"))


def not_given(claim: Claim) -> str:
    """What is said of what a claim leaves open; of many works only a part was read."""
    return "not in what was read" if read_in_part(claim) else "not given by the source"


def scenario_note(text: str, side: Side) -> str:
    """What a scenario of a claim gives, as its note says it."""
    return f"scenario: {text}: {side.bound} gives {side.epsilon:.6g}"


def without_numbers(
    claim: Claim,
    notes: Iterable[str],
    scenarios: tuple[tuple[str, Side], ...] = (),
    *,
    failure: str | None = None,
) -> Finding:
    """The finding about a claim if nothing can be computed; ``notes`` say why."""
    return Finding(
        claim=claim,
        published=None,
        upper=None,
        lower=None,
        reproduction=Reproduction.UNDERSPECIFIED,
        soundness=Soundness.UNPROVEN,
        slack=None,
        scenarios=scenarios,
        notes=tuple(notes),
        failure=failure,
    )


def number_of(claim: Claim) -> str:
    """The id of the printed number that a claim reads: that of the claim itself, or of another."""
    return claim.reads or claim.id


def refuted_by_bound(finding: Finding) -> bool:
    """Whether a lower bound exceeds the claim, rather than that its code or release fails."""
    lower, said = finding.lower, finding.claim.epsilon
    return lower is not None and said is not None and lower.epsilon > said


def false_by_rounding(finding: Finding) -> bool:
    """Whether a claim is refuted, and would be proven with its last printed digit rounded up."""
    upper, said = finding.upper, finding.claim.epsilon
    if finding.soundness is not Soundness.REFUTED or upper is None or said is None:
        return False
    # A claim of 1 for 1.9 is not a matter of rounding.
    near = upper.epsilon <= _ROUNDED * float(said)
    return near and refuted_by_bound(finding) and agrees_rounded(upper.epsilon, said)


def with_readings(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each with what became of the other readings of its number.

    A delta that says little about so few records is noted.
    """
    findings = list(findings)
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        groups.setdefault(number_of(one.claim), []).append(one)
    return [
        dataclasses.replace(
            one,
            notes=tuple(dict.fromkeys((*one.notes, *_about_delta(one.claim)))),
            readings=tuple(
                OtherReading(
                    id=other.claim.id,
                    reading=other.claim.reading or "",
                    soundness=other.soundness,
                    lower=None if other.lower is None else other.lower.epsilon,
                    upper=None if other.upper is None else other.upper.epsilon,
                )
                for other in groups[number_of(one.claim)]
                if other is not one
            ),
        )
        for one in findings
    ]


def _about_delta(claim: Claim) -> tuple[str, ...]:
    """A warning where publishing one record at random, whole, would be private as well."""
    event, delta = claim.event, claim.delta
    while event is not None and hasattr(event, "event"):
        event = event.event
    known = (getattr(event, name, None) for name in ("dataset_size", "population_size"))
    records = next((size for size in known if size), sum(getattr(event, "class_sizes", ())))
    if not records or delta is None or delta * records < 1.0:
        return ()
    return (
        f"warning: delta {delta:g} is not below 1/{records}, one over the number of records: a "
        "program that publishes one record at random, whole, keeps such a promise, too",
    )


def with_notes(finding: Finding, *notes: str) -> Finding:
    """The finding with more notes."""
    return dataclasses.replace(finding, notes=(*finding.notes, *notes))


def refuted_by(finding: Finding, problems: Iterable[str]) -> Finding:
    """The finding, refuted by what the claim points at."""
    return dataclasses.replace(
        finding,
        soundness=Soundness.REFUTED,
        refutation=(*finding.refutation, *problems),
    )


__all__ = [
    "REPEAT",
    "Bounds",
    "ClaimVerdict",
    "Finding",
    "Findings",
    "OtherReading",
    "Reproduction",
    "Side",
    "Soundness",
    "number_of",
    "refuted_by",
    "scenario_note",
    "with_notes",
    "with_readings",
    "without_numbers",
]
