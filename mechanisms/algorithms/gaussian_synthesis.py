"""Mean-and-covariance synthesis: records drawn from the normal law that fits each class (M_G)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from rdpkit.mechanisms.algorithms.dpcda import scaling_notes, with_scaling
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import Array, Scaling
from rdpkit.mechanisms.parts.records import Records, public_sizes
from rdpkit.mechanisms.releases.release import Release, check_question, release
from rdpkit.mechanisms.releases.streaming import Batch, Progress, collect

from rdpkit import Adjacency, Event, GaussianSynthesis, Parallel, _validate

BOX = (-1.0, 1.0)
"""Every coordinate of a record is cut to these limits, and so is what is released."""

# Bytes of records in one batch.
_BATCH = 1 << 24


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    outputs_per_class: int,
    min_eigenvalue: float,
    scaling: Scaling,
    delta: float,
    adjacency: Adjacency | str,
    noise: NoiseSource,
    dtype: DTypeLike = np.float32,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Release:
    """Release draws from N(mean, covariance) of each class, cut to [-1, 1]^d; no noise is added.

    A table without classes has ``classes=1`` and labels that are all 0.

    Guarantee
    ---------
    That of :class:`rdpkit.GaussianSynthesis`, class by class (and of the scaling's event, composed
    with it), at ``delta`` under ``adjacency``: an upper bound, in the manifest.

    Assumes
    -------
    The covariance of every class, in the data *and in every neighbour*, has no eigenvalue below
    ``min_eigenvalue``. For the data themselves it is checked. To be refused is then an answer too,
    which the guarantee does not cover. The class sizes are public, and exact: the event is for one
    number of records, not for that number or more.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Private records; after scaling, coordinates are cut to [-1, 1].
    labels : ndarray of int, shape (n,)
        In [0, classes).
    classes : int
        Number of classes.
    outputs_per_class : int
        Synthetic records of each class.
    min_eigenvalue : float
        In (0, 1] (sigma of the paper), a public number.
    scaling : Scaling
        Takes features to [-1, 1].
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    noise : NoiseSource
        Draws the records.
    dtype : dtype
        Of the features: float32 or float64.
    out : str or Path, optional
        A file ``X.npy`` for the features, which may be larger than memory.
    progress : callable, optional
        Called with (records done, records in all).

    Returns
    -------
    Release
        Features of shape (classes * outputs_per_class, ...), class by class, and integer labels.

    Raises
    ------
    ValueError
        If an argument is not accepted, or the covariance of a class has a smaller eigenvalue.

    Source
    ------
    Miura et al. 2023, Section 2.3; the account is :class:`rdpkit.GaussianSynthesis`'s.
    """
    check_question(delta=delta, adjacency=adjacency, noise=noise)
    records = Records(features=features, labels=labels, classes=classes, scaling=scaling, box=BOX)
    if scaling.origin == "exact-z-score":
        raise ValueError(
            "Expected public constants or noisy statistics to scale with: there is no event for "
            "the exact statistics of private data."
        )
    sizes, notes = public_sizes(records, None)
    parts = tuple(
        GaussianSynthesis(
            records=size,
            outputs=outputs_per_class,
            dimension=records.dimension,
            min_eigenvalue=min_eigenvalue,
        )
        for size in sizes
    )
    event: Event = parts[0] if len(parts) == 1 else Parallel(events=parts)
    total = records.classes * outputs_per_class
    made, made_labels = collect(
        batches(records, outputs=outputs_per_class, min_eigenvalue=min_eigenvalue, noise=noise),
        shape=(total, *records.shape),
        label_shape=(total,),
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
            "outputs_per_class": int(outputs_per_class),
            "min_eigenvalue": float(min_eigenvalue),
            "scaling": scaling.as_dict(),
        },
        noise=noise,
        notes=(
            *notes,
            *scaling_notes(scaling),
            "that the data's own covariance was checked, and not refused, is not accounted for",
        ),
        mechanism="gaussian_synthesis",
    )


def batches(
    records: Records, *, outputs: int, min_eigenvalue: float, noise: NoiseSource
) -> Iterator[Batch]:
    """The same, batch by batch.

    Yields
    ------
    features : ndarray of float64, shape (k, d)
        Draws, cut to [-1, 1].
    labels : ndarray of int64, shape (k,)
        Their classes.

    Raises
    ------
    ValueError
        If the records are not cut to [-1, 1], or a covariance has a smaller eigenvalue. All
        classes are looked at before the first batch.
    """
    if records.box != BOX:
        raise ValueError(f"Expected records cut to {BOX}, got {records.box}.")
    least = _validate.positive("min_eigenvalue", min_eigenvalue)
    fits = [_fit(records, label, least) for label in range(records.classes)]
    step = max(1, _BATCH // (8 * records.dimension))
    for label, (mean, root) in enumerate(fits):
        for start in range(0, outputs, step):
            count = min(step, outputs - start)
            drawn = noise.normal((count, records.dimension)) @ root.T
            drawn += mean
            np.clip(drawn, *BOX, out=drawn)
            yield drawn, np.full(count, label, dtype=np.int64)


def _fit(records: Records, label: int, least: float) -> tuple[Array, Array]:
    """Mean and Cholesky factor of the covariance (divided by n, as the paper does)."""
    members = records.members[label]
    step = max(1, _BATCH // (8 * records.dimension))
    parts = [members[start : start + step] for start in range(0, len(members), step)]
    if not parts:
        raise ValueError(f"Expected every class to have a record, got none of class {label}.")
    mean = np.zeros(records.dimension)
    for part in parts:
        mean += records.rows(part).sum(axis=0)
    mean /= len(members)
    covariance = np.zeros((records.dimension, records.dimension))
    for part in parts:
        centred = records.rows(part) - mean
        covariance += centred.T @ centred
    covariance /= len(members)
    smallest = float(np.linalg.eigvalsh(covariance)[0])
    if not smallest >= least:
        raise ValueError(
            f"Expected the covariance of class {label} to have no eigenvalue below "
            f"min_eigenvalue = {least:g}, but it has. The account assumes it of the data and of "
            "every neighbour; fewer features, or a smaller min_eigenvalue, may help."
        )
    return mean, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


__all__ = ["BOX", "batches", "synthesize"]
