"""Any release from a sample of fixed size."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event, check_samples
from rdpkit.events.fields import batch, event_class, integer, part
from rdpkit.events.gaussian import Gaussian
from rdpkit.events.losses import Attained, Dominating, NoLossDistributionError, attains
from rdpkit.events.pairs import LeastOf, Pair, SampledPair, SampledReplacement, SymmetricPair
from rdpkit.events.sampled.fixed_size_sampled_gaussian import FixedSizeSampledGaussian
from rdpkit.events.sampled.poisson_sampled import LEAST, SUMS, one_pair

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
