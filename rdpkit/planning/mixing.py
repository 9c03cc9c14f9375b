"""What planning needs to know of a mechanism that releases noisy means, or sums, of records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from rdpkit.events import DPCDA, LDPDC, NDPDC, ClassWiseDPMix, DPMix, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing:
    """How one kind of event mixes records.

    Parameters
    ----------
    mixed : str
        The parameter that says how many records a release is made of.
    releases : str
        The parameter that says how many releases there are (of each class, where there are any).
    noise : str
        The standard deviation of the noise on the features.
    label_noise : str or None
        That of the noise on the labels; None if labels are not released with noise.
    soft_labels : bool
        Whether labels are released as means of records of several classes, so that their noise
        protects something.
    is_sum : bool
        Whether the noise is added to a sum of records rather than to their mean.
    scale : callable
        The size of a record's features, in which a signal is measured: the clip norm, or the range
        of a coordinate.
    population : callable
        How many records a release is drawn from, at least.
    """

    mixed: str
    releases: str
    noise: str
    label_noise: str | None
    soft_labels: bool
    is_sum: bool
    scale: Callable[[Any], float]
    population: Callable[[Any], int]

    def noise_of_mean(self, event: Event) -> float:
        """Standard deviation of the noise on the mean of the records."""
        noise = float(getattr(event, self.noise))
        return noise / float(getattr(event, self.mixed)) if self.is_sum else noise

    def releases_of(self, event: Event) -> int:
        """Releases, of a class where they are per class; the fewest where classes differ."""
        value = getattr(event, self.releases)
        return int(min(value) if isinstance(value, tuple) else value)

    def with_mixture(self, event: Event, mixed: int, releases: Any) -> Event:
        """The event with another order of mixture and number of releases."""
        changes: dict[str, Any] = {self.mixed: mixed}
        if releases is not None:
            changes[self.releases] = releases
        return replace(event, **changes)

    def with_label_share(self, event: Any, share: float) -> Event:
        """The event with ``share`` of what a record may leak spent on its label.

        A record's squared distance over the noise is dx / sx^2 + 2 / sy^2; the second summand is
        ``share`` of it. The scale of the two noises is left as it is, about.
        """
        assert self.label_noise is not None
        scale = getattr(event, self.noise)
        ratio = math.sqrt(2.0 * (1.0 - share) / (event.feature_dimension * share))
        changed: Event = replace(event, **{self.label_noise: scale * ratio})
        return changed


def _smallest_class(event: Any) -> int:
    return int(min(event.class_sizes))


MIXING: Mapping[type[Event], Mixing] = MappingProxyType(
    {
        DPMix: Mixing(
            mixed="order_of_mixture",
            releases="releases",
            noise="feature_noise",
            label_noise="label_noise",
            soft_labels=True,
            is_sum=False,
            scale=lambda event: 1.0,
            population=lambda event: event.population_size,
        ),
        ClassWiseDPMix: Mixing(
            mixed="order_of_mixture",
            releases="samples_per_class",
            noise="feature_noise",
            label_noise="label_noise",
            soft_labels=False,
            is_sum=False,
            scale=lambda event: 1.0,
            population=_smallest_class,
        ),
        DPCDA: Mixing(
            mixed="order_of_mixture",
            releases="samples_per_class",
            noise="feature_noise",
            label_noise="label_noise",
            soft_labels=False,
            is_sum=False,
            scale=lambda event: event.clip_norm,
            population=_smallest_class,
        ),
        LDPDC: Mixing(
            mixed="group_size",
            releases="samples_per_class",
            noise="noise_std",
            label_noise=None,
            soft_labels=False,
            is_sum=True,
            scale=lambda event: event.value_bound,
            population=_smallest_class,
        ),
        NDPDC: Mixing(
            mixed="group_size",
            releases="iterations",
            noise="noise_std",
            label_noise=None,
            soft_labels=False,
            is_sum=True,
            scale=lambda event: event.clip_norm,
            population=_smallest_class,
        ),
    }
)
"""The mechanisms that can be planned."""
