r"""The sampled Gaussian's A - 1 by quadrature, for many orders and many (q, z) at once.

This is the trapezoid rule of :mod:`rdpkit.numerics.sampled_gaussian`, arranged so that it costs one
exponential for each order and node. With x as there and L = log(1 + x), the integrand is

    phi_a = (1 + x)^a - 1 - a x = e^L [e^{bL} - 1 + b (e^{-L} - 1)],   b = a - 1.

The nodes j, with weights w_j, are of two kinds.

* Near nodes, |L| < L0: the bracket is sum_{k>=2} (b^k + (-1)^k b) L^k / k!, so all orders share the
  moments sum_j w_j e^{L_j} L_j^k. The cost is proportional to orders plus nodes, not to their
  product.
* Far nodes: the sum is sum_j w_j e^{a L_j} - sum_j w_j - a sum_j w_j x_j. The terms partly cancel.
  At worst a part of about a b L0^2 / 2 of the largest term is left; :func:`compatible` keeps this
  part above 1e-3.

In both sums the integrand is positive.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rdpkit.numerics.special import log_factorials

Array = NDArray[np.float64]

LEAST_NOISE = 0.1
LEAST_PROBABILITY = 1e-100
"""Below either, weights or powers leave the range of floats, and logarithms have to be used."""

LEAST_EXCESS_ORDER = 0.008
"""For orders closer to 1 than this, the terms of the far sum cancel."""

# The smallest cells have this many nodes. A cell is kept if its integrand exceeds e^-45 of the
# peak.
_CELL = 4
# A wide cell is cut into this many narrower cells.
_SPLIT = 8
_ENDS = np.arange(_SPLIT + 1)
_VISIBLE = 45.0
# Nodes reach this far to either side of a peak, in units of z: e^{-9^2/2} is 3e-18.
_REACH = 9.0
# Near nodes have |bL| < 2 with 24 moments, or < 1/4 with 12; the remainder is below 1e-14.
_LONG, _SHORT = 24, 12
_NEAR = {_LONG: 2.0, _SHORT: 0.25}
_POWERS = np.arange(2.0, 2.0 + _LONG)
_SIGNS = (-1.0) ** _POWERS
# If the line has more nodes than this, it is cheaper if every order selects its own cells.
_LONG_LINE = 2_000
# About how many nodes an order then looks at, in wide cells first and in small ones at two peaks.
_LOOKED_AT = 400.0
# Blocks have about this many entries, so that they stay in the cache.
_ENTRIES = 300_000
# Far sums whose largest term is below e^-600 are left out; they are at most 1e-50 of the whole.
_NEGLIGIBLE = -600.0


@functools.cache
def _factorials() -> Array:
    """The factorials of 2, 3, ..., computed when they are first needed."""
    return np.exp(log_factorials(_LONG + 2)[2:])


def compatible(orders: Array) -> NDArray[np.bool_]:
    """For each order, whether it can share a block with the largest of the orders."""
    b = orders - 1.0
    top = float(b.max())
    return np.asarray((orders * b >= 5e-4 * max(top, 4.0) ** 2) & (b >= LEAST_EXCESS_ORDER))


def steps(z: Array) -> Array:
    r"""For each z, a step with which the relative error of the rule is below e^-39.

    The integrand is analytic for \|Im Z\| < pi z^2 and grows like e^{(Im Z)^2 / (2 z^2)} there.
    With step h the error is e^{-2 pi c/h + c^2/(2 z^2)} for any c up to pi z^2. The best c is pi
    z^2 if h < 2, and 2 pi z^2 / h otherwise.
    """
    strip = 2.0 / (4.05 / (z * z) + 0.5)
    return np.where(strip < 2.0, np.minimum(strip, 0.7 * z), 0.7 * z)


def line(z: Array, top: Array) -> tuple[Array, Array]:
    """Nodes from below 0 to above ``top`` for each z (rows), and their logarithmic weights."""
    step = steps(z)
    count = int(line_length(z, top).max())
    nodes = (-_REACH * z)[:, None] + step[:, None] * np.arange(count)
    return nodes, _log_weights(nodes, z, step)


def line_length(z: Array, top: Array) -> Array:
    """How many nodes :func:`line` needs for each z.

    The line reaches beyond Z = 2, because for small q the integrand is like x^2, whose peak is at
    2.
    """
    return np.asarray(np.ceil((np.maximum(top, 2.0) + 2.0 * _REACH * z) / steps(z)) + 1.0)


def cells(orders: Array, z: Array, q: Array) -> tuple[Array, Array]:
    """Nodes of the parts of the line that matter, and their logarithmic weights.

    There is one row for each order. The line is cut into a few wide cells. Those that may matter
    are cut into narrower cells, and so on down to cells of four steps, so that the number of cells
    grows with the logarithm of the line's length. The second derivative of a log(1+x) - Z^2/(2 z^2)
    is nowhere below -1/z^2. Inside of a cell of width w this function therefore exceeds its values
    at the ends by at most w^2/(8 z^2), which is below 1 for the narrowest cells. A cell that stays
    below e^-45 of the highest value at an end is left out.
    """
    step = steps(z)
    finest = _CELL * step
    count = float(line_length(z, orders).max()) / _CELL + 1.0
    levels = max(0, math.ceil(math.log(count / _SPLIT, _SPLIT)))
    # If a L is small, the integrand is a b L^2 / 2, not e^{a L}. It is 0 at L = 0, which says
    # nothing about the cell around that point, so |a L| is taken to be at least this.
    least = 0.1 * orders * q / (1.0 + z * z)
    # Near L = 0 the logarithm inside of a cell may exceed that at its ends by this much.
    dip = 2.0 + 2.0 * np.log(10.0 * (1.0 + z * z))
    chosen = np.zeros((orders.size, 1), dtype=np.int64)
    active = np.ones(chosen.shape, dtype=bool)
    best = np.full(orders.size, -np.inf)
    for level in range(levels, -1, -1):
        width = finest * float(_SPLIT) ** level
        first = _SPLIT * chosen[:, :, None]
        ends = (-_REACH * z)[:, None, None] + width[:, None, None] * (first + _ENDS)
        at_ends = _height(ends.reshape(orders.size, -1), orders, z, q, least).reshape(ends.shape)
        inside = np.maximum(at_ends[:, :, :-1], at_ends[:, :, 1:])
        height = np.where(active[:, :, None], inside, -np.inf).reshape(orders.size, -1)
        best = np.maximum(best, height.max(axis=1))
        hidden = 0.125 * (width / z) ** 2 + dip if level else 0.0
        active = height > (best - hidden - _VISIBLE)[:, None]
        kept = int(active.sum(axis=1).max())
        # Active cells come first, in their order. Rows with fewer of them get cells of weight 0.
        ranked = np.argsort(~active, axis=1, kind="stable")[:, :kept]
        chosen = np.take_along_axis((first + _ENDS[:-1]).reshape(orders.size, -1), ranked, axis=1)
        active = np.take_along_axis(active, ranked, axis=1)
    index = (_CELL * chosen[:, :, None] + np.arange(_CELL)).reshape(orders.size, -1)
    nodes = (-_REACH * z)[:, None] + step[:, None] * index
    weights = _log_weights(nodes, z, step)
    np.copyto(weights, -np.inf, where=~np.repeat(active, _CELL, axis=1))
    return nodes, weights


def cells_length(z: Array, orders: Array) -> Array:
    """About how many nodes of a line :func:`cells` looks at; each order has two peaks at most."""
    return np.asarray(np.minimum(line_length(z, orders), _LOOKED_AT))


def _height(ends: Array, orders: Array, z: Array, q: Array, least: Array) -> Array:
    """About the logarithm of the integrand at ``ends``, which has one row for each order."""
    exponent = (ends - 0.5) / (z * z)[:, None]
    big_l = np.logaddexp(np.log1p(-q)[:, None], np.log(q)[:, None] + exponent)
    grown = orders[:, None] * big_l
    height = np.where(grown > 1.0, grown, 2.0 * np.log(np.clip(np.abs(grown), least[:, None], 1.0)))
    return np.asarray(height - ends * ends / (2.0 * z * z)[:, None])


def _log_weights(nodes: Array, z: Array, step: Array) -> Array:
    scale = np.log(step / (z * math.sqrt(2.0 * math.pi)))
    return np.asarray(scale[:, None] - nodes * nodes / (2.0 * z * z)[:, None])


def log_excess_of_one(orders: Array, z: float, q: float) -> Array:
    """log(A - 1) at :func:`compatible` orders for one z and q."""
    noise, probability = np.array([z]), np.array([q])
    length = float(line_length(noise, orders.max(keepdims=True))[0])
    if length * (orders.size + _LONG // 2) <= min(_LONG_LINE * orders.size, _ENTRIES):
        nodes, weights = line(noise, orders.max(keepdims=True))
        return np.asarray(log_excess(orders[None, :], noise, probability, nodes, weights)[0])
    # The orders are sorted, so that the nodes of a block reach only as far as its orders need.
    ranked = np.argsort(orders)
    lengths = line_length(np.full(orders.size, z), orders[ranked])
    shared = int(np.searchsorted(lengths, _LONG_LINE))
    result = np.empty_like(orders)
    start = 0
    while start < orders.size:
        if start < shared:
            stop = min(start + max(1, int(_ENTRIES / lengths[shared - 1])), shared)
        else:
            stop = orders.size
        chosen = ranked[start:stop]
        result[chosen] = log_excess_of_rows(orders[None, chosen], noise, probability)[0]
        start = stop
    return result


def log_excess_of_rows(orders: Array, z: Array, q: Array) -> Array:
    """log(A - 1) for ``orders`` of shape (p, k), each row with its own z and q.

    The orders of a row share a line of nodes. If the line is long, every order uses cells instead.

    Assumes
    -------
    z >= 0.1, q >= 1e-100, and every row's orders are :func:`compatible`.
    """
    width = orders.shape[1]
    top = orders.max(axis=1)
    lengths = line_length(z, top)
    moments = _moments_for(orders)
    # On a long line only some cells matter, and other cells for other orders.
    on_line = lengths * (width + moments // 2) <= _LONG_LINE * width
    result = np.empty_like(orders)
    for chosen in _blocks(np.flatnonzero(on_line), lengths, max(width, moments)):
        nodes, weights = line(z[chosen], top[chosen])
        result[chosen] = log_excess(orders[chosen], z[chosen], q[chosen], nodes, weights)
    apart = np.flatnonzero(~on_line)
    if apart.size:
        a = orders[apart].ravel()
        noise, probability = np.repeat(z[apart], width), np.repeat(q[apart], width)
        found = np.empty_like(a)
        for chosen in _blocks(np.arange(a.size), cells_length(noise, a), 4):
            nodes, weights = cells(a[chosen], noise[chosen], probability[chosen])
            values = log_excess(a[chosen, None], noise[chosen], probability[chosen], nodes, weights)
            found[chosen] = values[:, 0]
        result[apart] = found.reshape(-1, width)
    return result


def _blocks(rows: NDArray[np.int64], lengths: Array, depth: int) -> Iterator[NDArray[np.int64]]:
    """Blocks of rows of similar length, because all rows of a block have equally many nodes."""
    ranked = rows[np.argsort(lengths[rows], kind="stable")]
    while ranked.size:
        # The longest row of a block is its last; every row takes that much space.
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
    if exponent.max() < 700.0:
        x = q[:, None] * np.expm1(exponent)
        big_l = np.log1p(x)
        grown = 1.0 + x
    else:
        x = q[:, None] * np.expm1(np.minimum(exponent, 700.0))
        beyond = exponent > 700.0
        far = np.broadcast_to(np.log(q)[:, None], beyond.shape) + exponent
        big_l = np.where(beyond, far, np.log1p(x))
        grown = np.exp(np.minimum(big_l, 700.0))

    moments = _moments_for(orders)
    reach = np.minimum(0.5, _NEAR[moments] / b.max(axis=1))[:, None]
    near = np.abs(big_l) < reach
    # L increases along the nodes, so the near nodes and the far nodes are in few intervals of
    # columns.
    columns = _span(near.any(axis=0))
    inside = near[:, columns]
    weights = np.exp(log_weights[:, columns])
    weights *= grown[:, columns]
    weights *= inside
    u = big_l[:, columns] / reach
    u *= inside
    total = _near_sum(b, weights, u, reach, moments)

    columns = _span(~near.all(axis=0))
    if columns.start == columns.stop:
        return np.asarray(np.log(total))
    log_weights, big_l = log_weights[:, columns].copy(), big_l[:, columns]
    np.copyto(log_weights, -np.inf, where=near[:, columns])
    exponents = orders[:, :, None] * big_l[:, None, :]
    exponents += log_weights[:, None, :]
    peak = exponents.max(axis=2)
    shift = np.maximum(peak, _NEGLIGIBLE)
    exponents -= shift[:, :, None]
    np.exp(exponents, out=exponents)
    sums = exponents.sum(axis=2)
    weights = np.exp(log_weights)
    weight = weights.sum(axis=1)[:, None]
    # If x is cut off or a weight underflows, these sums are negligible against those of e^{aL}.
    mean = (weights * x[:, columns]).sum(axis=1)[:, None]
    sums -= (weight + orders * mean) * np.exp(-shift)
    present = peak > _NEGLIGIBLE
    with np.errstate(divide="ignore", invalid="ignore"):
        far_logs = np.where(present, shift + np.log(sums), -np.inf)
        return np.asarray(np.logaddexp(np.log(total), far_logs))


def _span(columns: NDArray[np.bool_]) -> slice:
    """From the first to the last column that is set."""
    chosen = np.flatnonzero(columns)
    return slice(int(chosen[0]), int(chosen[-1]) + 1) if chosen.size else slice(0, 0)


def _moments_for(orders: Array) -> int:
    """The number of moments for near nodes: few if the far sum then keeps its digits."""
    b = orders - 1.0
    top = np.maximum(b.max(axis=1), 0.5)
    few = (orders * b).min(axis=1) >= 0.03 * top * top
    return _SHORT if few.all() else _LONG


def _near_sum(b: Array, weights: Array, u: Array, reach: Array, count: int) -> Array:
    """Sum over near nodes of w e^L sum_k (b^k + (-1)^k b) L^k / k!.

    ``weights`` are w e^L, and ``u`` is L / reach; both are 0 at far nodes.
    """
    powers = np.empty((count, *u.shape))
    u2 = u * u
    np.multiply(weights, u2, out=powers[0])
    np.multiply(powers[0], u, out=powers[1])
    filled = 2
    while filled < count:
        # The number of powers is doubled each time, until all are filled.
        new = min(filled, count - filled)
        np.multiply(powers[:new], u2, out=powers[filled : filled + new])
        filled += new
        if filled < count:
            u2 = u2 * u2
    moments = (powers.sum(axis=2) / _factorials()[:count, None]).T
    common = (moments * _SIGNS[:count] * reach ** _POWERS[:count]).sum(axis=1)
    y = b * reach
    # (p, k, moments): y^2, y^3, ...
    grown = np.multiply.accumulate(np.repeat(y[:, :, None], count, axis=2), axis=2)
    grown *= y[:, :, None]
    return np.asarray(np.einsum("pkm,pm->pk", grown, moments) + b * common[:, None])
