"""One epoch of noisy sums over shuffled batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.free_parameters import NOISE, FreeParameter, geometry
from rdpkit.events.gaussian import check_geometry
from rdpkit.events.losses import Losses, NoLossDistributionError, sampled_step

_SHUFFLED = (
    "records are shuffled uniformly before each epoch and cut into full batches; what is left over "
    "is not used in that epoch, and both neighbours have equally many full batches"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledGaussian(Event):
    """One epoch of shuffled batches: the sum over each batch plus Gaussian noise.

    Released: for each batch, the sum of its records' vectors + N(0, noise_std^2 I). The records are
    put into a uniformly random order and cut into batches of ``batch_size``; an incomplete last
    batch is not used. A record is in one batch at most, and a record that comes or goes moves
    another one into or out of its place.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in each coordinate, in the units of the sum; above 0.
    record_norm : float
        Largest L2 norm of one record's vector, in the units of the sum; above 0.
    batch_size : int
        Number of records in a batch; at least 1 and at most dataset_size.
    dataset_size : int
        Number of records, in the larger of two neighbours; at least batch_size.
    record_diameter : float, optional
        Largest L2 distance between two records' vectors, in the units of the sum; above 0 and at
        most 2 * record_norm, which is the default. It is the sensitivity under both relations.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.ShuffledGaussian(
    ...     noise_std=10.0, record_norm=1.0, batch_size=256, dataset_size=60000
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.726
    """

    mechanism: ClassVar[str] = "shuffled_gaussian"

    noise_std: float
    record_norm: float
    batch_size: int
    dataset_size: int
    record_diameter: float | None = None

    def __post_init__(self) -> None:
        _validate.attributes(self, noise_std=_validate.positive, record_norm=_validate.positive)
        largest = _validate.integer("dataset_size", self.dataset_size)
        _validate.integer("batch_size", self.batch_size, maximum=largest)
        check_geometry(self.record_norm, self.record_diameter)

    @property
    def batches(self) -> int:
        """Number of full batches in an epoch."""
        return self.dataset_size // self.batch_size

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far a swap moves the sum, under either relation."""
        return self.noise_std / check_geometry(self.record_norm, self.record_diameter)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; the size of batches does not matter to the upper bound."""
        return {"noise_std": NOISE, **geometry(self.record_norm, self.record_diameter)}

    def losses(self, adjacency: Adjacency, *, attained: bool) -> Losses:
        """Two Gaussians as far apart as two records; no data sets are known to attain them."""
        if attained:
            raise NoLossDistributionError(
                "No pair of data sets with a known loss distribution attains what shuffled batches "
                "leak."
            )
        return sampled_step(
            "replaced", noise_multiplier=self.noise_multiplier(adjacency), sampling_probability=1.0
        )

    def assumptions(self) -> tuple[str, ...]:
        """How batches are made."""
        return (_SHUFFLED,)


__all__ = ["ShuffledGaussian"]
