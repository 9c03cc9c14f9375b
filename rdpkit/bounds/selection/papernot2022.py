r"""The best of a random number of runs (Papernot and Steinke 2022), and a little less.

Guarantee
---------
Let r be the divergences of one run, m the mean number of runs, and a an order. The selection has at
most the divergence

    log(1 + m e^((a-1) c) (e^((a-1) r(a)) - 1)) / (a - 1),

where, for the truncated negative binomial distribution of shape h and parameter g,

    c = (1 + h) min_b ((1 - 1/b) r(b) + log(1/g) / b)    over all orders b >= 1,

and for the Poisson distribution c = m d, if one run is (e, d)-DP with e^e <= a / (a - 1). It is
also at most what the formula gives at any larger order. The paper's theorems say
r(a) + c + log(m) / (a - 1), which is never less; for the Poisson distribution this is so, and
proven, for m >= 1.

The first of several runs that is good enough, where all ends with the probability g after each run
that is not, has at most what the formula gives with m = 1/g and h = 0.

Assumes
-------
The number of runs and the outputs that were not selected stay secret, and outputs are ordered in a
way that does not depend on the data. If there was no run, what is released depends on no record.

Source
------
Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", ICLR 2022, Theorems 2
and 6 (arXiv 2110.03620v2); before them Liu and Talwar 2019. The form with 1 + ... - 1: rdpkit,
theory page "The best of several runs".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, InnerDivergences, Kind, RdpBound, every_order
from rdpkit.conversions import DELTA
from rdpkit.conversions import balls as conversion_balls
from rdpkit.events import FirstAboveThreshold, RepeatAndSelect
from rdpkit.numerics.balls import float_above, float_below
from rdpkit.numerics.number_of_runs import log_inverse_parameter

# Orders at which the free orders are searched: distances from 1, in equal steps of their logarithm.
_GRID = 1.0 + np.geomspace(1e-4, 1e5, 181)
_FAR = 1.0 + np.geomspace(1e5, 1e10, 101)[1:]
# The divergences of pure differential privacy hardly grow any more at the end of the grid.
_HARDLY_GROWN = 1.01
_ROUNDS = 3


def _grid(inner: InnerDivergences) -> tuple[Array, Array]:
    """The orders of the search and the divergences there; far orders only where they may help."""
    if "grid" not in inner.remembered:
        orders, values = _GRID, inner.rdp(_GRID)
        if values[-1] <= _HARDLY_GROWN * values[-20]:
            orders = np.concatenate([orders, _FAR])
            values = np.concatenate([values, inner.rdp(_FAR)])
        inner.remembered["grid"] = (orders, values)
    found: tuple[Array, Array] = inner.remembered["grid"]
    return found


def _log_inverse(event: Any) -> float:
    """A float above log(1/g)."""
    if isinstance(event, FirstAboveThreshold):
        with ctx.workprec(128):
            return float_above(-arb(event.stopping_probability).log())
    return log_inverse_parameter(event.mean, event.shape)


def _free_order(event: Any, inner: InnerDivergences) -> tuple[float, float]:
    """The order b >= 1 at which c is smallest, nearly, and c there."""
    key = ("free order", event.mean, event.shape)
    if key not in inner.remembered:
        log_inverse = _log_inverse(event)

        def cost(orders: Array, rdp: Array) -> Array:
            total = (1.0 - 1.0 / orders) * rdp + log_inverse / orders
            return np.asarray((1.0 + event.shape) * total)

        best = (float((1.0 + event.shape) * log_inverse), 1.0)
        orders, rdp = _grid(inner)
        for _ in range(_ROUNDS):
            values = cost(orders, rdp)
            index = int(np.argmin(values))
            best = min(best, (float(values[index]), float(orders[index])))
            low, high = orders[max(index - 1, 0)], orders[min(index + 1, orders.size - 1)]
            orders = 1.0 + np.geomspace(low - 1.0, high - 1.0, 33)
            rdp = inner.rdp(orders)
        inner.remembered[key] = best
    cost_there, order = inner.remembered[key]
    return order, cost_there


def _log_ratio(order: float | Array) -> Any:
    """log(a / (a - 1))."""
    return -np.log1p(-1.0 / np.asarray(order))


def _deltas(order: float, inner: InnerDivergences) -> tuple[float, float]:
    """The smallest delta of one run at the largest epsilon allowed, and the order that shows it."""
    orders, rdp = _grid(inner)
    deltas = DELTA["balle2020"](orders, rdp, float(_log_ratio(order)))
    index = int(np.argmin(deltas))
    return float(deltas[index]), float(orders[index])


def _total_variation(inner: InnerDivergences) -> float:
    """A bound on delta at any epsilon, from the smallest divergence (Bretagnolle and Huber)."""
    return math.sqrt(-math.expm1(-float(_grid(inner)[1][0])))


def _poisson_costs(event: Any, orders: Array, inner: InnerDivergences) -> Array:
    distance = _total_variation(inner)
    found = [min(_deltas(order, inner)[0], distance) for order in orders.tolist()]
    return np.asarray(event.mean * np.array(found))


def _formula(event: Any, orders: Array, inner: InnerDivergences) -> Array:
    """The formula at each order on its own."""
    if math.isinf(event.shape):
        cost: float | Array = _poisson_costs(event, orders, inner)
    else:
        cost = _free_order(event, inner)[1]
    rdp = inner.rdp(orders)
    exponent = (orders - 1.0) * rdp
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_excess = exponent + np.log(-np.expm1(-exponent))
        found = np.logaddexp(0.0, math.log(event.mean) + (orders - 1.0) * cost + log_excess)
        found = found / (orders - 1.0)
    return np.asarray(np.where(np.isfinite(rdp) & np.isfinite(cost), found, np.inf))


def _at_grid(event: Any, inner: InnerDivergences) -> Array:
    key = ("formula", event.mean, event.shape)
    if key not in inner.remembered:
        inner.remembered[key] = _formula(event, _grid(inner)[0], inner)
    return np.asarray(inner.remembered[key])


def _rdp(event: Any, orders: Array, adjacency: Adjacency, inner: InnerDivergences) -> Array:
    found = _formula(event, orders, inner)
    # What holds at a larger order holds here: the smallest value from each order of the grid on.
    later = np.append(np.minimum.accumulate(_at_grid(event, inner)[::-1])[::-1], np.inf)
    return np.asarray(np.minimum(found, later[np.searchsorted(_grid(inner)[0], orders)]))


def _best_order(event: Any, order: float, inner: InnerDivergences) -> float:
    """The order, or the larger one of the grid, at which the formula is smallest."""
    here = float(_formula(event, np.array([order]), inner)[0])
    orders = _grid(inner)[0]
    values = np.where(order <= orders, _at_grid(event, inner), np.inf)
    index = int(np.argmin(values))
    return order if here <= values[index] else float(orders[index])


def _ball_of_cost(event: Any, order: float, inner: InnerDivergences) -> arb:
    if not math.isinf(event.shape):
        log_inverse = arb(_log_inverse(event))
        free = _free_order(event, inner)[0]
        if free == 1.0:
            return (1 + arb(event.shape)) * log_inverse
        b = arb(free)
        return (1 + arb(event.shape)) * ((1 - 1 / b) * inner.ball(free) + log_inverse / b)
    delta, free = _deltas(order, inner)
    if _total_variation(inner) < delta:
        return arb(event.mean) * (-(-inner.ball(float(_GRID[0]))).expm1()).sqrt()
    ball = inner.ball(free)
    rdp = conversion_balls.Interval(lower=max(float_below(ball), 0.0), upper=float_above(ball))
    epsilon = max(float_below(-((-1 / arb(order)).log1p())), 0.0)
    # Any upper bound on delta gives a bound.
    return arb(event.mean) * arb(conversion_balls.delta("balle2020", free, rdp, epsilon).upper)


def _ball(event: Any, order: float, adjacency: Adjacency, inner: InnerDivergences) -> arb:
    with ctx.workprec(160):
        place = _best_order(event, order, inner)
        a = arb(place) - 1
        exponent, cost = a * inner.ball(place), a * _ball_of_cost(event, place, inner)
        # log(1 + m e^cost (e^exponent - 1)), without powers that no exponent can hold.
        shift = (arb(event.mean).log() + cost + exponent).mid()
        if not shift > 0:
            return (arb(event.mean) * cost.exp() * exponent.expm1()).log1p() / a
        scaled = arb(event.mean) * (cost + exponent - shift).exp() * (-((-exponent).expm1()))
        return (shift + ((-shift).exp() + scaled).log()) / a


def _inner(event: Any) -> Any:
    return event.event


UNTIL = RdpBound(
    id="first-above-threshold",
    title="the first of several runs that is good enough",
    source="Liu and Talwar 2019 for pure privacy; Renyi divergences: rdpkit, theory page: The best "
    "of several runs",
    kind=Kind.UPPER,
    event_type=FirstAboveThreshold,
    adjacencies=tuple(Adjacency),
    order_range=every_order,
    rdp=_rdp,
    ball=_ball,
    inner=_inner,
)

BOUND = RdpBound(
    id="papernot2022",
    title="the best of a random number of runs",
    source="Papernot and Steinke 2022, Theorems 2 and 6 (arXiv 2110.03620v2), sharpened: rdpkit, "
    "theory page: The best of several runs",
    kind=Kind.UPPER,
    event_type=RepeatAndSelect,
    adjacencies=tuple(Adjacency),
    order_range=every_order,
    rdp=_rdp,
    ball=_ball,
    inner=_inner,
)
