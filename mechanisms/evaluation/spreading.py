"""Means of several records, moved apart until they vary as much as the records do.

A mean of l records of a class varies around the class's mean with 1/l of the records' variance,
and carries noise whose size the manifest states. Subtracting the noise's variance and multiplying
by l gives an estimate of the variance of the records. The means are moved apart until they have
that variance. Only the release and its manifest are used, so this is post-processing and costs no
privacy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.releases.manifest import Manifest


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
