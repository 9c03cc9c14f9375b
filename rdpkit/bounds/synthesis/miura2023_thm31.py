r"""Mean-and-covariance synthesis under add-or-remove-one: Theorem 3.1 of Miura et al.

Guarantee
---------
One record drawn from N(mu, Sigma) of a data set of n records, against one of n + 1 records, is
(a, max(e1, e2))-RDP with e1 (a record added) and e2 (a record removed) as printed, for orders
a < min(n + 1, n^2 / (tau (n+1) - n)), tau = 4 d / sigma. At the far end of its range e2 is attained
up to the cube's geometry.

Assumes
-------
Records in [-1, 1]^d; both covariances have smallest eigenvalue at least sigma.

Source
------
Miura, Shibahara, Kii, Ichikawa, Yamamoto and Chida, "On Renyi differential privacy in
statistics-based synthetic data generation", 2023, Theorem 3.1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import to_relative_accuracy

ID = "miura2023-thm3.1"
SOURCE = "Miura et al. 2023, Theorem 3.1"

_BITS = 60
_START = 128


def tau_of(d: int, min_eigenvalue: float) -> float:
    """The paper's tau: the squared Mahalanobis radius of the cube, 4 d / sigma."""
    return 4.0 * d / min_eigenvalue


def orders_below(n: int, d: int, min_eigenvalue: float) -> float:
    """The limit c on orders: condition (1) of the theorem, for the pair (n, n + 1)."""
    tau = tau_of(d, min_eigenvalue)
    return min(n + 1.0, n * float(n) / (tau * (n + 1.0) - n))


def rdp_one_output(orders: Array, n: int, d: int, min_eigenvalue: float) -> Array:
    """The theorem's epsilon at orders in its range, for one synthetic record.

    The logarithms are differences of nearly equal numbers when n is large; each pair is written
    with log1p of small arguments, and what remains is accurate to about 1e-16 n / tau.
    """
    a = orders
    t = tau_of(d, min_eigenvalue)
    size = float(n)
    scale = 2.0 * (a - 1.0)

    added = a / 2.0 * t / ((size + 1.0) * (size + 1.0 - a))
    added += d / scale * (a * np.log1p(-1.0 / (size + 1.0)) - np.log1p(-a / (size + 1.0)))
    gap = np.log1p(a * size * t / ((size + 1.0) * (size + 1.0 - a))) - a * np.log1p(
        t / (size + 1.0)
    )
    added -= np.minimum(0.0, gap) / scale

    removed = a / 2.0 * t / (size * (size + a) - a * (size + 1.0) * t)
    removed += d / scale * (a * np.log1p(1.0 / size) - np.log1p(a / size))
    gap = np.log1p(-a * (size + 1.0) * t / ((size + a) * size)) - a * np.log1p(-t / size)
    removed -= np.minimum(0.0, gap) / scale
    return np.asarray(np.maximum(added, removed))


def exact_tau(d: int, min_eigenvalue: float) -> fmpq:
    """The paper's tau for an eigenvalue that is taken as an exact number."""
    sigma = Fraction(min_eigenvalue)
    return fmpq(4 * d * sigma.denominator, sigma.numerator)


def formula(a: arb, n: int, d: int, tau: fmpq) -> arb:
    """The theorem's epsilon at the working precision in force, as printed.

    A ball that is not finite where ``a`` is not certainly in the theorem's range.
    """
    scale = 2 * (a - 1)
    zero = arb(0)

    added = a / 2 * tau / ((n + 1) * (n + 1 - a))
    added += d / scale * (a * arb(fmpq(n, n + 1)).log() - (1 - a / (n + 1)).log())
    gap = (1 + a * n * tau / ((n + 1) * (n + 1 - a))).log() - a * arb(1 + tau / (n + 1)).log()
    added -= gap.min(zero) / scale

    room = n * (n + a) - a * (n + 1) * tau
    if not (room > 0 and 1 - tau / n > 0):
        return arb("nan")
    removed = a / 2 * tau / room
    removed += d / scale * (a * arb(fmpq(n + 1, n)).log() - (1 + a / n).log())
    gap = (1 - a * (n + 1) * tau / ((n + a) * n)).log() - a * arb(1 - tau / n).log()
    removed -= gap.min(zero) / scale
    return added.max(removed)


def ball_one_output(order: float, n: int, d: int, min_eigenvalue: float) -> arb:
    """A ball that contains the theorem's epsilon for one synthetic record; inf out of its range.

    The order and the eigenvalue are taken as exact numbers.
    """
    tau = exact_tau(d, min_eigenvalue)
    limit = min(fmpq(n + 1), fmpq(n * n) / (tau * (n + 1) - n))
    a = Fraction(order)
    if fmpq(a.numerator, a.denominator) >= limit:
        return arb("inf")
    return to_relative_accuracy(lambda: formula(arb(order), n, d, tau), bits=_BITS, start=_START)


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    one = ball_one_output(order, event.records, event.dimension, event.min_eigenvalue)
    with ctx.workprec(_START):
        return one * int(event.outputs)


def _every_pair_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    one = ball_one_output(order, event.records - 1, event.dimension, event.min_eigenvalue)
    with ctx.workprec(_START):
        return one * int(event.outputs)


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    return OrderRange(highest=orders_below(event.records, event.dimension, event.min_eigenvalue))


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    one = rdp_one_output(orders, event.records, event.dimension, event.min_eigenvalue)
    return np.asarray(event.outputs * one)


def _every_pair_range(event: Any, adjacency: Adjacency) -> OrderRange:
    return OrderRange(
        highest=orders_below(event.records - 1, event.dimension, event.min_eigenvalue)
    )


def _every_pair(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    one = rdp_one_output(orders, event.records - 1, event.dimension, event.min_eigenvalue)
    return np.asarray(event.outputs * one)


def _assumptions(event: Any) -> tuple[str, ...]:
    return (f"the pair of neighbours has {event.records} and {event.records + 1} records",)


PUBLISHED = RdpBound(
    id=ID,
    title="mean-and-covariance synthesis, unbounded neighbours, as printed",
    source=SOURCE,
    kind=Kind.PUBLISHED,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=_range,
    rdp=_rdp,
    ball=_ball,
    conversion="mironov2017",
    assumptions=_assumptions,
)

UPPER = RdpBound(
    id=ID + "-every-pair",
    title="mean-and-covariance synthesis, unbounded neighbours, removal from n included",
    source=SOURCE + ", at n - 1: the larger of the pairs (n - 1, n) and (n, n + 1)",
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=_every_pair_range,
    rdp=_every_pair,
    ball=_every_pair_ball,
)
