"""One epoch of noisy sums: over shuffled batches, or each record in a batch at random."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, RecordGroup, one_record_changed
from rdpkit.events.fields import diameter, event_class, integer, noise, norm
from rdpkit.events.geometry import diameter_of, record_move
from rdpkit.events.losses import (
    Attained,
    Dominating,
    Losses,
    NoLossDistributionError,
    Several,
    attains,
    sampled_step,
)
from rdpkit.events.pairs import AllocatedMoves, AllocatedPair, LeastOf, SampledPair, ShuffledMaximum

_SHUFFLED = (
    "records are shuffled uniformly before each epoch, independently of earlier orders, and cut "
    "into full batches; what is left over is not used in that epoch, and both neighbours have "
    "equally many full batches"
)

# A record that is absent with less than this takes part, for an upper bound: it would be the only
# reason for losses that are rare and large.
_SURE = 1.0 - 1e-3


@event_class
class ShuffledGaussian(Event):
    """One epoch of shuffled batches: the sum over each batch plus Gaussian noise.

    Released: for each batch, the sum of its records' vectors + N(0, noise_std^2 I). The records are
    put into a uniformly random order and cut into batches of ``batch_size``; an incomplete last
    batch is not used. A record is in one batch at most, and a record that comes or goes moves
    another one into or out of its place.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.ShuffledGaussian(
    ...     noise_std=10.0, record_norm=1.0, batch_size=256, dataset_size=60000
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.037
    """

    mechanism: ClassVar[str] = "shuffled_gaussian"
    of_whole_data: ClassVar[str] = "its batches are parts of a data set of known size"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = (_SHUFFLED,)

    noise_std: float = noise()
    record_norm: float = norm()
    batch_size: int = integer("Number of records in a batch", most="dataset_size")
    dataset_size: int = integer(
        "Number of records, in the larger of two neighbours. If it is a multiple of batch_size, "
        "it is that of the smaller one, because both make equally many batches",
        accepted="at least batch_size",
    )
    record_diameter: float | None = diameter(
        more="It is the sensitivity under both relations", default=None
    )

    @property
    def batches(self) -> int:
        """Number of full batches in an epoch."""
        return self.dataset_size // self.batch_size

    @property
    def swap_distance(self) -> float:
        """How far two records are apart at most."""
        return diameter_of(self)

    def presence(self, adjacency: Adjacency) -> float:
        """The probability with which a record is in one of the batches of an epoch."""
        return self.batches * self.batch_size / self.larger(adjacency)

    def larger(self, adjacency: Adjacency) -> int:
        """The number of records of the larger neighbour.

        If no record is left over, one that is removed makes a batch incomplete. Then the neighbour
        with as many batches has one record more.
        """
        exact = self.dataset_size % self.batch_size == 0
        return self.dataset_size + (exact and adjacency is Adjacency.ADD_OR_REMOVE_ONE)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far the one sum moves that differs."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.REPLACE_ONE:
                return self.noise_std / self.swap_distance
            case Adjacency.ZERO_OUT:
                return self.noise_std / self.record_norm

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """One of the sums is moved, at random: a record takes another's place.

        Where every record is in a batch, and a record stays, two Gaussians, as if it were known in
        which batch the record is.
        """
        z, presence = self.noise_multiplier(adjacency), self.presence(adjacency)
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            # A record that is certain to take part leaks no less.
            sure = presence > _SURE and self.batches > 1
            return Dominating(self._allocated(z, 1.0 if sure else presence))
        apart, norm = self.swap_distance, self.record_norm
        zeroed = adjacency is Adjacency.ZERO_OUT
        if presence == 1.0 or self.batches == 1:
            known = sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0)
            return Dominating(known)
        # In units of what a record moves alone.
        reach = apart / norm if zeroed else 1.0
        moves = AllocatedMoves(
            noise_multiplier=z,
            batches=self.batches,
            presence=presence,
            gains=(reach, reach - 1.0),
            losses=(1.0, 0.0),
        )
        return Dominating((moves,))

    def attained(self, adjacency: Adjacency) -> Attained:
        """All records but one are on the other side of the origin, the one in a batch at random.

        All sums are looked at, or the largest. Under zero-out all others are at the origin, or the
        record and all others are at opposite sides, and the largest sum is looked at.
        """
        z = self.noise_multiplier(adjacency)
        presence = self.presence(adjacency)
        allocated = self._allocated(z, presence)
        zeroed = adjacency is Adjacency.ZERO_OUT
        if zeroed and self.swap_distance < 2.0 * self.record_norm:
            return attains(allocated)
        largest = ShuffledMaximum(
            kind="removed",
            # The records are 2 apart, so that one that is zeroed is between them, at 1.
            noise_multiplier=z if zeroed else 2.0 * z,
            batches=self.batches,
            presence=presence,
            second=1 if zeroed else 0,
        )
        return Attained((allocated, (largest,)))

    def _allocated(self, z: float, presence: float) -> Losses:
        """One of the batches, at random, has a record more."""
        if self.batches == 1:
            return sampled_step("removed", noise_multiplier=z, sampling_probability=presence)
        pair = AllocatedPair(kind="removed", noise_multiplier=z, batches=self.batches)
        if presence == 1.0:
            return (pair,)
        return (SampledPair(kind="removed", pair=pair, sampling_probability=presence),)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record on one side of the origin, all others on the other side."""
        if adjacency is Adjacency.ZERO_OUT:
            raise NoLossDistributionError(
                "No data sets are written out for shuffled batches under zero_out."
            )
        half = self.swap_distance / 2.0
        rest = RecordGroup(count=self.larger(adjacency) - 1, position=-half)
        return one_record_changed(adjacency, changed=half, replacement=-half, rest=(rest,))


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
