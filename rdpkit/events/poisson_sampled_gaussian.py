"""One release of a noisy sum over a Poisson sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.gaussian import check_geometry


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampledGaussian(Event):
    """Each record joins independently; the sum of those who joined plus Gaussian noise is released.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in each coordinate, in the units of the sum.
    record_norm : float
        Largest L2 norm of one record's vector.
    sampling_probability : float
        Probability, in [0, 1], with which each record joins, the same whoever else does.
    record_diameter : float, optional
        Largest L2 distance between two records' vectors, at most ``2 * record_norm`` (the default).

    Raises
    ------
    ValueError
        If a parameter is outside of its range.
    """

    mechanism: ClassVar[str] = "poisson_sampled_gaussian"

    noise_std: float
    record_norm: float
    sampling_probability: float
    record_diameter: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_std", _validate.positive("noise_std", self.noise_std))
        object.__setattr__(self, "record_norm", _validate.positive("record_norm", self.record_norm))
        object.__setattr__(
            self,
            "sampling_probability",
            _validate.probability("sampling_probability", self.sampling_probability),
        )
        check_geometry(self.record_norm, self.record_diameter)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far one record moves the sum under ``adjacency``."""
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            return self.noise_std / self.record_norm
        return self.noise_std / check_geometry(self.record_norm, self.record_diameter)
