"""What the accountant was told, read from an event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rdpkit import (
    DPSGD,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    PoissonSampledGaussian,
    RandomAllocationGaussian,
    Repeated,
    ShuffledGaussian,
    TruncatedPoissonGaussian,
)

POISSON, FULL, FIXED, SHUFFLE = "poisson", "full", "fixed-size", "shuffle"
TRUNCATED, ALLOCATED, UNKNOWN = "truncated-poisson", "random-allocation", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an accountant was told about DP-SGD.

    Parameters
    ----------
    sampling : str
        "poisson", "full", "fixed-size", "shuffle", "truncated-poisson", "random-allocation", or
        "unknown" for an event of another kind.
    noise_multiplier : float or None
        Standard deviation of the noise over how far a record that comes or goes
        moves the sum.
    rate : float or None
        The probability with which a record is in a batch.
    updates : int or None
        Number of noisy updates.
    largest_batch : int or None
        Where batches are cut.
    epochs : int or None
        Passes, where batches are made in epochs.
    """

    sampling: str
    noise_multiplier: float | None
    rate: float | None
    updates: int | None
    largest_batch: int | None = None
    epochs: int | None = None


def told(event: Event) -> Told:
    """Read an event of DP-SGD.

    Parameters
    ----------
    event : Event
        :class:`rdpkit.DPSGD`, or a repeated sampled Gaussian.
    """
    if isinstance(event, DPSGD):
        return _of_dpsgd(event)
    count, inner = 1, event
    while isinstance(inner, Repeated):
        count, inner = count * inner.count, inner.event
    if isinstance(inner, Gaussian):
        return _of(inner, FULL, 1.0, count)
    if isinstance(inner, PoissonSampledGaussian):
        q = inner.sampling_probability
        return _of(inner, FULL if q == 1.0 else POISSON, q, count)
    if isinstance(inner, TruncatedPoissonGaussian):
        found = _of(inner, TRUNCATED, inner.sampling_probability, count)
        return replace(found, largest_batch=inner.max_batch_size)
    if isinstance(inner, FixedSizeSampledGaussian):
        rate = inner.sample_size / inner.population_size
        return _of(inner, FIXED, rate, count)
    if isinstance(inner, ShuffledGaussian):
        rate = inner.batch_size / inner.dataset_size
        found = _of(inner, SHUFFLE, rate, count * inner.batches)
        return replace(found, epochs=count)
    if isinstance(inner, RandomAllocationGaussian):
        found = _of(inner, ALLOCATED, 1.0 / inner.batches, count * inner.batches)
        return replace(found, epochs=count)
    return Told(sampling=UNKNOWN, noise_multiplier=None, rate=None, updates=None)


def _of_dpsgd(event: DPSGD) -> Told:
    """What :class:`rdpkit.DPSGD` says, with its number of updates."""
    inner = told(event.expand())
    return replace(inner, updates=event.updates)


def _of(inner: Any, sampling: str, rate: float, count: int) -> Told:
    # How far a record that comes or goes moves the sum, which is what the step check measures.
    norm = getattr(inner, "record_norm", None)
    if norm is None:
        norm = inner.record_diameter / 2.0
    return Told(
        sampling=sampling,
        noise_multiplier=inner.noise_std / norm,
        rate=rate,
        updates=count,
    )


__all__ = [
    "ALLOCATED",
    "FIXED",
    "FULL",
    "POISSON",
    "SHUFFLE",
    "TRUNCATED",
    "UNKNOWN",
    "Told",
    "told",
]
