"""The boundaries of one parameter: from where on a claim is true, and from where on it is refuted.

Guarantee
---------
A band that is called true ends at a value at which the event was proven to keep the claim by a
certified upper bound; a band that is called refuted ends at a value at which a pair of neighbouring
data sets was found to exceed it. Both bands reach to the end of the range because the event is
monotone (:mod:`rdpkit.verification.auditing.regions.monotone`). Everything else is open.

Assumes
-------
What the upper bound's ``assumptions`` list.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

from rdpkit import Adjacency, Event, delta, epsilon
from rdpkit.analysis import BEST_RDP, lower_bound
from rdpkit.calibration import bracket, calibrate
from rdpkit.calibration.search_variable import SearchVariable
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.guarantee import Guarantee
from rdpkit.pairs.claim_check import is_proven, is_refuted
from rdpkit.verification.auditing.regions.region import Band, RegionVerdict, joined

TOLERANCE = 1e-3
"""How far apart a value with a verdict and one without are at most, relative to their size."""

# Where to begin is found with a bound that is about as tight.
_ROUGHLY = 0.01
# Claims about a smaller delta are not made.
_LEAST = 1e-300
# By how much a number that decides is moved until the audit itself says so.
_MOVES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)

Score = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionQuestion:
    """A claim whose event is to be chosen."""

    claimed: float  # The claimed epsilon
    delta: float  # At which it is claimed
    adjacency: Adjacency  # The neighbouring relation

    def excess(self, event: Event) -> float:
        """At most 0 exactly if the claim is proven of an event; a smooth function near 0."""
        found = _upper(event, self.delta, self.adjacency)
        if is_proven(self.claimed, found.epsilon, enclosure=_certified(found)):
            return min(_log_ratio(found.epsilon, self.claimed), -math.ulp(1.0))
        return max(_log_ratio(found.epsilon, self.claimed), math.ulp(1.0))

    def shown(self, event: Event) -> float:
        """Above 0 exactly if a pair of data sets refutes the claim of an event."""
        found = _lower(event, self.delta, self.adjacency)
        if found is None:
            return -math.inf
        if is_refuted(self.claimed, found):
            return max(_log_ratio(found, self.claimed), math.ulp(1.0))
        return min(_log_ratio(found, self.claimed), 0.0)

    def verdict(self, event: Event) -> RegionVerdict:
        """What the claim is for an event."""
        if self.excess(event) <= 0.0:
            return RegionVerdict.TRUE
        return RegionVerdict.REFUTED if self.shown(event) > 0.0 else RegionVerdict.OPEN


def _log_ratio(value: float, claimed: float) -> float:
    if value <= 0.0:
        return -math.inf
    if claimed <= 0.0 or math.isinf(value):
        return math.inf
    return math.log(value / claimed)


def _certified(found: Guarantee) -> tuple[float, float] | None:
    enclosure = found.computed
    if enclosure is None or not enclosure.rigorous:
        return None
    return (enclosure.lower, enclosure.upper)


@functools.lru_cache(maxsize=4096)
def _upper(event: Event, delta: float, adjacency: Adjacency) -> Guarantee:
    return epsilon(event, delta=delta, adjacency=adjacency)


@functools.lru_cache(maxsize=4096)
def _lower(event: Event, delta: float, adjacency: Adjacency) -> float | None:
    """What a pair of data sets attains; None where no pair is known."""
    try:
        return lower_bound(event, delta=delta, adjacency=adjacency)[0].epsilon
    except NoLossDistributionError:
        return None


def within(variable: SearchVariable, low: float | None, high: float | None) -> SearchVariable:
    """The variable in a smaller range."""
    lowest = max(variable.lowest, -math.inf if low is None else low)
    highest = min(variable.highest, math.inf if high is None else high)
    if variable.whole:
        lowest, highest = math.ceil(lowest), math.floor(highest)
    if lowest > highest:
        raise ValueError(
            f"Expected from and to in [{variable.lowest:g}, {variable.highest:g}], the range of "
            f"{variable.names}, got {low!r} and {high!r}."
        )
    start = min(max(variable.start, lowest), highest)
    return dataclasses.replace(variable, lowest=lowest, highest=highest, start=start)


def bands(
    question: RegionQuestion,  # The claim
    variable: SearchVariable,  # What is searched, in its range; the event is monotone in it
) -> tuple[Band, ...]:
    """Where the claim is true, open and refuted, from the smallest value to the largest.

    Raises ArithmeticError if a number cannot be computed, or a value comes out both true and
    refuted.
    """
    begin = _near(question, variable)
    found = _bracket(variable, lambda t: question.excess(variable.at(t)), begin)
    true, refuted = found.meets, None
    if true is None or found.misses is not None:
        # Where every value is proven, none is refuted.
        start = begin if true is None else true
        other = _bracket(variable, lambda t: question.shown(variable.at(t)), start)
        refuted = other.misses
        if other.meets is None:
            # Every value that was tried is refuted, the most private one of the range among them.
            refuted = variable.highest if variable.private > 0 else variable.lowest
    return _laid_out(variable, true, refuted)


def _near(question: RegionQuestion, variable: SearchVariable) -> float:
    """Where to begin: about the boundary of a bound that takes little time."""
    names = {one.path: float(one.weights[0]) for one in variable.moved}
    parameter = names if len(names) > 1 else next(iter(names))
    if not 0.0 < question.claimed < math.inf:
        return variable.start
    try:
        found = calibrate(
            variable.event,
            target_epsilon=question.claimed,
            delta=question.delta,
            adjacency=question.adjacency,
            parameter=parameter,
            bound=BEST_RDP,
            tolerance=_ROUGHLY,
        )
    except ValueError:
        return variable.start
    value = found.value
    near = float(max(value) if isinstance(value, tuple) else value)
    return min(max(near, variable.lowest), variable.highest)


def _bracket(variable: SearchVariable, score: Score, start: float) -> bracket.Bracket:
    if variable.lowest == variable.highest:
        value = score(variable.lowest)
        meets, misses = (variable.lowest, None) if value <= 0.0 else (None, variable.lowest)
        return bracket.Bracket(meets=meets, misses=misses, constant=True)
    if variable.whole:
        return bracket.integers(
            score,
            start=int(start),
            lowest=int(variable.lowest),
            highest=int(variable.highest),
            private=variable.private,
        )
    return bracket.numbers(
        score,
        start=start,
        lowest=variable.lowest,
        highest=variable.highest,
        private=variable.private,
        tolerance=TOLERANCE,
    )


def _laid_out(
    variable: SearchVariable, true: float | None, refuted: float | None
) -> tuple[Band, ...]:
    """The bands between the ends of the range, which are true on the private side."""
    sign = variable.private
    ends = (variable.lowest, variable.highest)
    other, private = ends if sign > 0 else ends[::-1]
    if true is not None and refuted is not None and not sign * refuted < sign * true:
        raise ArithmeticError(
            f"The claim is proven at {variable.names} = {true!r} and refuted at {refuted!r}, which "
            "is more private: one of the bounds is false; please report this."
        )
    step = 1.0 if variable.whole else 0.0
    found: list[Band] = []
    begin = other
    if refuted is not None:
        found.append(_band(RegionVerdict.REFUTED, other, refuted))
        begin = refuted + sign * step
    if true is None:
        if refuted != private:
            found.append(_band(RegionVerdict.OPEN, begin, private))
    else:
        end = true - sign * step
        if (refuted is None and true != other) or (
            refuted is not None and sign * begin < sign * end + step
        ):
            found.append(_band(RegionVerdict.OPEN, begin, end))
        found.append(_band(RegionVerdict.TRUE, true, private))
    return joined(found if sign > 0 else found[::-1])


def _band(verdict: RegionVerdict, one: float, other: float) -> Band:
    return Band(verdict=verdict, low=min(one, other), high=max(one, other))


def of_epsilon(event: Event, at: float, adjacency: Adjacency) -> tuple[Band, ...]:
    """For which epsilon a claim at this delta would be true, and for which it would be refuted."""
    found = _upper(event, at, adjacency)
    proven = found.epsilon if _certified(found) is not None or found.epsilon == 0.0 else math.inf
    lower = _lower(event, at, adjacency)
    # The audit refutes a claim only if it is exceeded by more than rounding.
    refuted = None if lower is None else min(lower, proven) / (1.0 + 2e-6)
    return _of_number(proven, refuted, most=math.inf)


def of_delta(event: Event, claimed: float, adjacency: Adjacency) -> tuple[Band, ...]:
    """For which delta a claimed epsilon would be true, and for which it would be refuted."""

    def settled(
        start: float, direction: float, *, holds: Callable[[RegionQuestion], bool]
    ) -> float:
        for move in _MOVES:
            value = start * (1.0 + direction * move)
            if not 0.0 < value < 1.0:
                break
            if holds(RegionQuestion(claimed=claimed, delta=value, adjacency=adjacency)):
                return value
        return math.nan

    start = delta(event, epsilon=claimed, adjacency=adjacency).delta
    true = settled(max(start, _LEAST), 1.0, holds=lambda one: one.excess(event) <= 0.0)
    try:
        attained = lower_bound(event, epsilon=claimed, adjacency=adjacency)[0].delta
    except NoLossDistributionError:
        attained = 0.0
    refuted = settled(attained, -1.0, holds=lambda one: one.shown(event) > 0.0)
    return _of_number(
        1.0 if math.isnan(true) else true, None if math.isnan(refuted) else refuted, most=1.0
    )


def _of_number(true: float, refuted: float | None, *, most: float) -> tuple[Band, ...]:
    """Numbers below what is attained are refuted, and those from the upper bound on are true."""
    found = []
    begin = 0.0
    if refuted is not None and refuted > 0.0:
        begin = refuted
        found.append(Band(verdict=RegionVerdict.REFUTED, low=0.0, high=begin))
    if true > begin:
        found.append(Band(verdict=RegionVerdict.OPEN, low=begin, high=true))
    if true < most:
        found.append(Band(verdict=RegionVerdict.TRUE, low=true, high=most))
    return joined(found)
