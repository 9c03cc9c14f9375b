"""One release of integers with discrete Gaussian noise."""

from __future__ import annotations

import math
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_integer_changed
from rdpkit.events.fields import diameter, event_class, integer, noise, positive
from rdpkit.events.geometry import record_move, with_longer_records
from rdpkit.events.losses import Attained, Dominating, Losses, attains
from rdpkit.events.pairs import DiscreteGaussianPair


@event_class
class DiscreteGaussian(Event):
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
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

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

    def sensitivity(self, adjacency: Adjacency) -> float:
        """L2 sensitivity of the sum between neighbours."""
        return record_move(self, adjacency)

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

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        return with_longer_records(self, size)

    def attained_in_groups(self, size: int) -> Event | None:
        """Equal records on one axis; in several coordinates each is an integer vector itself."""
        return self.in_groups(size) if self.dimension == 1 else None
