"""A Gaussian sum over draws with replacement, as weighted samplers make them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import diameter, event_class, integer, noise, norm, probability
from rdpkit.events.free_parameters import integer as free_integer
from rdpkit.events.geometry import diameter_of
from rdpkit.events.losses import (
    Attained,
    Dominating,
    NoLossDistributionError,
    attains,
    sampled_step,
)
from rdpkit.events.pairs import BranchedPair, GaussianMixturePair, SampledReplacement

# How often a record is drawn is told apart up to here; more often counts as every time.
_MOST = 60
_FEW = 1e-30
# More than the roundings of probabilities and of products.
_SLACK = 1e-12


@event_class
class SampledWithReplacementGaussian(Event):
    """The sum of records drawn with replacement, plus Gaussian noise, released once.

    Released: sum of x_i over ``draws`` independent draws, a record once for every time that it was
    drawn, plus noise. Every draw is record i with a probability that does not depend on the data,
    ``largest_share`` at most: PyTorch's ``RandomSampler`` with replacement (a share of one over the
    number of records) and ``WeightedRandomSampler`` (the largest weight over the sum of all of
    them). Who was drawn is not released. The shares of others must not depend on whether a record
    is there, so that it is not described under add-or-remove-one.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.SampledWithReplacementGaussian(
    ...     noise_std=2.0, record_norm=1.0, draws=256, largest_share=2e-5
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
    0.094
    """

    mechanism: ClassVar[str] = "sampled_with_replacement_gaussian"
    of_whole_data: ClassVar[str] = "its draws have the shares of records of the whole data"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT)
    assumed = ("the probability of drawing a record does not depend on the data",)

    noise_std: float = noise()
    record_norm: float = norm()
    draws: int = integer("How many records are drawn", free=free_integer(-1, role="batch"))
    largest_share: float = probability("Largest probability with which a draw is one record")
    record_diameter: float | None = diameter(default=None)

    def _counts(self) -> list[float]:
        """Probabilities that a record is drawn 0, 1, ... times, as far as they are told apart."""
        p, m = self.largest_share, self.draws
        found = [math.exp(m * math.log1p(-p))]
        if found[0] < 1e-250:
            raise NoLossDistributionError("A record is drawn too often for what is known of it.")
        while len(found) <= min(m, _MOST) and found[-1] > _FEW:
            j = len(found)
            found.append(found[-1] * (m - j + 1) / j * (p / (1.0 - p)))
        return found

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Either no draw is the record, or what is known once it is seen how many are.

        Where no draw is, the sum differs from the others by as many other records.
        """
        if self.largest_share == 0.0:
            return Dominating(())
        moved = diameter_of(self)
        if adjacency is Adjacency.ZERO_OUT:
            moved = max(moved, self.record_norm)
        if self.largest_share == 1.0:
            return Dominating(self._moved(moved, self.draws))
        counts = self._counts()
        once = -math.expm1(self.draws * math.log1p(-self.largest_share))
        times = list(range(1, len(counts)))
        weights = [min(w / once * (1.0 + _SLACK), 1.0) for w in counts[1:]]
        if len(counts) <= self.draws:
            # The terms that follow fall at least as fast as a geometric series with half of each.
            if not self._falls(len(counts)):
                raise self._no_losses(adjacency)
            times.append(self.draws)
            weights.append(weights[-1])
        branches = tuple(step for j in times for step in self._moved(moved, j))
        seen = BranchedPair(branches=branches, weights=tuple(weights))
        both = SampledReplacement(replaced=seen, removed=seen, sampling_probability=once)
        return Dominating((both,))

    def _falls(self, j: int) -> bool:
        """Whether being drawn j times is at most half as likely as one time less, and so on."""
        p = self.largest_share
        return (self.draws - j + 1) / j * (p / (1.0 - p)) <= 0.5

    def _moved(self, moved: float, times: int) -> tuple[Any, ...]:
        z = self.noise_std / (moved * times)
        return sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0)

    def attained(self, adjacency: Adjacency) -> Attained:
        """All other records are alike, and the record that changes becomes like them."""
        moved = diameter_of(self)
        if adjacency is Adjacency.ZERO_OUT:
            moved = min(moved, self.record_norm)
        if self.largest_share == 0.0:
            return attains(())
        if self.largest_share == 1.0:
            return attains(self._moved(moved * (1.0 - _SLACK), self.draws))
        counts = [w * (1.0 - _SLACK) for w in self._counts()[1:]]
        pair = GaussianMixturePair(
            kind="removed",
            noise_std=self.noise_std,
            positions=(0.0, *[j * moved * (1.0 - _SLACK) for j in range(1, len(counts) + 1)]),
            weights=(1.0 - math.fsum(counts), *counts),
        )
        return attains((pair,))
