r"""A classifier for mixtures: Gaussian discriminant analysis, corrected for mixing and noise.

A release of DP-CDA is the mean of l records of a class, plus noise of known strength. So the
moments of the releases tell those of the records:

    E[release] = mean of the class,    Cov[release] = Cov[class] (N - l) / (l (N - 1)) + s^2 I.

Mixing makes a class look far narrower than it is, and a model that is trained on the releases as if
they were records never sees its width. Here the covariance of the releases is corrected for mixing
and noise before it is used. This is post-processing of the release, so it costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import DPCDA, _validate

Array = NDArray[np.float64]

# Variances are at least this share of the average one before the noise is taken out.
_LEAST_SHARE = 1e-3
_ROWS = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Discriminant:
    """Classes as Gaussian laws, and the most likely of them for a record.

    Inside the subspace of the widest directions every class has a covariance of its own, drawn
    towards the average one; outside of it all share one variance.
    """

    means: Array  # One for each class; shape (k, d)
    basis: Array  # Orthonormal columns: the widest directions; shape (d, r)
    axes: Array  # Principal axes of each class inside the subspace, as columns; shape (k, r, r)
    variances: Array  # Along these axes; > 0; shape (k, r)
    rest: float  # The variance in every direction outside; > 0

    def scores(self, features: NDArray[Any]) -> Array:
        """Log-likelihood of each class up to a constant, shape (n, k); all classes as frequent."""
        found = np.asarray(features)
        if found.ndim != 2 or found.shape[1] != self.means.shape[1]:
            raise _validate.fail(
                "features", f"to be of shape (n, {self.means.shape[1]})", found.shape
            )
        result = np.empty((found.shape[0], self.means.shape[0]))
        for start in range(0, found.shape[0], _ROWS):
            rows = found[start : start + _ROWS].astype(np.float64)
            for k, mean in enumerate(self.means):
                away = rows - mean
                inside = away @ self.basis @ self.axes[k]
                outside = (away * away).sum(axis=1) - (inside * inside).sum(axis=1)
                distance = (inside * inside / self.variances[k]).sum(axis=1) + outside / self.rest
                result[start : start + _ROWS, k] = -0.5 * (
                    distance + np.log(self.variances[k]).sum()
                )
        return result

    def predict(self, features: NDArray[Any]) -> NDArray[np.int64]:
        """The most likely class of each record, shape (n,)."""
        return np.asarray(self.scores(features).argmax(axis=1))

    def accuracy(self, features: NDArray[Any], labels: NDArray[Any]) -> float:
        """Share of the records whose class is found."""
        return float((self.predict(features) == np.asarray(labels)).mean())


def fit_discriminant(
    features: NDArray[Any],  # Releases; shape (n, d)
    labels: NDArray[Any],  # Their classes, 0 .. k-1. Shape (n,).
    *,
    event: DPCDA,  # How they were made: order of mixture, feature noise, class sizes
    rank: int = 80,  # Dimension of the subspace in which covariances are estimated; at most d
    # In [0, 1]: the weight of a class's own covariance. With 0 all classes share one covariance
    # (linear discriminant analysis).
    own_share: float = 0.9,
) -> Discriminant:
    """Estimate the classes' laws from releases of DP-CDA, corrected for mixing and noise.

    Guarantee
    ---------
    Only the releases and public parameters are used: the result is as private as the releases.

    Assumes
    -------
    The labels are the classes that the records were drawn from, as in the sound variant of the
    mechanism (``label_noise=0``).
    """
    _validate.one_of_a_kind("event", event, DPCDA)
    share = _validate.probability("own_share", own_share)
    rows = np.asarray(features)
    classes = np.asarray(labels)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise _validate.fail("features", "to be finite, of shape (n, d)", rows.shape)
    count = len(event.class_sizes)
    if classes.shape != (rows.shape[0],) or classes.dtype.kind not in "iu":
        raise _validate.fail("labels", f"to be {rows.shape[0]} integers", classes.shape)
    sizes = np.bincount(classes, minlength=count) if classes.size and classes.min() >= 0 else None
    if sizes is None or sizes.size != count or sizes.min() < 2:
        raise _validate.fail(
            "labels", f"to name each of the event's {count} classes at least twice", sizes
        )
    dimension = rows.shape[1]
    width = min(_validate.integer("rank", rank), dimension)

    rows = rows.astype(np.float64)
    means = np.array([rows[classes == k].mean(axis=0) for k in range(count)])
    away = rows - means[classes]
    noise = event.feature_noise**2
    # The ratio of the variance of a record to that of a mean without replacement.
    order = event.order_of_mixture
    grown = [order * (n - 1) / max(n - order, 1) for n in event.class_sizes]
    pooled = _within(away, classes, grown)
    average_noise = noise * float(np.mean(grown))
    spread, directions = np.linalg.eigh(pooled)
    basis = directions[:, dimension - width :]
    left = spread[: dimension - width] - average_noise
    # The share is taken before the correction: with much noise, nothing may be left after it.
    least = _LEAST_SHARE * float(spread.mean())
    rest = max(float(left.mean()) if left.size else least, least)

    common = basis.T @ pooled @ basis - average_noise * np.eye(width)
    axes, variances = np.empty((count, width, width)), np.empty((count, width))
    for k in range(count):
        inside = away[classes == k] @ basis
        own = grown[k] * (inside.T @ inside / (sizes[k] - 1) - noise * np.eye(width))
        variances[k], axes[k] = np.linalg.eigh(share * own + (1.0 - share) * common)
    return Discriminant(
        means=means, basis=basis, axes=axes, variances=np.maximum(variances, rest), rest=rest
    )


def _within(away: Array, classes: NDArray[Any], grown: list[float]) -> Array:
    """The average covariance of the classes' records and of the noise, scaled up alike."""
    total = np.zeros((away.shape[1], away.shape[1]))
    for k, factor in enumerate(grown):
        own = away[classes == k]
        total += factor * (own.T @ own) / (own.shape[0] - 1)
    return total / len(grown)
