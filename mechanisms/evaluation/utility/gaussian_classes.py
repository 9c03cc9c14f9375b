"""A classifier that takes each class to be Gaussian; it copes with classes of a few records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FLOOR = 1e-3  # Of variances, as a share of the mean one


class GaussianClasses:
    """Quadratic discriminant analysis whose covariances lean on that of all classes together.

    The covariance of a class of m records in d dimensions is (m S + d P) / (m + d), with its own
    covariance S and the pooled one P: a class with few records gets the pooled one, a class with
    many its own. A thousandth of the mean variance is added to each coordinate.
    """

    def fit(self, rows: NDArray[np.float64], codes: NDArray[np.int64]) -> GaussianClasses:
        """Estimate means and covariances; codes are 0, 1, ... without a gap."""
        n, d = rows.shape
        counts = np.bincount(codes)
        self._means = np.stack([rows[codes == c].mean(axis=0) for c in range(len(counts))])
        centred = rows - self._means[codes]
        pooled = centred.T @ centred / n
        floor = _FLOOR * max(float(np.trace(pooled)) / d, 1e-12)
        self._roots, self._offsets = [], []
        for c, m in enumerate(counts):
            own = centred[codes == c]
            covariance = (own.T @ own + d * pooled) / (m + d)
            covariance[np.diag_indices(d)] += floor
            values, vectors = np.linalg.eigh(covariance)
            values = np.maximum(values, floor)
            self._roots.append(vectors / np.sqrt(values))
            self._offsets.append(float(np.log(m / n) - 0.5 * np.log(values).sum()))
        return self

    def predict(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """The likeliest class of each row."""
        scores = [
            offset - 0.5 * np.square((rows - mean) @ root).sum(axis=1)
            for mean, root, offset in zip(self._means, self._roots, self._offsets, strict=True)
        ]
        return np.asarray(np.argmax(np.stack(scores), axis=0), np.int64)
