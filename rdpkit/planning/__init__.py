"""Before training: how many records to mix, and what the settings of a DP-SGD run are worth."""

from __future__ import annotations

from rdpkit.planning.search import OBJECTIVES, Choice, Plan, plan
from rdpkit.planning.training import (
    SamplingBounds,
    TrainingReport,
    compare_sampling,
    training_report,
    usual_delta,
)

__all__ = [
    "OBJECTIVES",
    "Choice",
    "Plan",
    "SamplingBounds",
    "TrainingReport",
    "compare_sampling",
    "plan",
    "training_report",
    "usual_delta",
]
