"""Synthesis from a mean and a covariance to which a public multiple of the identity is added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.events.base import Event
from rdpkit.events.free_parameters import COORDINATES, COUNT, FreeParameter, integer, number


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularisedSynthesis(Event):
    """Records drawn from the normal distribution with the data's mean and covariance, regularised.

    Released: ``outputs`` draws from N(m, C + added_variance I), each cut to the cube
    [-1, 1]^dimension, where m and C are the mean and the covariance of the data set. Because the
    added variance is a public number, the draws are private for every data set, whereas those of
    :class:`GaussianSynthesis` are private only if no covariance is close to singular.

    Parameters
    ----------
    records : int
        A public number; at least 2. The data set has at least as many records, or zero vectors are
        added until it has.
    outputs : int
        Number of synthetic records; at least 1.
    dimension : int
        Number of coordinates of a record; at least 1.
    added_variance : float
        What is added to each diagonal entry of the covariance (sigma on the theory page); > 0.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

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

    records: int
    outputs: int
    dimension: int
    added_variance: float

    def __post_init__(self) -> None:
        _validate.integer("records", self.records, minimum=2)
        _validate.attributes(
            self,
            outputs=_validate.integer,
            dimension=_validate.integer,
            added_variance=_validate.positive,
        )

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More records or more variance are more private; more outputs are less private."""
        return {
            "records": integer(1, lowest=2, role="records"),
            "outputs": COUNT,
            "dimension": COORDINATES,
            "added_variance": number(1, role="noise"),
        }

    def assumptions(self) -> tuple[str, ...]:
        """What must hold beyond the parameters."""
        return (
            "every coordinate of every record is cut to [-1, 1], and a data set of fewer than "
            f"{self.records} records is filled up with zero vectors",
        )
