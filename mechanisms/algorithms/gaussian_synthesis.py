"""Mean-and-covariance synthesis: records drawn from the normal law that fits each class (M_G)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, Event, GaussianSynthesis, Parallel, _validate
from rdpkit.mechanisms.algorithms.specification import Mechanism, as_parameters
from rdpkit.mechanisms.algorithms.verify_target import DataPair, target_of_records
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import Array, Scaling, in_batches
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Records, public_sizes
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release
from rdpkit.mechanisms.releases.streaming import Batch, release_batches

BOX = (-1.0, 1.0)
"""Every coordinate of a record is cut to these limits, and so is what is released."""

_CHECKED = "that the data's own covariance was checked, and not refused, is not accounted for"


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianSynthesisOptions:
    """Options of mean-and-covariance synthesis.

    Parameters
    ----------
    outputs_per_class : int
        Synthetic records of each class.
    min_eigenvalue : float
        In (0, 1] (sigma of the paper), a public number.
    """

    outputs_per_class: int
    min_eigenvalue: float


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: GaussianSynthesisOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release draws from N(mean, covariance) of each class, cut to [-1, 1]^d; no noise is added.

    A table without classes has ``classes=1`` and labels that are all 0.

    Guarantee
    ---------
    That of :class:`rdpkit.GaussianSynthesis`, class by class (and of the scaling's event, composed
    with it), at the delta and the adjacency of ``privacy``: an upper bound, in the manifest.

    Assumes
    -------
    The covariance of every class, in the data *and in every neighbour*, has no eigenvalue below
    ``min_eigenvalue``. For the data themselves this is checked. If the check refuses the data, the
    refusal says something about them that the guarantee does not cover. The class sizes are public
    and exact, because the event is for one number of records, not for that number or more.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Private records; after scaling, coordinates are cut to [-1, 1].
    labels, classes, privacy, computation
        As for :func:`rdpkit.mechanisms.algorithms.dpcda.synthesize`.
    options : GaussianSynthesisOptions
        How many records to draw, and the assumed eigenvalue.
    scaling : Scaling
        Takes features to [-1, 1].

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
    records = Records(features=features, labels=labels, classes=classes, scaling=scaling, box=BOX)
    scaling.check_accounted("mean-and-covariance synthesis")
    sizes, notes = public_sizes(records, None)
    outputs, least = options.outputs_per_class, options.min_eigenvalue
    parts = tuple(
        GaussianSynthesis(
            records=size, outputs=outputs, dimension=records.dimension, min_eigenvalue=least
        )
        for size in sizes
    )
    event: Event = parts[0] if len(parts) == 1 else Parallel(events=parts)
    return release_batches(
        batches(records, outputs=outputs, min_eigenvalue=least, noise=privacy.noise),
        records=records,
        shape=(records.classes * outputs, *records.shape),
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        parameters=as_parameters(options),
        computation=computation,
        notes=(*notes, _CHECKED),
    )


def batches(
    records: Records, *, outputs: int, min_eigenvalue: float, noise: NoiseSource
) -> Iterator[Batch]:
    """The release of :func:`synthesize` in batches.

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
        classes are checked before the first batch is made.
    """
    if records.box != BOX:
        raise ValueError(f"Expected records cut to {BOX}, got {records.box}.")
    least = _validate.positive("min_eigenvalue", min_eigenvalue)
    fits = [_fit(records, label, least) for label in range(records.classes)]
    for label, (mean, root) in enumerate(fits):
        for part in in_batches(outputs, records.dimension):
            count = part.stop - part.start
            drawn = noise.normal((count, records.dimension)) @ root.T
            drawn += mean
            np.clip(drawn, *BOX, out=drawn)
            yield drawn, np.full(count, label, dtype=np.int64)


def _fit(records: Records, label: int, least: float) -> tuple[Array, Array]:
    """Mean and Cholesky factor of the covariance (divided by n, as the paper does)."""
    members = records.members[label]
    parts = [members[part] for part in in_batches(len(members), records.dimension)]
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
            f"min_eigenvalue = {least:g}, but it has one. The account assumes that the data and "
            "every neighbour have none; fewer features, or a smaller min_eigenvalue, may help."
        )
    return mean, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _records_in_the_corners() -> DataPair:
    """Records in the corners of the box, most at one end, and one more at the other."""
    corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    rows = np.repeat(corners, (20, 9, 9, 2), axis=0)
    labels = np.zeros(len(rows), dtype=np.int64)
    return (rows, labels), (rows[:-1], labels[:-1])


_SMALL = GaussianSynthesis(records=40, outputs=20, dimension=2, min_eigenvalue=0.5)
verify_target = target_of_records(
    _SMALL,
    partial(batches, outputs=_SMALL.outputs, min_eigenvalue=_SMALL.min_eigenvalue),
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    classes=1,
    box=BOX,
    pair=_records_in_the_corners,
)

SPEC = Mechanism(
    name="gaussian-synthesis",
    synthesize=synthesize,
    options=GaussianSynthesisOptions,
    features="signed",
    verify=verify_target,
)

__all__ = ["BOX", "SPEC", "GaussianSynthesisOptions", "batches", "synthesize", "verify_target"]
