r"""Any release on a Poisson sample: its divergences, from those of the release without sampling.

Guarantee
---------
Let r be the divergences of the release, as a function of the order. At an integer order a >= 2 the
release on a Poisson sample of probability q has at most

    log(sum_k binomial(a, k) (1-q)^(a-k) q^k e^((k-1) r(k))) / (a - 1),

whether the record is in the data or not. Between two integers (a - 1) times the divergence is at
most the chord, and below order 2 the divergence is at most that of order 2. At every order sampling
does not hurt: the divergence is at most r(a), which is used where it is smaller.

Assumes
-------
The divergences hold when a record is added as well as when one is removed, as Renyi differential
privacy under add-or-remove-one says.

Source
------
The sum: Zhu and Wang, "Poisson subsampled Renyi differential privacy", ICML 2019, who prove it for
the Gaussian and the Laplace mechanism, and with a factor of 3 on all terms from the third one on
for all others. That the factor is not needed: rdpkit, theory page "Any release on a Poisson
sample". Chords: van Erven and Harremoes 2014, Corollary 2 (arXiv 1206.2459v2).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, ctx, fmpz

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, InnerDivergences, Kind, RdpBound, every_order
from rdpkit.events import PoissonSampled
from rdpkit.numerics.special import log_factorials, logsumexp

# Sums have as many terms as the order; above this order sampling is taken not to help.
_LARGEST = 4096


def _log_excess(rdp: Array) -> Array:
    """log(e^((k-1) r(k)) - 1) for k = 2, 3, ..., without overflow."""
    exponent = np.arange(1.0, rdp.size + 1.0) * rdp
    with np.errstate(divide="ignore", invalid="ignore"):
        found = exponent + np.log(-np.expm1(-exponent))
    return np.asarray(np.where(np.isinf(exponent), np.inf, found))


def _log_excess_up_to(highest: int, inner: InnerDivergences) -> Array:
    """The same up to an order at least, evaluated in blocks and remembered."""
    found = inner.remembered.get("log excess", np.empty(0))
    if found.size < highest - 1:
        last = min(2 ** math.ceil(math.log2(highest)), _LARGEST)
        found = _log_excess(inner.rdp(np.arange(2.0, last + 1.0)))
        inner.remembered["log excess"] = found
    return np.asarray(found)


def _log_mean(order: int, log_excess: Array, q: float) -> float:
    """The logarithm of the sum at an integer order; log_excess begins with k = 2."""
    if order == 1:
        return 0.0
    if q == 1.0:
        return float(np.logaddexp(0.0, log_excess[order - 2]))
    k = np.arange(2, order + 1)
    logs = log_factorials(order + 1)
    log_terms = (
        (logs[order] - logs[k] - logs[order - k])
        + (order - k) * math.log1p(-q)
        + k * math.log(q)
        + log_excess[: order - 1]
    )
    return float(np.logaddexp(0.0, logsumexp(log_terms)))


def _rdp(event: Any, orders: Array, adjacency: Adjacency, inner: InnerDivergences) -> Array:
    q = event.sampling_probability
    if q == 0.0:
        return np.zeros(orders.shape)
    found = inner.rdp(orders)
    if q == 1.0:
        return found
    amplified = orders <= _LARGEST
    if not amplified.any():
        return found
    highest = max(math.ceil(float(orders[amplified].max())), 2)
    log_excess = _log_excess_up_to(highest, inner)
    known: dict[int, float] = inner.remembered.setdefault(("log mean", q), {})
    for index in np.flatnonzero(amplified).tolist():
        order = float(orders[index])
        low, high = max(math.floor(order), 1), max(math.ceil(order), 2)
        for one in (low, high):
            if one not in known:
                known[one] = _log_mean(one, log_excess, q)
        weight = 1.0 if low == high else (order - low) / (high - low)
        chord = weight * known[high] + ((1.0 - weight) * known[low] if weight < 1.0 else 0.0)
        found[index] = min(found[index], max(chord / (order - 1.0), 0.0))
    return found


def _ball_of_log_mean(order: int, q: arb, excess: list[arb]) -> arb:
    if order == 1:
        return arb(0)
    p = 1 - q
    total, ratio = arb(0), q / p
    term = p**order
    for k in range(1, order + 1):
        term = term * ratio * fmpz(order - k + 1) / fmpz(k)
        if k >= 2:
            total += term * excess[k - 2]
    return total.log1p()


def _ball(event: Any, order: float, adjacency: Adjacency, inner: InnerDivergences) -> arb:
    with ctx.workprec(160):
        q = arb(event.sampling_probability)
        if event.sampling_probability == 0.0:
            return arb(0)
        whole = inner.ball(order)
        if event.sampling_probability == 1.0 or order > _LARGEST:
            return whole
        by_floats = _rdp(event, np.array([order]), adjacency, inner)[0]
        if by_floats >= inner.rdp(np.array([order]))[0]:
            return whole
        low, high = max(math.floor(order), 1), max(math.ceil(order), 2)
        excess = [(inner.ball(float(k)) * (k - 1)).expm1() for k in range(2, high + 1)]
        top = _ball_of_log_mean(high, q, excess)
        if low == high:
            return top / (arb(order) - 1)
        weight = arb(order) - low
        chord = weight * top + (1 - weight) * _ball_of_log_mean(low, q, excess)
        return chord / (arb(order) - 1)


BOUND = RdpBound(
    id="poisson-sampled-rdp",
    title="any release on a Poisson sample, from its Renyi divergences",
    source="Zhu and Wang 2019, and rdpkit, theory page: Any release on a Poisson sample",
    kind=Kind.UPPER,
    event_type=PoissonSampled,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=every_order,
    rdp=_rdp,
    ball=_ball,
    inner=lambda event: event.event,
)
