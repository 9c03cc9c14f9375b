"""What a training really releases, as events with the noise that was told."""

from __future__ import annotations

import rdpkit
from rdpkit import Event
from rdpkit.adjacency import Adjacency
from rdpkit.verification.training.results import TrainingLowerBound
from rdpkit.verification.training.trainer import PrivateTraining

STEP_AS_TOLD = "each update adds noise as told"


def poisson(noise_multiplier: float, *, rate: float, updates: int) -> Event:
    """Poisson samples with another rate or another number of updates."""
    return rdpkit.Repeated(
        event=rdpkit.PoissonSampledGaussian(
            noise_std=noise_multiplier,
            record_norm=1.0,
            record_diameter=2.0,
            sampling_probability=min(1.0, rate),
        ),
        count=max(1, updates),
    )


def shuffled(noise_multiplier: float, *, batch: int, records: int, epochs: int) -> Event:
    """Shuffled batches."""
    return rdpkit.Repeated(
        event=rdpkit.ShuffledGaussian(
            noise_std=noise_multiplier,
            record_norm=1.0,
            record_diameter=2.0,
            batch_size=batch,
            dataset_size=max(batch, records),
        ),
        count=max(1, epochs),
    )


def known(noise_multiplier: float, *, times: int) -> Event:
    """A record that is in ``times`` batches which everybody knows."""
    return rdpkit.Repeated(
        event=rdpkit.Gaussian(noise_std=noise_multiplier, record_norm=1.0, record_diameter=2.0),
        count=max(1, times),
    )


def upper(event: Event, *, delta: float, adjacency: Adjacency) -> float | None:
    """The epsilon that is proven of an event; None if none is."""
    try:
        return rdpkit.epsilon(event, delta=delta, adjacency=adjacency).epsilon
    except (ValueError, ArithmeticError):
        return None


def at_least(
    training: PrivateTraining, event: Event, *, confidence: float, given: str
) -> TrainingLowerBound | None:
    """The epsilon that a pair of neighbours attains; None if no pair is known."""
    try:
        found, _ = rdpkit.lower_bound(event, adjacency=training.adjacency, delta=training.delta)
    except (ValueError, ArithmeticError):
        return None
    return TrainingLowerBound(
        epsilon=found.epsilon, delta=training.delta, confidence=confidence, given=given
    )
