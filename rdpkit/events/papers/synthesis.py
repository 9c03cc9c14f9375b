"""Synthesis from a mean and a covariance (Miura et al. 2023), as it is or regularised."""

from __future__ import annotations

from typing import Any, ClassVar

from rdpkit import _validate
from rdpkit.events import fields
from rdpkit.events.base import Event
from rdpkit.events.fields import coordinates, count, declared, event_class, noise
from rdpkit.events.free_parameters import number


def check_eigenvalue(name: str, value: Any) -> float:
    """Check a smallest eigenvalue: no covariance of data in [-1, 1]^d has one above 1."""
    condition = "in (0, 1]: no covariance of data in [-1, 1]^d has a larger smallest eigenvalue"
    number = _validate.positive(name, value)
    if number > 1.0:
        raise _validate.fail(name, condition, value)
    return number


@event_class
class GaussianSynthesis(Event):
    """Records drawn from the normal distribution with the data's own mean and covariance.

    Released: ``outputs`` draws from N(m, C), each cut to the cube [-1, 1]^dimension, where m and C
    are the mean and the covariance of the data set. No noise is added. The draws are random, and
    they are private if no data set's covariance is close to singular.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.GaussianSynthesis(
    ...     records=1000000, outputs=1, dimension=6, min_eigenvalue=0.1
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 4)
    0.0005
    """

    mechanism: ClassVar[str] = "gaussian_synthesis"
    of_whole_data: ClassVar[str] = "it states how many records there are"

    records: int = fields.records(
        "Number of records of the data set, in the larger of two neighbours (n of the paper)",
        minimum=2,
    )
    outputs: int = count("Number of synthetic records")
    dimension: int = coordinates("Number of coordinates of a record (d of the paper)")
    min_eigenvalue: float = declared(
        "Lower bound on the smallest eigenvalue of the covariance of the data set and of all its "
        "neighbours (sigma of the paper)",
        check=check_eigenvalue,
        accepted="in (0, 1]",
        free=number(1, highest=1.0, role="noise"),
    )

    def assumptions(self) -> tuple[str, ...]:
        """What must hold beyond the parameters."""
        return (
            "records lie in [-1, 1]^d, and the covariance of the data set and of each of its "
            f"neighbours has no eigenvalue below {self.min_eigenvalue:g}: a condition on the data "
            "that the mechanism does not enforce",
        )


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
