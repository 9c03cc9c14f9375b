"""One release of a noisy sum or mean over a sample of fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from rdpkit import _validate
from rdpkit.events.base import Event
from rdpkit.events.gaussian import check_geometry


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSizeSampledGaussian(Event):
    """A uniform sample of fixed size without replacement; its sum or mean plus Gaussian noise.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in each coordinate, in the units of what is released.
    record_norm : float
        Largest L2 norm of one record's vector.
    sample_size : int
        Number of records drawn; at least 1.
    population_size : int
        Number of records to draw from (of the larger of two neighbours); at least ``sample_size``.
        Under add-or-remove-one the smaller neighbour must be sampled too: where the two are equal
        no bound holds.
    release : {"sum", "mean"}
        Whether the noise is added to the sum or to the mean of the sample.
    record_diameter : float, optional
        Largest L2 distance between two records' vectors, at most ``2 * record_norm`` (the default).

    Raises
    ------
    ValueError
        If a parameter is outside of its range, or the sample is larger than the population.
    """

    mechanism: ClassVar[str] = "fixed_size_sampled_gaussian"

    noise_std: float
    record_norm: float
    sample_size: int
    population_size: int
    release: Literal["sum", "mean"]
    record_diameter: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_std", _validate.positive("noise_std", self.noise_std))
        object.__setattr__(self, "record_norm", _validate.positive("record_norm", self.record_norm))
        population = _validate.integer("population_size", self.population_size)
        _validate.integer("sample_size", self.sample_size, maximum=population)
        _validate.choice("release", self.release, ("sum", "mean"))
        check_geometry(self.record_norm, self.record_diameter)

    @property
    def swap_distance(self) -> float:
        """How far swapping one member of the sample moves what is released."""
        diameter = check_geometry(self.record_norm, self.record_diameter)
        return diameter / self.sample_size if self.release == "mean" else diameter

    @property
    def noise_multiplier(self) -> float:
        """Noise standard deviation over :attr:`swap_distance`, under either adjacency."""
        return self.noise_std / self.swap_distance
