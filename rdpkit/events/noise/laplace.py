"""One release of a sum with Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.free_parameters import NOISE, FreeParameter, geometry
from rdpkit.events.gaussian import check_geometry
from rdpkit.events.losses import Attained, Dominating, attains
from rdpkit.events.pairs import LaplacePair


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(Event):
    """The sum of the records' vectors plus Laplace noise in each coordinate, released once.

    Released: sum of x_i plus independent noise with the density e^(-abs(y) / noise_scale) /
    (2 noise_scale) in each coordinate. With s the L1 sensitivity, ``record_norm`` under
    add-or-remove-one and ``record_diameter`` under replace-one, it is (s / noise_scale, 0)-DP, and
    no pair of neighbours tells more than two numbers at the distance s do.

    Parameters
    ----------
    noise_scale : float
        Scale b of the noise, whose standard deviation is b times the square root of 2, in the units
        of the sum; above 0.
    record_norm : float
        Largest L1 norm of one record's vector, in the units of the sum; above 0. It is the
        sensitivity under add-or-remove-one.
    record_diameter : float, optional
        Largest L1 distance between two records' vectors, in the units of the sum; above 0 and at
        most 2 * record_norm, which is the default. It is the sensitivity under replace-one.

    Raises
    ------
    ValueError
        If a parameter is not a finite positive number, or the diameter exceeds twice the norm.

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

    noise_scale: float
    record_norm: float
    record_diameter: float | None = None

    def __post_init__(self) -> None:
        _validate.attributes(self, noise_scale=_validate.positive, record_norm=_validate.positive)
        check_geometry(self.record_norm, self.record_diameter)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """L1 sensitivity of the sum between neighbours."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return self.record_norm
            case Adjacency.REPLACE_ONE:
                return check_geometry(self.record_norm, self.record_diameter)

    def distance(self, adjacency: Adjacency) -> float:
        """The sensitivity over the scale of the noise: the epsilon of pure differential privacy."""
        return self.sensitivity(adjacency) / self.noise_scale

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; larger or more distant records are less private."""
        return {"noise_scale": NOISE, **geometry(self.record_norm, self.record_diameter)}

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Laplace distributions, as far apart as the sensitivity."""
        return Dominating((LaplacePair(distance=self.distance(adjacency)),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The same two distributions: see :meth:`neighbours`."""
        return attains(self.dominating(adjacency))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and no record, or one record and its mirror image."""
        position = self.sensitivity(adjacency)
        if adjacency is Adjacency.REPLACE_ONE:
            position /= 2.0
        return one_record_changed(adjacency, changed=position, replacement=-position)

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        diameter = None if self.record_diameter is None else size * self.record_diameter
        return replace(self, record_norm=size * self.record_norm, record_diameter=diameter)

    def attained_in_groups(self, size: int) -> Event | None:
        """Equal records add up to one that is so many times as long."""
        return self.in_groups(size)
