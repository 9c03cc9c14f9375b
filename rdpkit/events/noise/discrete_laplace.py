"""One release of integers with discrete Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_integer_changed
from rdpkit.events.free_parameters import NOISE, FreeParameter
from rdpkit.events.losses import Attained, Dominating, attains
from rdpkit.events.pairs import DiscreteLaplacePair


def integer_diameter(norm: int, diameter: int | None) -> int:
    """The diameter to use: the one given, or else twice the norm, which is an upper bound."""
    if diameter is None:
        return 2 * norm
    return _validate.integer("record_diameter", diameter, maximum=2 * norm)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace(Event):
    """The sum of the records' integer vectors plus discrete Laplace noise, released once.

    Released: sum of x_i plus independent integers in each coordinate, k with a probability in
    proportion to e^(-abs(k) / noise_scale). It is also called the two-sided geometric mechanism.

    Parameters
    ----------
    noise_scale : float
        Scale of the noise, in the units of the sum; above 0.
    record_norm : int
        Largest L1 norm of one record's vector of integers; at least 1. It is the sensitivity under
        add-or-remove-one.
    record_diameter : int, optional
        Largest L1 distance between two records' vectors; at least 1 and at most 2 * record_norm,
        which is the default. It is the sensitivity under replace-one.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

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

    noise_scale: float
    record_norm: int
    record_diameter: int | None = None

    def __post_init__(self) -> None:
        _validate.attributes(self, noise_scale=_validate.positive, record_norm=_validate.integer)
        integer_diameter(self.record_norm, self.record_diameter)

    def sensitivity(self, adjacency: Adjacency) -> int:
        """L1 sensitivity of the sum between neighbours."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return self.record_norm
            case Adjacency.REPLACE_ONE:
                return integer_diameter(self.record_norm, self.record_diameter)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private."""
        return {"noise_scale": NOISE}

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two discrete Laplace distributions, as far apart as the sensitivity."""
        pair = DiscreteLaplacePair(
            rate=1.0 / self.noise_scale, distance=self.sensitivity(adjacency)
        )
        return Dominating((pair,))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The same two distributions: a record of that length, and none or the opposite one."""
        return attains(self.dominating(adjacency))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none, or two records on one axis."""
        distance = self.sensitivity(adjacency)
        return one_integer_changed(adjacency, norm=self.record_norm, distance=distance)

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        diameter = None if self.record_diameter is None else size * self.record_diameter
        return replace(self, record_norm=size * self.record_norm, record_diameter=diameter)

    def attained_in_groups(self, size: int) -> Event | None:
        """Equal records add up to one that is so many times as long."""
        return self.in_groups(size)
