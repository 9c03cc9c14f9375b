"""What a verification reports while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationStep:
    """How far a verification has come."""

    stage: str  # "probing", "searching" or "testing"
    runs: int  # Runs so far, on both data sets
    of: int  # The most runs that there will be
    log_e_value: float  # Evidence against the claim so far: the logarithm of the bettor's capital
    needed: float  # The claim is rejected once the evidence reaches this
    seconds_left: float
    """How long it takes at most, by the pace of the runs so far: it ends as soon as the answer is
    clear.
    """


Progress = Callable[[VerificationStep], None]
