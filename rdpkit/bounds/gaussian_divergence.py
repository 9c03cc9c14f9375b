"""The Renyi divergence between two multivariate Gaussians (Gil et al.)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.bounds.base import Array

_MARGIN = 1e-13


@_validate.by_name()
def gaussian_renyi_divergence(
    order: float, *, mean_p: ArrayLike, cov_p: ArrayLike, mean_q: ArrayLike, cov_q: ArrayLike
) -> float:
    r"""Renyi divergence D_order(N(mean_p, cov_p) || N(mean_q, cov_q)), exactly.

    With S = (1 - a) cov_p + a cov_q and m = mean_p - mean_q,

        D_a = a/2 m' S^-1 m - 1/(2(a-1)) log( |S| / (|cov_p|^(1-a) |cov_q|^a) )

    if S is positive definite, and inf if it is not. It is computed in a basis in which cov_q is the
    identity. If cov_p has the eigenvalues 1 + e_i there, the logarithm is
    sum_i log1p((1-a) e_i) - (1-a) log1p(e_i), which keeps its digits for nearly equal covariances.

    Guarantee
    ---------
    The divergence itself up to rounding, neither an upper nor a lower bound. Very close to the
    boundary at which the divergence becomes infinite, inf may be returned for a finite divergence,
    but never a finite number for an infinite one.

    Assumes
    -------
    Nothing.

    Parameters
    ----------
    order : float
        a > 1.
    mean_p, mean_q : array_like, shape (d,)
        Means.
    cov_p, cov_q : array_like, shape (d, d)
        Symmetric positive definite covariances.

    Returns
    -------
    float
        Divergence in nats, >= 0; ``math.inf`` where it diverges.

    Raises
    ------
    ValueError
        If the order is not > 1, shapes differ, or a covariance is not symmetric positive definite.

    Source
    ------
    Gil, Alajaji and Linder, "Renyi divergence measures for commonly used univariate continuous
    distributions", Information Sciences 2013; Miura et al. 2023, Proposition 4.1.

    Examples
    --------
    >>> import rdpkit
    >>> from rdpkit import gaussian_renyi_divergence
    >>> gaussian_renyi_divergence(2, mean_p=[1.0], cov_p=[[1.0]], mean_q=[0.0], cov_q=[[1.0]])
    1.0
    >>> gaussian_renyi_divergence(3, mean_p=[0.0], cov_p=[[2.0]], mean_q=[0.0], cov_q=[[1.0]])
    inf
    """
    a = _validate.order("order", order)
    first = _mean("mean_p", mean_p, None)
    second = _mean("mean_q", mean_q, first.size)
    one = _covariance("cov_p", cov_p, first.size)
    two = _covariance("cov_q", cov_q, first.size)
    # Imported here, because this import takes as long as that of the whole package.
    from scipy.linalg import solve_triangular  # noqa: PLC0415

    factor = np.linalg.cholesky(two)
    difference = solve_triangular(factor, first - second, lower=True)
    whitened = solve_triangular(factor, one - two, lower=True)
    whitened = solve_triangular(factor, whitened.T, lower=True)
    excess, basis = np.linalg.eigh((whitened + whitened.T) / 2.0)
    spread = 1.0 - (a - 1.0) * excess
    # Within rounding of the boundary the divergence is taken as infinite.
    if (spread <= _MARGIN * (1.0 + (a - 1.0) * np.abs(excess))).any():
        return math.inf
    quadratic = float(np.sum((basis.T @ difference) ** 2 / spread))
    if (excess > -0.5).all():
        log_determinant = float(np.sum(np.log1p(excess)))
    else:
        # The whitened matrix loses the digits of small eigenvalues; the Cholesky factors keep them.
        own = np.log(np.diag(np.linalg.cholesky(one)))
        log_determinant = 2.0 * float(np.sum(own - np.log(np.diag(factor))))
    logarithms = float(np.sum(np.log1p(-(a - 1.0) * excess))) + (a - 1.0) * log_determinant
    value = a / 2.0 * quadratic - logarithms / (2.0 * (a - 1.0))
    if math.isnan(value):
        raise ArithmeticError("The Gaussian Renyi divergence could not be computed.")
    return max(value, 0.0)


def _mean(name: str, value: Any, size: int | None) -> Array:
    condition = (
        "to be finite, of shape (d,)" if size is None else f"to be finite, of shape ({size},)"
    )
    array = _validate.real_array(name, value, condition)
    if array.ndim != 1 or array.size == 0 or (size is not None and array.size != size):
        raise _validate.fail(name, condition, value)
    if not np.isfinite(array).all():
        raise _validate.fail(name, condition, value)
    return array


def _covariance(name: str, value: Any, size: int) -> Array:
    condition = f"to be a symmetric positive definite matrix of shape ({size}, {size})"
    array = _validate.real_array(name, value, condition)
    if array.shape != (size, size) or not np.isfinite(array).all():
        raise _validate.fail(name, condition, value)
    scale = float(np.abs(array).max())
    # A covariance computed in floats is symmetric up to rounding; a larger asymmetry is an error.
    if float(np.abs(array - array.T).max()) > 1e-9 * scale:
        raise _validate.fail(name, condition, value)
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError:
        raise _validate.fail(name, condition, value) from None
    return np.asarray((array + array.T) / 2.0)
