"""What a report pays for with noise: its own numbers, and a classifier to compare with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

import rdpkit
from rdpkit import Adjacency, Event, Guarantee, _validate
from rdpkit.mechanisms.evaluation.utility.samples import Sample, SampleColumn
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.scattering import scattering

# Errors of marginals and accuracies with noise, so that they may be published.
#
# Each number is an average over the n real records of something in [0, 1], or a total variation
# distance to a distribution that the release fixes. To replace a record moves each by 1/n at most,
# and all K of them together by sqrt(K)/n in the L2 norm. Gaussian noise on all of them is one
# :class:`rdpkit.Gaussian`.

# What floats may lose in a sum of shares.
_ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What the report itself may cost."""

    #: Of the report, beside what the release costs; both above 0.
    epsilon: float
    delta: float  #: As ``epsilon``
    adjacency: Adjacency | str  #: "replace_one": the number of real records stands in the report

    def __post_init__(self) -> None:
        _validate.positive("epsilon", self.epsilon)
        _validate.open_probability("delta", self.delta)
        found = Adjacency.parse(self.adjacency)
        if found is not Adjacency.REPLACE_ONE:
            raise _validate.fail(
                "adjacency",
                "to be 'replace_one' for a private report, which shows the number of records",
                found.value,
            )


def noisy_averages(
    values: NDArray[np.float64],  # Averages over ``records`` real records; shape (K,)
    *,
    records: int,  # How many there are; public under replace-one
    budget: Budget,  # What they may cost
    noise: NoiseSource,  # Where the noise comes from
) -> tuple[NDArray[np.float64], rdpkit.Gaussian, Guarantee]:
    """Numbers of which each moves by 1/n at most, with noise, in [0, 1]; and what they cost.

    Guarantee
    ---------
    At most the budget's epsilon, at its delta, under replace-one.
    """
    _validate.integer("records", records)
    moved = math.sqrt(len(values)) / records * _ROUNDING
    unit = rdpkit.Gaussian(noise_std=1.0, record_norm=moved, record_diameter=moved)
    event, guarantee = _calibrated(unit, budget)
    answers = np.array(values, dtype=np.float64)
    noise.add_normal(answers, std=event.noise_std)
    return np.clip(answers, 0.0, 1.0), event, guarantee


def _calibrated(
    event: rdpkit.Gaussian, target: Budget | Guarantee
) -> tuple[rdpkit.Gaussian, Guarantee]:
    """The event with the least noise that meets a target, and what it guarantees."""
    found = rdpkit.calibrate(
        event,
        parameter="noise_std",
        target_epsilon=target.epsilon,
        delta=target.delta,
        adjacency=target.adjacency,
    )
    return cast(rdpkit.Gaussian, found.event), found.guarantee


# A linear classifier trained on the real records with noise, at the epsilon of the release.
#
# It is what somebody could have who asks one question of the data, instead of a release that
# answers many: every step releases the sum of all clipped gradients, with Gaussian noise.

STEPS = 40
_NORM = 1.0  # To which gradients are clipped
_FASTEST, _QUIET = 100.0, 0.3  # Largest step, and the noise that a step may have
_POOLS, _SMALLEST, _PIECE = 3, 8, 2_000  # Pools a side; smallest side of an image; images at once


def noisy_steps(target: Guarantee) -> tuple[float, Event]:
    """The noise of one step, and what all of them release.

    Guarantee
    ---------
    The sum of clipped gradients has the record norm 1; noise of that size on each of
    :data:`STEPS` sums, which may depend on each other, costs the target but for rounding.
    """
    once, _ = _calibrated(rdpkit.Gaussian(noise_std=1.0, record_norm=_NORM), target)
    # Gaussian releases add up: as many steps with that much more noise tell as much as one.
    std = once.noise_std * math.sqrt(STEPS)
    return std, rdpkit.Gaussian(noise_std=std, record_norm=_NORM) * STEPS


def private_linear(
    rows: NDArray[np.float64],  # Real records; shape (n, d)
    # Their classes; those of other classes are left out record by record; shape (n,)
    answers: NDArray[np.object_],
    tests: NDArray[np.float64],  # Records to classify; shape (m, d)
    *,
    classes: tuple[str, ...],  # All classes
    target: Guarantee,  # Of the release
    noise: NoiseSource,  # Where the noise comes from
) -> NDArray[np.object_]:
    """What a linear classifier says that is trained with noise, at the guarantee's epsilon.

    Assumes
    -------
    ``classes`` and the units of ``rows`` are public, or come from the release. The number of
    records divides the noisy sum and is taken to be public.
    """
    std, _ = noisy_steps(target)
    names = np.array(classes, dtype=object)
    x = _short(rows)
    hot = (answers[:, None] == names[None, :]).astype(np.float64)
    # The last row is the intercept; shape (d + 1, classes).
    weights = np.zeros((x.shape[1], len(classes)))
    total, average = np.zeros_like(weights), max(1, len(x))
    # Much noise lowers the learning rate, so that a step moves the weights by little of it.
    rate = min(_FASTEST, _QUIET * average / std)
    for step in range(STEPS):
        scores = x @ weights
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        pull = (hot - shares) * hot.sum(axis=1, keepdims=True)
        # One record's gradient is an outer product: its norm is that of x times that of pull.
        norms = np.linalg.norm(x, axis=1) * np.linalg.norm(pull, axis=1)
        pull *= np.minimum(1.0, _NORM * (1.0 - 1e-12) / np.maximum(norms, 1e-300))[:, None]
        gradient = np.ascontiguousarray(x.T @ pull)
        noise.add_normal(gradient, std=std)
        weights = weights + rate * gradient / average
        if step >= STEPS // 2:
            total += weights
    said = (_short(tests) @ (total / (STEPS - STEPS // 2))).argmax(axis=1)
    return np.asarray(names[said], np.object_)


def private_inputs(sample: Sample) -> Sample:
    """The columns for a private linear model: of images a wavelet scattering, pooled 3 by 3.

    It takes no data, and works on each record by itself. Other records stay as they are.
    """
    if sample.image is None or min(sample.image[1:]) < _SMALLEST:
        return sample
    grey = sample.pixels().reshape(sample.rows, *sample.image).mean(axis=1).astype(np.float32)
    pieces = [_pooled(scattering(grey[i : i + _PIECE])) for i in range(0, len(grey), _PIECE)]
    features = np.concatenate(pieces)
    return Sample(
        columns=tuple(
            SampleColumn(name=f"s{i}", kind="number", values=features[:, i])
            for i in range(features.shape[1])
        )
    )


def _pooled(found: NDArray[np.float32]) -> NDArray[np.float64]:
    """Means over a few parts of the places of each channel, flat."""
    height, width = found.shape[2:]
    parts = [
        found[:, :, rows][:, :, :, columns].mean(axis=(2, 3), dtype=np.float64)
        for rows in np.array_split(np.arange(height), min(_POOLS, height))
        for columns in np.array_split(np.arange(width), min(_POOLS, width))
    ]
    return np.concatenate(parts, axis=1)


def _short(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with an intercept, of norm 1 at most."""
    x = np.column_stack([rows, np.ones(len(rows))])
    short: NDArray[np.float64] = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    return short
