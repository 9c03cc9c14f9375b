"""Budgets that are spent as one goes: filters that refuse what exceeds, and running bounds."""

from __future__ import annotations

from rdpkit.planning.budgets.filter import BudgetExceededError, BudgetLeft, PrivacyFilter
from rdpkit.planning.budgets.odometer import PrivacyOdometer

__all__ = ["BudgetExceededError", "BudgetLeft", "PrivacyFilter", "PrivacyOdometer"]
