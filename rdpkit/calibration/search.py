"""The search itself: by Renyi divergences, or by privacy loss distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rdpkit.accountants import loss_distributions, renyi
from rdpkit.calibration.bracket import Bracket
from rdpkit.calibration.outcome import Calibration, NoEffectError, UnreachableTargetError
from rdpkit.calibration.scores import Requirement, Score, Scorer
from rdpkit.calibration.search_variable import SearchVariable
from rdpkit.events.free_parameters import LARGEST, SMALLEST, Direction
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.formats.text import rounded_up
from rdpkit.guarantee import Guarantee

# The score aimed at is this far below 0: curves that are found by minimisation have errors of
# 1e-11, and the epsilon of the calibrated event, computed afresh, must not exceed the target.
_MARGIN = 1e-9
# By how much a value is moved towards privacy, relative to it, until its certificate holds.
_NUDGES = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
_POLISHING = 4  # Secant steps
# Scores on both sides of 0 that differ by no more than this may be equal up to their errors.
_EQUAL_SCORES = 1e-3
_NEAR_BY, _FAR_AWAY = (0.5, 2.0), 2.0**20  # Where the bound is compared with itself
_RESTARTS = 6  # Where other orders meet the target
# The bracket is narrowed to this part of the tolerance. Its end that misses may then be moved
# outwards, by this part of the tolerance in each of so many steps.
_TIGHTER, _BEYOND, _STEPS_BEYOND = 0.5, 0.2, 2
_SCORE_ERROR = 2e-7
# Subset sizes that are tried to say how far the target is out of reach.
_SAMPLED = 33


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is searched for."""

    variable: SearchVariable  # The parameters
    requirement: Requirement  # The epsilon to stay below, and the bound
    tolerance: float  # For numbers, the largest ratio minus 1 of the two ends of the bracket
    smallest: bool
    """Where privacy has no fixed direction, whether the smallest value is wanted or the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A value that meets the target at an order, and one beside it that does not."""

    meets: float
    score: Score
    misses: float | None
    missed_by: float = math.inf


def by_divergences(search: Search) -> Calibration:
    """The last value that meets the target by Renyi divergences, certified.

    Raises CalibrationError if there is none, or the bound does not depend on the parameter. Raises
    ArithmeticError if no certificate confirms what the search proposes.
    """
    variable = search.variable
    scorer = Scorer(search.requirement)
    notes: list[str] = []
    if variable.private == 0:
        found = _subset_size(search, scorer, notes)
    else:
        found = _bracketed(search, scorer, notes)
        if not variable.whole:
            found = _polished(search, scorer, found)
    t, guarantee = _certified(search, scorer, found)
    if search.requirement.published is not None:
        notes.append(
            f"{guarantee.bound} is a published bound: the target is met as its paper counts"
        )
    return Calibration(
        event=variable.at(t),
        values=variable.values(t),
        guarantee=guarantee,
        target_epsilon=search.requirement.epsilon,
        misses=None if found.misses is None else variable.values(found.misses),
        evaluations=scorer.evaluations,
        notes=tuple(notes),
    )


def _search_bracket(search: Search, score: Callable[[float], float], start: float) -> Bracket:
    towards: Direction = 1 if search.smallest else -1
    return search.variable.bracket(score, tolerance=search.tolerance, start=start, towards=towards)


def _bracketed(search: Search, scorer: Scorer, notes: list[str]) -> _Found:
    """The bracket, confirmed at its open end with all orders and theorems."""
    variable = search.variable
    start = variable.start
    scores: dict[float, Score] = {}

    def score(t: float) -> float:
        scores[t] = scorer.score(variable.at(t))
        return scores[t].guess

    tight = replace(search, tolerance=_TIGHTER * search.tolerance)
    for _ in range(_RESTARTS):
        found = _search_bracket(tight, score, start)
        if not _depends(search, scorer, scores):
            raise _no_effect(search, scores)
        if found.meets is None:
            raise _unreachable(
                search, variable.highest if variable.private > 0 else variable.lowest
            )
        meets = _Found(meets=found.meets, score=scores[found.meets], misses=None)
        if found.misses is None:
            notes.append(_at_the_end(variable, found.meets))
            return meets
        misses = _surely(search, score, scores, found.misses)
        if not scorer.better_elsewhere(variable.at(misses)):
            return replace(meets, misses=misses, missed_by=scores[misses].guess)
        # Other orders meet the target, or the scores are too rough: search again from there.
        start = misses
        scorer.refine()
    notes.append(
        "the bound is so rough a function of the order that less private values may meet the "
        "target as well"
    )
    return meets


def _at_the_end(variable: SearchVariable, t: float) -> str:
    return f"the end of the range, {_shown(variable.values(t))}, meets the target"


def _surely(
    search: Search, score: Callable[[float], float], scores: Mapping[float, Score], misses: float
) -> float:
    """A value within the tolerance that misses by more than the error of scores."""
    variable = search.variable
    if variable.whole:
        return misses
    for _ in range(_STEPS_BEYOND):
        if scores[misses].guess > _SCORE_ERROR:
            break
        beyond = misses * (1.0 - variable.private * _BEYOND * search.tolerance)
        if not variable.lowest <= beyond <= variable.highest or score(beyond) <= 0.0:
            break
        misses = beyond
    return misses


def _depends(search: Search, scorer: Scorer, scores: dict[float, Score]) -> bool:
    """Whether the bound depends on the variable at all.

    Scores far from 0 are rough, so that they differ without a reason; at one order they do not.
    """
    variable = search.variable
    known = [(t, found.order) for t, found in scores.items() if found.order is not None]
    if variable.lowest == variable.highest or not known:
        return True
    guesses = [found.guess for found in scores.values()]
    if min(guesses) <= 0.0 < max(guesses) and max(guesses) - min(guesses) > _EQUAL_SCORES:
        return True
    t, order = known[0]
    # A bound that does not depend on the variable is the same to the last bit everywhere.
    factors = (*_NEAR_BY, _FAR_AWAY**variable.private)
    places = {min(max(t * factor, variable.lowest), variable.highest) for factor in factors}
    whole = {float(round(place)) for place in places} if variable.whole else places
    here = scorer.at_order(variable.at(t), order)
    return math.isinf(here) or any(
        scorer.at_order(variable.at(place), order) != here for place in whole
    )


def _polished(search: Search, scorer: Scorer, found: _Found) -> _Found:
    """The end that meets the target, moved to where its best order only just meets it."""
    variable, order = search.variable, found.score.order
    if order is None or found.misses is None or not math.isfinite(found.missed_by):
        return found
    # Between the two ends the score is nearly linear in the logarithm of the value.
    good, bad = math.log(found.meets), math.log(found.misses)
    at_good, at_bad = found.score.value, found.missed_by
    best = found.meets
    for _ in range(_POLISHING):
        if not (at_good <= 0.0 < at_bad) or -2.0 * _MARGIN <= at_good <= -0.5 * _MARGIN:
            break
        u = good + (bad - good) * (at_good + _MARGIN) / (at_good - at_bad)
        t = math.exp(u)
        value = scorer.at_order(variable.at(t), order)
        if value <= 0.0:
            good, at_good, best = u, value, t
        else:
            bad, at_bad = u, value
    return replace(found, meets=best)


def _certified(search: Search, scorer: Scorer, found: _Found) -> tuple[float, Guarantee]:
    """The value, moved towards privacy until its certificate holds, and the certificate."""
    variable, requirement = search.variable, search.requirement
    for count, nudge in enumerate(_NUDGES):
        t = _nudged(search, found.meets, count, nudge)
        event = variable.at(t)
        order = found.score.order if count == 0 or not variable.whole else scorer.score(event).order
        if order is None:
            continue
        guarantee = renyi.certified_at(
            requirement.bound_on(event), order, requirement.target, requirement.options.order_limits
        )
        if guarantee.epsilon <= requirement.epsilon:
            return t, guarantee
    raise ArithmeticError(
        f"No certificate confirms epsilon {requirement.epsilon!r} at "
        f"{_shown(variable.values(found.meets))}, which floats give."
    )


def _nudged(search: Search, t: float, count: int, nudge: float) -> float:
    """A little more private: the next integers, or a number that is larger or smaller."""
    variable = search.variable
    private = variable.private or (1 if search.smallest else -1)
    moved = t + private * count if variable.whole else t * (1.0 + private * nudge)
    return min(max(moved, variable.lowest), variable.highest)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan of subset sizes found."""

    meets: int | None  # The first t, from the preferred end, that meets the target
    misses: int | None  # Its neighbour on the preferred side; None if there is none in the range


def first_that_meets(
    # Maps l and h to a lower bound on the scores of all t in [l, h]; for l = h to the score of l.
    score: Callable[[int, int], float],
    *,
    # The ends of the range, at least 1.
    lowest: int,
    highest: int,
    smallest: bool,  # Which end is preferred
) -> Scan:
    """The smallest or the largest t in [lowest, highest] that meets the target.

    Every other t on the preferred side is ruled out: alone, or by an interval that holds it.

    A mean over t of n records with noise s has the sampling probability t/n and the noise
    multiplier s t / D: both grow with t, and what they do to the divergence nearly cancels. Every
    theorem rises with the probability and falls with the multiplier. So a release with the
    probability at l and the multiplier at h has at most the divergence of any t in [l, h]; if even
    that misses the target, all t of the interval do. Intervals that are not ruled out are halved,
    down to single numbers.
    """
    pending = [(lowest, highest)]
    while pending:
        low, high = pending.pop()
        if score(low, high) > 0.0:
            continue
        if low == high:
            beside = low - 1 if smallest else low + 1
            return Scan(meets=low, misses=beside if lowest <= beside <= highest else None)
        middle = min(max(math.isqrt(low * high), low), high - 1)
        halves = [(low, middle), (middle + 1, high)]
        pending.extend(reversed(halves) if smallest else halves)
    return Scan(meets=None, misses=None)


def _subset_size(search: Search, scorer: Scorer, notes: list[str]) -> _Found:
    """The first subset size, from the preferred end, that meets the target."""
    variable = search.variable
    scores: dict[int, Score] = {}

    def score(low: int, high: int) -> float:
        event = variable.at(low) if low == high else variable.least_within(low, high)
        surely = scorer.misses_surely(event)
        if surely > 0.0:
            return surely
        scores[low] = scorer.score_everywhere(event)
        return scores[low].guess

    found = first_that_meets(
        score, lowest=int(variable.lowest), highest=int(variable.highest), smallest=search.smallest
    )
    if found.meets is None:
        raise _no_subset_size(search, scorer)
    side = "smaller" if search.smallest else "larger"
    if found.misses is None:
        notes.append(_at_the_end(variable, found.meets))
    else:
        notes.append(f"every {side} value was checked and misses the target")
    return _Found(meets=found.meets, score=scores[found.meets], misses=found.misses)


def _no_subset_size(search: Search, scorer: Scorer) -> UnreachableTargetError:
    variable, requirement = search.variable, search.requirement
    tried = np.round(np.geomspace(variable.lowest, variable.highest, _SAMPLED))
    tried = np.unique(np.append(tried, max(variable.highest - 1, variable.lowest)))
    scores = {int(t): scorer.misses_surely(variable.at(int(t))) for t in tried}
    best = min(scores, key=lambda t: scores[t])
    limit = _epsilon(search, best)
    return UnreachableTargetError(
        f"target_epsilon {requirement.epsilon:g} cannot be reached by {variable.names}: every "
        f"value from {int(variable.lowest)} to {int(variable.highest)} was checked and misses it; "
        f"epsilon is {rounded_up(limit)} at {best}, about the least. It takes more noise, fewer "
        "releases or more records.",
        limit=limit,
    )


def _unreachable(search: Search, t: float) -> UnreachableTargetError:
    variable, requirement = search.variable, search.requirement
    limit = _epsilon(search, t)
    verb, extreme = ("raising", "large") if variable.private > 0 else ("lowering", "small")
    begin = f"target_epsilon {requirement.epsilon:g} cannot be reached by {verb} {variable.names}: "
    if math.isinf(limit):
        assumed = variable.at(t).assumptions()
        because = f" It assumes: {'; '.join(assumed)}." if assumed else ""
        return UnreachableTargetError(
            f"{begin}the bound is infinite however {extreme} it is.{because}", limit=limit
        )
    if t in (SMALLEST, LARGEST):
        where = f"however {extreme} it is, epsilon stays at {rounded_up(limit)} or more"
    else:
        end = _shown(variable.values(t))
        where = f"epsilon is still {rounded_up(limit)} at {end}, the end of its range"
    return UnreachableTargetError(
        f"{begin}{where}; the rest is due to the other parameters, or to the conversion.",
        limit=limit,
    )


def _no_effect(search: Search, tried: Iterable[float]) -> NoEffectError:
    variable, epsilon = search.variable, search.requirement.epsilon
    ends = min(tried), max(tried)
    limit = _epsilon(search, ends[0])
    verdict = "meets" if limit <= epsilon else "misses"
    where = " and ".join(dict.fromkeys(_shown(variable.values(t)) for t in ends))
    return NoEffectError(
        f"The bound does not depend on {variable.names}: epsilon is {rounded_up(limit)} whatever "
        f"it is, which {verdict} target_epsilon {epsilon:g} (tried: {where}).",
        limit=limit,
    )


def _epsilon(search: Search, t: float) -> float:
    """The bound's epsilon at a value, for an error message."""
    requirement, event = search.requirement, search.variable.at(t)
    target, options = requirement.target, requirement.options
    if requirement.published is not None:
        return renyi.published(event, requirement.published, target, options).epsilon
    return renyi.upper(event, target, options, theorem=requirement.theorem).epsilon


def _shown(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{path} = {f'{value:.6g}' if isinstance(value, float) else value}"
        for path, value in values.items()
    )


def by_distributions(
    search: Search,  # What is searched for by divergences first, to know where to begin
    tolerance: float,  # Takes the place of that of ``search``
    *,
    # Whether a bound from Renyi divergences will do where it is smaller or there is no
    # distribution.
    also_divergences: bool,
) -> Calibration:
    """The last value that meets the target by privacy loss distributions.

    Raises CalibrationError if there is none, or the bound does not depend on the parameter.
    """
    variable, requirement = search.variable, search.requirement
    known: Calibration | None = None
    failed: ValueError | None = None
    try:
        known = None if requirement.target.delta == 0.0 else by_divergences(search)
    except (NoEffectError, UnreachableTargetError) as error:
        failed = error
    start = variable.start if known is None else _position(variable, known)
    distributions = _Distributions(variable, requirement)
    found = _search_bracket(replace(search, tolerance=tolerance), distributions.score, start)
    answers, reasons = distributions.answers, distributions.reasons
    evaluations = distributions.evaluations + (0 if known is None else known.evaluations)
    if found.meets is None:
        if also_divergences and known is not None:
            note = (f"no privacy loss distribution: {reasons[0]}",) if reasons else ()
            return replace(known, evaluations=evaluations, notes=(*known.notes, *note))
        if also_divergences and failed is not None and not answers:
            raise failed
        raise _out_of_reach(search, answers, reasons)
    if found.constant and variable.lowest < variable.highest:
        raise _no_effect(search, answers)
    notes = []
    if variable.private == 0:
        side = "smaller" if search.smallest else "larger"
        notes.append(f"{side} values than the one that misses were not tried")
    if found.misses is None:
        notes.append(_at_the_end(variable, found.meets))
    return Calibration(
        event=variable.at(found.meets),
        values=variable.values(found.meets),
        guarantee=answers[found.meets],
        target_epsilon=requirement.epsilon,
        misses=None if found.misses is None else variable.values(found.misses),
        evaluations=evaluations,
        notes=tuple(notes),
    )


class _Distributions:
    """Guarantees from privacy loss distributions, remembered by value."""

    def __init__(self, variable: SearchVariable, requirement: Requirement) -> None:
        self._variable = variable
        self._requirement = requirement
        self.answers: dict[float, Guarantee] = {}
        self.reasons: list[str] = []
        self.evaluations = 0

    def score(self, t: float) -> float:
        """The logarithm of epsilon over the target, remembering the guarantee."""
        self.evaluations += 1
        try:
            found, _ = loss_distributions.upper(self._variable.at(t), self._requirement.target)
        except NoLossDistributionError as error:
            self.reasons.append(str(error))
            return math.inf
        self.answers[t] = found
        if found.epsilon <= 0.0:
            return -math.inf
        return math.log(found.epsilon / self._requirement.epsilon)


def _position(variable: SearchVariable, known: Calibration) -> float:
    """Where the variable stands at a calibration's values."""
    for one in variable.moved:
        largest = max(one.weights)
        if largest == 1:
            value = known.values[one.path]
            return float(max(value) if isinstance(value, tuple) else value)
    return variable.start


def _out_of_reach(
    search: Search, answers: dict[float, Guarantee], reasons: list[str]
) -> UnreachableTargetError:
    variable, requirement = search.variable, search.requirement
    begin = f"target_epsilon {requirement.epsilon:g} cannot be reached by {variable.names}: "
    if not answers:
        return UnreachableTargetError(
            f"{begin}there is no privacy loss distribution at any value. {reasons[0]}",
            limit=math.inf,
        )
    best = min(answers, key=lambda t: answers[t].epsilon)
    limit = answers[best].epsilon
    if requirement.target.delta == 0.0 and math.isinf(limit):
        reasons = ["No epsilon is known to hold with delta = 0."]
    reason = f" {reasons[-1]}" if reasons else ""
    where = _shown(variable.values(best))
    return UnreachableTargetError(
        f"{begin}the smallest epsilon found is {rounded_up(limit)}, at {where}.{reason}",
        limit=limit,
    )
