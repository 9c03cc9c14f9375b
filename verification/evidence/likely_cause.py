"""Why a claim was probably rejected, in the units of the code: what the outputs do on the pair.

Nothing here is a verdict. The claim was rejected before; a few more runs on the same pair of data
sets show how far one record moves the outputs, and how much noise they have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rdpkit import Gaussian, Laplace
from rdpkit.verification.blackbox.adversarial_pairs import USUAL_NORM
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.runs import MechanismRunner
from rdpkit.verification.blackbox.targets import ClaimUnderTest
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.estimators.base import Array
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
    measured = None if pair is None else measured_outputs(request, pair, seed=result.seed)
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


def measured_outputs(
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
    return _measured(first, second)


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
    shorter = measured_outputs(request, pair.scaled(factor), seed=result.seed)
    return shorter is not None and shorter.shift <= 0.5 * (1.0 + factor) * measured.shift


def _measured(first: Array, second: Array) -> MeasuredOutputs | None:
    """The direction comes from one half of the runs, and the numbers from the other."""
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
