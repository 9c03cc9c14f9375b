"""When a release may still be made: one rule for each way of composing.

A rule turns an event into numbers that add up, its *charge*, and says of the sum of all charges
whether everything so far is within the budget. What is within the budget after a charge was within
it before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from rdpkit import analysis
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event, Gaussian, ZeroConcentrated
from rdpkit.planning.budgets import charges
from rdpkit.planning.budgets.order_mixture import OrderMixture, Total, filter_epsilon, filter_holds

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
        return charges.divergences(event, self.adjacency, self.mixture.orders, delta)

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
            return (charges.concentrated(event, self.adjacency, delta),)
        if delta > 0.0:
            return (math.inf,)
        return (charges.squared_mu(event, self.adjacency),)

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
        return (charges.pure_epsilon(event, self.adjacency, delta),)

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
