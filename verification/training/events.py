"""What the accountant was told, read from an event; events of what is really released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import rdpkit
from rdpkit import (
    DPSGD,
    Composed,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    PoissonSampledGaussian,
    Repeated,
    ShuffledGaussian,
    _validate,
)
from rdpkit.events import RandomAllocationGaussian, TruncatedPoissonGaussian
from rdpkit.verification.training.results import TrainingLowerBound
from rdpkit.verification.training.trainer import PrivateTraining

POISSON, FULL, FIXED, SHUFFLE = "poisson", "full", "fixed-size", "shuffle"
TRUNCATED, ALLOCATED, UNKNOWN = "truncated-poisson", "random-allocation", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an accountant was told about DP-SGD."""

    sampling: str
    """"poisson", "full", "fixed-size", "shuffle", "truncated-poisson", "random-allocation", or
    "unknown" for an event of another kind.
    """
    noise_multiplier: float | None
    """Standard deviation of the noise over how far a record that comes or goes moves the sum."""
    rate: float | None  # The probability with which a record is in a batch
    updates: int | None  # Number of noisy updates
    largest_batch: int | None = None  # Where batches are cut
    records: int | None = None  # How many records there are, where the event says so
    parts: int = 1
    """How many parts the event has, where it is a composition: steps with other noise, or further
    releases from the same batches.
    """


_NOTHING = Told(sampling=UNKNOWN, noise_multiplier=None, rate=None, updates=None)


def told(event: Event) -> Told:
    """Read an event of DP-SGD."""
    if isinstance(event, DPSGD):
        found = told(event.expand())
        return replace(found, updates=event.updates, records=event.dataset_size)
    count, inner = 1, event
    while isinstance(inner, Repeated):
        count, inner = count * inner.count, inner.event
    if isinstance(inner, Gaussian):
        return _of(inner, FULL, 1.0, count)
    if isinstance(inner, PoissonSampledGaussian):
        q = inner.sampling_probability
        return _of(inner, FULL if q == 1.0 else POISSON, q, count)
    if isinstance(inner, TruncatedPoissonGaussian):
        rate, there = inner.sampling_probability, inner.population_size
        more = {"largest_batch": inner.max_batch_size, "records": there}
        return _of(inner, TRUNCATED, rate, count, **more)
    if isinstance(inner, FixedSizeSampledGaussian):
        there = inner.population_size
        return _of(inner, FIXED, inner.sample_size / there, count, records=there)
    if isinstance(inner, ShuffledGaussian):
        rate, there = inner.batch_size / inner.dataset_size, inner.dataset_size
        return _of(inner, SHUFFLE, rate, count * inner.batches, records=there)
    if isinstance(inner, RandomAllocationGaussian) and inner.batches_per_record == 1:
        batches = inner.batches
        return _of(inner, ALLOCATED, 1.0 / batches, count * batches)
    return _of_parts(inner.events, count) if isinstance(inner, Composed) else _NOTHING


def _of(inner: Any, sampling: str, rate: float, count: int, **more: int) -> Told:
    # How far a record that comes or goes moves the sum, which is what the step check measures.
    norm = getattr(inner, "record_norm", None)
    noise = inner.noise_std / (inner.record_diameter / 2.0 if norm is None else norm)
    return Told(sampling=sampling, noise_multiplier=noise, rate=rate, updates=count, **more)


def _of_parts(events: Sequence[Event], count: int) -> Told:
    """A schedule, or several releases from each batch: what holds for all parts of it.

    Which part comes when is not said, so the noise is the smallest and the rate the largest.
    """
    parts = [told(event) for event in events]
    noise = [part.noise_multiplier for part in parts if part.noise_multiplier is not None]
    rates = [part.rate for part in parts if part.rate is not None]
    updates = [part.updates for part in parts if part.updates is not None]
    one_kind = len({part.sampling for part in parts}) == 1
    if not one_kind or not len(noise) == len(rates) == len(updates) == len(parts):
        return _NOTHING
    return replace(
        parts[0],
        noise_multiplier=min(noise),
        rate=max(rates),
        updates=count * sum(updates),
        parts=len(parts),
    )


def with_noise_of(
    noise_multiplier: float, *, count: int, kind: type[Any] = Gaussian, **fields: Any
) -> Event:
    """So many updates with noise beside records that come or go by 1, and change by 2."""
    inner = kind(noise_std=noise_multiplier, record_norm=1.0, record_diameter=2.0, **fields)
    return Repeated(event=inner, count=max(1, count))


def poisson(noise_multiplier: float, *, rate: float, updates: int) -> Event:
    """Poisson samples with another rate or another number of updates."""
    kind, q = PoissonSampledGaussian, min(1.0, rate)
    return with_noise_of(noise_multiplier, count=updates, kind=kind, sampling_probability=q)


def shuffled(noise_multiplier: float, *, batch: int, records: int, epochs: int) -> Event:
    """Shuffled batches."""
    kind, sizes = ShuffledGaussian, {"batch_size": batch, "dataset_size": max(batch, records)}
    return with_noise_of(noise_multiplier, count=epochs, kind=kind, **sizes)


def upper(training: PrivateTraining, event: Event) -> float | None:
    """The epsilon that is proven of an event; None if none is."""
    try:
        return rdpkit.epsilon(event, delta=training.delta, adjacency=training.adjacency).epsilon
    except (ValueError, ArithmeticError):
        return None


def at_least(
    training: PrivateTraining, event: Event, *, confidence: float = 1.0, given: str = ""
) -> TrainingLowerBound | None:
    """The epsilon that a pair of neighbours attains; None if no pair is known."""
    at: Any = {"delta": training.delta, "adjacency": training.adjacency}
    try:
        found, _ = rdpkit.lower_bound(event, **at)
    except (ValueError, ArithmeticError):
        return None
    return TrainingLowerBound(epsilon=found.epsilon, confidence=confidence, given=given, **at)


def with_noise(event: Event, factor: float) -> Event:
    """The same event with all noise multiplied."""
    for name in ("noise_std", "noise_multiplier"):
        if hasattr(event, name):
            return replace(event, **{name: getattr(event, name) * factor})
    if isinstance(event, Repeated):
        return replace(event, event=with_noise(event.event, factor))
    if isinstance(event, Composed):
        return replace(event, events=tuple(with_noise(part, factor) for part in event.events))
    raise _validate.fail("event", "to describe DP-SGD", event)


def of_updates(event: Event, account: Told, updates: int) -> Event:
    """The same event with as many updates as were made; whole epochs where batches are of one."""
    inner = event.expand() if isinstance(event, DPSGD) else event
    while isinstance(inner, Repeated):
        inner = inner.event
    if account.sampling in (SHUFFLE, ALLOCATED):
        updates = math.ceil(updates * (account.rate or 1.0) - 1e-9)
    return Repeated(event=inner, count=max(1, updates))
