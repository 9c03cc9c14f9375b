"""What a failing test of a mechanism says: what is wrong, what to do, and how to see it again.

Why a claim was probably rejected is said in the units of the code, and is no verdict: a few more
runs on the same pair of data sets show how far one record moves the outputs, and how much noise
they have.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rdpkit import Gaussian, Laplace
from rdpkit.formats.numbers import as_given
from rdpkit.formats.text import printable, rounded_down
from rdpkit.verification.blackbox.adversarial_pairs import USUAL_NORM
from rdpkit.verification.blackbox.betting.pair_test import main_line
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.runs import MechanismRunner
from rdpkit.verification.blackbox.targets import ClaimUnderTest
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.evidence.accumulation import TargetOutcome
from rdpkit.verification.evidence.requests import VerificationRequest

# The key of these runs, far from those of the test.
_KEY = 2**16 + 5
_MOST_RUNS, _FEWEST_RUNS, _SECONDS = 4000, 40, 2.0
# What is off by less than this, and three standard deviations, is not called a mistake.
_CLEARLY = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOutputs:
    """What the outputs do on a pair of data sets. The numbers are estimates."""

    shift: float  # How far the mean of the outputs moves from D to D', in L2 norm
    std: float  # The standard deviation of the outputs in the direction of that move
    runs: int  # Runs on each data set that they come from

    @property
    def error_of_shift(self) -> float:
        """The standard error of the shift."""
        return self.std * math.sqrt(4.0 / self.runs)

    def describe(self) -> str:
        """In words."""
        return (
            f"one record moves the mean output by {self.shift:.3g}, with noise of standard "
            f"deviation {self.std:.3g} in that direction (estimates, {self.runs} runs)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyCause:
    """What is probably wrong with code whose claim was rejected."""

    mistake: Mistake  # What was seen, and what to do
    measured: MeasuredOutputs | None
    """What the outputs do; None if they are not numbers, or no time was left."""


def likely_cause(request: VerificationRequest, result: VerificationResult) -> LikelyCause:
    """What probably explains a rejection. The mechanism is run some more, for up to two seconds."""
    pair = result.neighbours
    measured = None if pair is None else _measured_outputs(request, pair, seed=result.seed)
    found = result.mistakes[0] if result.mistakes else _named(request, result, measured)
    return LikelyCause(mistake=found, measured=measured)


def _named(
    request: VerificationRequest, result: VerificationResult, measured: MeasuredOutputs | None
) -> Mistake:
    """The mistake that the measured outputs show, where no score has named one."""
    event, pair = result.claim.event, result.neighbours
    unclipped = measured is not None and _moves_less_if_shorter(request, result, measured)
    longest = pair.longest if unclipped and pair is not None else 0.0
    if isinstance(event, Gaussian | Laplace) and measured is not None:
        found = _of_noisy_sum(event, result.claim, measured, unclipped=longest)
        if found is not None:
            return found
    if unclipped:
        return mistake_of(MistakeKind.UNCLIPPED_RECORDS, "other", longest=longest)
    return mistake_of(MistakeKind.NOT_NAMED)


def _measured_outputs(
    request: VerificationRequest, pair: Neighbours, *, seed: int
) -> MeasuredOutputs | None:
    """How far a record moves the outputs, and how much noise they have."""
    runner = MechanismRunner(request.subject, seed=seed, jobs=None)
    try:
        layout = runner.layout_for(pair)
        count = min(_MOST_RUNS, runner.affordable(_SECONDS) // 2)
        if count < _FEWEST_RUNS or layout.varying or not layout.is_number.any():
            return None
        rows = runner.draw(pair, key=(_KEY,), start=0, count=count)
    except (MechanismError, ValueError):  # too large to keep, or it fails now and then
        return None
    first, second = (side[:, layout.is_number] for side in rows)
    # The direction comes from one half of the runs, and the numbers from the other.
    half = len(first) // 2
    direction = first[:half].mean(axis=0) - second[:half].mean(axis=0)
    norm = float(np.linalg.norm(direction))
    if not norm > 0.0 or not math.isfinite(norm):
        return None
    sides = [side[half:] @ (direction / norm) for side in (first, second)]
    shift = abs(float(sides[0].mean() - sides[1].mean()))
    std = math.sqrt(0.5 * sum(float(side.var(ddof=1)) for side in sides))
    if not (math.isfinite(shift) and math.isfinite(std)):
        return None
    return MeasuredOutputs(shift=shift, std=std, runs=len(first))


def _moves_less_if_shorter(
    request: VerificationRequest, result: VerificationResult, measured: MeasuredOutputs
) -> bool:
    """Whether records beyond the norm of the claim move the outputs by their length."""
    pair = result.neighbours
    if pair is None or not pair.beyond_norm:
        return False
    norm = float(getattr(result.claim.event, "record_norm", USUAL_NORM))
    # Still longer than the norm: what is clipped moves the outputs as far as before.
    factor = math.sqrt(norm / pair.longest)
    shorter = _measured_outputs(request, pair.scaled(factor), seed=result.seed)
    return shorter is not None and shorter.shift <= 0.5 * (1.0 + factor) * measured.shift


def _of_noisy_sum(
    event: Gaussian | Laplace, claim: ClaimUnderTest, measured: MeasuredOutputs, *, unclipped: float
) -> Mistake | None:
    """What of a noisy sum is not as claimed: the noise, or how far a record moves the sum.

    The length of the longest record is given where it is known not to be clipped, and 0 otherwise.
    """
    # The L2 norm of a move is at most its L1 norm, which the Laplace mechanism is about.
    allowed = event.sensitivity(claim.adjacency)
    if isinstance(event, Gaussian):
        name, stated, wanted, meaning = "noise_std", event.noise_std, event.noise_std, ""
    else:
        name, stated = "noise_scale", event.noise_scale
        wanted = math.sqrt(2.0) * stated
        meaning = f", which is a standard deviation of {wanted:.4g}"
    moved = f"One record moves the output by {measured.shift:.4g}; the claim allows {allowed:.4g}"
    if measured.shift > (1.0 + _CLEARLY) * allowed + 3.0 * measured.error_of_shift:
        if unclipped:
            kind, norm = MistakeKind.UNCLIPPED_RECORDS, event.record_norm
            return mistake_of(kind, "sum", moved=moved, longest=unclipped, norm=norm)
        return mistake_of(MistakeKind.SENSITIVITY_TOO_LARGE, moved=moved)
    if measured.std < (1.0 - _CLEARLY - 3.0 / math.sqrt(2.0 * measured.runs)) * wanted:
        return mistake_of(
            MistakeKind.TOO_LITTLE_NOISE,
            std=measured.std,
            name=name,
            stated=stated,
            meaning=meaning,
        )
    return None


_WIDTH, _HEADING = 96, 11
_LONGEST_EVENT = 300
# What the test calls an option of the command line, with its value if there is one.
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: (?=\d)([\w.+-]+))?")


def doubtful_text(outcome: TargetOutcome) -> str:
    """Why a strict run is not content with a test that rejected nothing, in words."""
    result = outcome.result
    assert result is not None
    doubts = [result.inconclusive, *(f"{d.message} {d.advice}" for d in result.diagnostics)]
    lines = [f"inconclusive: {outcome.target} could not be tested well enough (--verify-strict)"]
    return "\n".join(printable(line) for line in [*lines, *filter(None, doubts)])


def failure_text(
    outcome: TargetOutcome,  # What came of the test
    # What probably explains it; None if the evidence of earlier tests rejected the claim.
    cause: LikelyCause | None,
    *,
    rate: str,  # The error rate, and of what it is one
) -> str:
    """A rejection in words."""
    result = outcome.result
    assert result is not None
    rows: list[tuple[str, str]] = []
    if cause is not None:
        rows += [("mistake", cause.mistake.message), ("what to do", cause.mistake.advice)]
    else:
        rows.append(
            (
                "evidence",
                "this test alone does not reject the claim; all tests of this code together do",
            )
        )
    rows.append(("claimed", _claimed(result)))
    rows += _seen(result, cause)
    rows += [("on data", result.pair[0]), *(("", line) for line in result.pair[1:])]
    rows.append(
        (
            "p-value",
            f"{result.p_value:.2g}, after {result.releases:,} runs in {result.seconds:.1f} s "
            f"(false-alarm rate {rate})",
        )
    )
    if outcome.position is not None:
        rows.append(("on record", outcome.position.describe()))
    rows.append(("seed", str(result.seed)))
    kind = "evidence of several runs" if cause is None else cause.mistake.kind.value
    # The first line is all that pytest's own summary shows.
    head = f"{kind}: the privacy claim of {outcome.target} is rejected"
    # A command is copied whole, so it stays on one line.
    return "\n".join([head, *_table(rows), f"  {'repeat':{_HEADING}}{outcome.replay}"])


def _seen(result: VerificationResult, cause: LikelyCause | None) -> list[tuple[str, str]]:
    """What the outputs showed, with numbers."""
    found = []
    if cause is not None and cause.measured is not None:
        found.append(("measured", cause.measured.describe()))
    bound, (claimed, _) = result.outcome.bound, main_line(result.claim.part)
    if bound is not None and bound.epsilon > claimed:
        found.append(
            (
                "leaks",
                f"epsilon at least {rounded_down(bound.epsilon, 3)} at delta "
                f"{as_given(bound.delta)}, {result.claim.adjacency.value} (lower bound, confidence "
                f"{bound.confidence:.4g}), where the claim allows {claimed:.3g}",
            )
        )
    return found


def _claimed(result: VerificationResult) -> str:
    """The claim as the test's author wrote it."""
    event, relation = result.claim.event, result.claim.adjacency.value
    if event is None or len(repr(event)) > _LONGEST_EVENT:
        return result.claim.describe()
    line = "" if "profile" in type(result.claim.part).__name__.lower() else result.claim.statement
    said = f"{repr(event).replace(', record_diameter=None', '')} under {relation}"
    return f"{said}; {line}" if line else said


def error_text(
    name: str,  # What was to be tested
    message: str,  # Why it could not be
    where: str,  # The traceback of the user's code; empty if it did not raise
) -> str:
    """A test that could not be made, in words."""
    lines = [printable(line) for line in where.splitlines()]
    # The first line is all that pytest's own summary shows. Frames are indented, the error's own
    # first line is not, and what an assertion or a note says below it may be either.
    head = f"could not be tested: {next((one for one in lines if one[:1] != ' '), message)}"
    said = textwrap.wrap(_plain(head), _WIDTH, subsequent_indent="  ")
    rows = [("test", name), *([("why", message)] if lines else [])]
    return "\n".join([*said, *_table(rows), *lines])


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Headings, with what is said under each, in lines of a readable width."""
    found = []
    for heading, text in rows:
        lines = textwrap.wrap(_plain(text), _WIDTH - _HEADING) or [""]
        found += [
            f"  {'' if place else heading:{_HEADING}}{line}" for place, line in enumerate(lines)
        ]
    return found


def _plain(text: str) -> str:
    """The text as one line, with the names that options have here."""
    return _OPTION.sub(_as_keyword, printable(" ".join(text.split())))


def _as_keyword(option: re.Match[str]) -> str:
    """An option of the command line as the argument of ``verifies`` that it is here."""
    if option[1] == "alpha":
        return "--verify-alpha"
    if option[1].startswith("verify"):
        return option[0]
    return f"{option[1].replace('-', '_')}={option[2] or '...'}"
