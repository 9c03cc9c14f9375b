"""The tests of mechanisms of one run of pytest: what they share, and how each of them is made."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import secrets
import shlex
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rdpkit import Adjacency, Event
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.evidence.accumulation import (
    EvidenceOptions,
    TargetOutcome,
    accumulated_test,
    place_of,
)
from rdpkit.verification.evidence.decorator import check_keywords
from rdpkit.verification.evidence.error_control import share_of_test
from rdpkit.verification.evidence.replays import replay_of
from rdpkit.verification.evidence.requests import (
    OF_THE_RESULT,
    VerificationRequest,
    request_of,
)
from rdpkit.verification.evidence.store import USUAL_RATE, Position
from rdpkit.verification.outputs.tests_of_code import view_of_replay
from rdpkit.verification.pytest_plugin.failure import (
    doubtful_text,
    error_text,
    failure_text,
    likely_cause,
)
from rdpkit.verification.pytest_plugin.records import SuiteRecord, told_of
from rdpkit.verification.replay.findings import ReplayResult

Mechanism = str | Callable[..., Any]
R = TypeVar("R")
_OPTION = "--verify-repeat"
_SEED_BYTES = 6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What a test has to be told so that it is the same again; a failure prints it in words."""

    seed: int  # All randomness comes from it
    # As in the result of the test.
    runs: int
    training: int
    pairs: int
    processes: int
    rate: float  # Its false-alarm rate, which depends on how many other tests there were
    call: int = 1  # Which call of the fixture it is

    @classmethod
    def of(cls, result: VerificationResult, *, call: int) -> Repeat:
        """What repeats a test."""
        told = {name: getattr(result, name) for name in OF_THE_RESULT.values()}
        return cls(**told, rate=result.outcome.false_alarm_rate, call=call)

    @classmethod
    def read(cls, words: str) -> Repeat:
        """What the option says. Raises pytest.UsageError if these are no such words."""
        try:
            pairs = [word.split("=") for word in words.split(",")]
            numbers: dict[str, Any] = {
                name: (float if name == "rate" else int)(value) for name, value in pairs
            }
            return cls(**numbers)
        except (ValueError, TypeError):
            raise pytest.UsageError(
                f"Expected {_OPTION} to be seed=...,runs=...,training=...,pairs=...,processes=...,"
                f"rate=..., as a failure prints it, got {words!r}."
            ) from None

    def words(self) -> str:
        """The option's value."""
        shown = dataclasses.fields(self)[: None if self.call > 1 else -1]
        return ",".join(f"{one.name}={getattr(self, one.name)!r}" for one in shown)

    def options(self, options: VerificationOptions) -> VerificationOptions:
        """The options of the test, with these in their place. Runs are counted, and not seconds."""
        return dataclasses.replace(
            options,
            seed=self.seed,
            # Releases of new processes may have refuted the claim before any other run; the option
            # wants room for the first of those.
            samples=self.runs or 2 * (self.training + 1),
            training=self.training,
            pairs=self.pairs,
            fresh_processes=self.processes,
            false_alarm_rate=self.rate,
            time_budget=None,
        )


class InconclusiveWarning(pytest.PytestWarning):
    """A test of a mechanism that would not have noticed a wrong claim."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """What all tests of mechanisms of a run share."""

    rate: float  # The error rate of the run
    tests: int  # How many tests share it
    seed: int  # The seeds of the tests are made from it
    evidence: EvidenceOptions | None
    """The file of evidence, whose rate takes the place of that of the run."""
    repeat: Repeat | None  # What one test is to repeat
    folder: Path  # Where pytest was started
    strict: bool = False  # Whether a test fails that is inconclusive

    @classmethod
    def of(
        cls,
        config: pytest.Config,
        *,
        tests: int,
        seed: int | None,
        alpha: float | None,
        evidence: EvidenceOptions | None,
    ) -> Suite:
        """What the options of a run say."""
        given, repeat = config.getoption("--verify-seed"), config.getoption(_OPTION)
        drawn = secrets.randbits(48) if seed is None else seed
        skip = config.getoption("--verify-skip-unchanged")
        if skip and evidence is None:
            raise pytest.UsageError("Expected --verify-evidence FILE with --verify-skip-unchanged.")
        if evidence is not None:
            # A claim that is rejected already is tested again, so that the failure says why.
            evidence = dataclasses.replace(evidence, again=True, skip_unchanged=skip)
        return cls(
            rate=USUAL_RATE if alpha is None else alpha,
            tests=tests,
            seed=drawn if given is None else given,
            evidence=None if repeat else evidence,
            repeat=Repeat.read(repeat) if repeat else None,
            folder=config.invocation_params.dir,
            strict=config.getoption("--verify-strict"),
        )

    def seed_of(self, name: str) -> int:
        """The seed of one test: another one for each name."""
        digest = hashlib.sha256(f"{self.seed}\n{name}".encode()).digest()
        return int.from_bytes(digest[:_SEED_BYTES], "big")


class Verifier:
    """The fixture ``verifies``: ``verifies(mechanism, event, adjacency=...)``.

    Parameters
    ----------
    suite : Suite
        What it shares with the other tests of the run.
    item : pytest.Item
        The test that asked for it.
    told : list of str
        Gets a line of JSON for each call.
    """

    def __init__(self, suite: Suite, item: pytest.Item, told: list[str]) -> None:
        self._suite = suite
        self._item = item
        self._told = told
        self._calls = 0

    def __call__(
        self,
        mechanism: Mechanism,
        event: Event | None = None,
        *,
        adjacency: Adjacency | str,
        epsilon: float | None = None,
        delta: float | None = None,
        view: str | None = None,
        **options: Any,
    ) -> Any:
        """Test a mechanism against its claim; the test that calls this fails if it is rejected.

        Guarantee
        ---------
        As for :func:`rdpkit.verification.verifies`. The k-th call in a test gets 1 / (k (k + 1)) of
        the error rate of the test, so a test may call it as often as it likes.

        Parameters
        ----------
        mechanism : callable or str
            Called as ``mechanism(dataset, rng)``; or ``module:callable``, which is run in new
            processes, too. That finds a generator that is seeded at import.
        event, adjacency, epsilon, delta, view, **options
            As for :func:`rdpkit.verification.verifies`.

        Returns
        -------
        VerificationResult or ReplayResult
            If the claim was not rejected; the latter with ``replay=True``.
        """
        # A wrong argument is an error of the line that calls this, and is shown there.
        __tracebackhide__ = True
        claim = {"event": event, "adjacency": adjacency, "epsilon": epsilon, "delta": delta}
        self._calls += 1
        name, call = self._item.nodeid, self._calls
        try:
            check_keywords(options, claim)
            request = request_of(
                mechanism,
                name=name if call == 1 else f"{name} ({call})",
                **{**claim, "view": view, **options},
            )
        except ValueError as error:
            wrong = str(error)
        else:
            return self._verified(request, call=call)
        raise ValueError(wrong)

    def run_decorated(self, mechanism: Mechanism, **given: Any) -> Any:
        """Test a decorated mechanism, which is the only one of its test."""
        self._calls += 1
        return self._verified(request_of(mechanism, name=self._item.nodeid, **given), call=None)

    def _verified(
        self, asked: VerificationRequest, *, call: int | None
    ) -> VerificationResult | ReplayResult:
        place = _place_of(asked)
        name = self._item.nodeid if call in (None, 1) else f"{self._item.nodeid} ({call})"
        request = self._request(asked, name, call)
        if request.options.replay:
            return self._replayed(request, name, place)
        evidence = self._suite.evidence
        found = self._made(lambda: accumulated_test(request, evidence), name, place)
        result = found.result
        if result is not None and request.options.time_budget is not None:
            result = dataclasses.replace(result, asked=asked.asked)
        repeat = "" if result is None else self._repeat(result, call)
        return self._judged(
            request,
            dataclasses.replace(found, target=name, result=result, replay=repeat, place=place),
        )

    def _made(self, test: Callable[[], R], name: str, place: tuple[str, int] | None) -> R:
        """What a test returns; the test of pytest fails if it cannot be made."""
        try:
            return test()
        except (ValueError, ArithmeticError, OSError) as error:
            failure = error_text(name, str(error), _traceback_of(error))
            outcome = TargetOutcome(target=name, error=str(error), place=place)
            self._tell(**told_of(outcome, None))
        pytest.fail(failure, pytrace=False)

    def _replayed(
        self, request: VerificationRequest, name: str, place: tuple[str, int] | None
    ) -> ReplayResult:
        """Record and replay a mechanism; what is refuted fails, and the rest is a warning."""
        command = shlex.join(["pytest", name, "--verify-seed", str(self._suite.seed)])
        result = self._made(lambda: replay_of(request, command=command), name, place)
        view = view_of_replay(result, strict=self._suite.strict)
        why = "" if result.conclusive else result.summary
        self._tell(view=view, said=result.summary, inconclusive=why)
        text = "\n".join([view.headline, *view.details])
        if view.rule:
            pytest.fail(text, pytrace=False)
        if not result.conclusive:
            self._item.warn(InconclusiveWarning(text))
        return result

    def _judged(self, request: VerificationRequest, outcome: TargetOutcome) -> VerificationResult:
        """The result, unless it makes the test fail."""
        result = outcome.result
        if result is None:
            self._tell(**told_of(outcome, None))
            pytest.skip(f"{outcome.skipped} (--verify-skip-unchanged)")
        failed = outcome.failed(strict=self._suite.strict)
        cause = likely_cause(request, result) if failed and result.rejected else None
        self._tell(**told_of(outcome, None if cause is None else cause.mistake))
        if result.inconclusive and not failed:
            self._item.warn(InconclusiveWarning(f"{outcome.target}: {result.inconclusive}"))
        if failed and not outcome.failed(strict=False):
            pytest.fail(doubtful_text(outcome), pytrace=False)
        if failed:
            text = failure_text(outcome, cause, rate=self._rate_in_words(outcome.position))
            pytest.fail(text, pytrace=False)
        return result

    def _request(
        self, request: VerificationRequest, name: str, call: int | None
    ) -> VerificationRequest:
        """The same test with its seed, and its part of the error rate."""
        suite, options = self._suite, request.options
        rate = share_of_test(suite.rate, tests=suite.tests, call=call)
        seed = suite.seed_of(name) if options.seed is None else options.seed
        options = dataclasses.replace(options, seed=seed, false_alarm_rate=rate)
        if suite.repeat is not None and suite.repeat.call == (call or 1):
            options = suite.repeat.options(options)
        return dataclasses.replace(request, options=options)

    def _rate_in_words(self, position: Position | None) -> str:
        if self._suite.repeat is not None:
            return f"{self._suite.repeat.rate:.2g}, as in the test that is repeated"
        if position is not None:
            return f"{position.rate} over all tests and all time"
        together = "this test" if self._suite.tests == 1 else f"all {self._suite.tests} tests"
        return f"{self._suite.rate:g} for {together} of this run"

    def _repeat(self, result: VerificationResult, call: int | None) -> str:
        """The command line that repeats a test."""
        words = Repeat.of(result, call=call or 1).words()
        file, separator, rest = self._item.nodeid.partition("::")
        path = self._item.path
        if path.is_relative_to(self._suite.folder):
            file = path.relative_to(self._suite.folder).as_posix()
        return shlex.join(["pytest", f"{file}{separator}{rest}", _OPTION, words])

    def _tell(self, **told: Any) -> None:
        """Write down what came out, for the summary, for JUnit and for SARIF."""
        suite = self._suite
        record = SuiteRecord(
            rate=suite.rate,
            tests=suite.tests,
            seed=suite.seed,
            evidence="" if suite.evidence is None else str(suite.evidence.path),
            repeated=suite.repeat is not None,
            **told,
        )
        self._told.append(record.as_json())
        again = f"[{self._calls}]" if self._calls > 1 else ""
        self._item.user_properties += [
            (f"{name}{again}", value) for name, value in record.properties().items()
        ]


def _place_of(request: VerificationRequest) -> tuple[str, int] | None:
    """Where the code of a mechanism begins: the function behind a partial one."""
    try:
        mechanism = request.subject.mechanism()
    except ValueError:  # there is no such function, which the test itself will say
        return None
    while isinstance(mechanism, functools.partial):
        mechanism = mechanism.func
    return place_of(mechanism)


def _traceback_of(error: BaseException) -> str:
    """Where the code of the user raised an error, without the frames of this library."""
    cause = error.__cause__
    if cause is None:
        return ""
    own = Path(__file__).parents[1]
    frames = [
        frame
        for frame in traceback.extract_tb(cause.__traceback__)
        if not Path(frame.filename).is_relative_to(own) and "importlib" not in frame.filename
    ]
    lines = traceback.format_list(frames) + traceback.format_exception_only(cause)
    return "".join(lines).rstrip()
