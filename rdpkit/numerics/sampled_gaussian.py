r"""log E[(1 - q + q e^{(2Z-1)/(2 z^2)})^a] for Z ~ N(0, z^2), computed in three ways.

Let A be the expectation, and write x = q (e^l - 1) with l = (2Z - 1)/(2 z^2). Since E[x] = 0,

    A - 1 = E[(1 + x)^a - 1 - a x],

and the integrand is positive by convexity. All three ways compute A - 1, because a tiny divergence
cannot be computed from A: with A = 1 + 1e-18, a float of A has lost every digit of A - 1.

* integer orders: A - 1 = sum_{k >= 2} C(a, k) q^k (1-q)^{a-k} (e^{k(k-1)/(2 z^2)} - 1), all terms
  positive, because the k-th binomial weights sum to 1;
* any order, by the trapezoid rule on the line (:func:`log_excess_quadrature`);
* any order, by the two-sided series of Mironov, Talwar and Zhang in ball arithmetic
  (:mod:`rdpkit.numerics.sampled_gaussian_series`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rdpkit.numerics import sampled_gaussian_block as block
from rdpkit.numerics.special import log_factorials, logsumexp

Array = NDArray[np.float64]

# Rows are handled in blocks of about this many matrix entries, which limits the memory used.
_BLOCK = 2_000_000
# The binomials are kept for the next call if there are at most this many of them.
_REMEMBERED = 100_000
_LITTLE_NOISE = 0.01
# If there are more than 30,000 terms, orders above 128 first select among cells of 64 terms.
_FEW_TERMS, _VISITED, _CELL = 30_000, 128, 64
# Cells whose terms are all below e^-45 of the highest term are left out.
_VISIBLE = 45.0


def rdp_from_log_excess(log_excess: Array, orders: Array) -> Array:
    """Renyi divergence log(1 + e^log_excess) / (order - 1), accurate when the excess is tiny."""
    return np.asarray(np.logaddexp(0.0, log_excess) / (orders - 1.0))


@dataclass(frozen=True, slots=True)
class _Triangle:
    """The logarithms of C(a, k), k = 2 .. a, for several orders a, one order after another."""

    logs: Array
    column: NDArray[np.int64]  # k - 2
    left: Array  # a - k
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, orders: NDArray[np.int64]) -> _Triangle:
        lengths = orders - 1
        starts = np.cumsum(lengths) - lengths
        upper = np.repeat(orders, lengths)
        column = np.arange(upper.size) - np.repeat(starts, lengths)
        logs = log_factorials(int(orders.max()) + 1)
        left = upper - column - 2
        return cls(
            logs=logs[upper] - logs[column + 2] - logs[left],
            column=column,
            left=left.astype(np.float64),
            starts=starts,
            lengths=lengths,
        )


@lru_cache(maxsize=8)
def _remembered_triangle(orders: bytes) -> _Triangle:
    return _Triangle.of(np.frombuffer(orders, dtype=np.int64))


def log_sums_of_binomials(
    orders: Array,  # Integers; shape (n,)
    # k is at least the largest order minus 1; each row of terms gives one row of results; shape
    # (k,) or (p, k)
    terms: Array,
    rest: float = 0.0,  # The logarithm that is multiplied by a - k
) -> Array:
    """Log sum_{k=2}^a C(a, k) e^{terms[.., k-2] + (a-k) rest} for integers a >= 2."""
    whole = orders.astype(np.int64)
    rows = np.atleast_2d(terms)
    high = whole > _VISITED
    if high.any() and whole.sum() > _FEW_TERMS:
        result = np.empty((rows.shape[0], orders.size))
        for row, values in zip(result, rows, strict=True):
            row[high] = _log_sums_of_visible(whole[high], values, rest)
        if not high.all():
            result[:, ~high] = log_sums_of_binomials(orders[~high], rows, rest)
        return result[0] if terms.ndim == 1 else result
    result = np.empty((rows.shape[0], orders.size))
    ends = np.cumsum(whole)
    start = 0
    while start < whole.size:
        taken = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, taken + _BLOCK, side="right")))
        part = whole[start:stop]
        if part.sum() <= _REMEMBERED:
            triangle = _remembered_triangle(part.tobytes())
        else:
            triangle = _Triangle.of(part)
        logs = triangle.logs + rest * triangle.left if rest != 0.0 else triangle.logs
        height = max(1, _BLOCK // logs.size)
        for first in range(0, rows.shape[0], height):
            matrix = np.take(rows[first : first + height], triangle.column, axis=1)
            matrix += logs
            top = np.maximum.reduceat(matrix, triangle.starts, axis=1)
            # Where all terms are 0, or one is beyond floats, the largest logarithm is infinite.
            around = np.where(np.isinf(top), 0.0, top)
            matrix -= np.repeat(around, triangle.lengths, axis=1)
            with np.errstate(over="ignore", divide="ignore"):
                np.exp(matrix, out=matrix)
                sums = np.add.reduceat(matrix, triangle.starts, axis=1)
                result[first : first + height, start:stop] = around + np.log(sums)
        start = stop
    return result[0] if terms.ndim == 1 else result


def _log_sums_of_visible(orders: NDArray[np.int64], terms: Array, rest: float) -> Array:
    """:func:`log_sums_of_binomials` where most terms are too small to matter.

    The terms t_k are cut into cells. For each cell, let s be about the slope of t_k in it. Then
    log C(a, k) + s k is concave in k, and is largest where (a-k) / (k+1) passes e^-s. The sum of
    this largest value and the largest t_k - s k bounds the logarithms of the cell's terms, and the
    second number is the same for all orders.
    """
    most = int(orders.max())
    logs = log_factorials(most + 1)
    count = -(-(most - 1) // _CELL)
    padded = np.full(count * _CELL, -np.inf)
    padded[: most - 1] = terms[: most - 1]
    padded -= rest * np.arange(2.0, padded.size + 2.0)
    table = padded.reshape(count, _CELL)
    first = 2 + _CELL * np.arange(count)
    last = np.minimum(first + _CELL - 1, most)
    ends = padded[first - 2], padded[last - 2]
    with np.errstate(invalid="ignore"):
        slope = (ends[1] - ends[0]) / np.maximum(last - first, 1)
    # If a term is 0 there is no slope; any other slope also gives a bound.
    slope = np.where(np.isfinite(slope), slope, 0.0)
    bent = (table - slope[:, None] * (first[:, None] + np.arange(_CELL))).max(axis=1)
    growth = np.exp(-np.clip(slope, -700.0, 700.0))
    result = np.empty(orders.size)
    ranked = np.argsort(orders, kind="stable")
    start = 0
    while start < ranked.size:
        # The orders are sorted, so that those of one block are close to each other.
        stop = start + max(1, _BLOCK // (8 * (count + 4 * _CELL)))
        chosen = ranked[start:stop]
        a = orders[chosen, None]
        cells = -(-(int(a.max()) - 1) // _CELL)
        low, high = first[:cells], np.minimum(last[:cells], a)
        turn = np.floor((a - growth[:cells]) / (1.0 + growth[:cells]))
        bound = np.full((chosen.size, cells), -np.inf)
        best = np.full(chosen.size, -np.inf)
        for k in (turn, turn + 1.0):
            at = np.clip(k, low, np.maximum(high, low)).astype(np.int64)
            inside = at <= a
            at = np.minimum(at, a)
            binomial = logs[a] - logs[at] - logs[a - at]
            np.copyto(binomial, -np.inf, where=~inside)
            bound = np.maximum(bound, binomial + slope[:cells] * at)
            best = np.maximum(best, (binomial + padded[at - 2]).max(axis=1))
        active = bound + bent[:cells] > (best - _VISIBLE)[:, None]
        kept = max(1, int(active.sum(axis=1).max()))
        cell = np.argsort(~active, axis=1, kind="stable")[:, :kept]
        k = first[cell][:, :, None] + np.arange(_CELL)
        dropped = ~np.take_along_axis(active, cell, axis=1)[:, :, None] | (k > a[:, :, None])
        k = np.minimum(k, a[:, :, None])
        values = logs[a[:, :, None]] - logs[k] - logs[a[:, :, None] - k] + padded[k - 2]
        np.copyto(values, -np.inf, where=dropped)
        sums = log_row_sums(values.reshape(chosen.size, -1))
        result[chosen] = sums + rest * orders[chosen]
        start = stop
    return result


def log_row_sums(matrix: Array) -> Array:
    """Log of the sum of e^entry over each row, overwriting ``matrix``; -inf for a row of -inf."""
    top = matrix.max(axis=1)
    shift = np.where(np.isfinite(top), top, 0.0)
    matrix -= shift[:, None]
    np.exp(matrix, out=matrix)
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(matrix.sum(axis=1)))


def log_expm1(x: Array) -> Array:
    """log(e^x - 1) for x >= 0, without overflow; -inf at 0."""
    result = np.array(x, dtype=np.float64)
    small = result < 40.0  # from 40 on, e^-x is below half a unit in the last place of x
    with np.errstate(divide="ignore"):
        result[small] = np.log(np.expm1(result[small]))
    return result


def log_excess_integer(orders: Array, z: float, q: float) -> Array:
    """log(A - 1) at integer orders by the finite sum; needs 0 < q < 1."""
    k = np.arange(2.0, float(orders.max()) + 1.0)
    terms = k * math.log(q) + log_expm1(k * (k - 1.0) / (2.0 * z * z))
    return log_sums_of_binomials(orders, terms, math.log1p(-q))


def log_likelihood_ratio(nodes: Array, z: float, q: float) -> Array:
    """L = log(1 - q + q e^l) at the nodes, where l is as above; accurate near L = 0."""
    exponent = (2.0 * nodes - 1.0) / (2.0 * z * z)
    if q == 1.0:
        return exponent
    with np.errstate(over="ignore"):
        near = q * np.expm1(exponent)
        far = np.logaddexp(math.log1p(-q), math.log(q) + exponent)
        return np.where(np.abs(near) < 0.5, np.log1p(np.where(np.abs(near) < 0.5, near, 0.0)), far)


def log_power_excess(ratio: Array, orders: Array) -> Array:
    """log((1+x)^a - 1 - a x) for every order a (rows) and every ratio L = log(1+x) (columns).

    With b = a - 1, (1+x)^a - 1 - a x is e^L (e^{bL} - 1) - b (e^L - 1), and for L >= 0 this is
    written as e^L [(e^{bL} - 1) + b (e^{-L} - 1)]. Every term has a factor of about b, so orders
    close to 1 lose no digits. Near L = 0 the bracket is the series
    sum_{k>=2} (b^k + (-1)^k b) L^k / k!.
    """
    b = (orders - 1.0)[:, None]
    big_l = ratio[None, :]
    result = np.empty(np.broadcast_shapes(b.shape, big_l.shape))
    scale = np.maximum(b, 1.0)
    near = np.abs(big_l) * scale < 0.05
    positive = np.broadcast_to(big_l > 0.0, near.shape)

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # With 11 terms of the series the relative remainder is below 2 * 0.05^10 / 12! < 1e-20.
        rows, columns = np.nonzero(near)
        length = ratio[columns]
        power = orders[rows] - 1.0
        total = np.zeros_like(length)
        for k in range(12, 1, -1):
            sign = 1.0 if k % 2 == 0 else -1.0
            coefficient = (power ** (k - 1) + sign) * power / math.factorial(k)
            total = total * length + coefficient
        result[rows, columns] = length + np.log(total * length * length)

        rows, columns = np.nonzero(~near & positive)
        length = ratio[columns]
        power = orders[rows] - 1.0
        growth = power * length
        bend = power * np.expm1(-length)
        moderate = np.log(np.expm1(np.minimum(growth, 40.0)) + bend)
        huge = growth + np.log1p((bend - 1.0) * np.exp(-growth))
        result[rows, columns] = length + np.where(growth < 40.0, moderate, huge)

        rows, columns = np.nonzero(~near & ~positive)
        length = ratio[columns]
        power = orders[rows] - 1.0
        result[rows, columns] = np.log(
            np.exp(length) * np.expm1(power * length) - power * np.expm1(length)
        )
    return result


def log_excess_quadrature(orders: Array, z: float, q: float) -> Array:
    """log(A - 1) at any orders > 1 by the trapezoid rule; needs 0 < q <= 1.

    Orders share their nodes in blocks if that is cheaper than separate nodes for every order.
    """
    if z < block.LEAST_NOISE or not block.LEAST_PROBABILITY <= q < 1.0:
        return _log_excess_in_logs(orders, z, q)
    result = np.empty_like(orders)
    pending = np.arange(orders.size)
    while pending.size:
        together = block.compatible(orders[pending])
        if not together.any():
            result[pending] = _log_excess_in_logs(orders[pending], z, q)
            break
        chosen, pending = pending[together], pending[~together]
        result[chosen] = block.log_excess_of_one(orders[chosen], z, q)
    return result


def _log_excess_in_logs(orders: Array, z: float, q: float) -> Array:
    """The trapezoid rule with every term as a logarithm, for any noise and any orders above 1.

    The integrand is analytic in the strip |Im Z| < pi z^2 and falls off like a Gaussian, so the
    rule converges geometrically. With step h the relative error is about e^{-2 pi^2 z^2 / h} for
    small z and e^{-2 pi^2 z^2 / h^2} for large z. Both are below 1e-16 at the step used.

    With little noise the only nodes visited are those within 12 z of 0, of 2, of the order a, or of
    the bend at z0 = 1/2 + z^2 log(1/q), where x = 1. With p = x/(1+x), the logarithm of the
    integrand has its maxima where a p = Z, and is concave only where p (1-p) < z^2 / a. For z < 0.1
    these parts lie within z^2 of 0, 2 and a. Elsewhere the integrand is below e^-70 of its peak.
    """
    step = min(z / 4.0, z * z / 2.0)
    if z >= block.LEAST_NOISE:
        return _on_the_line(orders, z, q, step)
    result = np.empty_like(orders)
    bend = 0.5 + z * z * math.log(1.0 / q)
    reach = 12.0 * z
    if z < _LITTLE_NOISE:
        # The Gaussian weight is negligible at the bend and at the singularity next to it.
        step, bend = z / 4.0, 0.0
    for i, order in enumerate(orders):
        pieces = [
            np.arange(float(math.floor((c - reach) / step)), math.ceil((c + reach) / step) + 1.0)
            for c in (0.0, 2.0, float(order), min(bend, float(order)))
        ]
        nodes = step * np.unique(np.concatenate(pieces))
        result[i] = _trapezoid(orders[i : i + 1], nodes, z, q, step)[0]
    return result


def _on_the_line(orders: Array, z: float, q: float, step: float) -> Array:
    """The trapezoid rule on all nodes from 12 z below 0 to 12 z above the largest order.

    The last node is at least 12 z above 2, because for small q the integrand is like x^2 and has
    its peak at 2.
    """
    first = math.floor(-12.0 * z / step)
    last = math.ceil((max(float(orders.max()), 2.0) + 12.0 * z) / step)
    result = np.full_like(orders, -np.inf)
    width = max(1, min(last - first + 1, _BLOCK // 4))
    height = max(1, _BLOCK // width)
    for left in range(first, last + 1, width):
        nodes = step * np.arange(left, min(left + width, last + 1), dtype=np.float64)
        for top in range(0, orders.size, height):
            rows = slice(top, top + height)
            part = _trapezoid(orders[rows], nodes, z, q, step)
            result[rows] = np.logaddexp(result[rows], part)
    return result


def _trapezoid(orders: Array, nodes: Array, z: float, q: float, step: float) -> Array:
    weights = -(nodes * nodes) / (2.0 * z * z) + math.log(step / (z * math.sqrt(2.0 * math.pi)))
    values = log_power_excess(log_likelihood_ratio(nodes, z, q), orders)
    return logsumexp(values + weights[None, :], axis=1)
