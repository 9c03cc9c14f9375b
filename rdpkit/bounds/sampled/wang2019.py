r"""Subsampling without replacement under replace-one (Wang, Balle and Kasiviswanathan 2019).

Guarantee
---------
Let gamma = l / n for l of n records, let r(j) be the divergence of the base mechanism, and r'(a)
that of the mechanism on the sample.

*Theorem 9*, for any base mechanism: at integer orders a >= 2

    e^{(a-1) r'(a)} <= 1 + gamma^2 C(a,2) min{4 (e^{r(2)} - 1), e^{r(2)} min{2, (e^{r(inf)} - 1)^2}}
                       + sum_{j=3}^{a} gamma^j C(a,j) e^{(j-1) r(j)} min{2, (e^{r(inf)} - 1)^j}.

For a Gaussian r(inf) = inf, and both inner minima are 2. A mechanism that is rho-zCDP has
r(j) <= rho j, which are the divergences of a Gaussian with the noise multiplier 1 / sqrt(2 rho),
and the formula grows with them; r(inf) may be infinite.

*Theorem 27*, for a mechanism with a worst pair: the same with the weights of j >= 3 replaced by
4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), where B(m) = sum_i (-1)^i C(m,i) e^{(i-1) r(i)}, and the
exponential is 1 at i = 0 and i = 1.

Both have the form 1 + sum_j C(a,j) gamma^j w_j, where w_j bounds the same ternary divergence of
order j. The smaller weight w_j may therefore be taken term by term. Between integer orders the
divergence is that of Corollary 10.

Assumes
-------
REPLACE_ONE; the subset is uniform without replacement and fresh for every release; swapping one
member moves the released vector by at most noise std / z, or the event on the sample is rho-zCDP
under replace-one. For Theorem 27, one pair of neighbours is worst for all Renyi and Pearson-Vajda
divergences at once, which holds for a Gaussian at full sensitivity.

Source
------
Wang, Balle and Kasiviswanathan, "Subsampled Renyi differential privacy and analytical moments
accountant", AISTATS 2019, Theorems 9 and 27 and Corollary 10 (arXiv 1808.00087v2).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from flint import arb, fmpz

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, of_event
from rdpkit.events import FixedSizeSampled, FixedSizeSampledGaussian, ZeroConcentrated
from rdpkit.numerics import pearson_vajda
from rdpkit.numerics.balls import over_rounded_inputs, to_relative_accuracy

# The sums have as many terms as the order; above this order nothing is claimed.
_LARGEST_ORDER = 4096.0


def even_moments(
    highest: int,  # The last index, even
    z: float,  # Noise std over swap distance, taken as an exact number
) -> list[arb]:
    """Balls around B(0), B(2), ..., B(highest) at the working precision in force.

    Up to the sign (-1)^m, B(m) is the m-th forward difference at 0 of e_i = e^{i(i-1)/(2 z^2)}, so
    one table of exponentials and its differences give all of them. Differences lose digits when z
    is large, so the caller has to repeat the computation with more precision until its own result
    is accurate.
    """
    rate = (1 / (arb(z) * arb(z))).exp()
    row = [arb(1)]
    step = arb(1)
    for _ in range(highest):  # e_{i+1} = e_i e^{i / z^2}
        row.append(row[-1] * step)
        step *= rate
    found = [row[0]]
    for m in range(1, highest + 1):
        row = [right - left for left, right in itertools.pairwise(row)]
        if m % 2 == 0:
            found.append(row[0])
    return found


def rdp_ball(
    order: float,  # Renyi order > 1, taken as an exact number
    # Noise std over how far swapping one member of the subset moves the released vector, taken as
    # an exact number.
    z: float,
    # Number of records in the subset and in the data set.
    sample_size: int,
    population_size: int,
    *,
    terms: str,  # Which weights to use; one of {"theorem9", "theorem27", "minimum"}
    bits: int = 60,  # The relative accuracy wanted is 2^-bits
) -> arb:
    """A ball that contains what :func:`rdp` computes in floats, accurate to ``bits`` bits.

    All rounding is accounted for, so that the upper end of the ball is an upper bound on the
    divergence. Raises ArithmeticError if the accuracy is not reached.
    """
    below = math.floor(order)
    above = math.ceil(order)

    def compute() -> arb:
        gamma = arb(sample_size) / population_size
        weights = _weights(above, z, terms)
        if below < 2:
            # The chord from (1, 0) to order 2: its slope is the divergence at 2.
            return _scaled(2, gamma, weights)
        value = _scaled(below, gamma, weights)
        if above > below:
            fraction = arb(order) - below
            value = (1 - fraction) * value + fraction * _scaled(above, gamma, weights)
        return value / (arb(order) - 1)

    return to_relative_accuracy(compute, bits=bits, start=256)


def _weights(highest: int, z: float, terms: str) -> list[arb]:
    """The factors of C(a, j) gamma^j for j = 2 .. highest."""
    rate = 1 / (arb(z) * arb(z))
    first = (4 * rate.expm1()).min(2 * rate.exp())
    nine = [2 * (j * (j - 1) * rate / 2).exp() for j in range(3, highest + 1)]
    if terms == "theorem9":
        return [first, *nine]
    even = even_moments(highest + highest % 2, z)
    other = [4 * (even[j // 2] * even[(j + 1) // 2]).sqrt() for j in range(3, highest + 1)]
    if terms == "minimum":
        other = [left.min(right) for left, right in zip(nine, other, strict=True)]
    return [first, *other]


def _scaled(order: int, gamma: arb, weights: list[arb]) -> arb:
    """(order - 1) times the divergence at an integer order >= 2."""
    total = arb(0)
    binomial = fmpz(order)
    power = gamma
    for j in range(2, order + 1):
        binomial = binomial * (order - j + 1) // j
        power *= gamma
        total += binomial * power * weights[j - 2]
    return total.log1p()


def rdp(
    orders: Array,  # Renyi orders, each > 1; shape (k,)
    # Noise std over how far swapping one member of the subset moves the released vector. For 0, no
    # noise, the divergence is inf.
    z: float,
    # Number of records in the subset and in the data set.
    sample_size: int,
    population_size: int,
    *,
    terms: str,  # Which weights to use; one of {"theorem9", "theorem27", "minimum"}
) -> Array:
    """Divergence at any orders > 1 of the sampled Gaussian mechanism; see the top of the module."""
    if z == 0.0:
        return np.full_like(orders, np.inf)

    def excess_at(integers: Array) -> Array:
        highest = int(integers[-1])
        if terms == "theorem9":
            weights = pearson_vajda.log_weights_theorem9(highest, z)
        elif terms == "theorem27":
            even = pearson_vajda.log_even_moments(highest + highest % 2, z)
            weights = pearson_vajda.log_weights_theorem27(highest, z, even)
        else:
            weights = pearson_vajda.log_weights_minimum(highest, z)
        return pearson_vajda.log_excess_at_integers(
            integers, sample_size / population_size, weights
        )

    return pearson_vajda.rdp_by_interpolation(orders, excess_at)


def ball(order: float, z: float, sample_size: int, population_size: int, *, terms: str) -> arb:
    """A ball that contains the value; ``z`` may carry a few roundings."""
    if z == 0.0:
        return arb.pos_inf()

    def exact(noise_multiplier: float, _: float) -> arb:
        return rdp_ball(order, noise_multiplier, sample_size, population_size, terms=terms)

    return over_rounded_inputs(exact, z, 1.0)


def order_range(event: Any, adjacency: Adjacency) -> OrderRange:
    """The orders up to which the sums are computed."""
    return OrderRange(highest=_LARGEST_ORDER, includes_highest=True)


def fixed_size_arguments(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    """Noise over swap distance, size of the sample and size of the population."""
    return event.noise_multiplier, event.sample_size, event.population_size


def _bound(name: str, title: str, theorems: str, terms: str) -> RdpBound:
    """The theorem with one choice of weights."""
    return RdpBound(
        id=name,
        title=f"sampling without replacement, {title}",
        source=f"Wang, Balle and Kasiviswanathan 2019, {theorems} (arXiv 1808.00087v2)",
        kind=Kind.UPPER,
        event_type=FixedSizeSampledGaussian,
        adjacencies=(Adjacency.REPLACE_ONE,),
        order_range=order_range,
        rdp=of_event(partial(rdp, terms=terms), fixed_size_arguments),
        ball=of_event(partial(ball, terms=terms), fixed_size_arguments),
    )


BOUND = _bound("wang2019", "per-term minimum", "Theorems 9 and 27", "minimum")
THEOREM_9 = _bound("wang2019-thm9", "any base mechanism", "Theorem 9", "theorem9")
THEOREM_27 = _bound("wang2019-thm27", "one worst pair", "Theorem 27", "theorem27")


def _concentrated_range(event: Any, adjacency: Adjacency) -> OrderRange:
    """No order where nothing is known of the event in the sample."""
    inner = event.event
    known = (
        isinstance(inner, ZeroConcentrated)
        and inner.adjacency is Adjacency.REPLACE_ONE
        and inner.xi == inner.delta == 0.0
        and inner.rho > 0.0
    )
    return order_range(event, adjacency) if known else OrderRange(highest=1.0)


def _concentrated_arguments(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    return 1.0 / math.sqrt(2.0 * event.event.rho), event.sample_size, event.population_size


CONCENTRATED = replace(
    THEOREM_9,
    id="wang2019-zcdp",
    title="sampling without replacement, zCDP mechanism",
    event_type=FixedSizeSampled,
    order_range=_concentrated_range,
    rdp=of_event(partial(rdp, terms="theorem9"), _concentrated_arguments),
    ball=of_event(partial(ball, terms="theorem9"), _concentrated_arguments),
)
