"""What a plan is."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.events import Event
from rdpkit.formats.columns import as_csv
from rdpkit.formats.records import as_plain
from rdpkit.guarantee import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to spend the target: how much is mixed, how often, and the least noise that does."""

    order_of_mixture: int  #: Records in a release (l)
    releases: int
    """Number of releases (T); where every class has its own, of the class that has fewest."""
    label_share: float | None
    """The part of what a record may leak that is spent on its label; None where labels leak
    nothing.
    """
    noise: float
    """Standard deviation of the noise on the features, calibrated; inf if no noise meets the
    target.
    """
    label_noise: float | None
    """Standard deviation of the noise on the labels; None where they have none."""
    noise_of_mean: float
    """Standard deviation of the noise on the mean of the records (for a sum, ``noise`` over l)."""
    epsilon: float  #: What is guaranteed, at most the target; inf if no noise meets it
    mean: float  #: The two signal-to-noise ratios of a release, as :func:`rdpkit.plan` defines them
    variation: float
    """The two signal-to-noise ratios of a release, as :func:`rdpkit.plan` defines them."""
    total_mean: float  #: ``releases`` times them
    total_variation: float  #: ``releases`` times them
    score: float  #: What is maximised
    reason: str = ""  #: Why no noise meets the target; empty if one does

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found: dict[str, Any] = as_plain(self)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The best choice for a target, and all that were tried."""

    best: Choice  #: The one of the highest score
    event: Event  #: The event of that choice
    guarantee: Guarantee  #: Of that event; its epsilon is at most ``target_epsilon``
    target_epsilon: float  #: What was asked for
    objective: str  #: What was maximised
    choices: tuple[Choice, ...]
    """All that were tried, by releases, label share and order of mixture."""
    notes: tuple[str, ...] = ()  #: What a reader should know about the search

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """The numbers of all choices as arrays, NaN where there is none."""
        names = [field.name for field in fields(Choice) if field.name != "reason"]
        found = {}
        for name in names:
            values = [getattr(choice, name) for choice in self.choices]
            found[name] = np.array([math.nan if v is None else float(v) for v in values])
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mechanism": self.event.mechanism,
            "target_epsilon": self.target_epsilon,
            "objective": self.objective,
            "best": self.best.as_dict(),
            "guarantee": self.guarantee.as_dict(),
            "choices": [choice.as_dict() for choice in self.choices],
            "notes": list(self.notes),
        }

    def as_csv(self) -> str:
        """A row for every choice; a cell is empty where there is no number."""
        names = [field.name for field in fields(Choice)]
        return as_csv({name: [getattr(choice, name) for choice in self.choices] for name in names})
