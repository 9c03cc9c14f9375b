"""Which parameters of an event say how it mixes records into noisy means or sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing:
    """The names of the parameters by which one kind of event mixes records.

    Planning asks the methods, which read the parameters from an event of that kind.
    """

    mixed: str  #: The number of records that a release is made of
    releases: str  #: The number of releases (of each class, if there are classes)
    noise: str  #: The standard deviation of the noise on the features
    label_noise: str | None = None
    """The standard deviation of the noise on the labels; None if they are released without noise.
    """
    soft_labels: bool = False
    """Whether labels are means over records of several classes. Only then does the noise on the
    labels protect anything.
    """
    is_sum: bool = False
    """Whether the noise is added to a sum of records rather than to their mean."""
    scale: str | None = None
    """The size of a record's features, with which the noise is compared: the clip norm, or the
    range of a coordinate. None stands for 1.
    """
    population: str = "class_sizes"
    """The number of records that a release is drawn from: one number, or one for each class."""

    def scale_of(self, event: Any) -> float:
        """The size of a record's features."""
        return 1.0 if self.scale is None else float(getattr(event, self.scale))

    def population_of(self, event: Any) -> int:
        """The number of records that a release is drawn from; the smallest if classes differ."""
        return _smallest(getattr(event, self.population))

    def releases_of(self, event: Any) -> int:
        """The number of releases (of each class); the smallest if classes differ."""
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
        """The event with the label noise that makes labels leak ``share`` of what a record leaks.

        With d_x features, feature noise s_x and label noise s_y, the squared distance of two
        records over the noise is d_x / s_x^2 + 2 / s_y^2. The second summand becomes ``share`` of
        the sum. The feature noise is not changed.
        """
        assert self.label_noise is not None
        scale = getattr(event, self.noise)
        ratio = math.sqrt(2.0 * (1.0 - share) / (event.feature_dimension * share))
        return replace(event, **{self.label_noise: scale * ratio})


def _smallest(value: Any) -> int:
    return int(min(value) if isinstance(value, tuple) else value)
