"""One release of a noisy sum over a Poisson sample in which one user has several records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.free_parameters import NOISE, NORM, FreeParameter, number
from rdpkit.events.losses import Losses, NoLossDistributionError, sampled_step
from rdpkit.events.pairs import GaussianMixturePair
from rdpkit.formats.numbers import how_many

_MOST_RECORDS = 1000
# Covers the roundings of the probabilities, which are products of up to a thousand factors.
_MARGIN = 1e-9
_RARE = 1e-40


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSampledGaussian(Event):
    """The sum over a Poisson sample of records plus Gaussian noise; a user has several records.

    Released: sum of b_i x_i + N(0, noise_std^2 I), where each b_i is 1 with probability
    ``sampling_probability`` and 0 otherwise, independently of all others. Neighbours differ by a
    user, with all of the user's records.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in each coordinate, in the units of the sum; above 0.
    record_norm : float
        Largest L2 norm of one record's vector, in the units of the sum; above 0.
    sampling_probability : float
        Probability with which each record joins, independently of all others; in [0, 1].
    records_per_user : int
        Largest number of records of one user; in [1, 1000].

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

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
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (
        Adjacency.ADD_OR_REMOVE_ONE,
        Adjacency.ZERO_OUT,
    )

    noise_std: float
    record_norm: float
    sampling_probability: float
    records_per_user: int

    def __post_init__(self) -> None:
        _validate.attributes(
            self,
            noise_std=_validate.positive,
            record_norm=_validate.positive,
            sampling_probability=_validate.probability,
        )
        _validate.integer("records_per_user", self.records_per_user, maximum=_MOST_RECORDS)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; larger or more records, or samples, are less private."""
        return {
            "noise_std": NOISE,
            "record_norm": NORM,
            "sampling_probability": number(-1, highest=1.0, role="batch"),
        }

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
        found = [math.comb(k, j) * q**j * (1.0 - q) ** (k - j) for j in range(1, k + 1)]
        last = k
        while last > 1 and math.fsum(found[last - 1 :]) < _RARE:
            last -= 1
        rest = math.fsum(found[last:])
        margin = 1.0 + (_MARGIN if more else -_MARGIN)
        norms = [j * self.record_norm for j in range(1, last + 1)]
        shares = [share * margin for share in found[:last]]
        if more and last < k:
            # So many records hardly ever join: as if it was all of them.
            norms.append(k * self.record_norm)
            shares.append(rest + _RARE)
        # From the most records down, until all of the probability is given away: so that the
        # probability of at least so many records is the exact one times the margin, or 1.
        kept: list[tuple[float, float]] = []
        left = 1.0
        for norm, share in zip(reversed(norms), reversed(shares), strict=True):
            if min(share, left) > 0.0:
                kept.append((norm, min(share, left)))
                left -= kept[-1][1]
        if left > 0.0:
            kept.append((0.0, left))
        return tuple(norm for norm, _ in kept[::-1]), tuple(share for _, share in kept[::-1])

    def losses(self, adjacency: Adjacency, *, attained: bool) -> Losses:
        """A mixture against a Gaussian: as many records joined as a binomial distribution says.

        It is attained by a user whose records are all equal.
        """
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
        norms, shares = self._contributions(more=not attained)
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
