"""The search for a number that a user's own function turns into an event."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rdpkit import _validate
from rdpkit.calibration.outcome import Calibration, CalibrationError, UnreachableTargetError
from rdpkit.events import Event
from rdpkit.guarantee import Guarantee

_NAME = "number"


class FunctionSearch:
    """Halves a range whose one end meets a target and whose other end does not.

    Nothing is assumed about the function in between: what is returned was evaluated, and so was
    what misses. If the bound goes up and down, it is one of several such places.
    """

    def __init__(
        self,
        make: Callable[[Any], Event],  # Maps a number to an event
        answer: Callable[[Event], Guarantee],  # The guarantee of an event at the target's delta
        *,
        epsilon: float,  # The target
        # How far apart, relative to their size, what meets the target and what misses it may be.
        tolerance: float,
    ) -> None:
        self._make, self._answer = make, answer
        self._epsilon, self._tolerance = epsilon, tolerance
        self._evaluations = 0

    def within(self, between: Any) -> Calibration:
        """The number next to the one that misses the target.

        Raises UnreachableTargetError if neither end of the range meets the target. Raises
        CalibrationError if both ends do. Raises ValueError if ``between`` is not a range, or the
        function returns something else than an event.
        """
        low, high = self._ends(between)
        ends = [(number, *self._at(number)) for number in (low, high)]
        good, bad = sorted(ends, key=lambda end: end[2].epsilon)
        if good[2].epsilon > self._epsilon:
            raise UnreachableTargetError(
                f"Neither {low!r} nor {high!r} meets epsilon = {self._epsilon!r}: they give "
                f"{ends[0][2].epsilon:.6g} and {ends[1][2].epsilon:.6g}. Try a wider range.",
                limit=good[2].epsilon,
            )
        if bad[2].epsilon <= self._epsilon:
            raise CalibrationError(
                f"Both {low!r} and {high!r} meet epsilon = {self._epsilon!r}, so that it is not "
                "known in which direction it is missed. Try a wider range.",
                limit=bad[2].epsilon,
            )
        while (middle := self._middle(good[0], bad[0])) is not None:
            found = (middle, *self._at(middle))
            if found[2].epsilon <= self._epsilon:
                good = found
            else:
                bad = found
        return Calibration(
            event=good[1],
            values={_NAME: good[0]},
            guarantee=good[2],
            target_epsilon=self._epsilon,
            misses={_NAME: bad[0]},
            evaluations=self._evaluations,
            notes=(f"searched between {low!r} and {high!r} as the function says",),
        )

    def _ends(self, between: Any) -> tuple[Any, Any]:
        condition = "to be a pair of different finite numbers, the range to search in"
        if not isinstance(between, (tuple, list)) or len(between) != 2:
            raise _validate.fail("between", condition, between)
        whole = all(isinstance(end, int) and not isinstance(end, bool) for end in between)
        ends = list(between) if whole else [float(end) for end in between]
        if not all(math.isfinite(end) for end in ends) or ends[0] == ends[1]:
            raise _validate.fail("between", condition, between)
        return min(ends), max(ends)

    def _at(self, number: Any) -> tuple[Event, Guarantee]:
        event = self._make(number)
        if not isinstance(event, Event):
            raise _validate.fail(f"the event at {number!r}", "to be an Event", event)
        self._evaluations += 1
        return event, self._answer(event)

    def _middle(self, good: Any, bad: Any) -> Any:
        """A number between two others; None if they are close enough."""
        if isinstance(good, int):
            return None if abs(good - bad) <= 1 else (good + bad) // 2
        if abs(good - bad) <= self._tolerance * max(abs(good), abs(bad)):
            return None
        # Numbers of one sign are halved in their logarithm where they are far apart.
        apart = good * bad > 0.0 and max(good / bad, bad / good) > 2.0
        sign = math.copysign(1.0, good)
        middle = sign * math.sqrt(abs(good)) * math.sqrt(abs(bad)) if apart else (good + bad) / 2.0
        return middle if min(good, bad) < middle < max(good, bad) else None
