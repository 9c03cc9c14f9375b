"""Local perturbation: every record itself, clipped, plus noise. A baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from rdpkit.mechanisms.algorithms.dpcda import scaling_notes, with_scaling
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import Array, Scaling, clip_rows
from rdpkit.mechanisms.parts.records import Records
from rdpkit.mechanisms.releases.release import Release, check_question, release
from rdpkit.mechanisms.releases.streaming import Batch, Progress, collect

from rdpkit import Adjacency, Gaussian, _validate

# Bytes of records in one batch.
_BATCH = 1 << 24


def record_event(*, clip_norm: float, feature_noise: float, label_noise: float) -> Gaussian:
    """One record's features and one-hot label, each divided by its noise: unit noise on both.

    Guarantee
    ---------
    Under replace-one, neighbours differ in one released row, whose vector (features / feature
    noise, one-hot label / label noise) moves by at most sqrt(4 clip^2 / feature_noise^2 +
    2 / label_noise^2). Under add-or-remove-one the number of rows differs, and no noise hides it:
    the event is not for that adjacency, and :func:`synthesize` refuses it.

    Parameters
    ----------
    clip_norm : float
        Largest L2 norm of a record's features.
    feature_noise, label_noise : float
        Standard deviations of the noise on each coordinate.

    Raises
    ------
    ValueError
        If a number is not a finite one > 0.
    """
    features = _validate.positive("clip_norm", clip_norm) / _validate.positive(
        "feature_noise", feature_noise
    )
    label = 1.0 / _validate.positive("label_noise", label_noise)
    return Gaussian(
        noise_std=1.0,
        record_norm=math.hypot(features, label),
        record_diameter=math.hypot(2.0 * features, math.sqrt(2.0) * label),
    )


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    clip_norm: float,
    feature_noise: float,
    label_noise: float,
    scaling: Scaling,
    delta: float,
    adjacency: Adjacency | str,
    noise: NoiseSource,
    dtype: DTypeLike = np.float32,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Release:
    """Release every record with noise on its features and on its one-hot label.

    Guarantee
    ---------
    That of :func:`record_event` (and of the scaling's event, composed with it) at ``delta`` under
    replace-one: an upper bound, in the manifest.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Private records, of any real type; may be memory-mapped.
    labels : ndarray of int, shape (n,)
        In [0, classes).
    classes : int
        Number of classes.
    clip_norm : float
        L2 norm to which scaled records are clipped.
    feature_noise, label_noise : float
        Standard deviations of the noise on each coordinate, both > 0.
    scaling : Scaling
        Applied before clipping.
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        Replace-one; under add-or-remove-one the number of records would give a record away.
    noise : NoiseSource
        Where the noise comes from.
    dtype : dtype
        Of the features: float32 or float64.
    out : str or Path, optional
        A file ``X.npy`` for the features, which may be larger than memory.
    progress : callable, optional
        Called with (records done, records in all).

    Returns
    -------
    Release
        As many records as there were, in their order; labels are the places of the largest entries
        of the noisy one-hot labels.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Source
    ------
    A baseline of DP-CDA's Table 3 and of Lee et al. 2019; the account is the Gaussian mechanism's.
    """
    check_question(delta=delta, adjacency=adjacency, noise=noise)
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, norm=clip_norm
    )
    check_relation(adjacency, scaling)
    event = record_event(clip_norm=clip_norm, feature_noise=feature_noise, label_noise=label_noise)
    made, made_labels = collect(
        batches(records, feature_noise=feature_noise, label_noise=label_noise, noise=noise),
        shape=(len(records), *records.shape),
        label_shape=(len(records),),
        label_type=np.int64,
        dtype=dtype,
        out=out,
        progress=progress,
    )
    return release(
        made,
        made_labels,
        event=with_scaling(event, scaling),
        delta=delta,
        adjacency=adjacency,
        parameters={
            "classes": int(classes),
            "clip_norm": float(clip_norm),
            "feature_noise": float(feature_noise),
            "label_noise": float(label_noise),
            "scaling": scaling.as_dict(),
        },
        noise=noise,
        notes=scaling_notes(scaling),
        mechanism="local_perturbation",
    )


def batches(
    records: Records,
    *,
    feature_noise: float,
    label_noise: float,
    noise: NoiseSource,
    projection: Array | None = None,
    clip_norm: float | None = None,
) -> Iterator[Batch]:
    """The same, batch by batch.

    Parameters
    ----------
    records : Records
        The data, clipped unless they are projected.
    feature_noise, label_noise : float
        Standard deviations of the noise.
    noise : NoiseSource
        Where the noise comes from.
    projection : ndarray, shape (d, k), optional
        Multiplied with records before they are clipped to ``clip_norm``.
    clip_norm : float, optional
        L2 norm to which projected records are clipped.

    Yields
    ------
    features : ndarray of float64, shape (m, d) or (m, k)
        Noisy records.
    labels : ndarray of int64, shape (m,)
        Noisy labels.

    Raises
    ------
    ValueError
        If nothing bounds the norm of what is released.
    """
    if (clip_norm if projection is not None else records.norm) is None:
        raise ValueError("Expected records, or their projections, to be clipped, got no norm.")
    step = max(1, _BATCH // (8 * (records.dimension + records.classes)))
    for start in range(0, len(records), step):
        rows = records.rows(slice(start, start + step))
        if projection is not None:
            assert clip_norm is not None
            rows = clip_rows(rows @ projection, clip_norm)
        noise.add_normal(rows, std=feature_noise)
        soft = noise.normal((len(rows), records.classes), std=label_noise)
        soft[np.arange(len(rows)), records.labels[start : start + step]] += 1.0
        yield rows, np.argmax(soft, axis=1)


def check_relation(adjacency: Adjacency | str, scaling: Scaling) -> None:
    """Refuse what the account of one noisy row a record does not cover.

    Raises
    ------
    ValueError
        For add-or-remove-one, and for scaling with exact private statistics.
    """
    if Adjacency.parse(adjacency) is not Adjacency.REPLACE_ONE:
        raise ValueError(
            "Expected adjacency to be 'replace_one': one row is released for every record, so "
            f"their number tells whether a record is there, got {str(adjacency)!r}."
        )
    if scaling.origin == "exact-z-score":
        raise ValueError(
            "Expected public constants or noisy statistics to scale with: there is no event for "
            "the exact statistics of private data."
        )


__all__ = ["batches", "check_relation", "record_event", "synthesize"]
