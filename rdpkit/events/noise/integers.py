"""Integers with discrete noise: one discrete Gaussian, that of many clients, and Skellam noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_integer_changed
from rdpkit.events.fields import declared, diameter, event_class, integer, noise, positive
from rdpkit.events.free_parameters import integer as free_integer
from rdpkit.events.geometry import SumOfRecords, with_longer_records
from rdpkit.events.losses import Attained, Dominating, Losses, Several, attains
from rdpkit.events.pairs import DiscreteGaussianPair, SkellamPair, TwoOutcomes
from rdpkit.numerics.discrete_gaussian import upper_tail
from rdpkit.numerics.skellam import MOST


@event_class
class DiscreteGaussian(SumOfRecords):
    """The sum of the records' integer vectors plus discrete Gaussian noise, released once.

    Released: sum of x_i plus independent integers in each coordinate, k with a probability in
    proportion to e^(-k^2 / (2 sigma^2)). Its Renyi divergence is at most that of the Gaussian
    mechanism. For one coordinate the losses are known exactly.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DiscreteGaussian(sigma=5.0, record_norm=1)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.727
    """

    mechanism: ClassVar[str] = "discrete_gaussian"

    sigma: float = noise(
        "Parameter of the noise, about its standard deviation, in the units of the sum"
    )
    record_norm: float = positive(
        "Largest L2 norm of one record's vector of integers. If there is one coordinate it is an "
        "integer. It is the sensitivity under add-or-remove-one"
    )
    record_diameter: float | None = diameter(
        "Largest L2 distance between two records' vectors",
        more="If there is one coordinate it is an integer. It is the sensitivity under replace-one",
        free=False,
        default=None,
    )
    dimension: int = integer("Number of coordinates", default=1)

    def _check_together(self) -> None:
        if self.dimension == 1:
            for name in ("record_norm", "record_diameter"):
                value = getattr(self, name)
                if value is not None and value != math.floor(value):
                    raise _validate.fail(name, "to be an integer if dimension is 1", value)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Sigma over the sensitivity under ``adjacency``."""
        return self.sigma / self.sensitivity(adjacency)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two discrete Gaussians; in several coordinates no pair above all others is known."""
        if self.dimension > 1:
            raise self._no_losses(adjacency)
        return Dominating(self._along_an_axis(adjacency))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two discrete Gaussians, as far apart on one axis as integers within the limits are."""
        return attains(self._along_an_axis(adjacency))

    def _along_an_axis(self, adjacency: Adjacency) -> Losses:
        # Integers within the norm are at most this far apart, whatever the diameter is.
        most = (1 + (adjacency is Adjacency.REPLACE_ONE)) * math.floor(self.record_norm)
        distance = min(most, math.floor(self.sensitivity(adjacency)))
        return (DiscreteGaussianPair(sigma=self.sigma, distance=distance),) if distance else ()

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none, or two records on one axis."""
        distance = self.sensitivity(adjacency)
        return one_integer_changed(adjacency, norm=self.record_norm, distance=distance)

    def attained_in_groups(self, size: int) -> Event | None:
        """Equal records on one axis; in several coordinates each is an integer vector itself."""
        return self.in_groups(size) if self.dimension == 1 else None


# Terms of the distance from one discrete Gaussian; the rest count as much as the last of these.
_TERMS = 1000
# Places of a test, in standard deviations; the least probability; the most that tau may be.
_PLACES, _LEAST, _CLOSE = (0.0, 1.0, 2.0, 3.0, 4.0), 1e-30, 0.1


@event_class
class DistributedDiscreteGaussian(SumOfRecords):
    """The sum of clients' integer vectors, to which each client adds discrete Gaussian noise.

    Released: the sum of x_i and of the noise of all ``clients``, as secure aggregation shows it;
    each of them adds independent integers in each coordinate, k with a probability in proportion to
    e^(-k^2 / (2 sigma^2)). A record is one client's vector. A client whose record is not there, or
    is special, adds noise alone: all shares of the noise that are counted must arrive.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DistributedDiscreteGaussian(
    ...     sigma=2.0, clients=100, record_norm=4.0, dimension=1000
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.794
    """

    mechanism: ClassVar[str] = "distributed_discrete_gaussian"
    assumed = ("so many clients add their noise, and nobody sees less than the sum of it",)

    sigma: float = noise("Parameter of each client's noise, in the units of the sum")
    clients: int = integer(
        "How many clients add noise, at least", free=free_integer(1, role="records")
    )
    record_norm: float = positive("Largest L2 norm of one client's vector of integers")
    record_diameter: float | None = diameter(
        "Largest L2 distance between two clients' vectors", free=False, default=None
    )
    dimension: int = integer("Number of coordinates", default=1)

    def distance_from_one(self) -> arb:
        """Tau: how far, at most, logarithms of probabilities are from those of one Gaussian.

        In each coordinate, of the sum of all noise, from a discrete Gaussian of its variance.
        """
        rate = -2 * (arb.pi() * arb(self.sigma)) ** 2
        terms = min(self.clients - 1, _TERMS)
        found = [(rate * k / (k + 1)).exp() for k in range(1, terms + 1)]
        rest = (self.clients - 1 - terms) * found[-1] if found else arb(0)
        return 10 * (sum(found, arb(0)) + rest)

    def attained(self, adjacency: Adjacency) -> Attained:
        """Whether one coordinate is above a threshold, which moves by a whole number."""
        most = (1 + (adjacency is Adjacency.REPLACE_ONE)) * math.floor(self.record_norm)
        distance = min(most, math.floor(self.sensitivity(adjacency)))
        std = self.sigma * math.sqrt(self.clients)
        with ctx.workprec(128):
            tau = self.distance_from_one()
            if not (distance and tau < _CLOSE and std < 1e6):
                return attains(())
            # The deviation that floats give is off by a rounding, which the factor covers.
            slack = (tau + arb(2) ** -30).exp()
            found: list[Losses] = []
            for place in _PLACES:
                k = math.ceil(0.5 * distance + place * std)
                first = float((upper_tail(k - distance, std) / slack).lower())
                second = float((upper_tail(k, std) * slack).upper())
                if _LEAST < second < first:
                    found.append((TwoOutcomes(first=first, second=second),))
        return Attained(tuple(found) or ((),))


@event_class
class Skellam(SumOfRecords):
    """The sum of integer vectors plus Skellam noise, the difference of two Poisson variables.

    Released: sum of x_i plus independent integers in each coordinate, k with the probability
    e^-variance I_k(variance). Shares of this noise add up to this noise, so that it does not matter
    how many clients add it, as long as ``variance`` is that of all shares which certainly arrive.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Skellam(variance=25.0, record_norm=1.0)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.685
    """

    mechanism: ClassVar[str] = "skellam"
    assumed = ("nobody sees less than the sum of all noise whose variance is stated",)

    variance: float = noise("Variance of the noise in each coordinate, of all shares together")
    record_norm: float = positive("Largest L2 norm of one record's vector of integers")
    record_diameter: float | None = diameter(
        "Largest L2 distance between two records' vectors", free=False, default=None
    )
    dimension: int = integer("Number of coordinates", default=1)
    record_l1_norm: float | None = declared(
        "Largest L1 norm of one record's vector",
        check=_validate.positive,
        accepted="above 0; by default what follows from integers of that L2 norm",
        default=None,
    )

    def l1_sensitivity(self, adjacency: Adjacency) -> float:
        """L1 sensitivity: of integers at most the squared L2 norm."""
        moved = self.sensitivity(adjacency)
        stated = math.inf if self.record_l1_norm is None else self.record_l1_norm
        times = 1 + (adjacency is Adjacency.REPLACE_ONE)
        return min(times * stated, moved * moved, math.sqrt(self.dimension) * moved)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two distributions; in several coordinates no pair above all others is known."""
        if self.dimension > 1 or self.variance > MOST:
            raise self._no_losses(adjacency)
        return Dominating(self._along_an_axis(adjacency))

    def attained(self, adjacency: Adjacency) -> Attained:
        """A record along an axis, or one of ones and its mirror image."""
        if self.variance > MOST:
            raise self._no_losses(adjacency)
        apart = 1 + (adjacency is Adjacency.REPLACE_ONE)
        square = min(self.record_norm, self.sensitivity(adjacency) / apart) ** 2
        ones = min(self.dimension, math.floor(min(square, self._longest())))
        found = [self._along_an_axis(adjacency)]
        if ones > 1:
            pair = SkellamPair(variance=self.variance, distance=apart)
            found.append((Several(loss=pair, count=ones),))
        return Attained(tuple(found))

    def _longest(self) -> float:
        """The L1 norm of the longest record along an axis."""
        l1_norm = math.inf if self.record_l1_norm is None else self.record_l1_norm
        return min(self.record_norm**2, l1_norm)

    def _along_an_axis(self, adjacency: Adjacency) -> Losses:
        most = math.floor(min(self.record_norm, self._longest()))
        most *= 1 + (adjacency is Adjacency.REPLACE_ONE)
        distance = min(most, math.floor(self.sensitivity(adjacency)))
        return (SkellamPair(variance=self.variance, distance=distance),) if distance else ()

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none, or two records on one axis."""
        norm = min(self.record_norm, self._longest())
        return one_integer_changed(adjacency, norm=norm, distance=self.sensitivity(adjacency))

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        l1_norm = None if self.record_l1_norm is None else size * self.record_l1_norm
        return with_longer_records(replace(self, record_l1_norm=l1_norm), size)

    def attained_in_groups(self, size: int) -> Event | None:
        """Equal records of one coordinate, which are whole numbers."""
        whole = math.floor(self.record_norm)
        if self.dimension > 1 or self.record_diameter is not None or not whole:
            return None
        return replace(self, record_norm=float(whole)).in_groups(size)
