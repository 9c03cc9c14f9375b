r"""Synthesis from a mean and a regularised covariance, for every data set.

Guarantee
---------
One record is drawn from N(mu, S + sigma I), where mu and S are the mean and the covariance of a
data set in [-1, 1]^d, and sigma is a public number > 0. Nothing is assumed of S.

Replace-one, at least n records: the bound of :mod:`rdpkit.bounds.synthesis.direct` at n and sigma.
Its proof needs no more than a common part of both covariances that is positive definite, and both
covariances at least sigma I, which the added variance gives.

Add-or-remove-one, data sets of m and N = m + 1 records: with T = 4 d m / (sigma N^2),
h = d / (d + sigma), r = N / (N - a h) and

    l(x) = -( log(1 - (a-1) x) + (a-1) log(1 + x) ) / (2 (a-1)),

the divergence of one output is at most

    x removed:  (d-1) l(-h/N) + max( l(T), l(-h/N) )            + a T / (2 m (1 - (a-1) T)),
    x added:    (d-1) l(g)    + max( l(-T / (1 + T)), l(g) )    + a T r / (2 m (1 + a T r)),

with g = h / (N - h), if a h < N and (a-1) T < 1. Both fall as m grows. A data set of fewer than n
records is filled up with zero vectors; then one record more or less replaces a zero vector among n
records. The bound for "at least n records, or filled up to n" is therefore the largest of both
values at m = n - 1 and of the bound for replace-one at n.

Assumes
-------
Records in [-1, 1]^d, which the mechanism cuts to the cube.

Source
------
rdpkit, theory page 'Synthesis: regularised'.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, of_event, orders_below
from rdpkit.bounds.synthesis import direct
from rdpkit.bounds.synthesis.direct import NUDGE, log_part, log_part_ball
from rdpkit.events.papers.synthesis import RegularisedSynthesis
from rdpkit.numerics.balls import rational, to_relative_accuracy

SOURCE = "rdpkit, theory page 'Synthesis: regularised'"


def limit(n: int, d: int, added_variance: float) -> float:
    """The order below which the bound for add-or-remove-one is finite."""
    return min(n / spread_of_data(d, added_variance), direct.replaced_limit(n, d, added_variance))


def spread_of_data(d: int, added_variance: float) -> float:
    """h, the largest share of the data in an eigenvalue of the regularised covariance; rounded up.

    A covariance of data in [-1, 1]^d has no eigenvalue above d.
    """
    return NUDGE / (1.0 + added_variance / d)


def rdp_one_output(
    orders: Array,  # Orders a > 1; shape (k,)
    n: int,  # The data sets have at least this many records, or are filled up; at least 2
    d: int,  # Number of coordinates
    added_variance: float,  # sigma, > 0
) -> Array:  # Shape (k,): divergences in nats; inf where no finite bound holds
    """The bound on one output under add-or-remove-one."""
    a, m = orders, n - 1.0
    top = direct.spread(n, d, added_variance)
    replaced = direct.replaced_one_output(a, n, d, added_variance)
    share = spread_of_data(d, added_variance)
    inside = np.isfinite(replaced) & (a * share < n)
    if not inside.any():
        return np.full(a.shape, np.inf)
    shrunk, grown = log_part(a, -share / n), log_part(a, NUDGE * share / (n - share))
    # With d = 1 there is no other direction, and 0 * inf would be NaN.
    rest = d - 1.0
    room = np.where(inside, 1.0 - (a - 1.0) * top, 1.0)
    removed = np.maximum(log_part(a, top), shrunk) + a / 2.0 * (top / m) / room
    stretch = n / np.where(inside, n - a * share, 1.0)
    added = np.maximum(log_part(a, -top / (1.0 + top)), grown)
    added = added + a / 2.0 * (top / m) * stretch / (1.0 + a * top * stretch)
    if rest > 0.0:
        removed, added = removed + rest * shrunk, added + rest * grown
    best = np.maximum(np.maximum(removed, added), replaced)
    return np.asarray(np.where(inside, best, np.inf))


def ball_one_output(
    order: float,  # a > 1, taken as an exact number
    # As for :func:`rdp_one_output`; the variance is taken as an exact number.
    n: int,
    d: int,
    added_variance: float,
) -> arb:  # inf where no finite bound holds
    """A ball that contains the bound on one output under add-or-remove-one.

    Raises ArithmeticError if the accuracy is not reached.
    """
    replaced = direct.replaced_ball(order, n, d, added_variance)
    share = d / (d + rational(added_variance))
    if not replaced.is_finite() or rational(order) * share >= n:
        return arb("inf")
    widest = fmpq(4 * d * (n - 1), n * n) / rational(added_variance)

    def compute() -> arb:
        a, t, m = arb(order), arb(widest), n - 1
        shrunk = log_part_ball(a, arb(-share / n))
        grown = log_part_ball(a, arb(share / (n - share)))
        quadratic = a * t / (2 * m)
        removed = log_part_ball(a, t).max(shrunk) + quadratic / (1 - (a - 1) * t)
        stretch = n / (n - a * arb(share))
        added = log_part_ball(a, -t / (1 + t)).max(grown)
        added += quadratic * stretch / (1 + a * t * stretch)
        rest = d - 1
        if rest:
            removed, added = removed + rest * shrunk, added + rest * grown
        return removed.max(added)

    changed = to_relative_accuracy(compute)
    with ctx.workprec(128):
        return changed.max(replaced)


def arguments(event: Any, adjacency: Adjacency) -> tuple[int, int, float]:
    """Number of records n, number of coordinates d, and added variance sigma."""
    return event.records, event.dimension, event.added_variance


REPLACED = RdpBound(
    id="synthesis-regularised-replaced",
    title="synthesis with a regularised covariance, bounded neighbours, every data set",
    source=SOURCE,
    kind=Kind.UPPER,
    event_type=RegularisedSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=orders_below(direct.replaced_limit, arguments),
    rdp=of_event(direct.replaced_one_output, arguments, attrgetter("outputs")),
    ball=of_event(direct.replaced_ball, arguments, attrgetter("outputs")),
)

ADDED_OR_REMOVED = RdpBound(
    id="synthesis-regularised",
    title="synthesis with a regularised covariance, unbounded neighbours, every data set",
    source=SOURCE,
    kind=Kind.UPPER,
    event_type=RegularisedSynthesis,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=orders_below(limit, arguments),
    rdp=of_event(rdp_one_output, arguments, attrgetter("outputs")),
    ball=of_event(ball_one_output, arguments, attrgetter("outputs")),
)
