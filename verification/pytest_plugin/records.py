"""What a test of a mechanism tells the process that prints: plain values, sent as JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import rdpkit
from rdpkit import Event
from rdpkit.calibration import NoEffectError
from rdpkit.verification.blackbox.mistakes import Mistake
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.evidence.accumulation import TargetOutcome
from rdpkit.verification.outputs.tests_of_code import CodeView, view_of_outcome
from rdpkit.verification.replay.findings import ReplayResult


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRecord:
    """One test of a mechanism."""

    view: CodeView  # The test in words, as files show it
    said: str  # What was found, or what would have been, in a few words
    # Those of the run.
    rate: float
    tests: int
    seed: int
    evidence: str
    repeated: bool  # Whether it repeats a test of an earlier run
    # Of the test itself, as long as it was made.
    runs: int = 0  # Runs of the mechanism
    p_value: float | None = None
    test_seed: int | None = None
    test_rate: float | None = None  # The false-alarm rate of this test
    # A lower bound on epsilon at this delta.
    lower_epsilon: float | None = None
    delta: float | None = None
    inconclusive: str = ""
    """Why nothing could have been noticed; empty if a wrong claim could have been."""

    @classmethod
    def of(cls, outcome: TargetOutcome, cause: Mistake | None, **of_run: Any) -> SuiteRecord:
        """What came of one test; ``of_run`` are the fields that all records of a run share."""
        view, result = view_of_outcome(outcome), outcome.result
        if cause is not None:
            said = f"{cause.kind.value}: {cause.message} {cause.advice}"
            view = dataclasses.replace(view, details=(said, *view.details))
        record = cls(view=view, said=_said(outcome, cause), **of_run)
        if result is None:
            return record
        bound = result.outcome.bound
        return dataclasses.replace(
            record,
            runs=result.releases,
            p_value=result.p_value,
            test_seed=result.seed,
            test_rate=result.outcome.false_alarm_rate,
            lower_epsilon=None if bound is None else bound.epsilon,
            delta=None if bound is None else bound.delta,
            inconclusive=result.inconclusive,
        )

    @classmethod
    def of_replay(cls, result: ReplayResult, view: CodeView, **of_run: Any) -> SuiteRecord:
        """What came of one replay; ``of_run`` as for :meth:`of`."""
        test = result.confirmation
        return cls(
            view=view,
            runs=0 if test is None else test.releases,
            p_value=None if test is None else test.p_value,
            test_seed=result.seed,
            said=result.summary,
            test_rate=result.false_alarm_rate,
            inconclusive="" if result.conclusive else result.summary,
            **of_run,
        )

    def as_json(self) -> str:
        """One line."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, line: str) -> SuiteRecord:
        """The record that a line was made of."""
        table = json.loads(line)
        return cls(view=CodeView.from_dict(table.pop("view")), **table)

    def properties(self) -> dict[str, Any]:
        """What JUnit shows of the test."""
        found = {
            "verdict": self.view.verdict,
            "inconclusive": self.inconclusive or None,
            "p_value": self.p_value,
            "seed": self.test_seed,
            "runs": self.runs,
            "epsilon_lower": self.lower_epsilon,
            "epsilon_lower_delta": self.delta,
            "false_alarm_rate": self.test_rate,
        }
        return {name: value for name, value in found.items() if value is not None}


def _said(outcome: TargetOutcome, cause: Mistake | None) -> str:
    """What was found; or what would have been noticed, by an estimate."""
    result = outcome.result
    if outcome.error:
        return "could not be tested"
    if result is None:
        return "unchanged since it was tested"
    if cause is not None:
        return cause.kind.value
    if outcome.failed(strict=False):
        return "by all the evidence on record"
    return result.inconclusive or noticed(result)


def noticed(result: VerificationResult) -> str:
    """What a test that was passed would have noticed nearly always, in the units of its event.

    It is an estimate, with probability 0.95: that of the smallest violation that the test would
    have rejected, as the noise of the same event.
    """
    found = result.detectable
    if found is None:
        return ""
    if found.excess is None:
        return "too few runs to notice anything"
    event = result.claim.event
    noise = [] if event is None else _noises(event)
    if event is not None and len(noise) == 1:
        value = _noise_of(result, event, noise[0], found.delta + found.excess)
        if value is not None:
            return f"{noise[0]} below {value:.2g}, not {getattr(event, noise[0]):.3g}"
    return (
        f"delta {found.delta + found.excess:.2g} at epsilon {found.epsilon:.2g}, "
        f"not {found.delta:.2g}"
    )


def _noises(event: Event) -> list[str]:
    """The names of the parameters that are noise."""
    return [name for name, one in event.free_parameters().items() if one.role == "noise"]


def _noise_of(result: VerificationResult, event: Event, name: str, delta: float) -> float | None:
    """The noise with which the same event attains a larger delta at the claim's epsilon.

    None if a number is not to be had at once.
    """
    assert result.detectable is not None
    if type(event) not in (rdpkit.Gaussian, rdpkit.Laplace):
        return None
    try:
        found = rdpkit.calibrate(
            event,
            target_epsilon=result.detectable.epsilon,
            delta=delta,
            adjacency=result.claim.adjacency,
            parameter=name,
            tolerance=0.01,
        )
    except (ValueError, ArithmeticError, NoEffectError):
        return None
    return float(getattr(found.event, name))
