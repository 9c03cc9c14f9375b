r"""DP-CDA's Theorem 1, as printed, under its two readings of p.

Guarantee
---------
None of its own: kind "published". With r(a) = (a / l^2)(2 c^2 / sigma_x^2 + 1 / sigma_y^2),

    eps'(a) = 1/(a-1) log(1 + p^2 C(a,2) min{4 (e^{r(2)} - 1), 2 e^{r(2)}} + 4 G(a)),
    G(a) = sum_{j=3}^{a} p^j C(a,j) sqrt(B(2 floor(j/2)) B(ceil(j/2))),

and eps = min_a T eps'(a) + log(1/delta)/(a-1) over a in {3, 4, ...}, Mironov's conversion.

What is printed is not a real number for a >= 5: from j = 5 on the sum contains B(m) at odd
m = ceil(j/2) >= 3, and B(3) = -(e^{r(2)} - 1)^2 (e^{r(2)} + 2) < 0 with the paper's own definition
of B. So the formula as printed is evaluated at a = 3 and a = 4, where it is defined. The factor 2
that its source has in B(2 ceil(j/2)) makes every index even; ``dpcda-theorem1-corrected`` restores
it.

p is not defined in the theorem. The proof samples l of all N records (``dpcda-theorem1``, p = l/N);
Algorithm 1 samples l of one class (``dpcda-theorem1-class``, p = l / N_k, smallest class).

Assumes
-------
Rows clipped to norm c; the z-score of Algorithm 1 is ignored by the theorem.

Source
------
Saha, Tonoy and Imtiaz, "DP-CDA: an algorithm for enhanced privacy preservation in dataset synthesis
through randomized mixing", Theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound
from rdpkit.events import DPCDA
from rdpkit.numerics.balls import over_rounded_inputs
from rdpkit.numerics.pearson_vajda import log_even_moments, moment_ball
from rdpkit.numerics.subsampled import log_excess_at_integers, log_weights_theorem27

_SOURCE = "DP-CDA (Saha, Tonoy and Imtiaz), Theorem 1"
_DEFINED = OrderRange(
    lowest=3.0, highest=4.0, includes_lowest=True, includes_highest=True, integers_only=True
)


def noise_multiplier(event: Any) -> float:
    """Z with r(a) = a / (2 z^2); 0 where there is no label noise, and the formula is infinite."""
    if event.label_noise == 0.0:
        return 0.0
    rate = 2.0 * event.clip_norm**2 / event.feature_noise**2 + 1.0 / event.label_noise**2
    return float(event.order_of_mixture / math.sqrt(2.0 * rate))


def _log_weights(z: float) -> Array:
    """Log w_j for j = 2, 3, 4 as printed: B(ceil(j/2)) is B(2) for both j = 3 and j = 4."""
    even = log_even_moments(4, z)
    weights = log_weights_theorem27(4, z, even)
    weights[1] = math.log(4.0) + 0.5 * (even[1] + even[1])
    weights[2] = math.log(4.0) + 0.5 * (even[2] + even[1])
    return weights


def _formula(population: Callable[[Any], int]) -> Callable[[Any, Array, Adjacency], Array]:
    def rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
        z = noise_multiplier(event)
        if z == 0.0:
            return np.full_like(orders, np.inf)
        p = event.order_of_mixture / population(event)
        excess = log_excess_at_integers(orders, p, _log_weights(z))
        per_release = np.logaddexp(0.0, excess) / (orders - 1.0)
        return np.asarray(sum(event.samples) * per_release)

    return rdp


def _ball(population: Callable[[Any], int]) -> Callable[[Any, float, Adjacency], arb]:
    def ball(event: Any, order: float, adjacency: Adjacency) -> arb:
        z = noise_multiplier(event)
        if z == 0.0:
            return arb.pos_inf()
        p = arb(event.order_of_mixture) / population(event)

        def exact(noise_multiplier: float, _: float) -> arb:
            r2 = 1 / (arb(noise_multiplier) * arb(noise_multiplier))
            second = (4 * r2.expm1()).min(2 * r2.exp())
            b2 = moment_ball(2, noise_multiplier)
            b4 = moment_ball(4, noise_multiplier)
            # The printed indices 2 floor(j/2) and ceil(j/2) at j = 3 and j = 4.
            weights = {2: second, 3: 4 * b2, 4: 4 * (b4 * b2).sqrt()}
            total = arb(0)
            for j in range(2, int(order) + 1):
                total += math.comb(int(order), j) * p**j * weights[j]
            return total.log1p() / (int(order) - 1)

        with ctx.workprec(128):
            return over_rounded_inputs(exact, z, 1.0) * int(sum(event.samples))

    return ball


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    return _DEFINED


def _assumptions(event: Any) -> tuple[str, ...]:
    return (
        "orders 3 and 4 only: for larger ones the printed formula takes the square root of a "
        "negative number",
    )


def _bound(identifier: str, title: str, population: Callable[[Any], int]) -> RdpBound:
    return RdpBound(
        id=identifier,
        title=title,
        source=_SOURCE,
        kind=Kind.PUBLISHED,
        event_type=DPCDA,
        adjacencies=(Adjacency.REPLACE_ONE,),
        order_range=_range,
        rdp=_formula(population),
        ball=_ball(population),
        conversion="mironov2017",
        assumptions=_assumptions,
    )


BOUND = _bound(
    "dpcda-theorem1",
    "Theorem 1 as printed, p = l/N as its proof has it",
    lambda event: sum(event.class_sizes),
)

CLASS = _bound(
    "dpcda-theorem1-class",
    "Theorem 1 as printed, p = l/N_k as Algorithm 1 samples",
    lambda event: min(event.class_sizes),
)
