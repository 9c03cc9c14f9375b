"""Local perturbation: every record itself, clipped, plus noise. A baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, Gaussian, _validate
from rdpkit.mechanisms.algorithms.dpcda import clipped
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.counts import Sizes
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Array, Batch, Records, Scaling, clip_rows, in_batches
from rdpkit.mechanisms.parts.verify_target import DataPair, target_of_records
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release
from rdpkit.mechanisms.releases.streaming import as_parameters, release_batches
from rdpkit.mechanisms.releases.verdict import delta_check


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPerturbationOptions:
    """Options of local perturbation."""

    clip_norm: float
    """L2 norm to which what is released of a record is clipped before noise is added."""
    #: Standard deviations of the noise on each coordinate, both > 0.
    feature_noise: float
    label_noise: float  #: As ``feature_noise``


def record_event(*, clip_norm: float, feature_noise: float, label_noise: float) -> Gaussian:
    """The event of one record: its features and one-hot label, in units of their noise.

    Guarantee
    ---------
    Under replace-one, neighbours differ in one released row. Its vector (features / feature noise,
    one-hot label / label noise) moves by at most sqrt(4 clip^2 / feature_noise^2 +
    2 / label_noise^2). Under add-or-remove-one the number of rows differs, and no noise hides that.
    So the event does not hold for that adjacency, and :func:`synthesize` refuses it.

    Parameters
    ----------
    clip_norm : float
        Largest L2 norm of a record's features.
    feature_noise, label_noise : float
        Standard deviations of the noise on each coordinate.
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
    options: LocalPerturbationOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release every record with noise on its features and on its one-hot label.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. Under
    add-or-remove-one the number of records would reveal whether a record is there, so the adjacency
    must be replace-one.

    Guarantee
    ---------
    That of :func:`record_event` (and of the scaling's event, composed with it) at the delta of
    ``privacy`` under replace-one: an upper bound, in the manifest.

    Returns
    -------
    Release
        As many records as there were, in their order; labels are the places of the largest entries
        of the noisy one-hot labels.

    Source
    ------
    A baseline of DP-CDA's Table 3 and of Lee et al. 2019; the account is the Gaussian mechanism's.
    """
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, norm=options.clip_norm
    )
    return release_noisy_records(
        records,
        options,
        privacy=privacy,
        mechanism=SPEC.name,
        shape=(len(records), *records.shape),
        computation=computation,
    )


def release_noisy_records(
    records: Records,  # The data, clipped unless they are projected
    options: LocalPerturbationOptions,  # Clip norm and noise
    *,
    privacy: Privacy,  # As for :func:`synthesize`
    mechanism: str,  # Its name
    shape: tuple[int, ...],  # Shape of the released features
    computation: Computation,  # As for :func:`synthesize`
    # Multiplied with records before they are clipped; shape (d, k)
    projection: Array | None = None,
) -> Release:
    """Release every record, or its projection, with noise and with its noisy label."""
    if privacy.adjacency is not Adjacency.REPLACE_ONE:
        raise ValueError(
            "Expected adjacency to be 'replace_one': one row is released for every record, so "
            f"their number tells whether a record is there, got {str(privacy.adjacency)!r}."
        )
    if privacy.most_per_person is not None:
        raise ValueError(
            "Expected neighbours that differ in one record: one row is released for every record, "
            "so their number tells how many a person has."
        )
    records.scaling.check_accounted(mechanism)
    event = event_of_one_record(options, records.class_sizes, records.dimension)
    return release_batches(
        batches(records, options=options, noise=privacy.noise, projection=projection),
        records=records,
        shape=shape,
        event=event,
        privacy=privacy,
        mechanism=mechanism,
        parameters=as_parameters(options),
        computation=computation,
        # Under replace-one, neighbours have as many records, and as many rows are released.
        checks=(delta_check(privacy.delta, len(records)),) if len(records) else (),
    )


def batches(
    records: Records,  # The data, clipped unless they are projected
    *,
    options: LocalPerturbationOptions,  # Noise, and the norm to which projected records are clipped
    noise: NoiseSource,  # Where the noise comes from
    # Multiplied with records before they are clipped; shape (d, k)
    projection: Array | None = None,
) -> Iterator[Batch]:
    """The release of :func:`synthesize` in batches."""
    if projection is None and records.norm != options.clip_norm:
        raise ValueError(
            f"Expected records to be clipped to {options.clip_norm}, got norm={records.norm}."
        )
    for part in in_batches(len(records), records.dimension + records.classes):
        rows = records.rows(part)
        if projection is not None:
            # A projection that overflows is clipped to zeros.
            with np.errstate(over="ignore", invalid="ignore"):
                rows = rows @ projection
            rows = clip_rows(rows, options.clip_norm)
        noise.add_normal(rows, std=options.feature_noise)
        soft = noise.normal((len(rows), records.classes), std=options.label_noise)
        soft[np.arange(len(rows)), records.labels[part]] += 1.0
        yield rows, np.argmax(soft, axis=1)


def event_of_one_record(
    options: LocalPerturbationOptions, class_sizes: Sizes, dimension: int
) -> Gaussian:
    """The :func:`record_event` of some options, which is the same for all data sets."""
    return record_event(
        clip_norm=options.clip_norm,
        feature_noise=options.feature_noise,
        label_noise=options.label_noise,
    )


def opposite_records() -> DataPair:
    """Two data sets that differ in the sign of one record and in its label."""
    rows = np.array([[0.0, 0.0], [10.0, 10.0], [0.0, 0.0]])
    return (rows, np.array([0, 0, 1])), (-rows, np.array([0, 1, 1]))


SMALL = LocalPerturbationOptions(clip_norm=1.0, feature_noise=2.5, label_noise=2.0)
"""The options with which ``rdpkit verify`` tests releases of noisy records."""

verify_target = target_of_records(
    event_of_one_record(SMALL, (), 0),
    partial(batches, options=SMALL),
    norm=SMALL.clip_norm,
    pair=opposite_records,
)

SPEC = Mechanism(
    name="local-perturbation",
    synthesize=synthesize,
    options=LocalPerturbationOptions,
    event=event_of_one_record,
    calibrated=("feature_noise", "label_noise"),
    # A record's features and its label reveal equally much.
    ratio=lambda options: {
        "feature_noise": math.sqrt(2.0) * float(options["clip_norm"]),
        "label_noise": 1.0,
    },
    prepare=clipped,
    verify=verify_target,
)
