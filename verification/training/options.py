"""The options of checking a training."""

from __future__ import annotations

import dataclasses
import secrets
from dataclasses import dataclass

from rdpkit import _validate

CHECKS = ("step", "sampler", "accountant", "run")
"""The checks, in the order in which they are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """How a training is checked."""

    checks: tuple[str, ...] = CHECKS  #: Which of "step", "sampler", "accountant" and "run" are made
    false_alarm_rate: float = 0.01
    """How often a correct training may be rejected, by all checks together; in (0, 1)."""
    confidence: float = 0.95  #: Of each lower bound, in (0, 1)
    canaries: int = 1000  #: How many canaries the run has; at least 2
    steps: int | None = None
    """How many steps the run makes; None for those of the event, or what the time allows."""
    seconds: float = 60.0  #: About how long all checks may take; above 0
    seed: int | None = None
    """All choices of the checks come from it; None for one from the operating system."""

    def __post_init__(self) -> None:
        for name in self.checks:
            _validate.choice("checks", name, CHECKS)
        _validate.open_probability("false_alarm_rate", self.false_alarm_rate)
        _validate.open_probability("confidence", self.confidence)
        _validate.integer("canaries", self.canaries, minimum=2)
        if self.steps is not None:
            _validate.integer("steps", self.steps)
        _validate.positive("seconds", self.seconds)
        if self.seed is not None:
            _validate.integer("seed", self.seed, minimum=0)

    @property
    def rate_of_a_check(self) -> float:
        """The false-alarm rate of each check, so that all together have theirs."""
        return self.false_alarm_rate / len(CHECKS)

    @property
    def known_seed(self) -> int:
        """The seed, of options that have one: see :meth:`seeded`."""
        assert self.seed is not None
        return self.seed

    def seeded(self) -> TrainingOptions:
        """The same options with a seed."""
        if self.seed is not None:
            return self
        return dataclasses.replace(self, seed=secrets.randbits(32))
