r"""Mean-and-covariance synthesis under replace-one: Corollary 3.2 of Miura et al.

Guarantee
---------
The weak triangle inequality through the data set with both records,

    e_a = inf_p (a - 1/p)/(a - 1) e(p a, n) + e((p a - 1)/(p - 1), n + 1),   (c-1)/(c-a) < p < c/a,

with e(., n) of Theorem 3.1, c its limit on orders, and a < c^2 / (2c - 1). The infimum is searched
to about eight digits of p, not on a fixed grid. The second term's n + 1 is as printed; both steps
go through pairs of n and n + 1 records, so n is meant there (a difference of about 1/n). The sound
form uses n in both places, and the smaller of n - 1 and n is not needed: the intermediate data set
may be chosen, and the larger one gives the smaller bound.

Assumes
-------
As Theorem 3.1, and that the intermediate data set satisfies the eigenvalue condition too.

Source
------
Miura et al. 2023, Corollary 3.2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound
from rdpkit.bounds.synthesis import miura2023_thm31 as theorem
from rdpkit.bounds.weak_triangle import best_parameters, weak_triangle
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import to_relative_accuracy

ID = "miura2023-cor3.2"

_BITS = 60
_START = 128


def orders_below(n: int, d: int, min_eigenvalue: float) -> float:
    """The limit on orders: condition (2), c^2 / (2c - 1); at most 1 where no order is covered."""
    c = theorem.orders_below(n, d, min_eigenvalue)
    return c * c / (2.0 * c - 1.0) if c > 1.0 else 1.0


def rdp_one_output(
    orders: Array, n: int, d: int, min_eigenvalue: float, *, second_records: int
) -> Array:
    """The corollary's epsilon for one record.

    ``second_records`` is n + 1 as printed, n in the sound form.
    """
    c = theorem.orders_below(n, d, min_eigenvalue)
    return weak_triangle(
        orders,
        first=lambda inner: theorem.rdp_one_output(inner, n, d, min_eigenvalue),
        second=lambda inner: theorem.rdp_one_output(inner, second_records, d, min_eigenvalue),
        first_below=c,
        second_below=c,
    )


def ball_one_output(
    order: float, n: int, d: int, min_eigenvalue: float, *, second_records: int
) -> arb:
    """A ball that contains the corollary's epsilon for one record at the p that the search picks.

    The inner orders depend on p and are evaluated as balls. The result is inf where no p is
    admissible.
    """
    c = theorem.orders_below(n, d, min_eigenvalue)
    found = best_parameters(
        np.array([order]),
        first=lambda inner: theorem.rdp_one_output(inner, n, d, min_eigenvalue),
        second=lambda inner: theorem.rdp_one_output(inner, second_records, d, min_eigenvalue),
        first_below=c,
        second_below=c,
    )
    choice = float(found[0])
    if not math.isfinite(choice):
        return arb("inf")
    tau = theorem.exact_tau(d, min_eigenvalue)

    def compute() -> arb:
        a, p = arb(order), arb(choice)
        first = theorem.formula(p * a, n, d, tau)
        second = theorem.formula((p * a - 1) / (p - 1), second_records, d, tau)
        return (a - 1 / p) / (a - 1) * first + second

    return to_relative_accuracy(compute, bits=_BITS, start=_START)


def _published_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    n = event.records
    one = ball_one_output(order, n, event.dimension, event.min_eigenvalue, second_records=n + 1)
    with ctx.workprec(_START):
        return one * int(event.outputs)


def _sound_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    n = event.records
    one = ball_one_output(order, n, event.dimension, event.min_eigenvalue, second_records=n)
    with ctx.workprec(_START):
        return one * int(event.outputs)


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    return OrderRange(highest=orders_below(event.records, event.dimension, event.min_eigenvalue))


def _published(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    n = event.records
    one = rdp_one_output(orders, n, event.dimension, event.min_eigenvalue, second_records=n + 1)
    return np.asarray(event.outputs * one)


def _sound(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    n = event.records
    one = rdp_one_output(orders, n, event.dimension, event.min_eigenvalue, second_records=n)
    # What the differences in Theorem 3.1 may lose to rounding, so that this stays an upper bound.
    scale = event.dimension + theorem.tau_of(event.dimension, event.min_eigenvalue)
    lost = 1e-15 * scale * (orders + 1.0) / n / np.minimum(orders - 1.0, 1.0)
    return np.asarray(event.outputs * (one * (1.0 + 1e-12) + lost))


def _assumptions(event: Any) -> tuple[str, ...]:
    return (
        "the data set that holds both versions of the record satisfies the eigenvalue condition",
    )


PUBLISHED = RdpBound(
    id=ID,
    title="mean-and-covariance synthesis, bounded neighbours, as printed",
    source="Miura et al. 2023, Corollary 3.2",
    kind=Kind.PUBLISHED,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=_range,
    rdp=_published,
    ball=_published_ball,
    conversion="mironov2017",
    assumptions=_assumptions,
)

UPPER = RdpBound(
    id=ID + "-corrected",
    title="mean-and-covariance synthesis, bounded neighbours, both steps at n",
    source="Miura et al. 2023, Corollary 3.2, with e(., n) in both terms",
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=_range,
    rdp=_sound,
    ball=_sound_ball,
    assumptions=_assumptions,
)
