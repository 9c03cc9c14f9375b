"""One release of a noisy sum to which what one person contributes is random."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, event_class, integer, noise, norm, probability
from rdpkit.events.losses import (
    Attained,
    Dominating,
    Losses,
    NoLossDistributionError,
    attains,
    sampled_step,
)
from rdpkit.events.pairs import GaussianMixturePair
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
