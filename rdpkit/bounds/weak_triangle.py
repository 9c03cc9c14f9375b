"""The weak triangle inequality of the Renyi divergence, with its free parameter optimised."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.bounds.base import Array

# Grid points in a round, and rounds. Each round shrinks the bracket by a factor of about 11, and
# near a minimum the value depends on p to second order only.
_POINTS = 33
_ROUNDS = 8


@_validate.by_name()
def weak_triangle(
    orders: ArrayLike,
    *,
    first: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    second: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    first_below: float = math.inf,
    second_below: float = math.inf,
    p: float | None = None,
) -> NDArray[np.float64]:
    r"""Bound D(P||Q) by way of a third distribution R.

    Guarantee
    ---------
    For every p > 1,

        D_a(P||Q) <= (a - 1/p)/(a - 1) D_{p a}(P||R) + D_{(p a - 1)/(p - 1)}(R||Q).

    The value returned is for the best p that a search finds. Every p gives an upper bound, so the
    value is one even if the search misses the exact minimum.

    Assumes
    -------
    ``first`` bounds D(P||R) and ``second`` bounds D(R||Q) at every order below their limits.

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders a, each > 1.
    first, second : callable
        Map orders of shape (m,) to divergences of shape (m,), inf where none is known.
    first_below, second_below : float
        The callables are only evaluated below these orders.
    p : float, optional
        The parameter; by default it is optimised for each order separately.

    Returns
    -------
    ndarray of float64, shape (k,)
        Divergences in nats; inf if both orders are below their limits for no p.

    Raises
    ------
    ValueError
        If an order or ``p`` is not > 1.
    ArithmeticError
        If a callable returns NaN or a negative divergence.

    Source
    ------
    Mironov 2017, Proposition 11 (arXiv 1702.07476v3); Miura et al. 2023, Lemma 2.7.

    Examples
    --------
    >>> import rdpkit
    >>> half = lambda orders: rdpkit.gaussian_rdp(orders, noise_multiplier=2.0)
    >>> rdpkit.weak_triangle([3.0], first=half, second=half).round(9)
    array([1.5])

    The inequality is exact here: 1.5 is the divergence of two Gaussians at twice the distance.
    """
    checked = _validate.orders("orders", orders)
    if p is not None:
        fixed = np.full((checked.size, 1), _validate.order("p", p))
        values = _values(checked, fixed, (first, second), (first_below, second_below))
        return np.asarray(values[:, 0])
    return _search(checked, (first, second), (first_below, second_below))[0]


def best_parameters(
    orders: Array,
    *,
    first: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    second: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    first_below: float = math.inf,
    second_below: float = math.inf,
) -> Array:
    """The best parameter p that the search finds for each order; NaN if no p is admissible."""
    return _search(orders, (first, second), (first_below, second_below))[1]


def _search(
    checked: Array,
    curves: tuple[Callable[[Array], Array], Callable[[Array], Array]],
    limits: tuple[float, float],
) -> tuple[Array, Array]:
    """The smallest value found for every order, and the p at which it was found."""
    # Search in u = log(p - 1). The two limits leave an interval of p; if it is empty, the value is
    # inf.
    upper = np.log(limits[0] / checked - 1.0, where=limits[0] > checked, out=_nan(checked))
    lower = _nan(checked)
    reachable = limits[1] > checked
    # (p a - 1)/(p - 1) < s  <=>  p > (s - 1)/(s - a)  <=>  p - 1 > (a - 1)/(s - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        if math.isinf(limits[1]):
            lower = np.full_like(checked, -np.inf)
        else:
            lower[reachable] = np.log((checked[reachable] - 1.0) / (limits[1] - checked[reachable]))
    # Where there is no limit: beyond these ends one term alone exceeds any useful bound.
    low = np.where(np.isinf(lower), -25.0, lower)
    high = np.where(np.isinf(upper), 25.0, upper)
    best, choice = np.full(checked.shape, np.inf), _nan(checked)
    feasible = np.isfinite(low) & np.isfinite(high) & (low < high)
    if not feasible.any():
        return best, choice
    a, low, high = checked[feasible], low[feasible], high[feasible]
    found, at = np.full(a.shape, np.inf), np.full(a.shape, np.nan)
    for _ in range(_ROUNDS):
        fractions = (np.arange(_POINTS) + 0.5) / _POINTS
        u = low[:, None] + (high - low)[:, None] * fractions[None, :]
        values = _values(a, 1.0 + np.exp(u), curves, limits)
        pick = values.argmin(axis=1)
        rows = np.arange(a.size)
        better = values[rows, pick] < found
        found = np.where(better, values[rows, pick], found)
        at = np.where(better, 1.0 + np.exp(u[rows, pick]), at)
        width = (high - low) / _POINTS
        low, high = (
            np.maximum(low, u[rows, pick] - 1.5 * width),
            np.minimum(high, u[rows, pick] + 1.5 * width),
        )
    best[feasible], choice[feasible] = found, at
    return best, choice


def _nan(like: Array) -> Array:
    return np.full(like.shape, np.nan)


def _values(
    a: Array,
    p: Array,
    curves: tuple[Callable[[Array], Array], Callable[[Array], Array]],
    limits: tuple[float, float],
) -> Array:
    column = a[:, None]
    order_first = p * column
    order_second = (p * column - 1.0) / (p - 1.0)
    usable = (order_first < limits[0]) & (order_second < limits[1]) & (order_second > 1.0)
    result = np.full(p.shape, np.inf)
    if usable.any():
        one = np.asarray(curves[0](order_first[usable]))
        two = np.asarray(curves[1](order_second[usable]))
        if np.isnan(one).any() or np.isnan(two).any() or (one < 0.0).any() or (two < 0.0).any():
            raise ArithmeticError("A divergence given to the weak triangle is NaN or negative.")
        factor = ((column - 1.0 / p) / (column - 1.0))[usable]
        result[usable] = factor * one + two
    return result
