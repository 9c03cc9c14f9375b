"""Tests of the code that a claim points at, on neighbouring data sets.

Theorems show whether a mechanism with these parameters keeps the claim; the tests show whether the
code is that mechanism. This module imports all that tests of code need, so it is imported only when
code is about to be run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from rdpkit.verification.blackbox.pairs_of_target import pairs_of_target
from rdpkit.verification.blackbox.targets import target
from rdpkit.verification.blackbox.tested_claim import ClaimUnderTest, dp_claim, event_claim
from rdpkit.verification.blackbox.verification_result import VerificationStep
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.claims.claim import Claim


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CodeOutcome:
    """What came out of a test of code.

    Parameters
    ----------
    problems : tuple of str
        What refutes the claim; empty if the claim was not rejected and no mistake was found.
    summary : str
        What was tested, and how, with the seed that repeats it.
    """

    problems: tuple[str, ...]
    summary: str


def run_code(
    claim: Claim,
    *,
    jobs: int | None = None,
    progress: Callable[[VerificationStep], None] | None = None,
) -> CodeOutcome:
    """Run the code that a claim points at: see the driver's ``code_outcome``.

    ``jobs`` and ``progress`` are those of :func:`rdpkit.verification.blackbox.verify.verify`.
    """
    test = claim.code
    assert test is not None
    options = test.options.seeded()
    tested = _tested(claim)
    subject = target(test.callable)
    pairs = pairs_of_target(subject, claim=tested, options=options, delta=claim.delta)
    result = verify(
        subject, claim=tested, neighbours=pairs, options=options, jobs=jobs, progress=progress
    )
    summary = (
        f"code {test.callable}: {result.verdict}, tested as {tested.describe()}, in {result.runs} "
        f"runs with false-alarm rate {options.false_alarm_rate:g} and seed {result.seed}"
    )
    problems = [f"code {test.callable}: {one.kind.value}: {one.message}" for one in result.mistakes]
    if result.rejected:
        problems += [*result.pair, f"score: {result.score}", summary]
    elif not problems:
        summary = "; ".join([f"{summary}, which proves nothing", *result.notes])
    return CodeOutcome(
        problems=tuple(" ".join(text.split()) for text in problems),
        summary=" ".join(summary.split()),
    )


def _tested(claim: Claim) -> ClaimUnderTest:
    """The claim that the code is tested against.

    If there is an event, it is tested, because it says more than the claimed number alone. Whether
    the event implies that number is decided by theorems.
    """
    if claim.event is not None:
        return event_claim(claim.event, adjacency=claim.adjacency)
    assert claim.epsilon is not None
    assert claim.delta is not None
    return dp_claim(epsilon=float(claim.epsilon), delta=claim.delta, adjacency=claim.adjacency)


__all__ = ["CodeOutcome", "run_code"]
