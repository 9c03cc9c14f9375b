"""One epoch of noisy sums, each record in one batch at random."""

from __future__ import annotations

from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.fields import diameter, event_class, integer, noise, norm
from rdpkit.events.geometry import diameter_of, record_move
from rdpkit.events.losses import Attained, Dominating, Losses, attains, sampled_step
from rdpkit.events.pairs import AllocatedPair

_ALLOCATED = (
    "in each epoch every record is put into one batch, uniformly and independently of all others"
)


@event_class
class RandomAllocationGaussian(Event):
    """One epoch of random allocation (balls in bins): noisy sums over batches.

    Released: for each of ``batches`` batches, the sum of its records' vectors
    + N(0, noise_std^2 I). Every record is in one batch, each batch with the same probability,
    independently of all others, so that the sizes of batches vary.

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
    assumed = (_ALLOCATED,)

    noise_std: float = noise()
    record_norm: float = norm()
    batches: int = integer("Number of batches in the epoch")
    record_diameter: float | None = diameter(more="It matters under replace-one only", default=None)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far one record moves the sum of its batch."""
        return self.noise_std / record_move(self, adjacency)

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
        diameter = diameter_of(self)
        if adjacency is Adjacency.REPLACE_ONE:
            return min(diameter, self.record_norm)
        return self.record_norm

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and no record, or one record and one at the origin."""
        return one_record_changed(adjacency, changed=self._position(adjacency), replacement=0.0)
