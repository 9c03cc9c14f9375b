"""One epoch of noisy sums, each record in one batch at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.free_parameters import NOISE, FreeParameter, geometry
from rdpkit.events.gaussian import check_geometry
from rdpkit.events.losses import Attained, Dominating, Losses, attains, sampled_step
from rdpkit.events.pairs import AllocatedPair

_ALLOCATED = (
    "in each epoch every record is put into one batch, uniformly and independently of all others"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomAllocationGaussian(Event):
    """One epoch of random allocation (balls in bins): noisy sums over batches.

    Released: for each of ``batches`` batches, the sum of its records' vectors
    + N(0, noise_std^2 I). Every record is in one batch, each batch with the same probability,
    independently of all others, so that the sizes of batches vary.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in each coordinate, in the units of the sum; above 0.
    record_norm : float
        Largest L2 norm of one record's vector, in the units of the sum; above 0.
    batches : int
        Number of batches in the epoch; at least 1.
    record_diameter : float, optional
        Largest L2 distance between two records' vectors, in the units of the sum; above 0 and at
        most 2 * record_norm, which is the default. It matters under replace-one only.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.RandomAllocationGaussian(noise_std=1.0, record_norm=1.0, batches=234)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.348
    """

    mechanism: ClassVar[str] = "random_allocation_gaussian"
    of_whole_data: ClassVar[str] = "it states in which of its steps a record takes part"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    noise_std: float
    record_norm: float
    batches: int
    record_diameter: float | None = None

    def __post_init__(self) -> None:
        _validate.attributes(self, noise_std=_validate.positive, record_norm=_validate.positive)
        _validate.integer("batches", self.batches)
        check_geometry(self.record_norm, self.record_diameter)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far one record moves the sum of its batch."""
        if adjacency is Adjacency.REPLACE_ONE:
            return self.noise_std / check_geometry(self.record_norm, self.record_diameter)
        return self.noise_std / self.record_norm

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; larger or more distant records are less private."""
        return {
            "noise_std": NOISE,
            **geometry(self.record_norm, self.record_diameter),
        }

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """A mixture of Gaussians and a Gaussian; where a record is replaced, two Gaussians."""
        if adjacency is Adjacency.REPLACE_ONE:
            return Dominating(self._in_a_known_batch(adjacency))
        return Dominating(self._allocated(adjacency))

    def attained(self, adjacency: Adjacency) -> Attained:
        """What a record leaks that is removed, or whose vector becomes 0."""
        return attains(self._allocated(adjacency))

    def _allocated(self, adjacency: Adjacency) -> Losses:
        z = self.noise_std / self._position(adjacency)
        if self.batches == 1:
            return sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0)
        return (AllocatedPair(kind="removed", noise_multiplier=z, batches=self.batches),)

    def _in_a_known_batch(self, adjacency: Adjacency) -> Losses:
        return sampled_step(
            "replaced",
            noise_multiplier=self.noise_multiplier(adjacency),
            sampling_probability=1.0,
        )

    def _position(self, adjacency: Adjacency) -> float:
        """How far from the origin the changed record of the attained pair is."""
        diameter = check_geometry(self.record_norm, self.record_diameter)
        if adjacency is Adjacency.REPLACE_ONE:
            return min(diameter, self.record_norm)
        return self.record_norm

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and no record, or one record and one at the origin."""
        return one_record_changed(adjacency, changed=self._position(adjacency), replacement=0.0)

    def assumptions(self) -> tuple[str, ...]:
        """How batches are made."""
        return (_ALLOCATED,)
