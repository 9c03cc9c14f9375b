"""The sparse vector technique: which queries are the first to exceed a threshold."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.fields import count, event_class, flag, integer, noise, positive
from rdpkit.events.losses import Attained, Dominating
from rdpkit.events.pairs import StatedPair
from rdpkit.events.selection.scores import SCORES
from rdpkit.events.selection.streams import Noises, Tail, best_streams, laplace, normal


@event_class
class AboveThreshold(DescribedEvent):
    """For each query whether it is above a threshold, until so many were: the sparse vector.

    Released: "below" or "above" for one query after the other, each with Laplace noise of
    query_noise_scale compared with a threshold that has Laplace noise of threshold_noise_scale,
    drawn once; it ends with the last of ``most_above`` answers "above". The number of queries does
    not matter. It is epsilon-DP with epsilon = s / threshold_noise_scale +
    2 c s / query_noise_scale, s the sensitivity, c = most_above; without the 2 if queries are
    monotone.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.AboveThreshold(
    ...     threshold_noise_scale=2.0, query_noise_scale=4.0, sensitivity=1.0
    ... )
    >>> round(rdpkit.epsilon(event, delta=0.0, adjacency="replace_one").epsilon, 3)
    1.0
    """

    mechanism: ClassVar[str] = "above_threshold"
    assumed = (SCORES.replace("scores", "queries"),)
    # Every record of a group may move the queries as far, in one direction.
    groups_are_attained = True

    threshold_noise_scale: float = noise(
        "Scale of the noise of the threshold, in the units of the queries"
    )
    query_noise_scale: float = noise(
        "Scale of the noise of each query, in the units of the queries"
    )
    sensitivity: float = positive(
        "Largest change of one query between neighbours, in the units of the queries"
    )
    most_above: int = integer('How many answers "above" are given at most', default=1)
    monotone_queries: bool = flag(
        "Whether between neighbours either no query falls or no query rises", default=False
    )

    def pure_epsilon(self) -> float:
        """The epsilon of pure differential privacy, rounded up to a float."""
        factor = 1 if self.monotone_queries else 2
        moved = Fraction(self.sensitivity)
        at_queries = factor * self.most_above * moved / Fraction(self.query_noise_scale)
        total = moved / Fraction(self.threshold_noise_scale) + at_queries
        # A part of a rounding more would leave the number that the theorem states unproven.
        near = float(min(total, Fraction(sys.float_info.max)))
        return near if Fraction(near) >= total else math.nextafter(near, math.inf)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The worst mechanism that is as private."""
        return Dominating((StatedPair(epsilon=self.pure_epsilon(), delta=0.0),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """A stream of queries that move as far as they may, and whether it is answered as told."""
        noises = _noises(self, laplace, self.threshold_noise_scale, self.query_noise_scale)
        return best_streams(noises, self.most_above)

    def in_groups(self, size: int) -> Event:
        """Queries that change by so many times their sensitivity."""
        return replace(self, sensitivity=size * self.sensitivity)


@event_class
class GaussianAboveThreshold(DescribedEvent):
    """For each query whether it is above a threshold, until so many were, with Gaussian noise.

    Released: "below" or "above" for at most ``queries`` queries, one after the other, each with
    noise of its own compared with a threshold whose noise is drawn once; it ends with the last of
    ``most_above`` answers "above". Unlike with Laplace noise the number of queries matters, if only
    by its logarithm. With noise of the threshold that is drawn again after each answer "above" it
    is this event for one answer, so many times.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.GaussianAboveThreshold(
    ...     threshold_noise_std=10.0, query_noise_std=20.0, sensitivity=1.0, queries=1000
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
    0.702
    """

    mechanism: ClassVar[str] = "gaussian_above_threshold"
    assumed = (SCORES.replace("scores", "queries"),)
    # Every record of a group may move the queries as far, in one direction.
    groups_are_attained = True

    threshold_noise_std: float = noise(
        "Standard deviation of the noise of the threshold, in the units of the queries"
    )
    query_noise_std: float = noise(
        "Standard deviation of the noise of each query, in the units of the queries"
    )
    sensitivity: float = positive(
        "Largest change of one query between neighbours, in the units of the queries"
    )
    queries: int = count("How many queries are answered at most")
    most_above: int = integer('How many answers "above" are given at most', default=1)
    monotone_queries: bool = flag(
        "Whether between neighbours either no query falls or no query rises", default=False
    )

    def moved(self) -> float:
        """How far a query falls at most, if the threshold falls with all that rise."""
        return self.sensitivity if self.monotone_queries else 2.0 * self.sensitivity

    def attained(self, adjacency: Adjacency) -> Attained:
        """A stream of queries that move as far as they may, and whether it is answered as told."""
        noises = _noises(self, normal, self.threshold_noise_std, self.query_noise_std)
        return best_streams(noises, self.most_above, min(self.queries, 10**6))

    def in_groups(self, size: int) -> Event:
        """Queries that change by so many times their sensitivity."""
        return replace(self, sensitivity=size * self.sensitivity)


def _noises(
    event: AboveThreshold | GaussianAboveThreshold, law: Tail, threshold: float, query: float
) -> Noises:
    """Those of the event, whose queries move less by more than is rounded."""
    return Noises(
        law=law,
        ratio=query / threshold,
        moved=event.sensitivity / threshold * (1.0 - 1e-12),
        both_ways=not event.monotone_queries,
    )
