"""One epoch of noisy sums, each record in one batch at random."""

from __future__ import annotations

from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.fields import diameter, event_class, integer, noise, norm
from rdpkit.events.geometry import diameter_of, record_move
from rdpkit.events.losses import Attained, Dominating, Losses, attains, sampled_step
from rdpkit.events.pairs import AllocatedMoves, AllocatedPair

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
        """A mixture of Gaussians and a Gaussian, or where a record is replaced, two mixtures."""
        if adjacency is not Adjacency.REPLACE_ONE or self.batches == 1:
            return Dominating(self._allocated(adjacency))
        norm, diameter = self.record_norm, diameter_of(self)
        moves = (1.0, 1.0 - diameter / norm)
        pair = AllocatedMoves(
            noise_multiplier=self.noise_std / norm,
            batches=self.batches,
            gains=moves,
            losses=moves,
        )
        return Dominating((pair,))

    def attained(self, adjacency: Adjacency) -> Attained:
        """What a record leaks that is removed, or whose vector becomes 0, or another one."""
        if adjacency is not Adjacency.REPLACE_ONE or self.batches == 1 or not self._opposite:
            return attains(self._allocated(adjacency))
        pair = AllocatedPair(
            kind="removed",
            noise_multiplier=self.noise_std / self.record_norm,
            batches=self.batches,
            second=1.0 - diameter_of(self) / self.record_norm,
        )
        return attains((pair,))

    def _allocated(self, adjacency: Adjacency) -> Losses:
        if self.batches == 1:
            z = self.noise_multiplier(adjacency)
            return sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0)
        z = self.noise_std / min(self.record_norm, diameter_of(self))
        if adjacency is not Adjacency.REPLACE_ONE:
            z = self.noise_std / self.record_norm
        return (AllocatedPair(kind="removed", noise_multiplier=z, batches=self.batches),)

    @property
    def _opposite(self) -> bool:
        """Whether two records may be on different sides of the origin."""
        return diameter_of(self) > self.record_norm

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and no record, or one record and another on the same line."""
        norm = self.record_norm
        if adjacency is not Adjacency.REPLACE_ONE:
            return one_record_changed(adjacency, changed=norm, replacement=0.0)
        diameter = diameter_of(self)
        changed = norm if self._opposite else diameter
        return one_record_changed(adjacency, changed=changed, replacement=changed - diameter)
