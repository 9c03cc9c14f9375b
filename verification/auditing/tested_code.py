"""Tests of the code that a claim points at, on neighbouring data sets.

Theorems show whether a mechanism with these parameters keeps the claim; the tests show whether the
code is that mechanism. This module imports all that tests of code need, so it is imported only when
code is about to be run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from rdpkit.verification.auditing.findings import REPEAT
from rdpkit.verification.blackbox.betting.search import VerificationStep
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.evidence.accumulation import (
    EvidenceOptions,
    TargetOutcome,
    accumulated_test,
)
from rdpkit.verification.evidence.replays import replay_of
from rdpkit.verification.evidence.requests import ClaimOptions, VerificationRequest
from rdpkit.verification.replay.findings import ReplayResult, ReplayVerdict


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CodeOutcome:
    """What came out of a test of code."""

    problems: tuple[str, ...]
    """What refutes the claim; empty if the claim was not rejected and no mistake was found."""
    summary: str  # What was tested, and how, with the seed that repeats it
    replay: str
    """The command line that gives the identical result again; empty if the code was not run."""
    inconclusive: str = ""
    """Why a wrong claim would not have been noticed; empty if one would have been."""

    @property
    def repeat(self) -> tuple[str, ...]:
        """How to repeat the test, as a note; none if the code was not run."""
        return (f"{REPEAT}{self.replay}",) if self.replay else ()


def run_code(
    claim: Claim,
    *,
    jobs: int | None = None,
    evidence: EvidenceOptions | None = None,
    progress: Callable[[VerificationStep], None] | None = None,
) -> CodeOutcome:
    """Run the code that a claim points at: see the driver's ``code_outcome``.

    ``jobs`` and ``progress`` are those of :func:`rdpkit.verification.blackbox.verify.verify`.
    """
    request = requested(claim)
    if request.options.replay:
        return _of_replay(request, replay_of(request))
    found = accumulated_test(request, evidence, jobs=jobs, progress=progress)
    made = CodeOutcome(problems=(), summary=f"code {request.target}: {found.skipped}", replay="")
    if found.result is not None:
        made = _outcome(found, found.result)
    if (position := found.position) is None:
        return made
    total = f"evidence on record: {position.describe()}; {position.rate} over all claims and time"
    if position.rejected:
        verdict = f"code {request.target}: rejected by the evidence on record"
        problems = (*(made.problems or (made.summary,)), f"{verdict}: {total}")
        return dataclasses.replace(made, problems=problems)
    return dataclasses.replace(made, summary=f"{made.summary}; {total}")


def _of_replay(request: VerificationRequest, result: ReplayResult) -> CodeOutcome:
    summary = (
        f"code {request.target}: {result.verdict.value}, by record and replay, with false-alarm "
        f"rate {result.false_alarm_rate:g} and seed {result.seed}: {result.summary}"
    )
    refuted = result.verdict is ReplayVerdict.REFUTED
    shown = result.shown
    pair = () if shown is None else (shown.pair.describe(),)
    return CodeOutcome(
        problems=(*pair, summary) if refuted else (),
        summary=summary if refuted else f"{summary}; which proves nothing",
        replay=result.command,
        inconclusive="" if result.conclusive else result.summary,
    )


def _outcome(found: TargetOutcome, result: VerificationResult) -> CodeOutcome:
    tested, rate = result.claim.describe(), result.outcome.false_alarm_rate
    summary = (
        f"code {found.target}: {result.verdict}, tested as {tested}, in {result.releases} "
        f"runs with false-alarm rate {rate:g} and seed {result.seed}"
    )
    problems = [f"code {found.target}: {one.kind.value}: {one.message}" for one in result.mistakes]
    if result.rejected:
        problems += [*result.pair, f"score: {result.score}", summary]
    elif not problems:
        summary = "; ".join(
            [
                f"{summary}, which proves nothing",
                *filter(None, (result.inconclusive, *result.notes)),
            ]
        )
    return CodeOutcome(
        problems=tuple(" ".join(text.split()) for text in problems),
        summary=" ".join(summary.split()),
        replay=found.replay,
        inconclusive=result.inconclusive,
    )


def requested(claim: Claim) -> VerificationRequest:
    """The test of the code that a claim points at.

    If there is an event, it is tested, because it says more than the claimed number alone. Whether
    the event implies that number is decided by theorems.
    """
    test = claim.code
    assert test is not None
    if claim.event is not None:
        stated = ClaimOptions(event=claim.event, adjacency=claim.adjacency)
    else:
        assert claim.epsilon is not None
        stated = ClaimOptions(
            epsilon=float(claim.epsilon), delta=claim.delta, adjacency=claim.adjacency
        )
    return VerificationRequest(target=test.callable, claim=stated, options=test.options)
