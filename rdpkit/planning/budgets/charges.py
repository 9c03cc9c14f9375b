"""What one release is charged: certified numbers that add up, rounded up to floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from rdpkit import analysis
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event, Gaussian, ZeroConcentrated
from rdpkit.events.composition import released_counts
from rdpkit.planning.budgets.order_mixture import rounded_up
from rdpkit.tradeoffs import zcdp


@lru_cache(maxsize=256)
def divergences(
    event: Event,  # What is to be released
    adjacency: Adjacency,  # The neighbouring relation
    orders: tuple[float, ...],  # Renyi orders
    # If it is above 0, the event is taken as (epsilon, delta)-DP with the certified epsilon, and
    # the numbers are the divergences of randomised response with that epsilon, which are the
    # largest ones of epsilon-DP.
    delta: float,
) -> tuple[float, ...]:
    """Upper bounds on the divergence at each order, certified; inf where nothing is known."""
    if delta > 0.0:
        epsilon = pure_epsilon(event, adjacency, delta)
        return tuple(_of_pure(epsilon, order) for order in orders)
    bounds = UpperBounds()
    found = []
    for order in orders:
        ball = bounds.ball(event, order, adjacency)
        usable = ball is not None and ball.is_finite()
        found.append(rounded_up(ball) if usable and ball is not None else math.inf)
    return tuple(found)


def _of_pure(epsilon: float, order: float) -> float:
    """The divergence of randomised response: log((e^(a e) + e^((1-a) e)) / (1 + e^e)) / (a-1)."""
    if math.isinf(epsilon):
        return math.inf
    with ctx.workprec(160):
        a, e = arb(order), arb(epsilon)
        mean = (1 + ((1 - 2 * a) * e).exp()) / (1 + (-e).exp())
        return min(rounded_up(((a - 1) * e + mean.log()) / (a - 1)), epsilon)


@lru_cache(maxsize=256)
def concentrated(event: Event, adjacency: Adjacency, delta: float) -> float:
    """A rho for which the event is rho-zCDP, rounded up; inf if none is known.

    Gaussian noise of z sensitivities has rho = 1 / (2 z^2), what is composed the sum, and other
    events the rho that :func:`rdpkit.zcdp` proves. An event that is spent with a delta has
    epsilon^2 / 2 (Bun and Steinke 2016, Proposition 1.4).
    """
    if delta > 0.0:
        return _half_square(pure_epsilon(event, adjacency, delta))

    def of_one(leaf: Event) -> Fraction | float:
        if isinstance(leaf, ZeroConcentrated):
            if leaf.adjacency is not adjacency or leaf.xi > 0.0 or leaf.delta > 0.0:
                return math.inf
            return Fraction(leaf.rho)
        square = _squared_mu(leaf, adjacency)
        if not math.isinf(square):
            return square / 2
        found = zcdp(leaf, adjacency=adjacency).rho
        return found if math.isinf(found) else Fraction(found)

    return _up(_total(event, of_one))


@lru_cache(maxsize=256)
def squared_mu(event: Event, adjacency: Adjacency) -> float:
    """The square of a mu for which the event is mu-GDP, rounded up; inf unless it is Gaussian."""
    return _up(_total(event, lambda leaf: _squared_mu(leaf, adjacency)))


def _squared_mu(leaf: Event, adjacency: Adjacency) -> Fraction | float:
    if not isinstance(leaf, Gaussian):
        return math.inf
    return (Fraction(leaf.sensitivity(adjacency)) / Fraction(leaf.noise_std)) ** 2


def _total(event: Event, of_one: Callable[[Event], Fraction | float]) -> Fraction | float:
    """The sum over what is composed."""
    return sum(
        (count * of_one(leaf) for leaf, count in released_counts(event).items()), Fraction(0)
    )


def _half_square(epsilon: float) -> float:
    if math.isinf(epsilon):
        return math.inf
    return _up(Fraction(epsilon) ** 2 / 2)


def _up(number: Fraction | float) -> float:
    """A float that is not below an exact number."""
    if isinstance(number, float):
        return number
    with ctx.workprec(128):
        found = float(number)
        return found if Fraction(found) >= number else math.nextafter(found, math.inf)


@lru_cache(maxsize=256)
def pure_epsilon(event: Event, adjacency: Adjacency, delta: float) -> float:
    """A certified epsilon at a delta, which may be 0."""
    return analysis.epsilon(event, delta=delta, adjacency=adjacency).epsilon
