"""Events of which somebody states a guarantee, or points of a curve, and nothing else is known."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.composition import Composed
from rdpkit.events.fields import declared, event_class, non_negative, relation
from rdpkit.events.losses import Attained, Dominating, Losses, ProfilePoints, attains, sampled_step
from rdpkit.events.pairs import Outcomes, StatedPair


@event_class
class EpsilonDelta(DescribedEvent):
    """A mechanism that is (epsilon, delta)-DP, of which nothing else is known.

    The numbers are those of the worst mechanism that has this guarantee, which is known exactly
    (Kairouz, Oh and Viswanath 2015). So a lower bound is attained by that mechanism, and not
    necessarily by yours.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.EpsilonDelta(epsilon=0.1, delta=1e-8, adjacency="replace_one")
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="replace_one").epsilon, 3)
    4.33
    """

    mechanism: ClassVar[str] = "epsilon_delta"
    # By the worst mechanism that has the guarantee.
    losses_are_attained = True

    epsilon: float = non_negative("In nats; finite", private=-1)
    delta: float = declared(
        "In [0, 1); 0 for pure differential privacy", check=_validate.target_delta
    )
    adjacency: Adjacency = relation("The neighbouring relation under which it holds")

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The worst mechanism that has the guarantee."""
        if adjacency is not self.adjacency:
            raise self._no_losses(adjacency)
        if self.epsilon == self.delta == 0.0:
            return Dominating(())
        return Dominating((StatedPair(epsilon=self.epsilon, delta=self.delta),))

    def in_groups(self, size: int) -> Event:
        """Chains of neighbours: epsilon times the size, and delta times a geometric sum."""
        grown = size * self.epsilon
        if self.delta == 0.0:
            return replace(self, epsilon=grown)
        if grown > 700.0:
            raise _validate.fail("size", "to be so small that the group's epsilon is a float", size)
        # The slack covers the roundings of the sum.
        total = math.fsum([math.exp(i * self.epsilon) for i in range(size)]) * (1.0 + 1e-12)
        if self.delta * total >= 1.0:
            raise _validate.fail("size", "to be so small that the group's delta is below 1", size)
        return replace(self, epsilon=math.nextafter(grown, math.inf), delta=self.delta * total)


@event_class
class ZeroConcentrated(DescribedEvent):
    """A release of which only zero-concentrated differential privacy (zCDP) is known.

    It is (xi, rho)-zCDP under ``adjacency``: between neighbours the Renyi divergence of every order
    above 1 is at most xi + rho * order. With xi = 0 this is rho-zCDP. With a ``delta`` it is
    delta-approximate (xi, rho)-zCDP: that holds once an event of the probability delta is left out
    on either of the two data sets.

    A Gaussian release whose noise is z times its sensitivity has rho = 1 / (2 z^2), and with the
    probability delta a mechanism may show everything. Lower bounds are attained by such a release:
    they say what the guarantee leaves possible, and not what your mechanism leaks.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.ZeroConcentrated(rho=0.1, adjacency="add_or_remove_one")
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.914
    """

    mechanism: ClassVar[str] = "zero_concentrated"
    expansion_is_attained = True

    rho: float = non_negative(
        "What the divergence grows by with each unit of the order, in nats", private=-1
    )
    adjacency: Adjacency = relation("The neighbouring relation under which it holds")
    xi: float = non_negative(
        "What is added to the divergence at every order, in nats", private=-1, default=0.0
    )

    delta: float = declared(
        "Probability of what is left out",
        check=_validate.target_delta,
        accepted="in [0, 1)",
        default=0.0,
    )

    def expand(self) -> Event | None:
        """Everything with the probability delta, and otherwise zCDP without a delta."""
        if self.delta == 0.0:
            return None
        told = EpsilonDelta(epsilon=0.0, delta=self.delta, adjacency=self.adjacency)
        return Composed(events=(told, replace(self, delta=0.0)))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """With rho = 0 it is (xi, delta)-DP; otherwise no pair is known."""
        if adjacency is not self.adjacency or self.rho > 0.0:
            raise self._no_losses(adjacency)
        return Dominating(self._pure())

    def _pure(self) -> tuple[StatedPair, ...]:
        known = self.xi or self.delta
        return (StatedPair(epsilon=self.xi, delta=self.delta),) if known else ()

    def attained(self, adjacency: Adjacency) -> Attained:
        """A Gaussian release and the worst (xi, delta)-DP one; together they are as private."""
        if adjacency is not self.adjacency:
            raise self._no_losses(adjacency)
        if self.rho == 0.0:
            return attains(self._pure())
        # The noise is rounded up by more than its roundings, so that the release has the guarantee.
        noise = math.sqrt(0.5 / self.rho) * (1.0 + 1e-14)
        gaussian = sampled_step("replaced", noise_multiplier=noise, sampling_probability=1.0)
        # Divergences add up, and what is left out is left out of the second one.
        return attains((*gaussian, *self._pure()))


# From 1.01 to 1000, twenty a decade above 1.
_USUAL_ORDERS = tuple(1.0 + 10.0 ** (k / 20) for k in range(-40, 61))


@event_class
class CustomRdp(DescribedEvent):
    """A mechanism of which only bounds on the Renyi divergence are known, at some orders.

    It satisfies (orders[i], values[i])-RDP under ``adjacency`` for every i: the Renyi divergence of
    order ``orders[i]`` between the outputs on neighbours is at most ``values[i]``.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.CustomRdp(
    ...     orders=[2.0, 8.0, 32.0], values=[0.02, 0.08, 0.32], adjacency="replace_one"
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
    0.548
    """

    mechanism: ClassVar[str] = "custom_rdp"

    orders: tuple[float, ...] = declared(
        "Renyi orders without a unit; each above 1, strictly increasing"
    )
    values: tuple[float, ...] = declared(
        "Upper bounds on the Renyi divergence between neighbours, in nats; each at least 0, as "
        "many as there are orders. inf stands for an unknown bound"
    )
    adjacency: Adjacency = relation("The neighbouring relation under which they hold")

    @classmethod
    def from_function(
        cls,
        curve: Callable[[float], float],
        *,
        adjacency: Adjacency | str,
        orders: Sequence[float] = _USUAL_ORDERS,
    ) -> CustomRdp:
        """The event whose Renyi divergences a function bounds.

        Parameters
        ----------
        curve : callable
            Of an order, the bound on the divergence in nats; inf where there is none.
        adjacency : Adjacency or str
            The neighbouring relation under which it holds.
        orders : sequence of float
            Where it is evaluated. What holds there is all that is used.

        Examples
        --------
        >>> import rdpkit
        >>> event = rdpkit.CustomRdp.from_function(lambda a: 0.01 * a, adjacency="replace_one")
        >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
        0.546
        """
        values = tuple(curve(order) for order in orders)
        return cls(orders=tuple(orders), values=values, adjacency=Adjacency.parse(adjacency))

    def _check_together(self) -> None:
        orders = _validate.orders("orders", self.orders)
        values = _validate.divergences("values", self.values, like=orders)
        if (orders[1:] <= orders[:-1]).any():
            raise _validate.fail("orders", "to be strictly increasing", self.orders)
        object.__setattr__(self, "orders", tuple(float(v) for v in orders))
        object.__setattr__(self, "values", tuple(float(v) for v in values))


@event_class
class CustomProfile(DescribedEvent):
    """A mechanism of which only points of the privacy profile are known.

    It is (epsilons[i], deltas[i])-DP under ``adjacency`` for every i. One point is a plain
    (epsilon, delta) guarantee as papers state it; with delta 0 it is pure differential privacy.
    More points give tighter bounds. Neighbouring is symmetric, so every point bounds the
    hockey-stick divergence in both directions.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.CustomProfile(epsilons=[0.1], deltas=[0.0], adjacency="replace_one")
    >>> twenty = rdpkit.Repeated(event=event, count=20)
    >>> round(rdpkit.epsilon(twenty, delta=1e-5, adjacency="replace_one").epsilon, 3)
    1.598
    """

    mechanism: ClassVar[str] = "custom_profile"

    epsilons: tuple[float, ...] = declared(
        "Privacy losses in nats; finite, at least 0, strictly increasing"
    )
    deltas: tuple[float, ...] = declared(
        "Upper bounds on probabilities; in [0, 1], nowhere increasing, as many as there are "
        "epsilons. They need not be convex"
    )
    adjacency: Adjacency = relation("The neighbouring relation under which they hold")

    def _check_together(self) -> None:
        condition = "to be finite numbers >= 0, of shape (k,) with k >= 1"
        epsilons = np.atleast_1d(_validate.real_array("epsilons", self.epsilons, condition))
        if epsilons.ndim != 1 or epsilons.size == 0:
            raise _validate.fail("epsilons", condition, self.epsilons)
        if not (np.isfinite(epsilons).all() and (epsilons >= 0.0).all()):
            raise _validate.fail("epsilons", condition, self.epsilons)
        if (epsilons[1:] <= epsilons[:-1]).any():
            raise _validate.fail("epsilons", "to be strictly increasing", self.epsilons)
        condition = f"to be numbers in [0, 1], of shape ({epsilons.size},) as epsilons has"
        deltas = np.atleast_1d(_validate.real_array("deltas", self.deltas, condition))
        if deltas.shape != epsilons.shape or not ((deltas >= 0.0) & (deltas <= 1.0)).all():
            raise _validate.fail("deltas", condition, self.deltas)
        if (deltas[1:] > deltas[:-1]).any():
            raise _validate.fail("deltas", "not to increase with epsilons", self.deltas)
        # Adding zero turns -0.0 into 0.0, so that equal events are also printed alike.
        object.__setattr__(self, "epsilons", tuple(float(v) + 0.0 for v in epsilons))
        object.__setattr__(self, "deltas", tuple(float(v) + 0.0 for v in deltas))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The points; no data sets are known that attain them."""
        if adjacency is not self.adjacency:
            raise self._no_losses(adjacency)
        return Dominating((ProfilePoints(epsilons=self.epsilons, deltas=self.deltas),))


Points = list[tuple[Fraction, Fraction]]
# How far a curve through points that are not quite convex is moved towards guessing at random.
_SHARES = [Fraction(0), *[Fraction(1, 2**k) for k in (40, 30, 20, 10)]]


@event_class
class CustomTradeoff(DescribedEvent):
    """A mechanism of which points of a trade-off curve are known, and nothing else.

    Whoever is to tell which of two neighbours was used, and takes the first one for the second with
    the probability ``false_positive_rates[i]`` at most, takes the second one for the first with the
    probability ``false_negative_rates[i]`` at least, for every i and in either order of the two.
    Each point is used as it stands. A curve lies below the straight line between two of its points,
    so that nothing is read off such lines, and many points say more than few.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.CustomTradeoff(
    ...     false_positive_rates=[0.01, 0.04, 0.09, 0.16, 0.25, 0.36, 0.49, 0.64, 0.81],
    ...     false_negative_rates=[0.81, 0.64, 0.49, 0.36, 0.25, 0.16, 0.09, 0.04, 0.01],
    ...     adjacency="add_or_remove_one",
    ... )
    >>> round(rdpkit.epsilon(event, delta=0.2, adjacency="add_or_remove_one").epsilon, 3)
    2.079
    """

    mechanism: ClassVar[str] = "custom_tradeoff"

    false_positive_rates: tuple[float, ...] = declared(
        "Probabilities in [0, 1], strictly increasing"
    )
    false_negative_rates: tuple[float, ...] = declared(
        "Lower bounds on probabilities; in [0, 1], nowhere increasing, as many as there are false "
        "positive rates, and at most 1 minus these"
    )
    adjacency: Adjacency = relation("The neighbouring relation under which the curve holds")

    def _check_together(self) -> None:
        condition = "to be strictly increasing numbers in [0, 1], of shape (k,) with k >= 1"
        names = "false_positive_rates", "false_negative_rates"
        positive, negative = (
            np.atleast_1d(_validate.real_array(name, getattr(self, name), condition))
            for name in names
        )
        inside = ((positive >= 0.0) & (positive <= 1.0)).all() and positive.ndim == 1
        if not inside or positive.size == 0 or (positive[1:] <= positive[:-1]).any():
            raise _validate.fail(names[0], condition, self.false_positive_rates)
        condition = f"to be numbers in [0, 1], of shape ({positive.size},), nowhere increasing"
        if negative.shape != positive.shape or (negative[1:] > negative[:-1]).any():
            raise _validate.fail(names[1], condition, self.false_negative_rates)
        if not ((negative >= 0.0) & (negative <= 1.0)).all():
            raise _validate.fail(names[1], condition, self.false_negative_rates)
        # A guess at random has this rate, but for a rounding of what the user subtracted.
        if (negative + positive > 1.0 + 1e-15).any():
            condition = "to be at most 1 - false_positive_rates, which guessing attains"
            raise _validate.fail(names[1], condition, self.false_negative_rates)
        for name, values in zip(names, (positive, negative), strict=True):
            object.__setattr__(self, name, tuple(float(v) + 0.0 for v in values))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """An outcome for each segment of the lowest convex curve that all points leave possible."""
        points = [one for one in self._points(adjacency) if 0 < one[0] < 1]
        if not points:
            raise self._no_losses(adjacency)
        return Dominating(_segments(_hull(_valleys(points))))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The mechanism with straight lines between the points, if these are nearly convex."""
        points = self._points(adjacency)
        curve = _hull([(Fraction(0), Fraction(1)), *points, (Fraction(1), Fraction(0))])
        for share in _SHARES:
            raised = [(x, y + share * (1 - x - y)) for x, y in curve]
            if all(y <= _height(raised, x) for x, y in points):
                return attains(_segments(raised))
        raise self._no_losses(adjacency)

    def _points(self, adjacency: Adjacency) -> Points:
        """What is known: also of the two neighbours exchanged, and of smaller rates."""
        if adjacency is not self.adjacency:
            raise self._no_losses(adjacency)
        known: dict[Fraction, Fraction] = {}
        for one, other in zip(self.false_positive_rates, self.false_negative_rates, strict=True):
            rate = Fraction(one)
            missed = min(Fraction(other), 1 - rate)
            known[rate] = max(known.get(rate, missed), missed)
            known[missed] = max(known.get(missed, rate), rate)
        found: Points = []
        for rate in sorted(known, reverse=True):
            if not found or known[rate] > found[-1][1]:
                found.append((rate, known[rate]))
        return found[::-1]


def _valleys(points: Points) -> Points:
    """Corners of the lowest curve that is convex and above all points, and their ends.

    Every curve begins at (0, 1) or below and ends in (1, 0). So to the left of a point it is above
    the line from there to (1, 0), and to the right of it above the line through (0, 1).
    """
    falls = [missed / (1 - rate) for rate, missed in points]
    steep = [(1 - missed) / rate for rate, missed in points]
    found = [(Fraction(0), falls[0])]
    for one, other in zip(steep, falls[1:], strict=False):
        if one > other:
            place = (1 - other) / (one - other)
            found.append((place, other * (1 - place)))
    return [*found, (1 / steep[-1], Fraction(0)), (Fraction(1), Fraction(0))]


def _segments(curve: Points) -> Losses:
    """The pair that has a convex curve: an outcome for each straight piece of it."""
    first = [1 - curve[0][1], *[y - v for (_, y), (_, v) in pairwise(curve)]]
    second = [Fraction(0), *[u - x for (x, _), (u, _) in pairwise(curve)]]
    kept = [(float(p), float(q)) for p, q in zip(first, second, strict=True) if p or q]
    if len(kept) == 1:
        return ()
    p, q = zip(*kept, strict=True)
    return (Outcomes(first=p, second=q),)


def _hull(points: Points) -> Points:
    """The lowest convex curve through the ends of points; others on it are kept."""
    found: Points = []
    for point in sorted(points):
        if found and point[0] == found[-1][0]:
            continue
        while len(found) > 1 and _slope(found[-2], found[-1]) > _slope(found[-1], point):
            found.pop()
        found.append(point)
    return found


def _height(curve: Points, place: Fraction) -> Fraction:
    """A curve from 0 to 1 at a place."""
    after = bisect_left(curve, (place, Fraction(-1)))
    x, y = curve[after]
    return y if x == place else y + _slope(curve[after - 1], curve[after]) * (place - x)


def _slope(one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> Fraction:
    return (other[1] - one[1]) / (other[0] - one[0])
