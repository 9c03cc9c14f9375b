"""The weak triangle inequality of the Renyi divergence, with its free parameter optimised."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.bounds.base import Array

# Grid points per round and rounds of zooming in: the bracket shrinks by 2/32 a round, and the value
# at a minimum depends on p to second order only.
_POINTS = 33
_ROUNDS = 8


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

        D_a(P||Q) <= (a - 1/p)/(a - 1) D_{p a}(P||R) + D_{(p a - 1)/(p - 1)}(R||Q),

    and every p gives an upper bound, so the minimum over p found here is one whether or not it is
    the exact minimum.

    Assumes
    -------
    ``first`` bounds D(P||R) and ``second`` bounds D(R||Q) at every order below their limits.

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders a, each > 1.
    first, second : callable
        Map orders of shape (m,) to divergences of shape (m,), inf where they say nothing.
    first_below, second_below : float
        Orders at and above which the callables are not to be asked.
    p : float, optional
        The parameter; by default it is optimised for every order on its own.

    Returns
    -------
    ndarray of float64, shape (k,)
        Divergences in nats; inf where no p makes both orders admissible.

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

    Three points on a line lose nothing: 1.5 is the divergence at twice the distance.
    """
    checked = _validate.orders("orders", orders)
    if p is not None:
        fixed = np.full((checked.size, 1), _validate.order("p", p))
        values = _values(checked, fixed, (first, second), (first_below, second_below))
        return np.asarray(values[:, 0])
    # Search in u = log(p - 1). Both limits cut off an interval of p; where it is empty, inf.
    upper = np.log(first_below / checked - 1.0, where=first_below > checked, out=_nan(checked))
    lower = _nan(checked)
    reachable = second_below > checked
    # (p a - 1)/(p - 1) < s  <=>  p > (s - 1)/(s - a)  <=>  p - 1 > (a - 1)/(s - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        if math.isinf(second_below):
            lower = np.full_like(checked, -np.inf)
        else:
            lower[reachable] = np.log(
                (checked[reachable] - 1.0) / (second_below - checked[reachable])
            )
    # Unlimited ends: beyond these the other term alone exceeds any useful bound.
    low = np.where(np.isinf(lower), -25.0, lower)
    high = np.where(np.isinf(upper), 25.0, upper)
    best = np.full(checked.shape, np.inf)
    feasible = np.isfinite(low) & np.isfinite(high) & (low < high)
    if not feasible.any():
        return best
    a, low, high = checked[feasible], low[feasible], high[feasible]
    found = np.full(a.shape, np.inf)
    for _ in range(_ROUNDS):
        fractions = (np.arange(_POINTS) + 0.5) / _POINTS
        u = low[:, None] + (high - low)[:, None] * fractions[None, :]
        values = _values(a, 1.0 + np.exp(u), (first, second), (first_below, second_below))
        pick = values.argmin(axis=1)
        rows = np.arange(a.size)
        found = np.minimum(found, values[rows, pick])
        width = (high - low) / _POINTS
        low, high = (
            np.maximum(low, u[rows, pick] - 1.5 * width),
            np.minimum(high, u[rows, pick] + 1.5 * width),
        )
    best[feasible] = found
    return best


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
