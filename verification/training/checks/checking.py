"""One check of a training while it is made: its training, its seed, its error rates, its notes."""

from __future__ import annotations

import time
from typing import Any

from rdpkit.verification.estimators.error_budget import ErrorBudget
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult
from rdpkit.verification.training.state import seed_everything
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker


class Checking:
    """A check while it is made: its maker of trainings, its seed, its error rates, its notes."""

    def __init__(self, name: str, maker: TrainingMaker, options: TrainingOptions) -> None:
        self.name, self.maker, self.options = name, maker, options
        self.seed = options.known_seed
        self.began = time.perf_counter()
        self.rates = ErrorBudget(options.rate_of_a_check)
        self.notes: list[str] = []

    def fresh(self, further: int = 0) -> PrivateTraining:
        """A new training, made with the global generators seeded, by this much above the seed."""
        seed_everything(self.seed + further)
        return self.maker.fresh()

    def until(self, share: float) -> float:
        """When this share of the time is over from now on, by ``time.perf_counter()``."""
        return time.perf_counter() + share * self.options.seconds

    def result(self, **found: Any) -> CheckResult:
        """What was found; its lists may be iterables, and None in them is nothing."""
        given = {"notes": self.notes, "spent": self.rates.spent, **found}
        for name in {"mistakes", "measured", "bounds", "notes"} & given.keys():
            given[name] = tuple(one for one in given[name] if one is not None)
        seconds, rate = time.perf_counter() - self.began, self.rates.rate
        return CheckResult(name=self.name, false_alarm_rate=rate, seconds=seconds, **given)
