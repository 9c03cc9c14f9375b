"""The two-sample test of Bai and Saranadasa: are two means equal, in more dimensions than records?

Hotelling's test inverts the covariance, which needs n_1 + n_2 - 2 > d. This one compares the
distance of the means with its expectation, tau tr(S), and needs no inverse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from rdpkit import _validate


@dataclass(frozen=True, slots=True, kw_only=True)
class BaiSaranadasa:
    """The outcome of the test."""

    statistic: float
    """Z; standard normal in the limit where the means are equal and the samples independent."""
    p_value: float
    """P-value of the one-sided test that the authors define, because unequal means make Z large."""
    p_value_two_sided: float
    """Twice the smaller tail. A Z far *below* 0 is no sign of different means. It says that the
    means are nearer than those of two independent samples could be, for example because both
    samples began with the same random numbers.
    """


def _sample(name: str, value: ArrayLike) -> NDArray[np.float64]:
    rows = np.asarray(value, dtype=np.float64)
    if rows.ndim < 2 or len(rows) < 2 or not np.isfinite(rows).all():
        raise _validate.fail(name, "to be finite numbers of shape (n, d), n >= 2", rows.shape)
    return rows.reshape(len(rows), -1)


def bai_saranadasa(
    first: ArrayLike,  # Shape (n_1, d) or (n_1, ...)
    second: ArrayLike,  # n_1, n_2 >= 2, n_1 + n_2 >= 5; shape (n_2, d) or (n_2, ...)
) -> BaiSaranadasa:
    """Test whether two samples come from distributions of the same mean.

    Guarantee
    ---------
    The level of ``p_value`` is asymptotic: d / n has a limit and no eigenvalue of the covariance
    dominates (its square is small beside tr Sigma^2).

    Assumes
    -------
    The records are independent, within and *between* the samples, with one common covariance.

    Source
    ------
    Bai and Saranadasa, Effect of High Dimension: by an Example of a Two Sample Problem (Statistica
    Sinica 6, 1996), Section 4; used two-sided in Zheng and Li (2023), Section 3.1.
    """
    x, y = _sample("first", first), _sample("second", second)
    if x.shape[1] != y.shape[1]:
        raise _validate.fail("second", f"to have {x.shape[1]} coordinates", y.shape)
    n = len(x) + len(y) - 2
    if n < 3:
        raise _validate.fail("first and second", "to hold 5 records or more", n + 2)
    tau = (len(x) + len(y)) / (len(x) * len(y))
    centred = np.concatenate((x - x.mean(axis=0), y - y.mean(axis=0)))
    # tr S and tr S^2 from whichever Gram matrix is smaller: S = centred' centred / n.
    tall = len(centred) > centred.shape[1]
    gram = (centred.T @ centred if tall else centred @ centred.T) / n
    trace = float(np.trace(gram))
    squares = float((gram * gram).sum())
    # An unbiased and consistent estimate of tr Sigma^2.
    variance = n * n / ((n + 2.0) * (n - 1.0)) * (squares - trace * trace / n)
    if not variance > 0.0:
        raise _validate.fail(
            "first and second", "to vary in more than their rounding", f"variance {variance}"
        )
    difference = x.mean(axis=0) - y.mean(axis=0)
    distance = float(difference @ difference)
    z = (distance / tau - trace) / math.sqrt(2.0 * (n + 1.0) / n * variance)
    lower, upper = float(ndtr(z)), float(ndtr(-z))
    return BaiSaranadasa(
        statistic=z, p_value=upper, p_value_two_sided=min(2.0 * min(lower, upper), 1.0)
    )
