r"""Mean-and-covariance synthesis, without a data set in between.

Guarantee
---------
*Add-or-remove-one, as a maximum over one number.* Let a data set have m records in d dimensions,
with mean mu and covariance S. Let x be one more record, v = x - mu and N = m + 1. Together with x
the mean is mu + v/N and the covariance is (m/N) S + (m/N^2) v v'. Relative to S this covariance has
the eigenvalue 1 - 1/N in d - 1 directions and 1 + e in the direction of v, where

    e = (m t / N - 1) / N,    t = v' S^-1 v,

so the divergence of one output depends on the data through t alone. It is, with
l(x) = -( log(1 - (a-1) x) + (a-1) log(1 + x) ) / (2 (a-1)),

    x removed:  (d-1) l(-1/N) + l(e)            + a t / (2 N^2 (1 - (a-1) e)),
    x added:    (d-1) l(1/m)  + l(-e / (1 + e)) + a t / (2 N^2 (1 + a e)).

Coordinate i of the data has variance at least sigma and at most 1 - mu_i^2, hence
t <= d (1 + sqrt(1 - sigma))^2 / sigma, which is below the 4 d / sigma of Theorem 3.1. Both
divergences are largest at an end of this range of t. The bound is the largest of these four values
for the pairs (m, m + 1) = (n - 1, n) and (n, n + 1). If there are many records, some data sets
nearly attain it (:mod:`rdpkit.pairs.synthesis`).

*Replace-one.* Let two data sets of n records differ in one record, and let
T = 4 d (n-1) / (sigma n^2). If T < 1, then at orders a with (a-1) T < 1 the divergence of one
output is

    D_a <= a T / (2 (n-1) (1 - (a-1) T)) + max( l(T), l(T/sqrt 3) + l(-T/sqrt 3) ).

If a >= 2 or T <= 1/sqrt 3, the maximum is l(T). The bound is then the largest value over all Gram
matrices that the cube allows, and is reached when a record is replaced by the mean of the others.
If T >= 1 or (a-1) T >= 1, no finite bound is claimed.

Assumes
-------
Records in [-1, 1]^d; both covariances have smallest eigenvalue at least sigma. Other data sets need
not satisfy this condition.

Source
------
rdpkit, theory page 'Synthesis: direct bounds'; the divergence of two Gaussians as in
Miura et al. 2023, Proposition 4.1.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, of_event, orders_below
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import rational, to_relative_accuracy

SOURCE = "rdpkit, theory page 'Synthesis: direct bounds'"

# The precision in bits with which it is decided whether a divergence is finite.
_DECIDING = 512
# The argument s of the series is at most 1/3, and (1/9)^19 is below a unit in the last place.
_TERMS = 19
# Numbers that carry fewer than four roundings are multiplied by this to become upper bounds.
NUDGE = 1.0 + 8.0 * math.ulp(1.0)


def excess_over_log(u: Array) -> Array:
    """The excess u - log(1 + u) >= 0 to full relative accuracy, for u > -1."""
    u = np.asarray(u, dtype=np.float64)
    small = np.where(np.abs(u) <= 0.5, u, 0.0)
    s = small / (2.0 + small)
    square = s * s
    # log(1 + u) = 2 atanh(s) and u = 2 s / (1 - s); the terms of first order, which cancel, are
    # left out.
    series = np.zeros_like(s)
    for j in range(_TERMS, 0, -1):
        series = series * square + 1.0 / (2.0 * j + 1.0)
    near = small * s - 2.0 * s * square * series
    far = np.where(np.abs(u) <= 0.5, 1.0, u)
    return np.asarray(np.where(np.abs(u) <= 0.5, near, far - np.log1p(far)))


def log_part(orders: Array, x: float) -> Array:
    """l(x), the contribution of an eigenvalue 1 + x against 1; inf for x from 1/(a-1) on.

    The two logarithms nearly cancel. With u - log(1 + u) in their place, both summands are
    positive.
    """
    beta = orders - 1.0
    product = -beta * x
    inside = product > -1.0
    first = excess_over_log(np.where(inside, product, 0.0)) / beta
    value = (first + excess_over_log(np.asarray(x))) / 2.0
    return np.asarray(np.where(inside, value, np.inf))


def log_part_ball(order: arb, x: arb) -> arb:
    """:func:`log_part` in balls, at the working precision in force."""
    beta = order - 1
    return -((-beta * x).log1p() + beta * x.log1p()) / (2 * beta)


def farthest(d: int, min_eigenvalue: float) -> float:
    """The largest t that the cube allows, d (1 + sqrt(1 - sigma))^2 / sigma."""
    reach = 1.0 + math.sqrt(1.0 - min_eigenvalue)
    return NUDGE * d * reach * reach / min_eigenvalue


def limit(m: int, d: int, min_eigenvalue: float) -> float:
    """The order below which the pair (m, m + 1) has a finite divergence for every t."""
    size = m + 1.0
    excess = (m / size * farthest(d, min_eigenvalue) - 1.0) / size
    return min(size, 1.0 + 1.0 / excess) if excess > 0.0 else size


def rdp_of_pair(
    orders: Array,  # Orders a > 1; shape (k,)
    m: int,  # Number of records that the two data sets share, at least 1
    d: int,  # Number of coordinates
    min_eigenvalue: float,  # sigma, in (0, 1]
) -> Array:  # Shape (k,): divergences in nats, inf where some t has an infinite one
    """The bound on one output, for data sets of m and m + 1 records."""
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


def _pair_ball(order: float, m: int, d: int, min_eigenvalue: float) -> arb:
    """A ball around the bound on one output, at the working precision in force."""
    a, sigma = arb(order), arb(rational(min_eigenvalue))
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


def ball_of_pair(
    order: float,  # a > 1, taken as an exact number
    # As for :func:`rdp_of_pair`; the eigenvalue is taken as an exact number.
    m: int,
    d: int,
    min_eigenvalue: float,
) -> arb:  # inf where the bound is infinite
    """A ball that contains the bound on one output for data sets of m and m + 1 records.

    Raises ArithmeticError if the accuracy is not reached.
    """
    with ctx.workprec(_DECIDING):
        reach = 1 + (1 - arb(rational(min_eigenvalue))).sqrt()
        excess = (m * d * reach * reach / rational(min_eigenvalue) / (m + 1) - 1) / (m + 1)
        if order >= m + 1 or not 1 - (arb(order) - 1) * excess > 0:
            return arb("inf")
    return to_relative_accuracy(lambda: _pair_ball(order, m, d, min_eigenvalue))


def rdp_one_output(orders: Array, n: int, d: int, min_eigenvalue: float) -> Array:
    """The larger bound of the pairs (n - 1, n) and (n, n + 1), for one output."""
    smaller, larger = (rdp_of_pair(orders, m, d, min_eigenvalue) for m in (n - 1, n))
    return np.asarray(np.maximum(smaller, larger))


def _ball_one_output(order: float, n: int, d: int, min_eigenvalue: float) -> arb:
    smaller, larger = (ball_of_pair(order, m, d, min_eigenvalue) for m in (n - 1, n))
    with ctx.workprec(128):
        return smaller.max(larger)


def arguments(event: Any, adjacency: Adjacency) -> tuple[int, int, float]:
    """Number of records n, number of coordinates d, and smallest eigenvalue sigma."""
    return event.records, event.dimension, event.min_eigenvalue


ADDED_OR_REMOVED = RdpBound(
    id="synthesis-exact",
    title="mean-and-covariance synthesis, unbounded neighbours, maximised over the record",
    source=SOURCE,
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=orders_below(
        lambda n, d, min_eigenvalue: min(limit(m, d, min_eigenvalue) for m in (n - 1, n)), arguments
    ),
    rdp=of_event(rdp_one_output, arguments, attrgetter("outputs")),
    ball=of_event(_ball_one_output, arguments, attrgetter("outputs")),
)


def spread(n: int, d: int, min_eigenvalue: float) -> float:
    """T, the most by which one record can change an eigenvalue of the covariance; rounded up."""
    return NUDGE * (4.0 * d / min_eigenvalue) * ((n - 1.0) / n) / n


def replaced_limit(n: int, d: int, min_eigenvalue: float) -> float:
    """The limit 1 + 1/T on orders; 1, which leaves no order, if T >= 1."""
    widest = spread(n, d, min_eigenvalue)
    return 1.0 + 1.0 / widest if widest < 1.0 else 1.0


def replaced_one_output(
    orders: Array,  # Orders a > 1; shape (k,)
    n: int,  # Number of records of either data set, at least 2
    d: int,  # Number of coordinates
    min_eigenvalue: float,  # sigma, in (0, 1]
) -> Array:  # Shape (k,): divergences in nats; inf where no finite bound holds
    """The bound on the divergence of one output."""
    a = orders
    widest = spread(n, d, min_eigenvalue)
    room = 1.0 - (a - 1.0) * widest
    inside = room > 0.0
    if widest >= 1.0 or not inside.any():
        return np.full(a.shape, np.inf)
    quadratic = a / 2.0 * (widest / (n - 1.0)) / np.where(inside, room, 1.0)
    third = widest / math.sqrt(3.0)
    logs = np.maximum(log_part(a, widest), log_part(a, third) + log_part(a, -third))
    return np.asarray(np.where(inside, quadratic + logs, np.inf))


def replaced_ball(
    order: float,  # a > 1, taken as an exact number
    # As for :func:`replaced_one_output`; the eigenvalue is taken as an exact number.
    n: int,
    d: int,
    min_eigenvalue: float,
) -> arb:  # inf where no finite bound holds
    """A ball that contains the bound on the divergence of one output.

    Raises ArithmeticError if the accuracy is not reached.
    """
    widest = fmpq(4 * d * (n - 1), n * n) / rational(min_eigenvalue)
    if widest >= 1 or (rational(order) - 1) * widest >= 1:
        return arb("inf")

    def compute() -> arb:
        a, t = arb(order), arb(widest)
        third = t / arb(3).sqrt()
        logs = log_part_ball(a, t).max(log_part_ball(a, third) + log_part_ball(a, -third))
        return a * t / (2 * (n - 1) * (1 - (a - 1) * t)) + logs

    return to_relative_accuracy(compute)


REPLACED = RdpBound(
    id="synthesis-direct",
    title="mean-and-covariance synthesis, bounded neighbours, no data set in between",
    source=SOURCE,
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=orders_below(replaced_limit, arguments),
    rdp=of_event(replaced_one_output, arguments, attrgetter("outputs")),
    ball=of_event(replaced_ball, arguments, attrgetter("outputs")),
)
