r"""Mean-and-covariance synthesis under add-or-remove-one: Theorem 3.1 of Miura et al.

Guarantee
---------
Drawing one record from the normal distribution with a data set's mean and covariance is
(a, max(e1, e2))-RDP for neighbours of n and n + 1 records, where e1 (a record added) and e2 (a
record removed) are as printed. This holds at orders a < min(n + 1, n^2 / (tau (n+1) - n)) with
tau = 4 d / sigma. e2 would be attained by a record at the squared Mahalanobis distance tau from the
mean, which is slightly more than the cube allows.

Assumes
-------
Records in [-1, 1]^d; both covariances have smallest eigenvalue at least sigma.

Source
------
Miura, Shibahara, Kii, Ichikawa, Yamamoto and Chida, "On Renyi differential privacy in
statistics-based synthetic data generation", 2023, Theorem 3.1.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from flint import arb, fmpq

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, of_event, orders_below
from rdpkit.bounds.synthesis.exact import arguments
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import rational, to_relative_accuracy


def tau_of(d: int, min_eigenvalue: float) -> float:
    """The paper's tau: the squared Mahalanobis radius of the cube, 4 d / sigma."""
    return 4.0 * d / min_eigenvalue


def limit(n: int, d: int, min_eigenvalue: float) -> float:
    """The limit c on orders: condition (1) of the theorem, for the pair (n, n + 1)."""
    tau = tau_of(d, min_eigenvalue)
    return min(n + 1.0, n * float(n) / (tau * (n + 1.0) - n))


def rdp_one_output(orders: Array, n: int, d: int, min_eigenvalue: float) -> Array:
    """The theorem's epsilon at orders in its range, for one synthetic record.

    If n is large, the logarithms are differences of nearly equal numbers. Each pair is written with
    log1p of small arguments, so that the result is accurate to about 1e-16 n / tau.
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
    return 4 * d / rational(min_eigenvalue)


def formula(a: arb, n: int, d: int, tau: fmpq) -> arb:
    """The theorem's epsilon as printed, at the working precision in force.

    The ball is not finite if ``a`` is not certainly in the theorem's range.
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
    """A ball that contains the theorem's epsilon for one record; inf outside of its range.

    The order and the eigenvalue are taken as exact numbers.
    """
    tau = exact_tau(d, min_eigenvalue)
    highest = min(fmpq(n + 1), fmpq(n * n) / (tau * (n + 1) - n))
    if rational(order) >= highest:
        return arb("inf")
    return to_relative_accuracy(lambda: formula(arb(order), n, d, tau))


def _smaller_pair(event: Any, adjacency: Adjacency) -> tuple[int, int, float]:
    return event.records - 1, event.dimension, event.min_eigenvalue


def _assumptions(event: Any) -> tuple[str, ...]:
    return (f"the pair of neighbours has {event.records} and {event.records + 1} records",)


PUBLISHED = RdpBound(
    id="miura2023-thm3.1",
    title="mean-and-covariance synthesis, unbounded neighbours, as printed",
    source="Miura et al. 2023, Theorem 3.1",
    kind=Kind.PUBLISHED,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=orders_below(limit, arguments),
    rdp=of_event(rdp_one_output, arguments, attrgetter("outputs")),
    ball=of_event(ball_one_output, arguments, attrgetter("outputs")),
    conversion="mironov2017",
    assumptions=_assumptions,
)

UPPER = RdpBound(
    id="miura2023-thm3.1-every-pair",
    title="mean-and-covariance synthesis, unbounded neighbours, removal from n included",
    source=PUBLISHED.source + ", at n - 1: the larger of the pairs (n - 1, n) and (n, n + 1)",
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=orders_below(limit, _smaller_pair),
    rdp=of_event(rdp_one_output, _smaller_pair, attrgetter("outputs")),
    ball=of_event(ball_one_output, _smaller_pair, attrgetter("outputs")),
)
