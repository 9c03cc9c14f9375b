"""An event of which a trade-off curve is known: how well any test may do."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent
from rdpkit.events.fields import declared, event_class, relation
from rdpkit.events.losses import Attained, Dominating, Losses, attains
from rdpkit.events.pairs import Outcomes

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
