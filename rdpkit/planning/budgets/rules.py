"""When a release may still be made: one rule for each way of composing.

A rule turns an event into certified numbers that add up, its *charge*, rounded up to floats. It
says of the sum of all charges whether everything so far is within the budget. What is within the
budget after a charge was within it before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from flint import arb, ctx

from rdpkit import analysis
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event, Gaussian, ZeroConcentrated
from rdpkit.events.composition import released_counts
from rdpkit.planning.budgets.order_mixture import (
    OrderMixture,
    Total,
    filter_epsilon,
    filter_holds,
    rounded_up,
)
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


_SECANTS = 20  # Steps of the search, at most

COMPOSITIONS = ("renyi", "zcdp", "gaussian", "basic", "fixed-schedule")
"""The ways of composing, as a filter names them."""


class BudgetRule(Protocol):
    """What a filter asks of its rule. A charge has the same length for all events."""

    def charge(self, event: Event, delta: float) -> tuple[float, ...]:
        """The charge of one release; inf where nothing is known."""

    def holds(self, total: Total) -> bool:
        """Whether it is proven that everything so far is within the budget."""

    def used(self, total: Total) -> float:
        """The smallest epsilon of a filter that would have allowed the same releases."""

    def unknown(self, event: Event) -> str:
        """Why an event cannot be charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiRule:
    """Divergences of several orders, which were fixed in advance with weights."""

    adjacency: Adjacency
    epsilon: float
    delta: float
    mixture: OrderMixture

    def charge(self, event: Event, delta: float) -> tuple[float, ...]:
        """The divergences at the orders."""
        return divergences(event, self.adjacency, self.mixture.orders, delta)

    def holds(self, total: Total) -> bool:
        """The inequality of :mod:`rdpkit.planning.budgets.order_mixture`, in balls."""
        return filter_holds(self.mixture, total, epsilon=self.epsilon, delta=self.delta)

    def used(self, total: Total) -> float:
        """The epsilon at which the inequality would be an equality, nearly."""
        return filter_epsilon(self.mixture, total, delta=self.delta)

    def unknown(self, event: Event) -> str:
        """No order has a certified divergence."""
        return (
            "no Renyi divergence of it is known and certified at the orders of this budget; an "
            "event with a delta is spent with delta=, from what delta_for_events sets aside"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRule:
    """One number that adds up and may not exceed a limit: rho of zCDP, or mu^2 of Gaussians."""

    kind: str  # Which number it is; one of {"zcdp", "gaussian"}
    adjacency: Adjacency  # The neighbouring relation
    delta: float  # The delta to which the number is converted
    limit: float  # The largest sum

    def charge(self, event: Event, delta: float) -> tuple[float, ...]:
        """Rho, or the square of mu."""
        if self.kind == "zcdp":
            return (concentrated(event, self.adjacency, delta),)
        if delta > 0.0:
            return (math.inf,)
        return (squared_mu(event, self.adjacency),)

    def holds(self, total: Total) -> bool:
        """An exact comparison."""
        return total[0] <= Fraction(self.limit)

    def used(self, total: Total) -> float:
        """Epsilon of a single release with this sum."""
        if total[0] == 0:
            return 0.0
        event = _single(self.kind, float(total[0]) * (1.0 + 1e-15), self.adjacency)
        return analysis.epsilon(event, delta=self.delta, adjacency=self.adjacency).epsilon

    def unknown(self, event: Event) -> str:
        """Which events have such a number."""
        if self.kind == "zcdp":
            return (
                "no rho is known for which it is rho-zCDP; anything can be spent with a delta of "
                "its own"
            )
        return "it is not made of Gaussian events alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicRule:
    """The sum of epsilons."""

    adjacency: Adjacency
    epsilon: float

    def charge(self, event: Event, delta: float) -> tuple[float, ...]:
        """Epsilon at the delta that the release is given."""
        return (pure_epsilon(event, self.adjacency, delta),)

    def holds(self, total: Total) -> bool:
        """An exact comparison."""
        return total[0] <= Fraction(self.epsilon)

    def used(self, total: Total) -> float:
        """The sum."""
        found = float(total[0])
        return found if Fraction(found) >= total[0] else math.nextafter(found, math.inf)

    def unknown(self, event: Event) -> str:
        """Epsilon is infinite."""
        return "no finite epsilon is known for it at the delta that it was given"


def largest_limit(kind: str, *, epsilon: float, delta: float, adjacency: Adjacency) -> float:
    """The largest rho, or square of mu, with which a release is (epsilon, delta)-DP, nearly.

    It is found by the secant method on logarithms, and lowered until a certificate confirms it. The
    first number is small enough: rho + 2 sqrt(rho log(1/delta)) is an upper bound on epsilon (Bun
    and Steinke 2016). Raises ArithmeticError if no certificate confirms a number.
    """

    def excess(log_number: float) -> float:
        event = _single(kind, math.exp(log_number), adjacency)
        found = analysis.epsilon(event, delta=delta, adjacency=adjacency).epsilon
        return math.log(found / epsilon)

    root = math.sqrt(-math.log(delta))
    rho = (epsilon / (math.sqrt(root * root + epsilon) + root)) ** 2
    place = math.log(rho if kind == "zcdp" else 2.0 * rho)
    found, slope = excess(place), 0.5
    for _ in range(_SECANTS):
        if abs(found) < 1e-11:
            break
        new = place - found / slope
        after = excess(new)
        if after != found:
            slope = max((after - found) / (new - place), 0.1)
        place, found = new, after
    lower = 1e-11
    while found > 0.0:
        place, lower = place - lower, 10.0 * lower
        found = excess(place)
        if lower > 1.0:
            raise ArithmeticError(f"No budget has epsilon {epsilon!r} and delta {delta!r}.")
    # The number and a Gaussian's noise were rounded on the way.
    return math.exp(place) * (1.0 - 1e-12)


def _single(kind: str, number: float, adjacency: Adjacency) -> Event:
    """One release with this rho, or this square of mu."""
    if kind == "zcdp":
        return ZeroConcentrated(rho=number, adjacency=adjacency)
    sensitivity = Gaussian(noise_std=1.0, record_norm=1.0).sensitivity(adjacency)
    return Gaussian(noise_std=sensitivity / math.sqrt(number), record_norm=1.0)
