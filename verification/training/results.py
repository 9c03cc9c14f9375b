"""What the checks of a training report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.formats.numbers import as_given, rounded_down
from rdpkit.formats.records import as_plain
from rdpkit.verification.blackbox.mistakes import Mistake

_ROUNDING = 1e-9
_ABOUT = {
    "step": "the step clips each record's gradient and adds the noise",
    "sampler": "batches are drawn as the accountant was told",
    "accountant": "the accountant was told what the training does",
    "run": "a run shows no more of its canaries than the claim allows",
}
_WIDTH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLowerBound:
    """A lower bound on the epsilon of a training."""

    epsilon: float
    """The training has at least this epsilon at ``delta``, except with probability 1 -
    ``confidence``, if what ``given`` says is true.
    """
    delta: float  #: In [0, 1)
    adjacency: Adjacency  #: The neighbouring relation
    confidence: float  #: In (0, 1]
    given: str  #: What is assumed besides what was measured, as a sentence
    mu: float | None = None
    """The same as a lower bound on mu of Gaussian differential privacy, where there is one."""
    family: str = ""
    """The family of trainings that it is a lower bound for; empty if for all. It may be above the
    truth for others, and is named by that.
    """

    def describe(self) -> str:
        """In words."""
        given = f"if {self.family}: " if self.family else ""
        mu = "" if self.mu is None else f", mu at least {rounded_down(self.mu)}"
        return (
            f"{given}epsilon at least {rounded_down(self.epsilon)} at delta "
            f"{as_given(self.delta)}, {self.adjacency.value}{mu} (lower bound, confidence "
            f"{self.confidence:g}; {self.given})"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**as_plain(self), "kind": "lower"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryScores:
    """The scores of the canaries of a run, for a picture."""

    # Scores of canaries that were in the training and of those that were not.
    inside: tuple[float, ...]
    outside: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check found.

    Guarantee
    ---------
    A training that does what was accounted for is rejected by the check with probability at most
    ``false_alarm_rate``.
    """

    name: str  #: Which check it is
    false_alarm_rate: float  #: How often the check rejects a correct training, at most
    mistakes: tuple[Mistake, ...] = ()  #: What is wrong; the check rejects if there is any
    measured: tuple[tuple[str, str], ...] = ()
    """What was measured: a heading, and the value in words."""
    bounds: tuple[TrainingLowerBound, ...] = ()  #: Lower bounds on epsilon, the most telling first
    notes: tuple[str, ...] = ()  #: What could not be looked at, and further remarks
    skipped: str = ""  #: Why the check was not made; empty if it was
    inconclusive: str = ""
    """Why not even a large mistake would have been noticed; empty if one would."""
    scores: CanaryScores | None = None  #: Scores of canaries
    seconds: float = 0.0  #: How long it took
    spent: dict[str, float] = field(default_factory=dict)
    """How much of the false-alarm rate each of its tests has."""

    def __post_init__(self) -> None:
        if math.fsum(self.spent.values()) > self.false_alarm_rate * (1.0 + _ROUNDING):
            raise ValueError(
                f"Expected the tests of {self.name} to have at most {self.false_alarm_rate:g} "
                f"together, got {self.spent!r}."
            )

    @property
    def rejected(self) -> bool:
        """Whether a mistake was found."""
        return bool(self.mistakes)

    @property
    def verdict(self) -> str:
        """``rejected``, ``not rejected``, ``inconclusive`` or ``skipped``."""
        if self.skipped:
            return "skipped"
        if self.inconclusive and not self.rejected:
            return "inconclusive"
        return "rejected" if self.rejected else "not rejected"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the same for the same seed."""
        return {
            "check": self.name,
            "verdict": self.verdict,
            "false_alarm_rate": self.false_alarm_rate,
            "rates_of_tests": self.spent,
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
            "measured": dict(self.measured),
            "lower_bounds": [bound.as_dict() for bound in self.bounds],
            "notes": list(self.notes),
            "skipped": self.skipped,
            "inconclusive": self.inconclusive,
            "scores": None if self.scores is None else as_plain(self.scores),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingVerification:
    """The result of checking a training.

    Guarantee
    ---------
    A training that does what was accounted for is rejected with probability at most
    ``false_alarm_rate``. A training that is not rejected is not proven.
    """

    name: str  #: What was checked
    event: str  #: What the accountant was told, in words
    claim: str  #: The claim, in words
    false_alarm_rate: float  #: Of all checks together
    checks: tuple[CheckResult, ...]  #: One for each check that was asked for
    seed: int  #: All choices came from it
    seconds: float  #: How long it took
    notes: tuple[str, ...] = ()  #: Remarks on all checks

    @property
    def rejected(self) -> bool:
        """Whether any check found a mistake."""
        return any(check.rejected for check in self.checks)

    @property
    def verdict(self) -> str:
        """``rejected`` or ``not rejected``."""
        return "rejected" if self.rejected else "not rejected"

    @property
    def spent(self) -> dict[str, float]:
        """The false-alarm rate of each test of each check.

        A mistake is named by a test or by something exact, so that a correct training has any name
        at most as often as they say together.
        """
        return {
            f"{check.name}: {test}": rate
            for check in self.checks
            for test, rate in check.spent.items()
        }

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """What all checks found."""
        return tuple(mistake for check in self.checks for mistake in check.mistakes)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def check(self, name: str) -> CheckResult:
        """The result of one check.

        Raises
        ------
        KeyError
            If that check was not asked for.
        """
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def lines(self) -> list[str]:
        """For people: the verdict, then the checks, each with what it measured."""
        rate = f"a correct training is rejected at most once in {1.0 / self.false_alarm_rate:,.0f}"
        found = [_row("training", self.name), _row("told", self.event), _row("claim", self.claim)]
        if self.rejected:
            count = len(self.mistakes)
            what = "a mistake was found" if count == 1 else f"{count} mistakes were found"
            found.append(_row("verdict", f"rejected: {what} ({rate})"))
        else:
            found.append(_row("verdict", f"not rejected ({rate}); that is no proof"))
        for check in self.checks:
            found += ["", *_lines_of_check(check)]
        found += [_row("note", note) for note in self.notes]
        return [*found, "", _row("seed", f"{self.seed}; {self.seconds:.1f} s")]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the same for the same seed."""
        return {
            "training": self.name,
            "event": self.event,
            "claim": self.claim,
            "verdict": self.verdict,
            "false_alarm_rate": self.false_alarm_rate,
            "checks": [check.as_dict() for check in self.checks],
            "notes": list(self.notes),
            "seed": self.seed,
        }


def _lines_of_check(check: CheckResult) -> Iterator[str]:
    mark = {"rejected": "FAILED", "not rejected": "passed"}.get(check.verdict, check.verdict)
    yield f"{mark}  {check.name}: {_ABOUT.get(check.name, '')}"
    if check.verdict == "inconclusive":
        yield _row("  why", check.inconclusive)
    if check.skipped:
        yield _row("  not made", check.skipped)
    for mistake in check.mistakes:
        yield _row("  mistake", mistake.kind.value)
        yield _row("", mistake.message)
        yield _row("  what to do", mistake.advice)
    for heading, value in check.measured:
        yield _row(f"  {heading}", value)
    for bound in check.bounds:
        yield _row("  lower bound", bound.describe())
    for note in check.notes:
        yield _row("  note", note)
    if not check.skipped:
        yield _row("  false alarms", f"at most {check.false_alarm_rate:g}; {check.seconds:.1f} s")


def _row(heading: str, value: str) -> str:
    # A heading that fills its column is still apart from what it says.
    return f"{heading:{_WIDTH - 2}}  {value}"
