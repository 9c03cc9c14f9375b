r"""The mean record of each class, estimated from noisy mixtures of all classes.

A release of DPMix is the mean of l records' features and of their one-hot labels, plus noise. A
mixture with more records of a class than usual has, on average, features that are nearer to the
mean of this class. The relation is linear:

    Cov[features, share of class c] = p_c (m_c - m) (N - l) / (l (N - 1)),

where p_c is the share of class c among all N records, m_c its mean and m the mean of all. Features
and labels have independent noise, which does not change covariances between the two. So one can
solve for the means of the classes, although no release shows a class by itself. This is
post-processing of the release, so it costs no privacy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import DPMix, _validate

Array = NDArray[np.float64]

# A class whose share is within so many standard deviations of 0 may not be there at all.
_VISIBLE = 5.0


def mixture_means(
    features: NDArray[Any],  # Features of the releases; shape (n, ...)
    labels: NDArray[Any],  # Their labels: noisy shares of the classes; shape (n, k)
    *,
    event: DPMix,  # How they were made: order of mixture, number of records, number of classes
) -> Array:
    """Estimate the mean record of each class from releases of DPMix over all classes.

    The estimate is unbiased up to terms of the order of 1 / n, n being the number of releases.

    Guarantee
    ---------
    Only the releases and public parameters are used: the result is as private as the releases.

    Returns
    -------
    ndarray of float64, shape (k, ...)
        In the units of ``features``.

    Source
    ------
    rdpkit; the covariance of means that are drawn without replacement is that of Cochran (1977,
    Theorem 2.3).
    """
    _validate.one_of_a_kind("event", event, DPMix)
    found, shares = np.asarray(features), np.asarray(labels, dtype=np.float64)
    if found.ndim < 2 or len(found) < 2 or not np.isfinite(found).all():
        raise _validate.fail("features", "to be finite, of shape (n, ...), n >= 2", found.shape)
    count, classes = len(found), int(event.label_dimension)
    if shares.shape != (count, classes) or not np.isfinite(shares).all():
        raise _validate.fail("labels", f"to be finite, of shape ({count}, {classes})", shares.shape)
    order, population = int(event.order_of_mixture), int(event.population_size)
    if order == population:
        raise _validate.fail(
            "event", "to mix fewer records than there are: all mixtures are the same", event
        )
    rows = found.reshape(count, -1).astype(np.float64)
    mean = rows.mean(axis=0)
    rows -= mean
    # True shares sum to 1, so the difference of the sum from 1 is noise.
    shares = shares - (shares.sum(axis=1, keepdims=True) - 1.0) / classes
    sizes = shares.mean(axis=0)
    shares -= sizes
    error = shares.std(axis=0) / math.sqrt(count)
    if (sizes < _VISIBLE * error).any():
        hidden = int(np.argmin(sizes - _VISIBLE * error))
        raise _validate.fail(
            "labels",
            "to show that every class exists, in spite of their noise",
            f"class {hidden} with a share of {sizes[hidden]:.3g} +- {error[hidden]:.3g}",
        )
    narrowed = (population - order) / (order * (population - 1))
    covariances = shares.T @ rows / (count - 1)
    means: Array = mean + covariances / (narrowed * sizes[:, None])
    return means.reshape(classes, *found.shape[1:])
