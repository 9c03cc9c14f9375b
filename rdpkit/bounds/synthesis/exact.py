r"""Mean-and-covariance synthesis under add-or-remove-one, as a maximum over one number.

Guarantee
---------
Let C have m records, mean mu and covariance S, let x be one more record, v = x - mu, N = m + 1.
With x the mean is mu + v/N and the covariance (m/N) S + (m/N^2) v v', so relative to S it has the
eigenvalue 1 - 1/N in d - 1 directions and 1 + e in the direction of v,

    e = (m t / N - 1) / N,    t = v' S^-1 v,

and the divergence of one output depends on the data through t alone. With
l(x) = -( log(1 - (a-1) x) + (a-1) log(1 + x) ) / (2 (a-1)),

    x removed:  (d-1) l(-1/N) + l(e)            + a t / (2 N^2 (1 - (a-1) e)),
    x added:    (d-1) l(1/m)  + l(-e / (1 + e)) + a t / (2 N^2 (1 + a e)).

Every coordinate of C has variance at least sigma and at most 1 - mu_i^2, hence
t <= d (1 + sqrt(1 - sigma))^2 / sigma, which is below the 4 d / sigma of Theorem 3.1. Both forms
are largest at an end of that range of t; the bound is the largest of the four values, and of the
pairs (n - 1, n) and (n, n + 1). The number of records being large, a data set attains it
(:mod:`rdpkit.pairs.synthesis`).

Assumes
-------
Records in [-1, 1]^d; both covariances have smallest eigenvalue at least sigma.

Source
------
rdpkit, theory page 'Synthesis: direct bounds'; the divergence of two Gaussians as in
Miura et al. 2023, Proposition 4.1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import to_relative_accuracy

ID = "synthesis-exact"
SOURCE = "rdpkit, theory page 'Synthesis: direct bounds'"

_BITS = 60
_START = 128
# Bits at which it is decided whether a divergence is finite; the order is a 53-bit number.
_DECIDING = 512
# (1/9)^19 is below a unit in the last place: the argument s of the series is at most 1/3.
_TERMS = 19
# Every float below carries fewer than four roundings; the bounds rise with what is nudged by this.
NUDGE = 1.0 + 8.0 * math.ulp(1.0)


def excess_over_log(u: Array) -> Array:
    """The excess u - log(1 + u) >= 0 to full relative accuracy, for u > -1."""
    u = np.asarray(u, dtype=np.float64)
    small = np.where(np.abs(u) <= 0.5, u, 0.0)
    s = small / (2.0 + small)
    square = s * s
    # log(1 + u) = 2 atanh(s) and u = 2 s / (1 - s): the terms of first order cancel by hand.
    series = np.zeros_like(s)
    for j in range(_TERMS, 0, -1):
        series = series * square + 1.0 / (2.0 * j + 1.0)
    near = small * s - 2.0 * s * square * series
    far = np.where(np.abs(u) <= 0.5, 1.0, u)
    return np.asarray(np.where(np.abs(u) <= 0.5, near, far - np.log1p(far)))


def log_part(orders: Array, x: float) -> Array:
    """l(x), what a covariance eigenvalue of 1 + x against one of 1 adds; inf from 1/(a-1) on.

    The logarithms nearly cancel; written with u - log(1 + u), both summands are positive.
    """
    beta = orders - 1.0
    product = -beta * x
    inside = product > -1.0
    first = excess_over_log(np.where(inside, product, 0.0)) / beta
    value = (first + excess_over_log(np.asarray(x))) / 2.0
    return np.asarray(np.where(inside, value, np.inf))


def log_part_ball(order: arb, x: arb) -> arb:
    """l(x) at the working precision in force."""
    beta = order - 1
    return -((-beta * x).log1p() + beta * x.log1p()) / (2 * beta)


def farthest(d: int, min_eigenvalue: float) -> float:
    """The largest t that the cube allows, d (1 + sqrt(1 - sigma))^2 / sigma."""
    reach = 1.0 + math.sqrt(1.0 - min_eigenvalue)
    return NUDGE * d * reach * reach / min_eigenvalue


def orders_below(m: int, d: int, min_eigenvalue: float) -> float:
    """The orders at which the pair (m, m + 1) has a finite divergence for every t."""
    size = m + 1.0
    excess = (m / size * farthest(d, min_eigenvalue) - 1.0) / size
    return min(size, 1.0 + 1.0 / excess) if excess > 0.0 else size


def rdp_of_pair(orders: Array, m: int, d: int, min_eigenvalue: float) -> Array:
    """The bound on one output, for data sets of m and m + 1 records.

    Parameters
    ----------
    orders : ndarray, shape (k,)
        Orders a > 1.
    m : int
        Number of records that the two data sets share, at least 1.
    d : int
        Number of coordinates.
    min_eigenvalue : float
        sigma, in (0, 1].

    Returns
    -------
    ndarray, shape (k,)
        Divergences in nats, inf where some t has an infinite one.
    """
    a = orders
    size = m + 1.0
    best = np.zeros_like(a)
    removed_rest = (d - 1.0) * log_part(a, -1.0 / size)
    # With d = 1 there is no other direction, and 0 * inf would be NaN.
    added_rest = (d - 1.0) * log_part(a, 1.0 / m) if d > 1 else np.zeros_like(a)
    for t in (0.0, farthest(d, min_eigenvalue)):
        e = (m / size * t - 1.0) / size
        for rest, x, room in (
            (removed_rest, e, 1.0 - (a - 1.0) * e),
            (added_rest, -e / (1.0 + e), 1.0 + a * e),
        ):
            inside = room > 0.0
            quadratic = a / 2.0 * (t / size / size) / np.where(inside, room, 1.0)
            value = np.where(inside, rest + log_part(a, x) + quadratic, np.inf)
            best = np.maximum(best, value)
    return np.asarray(best)


def exact(number: float) -> fmpq:
    """A float as the rational number that it is."""
    fraction = Fraction(number)
    return fmpq(fraction.numerator, fraction.denominator)


def _pair_ball(order: float, m: int, d: int, min_eigenvalue: float) -> arb:
    """A ball around the bound on one output, at the working precision in force."""
    a, sigma = arb(order), arb(exact(min_eigenvalue))
    size = m + 1
    reach = 1 + (1 - sigma).sqrt()
    removed_rest = (d - 1) * log_part_ball(a, arb(fmpq(-1, size)))
    added_rest = (d - 1) * log_part_ball(a, arb(fmpq(1, m))) if d > 1 else arb(0)
    best = arb(0)
    for t in (arb(0), d * reach * reach / sigma):
        e = (m * t / size - 1) / size
        quadratic = a * t / (2 * arb(size) * size)
        removed = removed_rest + log_part_ball(a, e) + quadratic / (1 - (a - 1) * e)
        added = added_rest + log_part_ball(a, -e / (1 + e)) + quadratic / (1 + a * e)
        best = best.max(removed).max(added)
    return best


def ball_of_pair(order: float, m: int, d: int, min_eigenvalue: float, *, bits: int = _BITS) -> arb:
    """A ball that contains the bound on one output for data sets of m and m + 1 records.

    Parameters
    ----------
    order : float
        a > 1, taken as an exact number.
    m, d, min_eigenvalue
        As for :func:`rdp_of_pair`; the eigenvalue is taken as an exact number.
    bits : int
        Relative accuracy asked for.

    Returns
    -------
    arb
        inf where the bound is infinite.

    Raises
    ------
    ArithmeticError
        If the accuracy is not reached.
    """
    with ctx.workprec(_DECIDING):
        reach = 1 + (1 - arb(exact(min_eigenvalue))).sqrt()
        excess = (m * d * reach * reach / exact(min_eigenvalue) / (m + 1) - 1) / (m + 1)
        if order >= m + 1 or not 1 - (arb(order) - 1) * excess > 0:
            return arb("inf")
    return to_relative_accuracy(
        lambda: _pair_ball(order, m, d, min_eigenvalue), bits=bits, start=_START
    )


def rdp_one_output(orders: Array, n: int, d: int, min_eigenvalue: float) -> Array:
    """The larger of the pairs (n - 1, n) and (n, n + 1), one output."""
    return np.asarray(
        np.maximum(
            rdp_of_pair(orders, n - 1, d, min_eigenvalue), rdp_of_pair(orders, n, d, min_eigenvalue)
        )
    )


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    d, sigma = event.dimension, event.min_eigenvalue
    return OrderRange(highest=min(orders_below(m, d, sigma) for m in _shared(event)))


def _shared(event: Any) -> tuple[int, int]:
    return event.records - 1, event.records


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    one = rdp_one_output(orders, event.records, event.dimension, event.min_eigenvalue)
    return np.asarray(event.outputs * one)


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    d, sigma = event.dimension, event.min_eigenvalue
    first, second = (ball_of_pair(order, m, d, sigma) for m in _shared(event))
    with ctx.workprec(_START):
        return first.max(second) * int(event.outputs)


BOUND = RdpBound(
    id=ID,
    title="mean-and-covariance synthesis, unbounded neighbours, maximised over the record",
    source=SOURCE,
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=_range,
    rdp=_rdp,
    ball=_ball,
)
