"""Choosing how many records to mix: the highest signal-to-noise ratio that a target allows."""

from __future__ import annotations

from rdpkit.planning.plans import Choice, Plan
from rdpkit.planning.search import OBJECTIVES, plan

__all__ = ["OBJECTIVES", "Choice", "Plan", "plan"]
