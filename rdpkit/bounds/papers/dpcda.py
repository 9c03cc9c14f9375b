r"""DP-CDA's Theorem 1: as printed, under its two readings of p, and with its two errors corrected.

Guarantee
---------
Kind "published": the formula of the paper, without a guarantee of its own. With
r(a) = (a / l^2)(2 c^2 / sigma_x^2 + 1 / sigma_y^2),

    eps'(a) = 1/(a-1) log(1 + p^2 C(a,2) min{4 (e^{r(2)} - 1), 2 e^{r(2)}} + 4 G(a)),
    G(a) = sum_{j=3}^{a} p^j C(a,j) sqrt(B(2 floor(j/2)) B(ceil(j/2))),

and eps = min_a T eps'(a) + log(1/delta)/(a-1) over a in {3, 4, ...}, which is Mironov's conversion.
Here l records are mixed in each of T releases, c is the clipping norm, and sigma_x and sigma_y are
the noises on features and labels.

For a >= 5 the printed formula is not a real number: from j = 5 on the sum contains B(m) at odd
m = ceil(j/2) >= 3, and with the paper's own definition of B,
B(3) = -(e^{r(2)} - 1)^2 (e^{r(2)} + 2) < 0. The formula as printed is therefore evaluated at a = 3
and a = 4, where it is defined. Its source has B(2 ceil(j/2)), in which every index is even;
``dpcda-theorem1-corrected`` restores the missing factor 2.

The theorem does not define p. Its proof samples l of all N records (``dpcda-theorem1``, p = l/N);
Algorithm 1 samples l records of one class (``dpcda-theorem1-class``, p = l / N_k for the smallest
class).

*Corrected* in two places the theorem is a sound upper bound: the moments are B(2 ceil(j/2)) as in
Wang et al., and p = l / N_k for the smallest class. It is about Algorithm 1 with T = sum_k T_k
releases, under replace-one and under add-or-remove-one, and holds at integer orders
a >= 2, and between them by the chord of Wang et al.'s Corollary 10. The changed record may be

* replaced within its class: it touches the T_k <= T releases of that class, and Theorem 27 bounds
  each of them;
* replaced by a record with another label: it leaves one class and joins another, and touches
  T_j + T_k <= T releases. With q = l / N_k and L the likelihood ratio of the swap coupling, each
  is at most E[(1 + q (L - 1))^a] = 1 + sum_{j>=2} C(a,j) q^j E[(L-1)^j], and by Cauchy-Schwarz
  E[(L-1)^j] <= sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), a quarter of the theorem's weight. (At j = 2
  this is B(2) = e^{r(2)} - 1, which is at most the theorem's minimum.)
* added or removed: it touches one class.

The label noise in r(a) only makes the bound larger.

Assumes
-------
Rows are clipped to norm c. The theorem as printed ignores the z-score of Algorithm 1; corrected, it
is for features that are scaled with public constants, or not at all, before clipping, and for
samples per class that are fixed in advance.

Source
------
Saha, Tonoy and Imtiaz, "DP-CDA: an algorithm for enhanced privacy preservation in dataset synthesis
through randomized mixing", Theorem 1; Wang, Balle and Kasiviswanathan 2019, Theorem 27 (arXiv
1808.00087v2); correction: rdpkit, theory page "DP-CDA".
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, of_event
from rdpkit.bounds.sampled import wang2019
from rdpkit.events import DPCDA
from rdpkit.numerics.balls import over_rounded_inputs
from rdpkit.numerics.pearson_vajda import (
    log_even_moments,
    log_excess_at_integers,
    log_weights_theorem27,
    moment_ball,
)

_DEFINED = OrderRange(
    lowest=3.0, highest=4.0, includes_lowest=True, includes_highest=True, integers_only=True
)


def _noise_multiplier(event: Any) -> float:
    """The z with r(a) = a / (2 z^2); 0 without label noise, which makes the formula infinite."""
    if event.label_noise == 0.0:
        return 0.0
    rate = 2.0 * event.clip_norm**2 / event.feature_noise**2 + 1.0 / event.label_noise**2
    return float(event.order_of_mixture / math.sqrt(2.0 * rate))


def _for_all_records(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    return _noise_multiplier(event), event.order_of_mixture, sum(event.class_sizes)


def _for_smallest_class(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    """Noise multiplier, order of mixture and size of the smallest class."""
    return _noise_multiplier(event), event.order_of_mixture, min(event.class_sizes)


def _all_releases(event: Any) -> int:
    """The number T of releases of all classes."""
    return sum(event.samples)


def _rdp(orders: Array, z: float, mixed: int, population: int) -> Array:
    if z == 0.0:
        return np.full_like(orders, np.inf)
    even = log_even_moments(4, z)
    weights = log_weights_theorem27(4, z, even)
    # As printed: B(ceil(j/2)) is B(2) for both j = 3 and j = 4.
    weights[1] = math.log(4.0) + 0.5 * (even[1] + even[1])
    weights[2] = math.log(4.0) + 0.5 * (even[2] + even[1])
    excess = log_excess_at_integers(orders, mixed / population, weights)
    return np.asarray(np.logaddexp(0.0, excess) / (orders - 1.0))


def _ball(order: float, z: float, mixed: int, population: int) -> arb:
    if z == 0.0:
        return arb.pos_inf()

    def exact(noise_multiplier: float, _: float) -> arb:
        p = arb(mixed) / population
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

    return over_rounded_inputs(exact, z, 1.0)


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    return _DEFINED


def _assumptions(event: Any) -> tuple[str, ...]:
    return (
        "orders 3 and 4 only: for larger ones the printed formula takes the square root of a "
        "negative number",
    )


BOUND = RdpBound(
    id="dpcda-theorem1",
    title="Theorem 1 as printed, p = l/N as its proof has it",
    source="DP-CDA (Saha, Tonoy and Imtiaz), Theorem 1",
    kind=Kind.PUBLISHED,
    event_type=DPCDA,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=_range,
    rdp=of_event(_rdp, _for_all_records, _all_releases),
    ball=of_event(_ball, _for_all_records, _all_releases),
    conversion="mironov2017",
    assumptions=_assumptions,
)

CLASS = replace(
    BOUND,
    id="dpcda-theorem1-class",
    title="Theorem 1 as printed, p = l/N_k as Algorithm 1 samples",
    rdp=of_event(_rdp, _for_smallest_class, _all_releases),
    ball=of_event(_ball, _for_smallest_class, _all_releases),
)


CORRECTED = RdpBound(
    id="dpcda-theorem1-corrected",
    title="Theorem 1 with p = l/N_k and B(2 ceil(j/2))",
    source="DP-CDA, Theorem 1; Wang et al. 2019, Theorem 27 (arXiv 1808.00087v2)",
    kind=Kind.UPPER,
    event_type=DPCDA,
    adjacencies=(Adjacency.REPLACE_ONE, Adjacency.ADD_OR_REMOVE_ONE),
    # With the exact z-score no bound is known, so the range is empty.
    order_range=lambda event, adjacency: (
        OrderRange() if event.preprocessing == "public" else OrderRange(highest=1.0)
    ),
    rdp=of_event(partial(wang2019.rdp, terms="theorem27"), _for_smallest_class, _all_releases),
    ball=of_event(partial(wang2019.ball, terms="theorem27"), _for_smallest_class, _all_releases),
)
