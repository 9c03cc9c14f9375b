"""The sparse vector technique: which queries are the first to exceed a threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.free_parameters import NOISE, FreeParameter
from rdpkit.events.losses import Attained, Dominating, attains
from rdpkit.events.pairs import StatedPair
from rdpkit.events.selection.two_options import SCORES, pairs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveThreshold(Event):
    """For each query whether it is above a threshold, until so many were: the sparse vector.

    Released: "below" or "above" for one query after the other, each with Laplace noise of
    query_noise_scale compared with a threshold that has Laplace noise of threshold_noise_scale,
    drawn once; it ends with the last of ``most_above`` answers "above". The number of queries does
    not matter. It is epsilon-DP with epsilon = s / threshold_noise_scale +
    2 c s / query_noise_scale, s the sensitivity, c = most_above; without the 2 if queries are
    monotone.

    Parameters
    ----------
    threshold_noise_scale : float
        Scale of the noise of the threshold, in the units of the queries; above 0.
    query_noise_scale : float
        Scale of the noise of each query, in the units of the queries; above 0.
    sensitivity : float
        Largest change of one query between neighbours, in the units of the queries; above 0.
    most_above : int
        How many answers "above" are given at most; at least 1.
    monotone_queries : bool
        Whether between neighbours either no query falls or no query rises.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

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
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    threshold_noise_scale: float
    query_noise_scale: float
    sensitivity: float
    most_above: int = 1
    monotone_queries: bool = False

    def __post_init__(self) -> None:
        _validate.attributes(
            self,
            threshold_noise_scale=_validate.positive,
            query_noise_scale=_validate.positive,
            sensitivity=_validate.positive,
            most_above=_validate.integer,
        )
        _validate.one_of_a_kind("monotone_queries", self.monotone_queries, bool)

    def assumptions(self) -> tuple[str, ...]:
        """What the queries' sensitivity is measured under."""
        return (SCORES.replace("scores", "queries"),)

    def pure_epsilon(self) -> float:
        """The epsilon of pure differential privacy, rounded up."""
        factor = 1.0 if self.monotone_queries else 2.0
        at_threshold = self.sensitivity / self.threshold_noise_scale
        at_queries = factor * self.most_above * self.sensitivity / self.query_noise_scale
        return (at_threshold + at_queries) * (1.0 + 8.0 * math.ulp(1.0))

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private."""
        return {"threshold_noise_scale": NOISE, "query_noise_scale": NOISE}

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The worst mechanism that is as private."""
        return Dominating((StatedPair(epsilon=self.pure_epsilon(), delta=0.0),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The answer to one query, which is lower by its sensitivity on the second data set."""
        one, two = sorted((self.threshold_noise_scale, self.query_noise_scale))
        if two - one < 0.05 * two:
            # The formula for two scales loses digits; a little less noise than there is on neither
            # side would be no lower bound, so nothing is claimed.
            return attains(())

        def above(x: float) -> float:
            """P(query + noise > threshold + noise) for a query x above the threshold."""
            t = abs(x)
            tail = two * (two * math.exp(-t / two)) - one * (one * math.exp(-t / one))
            tail /= 2.0 * (two - one) * (two + one)
            return 1.0 - tail if x >= 0.0 else tail

        found = []
        for place in (0.0, 0.5, 1.0, -1.0, -3.0):
            x = place * self.sensitivity
            found.append((above(x), above(x - self.sensitivity)))
        return pairs_of(found)

    def in_groups(self, size: int) -> Event:
        """Queries that change by so many times their sensitivity."""
        return replace(self, sensitivity=size * self.sensitivity)

    def attained_in_groups(self, size: int) -> Event | None:
        """Every record of a group may move the queries as far, in one direction."""
        return self.in_groups(size)
