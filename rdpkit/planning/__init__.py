"""Choosing how many records to mix: the highest signal-to-noise ratio that a target allows."""

from __future__ import annotations

from rdpkit.planning.question import OBJECTIVES, plan
from rdpkit.planning.result import Choice, Plan

__all__ = ["OBJECTIVES", "Choice", "Plan", "plan"]
