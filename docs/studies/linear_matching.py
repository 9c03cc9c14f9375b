"""Synthetic records that minimise distribution matching with *linear* extractors.

They are the class mean plus standard normal coordinates in an orthogonal basis whose first vectors
span the class. "Condensation is private for free" is derived for this construction. Learnt records
are not of this kind (``bai_saranadasa.py`` compares the two), so its privacy says nothing about
theirs.

Run in this folder, ``rdpkit verify linear_matching:verify_target`` tests the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import rdpkit
from rdpkit import _validate
from rdpkit.mechanisms.parts.counts import BOUND_BY_CLASS
from rdpkit.mechanisms.parts.labelled_images import balanced_labels, labelled_images
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch
from rdpkit.mechanisms.parts.verify_target import DataPair, LabelledRecords, VerifyTarget
from rdpkit.mechanisms.releases.release import Release, release, release_without_guarantee

Array = NDArray[np.float64]


def spanning_basis(
    records: ArrayLike,  # Shape (n, d)
) -> Array:
    """An orthogonal matrix whose first columns span the records.

    Appendix C of the source prints X_c = Q_c R with records as rows. Then Q_c would have a row for
    each *record* and could not be applied to a vector of pixels. The formula holds with records as
    columns: X_c' = Q_c R.

    Returns
    -------
    array of shape (d, d)
        Q with Q'Q = I; the records lie in the span of its first min(n, d) columns.
    """
    rows = np.asarray(records, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise _validate.fail("records", "to be finite numbers of shape (n, d)", rows.shape)
    # With d rows or more, the reduced factor Q is square already.
    return np.linalg.qr(rows.T, mode="complete" if len(rows) < rows.shape[1] else "reduced")[0]


def mean_event(
    class_sizes: Sequence[int],  # Records per class
    *,
    samples_per_class: int,  # Releases per class
    dimension: int,  # Pixels of a record, each in [-1, 1]
) -> rdpkit.Event:
    """The event of records made from fresh coordinates: noisy class means, with noise 1."""
    # Rounded up, so that the sensitivity is not below the real number.
    reach = [math.nextafter(2.0 * math.sqrt(dimension) / n, math.inf) for n in class_sizes]
    parts = tuple(
        rdpkit.Repeated(
            event=rdpkit.Gaussian(noise_std=1.0, record_norm=r, record_diameter=r),
            count=samples_per_class,
        )
        for r in reach
    )
    return parts[0] if len(parts) == 1 else rdpkit.Parallel(events=parts)


def synthesize(
    # Pixels in [-1, 1]; shape (n, channels, height, width), or (n, d) with ``image_shape``
    features: ArrayLike,
    labels: ArrayLike,  # Each class at least once; shape (n,)
    *,
    classes: int,  # Number of classes
    # Delta and adjacency of the guarantee, and the source of s~. With ``initial`` there is no
    # guarantee, and no noise is drawn.
    privacy: Privacy,
    samples_per_class: int = 50,  # Synthetic records per class
    # The coordinates s~, for a comparison with another method from the same initial records; shape
    # (classes, samples_per_class, d)
    initial: ArrayLike | None = None,
    image_shape: tuple[int, int, int] | None = None,  # Channels, height and width of flat records
) -> Release:
    """Make records Q s~ + mean for each class, with s~ ~ N(0, I) and Q a basis of the class's span.

    Guarantee
    ---------
    With fresh coordinates: per class c, ``samples_per_class`` Gaussian mechanisms on the class mean
    with noise 1. An orthogonal Q leaves N(0, I) as it is, whatever Q was computed from, so the
    records have the law N(mean, I) and say nothing about Q beyond the mean. One record of d pixels
    in [-1, 1] moves the mean of a class by at most 2 sqrt(d) / n_c, with n_c the larger of the two
    sizes: replaced within the class by |x - x'| / n_c, added or removed by |x - mean| / n_c.

    With ``initial`` given, there is none: whoever has the initial records, too, can compute the
    mean and, if the initial records span the space, Q.

    Assumes
    -------
    Class c of the larger neighbour has at least the n_c records that it has here. Class sizes are
    public: the manifest states them.
    Noise that is multiplied by Q still counts as noise, although the product in floating-point
    numbers is not hardened as the numbers of the source are.

    Returns
    -------
    Release
        ``classes * samples_per_class`` records, sorted by class.

    Source
    ------
    Zheng and Li, Differentially Private Dataset Condensation (2023), Equation 8 and Appendix C, of
    Dong, Zhao and Lyu, Privacy for Free (ICML 2022), Proposition 4.3.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    # Its theorem is for classes of known sizes, and no class may be empty.
    counts = replace(privacy, counts="public").known_counts(data.class_sizes(), BOUND_BY_CLASS)
    sizes = counts.sizes
    per_class = _validate.integer("samples_per_class", samples_per_class)
    d = int(np.prod(data.shape))
    shape = (classes, per_class, d)
    given = initial is not None
    start = np.asarray(initial, dtype=np.float64) if given else privacy.noise.normal(shape, std=1.0)
    if start.shape != shape or not np.isfinite(start).all():
        raise _validate.fail("initial", f"to be finite numbers of shape {shape}", start.shape)
    synthetic = np.empty(shape)
    for label in range(classes):
        records = data.of_class(label).reshape(-1, d).astype(np.float64)
        synthetic[label] = start[label] @ spanning_basis(records).T + records.mean(axis=0)
    parameters: dict[str, Any] = {
        "samples_per_class": per_class,
        "initial": "given" if given else "drawn",
        "image_shape": list(data.shape),
    }
    arrays = data.as_given(synthetic.reshape(-1, d)), balanced_labels(classes, per_class)
    if given:
        return release_without_guarantee(
            *arrays,
            mechanism="linear-matching",
            parameters=parameters,
            notes=("not private: the initial records are known elsewhere",),
            noise=privacy.noise,
        )
    return release(
        *arrays,
        event=mean_event(sizes, samples_per_class=per_class, dimension=d),
        privacy=privacy,
        mechanism="linear-matching",
        parameters=parameters,
        counts=counts,
    )


def _against_the_rest() -> DataPair:
    """One record at the opposite end of the box from the rest of its class."""
    rows = np.full((8, 2), -1.0)
    rows[3] = 1.0
    labels = np.repeat(np.arange(2), 4)
    return (rows, labels), (np.delete(rows, 3, axis=0), np.delete(labels, 3))


def _run(dataset: LabelledRecords, noise: NoiseSource) -> list[Batch]:
    """The synthetic records themselves."""
    made = synthesize(
        dataset.features,
        dataset.labels,
        classes=2,
        privacy=Privacy(delta=1e-3, adjacency=rdpkit.Adjacency.ADD_OR_REMOVE_ONE, noise=noise),
        samples_per_class=2,
        image_shape=(1, 1, 2),
    )
    return [(made.features.astype(np.float64), made.labels)]


verify_target = VerifyTarget(
    event=mean_event((4, 4), samples_per_class=2, dimension=2),
    adjacency=rdpkit.Adjacency.ADD_OR_REMOVE_ONE,
    run=_run,
    pair=_against_the_rest,
)
