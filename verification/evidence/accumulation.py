"""Tests of code whose evidence adds up over pull requests, and what came of each."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

from rdpkit.formats.tables import event_to_table
from rdpkit.verification.blackbox.betting.search import Progress
from rdpkit.verification.blackbox.options import VIEWS
from rdpkit.verification.blackbox.targets import Mechanism, TargetReference
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.evidence.code_digest import code_digest
from rdpkit.verification.evidence.requests import VerificationRequest
from rdpkit.verification.evidence.store import EvidenceStore, Position


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TargetOutcome:
    """What came of testing one target."""

    target: str  #: Its name
    result: VerificationResult | None = None  #: The result; None if no test was finished
    replay: str = ""  #: The command line that gives the identical result again
    error: str = ""  #: Why the test could not be finished
    place: tuple[str, int] | None = None
    """The file and the line of the code, if it lies in the current directory."""
    position: Position | None = None
    """Where the claim stands by all the evidence on record, if there is such a record."""
    skipped: str = ""  #: Why no test was made; empty if one was

    def failed(self, *, strict: bool) -> bool:
        """Whether the claim was refuted; a strict reader wants no doubts about the test either."""
        if self.position is not None and self.position.rejected:
            return True
        if self.result is None:
            return bool(self.error)
        doubtful = bool(self.result.diagnostics or self.result.inconclusive)
        return self.result.failed or (strict and doubtful)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found: dict[str, Any] = {"target": self.target}
        if self.error:
            found["error"] = self.error
        if self.skipped:
            found["skipped"] = self.skipped
        if self.result is not None:
            found = {**self.result.as_dict(), "replay": self.replay}
        if self.position is not None:
            found["evidence"] = self.position.as_dict()
        return found


def place_of(mechanism: Mechanism) -> tuple[str, int] | None:
    """The file, relative to the current directory, and the line at which code begins.

    None for code that lies elsewhere, or that has no source.
    """
    unwrapped = inspect.unwrap(mechanism)
    code: Any = unwrapped if inspect.isroutine(unwrapped) else type(unwrapped)
    try:
        source = inspect.getsourcefile(code)
        _, line = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    path, here = Path(source or "").resolve(), Path.cwd()
    if not path.is_relative_to(here):
        return None
    return path.relative_to(here).as_posix(), max(line, 1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceOptions:
    """How tests of code use a file of evidence."""

    path: Path  #: The file
    rate: float | None = None
    """The rate of the file; None for the file's own, or 0.05 for a new one."""
    control: str | None = None
    """"fwer" or "fdr", what it is a rate of; None for the file's own, or "fwer" for a new one."""
    again: bool = False
    """Whether a claim that is rejected already, for this very code, is tested again."""
    skip_unchanged: bool = False
    """Whether a claim is left out if this very code has been tested before."""

    def store(self) -> EvidenceStore:
        """The file, opened.

        Raises
        ------
        ValueError
            If it is something else or damaged, or was begun with another rate or error control.
        """
        return EvidenceStore(self.path, rate=self.rate, control=self.control)


def accumulated_test(
    request: VerificationRequest,
    options: EvidenceOptions | None,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> TargetOutcome:
    """Test code, and add what it shows to the evidence of earlier tests.

    The test stops when its capital, multiplied with the product of the e-values of earlier tests of
    the same code, is large enough to reject the claim, and when it is large enough by itself for
    the rate of the file. What is carried on is the capital at the end, and not the largest: the
    largest capital is no e-value.

    Guarantee
    ---------
    That of :class:`rdpkit.verification.evidence.store.EvidenceStore`.

    Parameters
    ----------
    request : VerificationRequest
        The test; its false-alarm rate is replaced by what the file leaves to it.
    options : EvidenceOptions or None
        The file, and what to leave out; without one the test is made by itself.
    jobs, progress
        As for :meth:`rdpkit.verification.evidence.requests.VerificationRequest.run`.

    Raises
    ------
    ValueError
        If the test cannot be made, or the file is damaged or was begun with another error rate.
    """
    if options is None:
        result = request.run(jobs=jobs, progress=progress)
        return TargetOutcome(target=request.target, result=result, replay=request.replay(result))
    store = options.store()
    subject = request.subject
    claim = identity(request, subject)
    code = code_digest(subject).digest
    seeded = request.options.seeded()
    assert seeded.seed is not None
    before = store.begin(claim, code, seed=seeded.seed)
    skipped = ""
    if before.rejected and not options.again:
        skipped = "rejected before, and the code has not changed since; --again tests it again"
    elif before.tests and options.skip_unchanged:
        skipped = "the code has not changed since it was tested"
    if skipped:
        return TargetOutcome(target=request.target, position=before, skipped=skipped)
    made = dataclasses.replace(
        request, options=dataclasses.replace(seeded, false_alarm_rate=before.rate_of_next_test)
    )
    result = made.run(jobs=jobs, progress=progress)
    assert result.outcome.log_e_value is not None
    after = store.record(
        claim,
        code,
        seed=result.seed,
        runs=result.runs,
        log_e_value=result.final_log_e_value,
        highest=result.outcome.log_e_value,
        rejections=before.rejections,
    )
    return TargetOutcome(
        target=request.target, result=result, replay=made.replay(result), position=after
    )


def identity(request: VerificationRequest, subject: TargetReference) -> dict[str, Any]:
    """What is claimed of which target, as plain values: two requests with the same are one claim.

    On which data sets, with which scores and for how long it is tested makes no difference, because
    the claim is about all of them.
    """
    claim = request.claim.completed(subject.own)
    assert claim.adjacency is not None
    found: dict[str, Any] = {"target": subject.name, "adjacency": claim.adjacency.value}
    if claim.event is not None:
        found["event"] = event_to_table(claim.event)
        if claim.epsilon is None and claim.delta is None:
            found["view"] = claim.view or VIEWS[0]
    given = {"epsilon": claim.epsilon, "delta": claim.delta}
    return found | {name: value for name, value in given.items() if value is not None}
