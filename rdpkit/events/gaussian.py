"""One release of a noisy sum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.free_parameters import NOISE, FreeParameter, geometry
from rdpkit.events.losses import Attained, Dominating, attains, sampled_step


def check_geometry(record_norm: float, record_diameter: float | None) -> float:
    """The diameter to use: the one given, or else twice the norm, which is an upper bound."""
    largest = 2.0 * record_norm
    if record_diameter is None:
        return largest
    diameter = _validate.positive("record_diameter", record_diameter)
    if diameter > largest * (1.0 + 1e-12):
        raise _validate.fail(
            "record_diameter", f"to be at most 2 * record_norm = {largest}", record_diameter
        )
    return min(diameter, largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(Event):
    """The sum of the records' vectors plus Gaussian noise, released once.

    Released: sum of x_i + N(0, noise_std^2 I). With s the sensitivity, ``record_norm`` under
    add-or-remove-one and zero-out and ``record_diameter`` under replace-one, the Renyi divergence
    between neighbours is at most order * s^2 / (2 * noise_std^2), and some neighbours attain that.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in each coordinate, in the units of the sum; above 0.
    record_norm : float
        Largest L2 norm of one record's vector, in the units of the sum; above 0. It is the
        sensitivity under add-or-remove-one and zero-out.
    record_diameter : float, optional
        Largest L2 distance between two records' vectors, in the units of the sum; above 0 and at
        most 2 * record_norm, which is the default. It is the sensitivity under replace-one.

    Raises
    ------
    ValueError
        If a parameter is not a finite positive number, or the diameter exceeds twice the norm.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.726
    """

    mechanism: ClassVar[str] = "gaussian"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    noise_std: float
    record_norm: float
    record_diameter: float | None = None

    def __post_init__(self) -> None:
        _validate.attributes(self, noise_std=_validate.positive, record_norm=_validate.positive)
        check_geometry(self.record_norm, self.record_diameter)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """L2 sensitivity of the sum between neighbours."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return self.record_norm
            case Adjacency.REPLACE_ONE:
                return check_geometry(self.record_norm, self.record_diameter)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over the sensitivity under ``adjacency``."""
        return min(self.noise_std / self.sensitivity(adjacency), math.inf)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; larger or more distant records are less private."""
        return {"noise_std": NOISE, **geometry(self.record_norm, self.record_diameter)}

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Gaussians, as far apart as the sensitivity."""
        z = self.noise_multiplier(adjacency)
        return Dominating(sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The same two Gaussians: see :meth:`neighbours`."""
        return attains(self.dominating(adjacency))

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        diameter = None if self.record_diameter is None else size * self.record_diameter
        return replace(self, record_norm=size * self.record_norm, record_diameter=diameter)

    def attained_in_groups(self, size: int) -> Event | None:
        """Equal records add up to one that is so many times as long."""
        return self.in_groups(size)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none (or the special one), or one record and its mirror image."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                position = self.record_norm
            case Adjacency.REPLACE_ONE:
                position = self.sensitivity(adjacency) / 2.0
        return one_record_changed(adjacency, changed=position, replacement=-position)
