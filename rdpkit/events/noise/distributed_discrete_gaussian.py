"""Integers summed over clients, each of which adds its own share of the noise."""

from __future__ import annotations

import math
from typing import ClassVar

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import diameter, event_class, integer, noise, positive
from rdpkit.events.free_parameters import integer as free_integer
from rdpkit.events.geometry import record_move, with_longer_records
from rdpkit.events.losses import Attained, Losses, attains
from rdpkit.events.pairs import TwoOutcomes
from rdpkit.numerics.discrete_gaussian import upper_tail

# Terms of the distance from one discrete Gaussian; the rest count as much as the last of these.
_TERMS = 1000
# Places of a test, in standard deviations; the least probability; the most that tau may be.
_PLACES, _LEAST, _CLOSE = (0.0, 1.0, 2.0, 3.0, 4.0), 1e-30, 0.1


@event_class
class DistributedDiscreteGaussian(Event):
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
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
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

    def sensitivity(self, adjacency: Adjacency) -> float:
        """L2 sensitivity of the sum between neighbours."""
        return record_move(self, adjacency)

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

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        return with_longer_records(self, size)
