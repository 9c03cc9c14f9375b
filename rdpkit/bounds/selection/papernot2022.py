r"""The best of a random number of runs (Papernot and Steinke 2022), and a little less.

Guarantee
---------
Let r be the divergences of one run, m the mean number of runs, and a an order. The selection has at
most the divergence

    log(1 + m e^((a-1) c) (e^((a-1) r(a)) - 1)) / (a - 1),

where, for the truncated negative binomial distribution of shape h and parameter g,

    c = (1 + h) min_b ((1 - 1/b) r(b) + log(1/g) / b)    over all orders b >= 1,

or, where it is less, (a-1) c = (1 + h) log(max g (g + (1-g) u)^(a-1) (g + (1-g) v)^(-a)), over all
chances u and v of two outcomes whose divergence of every order b is at most r(b), either way;

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
from dataclasses import replace
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
# Cells of the chance of an event; which orders of the grid are used for the other chance; halvings
# for it, and how much is added to it, so that a ball can show that more is impossible.
_CELLS, _USED, _HALVINGS, _ADDED = 800, slice(40, None, 8), 28, 1e-9
# Of log(1/g) outside of this, cells would be too small or too large for floats.
_LEAST, _MOST = 1e-6, 500.0


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


def _chances(event: Any, inner: InnerDivergences) -> tuple[Array, Array, Array]:
    """Chances of events in equal steps of log(g + (1-g) v), and the most, u, on the neighbour.

    With them the place of the order that shows it, of those used. The chances of one event on two
    data sets have at most the divergence r(b) of every order b, either way.
    """
    key = ("chances", _log_inverse(event))
    if key not in inner.remembered:
        v = np.expm1(np.linspace(0.0, key[1], _CELLS + 1)) / np.expm1(key[1])
        v[-1] = 1.0
        orders, rdp = (one[_USED, None] for one in _grid(inner))
        low, high = v.copy(), np.ones_like(v)
        for halving in range(_HALVINGS + 1):
            u = 0.5 * (low + high) if halving < _HALVINGS else high
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                more = np.maximum(_of_two(orders, u, v), _of_two(orders, v, u)) - rdp
            more = np.nan_to_num(more, nan=-np.inf)
            fits = more.max(axis=0) <= 0.0
            low, high = np.where(fits, u, low), np.where(fits, high, u)
        most = np.minimum(high * (1.0 + _ADDED) + _ADDED * 1e-3, 1.0)
        inner.remembered[key] = (v, most, more.argmax(axis=0))
    found: tuple[Array, Array, Array] = inner.remembered[key]
    return found


def _of_two(order: Array, u: Array, v: Array) -> Array:
    """The divergence of two outcomes with the chances u and v."""
    hit = order * np.log(u) + (1.0 - order) * np.log(v)
    miss = order * np.log1p(-u) + (1.0 - order) * np.log1p(-v)
    return np.asarray(np.logaddexp(hit, miss) / (order - 1.0))


def _certified(event: Any, inner: InnerDivergences) -> bool:
    """Whether balls show what is said of all chances."""
    key = ("certified", _log_inverse(event))
    if key not in inner.remembered:
        orders = _grid(inner)[0][_USED].tolist()
        inner.remembered[key] = all(
            _impossible(arb(u), arb(v), orders[place], inner)
            for v, u, place in zip(*(x.tolist() for x in _chances(event, inner)), strict=True)
            if v > 0.0 and u < 1.0
        )
    return bool(inner.remembered[key])


def _impossible(u: arb, v: arb, order: float, inner: InnerDivergences) -> bool:
    """Whether u is too much for v, either way at this order."""
    key = ("ball", order)
    if key not in inner.remembered:
        inner.remembered[key] = ((arb(order) - 1) * inner.ball(order)).exp()
    b, most = arb(order), inner.remembered[key]
    return any(
        bool((x / y) ** b * y + ((1 - x) / (1 - y)) ** b * (1 - y) > most)
        for x, y in ((u, v), (v, u))
    )


def _log_most(event: Any, orders: Array, inner: InnerDivergences) -> Array:
    """What bounds V over m e^0, by its logarithm: the largest value in any cell of chances."""
    log_inverse = _log_inverse(event)
    if not _LEAST < log_inverse < _MOST or not _certified(event, inner):
        return np.full_like(orders, np.inf)
    g = math.exp(-log_inverse)
    v, most, _ = _chances(event, inner)
    ours, theirs = np.log(g + (1.0 - g) * v[:-1]), np.log(g + (1.0 - g) * most[1:])
    a = orders[:, None]
    largest = ((a - 1.0) * theirs - a * ours).max(axis=1) - log_inverse
    # More than all roundings.
    return np.asarray((1.0 + event.shape) * (np.maximum(largest, 0.0) + 1e-12 * orders))


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
        cost = np.minimum(
            _free_order(event, inner)[1], _log_most(event, orders, inner) / (orders - 1.0)
        )
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
        free, cost = _free_order(event, inner)
        most = float(_log_most(event, np.array([order]), inner)[0])
        if most < cost * (order - 1.0):
            return arb(most) / (arb(order) - 1)
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
    inner=lambda event: event.event,
)

UNTIL = replace(
    BOUND,
    id="first-above-threshold",
    title="the first of several runs that is good enough",
    source="Liu and Talwar 2019 for pure privacy; Renyi divergences: rdpkit, theory page: The best "
    "of several runs",
    event_type=FirstAboveThreshold,
)
