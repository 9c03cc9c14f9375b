"""One release of integers with discrete Laplace noise."""

from __future__ import annotations

from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_integer_changed
from rdpkit.events.fields import declared, event_class, integer, noise
from rdpkit.events.geometry import with_longer_records
from rdpkit.events.losses import Dominating
from rdpkit.events.pairs import DiscreteLaplacePair


def _diameter(name: str, value: object, *, maximum: int) -> int:
    return _validate.integer(name, value, maximum=2 * maximum)


@event_class
class DiscreteLaplace(Event):
    """The sum of the records' integer vectors plus discrete Laplace noise, released once.

    Released: sum of x_i plus independent integers in each coordinate, k with a probability in
    proportion to e^(-abs(k) / noise_scale). It is also called the two-sided geometric mechanism.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DiscreteLaplace(noise_scale=10.0, record_norm=1)
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    4.307
    """

    mechanism: ClassVar[str] = "discrete_laplace"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    losses_are_attained = True
    # Equal records add up to one that is so many times as long.
    groups_are_attained = True

    noise_scale: float = noise("Scale of the noise, in the units of the sum")
    record_norm: int = integer(
        "Largest L1 norm of one record's vector of integers. It is the sensitivity under "
        "add-or-remove-one"
    )
    record_diameter: int | None = declared(
        "Largest L1 distance between two records' vectors. It is the sensitivity under replace-one",
        check=_diameter,
        accepted="at least 1 and at most 2 * record_norm, which is the default",
        most="record_norm",
        default=None,
    )

    def sensitivity(self, adjacency: Adjacency) -> int:
        """L1 sensitivity of the sum between neighbours."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return self.record_norm
            case Adjacency.REPLACE_ONE:
                return self.record_diameter or 2 * self.record_norm

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two discrete Laplace distributions, as far apart as the sensitivity."""
        pair = DiscreteLaplacePair(
            rate=1.0 / self.noise_scale, distance=self.sensitivity(adjacency)
        )
        return Dominating((pair,))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none, or two records on one axis."""
        distance = self.sensitivity(adjacency)
        return one_integer_changed(adjacency, norm=self.record_norm, distance=distance)

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        return with_longer_records(self, size)
