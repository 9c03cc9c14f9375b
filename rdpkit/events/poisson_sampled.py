"""Any release from a Poisson sample of the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.events.base import Event
from rdpkit.events.free_parameters import FreeParameter, number


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
        If ``event`` is not an event, or the probability is outside of [0, 1].

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

    event: Event
    sampling_probability: float

    def __post_init__(self) -> None:
        _validate.one_of_a_kind("event", self.event, Event)
        _validate.attributes(self, sampling_probability=_validate.probability)

    def parts(self) -> tuple[tuple[str, Event], ...]:
        """The event on the sample."""
        return (("event", self.event),)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """Smaller samples are more private."""
        return {"sampling_probability": number(-1, highest=1.0)}
