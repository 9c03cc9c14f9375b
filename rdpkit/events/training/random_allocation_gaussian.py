"""One epoch of noisy sums, each record in one batch at random, or in several."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.fields import diameter, event_class, integer, noise, norm
from rdpkit.events.geometry import diameter_of, record_move
from rdpkit.events.losses import Attained, Dominating, Losses, Several, attains, sampled_step
from rdpkit.events.pairs import AllocatedMoves, AllocatedPair, LeastOf

_ALLOCATED = (
    "in each epoch every record is put into one batch, uniformly and independently of all others"
)


# For records that stand out in their batches, and for those that do not.
_RATES, _MANY = (0.4, 1.0), 5
_MOST_MOVED = 10**6


@event_class
class RandomAllocationGaussian(Event):
    """One epoch of random allocation (balls in bins): noisy sums over batches.

    Released: for each of ``batches`` batches, the sum of its records' vectors
    + N(0, noise_std^2 I). Every record is in one batch, each batch with the same probability,
    independently of all others, so that the sizes of batches vary. With ``batches_per_record``
    above 1 it is in so many different batches, every set of which has the same probability.

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

    batches_per_record: int = integer(
        "In how many different batches every record is", most="batches", default=1
    )

    def assumptions(self) -> tuple[str, ...]:
        """How batches are made."""
        if self.batches_per_record == 1:
            return self.assumed
        return (
            f"in each epoch every record is put into {self.batches_per_record} different batches, "
            "every set of so many with the same probability, independently of all others",
        )

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far one record moves the sum of its batch."""
        return self.noise_std / record_move(self, adjacency)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """For each batch of a record, that it is one of a block of batches, which one at random.

        Such a loss is that of a mixture of Gaussians and a Gaussian, or where a record is replaced,
        of two mixtures.
        """
        each = self.batches_per_record
        size, larger = divmod(self.batches, each)
        blocks = ((size + 1, larger), (size, each - larger))
        return Dominating(
            tuple(
                Several(loss=loss, count=count)
                for batches, count in blocks
                if count
                for loss in self._block(adjacency, batches)
            )
        )

    def _block(self, adjacency: Adjacency, batches: int) -> Losses:
        if batches == 1:
            return self._known(adjacency)
        if adjacency is not Adjacency.REPLACE_ONE:
            pair = self._allocated(adjacency, batches)
            if self.batches_per_record == 1 or batches > _MOST_MOVED:
                return (pair,)
            # What the first does not resolve adds up over blocks: the second, which is not as
            # sharp elsewhere, does.
            moved = AllocatedMoves(
                noise_multiplier=pair.noise_multiplier,
                batches=batches,
                gains=(1.0, 0.0),
                losses=(0.0, -1.0),
            )
            return (LeastOf(branches=(pair, moved)),)
        moves = (1.0, 1.0 - diameter_of(self) / self.record_norm)
        noise = self.noise_std / self.record_norm
        return (AllocatedMoves(noise_multiplier=noise, batches=batches, gains=moves, losses=moves),)

    def attained(self, adjacency: Adjacency) -> Attained:
        """What a record leaks that is removed, or whose vector becomes 0, or another one."""
        if self.batches == self.batches_per_record:
            known = self._known(adjacency)
            return attains(tuple(Several(loss=loss, count=self.batches) for loss in known))
        pair = self._allocated(adjacency, self.batches)
        if adjacency is Adjacency.REPLACE_ONE and self._opposite:
            noise, second = self.noise_std / self.record_norm, diameter_of(self) / self.record_norm
            pair = replace(pair, noise_multiplier=noise, second=1.0 - second)
        if self.batches_per_record == 1 and not pair.second:
            return attains((pair,))
        pair = replace(pair, shares=self.batches_per_record)
        # The likely best first: where one says nearly enough, the others are left out.
        rates = _RATES if self.batches > _MANY * pair.shares else _RATES[::-1]
        return Attained(tuple((replace(pair, rate=rate),) for rate in rates))

    def _known(self, adjacency: Adjacency) -> Losses:
        z = self.noise_multiplier(adjacency)
        return sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0)

    def _allocated(self, adjacency: Adjacency, batches: int) -> AllocatedPair:
        z = self.noise_std / min(self.record_norm, diameter_of(self))
        if adjacency is not Adjacency.REPLACE_ONE:
            z = self.noise_std / self.record_norm
        return AllocatedPair(kind="removed", noise_multiplier=z, batches=batches)

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
