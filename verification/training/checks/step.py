"""The first check: does one step clip and add noise as was accounted for?"""

from __future__ import annotations

from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult
from rdpkit.verification.training.trainer import TrainingMaker


def check_step(maker: TrainingMaker, options: TrainingOptions) -> CheckResult:
    """Check the step."""
    return CheckResult(
        name="step",
        false_alarm_rate=options.rate_of_a_check,
        skipped="not looked at",
    )


__all__ = ["check_step"]
