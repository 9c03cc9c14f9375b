"""Tests of the code that a claim points at, on neighbouring data sets, or of its training.

Theorems show whether a mechanism with these parameters keeps the claim; the tests show whether the
code is that mechanism. A training is held against what it says of itself, and what it says of
itself against the claim. This module imports all that tests need, so it is imported only when code
is about to be run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import rdpkit
from rdpkit import Adjacency, Event
from rdpkit.formats.text import rounded_up
from rdpkit.verification.auditing.findings import REPEAT
from rdpkit.verification.blackbox.betting.search import VerificationStep
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind
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
from rdpkit.verification.training.events import UNKNOWN, Told, told
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.options import replay_of as replay_of_training
from rdpkit.verification.training.results import CheckResult, TrainingVerification
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.verify_training import training_maker, verify_training


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TestedOutcome:
    """What came out of a test of code, or of the checks of a training."""

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
) -> TestedOutcome:
    """Run the code that a claim points at: see the driver's ``code_outcome``.

    ``jobs`` and ``progress`` are those of :func:`rdpkit.verification.blackbox.verify.verify`.
    """
    request = requested(claim)
    if request.options.replay:
        return _of_replay(request, replay_of(request))
    found = accumulated_test(request, evidence, jobs=jobs, progress=progress)
    made = TestedOutcome(problems=(), summary=f"code {request.target}: {found.skipped}", replay="")
    if found.result is not None:
        made = _of_outputs(found, found.result)
    if (position := found.position) is None:
        return made
    total = f"evidence on record: {position.describe()}; {position.rate} over all claims and time"
    if position.rejected:
        verdict = f"code {request.target}: rejected by the evidence on record"
        problems = (*(made.problems or (made.summary,)), f"{verdict}: {total}")
        return dataclasses.replace(made, problems=problems)
    return dataclasses.replace(made, summary=f"{made.summary}; {total}")


def _of_replay(request: VerificationRequest, result: ReplayResult) -> TestedOutcome:
    summary = (
        f"code {request.target}: {result.verdict.value}, by record and replay, with false-alarm "
        f"rate {result.false_alarm_rate:g} and seed {result.seed}: {result.summary}"
    )
    refuted = result.verdict is ReplayVerdict.REFUTED
    shown = result.shown
    pair = () if shown is None else (shown.pair.describe(),)
    return TestedOutcome(
        problems=(*pair, summary) if refuted else (),
        summary=summary if refuted else f"{summary}; which proves nothing",
        replay=result.command,
        inconclusive="" if result.conclusive else result.summary,
    )


def _of_outputs(found: TargetOutcome, result: VerificationResult) -> TestedOutcome:
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
    return TestedOutcome(
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


CLAIM = "claim"
"""The name of the check that compares the claim with what the training says of itself."""

# Rates and noises that differ by less were rounded when they were written down.
_ROUNDING = 1e-9
_ADVICE = "Correct the claim, or the training."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOutcome(TestedOutcome):
    """What came out of the checks of a training."""

    result: TrainingVerification
    """The checks; the first compares the claim with what the training says of itself."""


def run_training(claim: Claim) -> TrainingOutcome:
    """Check the training that a claim points at: see the driver's ``training_outcome``."""
    test = claim.training
    assert test is not None
    options = test.options.seeded()
    said = training_maker(test.target).fresh()
    checked = verify_training(test.target, options=options)
    result = dataclasses.replace(checked, checks=(compared(claim, said), *checked.checks))
    return _of_training(test.target, options, result)


def _of_training(
    target: str, options: TrainingOptions, result: TrainingVerification
) -> TrainingOutcome:
    made = [check.name for check in result.checks if not check.skipped]
    skipped = [f"{check.name} ({check.skipped})" for check in result.checks if check.skipped]
    summary = (
        f"training {target}: {result.verdict} by {', '.join(made)}, told {result.event}, with "
        f"false-alarm rate {result.false_alarm_rate:g} and seed {result.seed}"
    )
    if skipped:
        summary += f"; not made: {', '.join(skipped)}"
    problems = [
        f"training {target}: {check.name}: {mistake.describe()}"
        for check in result.checks
        for mistake in check.mistakes
    ]
    if problems:
        names = ", ".join(dict.fromkeys(mistake.kind.value for mistake in result.mistakes))
        problems.append(f"{names}: {summary}")
    else:
        summary += ", which proves nothing"
    return TrainingOutcome(
        result=result,
        problems=tuple(" ".join(text.split()).rstrip(".") for text in problems),
        summary=" ".join(summary.split()),
        replay=replay_of_training(target, options),
        inconclusive="; ".join(
            f"{c.name}: {c.inconclusive}" for c in result.checks if c.inconclusive
        ),
    )


def compared(
    claim: Claim,  # With an epsilon and a delta
    training: PrivateTraining,  # As its code makes it
) -> CheckResult:
    """Compare a claim with what a training says of itself; nothing is random in it.

    Guarantee
    ---------
    If there is no mistake, and no note says that something could not be compared, the claim says
    no smaller epsilon or delta, and of DP-SGD no more noise, no smaller sampling rate and no fewer
    updates than the training does. What a training does more privately than claimed is no mistake.
    """
    mistakes = [
        Mistake(
            kind=MistakeKind.CLAIM_DIFFERS,
            message=f"The claim in the repository has {there}; the training says {here}.",
            advice=_ADVICE,
        )
        for there, here in _differences(claim, training)
    ]
    notes = []
    if claim.event is not None and not _comparable(claim.event, training.event):
        notes.append("the claim's mechanism and the training's event could not be compared")
    if claim.event is None:
        mistakes += _not_implied(claim, training)
    return CheckResult(
        name=CLAIM,
        false_alarm_rate=0.0,
        mistakes=tuple(mistakes),
        measured=(("training says", "; ".join(training.described())),),
        notes=tuple(notes),
    )


def _differences(claim: Claim, training: PrivateTraining) -> Iterator[tuple[str, str]]:
    """What the claim says, and what the training says instead, wherever the claim is smaller."""
    adjacency = Adjacency.parse(training.adjacency)
    if adjacency is not claim.adjacency:
        yield f"adjacency {claim.adjacency.value}", adjacency.value
    if training.epsilon is not None and training.epsilon > _number(claim):
        at = f"delta {_delta(claim):g}, {claim.adjacency.value}"
        yield f"epsilon {claim.epsilon} at {at}", f"{training.epsilon:g} at {training.at}"
    if training.delta > _delta(claim) * (1.0 + _ROUNDING):
        yield f"delta {_delta(claim):g}", f"{training.delta:g}"
    if claim.event is not None and _comparable(claim.event, training.event):
        yield from _differences_of_events(told(claim.event), told(training.event))


def _differences_of_events(there: Told, here: Told) -> Iterator[tuple[str, str]]:
    if there.sampling != here.sampling:
        yield f"{there.sampling} sampling", here.sampling
    for name, words, more_is_private in (
        ("noise_multiplier", "noise multiplier", True),
        ("rate", "sampling rate", False),
        ("updates", "number of updates", False),
    ):
        claimed, done = getattr(there, name), getattr(here, name)
        if claimed is None or done is None:
            continue
        left, right = (done, claimed) if more_is_private else (claimed, done)
        if left < right * (1.0 - _ROUNDING):
            yield f"{words} {claimed:.6g}", f"{done:.6g}"


def _comparable(there: Event, here: Event) -> bool:
    """Whether both are DP-SGD of a known kind, or the same."""
    accounts = (told(there), told(here))
    known = all(one.sampling != UNKNOWN and one.parts == 1 for one in accounts)
    return there == here or known


def _not_implied(claim: Claim, training: PrivateTraining) -> list[Mistake]:
    """Without a mechanism in the claim, its number is held against the training's event."""
    proven = rdpkit.epsilon(training.event, delta=_delta(claim), adjacency=claim.adjacency).epsilon
    if proven <= _number(claim):
        return []
    message = (
        f"The claim in the repository is epsilon {claim.epsilon} at delta {_delta(claim):g}, "
        f"{claim.adjacency.value}; of what the training says it does, epsilon "
        f"{rounded_up(proven, digits=6)} is proven."
    )
    return [Mistake(kind=MistakeKind.CLAIM_TOO_SMALL, message=message, advice=_ADVICE)]


def _number(claim: Claim) -> float:
    assert claim.epsilon is not None
    return float(claim.epsilon)


def _delta(claim: Claim) -> float:
    assert claim.delta is not None
    return claim.delta
