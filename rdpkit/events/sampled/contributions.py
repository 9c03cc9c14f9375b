"""One release of a noisy sum to which what one person contributes is random.

That is a number of their own, records of which some join, or draws with replacement.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, diameter, event_class, integer, noise, norm, probability
from rdpkit.events.free_parameters import integer as free_integer
from rdpkit.events.geometry import diameter_of
from rdpkit.events.losses import (
    Attained,
    Dominating,
    Losses,
    NoLossDistributionError,
    attains,
    sampled_step,
)
from rdpkit.events.pairs import BranchedPair, GaussianMixturePair, SampledReplacement
from rdpkit.formats.numbers import how_many

_SUM = 1e-9


@event_class
class MixtureOfGaussians(Event):
    """A noisy sum to which what one person contributes is random, released once.

    Released: sum of x_i + N(0, noise_std^2 I), where the vector of one person (a user with several
    records, say) has at most the norm sensitivities[j] with probability probabilities[j],
    independently of all others. With two sensitivities, one of them 0, it is the Gaussian mechanism
    on a Poisson sample.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.MixtureOfGaussians(
    ...     noise_std=4.0, sensitivities=[0.0, 1.0, 2.0], probabilities=[0.9, 0.09, 0.01]
    ... )
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.11
    """

    mechanism: ClassVar[str] = "mixture_of_gaussians"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.ADD_OR_REMOVE_ONE, Adjacency.ZERO_OUT)
    # By vectors of these norms, all in one direction.
    losses_are_attained = True

    noise_std: float = noise()
    sensitivities: tuple[float, ...] = declared(
        "L2 norms, in the units of the sum; finite and >= 0"
    )
    probabilities: tuple[float, ...] = declared(
        "Their probabilities, in (0, 1], which add up to 1 within 1e-9 and are scaled to do so"
    )

    def _check_together(self) -> None:
        condition = "to be finite numbers >= 0, of shape (k,) with k >= 1"
        norms = np.atleast_1d(_validate.real_array("sensitivities", self.sensitivities, condition))
        if norms.ndim != 1 or not norms.size or not (np.isfinite(norms) & (norms >= 0.0)).all():
            raise _validate.fail("sensitivities", condition, self.sensitivities)
        condition = f"to be numbers in (0, 1] that add up to 1, of shape ({norms.size},)"
        shares = np.atleast_1d(_validate.real_array("probabilities", self.probabilities, condition))
        if shares.shape != norms.shape or not ((shares > 0.0) & (shares <= 1.0)).all():
            raise _validate.fail("probabilities", condition, self.probabilities)
        if abs(float(shares.sum()) - 1.0) > _SUM:
            raise _validate.fail("probabilities", condition, self.probabilities)
        object.__setattr__(self, "sensitivities", tuple(float(v) + 0.0 for v in norms))
        object.__setattr__(self, "probabilities", tuple(float(v) for v in shares))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """A mixture against a Gaussian; what a replacement by another vector does is not known."""
        if adjacency is Adjacency.REPLACE_ONE:
            raise NoLossDistributionError(
                "No privacy loss distribution is known for a mixture of Gaussians under "
                "replace_one."
            )
        if max(self.sensitivities) == 0.0:
            return Dominating(())
        pair = GaussianMixturePair(
            kind="removed",
            noise_std=self.noise_std,
            positions=self.sensitivities,
            weights=self.probabilities,
        )
        return Dominating((pair,))


_MOST_RECORDS = 1000
# Probabilities are moved by one part in this, which covers the roundings of a thousand of them.
_PARTS = 10**12
# Probabilities below one over this are not told apart.
_RARE = 10**300


@event_class
class UserSampledGaussian(Event):
    """The sum over a Poisson sample of records plus Gaussian noise; a user has several records.

    Released: sum of b_i x_i + N(0, noise_std^2 I), where each b_i is 1 with probability
    ``sampling_probability`` and 0 otherwise, independently of all others. Neighbours differ by a
    user, with all of the user's records.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.UserSampledGaussian(
    ...     noise_std=2.0, record_norm=1.0, sampling_probability=0.01, records_per_user=4
    ... )
    >>> steps = rdpkit.Repeated(event=event, count=1000)
    >>> round(rdpkit.epsilon(steps, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    2.894
    """

    mechanism: ClassVar[str] = "user_sampled_gaussian"
    of_whole_data: ClassVar[str] = (
        "its neighbours differ by a user, and its rate is that of all records"
    )
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.ADD_OR_REMOVE_ONE, Adjacency.ZERO_OUT)

    noise_std: float = noise()
    record_norm: float = norm()
    sampling_probability: float = probability(
        "Probability with which each record joins, independently of all others"
    )
    records_per_user: int = integer("Largest number of records of one user", maximum=_MOST_RECORDS)

    @property
    def sensitivities(self) -> tuple[float, ...]:
        """How far the user moves the sum at most, for each number of records that joined."""
        return self._contributions(more=True)[0]

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probabilities of these, rounded towards more records."""
        return self._contributions(more=True)[1]

    def _contributions(self, *, more: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Norms and probabilities, rounded towards more records that joined, or fewer."""
        q, k = self.sampling_probability, self.records_per_user
        if q in (0.0, 1.0):
            return ((k * q * self.record_norm,), (1.0,))
        counts, shares = _binomial(q, k, more=more)
        away = math.inf if more else 0.0
        norms = [j * self.record_norm for j in counts]
        return tuple(math.nextafter(one, away) if one else one for one in norms), shares

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """A mixture against a Gaussian: as many records joined as a binomial distribution says."""
        return Dominating(self._losses(adjacency, more=True))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The same mixture, with its probabilities rounded down: the user's records are equal."""
        return attains(self._losses(adjacency, more=False))

    def _losses(self, adjacency: Adjacency, *, more: bool) -> Losses:
        if adjacency is Adjacency.REPLACE_ONE:
            raise NoLossDistributionError(
                "No privacy loss distribution is known for users with several records under "
                "replace_one."
            )
        q = self.sampling_probability
        if q == 0.0:
            return ()
        if q == 1.0 or self.records_per_user == 1:
            z = self.noise_std / (self.records_per_user * self.record_norm)
            return sampled_step("removed", noise_multiplier=z, sampling_probability=q)
        norms, shares = self._contributions(more=more)
        pair = GaussianMixturePair(
            kind="removed", noise_std=self.noise_std, positions=norms, weights=shares
        )
        return (pair,)

    def assumptions(self) -> tuple[str, ...]:
        """Whose privacy it is."""
        return (
            "neighbours differ by a user with at most "
            f"{how_many(self.records_per_user, 'record')}, each of which is sampled independently",
        )


@lru_cache(maxsize=32)
def _binomial(q: float, k: int, *, more: bool) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """How many of k records joined, ascending, with probabilities, rounded up or down.

    The probability of at least j records is computed in integers. It is made larger, or smaller, by
    more than all roundings of the probabilities that are returned; and where it is so small that
    floats do not resolve it, all records count as joined, or as left out. The divergences of a
    mixture grow if its weights move to larger norms, so that they are bounded from that side.
    """
    numerator, whole = q.as_integer_ratio()
    # All probabilities have one denominator: to reduce each fraction would take seconds.
    certain = whole**k * _PARTS
    share, tail, before = numerator**k, 0, 0
    counts: list[int] = []
    shares: list[float] = []
    for j in range(k, -1, -1):
        tail += share
        share = share * (whole - numerator) * j // (numerator * (k - j + 1))
        reached = certain
        if j:
            if tail * _PARTS * _RARE < certain:
                continue
            reached = min(tail * (_PARTS + (1 if more else -1)), certain)
        if reached > before:
            counts.append(k if more and not counts else j)
            shares.append((reached - before) / certain)
        before = reached
    return tuple(counts[::-1]), tuple(shares[::-1])


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
