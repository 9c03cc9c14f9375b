r"""Mean-and-covariance synthesis: Theorem 3.1 and Corollary 3.2 of Miura et al.

Guarantee
---------
*Theorem 3.1, add-or-remove-one.* Drawing one record from the normal distribution with a data set's
mean and covariance is (a, max(e1, e2))-RDP for neighbours of n and n + 1 records, where e1 (a
record added) and e2 (a record removed) are as printed. This holds at orders
a < min(n + 1, n^2 / (tau (n+1) - n)) with tau = 4 d / sigma. e2 would be attained by a record at
the squared Mahalanobis distance tau from the mean, which is slightly more than the cube allows.

*Corollary 3.2, replace-one.* The weak triangle inequality by way of the data set that holds both
versions of the record gives

    e_a = inf_p (a - 1/p)/(a - 1) e(p a, n) + e((p a - 1)/(p - 1), n + 1),   (c-1)/(c-a) < p < c/a,

where e(., n) is the epsilon of Theorem 3.1, c is its limit on orders, and a < c^2 / (2c - 1). The
infimum is searched to about eight digits of p, not on a fixed grid. The n + 1 of the second term is
as printed. Both steps go between data sets of n and n + 1 records, so n must be meant, which makes
a relative difference of about 1/n. The sound form has n in both terms. Going through the n - 1
common records instead would also be sound, but gives a larger bound.

Assumes
-------
Records in [-1, 1]^d; both covariances have smallest eigenvalue at least sigma, and for the
corollary that of the intermediate data set, too.

Source
------
Miura, Shibahara, Kii, Ichikawa, Yamamoto and Chida, "On Renyi differential privacy in
statistics-based synthetic data generation", 2023, Theorem 3.1 and Corollary 3.2.
"""

from __future__ import annotations

import math
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from flint import arb, fmpq

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, of_event, orders_below
from rdpkit.bounds.synthesis.direct import arguments
from rdpkit.bounds.weak_triangle import best_parameters, weak_triangle
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


THEOREM = RdpBound(
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
    assumptions=lambda event: (
        f"the pair of neighbours has {event.records} and {event.records + 1} records",
    ),
)

EVERY_PAIR = RdpBound(
    id="miura2023-thm3.1-every-pair",
    title="mean-and-covariance synthesis, unbounded neighbours, removal from n included",
    source=THEOREM.source + ", at n - 1: the larger of the pairs (n - 1, n) and (n, n + 1)",
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=orders_below(limit, _smaller_pair),
    rdp=of_event(rdp_one_output, _smaller_pair, attrgetter("outputs")),
    ball=of_event(ball_one_output, _smaller_pair, attrgetter("outputs")),
)


def corollary_limit(n: int, d: int, min_eigenvalue: float) -> float:
    """The limit on orders, c^2 / (2c - 1): condition (2); 1 if no order is covered."""
    c = limit(n, d, min_eigenvalue)
    return c * c / (2.0 * c - 1.0) if c > 1.0 else 1.0


def _curves(n: int, second: int, d: int, min_eigenvalue: float) -> dict[str, Any]:
    """The two curves that the weak triangle inequality joins, and the limits on their orders."""
    c = limit(n, d, min_eigenvalue)
    return {
        "first": lambda inner: rdp_one_output(inner, n, d, min_eigenvalue),
        "second": lambda inner: rdp_one_output(inner, second, d, min_eigenvalue),
        "first_below": c,
        "second_below": c,
    }


def _sound(orders: Array, n: int, d: int, min_eigenvalue: float) -> Array:
    one = weak_triangle(orders, **_curves(n, n, d, min_eigenvalue))
    # The differences in Theorem 3.1 may lose this much to rounding, so it is added to an upper
    # bound.
    scale = d + tau_of(d, min_eigenvalue)
    lost = 1e-15 * scale * (orders + 1.0) / n / np.minimum(orders - 1.0, 1.0)
    return np.asarray(one * (1.0 + 1e-12) + lost)


def _corollary_ball(order: float, n: int, d: int, min_eigenvalue: float, *, more: int) -> arb:
    """A ball that contains the corollary's epsilon for one record, at the p that the search picks.

    ``more`` is 1 for the formula as printed, with n + 1 in the second term, and 0 for the sound
    one. The inner orders depend on p and are evaluated as balls. The result is inf if no p is
    admissible.
    """
    choice = float(best_parameters(np.array([order]), **_curves(n, n + more, d, min_eigenvalue))[0])
    if not math.isfinite(choice):
        return arb("inf")
    tau = exact_tau(d, min_eigenvalue)

    def compute() -> arb:
        a, p = arb(order), arb(choice)
        first = formula(p * a, n, d, tau)
        second = formula((p * a - 1) / (p - 1), n + more, d, tau)
        return (a - 1 / p) / (a - 1) * first + second

    return to_relative_accuracy(compute)


def _assumptions(event: Any) -> tuple[str, ...]:
    return (
        "the data set that holds both versions of the record satisfies the eigenvalue condition",
    )


COROLLARY = RdpBound(
    id="miura2023-cor3.2",
    title="mean-and-covariance synthesis, bounded neighbours, as printed",
    source="Miura et al. 2023, Corollary 3.2",
    kind=Kind.PUBLISHED,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=orders_below(corollary_limit, arguments),
    rdp=of_event(
        lambda orders, n, d, sigma: weak_triangle(orders, **_curves(n, n + 1, d, sigma)),
        arguments,
        attrgetter("outputs"),
    ),
    ball=of_event(partial(_corollary_ball, more=1), arguments, attrgetter("outputs")),
    conversion="mironov2017",
    assumptions=_assumptions,
)

CORRECTED = RdpBound(
    id="miura2023-cor3.2-corrected",
    title="mean-and-covariance synthesis, bounded neighbours, both steps at n",
    source="Miura et al. 2023, Corollary 3.2, with e(., n) in both terms",
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=COROLLARY.order_range,
    rdp=of_event(_sound, arguments, attrgetter("outputs")),
    ball=of_event(partial(_corollary_ball, more=0), arguments, attrgetter("outputs")),
    assumptions=_assumptions,
)
