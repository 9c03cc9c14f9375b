"""Releases from a sample of fixed size: noisy sums and means, and any others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Literal

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.events import free_parameters
from rdpkit.events.base import Event, check_samples
from rdpkit.events.cells import BITS, mixtures, outcomes_of
from rdpkit.events.data_sets import NeighbouringDataSets, RecordGroup, one_record_changed
from rdpkit.events.fields import (
    batch,
    choice,
    diameter,
    event_class,
    integer,
    noise,
    norm,
    part,
    records,
)
from rdpkit.events.free_parameters import Direction, FreeParameter
from rdpkit.events.gaussian import Gaussian
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
from rdpkit.events.pairs import LeastOf, Pair, SampledPair, SampledReplacement, SymmetricPair
from rdpkit.events.sampled.poisson import LEAST, SUMS, one_pair

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
                count=self.population_size - 1, position=self.record_norm if far is None else far
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


_SUMS = (Gaussian, *SUMS)
# With the records in the order of the data set, a swap moves all that lie between the two.
_ORDER = "the sample is a set, or in an order that is drawn uniformly and by nothing else"


@event_class
class FixedSizeSampled(Event):
    """A release from a sample of fixed size, drawn without replacement.

    Released: the output of ``event`` on a uniformly drawn sample of ``sample_size`` of the
    ``population_size`` records, in an order that is drawn uniformly too if the event depends on
    the order of records. Who is in the sample is not released. Something is known if the
    event is a Gaussian or has one known symmetric pair, as Laplace noise and most selections do;
    and under replace-one of a :class:`ZeroConcentrated` without xi.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.FixedSizeSampled(
    ...     event=rdpkit.ZeroConcentrated(rho=0.5, adjacency="replace_one"),
    ...     sample_size=100,
    ...     population_size=10000,
    ... )
    >>> steps = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(steps, delta=1e-5, adjacency="replace_one").epsilon, 2)
    1.46
    """

    mechanism: ClassVar[str] = "fixed_size_sampled"
    of_whole_data: ClassVar[str] = "it states how many records there are"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    expansion_is_attained = True

    event: Event = part("What is released from the sample")
    sample_size: int = batch("Records in the sample", most="population_size")
    population_size: int = integer(
        "Records in the data set, in the larger of two neighbours", accepted="at least sample_size"
    )

    def _check_together(self) -> None:
        check_samples(self.event)

    def expand(self) -> Event | None:
        """The Gaussian mechanism on a sample has theorems of its own; so has the whole data set."""
        if self.sample_size == self.population_size:
            return self.event
        if isinstance(self.event, Gaussian):
            return FixedSizeSampledGaussian(
                noise_std=self.event.noise_std,
                record_norm=self.event.record_norm,
                record_diameter=self.event.record_diameter,
                sample_size=self.sample_size,
                population_size=self.population_size,
                release="sum",
            )
        return None

    def assumptions(self) -> tuple[str, ...]:
        """Those of the event, and for what need not be a sum that no order tells who is drawn."""
        return (*self.event.assumptions(), *(() if isinstance(self.event, _SUMS) else (_ORDER,)))

    def with_one_more_record(self) -> Event:
        """The sample is drawn from one record more."""
        larger = replace(self, population_size=self.population_size + 1)
        return larger.expand() or larger

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The pair of a member of the sample that is swapped, mixed with the sample without it.

        A sample without the record becomes one with it by a swap, and so does a sample of the
        smaller of two data sets; a record that is replaced leaves a sample that is swapped twice.
        """
        swapped, q = self._pair(Adjacency.REPLACE_ONE), max(self._drawn, LEAST)
        if adjacency is Adjacency.REPLACE_ONE:
            both = SampledReplacement(replaced=swapped, removed=swapped, sampling_probability=q)
            return Dominating((both,))
        # Of a sum it is known what a swap moves if this much is known of one record.
        if not isinstance(self.event, SUMS):
            raise self._unknown(adjacency)
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            return Dominating((SampledPair(kind="removed", pair=swapped, sampling_probability=q),))
        changed = self._special()
        known = [
            SampledReplacement(replaced=one, removed=swapped, sampling_probability=q)
            for one in dict.fromkeys((changed, swapped))
        ]
        # The mean of two curves need not be convex, and the true one is.
        return Dominating((LeastOf(branches=tuple(known)) if known[1:] else known[0],))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Of noisy sums: all others are alike, and as far from the record as they may be.

        Under zero-out they are at the origin, as the special record is.
        """
        if not isinstance(self.event, SUMS) or self._drawn < LEAST:
            raise self._unknown(adjacency)
        zeroed = adjacency is Adjacency.ZERO_OUT
        pair = self._special() if zeroed else self._pair(Adjacency.REPLACE_ONE)
        return attains((SampledPair(kind="removed", pair=pair, sampling_probability=self._drawn),))

    @property
    def _drawn(self) -> float:
        return self.sample_size / self.population_size

    def _special(self) -> Pair:
        """What a record tells that becomes 0, if it is no farther from 0 than from others."""
        special, swap = map(
            self.event.sensitivity,  # type: ignore[attr-defined]
            (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE),
        )
        if special > swap:
            raise self._unknown(Adjacency.ZERO_OUT)
        return self._pair(Adjacency.ZERO_OUT)

    def _pair(self, adjacency: Adjacency) -> Pair:
        pair = one_pair(self.event, self.event.dominating(adjacency))
        if isinstance(pair, SymmetricPair):
            return pair
        raise self._unknown(adjacency)

    def _unknown(self, adjacency: Adjacency) -> NoLossDistributionError:
        return NoLossDistributionError(
            f"For a sample of fixed size of {self.event.mechanism!r} no privacy loss distribution "
            f"is known under {adjacency.value}."
        )
