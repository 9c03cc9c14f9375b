"""One release of a sum with Laplace noise."""

from __future__ import annotations

from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets
from rdpkit.events.fields import diameter, event_class, noise, norm
from rdpkit.events.geometry import opposite_records, record_move, with_longer_records
from rdpkit.events.losses import Dominating
from rdpkit.events.pairs import LaplacePair


@event_class
class Laplace(Event):
    """The sum of the records' vectors plus Laplace noise in each coordinate, released once.

    Released: sum of x_i plus independent noise with the density e^(-abs(y) / noise_scale) /
    (2 noise_scale) in each coordinate. With s the L1 sensitivity, ``record_norm`` under
    add-or-remove-one and ``record_diameter`` under replace-one, it is (s / noise_scale, 0)-DP, and
    no pair of neighbours tells more than two numbers at the distance s do.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Laplace(noise_scale=10.0, record_norm=1.0)
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    4.22
    """

    mechanism: ClassVar[str] = "laplace"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    losses_are_attained = True
    # Equal records add up to one that is so many times as long.
    groups_are_attained = True

    noise_scale: float = noise(
        "Scale b of the noise, whose standard deviation is b times the square root of 2, in the "
        "units of the sum"
    )
    record_norm: float = norm(
        "Largest L1 norm of one record's vector, in the units of the sum. It is the sensitivity "
        "under add-or-remove-one"
    )
    record_diameter: float | None = diameter(
        "Largest L1 distance between two records' vectors, in the units of the sum. It is the "
        "sensitivity under replace-one",
        default=None,
    )

    def sensitivity(self, adjacency: Adjacency) -> float:
        """L1 sensitivity of the sum between neighbours."""
        return record_move(self, adjacency)

    def distance(self, adjacency: Adjacency) -> float:
        """The sensitivity over the scale of the noise: the epsilon of pure differential privacy."""
        return self.sensitivity(adjacency) / self.noise_scale

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Laplace distributions, as far apart as the sensitivity."""
        return Dominating((LaplacePair(distance=self.distance(adjacency)),))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and no record, or one record and its mirror image."""
        return opposite_records(self, adjacency)

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        return with_longer_records(self, size)
