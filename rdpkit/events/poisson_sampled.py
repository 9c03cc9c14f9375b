"""Any release from a Poisson sample of the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event, check_samples
from rdpkit.events.free_parameters import FreeParameter, number
from rdpkit.events.gaussian import Gaussian
from rdpkit.events.losses import Losses, NoLossDistributionError, OneOf
from rdpkit.events.noise.discrete_gaussian import DiscreteGaussian
from rdpkit.events.noise.discrete_laplace import DiscreteLaplace
from rdpkit.events.noise.laplace import Laplace
from rdpkit.events.pairs import OpposedLaplacePair, Pair, SampledPair, SampledReplacement
from rdpkit.events.poisson_sampled_gaussian import PoissonSampledGaussian

# Losses of samples that are drawn more rarely are too close to each other for floats. From above a
# record is drawn so often then, and from below never.
_LEAST = 1e-9

_SUMS = (Laplace, DiscreteLaplace, DiscreteGaussian)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampled(Event):
    """Any release, from a Poisson sample of the records instead of all of them.

    Released: the output of ``event`` on a sample that every record joins with probability
    ``sampling_probability``, independently of all others. Who is in the sample is not released. If
    ``event`` is made of several releases, all of them see the same sample.

    Parameters
    ----------
    event : Event
        What is released from the sample.
    sampling_probability : float
        Probability with which each record joins, independently of all others; in [0, 1].

    Raises
    ------
    ValueError
        If ``event`` is not an event, or has no meaning on a random sample, because it states sizes
        of the data or when a record takes part; or if the probability is outside of [0, 1].

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.PoissonSampled(
    ...     event=rdpkit.ZeroConcentrated(rho=0.5, adjacency="add_or_remove_one"),
    ...     sampling_probability=0.01,
    ... )
    >>> steps = rdpkit.Repeated(event=event, count=1000)
    >>> round(rdpkit.epsilon(steps, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    2.107
    """

    mechanism: ClassVar[str] = "poisson_sampled"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    event: Event
    sampling_probability: float

    def __post_init__(self) -> None:
        check_samples(_validate.one_of_a_kind("event", self.event, Event))
        _validate.attributes(self, sampling_probability=_validate.probability)

    def expand(self) -> Event | None:
        """The Gaussian mechanism on a sample has theorems of its own; so has the whole data set."""
        if self.sampling_probability == 1.0:
            return self.event
        if isinstance(self.event, Gaussian):
            return PoissonSampledGaussian(
                noise_std=self.event.noise_std,
                record_norm=self.event.record_norm,
                record_diameter=self.event.record_diameter,
                sampling_probability=self.sampling_probability,
            )
        return None

    def assumptions(self) -> tuple[str, ...]:
        """Those of the event."""
        return self.event.assumptions()

    def parts(self) -> tuple[tuple[str, Event], ...]:
        """The event on the sample."""
        return (("event", self.event),)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """Smaller samples are more private."""
        return {"sampling_probability": number(-1, highest=1.0, role="batch")}

    def losses(self, adjacency: Adjacency, *, attained: bool) -> Losses | OneOf:
        """The pair of the event, mixed with what is released without the record."""
        q = self._resolved(attained=attained)
        if q == 0.0:
            return ()
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            pair = self._pair(adjacency, attained=attained)
            return (SampledPair(kind="removed", pair=pair, sampling_probability=q),)
        if not isinstance(self.event, _SUMS):
            # Whether an absent record and a special one look alike, and how the sensitivities of
            # two relations compare, is known for noisy sums alone.
            raise NoLossDistributionError(
                f"For a sample of {self.event.mechanism!r} no privacy loss distribution is known "
                f"under {adjacency.value}."
            )
        if adjacency is Adjacency.ZERO_OUT:
            pair = self._pair(adjacency, attained=attained)
            return (SampledPair(kind="removed", pair=pair, sampling_probability=q),)
        return self._replaced(attained=attained)

    def _resolved(self, *, attained: bool) -> float:
        """The sampling probability, or from above one that floats resolve: more leaks no less."""
        q = self.sampling_probability
        if q == 0.0 or q >= _LEAST:
            return q
        return 0.0 if attained else _LEAST

    def _replaced(self, *, attained: bool) -> Losses:
        """A record of the sample is replaced by another one."""
        q = self._resolved(attained=attained)
        if not attained:
            replaced = self._pair(Adjacency.REPLACE_ONE, attained=False)
            removed = self._pair(Adjacency.ADD_OR_REMOVE_ONE, attained=False)
            return (SampledReplacement(replaced=replaced, removed=removed, sampling_probability=q),)
        if isinstance(self.event, Laplace):
            distance = 0.5 * self.event.distance(Adjacency.REPLACE_ONE)
            return (OpposedLaplacePair(distance=distance, sampling_probability=q),)
        raise NoLossDistributionError(
            f"No data sets are known that show what a sample of {self.event.mechanism!r} tells "
            "under replace_one."
        )

    def _pair(self, adjacency: Adjacency, *, attained: bool) -> Pair:
        found = self.event.losses(adjacency, attained=attained)
        if isinstance(found, tuple) and len(found) == 1 and isinstance(found[0], Pair):
            return found[0]
        raise NoLossDistributionError(
            "The losses of a sample are known where one release with one known pair of "
            f"distributions is made from it, got {self.event.mechanism!r}."
        )

    def with_one_more_record(self) -> Event:
        """The same release: a larger data set changes nothing else."""
        return self
