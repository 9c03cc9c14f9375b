"""One release of a noisy sum over a Poisson sample in which one user has several records."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import event_class, integer, noise, norm, probability
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
