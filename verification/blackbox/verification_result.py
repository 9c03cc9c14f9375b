"""What a verification reports when it has ended."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rdpkit.formats.numbers import as_given, rounded_down
from rdpkit.formats.records import as_plain
from rdpkit.verification.blackbox.betting.bounds import DetectableViolation, MuLowerBound
from rdpkit.verification.blackbox.mistakes import Mistake
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.targets import ClaimUnderTest
from rdpkit.verification.estimators.base import Diagnostic, Stop, Verdict

_WHY = {
    Stop.REJECTED: "stopped as soon as the answer was clear",
    Stop.CLEARED: "stopped: no threshold of the scores can show a violation",
    Stop.EXHAUSTED: "all runs were made, or the time was up",
    Stop.DEPENDENT: "they depend on each other, so that no error rate holds",
}
_ENOUGH_OF_ASKED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """The result of testing a claim against code.

    Guarantee
    ---------
    If the claim is true, ``outcome.rejected`` is True with probability at most the outcome's
    ``false_alarm_rate``, over the randomness of the mechanism. Mistakes only explain a rejection,
    so the rate is that of the whole verdict. Where runs depend on each other no rate holds: then
    nothing is rejected, the evidence is that of no test, and the verdict is inconclusive.
    """

    target: str  #: What was verified
    claim: ClaimUnderTest  #: What was claimed
    outcome: Verdict  #: The verdict of the test, with its diagnostics
    checks: tuple[Diagnostic, ...]
    """Whether runs depend on each other, and whether a method ``many`` differs from single calls,
    where that was seen. Each is a false alarm with probability at most 1e-3.
    """
    mistakes: tuple[Mistake, ...]
    """Mistakes that explain the rejection; empty if the claim was not rejected."""
    mu: MuLowerBound
    """A lower bound on mu of Gaussian differential privacy. The lower bound on epsilon is
    ``outcome.bound``. Both hold whenever the test stopped, each with its own confidence.
    """
    detectable: DetectableViolation | None
    """What would have been rejected; None if the claim was rejected."""
    notes: tuple[str, ...]  #: Further remarks for the reader
    pair: tuple[str, ...]  #: The pair of data sets in words
    shape: str  #: The shape of a release
    scores: tuple[str, ...]  #: Names of the scores that were tested together
    score: str  #: The score that spoke most clearly against the claim
    runs: int  #: Runs of the mechanism on both data sets, in all stages
    pairs: int  #: How many pairs of data sets were tried
    training: int  #: How many runs on each data set of a pair were made before the first bet
    processes: int  #: How many new processes were started on each data set
    final_log_e_value: float
    """The logarithm of the capital at the end. Unlike the largest capital, it may be multiplied
    with that of later tests of the same code and claim.
    """
    seed: int  #: All randomness comes from it
    seconds: float  #: How long the verification took
    neighbours: Neighbours | None = None  #: The pair of data sets that most runs were made on
    asked: int = 0  #: How many runs were asked for; 0 if as many as the time allows

    def without_rate(self, found: Diagnostic) -> VerificationResult:
        """The same test without its stated rate, because its runs depend on each other."""
        return replace(
            self,
            outcome=replace(
                self.outcome,
                rejected=False,
                stop=Stop.DEPENDENT,
                log_e_value=0.0,
                bound=None,
                diagnostics=(),
            ),
            checks=(*self.checks, found),
            mistakes=(),
            mu=replace(self.mu, mu=0.0, event=None),
            detectable=None,
            final_log_e_value=0.0,
        )

    @property
    def rejected(self) -> bool:
        """Whether the claim was refuted."""
        return self.outcome.rejected

    @property
    def failed(self) -> bool:
        """Whether the claim was refuted."""
        return self.rejected

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Why a wrong claim may have survived, and what was seen of the runs themselves."""
        return (*self.outcome.diagnostics, *self.checks)

    @property
    def p_value(self) -> float:
        """The reciprocal of the largest e-value: at most u with probability at most u.

        That holds if the claim is true, whenever the test stops.
        """
        assert self.outcome.log_e_value is not None
        return min(1.0, math.exp(-self.outcome.log_e_value))

    @property
    def verdict(self) -> str:
        """``rejected``, ``not rejected`` or ``inconclusive``."""
        if self.rejected:
            return "rejected"
        return "inconclusive" if self.inconclusive else "not rejected"

    @property
    def inconclusive(self) -> str:
        """Why nothing could have been noticed, in words; empty if a wrong claim could have been.

        That is so where runs depend on each other, where code with ten times the epsilon would not
        have been rejected, or where the time ended long before the runs were made that were asked
        for.
        """
        if self.rejected:
            return ""
        if self.outcome.stop is Stop.DEPENDENT:
            return "the runs depend on each other, so that no error rate holds: see the diagnostic"
        if self.detectable is not None and not self.detectable.notices_tenfold:
            return (
                f"{self.runs} runs are too few to notice ten times the epsilon; make more of them"
            )
        early = self.outcome.stop is Stop.EXHAUSTED and self.runs < _ENOUGH_OF_ASKED * self.asked
        if early:
            return (
                f"the time was enough for {self.runs} of {self.asked} runs; give the test more "
                "time, or ask for fewer runs"
            )
        return ""

    @property
    def releases(self) -> int:
        """The runs; or, if there were none, the releases of new processes that refuted it."""
        return self.runs or 2 * self.processes

    def rows(self) -> list[tuple[str, str]]:
        """The result in words: headings, and what is said under each."""
        return list(self._rows())

    def _rows(self) -> Iterator[tuple[str, str]]:
        test, bound = self.outcome, self.outcome.bound
        where = "" if self.runs else " in new processes"
        yield "target", self.target
        yield "claim", test.claim
        yield "verdict", f"{self.verdict} (false-alarm rate {test.false_alarm_rate:g})"
        if self.inconclusive:
            yield "because", self.inconclusive
        yield from (("mistake", mistake.describe()) for mistake in self.mistakes)
        yield "runs", f"{self.releases}{where} in {self.seconds:.1f} s; {_WHY[test.stop]}"
        if self.scores:
            yield "score", f"{self.score}, of {len(self.scores)} tested together"
        if test.witness:
            yield "witness", test.witness
        yield (
            "evidence",
            f"e-value {math.exp(min(self.final_log_e_value, 700.0)):.4g} at the end; rejecting "
            f"takes {1.0 / test.false_alarm_rate:g} at any time; p-value {self.p_value:.2g} (one "
            "over the largest e-value)",
        )
        if bound is not None:
            about = f"at delta {as_given(bound.delta)} (lower bound, confidence"
            yield "epsilon", f"{_at_least(bound.epsilon)} {about} {bound.confidence:g})"
        about = f"(lower bound on Gaussian DP, confidence {self.mu.confidence:g})"
        yield "mu", f"{_at_least(self.mu.mu)} {about}"
        if self.detectable is not None:
            yield "detectable", self.detectable.describe()
        yield from (("" if index else "pair", line) for index, line in enumerate(self.pair))
        for found in self.diagnostics:
            yield "diagnostic", f"{found.kind.value}: {found.message} {found.advice}"
        yield from (("note", text) for text in self.notes)
        if not self.rejected:
            yield "note", "a claim that is not rejected is not proven"
        elif bound is not None and bound.epsilon <= 0.0:
            yield "note", "the evidence rejects the claim, and is too little for a lower bound"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the same for the same seed."""
        found = self.outcome.as_dict()
        return {
            "target": self.target,
            "verdict": self.verdict,
            "inconclusive": self.inconclusive,
            "p_value": self.p_value,
            "claim": self.claim.statement,
            "adjacency": self.claim.adjacency.value,
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
            "diagnostics": found.pop("diagnostics") + as_plain(self.checks),
            "lower_mu": self.mu.as_dict(),
            "detectable": None if self.detectable is None else self.detectable.as_dict(),
            "notes": list(self.notes),
            "score": self.score,
            "scores": list(self.scores),
            "test": found,
            "pair": list(self.pair),
            "release_shape": self.shape,
            "runs": self.releases,
            "pairs_tried": self.pairs,
            "training": self.training,
            "fresh_processes": self.processes,
            "final_log_e_value": self.final_log_e_value,
            "seed": self.seed,
        }


def _at_least(value: float) -> str:
    return f"at least {rounded_down(value)}" if value > 0.0 else "nothing above 0 is shown"
