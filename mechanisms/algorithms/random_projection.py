"""Random projection: every record projected at random, clipped, plus noise. A baseline."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from rdpkit.mechanisms.algorithms.dpcda import scaling_notes, with_scaling
from rdpkit.mechanisms.algorithms.local_perturbation import batches, check_relation, record_event
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import Array, Scaling
from rdpkit.mechanisms.parts.records import Records
from rdpkit.mechanisms.releases.release import Release, check_question, release
from rdpkit.mechanisms.releases.streaming import Progress, collect

from rdpkit import Adjacency, _validate


def projection_matrix(features: int, dimension: int, *, seed: int) -> Array:
    """A public matrix with independent N(0, 1 / dimension) entries, shape (features, dimension).

    It does not depend on the data, is applied to test records as well, and so is made of a public
    seed: it protects nothing.

    Raises
    ------
    ValueError
        If an argument is not accepted.
    """
    rows = int(_validate.integer("features", features))
    columns = int(_validate.integer("dimension", dimension))
    generator = np.random.default_rng(_validate.integer("projection_seed", seed, minimum=0))
    return generator.normal(0.0, 1.0 / math.sqrt(columns), (rows, columns))


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    dimension: int,
    projection_seed: int,
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
    """Release the random projection of every record, with noise, and its noisy label.

    The norm is clipped *after* the projection, which may stretch a vector. So the guarantee needs
    no bound on the matrix, neither a certain one nor one that holds with a probability.

    Guarantee
    ---------
    That of :func:`rdpkit.mechanisms.algorithms.local_perturbation.record_event` (and of the
    scaling's event, composed with it) at ``delta`` under replace-one: an upper bound, in the
    manifest.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Private records, of any real type; may be memory-mapped.
    labels : ndarray of int, shape (n,)
        In [0, classes).
    classes : int
        Number of classes.
    dimension : int
        Number of coordinates after the projection.
    projection_seed : int
        Of :func:`projection_matrix`; public, and in the manifest.
    clip_norm : float
        L2 norm to which projected records are clipped.
    feature_noise, label_noise : float
        Standard deviations of the noise on each coordinate, both > 0.
    scaling : Scaling
        Applied before the projection.
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
        Features of shape (n, dimension), in the records' order, and integer labels.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Source
    ------
    A baseline of DP-CDA's Table 3 and of Lee et al. 2019, after Xu et al. 2017 (DPPro, IEEE TIFS
    12(12)), whose account of the projection's stretch the clipping replaces.
    """
    check_question(delta=delta, adjacency=adjacency, noise=noise)
    records = Records(features=features, labels=labels, classes=classes, scaling=scaling)
    check_relation(adjacency, scaling)
    matrix = projection_matrix(records.dimension, dimension, seed=projection_seed)
    event = record_event(clip_norm=clip_norm, feature_noise=feature_noise, label_noise=label_noise)
    made, made_labels = collect(
        batches(
            records,
            feature_noise=feature_noise,
            label_noise=label_noise,
            noise=noise,
            projection=matrix,
            clip_norm=clip_norm,
        ),
        shape=(len(records), matrix.shape[1]),
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
            "dimension": int(dimension),
            "projection_seed": int(projection_seed),
            "clip_norm": float(clip_norm),
            "feature_noise": float(feature_noise),
            "label_noise": float(label_noise),
            "scaling": scaling.as_dict(),
        },
        noise=noise,
        notes=scaling_notes(scaling),
        mechanism="random_projection",
    )


__all__ = ["projection_matrix", "synthesize"]
