"""One release of integers with discrete Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.free_parameters import NOISE, FreeParameter
from rdpkit.events.gaussian import check_geometry
from rdpkit.events.losses import Losses, OneOf
from rdpkit.events.pairs import DiscreteGaussianPair


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(Event):
    """The sum of the records' integer vectors plus discrete Gaussian noise, released once.

    Released: sum of x_i plus independent integers in each coordinate, k with a probability in
    proportion to e^(-k^2 / (2 sigma^2)). Its Renyi divergence is at most that of the Gaussian
    mechanism. For one coordinate the losses are known exactly.

    Parameters
    ----------
    sigma : float
        Parameter of the noise, about its standard deviation, in the units of the sum; above 0.
    record_norm : float
        Largest L2 norm of one record's vector of integers; above 0, and an integer if there is one
        coordinate. It is the sensitivity under add-or-remove-one.
    record_diameter : float, optional
        Largest L2 distance between two records' vectors; at most 2 * record_norm, which is the
        default, and an integer if there is one coordinate. It is the sensitivity under replace-one.
    dimension : int
        Number of coordinates; at least 1.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

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

    sigma: float
    record_norm: float
    record_diameter: float | None = None
    dimension: int = 1

    def __post_init__(self) -> None:
        _validate.attributes(
            self,
            sigma=_validate.positive,
            record_norm=_validate.positive,
            dimension=_validate.integer,
        )
        check_geometry(self.record_norm, self.record_diameter)
        if self.dimension == 1:
            for name in ("record_norm", "record_diameter"):
                value = getattr(self, name)
                if value is not None and value != math.floor(value):
                    raise _validate.fail(name, "to be an integer if dimension is 1", value)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """L2 sensitivity of the sum between neighbours."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return self.record_norm
            case Adjacency.REPLACE_ONE:
                return check_geometry(self.record_norm, self.record_diameter)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Sigma over the sensitivity under ``adjacency``."""
        return self.sigma / self.sensitivity(adjacency)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private."""
        return {"sigma": NOISE}

    def losses(self, adjacency: Adjacency, *, attained: bool) -> Losses | OneOf:
        """Two discrete Gaussians; in several coordinates a pair is known from below alone."""
        distance = self.sensitivity(adjacency)
        if self.dimension > 1:
            if not attained:
                return Event.losses(self, adjacency, attained=attained)
            distance = math.floor(distance)
        return (DiscreteGaussianPair(sigma=self.sigma, distance=int(distance)),) if distance else ()

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        diameter = None if self.record_diameter is None else size * self.record_diameter
        return replace(self, record_norm=size * self.record_norm, record_diameter=diameter)
