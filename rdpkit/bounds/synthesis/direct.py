r"""Mean-and-covariance synthesis under replace-one, without a data set in between.

Guarantee
---------
Two data sets of n records differ in one. With tau = 4 d / sigma and T = tau (n-1) / n^2, for
T < 1 and orders a with (a-1) T < 1, one output has

    D_a <= a T / (2 (n-1) (1 - (a-1) T)) + max( l(T), l(T/sqrt 3) + l(-T/sqrt 3) ),
    l(x) = -( log(1 - (a-1) x) + (a-1) log(1 + x) ) / (2 (a-1)).

For a >= 2, and for T <= 1/sqrt 3 at any order, the maximum is l(T): the bound is then the largest
value over all Gram matrices that the cube allows, reached where a record is replaced by the mean
of the others. No finite bound is claimed elsewhere.

Assumes
-------
Records in [-1, 1]^d; both covariances have smallest eigenvalue at least sigma. No third data set
has to satisfy it.

Source
------
rdpkit, theory page 'Synthesis: direct bounds'; the divergence of two Gaussians as in
Miura et al. 2023, Proposition 4.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound
from rdpkit.bounds.synthesis.exact import NUDGE, SOURCE, exact, log_part, log_part_ball
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import to_relative_accuracy

ID = "synthesis-direct"

_BITS = 60
_START = 128


def spread(n: int, d: int, min_eigenvalue: float) -> float:
    """T, by which one record can stretch the covariance; rounded up."""
    return NUDGE * (4.0 * d / min_eigenvalue) * ((n - 1.0) / n) / n


def orders_below(n: int, d: int, min_eigenvalue: float) -> float:
    """The limit 1 + 1/T on orders; 1, which leaves none, where T >= 1."""
    widest = spread(n, d, min_eigenvalue)
    return 1.0 + 1.0 / widest if widest < 1.0 else 1.0


def rdp_one_output(orders: Array, n: int, d: int, min_eigenvalue: float) -> Array:
    """The bound on one output.

    Parameters
    ----------
    orders : ndarray, shape (k,)
        Orders a > 1.
    n : int
        Number of records of either data set, at least 2.
    d : int
        Number of coordinates.
    min_eigenvalue : float
        sigma, in (0, 1].

    Returns
    -------
    ndarray, shape (k,)
        Divergences in nats, inf where no finite bound holds.
    """
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


def ball_one_output(
    order: float, n: int, d: int, min_eigenvalue: float, *, bits: int = _BITS
) -> arb:
    """A ball that contains the bound on one output.

    Parameters
    ----------
    order : float
        a > 1, taken as an exact number.
    n, d, min_eigenvalue
        As for :func:`rdp_one_output`; the eigenvalue is taken as an exact number.
    bits : int
        Relative accuracy asked for.

    Returns
    -------
    arb
        inf where no finite bound holds.

    Raises
    ------
    ArithmeticError
        If the accuracy is not reached.
    """
    widest = fmpq(4 * d * (n - 1), n * n) / exact(min_eigenvalue)
    if widest >= 1 or (exact(order) - 1) * widest >= 1:
        return arb("inf")

    def compute() -> arb:
        a, t = arb(order), arb(widest)
        third = t / arb(3).sqrt()
        logs = log_part_ball(a, t).max(log_part_ball(a, third) + log_part_ball(a, -third))
        return a * t / (2 * (n - 1) * (1 - (a - 1) * t)) + logs

    return to_relative_accuracy(compute, bits=bits, start=_START)


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    return OrderRange(highest=orders_below(event.records, event.dimension, event.min_eigenvalue))


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    one = rdp_one_output(orders, event.records, event.dimension, event.min_eigenvalue)
    return np.asarray(event.outputs * one)


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    one = ball_one_output(order, event.records, event.dimension, event.min_eigenvalue)
    with ctx.workprec(_START):
        return one * int(event.outputs)


BOUND = RdpBound(
    id=ID,
    title="mean-and-covariance synthesis, bounded neighbours, no data set in between",
    source=SOURCE,
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=_range,
    rdp=_rdp,
    ball=_ball,
)
