"""Releases class by class, for the papers' mechanisms that treat all classes alike."""

from __future__ import annotations

from typing import Any

from rdpkit import _validate
from rdpkit.events.base import Event
from rdpkit.events.composition import Parallel, Repeated
from rdpkit.events.free_parameters import FreeParameter, integer
from rdpkit.events.sampled.fixed_size_sampled_gaussian import FixedSizeSampledGaussian


def samples_of_classes(class_sizes: tuple[int, ...], samples_per_class: object) -> tuple[int, ...]:
    """The number of releases of each class, from one number for all or one for each."""
    if not isinstance(samples_per_class, (tuple, list)):
        return (_validate.integer("samples_per_class", samples_per_class),) * len(class_sizes)
    samples = _validate.integers("samples_per_class", samples_per_class)
    if len(samples) != len(class_sizes):
        raise _validate.fail(
            "samples_per_class",
            f"to be an integer or as many integers as there are classes ({len(class_sizes)})",
            samples_per_class,
        )
    return samples


def any_order(event: Any) -> FreeParameter:
    """In a mixture of more records each record takes part more often, but counts less."""
    most = event.mixing.population_of(event)
    return integer(0, highest=most, scaled=("feature_noise", "label_noise"))


def check_mixtures(event: Any) -> None:
    """Check the classes of a new event together, and keep the samples of each as a tuple."""
    samples_of_classes(event.class_sizes, event.samples_per_class)
    if isinstance(event.samples_per_class, list):
        object.__setattr__(event, "samples_per_class", tuple(event.samples_per_class))
    smallest = min(event.class_sizes)
    if event.order_of_mixture > smallest:
        raise _validate.fail(
            "order_of_mixture",
            f"to be an integer in [1, {smallest}] (the smallest of class_sizes)",
            event.order_of_mixture,
        )


def mixtures(event: Any, *, record_norm: float, record_diameter: float | None = None) -> Event:
    """For each class, its releases: noisy means of ``order_of_mixture`` records.

    A single class is a part, too, because the special record of zero-out is in no class.
    """
    events = tuple(
        Repeated(
            event=FixedSizeSampledGaussian(
                noise_std=event.feature_noise,
                record_norm=record_norm,
                record_diameter=record_diameter,
                sample_size=event.order_of_mixture,
                population_size=size,
                release="mean",
            ),
            count=count,
        )
        for size, count in zip(event.class_sizes, event.samples, strict=True)
    )
    return Parallel(events=events, fixed_partition=True)
