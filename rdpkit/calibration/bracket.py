"""Searches for the last number t that meets a target, between two that were evaluated.

Every search is for a number t whose score is at most 0, beside one whose score is above 0 and which
is as close as asked for. The score may be any function: nothing is returned that was not evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Scoring = Callable[[float], float]
"""Maps t to the score: at most 0 where the target is met, inf where nothing is known."""

_STEPS = 400  # Outwards, at most
_FIRST_SLOPE = -3.0  # Of the score in the logarithm of t, as a guess
# A step ends this part of its length beyond the expected zero, and after this many slow steps the
# bracket is halved.
_BEYOND = 0.1
_PATIENCE = 5
_SHORTEST, _LONGEST = 0.01, 3.0  # Steps outwards, in logarithms
# While the score does not change, steps grow by this factor, up to this length.
_GROWTH, _STRIDE = 2.0, 24.0


@dataclass(frozen=True, slots=True)
class Bracket:
    """The two ends of a search."""

    meets: float | None  # A t that meets the target; None if none was found
    misses: float | None
    """A t beside it, on the less private side, that does not; None if all do to the end."""
    constant: bool  # Whether every t that was tried has the same score


def numbers(
    # It should fall towards more privacy; if it does not, the result is still a valid bracket.
    score: Scoring,
    *,
    start: float,  # Where to begin
    # The ends of the range, > 0.
    lowest: float,
    highest: float,
    private: int,  # 1 if larger numbers are more private; one of {1, -1}
    tolerance: float,  # Relative
) -> Bracket:
    """A bracket of two real numbers whose ratio is within ``tolerance`` of 1."""
    range_ = (private * math.log(lowest), private * math.log(highest))
    least, most = min(range_), max(range_)
    exact = {private * math.log(t): t for t in (lowest, highest, start)}

    def number(u: float) -> float:
        return exact.get(u, min(max(math.exp(private * u), lowest), highest))

    def at(u: float) -> float:
        return score(number(u))

    first = min(max(private * math.log(start), least), most)
    path = _outwards(at, first, least, most)
    if path.miss is None or path.meet is None:
        return Bracket(
            meets=None if path.meet is None else number(path.meet.u),
            misses=None,
            constant=path.constant,
        )
    ends = _Ends(path.miss, path.meet, path.third)
    closest = 0.4 * tolerance
    while ends.room > tolerance:
        margin = min(closest, ends.room / 3.0)
        u = min(max(ends.guess(), ends.miss.u + margin), ends.meet.u - margin)
        ends.take(_Point(u, at(u)))
    return Bracket(meets=number(ends.meet.u), misses=number(ends.miss.u), constant=False)


def integers(score: Scoring, *, start: int, lowest: int, highest: int, private: int) -> Bracket:
    """A bracket of two neighbouring integers; the arguments are those of :func:`numbers`."""
    range_ = (private * math.log(lowest), private * math.log(highest))
    least, most = min(range_), max(range_)
    known: dict[int, float] = {}

    def at(u: float) -> float:
        t = whole(u)
        if t not in known:
            known[t] = score(t)
        return known[t]

    def whole(u: float) -> int:
        return min(max(round(math.exp(private * u)), lowest), highest)

    path = _outwards(at, private * math.log(start), least, most)
    if path.miss is None or path.meet is None:
        return Bracket(
            meets=None if path.meet is None else whole(path.meet.u),
            misses=None,
            constant=path.constant,
        )
    ends = _Ends(path.miss, path.meet, path.third)
    bad, good = whole(ends.miss.u), whole(ends.meet.u)
    while abs(good - bad) > 1:
        low, high = min(bad, good), max(bad, good)
        t = min(max(round(math.exp(private * ends.guess())), low + 1), high - 1)
        ends.take(_Point(private * math.log(t), at(private * math.log(t))))
        bad, good = whole(ends.miss.u), whole(ends.meet.u)
    return Bracket(meets=good, misses=bad, constant=False)


@dataclass(frozen=True, slots=True)
class _Point:
    """A place, where larger means more private, and its score."""

    u: float
    score: float


@dataclass(slots=True)
class _Path:
    """The result of stepping outwards; ``third`` is the point before the last."""

    miss: _Point | None
    meet: _Point | None
    constant: bool
    third: _Point | None = None


@dataclass(slots=True)
class _Ends:
    """A bracket that is narrowed step by step, and the last point that was dropped from it."""

    miss: _Point
    meet: _Point
    third: _Point | None = None
    last_missed: bool | None = None
    stays: int = 0
    slow: int = 0

    @property
    def room(self) -> float:
        """How far apart the ends are."""
        return self.meet.u - self.miss.u

    def guess(self) -> float:
        """Where the score may cross 0: by three points, by two, or in the middle."""
        middle = 0.5 * (self.miss.u + self.meet.u)
        one, two = self.miss, self.meet
        if self.slow == _PATIENCE or not (math.isfinite(one.score) and math.isfinite(two.score)):
            return middle
        three = self.third
        # The line through the two ends crosses 0 between them, which a parabola may not do.
        line = (one.u * -two.score + two.u * one.score) / (one.score - two.score)
        found = line
        if three is not None and len({one.score, two.score, three.score}) == 3:
            found = _inverse_quadratic(one, two, three)
        if self.stays > 1:
            # One end has not moved for two steps: aim a little beyond the zero, so that it does.
            near = one.u if self.last_missed else two.u
            found += _BEYOND * (found - near)
        return found if one.u < found < two.u else line

    def take(self, found: _Point) -> None:
        """Make a point the new end on its side."""
        before = self.room
        missed = found.score > 0.0
        if missed:
            self.miss, self.third = found, self.miss
        else:
            self.meet, self.third = found, self.meet
        self.stays = self.stays + 1 if missed == self.last_missed else 1
        self.last_missed = missed
        # After several steps that hardly narrow the bracket it is halved.
        self.slow = self.slow + 1 if self.room > 0.5 * before and self.slow < _PATIENCE else 0


def _inverse_quadratic(one: _Point, two: _Point, three: _Point) -> float:
    """The place at score 0 of the parabola, in the score, through three points."""
    a, b, c = one.score, two.score, three.score
    return (
        one.u * b * c / ((a - b) * (a - c))
        + two.u * a * c / ((b - a) * (b - c))
        + three.u * a * b / ((c - a) * (c - b))
    )


def _outwards(at: Callable[[float], float], first: float, least: float, most: float) -> _Path:
    """Steps towards the target until one misses and one meets, or the range ends."""
    here = _Point(first, at(first))
    towards = -1.0 if here.score <= 0.0 else 1.0
    end = least if towards < 0.0 else most
    slope = _FIRST_SLOPE
    stride = 1.0
    constant = True
    before: _Point | None = None
    for _ in range(_STEPS):
        if here.u == end:
            break
        if math.isfinite(here.score) and slope < 0.0:
            length = min(abs(here.score / slope) * 1.02 + _SHORTEST, max(_LONGEST, stride))
        else:
            length = stride
        u = here.u + towards * length
        u = max(u, end) if towards < 0.0 else min(u, end)
        there = _Point(u, at(u))
        constant &= there.score == here.score
        if (there.score <= 0.0) != (here.score <= 0.0):
            pair = (there, here) if towards < 0.0 else (here, there)
            return _Path(miss=pair[0], meet=pair[1], constant=False, third=before)
        if there.score == here.score or not math.isfinite(there.score - here.score):
            slope, stride = 0.0, min(_GROWTH * stride, _STRIDE)
        else:
            slope = (there.score - here.score) / (there.u - here.u)
            stride = min(max(_GROWTH * length, 1.0), _STRIDE)
        before, here = here, there
    if towards < 0.0:
        return _Path(miss=None, meet=here, constant=constant)
    return _Path(miss=here, meet=None, constant=constant)
