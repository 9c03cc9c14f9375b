"""One epoch of noisy sums over shuffled batches."""

from __future__ import annotations

from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, RecordGroup, one_record_changed
from rdpkit.events.fields import diameter, event_class, integer, noise, norm
from rdpkit.events.geometry import diameter_of
from rdpkit.events.losses import (
    Attained,
    Dominating,
    Losses,
    NoLossDistributionError,
    attains,
    sampled_step,
)
from rdpkit.events.pairs import AllocatedMoves, AllocatedPair, SampledPair, ShuffledMaximum

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
