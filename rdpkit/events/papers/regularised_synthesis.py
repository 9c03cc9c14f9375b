"""Synthesis from a mean and a covariance to which a public multiple of the identity is added."""

from __future__ import annotations

from typing import ClassVar

from rdpkit.events import fields
from rdpkit.events.base import Event
from rdpkit.events.fields import coordinates, count, event_class, noise


@event_class
class RegularisedSynthesis(Event):
    """Records drawn from the normal distribution with the data's mean and covariance, regularised.

    Released: ``outputs`` draws from N(m, C + added_variance I), each cut to the cube
    [-1, 1]^dimension, where m and C are the mean and the covariance of the data set. Because the
    added variance is a public number, the draws are private for every data set, whereas those of
    :class:`GaussianSynthesis` are private only if no covariance is close to singular.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.RegularisedSynthesis(
    ...     records=1000000, outputs=1, dimension=6, added_variance=0.1
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 4)
    0.0005
    """

    mechanism: ClassVar[str] = "regularised_synthesis"
    of_whole_data: ClassVar[str] = "it states how many records there are"

    records: int = fields.records(
        "A public number. The data set has at least as many records, or zero vectors are added "
        "until it has",
        minimum=2,
    )
    outputs: int = count("Number of synthetic records")
    dimension: int = coordinates("Number of coordinates of a record")
    added_variance: float = noise(
        "What is added to each diagonal entry of the covariance (sigma on the theory page)"
    )

    def assumptions(self) -> tuple[str, ...]:
        """What must hold beyond the parameters."""
        return (
            "every coordinate of every record is cut to [-1, 1], and a data set of fewer than "
            f"{self.records} records is filled up with zero vectors",
        )
