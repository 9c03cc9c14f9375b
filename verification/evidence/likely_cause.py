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

    kind: str  # A short name; the kind of a mistake if one was found
    message: str  # What was seen
    advice: str  # What to do
    measured: MeasuredOutputs | None
    """What the outputs do; None if they are not numbers, or no time was left."""


def likely_cause(request: VerificationRequest, result: VerificationResult) -> LikelyCause:
    """What probably explains a rejection. The mechanism is run some more, for up to two seconds."""
    pair = result.neighbours
    measured = None if pair is None else measured_outputs(request, pair, seed=result.seed)
    if result.mistakes:
        named = result.mistakes[0]
        return LikelyCause(
            kind=named.kind.value, message=named.message, advice=named.advice, measured=measured
        )
    longest = 0.0 if pair is None else pair.longest
    event = result.claim.event
    unclipped = measured is not None and _moves_less_if_shorter(request, result, measured)
    if isinstance(event, Gaussian | Laplace) and measured is not None:
        far = longest if unclipped else 0.0
        found = _of_noisy_sum(event, result.claim, measured, unclipped=far)
        if found is not None:
            return found
    if unclipped:
        return LikelyCause(
            kind="unclipped_records",
            message=f"It was rejected on data with a record of norm {longest:.4g}, longer than the "
            "claim speaks of, and with shorter records it moves the output less. The code does not "
            "clip.",
            advice="Clip every record to the norm of the claim. If no longer record can ever reach "
            "this code, say so: record_norm=... in verifies().",
            measured=measured,
        )
    return LikelyCause(
        kind="not_named",
        message="The outputs tell the two data sets apart better than the claim allows. No known "
        "mistake explains it alone.",
        advice="Compare the code with the claim: how far can one record move the output, how much "
        "noise is added and how often, and what depends on the data without noise (a count, a "
        "mean, a choice)?",
        measured=measured,
    )


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
) -> LikelyCause | None:
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
            return LikelyCause(
                kind="unclipped_records",
                message=f"{moved}. The data held a record of norm {unclipped:.4g}, and it was "
                f"not clipped to record_norm = {event.record_norm:g}.",
                advice=f"Clip every record to norm {event.record_norm:g} before the sum. If no "
                "longer record can ever reach this code, say so: "
                f"record_norm={event.record_norm:g} in verifies().",
                measured=measured,
            )
        return LikelyCause(
            kind="sensitivity_too_large",
            message=f"{moved}, and records that are too long are not the reason.",
            advice="Look for what multiplies records or lets one of them count twice, and for a "
            "mean whose divisor is the number of records at hand, which is no public one; or claim "
            "a larger record_norm.",
            measured=measured,
        )
    if measured.std < (1.0 - _CLEARLY - 3.0 / math.sqrt(2.0 * measured.runs)) * wanted:
        return LikelyCause(
            kind="too_little_noise",
            message=f"The noise has standard deviation {measured.std:.4g}; the claim says "
            f"{name} = {stated:g}{meaning}.",
            advice=f"Add noise of {name} {stated:g}, or claim what is added. Look for "
            "a variance taken for a standard deviation, and for noise that is averaged or divided "
            "afterwards.",
            measured=measured,
        )
    return None
