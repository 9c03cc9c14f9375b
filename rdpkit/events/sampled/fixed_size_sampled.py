"""A release from a sample of fixed size, of which only a zCDP guarantee is known."""

from __future__ import annotations

from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event, check_samples
from rdpkit.events.fields import batch, event_class, integer, part
from rdpkit.events.gaussian import Gaussian
from rdpkit.events.sampled.fixed_size_sampled_gaussian import FixedSizeSampledGaussian


@event_class
class FixedSizeSampled(Event):
    """A release from a sample of fixed size, drawn without replacement.

    Released: the output of ``event`` on a uniformly drawn sample of ``sample_size`` of the
    ``population_size`` records. Who is in the sample is not released. Something is known under
    replace-one if the event is a Gaussian, or a :class:`ZeroConcentrated` without xi.

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
    population_size: int = integer("Records in the data set", accepted="at least sample_size")

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
        """Those of the event."""
        return self.event.assumptions()
