"""DPMix: noisy means of records and of their one-hot labels (Lee et al. 2019), in two forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from rdpkit.mechanisms.algorithms.dpcda import scaling_notes, with_scaling
from rdpkit.mechanisms.parts.mixing import Mixer, mixed
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import Scaling
from rdpkit.mechanisms.parts.records import Records, public_sizes
from rdpkit.mechanisms.releases.release import Release, check_question, release
from rdpkit.mechanisms.releases.streaming import Batch, Progress, collect

from rdpkit import Adjacency, ClassWiseDPMix, DPMix, _validate

UNIT_BOX = (0.0, 1.0)
"""Every coordinate of a record is cut to these limits, which the account is for."""


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    releases: int,
    order_of_mixture: int,
    feature_noise: float,
    label_noise: float,
    scaling: Scaling,
    delta: float,
    adjacency: Adjacency | str,
    noise: NoiseSource,
    population_size: int | None = None,
    dtype: DTypeLike = np.float32,
    out: str | Path | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Release means of records drawn from the whole data set, with soft labels.

    Guarantee
    ---------
    That of :class:`rdpkit.DPMix` (and of the scaling's event, composed with it) at ``delta`` under
    ``adjacency``: an upper bound, in the manifest.

    Assumes
    -------
    All parameters were fixed before the data were seen, and the number of records is public,
    exactly or as the lower bound ``population_size``.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Private records, of any real type; may be memory-mapped. After scaling, coordinates are cut
        to [0, 1].
    labels : ndarray of int, shape (n,)
        In [0, classes).
    classes : int
        Number of classes.
    releases : int
        Number of synthetic records (T of the paper).
    order_of_mixture : int
        Records drawn without replacement for each of them (l of the paper).
    feature_noise, label_noise : float
        Standard deviations of the noise on each coordinate of the two means, both > 0.
    scaling : Scaling
        Takes features to [0, 1]; see :mod:`rdpkit.mechanisms.parts.preprocessing`.
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    noise : NoiseSource
        Draws subsets and noise.
    population_size : int, optional
        A public lower bound on the number of records, used in the account. By default the exact
        number, which the manifest then shows and notes.
    dtype : dtype
        Of the features: float32 or float64.
    out : str or Path, optional
        A file ``X.npy`` for the features, which may be larger than memory.
    device : str, optional
        A torch device on which means are taken.
    progress : callable, optional
        Called with (records done, records in all).

    Returns
    -------
    Release
        Features of shape (releases, ...), labels of shape (releases, classes), which are noisy and
        need not be probabilities.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Source
    ------
    Lee et al. 2019, "Synthesizing differentially private datasets using random mixing" (ISIT), as
    the DPMix thesis states it; the account is :class:`rdpkit.DPMix`'s.
    """
    check_question(delta=delta, adjacency=adjacency, noise=noise)
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, box=UNIT_BOX
    )
    size, notes = _population(len(records), population_size)
    _refuse_private_statistics(scaling)
    event = DPMix(
        population_size=size,
        releases=releases,
        order_of_mixture=order_of_mixture,
        feature_dimension=records.dimension,
        label_dimension=records.classes,
        feature_noise=feature_noise,
        label_noise=label_noise,
    )
    made, made_labels = collect(
        batches(records, event=event, noise=noise, device=device),
        shape=(releases, *records.shape),
        label_shape=(releases, records.classes),
        label_type=np.float64,
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
            "releases": int(event.releases),
            "order_of_mixture": int(event.order_of_mixture),
            "feature_noise": event.feature_noise,
            "label_noise": event.label_noise,
            "scaling": scaling.as_dict(),
        },
        noise=noise,
        notes=(*notes, *scaling_notes(scaling)),
        mechanism=event.mechanism,
    )


def batches(
    records: Records, *, event: DPMix, noise: NoiseSource, device: str | None = None
) -> Iterator[Batch]:
    """The same, batch by batch, with memory that does not depend on the number of releases.

    Yields
    ------
    features : ndarray of float64, shape (k, d)
        Noisy means.
    labels : ndarray of float64, shape (k, classes)
        Noisy means of one-hot labels.

    Raises
    ------
    ValueError
        If the records are not those that the event describes.
    """
    _check(records, event)
    for means, chosen in mixed(
        Mixer(records, device=device),
        np.arange(len(records)),
        order_of_mixture=event.order_of_mixture,
        releases=event.releases,
        noise=noise,
        dimension=records.dimension,
    ):
        soft = np.zeros((len(chosen), records.classes))
        rows = np.repeat(np.arange(len(chosen)), chosen.shape[1])
        # Whole numbers first: a mean of equal shares would round differently between neighbours.
        np.add.at(soft, (rows, records.labels[chosen].reshape(-1)), 1.0)
        soft /= event.order_of_mixture
        noise.add_normal(means, std=event.feature_noise)
        noise.add_normal(soft, std=event.label_noise)
        yield means, soft


def synthesize_class_wise(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    samples_per_class: int | Sequence[int],
    order_of_mixture: int,
    feature_noise: float,
    label_noise: float,
    scaling: Scaling,
    delta: float,
    adjacency: Adjacency | str,
    noise: NoiseSource,
    hard_labels: bool = False,
    class_sizes: Sequence[int] | None = None,
    dtype: DTypeLike = np.float32,
    out: str | Path | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Release means of records of one class each, a fresh subset for every release.

    The listing of the DPMix thesis draws one subset a class, outside of its loop; then no account
    of sampled subsets is true. Here every release has its own.

    Guarantee
    ---------
    That of :class:`rdpkit.ClassWiseDPMix` (and of the scaling's event, composed with it) at
    ``delta`` under ``adjacency``: an upper bound, in the manifest.

    Assumes
    -------
    All parameters were fixed before the data were seen, and the class sizes are public, exactly or
    as the lower bounds ``class_sizes``.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Private records; after scaling, coordinates are cut to [0, 1].
    labels : ndarray of int, shape (n,)
        In [0, classes).
    classes : int
        Number of classes.
    samples_per_class : int or sequence of int
        Synthetic records of each class.
    order_of_mixture : int
        Records drawn without replacement for each of them.
    feature_noise, label_noise : float
        Standard deviations of the noise; ``label_noise`` may be 0, since the mean label of a class
        is a constant.
    scaling : Scaling
        Takes features to [0, 1].
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    noise : NoiseSource
        Draws subsets and noise.
    hard_labels : bool
        Whether the labels are the places of the largest entries of the noisy one-hot labels, of
        shape (m,), or these themselves, of shape (m, classes).
    class_sizes : sequence of int, optional
        Public lower bounds on the class sizes. By default the data's own counts.
    dtype, out, device, progress
        As for :func:`synthesize`.

    Returns
    -------
    Release
        Features of shape (sum of samples, ...), class by class, and labels.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Source
    ------
    The DPMix thesis, Section 4 and listing B.1, with the subset drawn inside of the loop.
    """
    check_question(delta=delta, adjacency=adjacency, noise=noise)
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, box=UNIT_BOX
    )
    sizes, notes = public_sizes(records, class_sizes)
    _refuse_private_statistics(scaling)
    _validate.one_of_a_kind("hard_labels", hard_labels, bool)
    samples: Any = samples_per_class
    event = ClassWiseDPMix(
        class_sizes=sizes,
        samples_per_class=tuple(samples) if isinstance(samples, (list, np.ndarray)) else samples,
        order_of_mixture=order_of_mixture,
        feature_dimension=records.dimension,
        label_dimension=records.classes,
        feature_noise=feature_noise,
        label_noise=label_noise,
    )
    total = sum(event.samples)
    parts = class_wise_batches(records, event=event, noise=noise, device=device)
    made, made_labels = collect(
        ((rows, np.argmax(soft, axis=1)) for rows, soft in parts) if hard_labels else parts,
        shape=(total, *records.shape),
        label_shape=(total,) if hard_labels else (total, records.classes),
        label_type=np.int64 if hard_labels else np.float64,
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
            "samples_per_class": list(event.samples),
            "order_of_mixture": int(event.order_of_mixture),
            "feature_noise": event.feature_noise,
            "label_noise": event.label_noise,
            "hard_labels": hard_labels,
            "scaling": scaling.as_dict(),
        },
        noise=noise,
        notes=(*notes, *scaling_notes(scaling)),
        mechanism=event.mechanism,
    )


def class_wise_batches(
    records: Records, *, event: ClassWiseDPMix, noise: NoiseSource, device: str | None = None
) -> Iterator[Batch]:
    """The class-wise form, batch by batch, with soft labels.

    Yields
    ------
    features : ndarray of float64, shape (k, d)
        Noisy means.
    labels : ndarray of float64, shape (k, classes)
        Noisy one-hot labels.

    Raises
    ------
    ValueError
        If the records are not those that the event describes.
    """
    _check(records, event)
    mixer = Mixer(records, device=device)
    for label, releases in enumerate(event.samples):
        for means, _ in mixed(
            mixer,
            records.members[label],
            order_of_mixture=event.order_of_mixture,
            releases=releases,
            noise=noise,
            dimension=records.dimension,
        ):
            noise.add_normal(means, std=event.feature_noise)
            soft = noise.normal((len(means), records.classes), std=event.label_noise)
            soft[:, label] += 1.0
            yield means, soft


def _check(records: Records, event: DPMix | ClassWiseDPMix) -> None:
    if (
        records.box != UNIT_BOX
        or records.dimension != event.feature_dimension
        or records.classes != event.label_dimension
    ):
        raise ValueError(
            f"Expected records of {event.feature_dimension} features cut to [0, 1] and "
            f"{event.label_dimension} classes, got {records.dimension} features cut to "
            f"{records.box} and {records.classes} classes."
        )


def _population(actual: int, public: int | None) -> tuple[int, tuple[str, ...]]:
    if public is None:
        return actual, (
            "the number of records is exact and taken as public: the guarantee does not cover the "
            "number itself, which the manifest shows",
        )
    if int(_validate.integer("population_size", public)) > actual:
        raise ValueError(
            "Expected population_size to be a public lower bound on the number of records, but "
            "there are fewer."
        )
    return int(public), ()


def _refuse_private_statistics(scaling: Scaling) -> None:
    if scaling.origin == "exact-z-score":
        raise ValueError(
            "Expected public constants or noisy statistics to scale with: DPMix has no event for "
            "the exact statistics of private data."
        )


__all__ = ["batches", "class_wise_batches", "synthesize", "synthesize_class_wise"]
