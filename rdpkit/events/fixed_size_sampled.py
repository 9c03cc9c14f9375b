"""A release from a sample of fixed size, of which only a zCDP guarantee is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event, check_samples
from rdpkit.events.fixed_size_sampled_gaussian import FixedSizeSampledGaussian
from rdpkit.events.free_parameters import FreeParameter, integer
from rdpkit.events.gaussian import Gaussian


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSizeSampled(Event):
    """A release from a sample of fixed size, drawn without replacement.

    Released: the output of ``event`` on a uniformly drawn sample of ``sample_size`` of the
    ``population_size`` records. Who is in the sample is not released. Something is known under
    replace-one if the event is a Gaussian, or a :class:`ZeroConcentrated` without xi.

    Parameters
    ----------
    event : Event
        What is released from the sample.
    sample_size : int
        Records in the sample; at least 1.
    population_size : int
        Records in the data set; at least sample_size.

    Raises
    ------
    ValueError
        If ``event`` is not an event, or has no meaning on a random sample, because it states sizes
        of the data or when a record takes part; or if a size is outside of its range.

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

    event: Event
    sample_size: int
    population_size: int

    def __post_init__(self) -> None:
        check_samples(_validate.one_of_a_kind("event", self.event, Event))
        population = _validate.integer("population_size", self.population_size)
        _validate.integer("sample_size", self.sample_size, maximum=population)

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

    def attained_expansion(self) -> Event | None:
        """The same: it is the same release."""
        return self.expand()

    def assumptions(self) -> tuple[str, ...]:
        """Those of the event."""
        return self.event.assumptions()

    def parts(self) -> tuple[tuple[str, Event], ...]:
        """What is released from the sample."""
        return (("event", self.event),)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """Smaller samples are more private."""
        return {"sample_size": integer(-1, highest=self.population_size, role="batch")}
