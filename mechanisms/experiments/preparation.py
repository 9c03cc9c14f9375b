"""Preparation of records for a mechanism and for a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, _validate
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.algorithms.specification import SCALING, Mechanism
from rdpkit.mechanisms.data.dataset import Dataset, load_table
from rdpkit.mechanisms.data.published import load_dataset
from rdpkit.mechanisms.experiments.experiment import TABLE, Cell
from rdpkit.mechanisms.parts.counts import Sizes
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Scaling, exact_z_score, public_scaling
from rdpkit.mechanisms.releases.computation import Checkpoint, counts_of_run
from rdpkit.mechanisms.releases.manifest import Manifest
from rdpkit.mechanisms.releases.release import Release

# Means of several records, moved apart until they vary as much as the records do.
#
# A mean of l records of a class varies around the class's mean with 1/l of the records' variance,
# and carries noise whose size the manifest states. Subtracting the noise's variance and multiplying
# by l gives an estimate of the variance of the records. The means are moved apart until they have
# that variance. Only the release and its manifest are used, so this is post-processing and costs no
# privacy.


def spread(
    features: NDArray[np.float32],  # Released means; shape (n, d)
    labels: NDArray[Any],  # Their classes; shape (n,)
    manifest: Manifest,  # Its parameters state ``order_of_mixture`` and ``feature_noise``
) -> NDArray[np.float32]:  # Shape (n, d)
    """Move each release away from its class's mean as far as a record would be.

    The releases' common covariance within classes is estimated and decomposed. Along a direction
    with variance v, of which s^2 is noise, deviations are multiplied by sqrt(l (v - s^2) / v). This
    gives them the variance l (v - s^2) that records have there. Deviations along directions where
    only noise is visible (v is at most the largest variance that noise alone gives) are removed.

    Source
    ------
    rdpkit; the largest variance that noise alone gives is the upper edge of Marchenko and Pastur
    (1967), s^2 (1 + sqrt(d / n))^2.
    """
    parameters = manifest.parameters
    if "order_of_mixture" not in parameters or labels.ndim != 1:
        raise _validate.fail(
            "postprocessing", "'spread' only for means of records of one class", manifest.mechanism
        )
    mixed = _validate.integer("order_of_mixture", parameters["order_of_mixture"])
    noise = _validate.non_negative("feature_noise", parameters.get("feature_noise", 0.0))
    names, members, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise _validate.fail("releases", "to be at least 2 of each class", int(counts.min()))
    rows = features.astype(np.float64)
    means = np.stack([rows[members == i].mean(axis=0) for i in range(len(names))])
    deviations = rows - means[members]
    freedom = len(rows) - len(names)
    variances, directions = np.linalg.eigh(deviations.T @ deviations / freedom)
    edge = noise**2 * (1.0 + np.sqrt(rows.shape[1] / freedom)) ** 2
    above_noise = variances > edge
    directions, variances = directions[:, above_noise], variances[above_noise]
    factors = np.sqrt(mixed * (variances - noise**2) / variances)
    moved = means[members] + (deviations @ directions * factors) @ directions.T
    spread_out: NDArray[np.float32] = moved.astype(np.float32)
    return spread_out


Floats = NDArray[np.float32]
BYTES = (0.0, 255.0)


def load(
    choice: Mapping[str, Any],  # The experiment's ``[dataset]``
    directory: str | Path | None,  # The data directory; for a table, what its file names start from
) -> Dataset:
    """The data set that an experiment names."""
    if choice["name"] == TABLE:
        base = Path(directory) if directory is not None else Path()
        ranges = choice["ranges"]
        shape = choice.get("image_shape")
        data = load_table(
            base / choice["train"],
            base / choice["test"],
            label=choice["label"],
            classes=[str(name) for name in choice["classes"]],
            ranges=ranges if isinstance(ranges, Mapping) else tuple(ranges),
            image_shape=None if shape is None else tuple(shape),
        )
    else:
        data = load_dataset(choice["name"], directory)
    limit = choice.get("train_records")
    if limit is None or limit >= len(data.train_features):
        return data
    return replace(
        data, train_features=data.train_features[:limit], train_labels=data.train_labels[:limit]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A data set scaled by public constants for a mechanism."""

    data: Dataset  # As loaded
    # In [0, 1] or [-1, 1]; shape (n, d).
    train: Floats
    test: Floats


def scale(data: Dataset, features: str) -> Scaled:
    """Scale to the range that a mechanism wants: "unit" or "signed"."""
    low = -1.0 if features == "signed" else 0.0
    return Scaled(data=data, train=data.scaled("train", low=low), test=data.scaled("test", low=low))


def scaling_of(preprocessing: str, train: Floats) -> Scaling:
    """The scaling that the option ``preprocessing`` of a mechanism asks for."""
    if preprocessing == "exact-z-score":
        return exact_z_score(train, allow_private_statistics=True)
    return public_scaling()


def private_records(
    mechanism: Mechanism, preprocessing: str, scaled: Scaled
) -> tuple[NDArray[Any], Scaling]:
    """The training records as a mechanism gets them, and how it has to scale them.

    A mechanism that scales records to [0, 1] itself gets bytes as they are stored: they take an
    eighth of the memory of numbers in double precision, and their sums are exact.
    """
    data = scaled.data
    if (
        preprocessing == "public"
        and scales_itself(mechanism)
        and data.train_features.dtype == np.uint8
        and data.value_range == BYTES
    ):
        return data.train_features, public_scaling(factor=1 / BYTES[1])
    return scaled.train, scaling_of(preprocessing, scaled.train)


def scales_itself(mechanism: Mechanism) -> bool:
    """Whether a mechanism takes a scaling of records to [0, 1]."""
    return mechanism.features == "unit" and "scaling" in mechanism.arguments()


def calibrated(
    spec: Mechanism,
    options: Mapping[str, Any],  # As :meth:`Mechanism.check` returns them
    privacy: Privacy,
    class_sizes: Sizes,  # The data's own, which are looked at as ``privacy.counts`` says
    *,
    dimension: int,  # Features of a record
    kept: dict[str, dict[str, Any]] | None = None,  # What was found before, which takes no time
    checkpoint: Checkpoint | None = None,  # From which the release may go on
    **question: Any,  # ``target_epsilon`` and ``bound`` of :func:`rdpkit.calibrate`
) -> tuple[dict[str, Any], Privacy]:
    """Options with the noise that meets a target, and counts that are known once and for all.

    Noise is calibrated by these, and never by others that were read from the data.
    """
    known, needed = None, spec.counts_needed(options)
    if needed is not None:
        known = counts_of_run(class_sizes, needed, privacy, checkpoint)
        privacy = replace(privacy, counts=known)
    if privacy.most_per_person is not None:
        spec = spec.of_persons(privacy.most_per_person)
    asked = {
        "classes": len(class_sizes),
        "dimension": dimension,
        "delta": privacy.delta,
        "adjacency": Adjacency.parse(privacy.adjacency),
        **question,
    }
    found = {} if kept is None else kept
    key = repr((spec.name, privacy.most_per_person, options, known, asked))
    if key not in found:
        found[key] = spec.calibrate_with(options, known, **asked)
    return dict(found[key]), privacy


def tested_records(cell: Cell, scaled: Scaled) -> Floats:
    """Test records as the mechanism would have prepared them, record by record.

    A z-score uses the statistics of the training records, as in the release. A random projection
    uses the public matrix of the release.
    """
    mechanism = find_mechanism(cell.mechanism)
    options = mechanism.check(cell.options, calibrated=cell.privacy.target_epsilon is not None)
    if SCALING not in options:
        return scaled.test
    rows = scaling_of(options[SCALING], scaled.train).apply(scaled.test)
    if mechanism.prepare is not None:
        rows = mechanism.prepare(rows, options)
    prepared: Floats = rows.astype(np.float32)
    return prepared


def training_records(cell: Cell, release: Release) -> Floats:
    """Released records after the experiment's post-processing, flat."""
    features = np.asarray(release.features, np.float32).reshape(len(release.features), -1)
    if cell.postprocessing == "zero-negatives":
        return np.maximum(features, 0.0)
    if cell.postprocessing == "spread":
        return spread(features, np.asarray(release.labels), release.manifest)
    return features


def as_inputs(cell: Cell, data: Dataset, records: Floats) -> Floats:
    """Records of shape (n, d) as images for the model."""
    channels, size = data.model_input
    if records.shape[1] != channels * size[0] * size[1]:
        # Projected records are no images. Their coordinates are the columns of a table.
        channels, size = records.shape[1], (1, 1)
    if cell.inputs == "standardised":
        centred = records - records.mean(axis=1, keepdims=True)
        std = centred.std(axis=1, keepdims=True)
        records = np.where(std > 0, centred / np.where(std > 0, std, 1), 0).astype(np.float32)
    return np.ascontiguousarray(records.reshape(len(records), channels, *size))
