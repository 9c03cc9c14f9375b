r"""The sparse vector with Laplace noise: many answers, or many releases.

Guarantee
---------
Let s be the sensitivity, t and z the scales of the noise of the threshold and of a query, F the
tail of Laplace noise of scale 1, and c the number of answers "above". For 0 <= w <= 1 the
divergence at order a is at most

    D_a(Laplace(0, t), Laplace(w s, t)) + c log(r) / (a - 1),

where r is the larger of 1 and the largest value of

    p^a q^(1-a) / (1 - (1-p)^a (1-q)^(1-a)),    p = F(x), q = F(x + d),

over d in {(1 + w) s / z, -(1 - w) s / z} and x between 0 and -d, if the denominator is positive
there. If queries are monotone it is the larger of the two numbers with d in {w s / z,
-(1 - w) s / z} and with d in {(1 - w) s / z, -w s / z}, each with a w of its own.

Assumes
-------
The noise is that of the event, and fresh for each query. Queries may depend on earlier answers.

Source
------
rdpkit, theory page "Selections"; for Gaussian noise and w = 1: Zhu and Wang, "Improving sparse
vector technique with Renyi differential privacy", NeurIPS 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, ball_of
from rdpkit.events import AboveThreshold
from rdpkit.numerics.balls import float_above

# How far the threshold moves along, in parts of the sensitivity; places between the ends of x.
_SHARES, _ROUGHLY = np.linspace(0.0, 1.0, 33), np.linspace(0.0, 1.0, 33)
_PLACES = np.linspace(0.0, 1.0, 801)
# Cells are halved until they are so close to the largest value, relative to it, or are so many.
_CLOSE, _MOST_CELLS = 1e-7, 8000
# Shares at which the denominator is smaller somewhere are not tried.
_LEAST = 0.03
_SMALLEST, _LARGEST = 1.05, 1e4
# The largest sensitivity, in scales of the noise of a query.
_MOST_DISTANCE = 20.0

Ways = Callable[[Any], tuple[Any, Any]]
"""Maps a share w to how far queries fall and rise at most, less the threshold, in parts of s."""


def _ways(event: Any) -> list[Ways]:
    if not event.monotone_queries:
        return [lambda w: (1 + w, 1 - w)]
    return [lambda w: (w, 1 - w), lambda w: (1 - w, w)]


def _about(event: Any, order: float, ways: Ways, shares: Array, places: Array) -> Array:
    """The bound in floats for each share."""
    d = shares * (event.sensitivity / event.threshold_noise_scale)
    first, second = np.log(order) + (order - 1.0) * d, np.log(order - 1.0) - order * d
    at_threshold = np.logaddexp(first, second) - np.log(2.0 * order - 1.0)
    unit = event.sensitivity / event.query_noise_scale
    falls, rises = ways(shares)
    answers = _log_ratios(order, falls * unit, places)
    answers = np.maximum(answers, _log_ratios(order, -rises * unit, places))
    found: Array = (at_threshold + event.most_above * answers) / (order - 1.0)
    return found


def _log_ratios(a: float, d: Array, places: Array) -> Array:
    """The largest log r for each d, between places by a parabola."""
    x = -d[:, None] * places
    logs = []
    for at in (x, x + d[:, None]):
        far = np.log(2.0) + np.abs(at)
        near = np.log1p(-np.exp(-far))
        logs.append((np.where(at > 0, -far, near), np.where(at > 0, near, -far)))
    (p, rest), (q, other) = logs
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        missed = -np.expm1(a * rest + (1.0 - a) * other)
        found = np.where(missed > _LEAST, a * p + (1.0 - a) * q - np.log(missed), np.inf)
        best = np.clip(found.argmax(axis=1), 1, places.size - 2)[:, None]
        left, top, right = (np.take_along_axis(found, best + k, 1)[:, 0] for k in (-1, 0, 1))
        vertex = top + (right - left) ** 2 / (8.0 * (2.0 * top - left - right))
    # A maximum at an end is one of the places.
    between = (top >= left) & (top >= right) & np.isfinite(vertex)
    largest: Array = np.maximum(found.max(axis=1), np.where(between, vertex, 0.0))
    return np.asarray(np.maximum(largest, 0.0))


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    found = np.zeros(orders.size)
    for k, order in enumerate(orders.tolist()):
        for ways in _ways(event):
            best = _shares(event, order, ways)[:1]
            found[k] = max(found[k], _about(event, order, ways, best, _PLACES)[0])
    return found


def _shares(event: Any, order: float, ways: Ways) -> Array:
    """The shares, the best one by floats first."""
    return np.asarray(_SHARES[np.argsort(_about(event, order, ways, _SHARES, _ROUGHLY))])


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    found = [_moved(event, order, ways) for ways in _ways(event)]
    largest: arb = found[0].max(found[-1])
    return largest


def _moved(event: Any, order: arb, ways: Ways) -> arb:
    """The bound at the share that is best in floats and where it can be shown."""
    s, t = arb(event.sensitivity), arb(event.threshold_noise_scale)
    unit = s / arb(event.query_noise_scale)
    w, largest = arb(0), arb.pos_inf()
    shares = _shares(event, float(order), ways).tolist()
    for share in (*shares[:2], 1.0, 0.0):
        w = arb(share)
        falls, rises = ways(w)
        largest = _log_ratio(order, falls * unit).max(_log_ratio(order, -rises * unit))
        # It is finite where no query rises, at one end of the shares.
        if largest.is_finite():
            break
    d = w * s / t
    whole = order * ((order - 1) * d).exp() + (order - 1) * (-order * d).exp()
    at_threshold = (whole / (2 * order - 1)).log()
    found: arb = (at_threshold + event.most_above * largest) / (order - 1)
    return found


def _log_ratio(a: arb, d: arb) -> arb:
    """A ball around log r for one d: cells are halved while they may hold much more than seen."""
    if d == 0:
        return arb(0)
    found, seen, pending = 0.0, 0.0, [(0, 0)]
    for _ in range(_MOST_CELLS):
        if not pending:
            return arb(seen).union(arb(found))
        depth, place = pending.pop()
        # The distance of x from that end at which the one of p and q that is below 1/2 is 1/2.
        radius = abs(d) / (2 << depth)
        middle = radius * (2 * place + 1)
        value = _at(a, d, middle)[0]
        if not value.is_finite():
            return arb.pos_inf()
        bound = float_above(value + radius * abs(_at(a, d, middle + arb(0, 1) * radius)[1]))
        seen = max(seen, float_above(value))
        if bound <= seen * (1.0 + _CLOSE):
            found = max(found, bound)
        else:
            pending += [(depth + 1, 2 * place), (depth + 1, 2 * place + 1)]
    return arb.pos_inf()


def _at(a: arb, d: arb, y: arb) -> tuple[arb, arb]:
    """The logarithm of r at a distance y of x from 0, and its derivative up to the sign."""
    small, other = (-y).exp() / 2, (y - abs(d)).exp() / 2
    if d > 0:
        # 1 - p = small, q = other.
        hit = a * (1 - small).log() + (1 - a) * other.log()
        miss = a * small.log() + (1 - a) * (1 - other).log()
        of_hit = a * small / (1 - small) + (1 - a)
        of_miss = -a + (a - 1) * other / (1 - other)
    else:
        # p = small, 1 - q = other.
        hit = a * small.log() + (1 - a) * (1 - other).log()
        miss = a * (1 - small).log() + (1 - a) * other.log()
        of_hit = -a + (a - 1) * other / (1 - other)
        of_miss = a * small / (1 - small) + (1 - a)
    if not miss < 0:
        return arb.pos_inf(), arb.pos_inf()
    rest = -miss.expm1()
    return hit - rest.log(), of_hit + miss.exp() / rest * of_miss


def _orders(event: Any, adjacency: Adjacency) -> OrderRange:
    """Near 1 cells would have to be tiny; at large orders pure privacy is all that counts.

    So it is where queries have little noise: none of the places of floats would be near the peak.
    """
    if event.sensitivity > _MOST_DISTANCE * event.query_noise_scale:
        return OrderRange(highest=1.0)
    return OrderRange(lowest=_SMALLEST, highest=_LARGEST)


BOUND = RdpBound(
    id="above-threshold",
    title="Sparse vector with Laplace noise, answer by answer",
    source="rdpkit, theory page: Selections",
    kind=Kind.UPPER,
    event_type=AboveThreshold,
    adjacencies=tuple(Adjacency),
    order_range=_orders,
    rdp=_rdp,
    ball=ball_of(_divergence),
)
