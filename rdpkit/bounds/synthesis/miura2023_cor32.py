r"""Mean-and-covariance synthesis under replace-one: Corollary 3.2 of Miura et al.

Guarantee
---------
The weak triangle inequality by way of the data set that holds both versions of the record gives

    e_a = inf_p (a - 1/p)/(a - 1) e(p a, n) + e((p a - 1)/(p - 1), n + 1),   (c-1)/(c-a) < p < c/a,

where e(., n) is the epsilon of Theorem 3.1, c is its limit on orders, and a < c^2 / (2c - 1). The
infimum is searched to about eight digits of p, not on a fixed grid. The n + 1 of the second term is
as printed. Both steps go between data sets of n and n + 1 records, so n must be meant, which makes
a relative difference of about 1/n. The sound form has n in both terms. Going through the n - 1
common records instead would also be sound, but gives a larger bound.

Assumes
-------
What Theorem 3.1 assumes, and that the intermediate data set satisfies the eigenvalue condition too.

Source
------
Miura et al. 2023, Corollary 3.2.
"""

from __future__ import annotations

import math
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, of_event, orders_below
from rdpkit.bounds.synthesis import miura2023_thm31 as theorem
from rdpkit.bounds.synthesis.exact import arguments
from rdpkit.bounds.weak_triangle import best_parameters, weak_triangle
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import to_relative_accuracy


def limit(n: int, d: int, min_eigenvalue: float) -> float:
    """The limit on orders, c^2 / (2c - 1): condition (2); 1 if no order is covered."""
    c = theorem.limit(n, d, min_eigenvalue)
    return c * c / (2.0 * c - 1.0) if c > 1.0 else 1.0


def _curves(n: int, second: int, d: int, min_eigenvalue: float) -> dict[str, Any]:
    """The two curves that the weak triangle inequality joins, and the limits on their orders."""
    c = theorem.limit(n, d, min_eigenvalue)
    return {
        "first": lambda inner: theorem.rdp_one_output(inner, n, d, min_eigenvalue),
        "second": lambda inner: theorem.rdp_one_output(inner, second, d, min_eigenvalue),
        "first_below": c,
        "second_below": c,
    }


def _as_printed(orders: Array, n: int, d: int, min_eigenvalue: float) -> Array:
    return weak_triangle(orders, **_curves(n, n + 1, d, min_eigenvalue))


def _sound(orders: Array, n: int, d: int, min_eigenvalue: float) -> Array:
    one = weak_triangle(orders, **_curves(n, n, d, min_eigenvalue))
    # The differences in Theorem 3.1 may lose this much to rounding, so it is added to an upper
    # bound.
    scale = d + theorem.tau_of(d, min_eigenvalue)
    lost = 1e-15 * scale * (orders + 1.0) / n / np.minimum(orders - 1.0, 1.0)
    return np.asarray(one * (1.0 + 1e-12) + lost)


def _ball(order: float, n: int, d: int, min_eigenvalue: float, *, more: int) -> arb:
    """A ball that contains the corollary's epsilon for one record, at the p that the search picks.

    ``more`` is 1 for the formula as printed, with n + 1 in the second term, and 0 for the sound
    one. The inner orders depend on p and are evaluated as balls. The result is inf if no p is
    admissible.
    """
    choice = float(best_parameters(np.array([order]), **_curves(n, n + more, d, min_eigenvalue))[0])
    if not math.isfinite(choice):
        return arb("inf")
    tau = theorem.exact_tau(d, min_eigenvalue)

    def compute() -> arb:
        a, p = arb(order), arb(choice)
        first = theorem.formula(p * a, n, d, tau)
        second = theorem.formula((p * a - 1) / (p - 1), n + more, d, tau)
        return (a - 1 / p) / (a - 1) * first + second

    return to_relative_accuracy(compute)


def _assumptions(event: Any) -> tuple[str, ...]:
    return (
        "the data set that holds both versions of the record satisfies the eigenvalue condition",
    )


PUBLISHED = RdpBound(
    id="miura2023-cor3.2",
    title="mean-and-covariance synthesis, bounded neighbours, as printed",
    source="Miura et al. 2023, Corollary 3.2",
    kind=Kind.PUBLISHED,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=orders_below(limit, arguments),
    rdp=of_event(_as_printed, arguments, attrgetter("outputs")),
    ball=of_event(partial(_ball, more=1), arguments, attrgetter("outputs")),
    conversion="mironov2017",
    assumptions=_assumptions,
)

UPPER = RdpBound(
    id="miura2023-cor3.2-corrected",
    title="mean-and-covariance synthesis, bounded neighbours, both steps at n",
    source="Miura et al. 2023, Corollary 3.2, with e(., n) in both terms",
    kind=Kind.UPPER,
    event_type=GaussianSynthesis,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=PUBLISHED.order_range,
    rdp=of_event(_sound, arguments, attrgetter("outputs")),
    ball=of_event(partial(_ball, more=0), arguments, attrgetter("outputs")),
    assumptions=_assumptions,
)
