"""One release of a noisy sum over a Poisson sample."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.fields import diameter, event_class, noise, norm, probability
from rdpkit.events.geometry import record_move
from rdpkit.events.losses import Attained, Dominating, Losses, attains, sampled_step
from rdpkit.events.sampled.user_sampled_gaussian import UserSampledGaussian


@event_class
class PoissonSampledGaussian(Event):
    """The sum over a Poisson sample of the records plus Gaussian noise, released once.

    Released: sum of b_i x_i + N(0, noise_std^2 I), where each b_i is 1 with probability
    ``sampling_probability`` and 0 otherwise, independently of all others.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.PoissonSampledGaussian(
    ...     noise_std=1.0, record_norm=1.0, sampling_probability=0.01
    ... )
    >>> steps = rdpkit.Repeated(event=event, count=1000)
    >>> round(rdpkit.epsilon(steps, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.828
    """

    mechanism: ClassVar[str] = "poisson_sampled_gaussian"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    # The records of the group are equal.
    groups_are_attained = True

    noise_std: float = noise()
    record_norm: float = norm()
    sampling_probability: float = probability(
        "Probability with which each record joins, independently of all others"
    )
    record_diameter: float | None = diameter(more="It matters under replace-one only", default=None)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far one record moves the sum under ``adjacency``."""
        return self.noise_std / record_move(self, adjacency)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """A mixture against a Gaussian if a record is removed; two mixtures if it is replaced.

        The special record adds zero whether it is drawn or not, as if it were not there.
        """
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return Dominating(self._present(adjacency))
            case Adjacency.REPLACE_ONE:
                return Dominating(self._replaced(*self._farthest()))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The same where a record is removed; where it is replaced, records x and -x."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return attains(self._present(adjacency))
            case Adjacency.REPLACE_ONE:
                return attains(self._replaced(self._opposed(), -1.0))

    def _present(self, adjacency: Adjacency) -> Losses:
        return sampled_step(
            "removed",
            noise_multiplier=self.noise_multiplier(adjacency),
            sampling_probability=self.sampling_probability,
        )

    def _replaced(self, noise_multiplier: float, other: float) -> Losses:
        return sampled_step(
            "replaced",
            noise_multiplier=noise_multiplier,
            sampling_probability=self.sampling_probability,
            other=other,
        )

    def _opposed(self) -> float:
        """Noise over the norm of x and -x, which is record_norm or half of the diameter."""
        at_norm = self.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE)
        return max(2.0 * self.noise_multiplier(Adjacency.REPLACE_ONE), at_norm)

    def _farthest(self) -> tuple[float, float]:
        """Noise multiplier, and the position of the new record if the old one is at 1 on a line.

        In the pair that dominates all others the old record is at the norm, and the new record as
        far from it as allowed, which may be on the other side of the origin (theory page "Poisson
        sampling under replace-one").
        """
        at_norm = self.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE)
        diameter = self.record_diameter
        if diameter is None or diameter >= 2.0 * self.record_norm:
            return at_norm, -1.0
        if diameter == self.record_norm:
            return at_norm, 0.0
        # The roundings of the quotient and the difference are covered by moving the record farther.
        return at_norm, max(1.0 - diameter / self.record_norm - 4.0 * math.ulp(1.0), -1.0)

    def in_groups(self, size: int) -> Event:
        """The group is a user with so many records."""
        if self.sampling_probability in (0.0, 1.0):
            return replace(self, record_norm=size * self.record_norm, record_diameter=None)
        return UserSampledGaussian(
            noise_std=self.noise_std,
            record_norm=self.record_norm,
            sampling_probability=self.sampling_probability,
            records_per_user=size,
        )

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none (or the special one), or one record and its mirror image."""
        position = self.record_norm
        if adjacency is Adjacency.REPLACE_ONE:
            position = self.noise_std / self._opposed()
        return one_record_changed(adjacency, changed=position, replacement=-position)
