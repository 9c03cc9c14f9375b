"""One release of a noisy sum or mean over a sample of fixed size."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Literal

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.events import free_parameters
from rdpkit.events.base import Event
from rdpkit.events.cells import BITS, mixtures, outcomes_of
from rdpkit.events.data_sets import NeighbouringDataSets, RecordGroup, one_record_changed
from rdpkit.events.fields import choice, diameter, event_class, integer, noise, norm, records
from rdpkit.events.free_parameters import Direction, FreeParameter
from rdpkit.events.geometry import diameter_of
from rdpkit.events.losses import (
    Attained,
    Dominating,
    Losses,
    NoLossDistributionError,
    StepKind,
    attains,
    sampled_step,
)

Statistic = Literal["sum", "mean"]


def _sample(event: FixedSizeSampledGaussian) -> FreeParameter:
    """A larger sample leaks more of a sum; of a mean, in which each record counts less, or not."""
    mean = event.release == "mean"
    scaled = ("noise_std",) if mean else ()
    private: Direction = 0 if mean else -1
    return free_parameters.integer(
        private, highest=event.population_size, scaled=scaled, role="batch"
    )


# Cells are listed while the record is at most so many standard deviations of the noise away.
_FAR = 40.0


@event_class
class FixedSizeSampledGaussian(Event):
    """The sum or mean over a sample of fixed size plus Gaussian noise, released once.

    Released: the sum of x_i over the sample S, or their mean, plus N(0, noise_std^2 I). S holds
    ``sample_size`` of ``population_size`` records, drawn uniformly without replacement.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.FixedSizeSampledGaussian(
    ...     noise_std=0.05, record_norm=1.0, sample_size=100, population_size=10000, release="mean"
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
    0.018
    """

    mechanism: ClassVar[str] = "fixed_size_sampled_gaussian"
    of_whole_data: ClassVar[str] = "it states how many records there are"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    noise_std: float = noise(
        "Standard deviation of the noise in each coordinate, in the units of what is released"
    )
    record_norm: float = norm("Largest L2 norm of one record's vector, in the units of a record")
    sample_size: int = integer("Number of records drawn", most="population_size", free=_sample)
    population_size: int = records(
        "Number of records to draw from, in the larger of two neighbours. Under add-or-remove-one "
        "it must exceed sample_size for a bound to hold, because the smaller neighbour is "
        "sampled, too",
        least="sample_size",
    )
    release: Statistic = choice(
        "Whether the noise is added to the sum or to the mean of the sample", Statistic
    )
    record_diameter: float | None = diameter(
        "Largest L2 distance between two records' vectors, in the units of a record", default=None
    )

    @property
    def swap_distance(self) -> float:
        """How far swapping one member of the sample moves what is released."""
        diameter = diameter_of(self)
        return diameter / self.sample_size if self.release == "mean" else diameter

    @property
    def noise_multiplier(self) -> float:
        """Noise standard deviation over :attr:`swap_distance`, for ordinary records."""
        return self.noise_std / self.swap_distance

    @property
    def _unit(self) -> float:
        """How far a record of length 1 moves what is released."""
        return 1.0 / self.sample_size if self.release == "mean" else 1.0

    @property
    def presence_noise_multiplier(self) -> float:
        """Noise over how far a record that becomes the special one, if it is drawn, moves it."""
        return self.noise_std / (self.record_norm * self._unit)

    @property
    def smallest_noise_multiplier(self) -> float:
        """Noise over the largest distance of two records, of which one may be the special one."""
        return min(self.noise_multiplier, self.presence_noise_multiplier)

    @property
    def sampling_probability(self) -> float:
        """The probability with which one record is drawn."""
        return self.sample_size / self.population_size

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """A mixture and a Gaussian; if a record is replaced, the curve is symmetric.

        Under zero-out the curve is that of another member at one end, the record and the special
        record as far from it and from each other as they may be (theory page "Zero-out").
        """
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE:
                self._check_sizes()
                return Dominating(self._step("removed", self.noise_multiplier))
            case Adjacency.REPLACE_ONE:
                return Dominating(self._step("replaced", self.noise_multiplier))
            case Adjacency.ZERO_OUT:
                return Dominating(self._special_record())

    def attained(self, adjacency: Adjacency) -> Attained:
        """One record on one side and all others on the other.

        Under zero-out, if others are no farther from the record than it is long, all are equal, so
        that the sums of the second data set vary alone.
        """
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE:
                self._check_sizes()
                return attains(self._step("removed", self.noise_multiplier))
            case Adjacency.REPLACE_ONE:
                return attains(self._step("removed", self.noise_multiplier))
            case Adjacency.ZERO_OUT:
                equal = self._step("added", self.presence_noise_multiplier)
                return Attained(self._on_the_other_side() or (equal,))

    def _check_sizes(self) -> None:
        if self.sample_size == self.population_size:
            raise NoLossDistributionError(
                "Under add_or_remove_one the smaller neighbour must have enough records for the "
                "sample: expected sample_size < population_size."
            )

    def _step(self, kind: StepKind, noise_multiplier: float, other: float = 0.0) -> Losses:
        return sampled_step(
            kind,
            noise_multiplier=noise_multiplier,
            sampling_probability=self.sampling_probability,
            other=other,
        )

    def _on_the_other_side(self) -> tuple[Losses, ...]:
        """All others are as far from the record as they may be; in which cell the sum is."""
        diameter, q = diameter_of(self), self.sampling_probability
        if not self.record_norm < diameter < _FAR * self.noise_std / self._unit or q == 1.0:
            return ()
        with ctx.workprec(BITS):
            # A little nearer than that, by more than all roundings.
            unit = arb(self._unit) / arb(self.noise_std) * (1 - arb(2) ** -44)
            second = unit * (arb(diameter) - arb(self.record_norm))
            first = unit * arb(diameter)
            share = arb(self.sample_size) / self.population_size
            return tuple(outcomes_of([mixtures(q=share, first=first, second=second)]))

    def _special_record(self) -> Losses:
        """Another member of the sample is at 0, the record at 1, and the special one between."""
        diameter = diameter_of(self)
        if diameter <= self.record_norm:
            return self._step("replaced", self.presence_noise_multiplier)
        # The roundings of the quotient and the difference are covered by a record farther away.
        other = max(1.0 - self.record_norm / diameter - 4.0 * math.ulp(1.0), 0.0)
        return self._step("replaced", self.noise_multiplier, other)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record on one side of the origin, all others on the other side.

        Under zero-out all records are equal if they have to be near each other.
        """
        if adjacency is Adjacency.ZERO_OUT:
            far = self.record_norm - diameter_of(self) if self._on_the_other_side() else None
            same = RecordGroup(
                count=self.population_size - 1,
                position=self.record_norm if far is None else far,
            )
            return one_record_changed(
                adjacency, changed=self.record_norm, replacement=0.0, rest=(same,)
            )
        swap = self.swap_distance * (self.sample_size if self.release == "mean" else 1)
        rest = RecordGroup(count=self.population_size - 1, position=-swap / 2.0)
        return one_record_changed(
            adjacency, changed=swap / 2.0, replacement=-swap / 2.0, rest=(rest,)
        )

    def with_one_more_record(self) -> Event:
        """The sample is drawn from one record more."""
        return replace(self, population_size=self.population_size + 1)
