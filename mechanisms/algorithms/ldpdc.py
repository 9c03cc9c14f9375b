"""LDPDC: noisy sums over Poisson samples of one class (linear dataset condensation)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from rdpkit.mechanisms.algorithms.dpcda import scaling_notes, with_scaling
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import Scaling
from rdpkit.mechanisms.parts.records import Records, public_sizes
from rdpkit.mechanisms.parts.sampling import poisson_sample
from rdpkit.mechanisms.releases.release import Release, check_question, release
from rdpkit.mechanisms.releases.streaming import Batch, Progress, collect

from rdpkit import LDPDC, Adjacency, _validate

# Bytes of releases in one batch, and of records summed at once.
_BATCH = 1 << 24


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    samples_per_class: int,
    group_size: float,
    noise_std: float,
    value_bound: float,
    scaling: Scaling,
    delta: float,
    adjacency: Adjacency | str,
    noise: NoiseSource,
    class_sizes: Sequence[int] | None = None,
    dtype: DTypeLike = np.float32,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Release:
    """Release, for each synthetic record, a noisy sum over a Poisson sample, divided by its size.

    It is divided by the *expected* size of the sample, which is public.

    Guarantee
    ---------
    That of :class:`rdpkit.LDPDC` (and of the scaling's event, composed with it) at ``delta`` under
    ``adjacency``: an upper bound, in the manifest.

    Assumes
    -------
    All parameters were fixed before the data were seen. The class sizes from which the sampling
    probabilities are made are public; with ``class_sizes`` the probabilities are truly the same
    for neighbours.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Private records, of any real type; may be memory-mapped. After scaling, coordinates are cut
        to [-value_bound, value_bound].
    labels : ndarray of int, shape (n,)
        In [0, classes).
    classes : int
        Number of classes.
    samples_per_class : int
        Synthetic records of each class (M of the paper).
    group_size : float
        Expected size of a sample (L of the paper).
    noise_std : float
        Standard deviation of the noise on each coordinate of the sum (sigma of the paper).
    value_bound : float
        Largest size of a coordinate (b of the paper).
    scaling : Scaling
        Takes features to [-value_bound, value_bound].
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    noise : NoiseSource
        Draws samples and noise.
    class_sizes : sequence of int, optional
        Public lower bounds on the class sizes: records of class c join with probability
        ``group_size / class_sizes[c]``. By default the data's own counts, which is noted.
    dtype : dtype
        Of the features: float32 or float64.
    out : str or Path, optional
        A file ``X.npy`` for the features, which may be larger than memory.
    progress : callable, optional
        Called with (records done, records in all).

    Returns
    -------
    Release
        Features of shape (classes * samples_per_class, ...), class by class, and integer labels.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Source
    ------
    Differentially Private Dataset Condensation, Algorithm 1; the account is
    :class:`rdpkit.LDPDC`'s, which includes the paper's Theorem 3.1.
    """
    check_question(delta=delta, adjacency=adjacency, noise=noise)
    bound = _validate.positive("value_bound", value_bound)
    records = Records(
        features=features,
        labels=labels,
        classes=classes,
        scaling=scaling,
        box=(-bound, bound),
    )
    if scaling.origin == "exact-z-score":
        raise ValueError(
            "Expected public constants or noisy statistics to scale with: LDPDC has no event for "
            "the exact statistics of private data."
        )
    sizes, notes = public_sizes(records, class_sizes)
    event = LDPDC(
        class_sizes=sizes,
        group_size=group_size,
        samples_per_class=samples_per_class,
        noise_std=noise_std,
        value_bound=value_bound,
        dimension=records.dimension,
    )
    total = records.classes * event.samples_per_class
    made, made_labels = collect(
        batches(records, event=event, noise=noise),
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
            "samples_per_class": int(event.samples_per_class),
            "group_size": event.group_size,
            "noise_std": event.noise_std,
            "value_bound": event.value_bound,
            "scaling": scaling.as_dict(),
        },
        noise=noise,
        notes=(*notes, *scaling_notes(scaling)),
        mechanism=event.mechanism,
    )


def batches(records: Records, *, event: LDPDC, noise: NoiseSource) -> Iterator[Batch]:
    """The same, batch by batch, with memory that does not depend on the number of releases.

    Yields
    ------
    features : ndarray of float64, shape (k, d)
        Noisy sums, divided by the expected size of a sample.
    labels : ndarray of int64, shape (k,)
        Their classes.

    Raises
    ------
    ValueError
        If the records are not those that the event describes.
    """
    if (
        records.box != (-event.value_bound, event.value_bound)
        or records.dimension != event.dimension
        or records.classes != len(event.class_sizes)
    ):
        raise ValueError(
            f"Expected records of {event.dimension} features of size at most {event.value_bound} "
            f"and {len(event.class_sizes)} classes, got {records.dimension} features cut to "
            f"{records.box} and {records.classes} classes."
        )
    room = max(1, _BATCH // (8 * records.dimension))
    for label, members in enumerate(records.members):
        probability = event.group_size / event.class_sizes[label]
        for start in range(0, event.samples_per_class, room):
            count = min(room, event.samples_per_class - start)
            sums = np.zeros((count, records.dimension))
            for i in range(count):
                joined = members[poisson_sample(len(members), probability, noise=noise)]
                for first in range(0, len(joined), room):
                    sums[i] += records.rows(joined[first : first + room]).sum(axis=0)
            noise.add_normal(sums, std=event.noise_std)
            sums /= event.group_size
            yield sums, np.full(count, label, dtype=np.int64)


__all__ = ["batches", "synthesize"]
