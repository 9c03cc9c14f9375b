r"""Mean-and-covariance synthesis under replace-one, without a data set in between.

Guarantee
---------
Let two data sets of n records in d dimensions differ in one record, let sigma bound the eigenvalues
of their covariances from below, and let T = 4 d (n-1) / (sigma n^2). If T < 1, then at orders a
with (a-1) T < 1 the divergence of one output is

    D_a <= a T / (2 (n-1) (1 - (a-1) T)) + max( l(T), l(T/sqrt 3) + l(-T/sqrt 3) ),
    l(x) = -( log(1 - (a-1) x) + (a-1) log(1 + x) ) / (2 (a-1)).

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

import numpy as np
from flint import arb, fmpq

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, of_event, orders_below
from rdpkit.bounds.synthesis.exact import NUDGE, SOURCE, arguments, log_part, log_part_ball
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import rational, to_relative_accuracy


def spread(n: int, d: int, min_eigenvalue: float) -> float:
    """T, the most by which one record can change an eigenvalue of the covariance; rounded up."""
    return NUDGE * (4.0 * d / min_eigenvalue) * ((n - 1.0) / n) / n


def limit(n: int, d: int, min_eigenvalue: float) -> float:
    """The limit 1 + 1/T on orders; 1, which leaves no order, if T >= 1."""
    widest = spread(n, d, min_eigenvalue)
    return 1.0 + 1.0 / widest if widest < 1.0 else 1.0


def rdp_one_output(
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


def ball_one_output(
    order: float,  # a > 1, taken as an exact number
    # As for :func:`rdp_one_output`; the eigenvalue is taken as an exact number.
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


BOUND = RdpBound(
    id="synthesis-direct",
    title="mean-and-covariance synthesis, bounded neighbours, no data set in between",
    source=SOURCE,
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=orders_below(limit, arguments),
    rdp=of_event(rdp_one_output, arguments, attrgetter("outputs")),
    ball=of_event(ball_one_output, arguments, attrgetter("outputs")),
)
