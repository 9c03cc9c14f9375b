r"""The sampled Gaussian's A - 1 by quadrature, for many orders and many (q, z) at once.

The trapezoid rule of :mod:`rdpkit.numerics.sampled_gaussian`, arranged so that its cost is one
exponential for each order and node. With L = log(1 + x) the integrand is

    phi_a = (1 + x)^a - 1 - a x = e^L [e^{bL} - 1 + b (e^{-L} - 1)],   b = a - 1.

* Near nodes, |L| < L0: the bracket is sum_{k>=2} (b^k + (-1)^k b) L^k / k!, so all orders share the
  moments sum_j w_j e^{L_j} L_j^k: orders times nodes becomes orders plus nodes.
* Far nodes: sum_j w_j e^{a L_j} - a sum_j w_j e^{L_j} + b sum_j w_j. The terms cancel to a part of
  about a b L0^2 / 2 of the largest at worst, which :func:`compatible` keeps above 1e-3.

Both parts are sums of positive numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]

LEAST_NOISE = 0.1
LEAST_PROBABILITY = 1e-100
"""Below either, weights or powers leave the range of floats; use logarithms throughout."""

LEAST_EXCESS_ORDER = 0.008
"""Orders closer to 1 than this cancel in the far sum."""

# Half-width of the nodes around every peak in units of z: e^{-9^2/2} is 3e-18.
_REACH = 9.0
_NEAR = 2.0
_MOMENTS = 24
_FACTORIALS = np.exp(gammaln(np.arange(2.0, 2.0 + _MOMENTS) + 1.0))
_SIGNS = (-1.0) ** np.arange(2.0, 2.0 + _MOMENTS)
_POWERS = np.arange(2.0, 2.0 + _MOMENTS)
# A node costs as much as this many exponentials before any order is looked at.
_PER_NODE = 12
# Blocks have about this many entries, so that they stay in the cache.
_ENTRIES = 400_000
# Far nodes below e^-600 of the near ones' scale are left out: at most 1e-50 of the sum.
_NEGLIGIBLE = -600.0


def compatible(orders: Array) -> NDArray[np.bool_]:
    """Which of some orders can share a block with the largest of them."""
    b = orders - 1.0
    top = float(b.max())
    return np.asarray((orders * b >= 5e-4 * max(top, 4.0) ** 2) & (b >= LEAST_EXCESS_ORDER))


def steps(z: Array) -> Array:
    r"""Step of the rule for each z: its relative error is below e^-39.

    The integrand is analytic for \|Im Z\| < pi z^2 and grows like e^{(Im Z)^2 / (2 z^2)} there, so
    with step h the error is e^{-2 pi c/h + c^2/(2 z^2)} for any c in the strip: its edge is the
    best c where h < 2, and c = 2 pi z^2 / h otherwise.
    """
    strip = 2.0 / (4.05 / (z * z) + 0.5)
    return np.where(strip < 2.0, np.minimum(strip, 0.7 * z), 0.7 * z)


def line(z: Array, top: Array) -> tuple[Array, Array]:
    """Nodes from below 0 to above ``top`` for each z (rows), and their logarithmic weights."""
    step = steps(z)
    count = int(np.ceil((top + 2.0 * _REACH * z) / step).max()) + 1
    nodes = (-_REACH * z)[:, None] + step[:, None] * np.arange(count)
    return nodes, _log_weights(nodes, z, step)


def line_length(z: Array, top: Array) -> Array:
    """How many nodes :func:`line` needs for each z."""
    return np.asarray(np.ceil((top + 2.0 * _REACH * z) / steps(z)) + 1.0)


def windows(orders: Array, z: Array, q: Array) -> tuple[Array, Array]:
    """Nodes around 0, 2, the bend where x = 1, and the order, one row for each order.

    A node in two windows counts once: its second copy has weight 0.
    """
    step = steps(z)
    half = int(np.ceil(_REACH * z / step).max())
    bend = np.clip(0.5 + z * z * np.log(1.0 / q), 0.0, orders)
    centres = np.stack([np.zeros_like(z), np.full_like(z, 2.0), bend, orders], axis=1)
    centres = np.round(np.sort(centres, axis=1) / step[:, None])
    index = centres[:, :, None] + np.arange(-half, half + 1.0)
    covered = np.concatenate([np.full((z.size, 1), -np.inf), centres[:, :-1] + half], axis=1)
    again = (index <= covered[:, :, None]).reshape(z.size, -1)
    nodes = step[:, None] * index.reshape(z.size, -1)
    weights = _log_weights(nodes, z, step)
    weights[again] = -np.inf
    return nodes, weights


def window_length(z: Array) -> Array:
    """How many nodes :func:`windows` needs for each z."""
    return np.asarray(4.0 * (2.0 * np.ceil(_REACH * z / steps(z)) + 1.0))


def _log_weights(nodes: Array, z: Array, step: Array) -> Array:
    scale = np.log(step / (z * math.sqrt(2.0 * math.pi)))
    return np.asarray(scale[:, None] - nodes * nodes / (2.0 * z * z)[:, None])


def log_excess_of_one(orders: Array, z: float, q: float) -> Array:
    """log(A - 1) at :func:`compatible` orders for one z and q."""
    noise = np.array([z])
    rows = max(1, int(_ENTRIES / line_length(noise, orders.max(keepdims=True))[0]))
    if orders.size <= rows:
        return log_excess_of_rows(orders[None, :], noise, np.array([q]))[0]
    # Ascending, so that a block's nodes end where its orders do.
    ranked = np.argsort(orders)
    result = np.empty_like(orders)
    for start in range(0, orders.size, rows):
        chosen = ranked[start : start + rows]
        result[chosen] = log_excess_of_rows(orders[None, chosen], noise, np.array([q]))[0]
    return result


def log_excess_of_rows(orders: Array, z: Array, q: Array) -> Array:
    """log(A - 1) for ``orders`` of shape (p, k), each row with its own z and q.

    A row's orders share a line of nodes, or each visits its own windows, whichever is cheaper.

    Assumes
    -------
    z >= 0.1, q >= 1e-100, and every row's orders are :func:`compatible`.
    """
    width = orders.shape[1]
    top = orders.max(axis=1)
    lengths = line_length(z, top)
    on_line = lengths * (width + _PER_NODE) <= window_length(z) * width * (1 + _PER_NODE)
    result = np.empty_like(orders)
    for chosen in _blocks(np.flatnonzero(on_line), lengths, max(width, _MOMENTS)):
        nodes, weights = line(z[chosen], top[chosen])
        result[chosen] = log_excess(orders[chosen], z[chosen], q[chosen], nodes, weights)
    apart = np.flatnonzero(~on_line)
    if apart.size:
        a = orders[apart].ravel()
        noise, probability = np.repeat(z[apart], width), np.repeat(q[apart], width)
        found = np.empty_like(a)
        for chosen in _blocks(np.arange(a.size), window_length(noise), _MOMENTS):
            nodes, weights = windows(a[chosen], noise[chosen], probability[chosen])
            values = log_excess(a[chosen, None], noise[chosen], probability[chosen], nodes, weights)
            found[chosen] = values[:, 0]
        result[apart] = found.reshape(-1, width)
    return result


def _blocks(rows: NDArray[np.int64], lengths: Array, depth: int) -> Iterator[NDArray[np.int64]]:
    """Blocks of rows of similar length: a row has as many nodes as the longest of its block."""
    ranked = rows[np.argsort(lengths[rows], kind="stable")]
    while ranked.size:
        # As many rows as fit at the length of the last of them.
        space = depth * lengths[ranked] * np.arange(1.0, ranked.size + 1.0)
        count = max(1, int(np.searchsorted(space, _ENTRIES)))
        yield ranked[:count]
        ranked = ranked[count:]


def log_excess(orders: Array, z: Array, q: Array, nodes: Array, log_weights: Array) -> Array:
    """log(A - 1) for ``orders`` of shape (p, k) and as many rows of z, q, nodes and weights.

    Every row's orders are :func:`compatible` with its largest.
    """
    b = orders - 1.0
    exponent = (nodes - 0.5) / (z * z)[:, None]
    if exponent[:, -1].max() < 700.0:
        x = q[:, None] * np.expm1(exponent)
        big_l = np.log1p(x)
        grown = 1.0 + x
    else:
        x = q[:, None] * np.expm1(np.minimum(exponent, 700.0))
        beyond = exponent > 700.0
        far = np.broadcast_to(np.log(q)[:, None], beyond.shape) + exponent
        big_l = np.where(beyond, far, np.log1p(x))
        grown = np.exp(np.minimum(big_l, 700.0))

    weights = np.exp(log_weights)
    reach = np.minimum(0.5, _NEAR / b.max(axis=1))[:, None]
    near = np.abs(big_l) < reach
    total = _near_sum(b, np.where(near, weights * grown, 0.0), np.where(near, big_l, 0.0), reach)

    if near.all():
        return np.asarray(np.log(total))
    # Exponents of far nodes; near ones are out.
    log_weights = np.where(near, -np.inf, log_weights)
    if orders.shape[0] == 1:
        out = ~near[0]
        log_weights, big_l = log_weights[:, out], big_l[:, out]
    exponents = orders[:, :, None] * big_l[:, None, :]
    exponents += log_weights[:, None, :]
    peak = exponents.max(axis=2)
    shift = np.maximum(peak, _NEGLIGIBLE)
    exponents -= shift[:, :, None]
    np.exp(exponents, out=exponents)
    sums = exponents.sum(axis=2)
    weight = np.exp(log_weights).sum(axis=1)[:, None]
    mean = np.exp(log_weights + big_l).sum(axis=1)[:, None]
    sums -= (orders * mean - b * weight) * np.exp(-shift)
    present = peak > _NEGLIGIBLE
    with np.errstate(divide="ignore", invalid="ignore"):
        far_logs = np.where(present, shift + np.log(sums), -np.inf)
        return np.asarray(np.logaddexp(np.log(total), far_logs))


def _near_sum(b: Array, weights: Array, big_l: Array, reach: Array) -> Array:
    """Sum over near nodes of w e^L sum_k (b^k + (-1)^k b) L^k / k!, with ``weights`` = w e^L."""
    u = big_l / reach
    powers = np.empty((_MOMENTS, *u.shape))
    u2 = u * u
    np.multiply(weights, u2, out=powers[0])
    np.multiply(powers[0], u, out=powers[1])
    np.multiply(powers[:2], u2, out=powers[2:4])
    u4 = u2 * u2
    np.multiply(powers[:4], u4, out=powers[4:8])
    u8 = u4 * u4
    np.multiply(powers[:8], u8, out=powers[8:16])
    np.multiply(powers[8:16], u8, out=powers[16:24])
    moments = (powers.sum(axis=2) / _FACTORIALS[:, None]).T
    common = (moments * _SIGNS * reach**_POWERS).sum(axis=1)
    y = b * reach
    # (p, k, moments): y^2, y^3, ...
    grown = np.multiply.accumulate(np.repeat(y[:, :, None], _MOMENTS, axis=2), axis=2)
    grown *= y[:, :, None]
    return np.asarray(np.einsum("pkm,pm->pk", grown, moments) + b * common[:, None])
