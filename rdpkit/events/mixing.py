"""How an event that releases noisy means, or sums, of records tells planning what is what."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing:
    """The parameters by which one kind of event mixes records, by their names.

    Its methods read them from an event of that kind.

    Parameters
    ----------
    mixed : str
        How many records a release is made of.
    releases : str
        How many releases there are (of each class, where there are any).
    noise : str
        The standard deviation of the noise on the features.
    label_noise : str or None
        That of the noise on the labels; None if labels are not released with noise.
    soft_labels : bool
        Whether labels are released as means of records of several classes, so that their noise
        protects something.
    is_sum : bool
        Whether the noise is added to a sum of records rather than to their mean.
    scale : str or None
        The size of a record's features, in which a signal is measured: the clip norm, or the range
        of a coordinate. None stands for 1.
    population : str
        How many records a release is drawn from: a number, or one for each class.
    """

    mixed: str
    releases: str
    noise: str
    label_noise: str | None = None
    soft_labels: bool = False
    is_sum: bool = False
    scale: str | None = None
    population: str = "class_sizes"

    def scale_of(self, event: Any) -> float:
        """The size of a record's features."""
        return 1.0 if self.scale is None else float(getattr(event, self.scale))

    def population_of(self, event: Any) -> int:
        """How many records a release is drawn from, at least."""
        return _smallest(getattr(event, self.population))

    def releases_of(self, event: Any) -> int:
        """Releases, of a class where they are per class; the fewest where classes differ."""
        return _smallest(getattr(event, self.releases))

    def noise_of_mean(self, event: Any) -> float:
        """Standard deviation of the noise on the mean of the records."""
        noise = float(getattr(event, self.noise))
        return noise / float(getattr(event, self.mixed)) if self.is_sum else noise

    def with_mixture(self, event: Any, mixed: int, releases: Any) -> Any:
        """The event with another order of mixture and number of releases."""
        changes: dict[str, Any] = {self.mixed: mixed}
        if releases is not None:
            changes[self.releases] = releases
        return replace(event, **changes)

    def with_label_share(self, event: Any, share: float) -> Any:
        """The event with ``share`` of what a record may leak spent on its label.

        A record's squared distance over the noise is dx / sx^2 + 2 / sy^2; the second summand is
        ``share`` of it. The noise on the features is kept, and that on the labels follows from it.
        """
        assert self.label_noise is not None
        scale = getattr(event, self.noise)
        ratio = math.sqrt(2.0 * (1.0 - share) / (event.feature_dimension * share))
        return replace(event, **{self.label_noise: scale * ratio})


def _smallest(value: Any) -> int:
    return int(min(value) if isinstance(value, tuple) else value)
