r"""Guarantees from privacy loss distributions: the tight upper bound, and the attained lower one.

An event is the list of all that one changed record may amount to
(:func:`rdpkit.accountants.losses.steps.alternatives`), and the number is the largest over the list.
Each entry, a composition of releases, is answered by the first of these that can:

* nothing released: 0;
* one release, or Gaussians alone, which are one: the curve itself
  (:mod:`rdpkit.accountants.losses.closed`);
* anything else: a grid (:mod:`rdpkit.accountants.losses.above`,
  :mod:`rdpkit.accountants.losses.below`), chosen in floats
  (:mod:`rdpkit.accountants.losses.layout`) and evaluated in balls and in doubles with a proven
  error.

Losses that are bounded, those of pure differential privacy, add up: epsilon is never more than
their sum, and delta = 0 has that answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import Any, cast

from flint import arb, ctx

from rdpkit.accountants.losses import closed
from rdpkit.accountants.losses.above import Above, from_above
from rdpkit.accountants.losses.below import Below
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.kinds.outcomes import has_few_sums
from rdpkit.accountants.losses.layout import ACCURACY, Layout, arrange
from rdpkit.accountants.losses.steps import (
    Alternative,
    AnyStep,
    AttainedReleases,
    DominatingReleases,
    FiniteSum,
    R,
    Releases,
    alternatives,
    attained_alternatives,
    of_a_pair,
)
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.events import Event
from rdpkit.events.losses import NoLossDistributionError, Step
from rdpkit.events.pairs import StatedPair
from rdpkit.guarantee import Enclosure, Guarantee, Target
from rdpkit.numerics.balls import float_above, float_below

UPPER_ID = "pld-upper"
LOWER_ID = "pair-lower"

SOURCES = {
    UPPER_ID: "privacy loss distribution by connecting the dots: Doroshenko et al. 2022",
    LOWER_ID: "a test between two data sets, by the sum of labels: rdpkit, theory pages",
}
"""What the two bounds rest on, by their ids."""

# The accuracy of numbers that only choose between alternatives, or close an enclosure.
_ROUGH = 20.0 * ACCURACY
_ROUNDS = 3
# A result below this part of the first guess is computed again, with the tilt for that result.
_CLOSE = 0.8
# An enclosure wider than this many times the accuracy asked for is computed again on a better grid.
_WIDE = 5.0
# What a largest loss may be above what is attained if its parameters are rounded, relative to it.
_ROUNDED = 1e-14
# The same for delta, relative to it; and how much coarser a grid for a first estimate is.
_WIDE_FOR_DELTA, _COARSER = 0.05, 25.0
# Rounds for delta, and the part of delta that losses counted as infinite may contribute.
_MANY_ROUNDS, _RARE = 8, 1e-3
# Deltas below this are not refined any more.
_LEAST_DELTA = 1e-100
# For many deltas: the accuracy of what they share, over that of one; how far apart the ends of an
# enclosure may be; after how many misses the next distribution is computed; and the most of them.
_SHARED, _SHARP, _MISSES, _MOST_SHARED = 0.5, 3e-4, 2, 12
# A lower bound below this part of a coarse upper bound is computed again.
_FAR = 0.985
# Deltas whose tilts are tried where a lower bound on delta is far below the upper one.
_OTHER_DELTAS = (1e-2, 1e-1, 1e-4, 1e-6, 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossBound:
    """A proven number from a privacy loss distribution."""

    value: float  # Epsilon or delta: the safe end
    other_end: float
    """The other end of an enclosure of the number that was computed: of epsilon or delta of the
    distributions on the grid, which dominate the releases (or are dominated by them).
    """
    step: float = 0.0  # Grid step of the losses; 0 where there is no grid
    exact: bool = False  # Whether the value is that of the releases themselves, up to rounding
    fine: bool = False  # Whether it is so up to about the accuracy that a grid is chosen for


# The infinite masses of so many releases are added up in fractions, where balls do not decide.
_FEW_EXACT = 1000

_NOTHING = LossBound(value=0.0, other_end=0.0, exact=True)


# A pair that attains this share of what any of them could is not compared with others.
_NEARLY = 0.9
# Pairs that are computed accurately, unless a rough bound is infinite.
_MOST_PAIRS = 3
# What was computed, by what was asked.
_REMEMBERED: ContextVar[dict[Any, LossBound] | None] = ContextVar("remembered", default=None)


def upper(event: Event, target: Target) -> tuple[Guarantee, bool]:
    """The largest number over all that a changed record may amount to, and whether it is attained.

    It is where data sets attain the releases and their number was computed up to rounding, or on a
    grid that is as fine as it was to be. Since every sound bound is at least what is attained, none
    is then smaller by more than that. Raises NoLossDistributionError if no privacy loss
    distribution is known for a part of the event, or one takes more work than the limits in force.
    """
    candidates = list(directions(alternatives(event, target.adjacency)))
    worst = _above(candidates[0], target) if len(candidates) == 1 else _worst(candidates, target)
    computed = Enclosure(lower=worst.other_end, upper=worst.value)
    attained = (worst.exact or worst.fine) and _are_attained(candidates, event, target)
    return _guarantee(event, target, worst, Kind.UPPER, computed), attained


def _are_attained(candidates: Sequence[DominatingReleases], event: Event, target: Target) -> bool:
    """Whether data sets attain everything that bounds the event."""
    try:
        known = directions(attained_alternatives(event, target.adjacency))
    except NoLossDistributionError:
        return False
    return set(candidates) <= set(map(of_a_pair, known))


def deltas(
    event: Event,  # What was released
    adjacency: Adjacency,  # The neighbouring relation
    epsilons: Sequence[float],  # In nats, >= 0
) -> list[Guarantee | None]:
    """Upper bounds on delta at many epsilons, from a few distributions that they share.

    None where a distribution of its own would be more accurate, and where other bounds could be
    smaller. Which distributions are computed depends on the arguments alone.
    """
    found: list[LossBound | None] = [None] * len(epsilons)
    unknown: list[Guarantee | None] = [None] * len(epsilons)
    left = set(range(len(epsilons)))
    try:
        candidates = list(directions(alternatives(event, adjacency)))
        if not all(step.is_a_pair for releases in candidates for step, _ in releases):
            return unknown
        for releases in candidates:
            left &= _shared(releases, epsilons, left, found)
    except NoLossDistributionError:
        return unknown
    for place in left:
        worst = found[place]
        assert worst is not None
        computed = Enclosure(lower=worst.other_end, upper=worst.value)
        target = Target(adjacency=adjacency, epsilon=epsilons[place])
        unknown[place] = _guarantee(event, target, worst, Kind.UPPER, computed)
    return unknown


def _shared(
    releases: DominatingReleases,
    epsilons: Sequence[float],
    wanted: set[int],
    found: list[LossBound | None],
) -> set[int]:
    """Put deltas of a composition that exceed what was found before in its place.

    A distribution that is fine enough for one epsilon is fine enough for smaller ones, at which
    delta falls more slowly, as long as its cells are and doubles resolve delta there. Returns the
    places where delta is as accurate as a single one, or no more than was found before.
    """
    releases, only = merged(releases)
    if not releases or only is not None:
        return set()
    largest, done = largest_loss(releases), set()
    left = sorted(wanted, key=epsilons.__getitem__, reverse=True)
    left = [place for place in left if epsilons[place] < largest]
    for _ in range(_MOST_SHARED):
        known = _sharp_at(releases, epsilons[left[0]]) if left else None
        if known is None:
            break
        missed, later = 0, left[1:]
        for place in left:
            value, sharp = _delta_at(*known, epsilons[place])
            before = found[place]
            if sharp and (before is None or value.value > before.value):
                found[place] = value
            if sharp or (before is not None and value.value <= before.value):
                done.add(place)
                continue
            missed += 1
            if missed > _MISSES:
                break
        left = [place for place in later if place not in done]
    return done


def _sharp_at(releases: DominatingReleases, epsilon: float) -> tuple[Layout, Above] | None:
    """A distribution along a line for a delta at an epsilon; None where there is none."""
    expected: float | None = None
    for _ in range(_ROUNDS):
        layout = arrange(releases, delta=expected, epsilon=epsilon, accuracy=_SHARED * ACCURACY)
        if layout.line is None:
            return None
        above = from_above(layout)
        value = min(_up(above.delta_at(epsilon)[1]), 1.0)
        if above.infinite <= _RARE * value or value <= _LEAST_DELTA:
            break
        # Losses that were left out as too rare make up much of delta: the guess was too large.
        expected = max(value * 1e-12, _LEAST_DELTA)
    return layout, above


def _delta_at(layout: Layout, above: Above, epsilon: float) -> tuple[LossBound, bool]:
    """Delta at another epsilon than that of the layout, and whether it is about as good there."""
    low, high = above.delta_at(epsilon)
    value = min(_up(high), 1.0)
    found = LossBound(value=value, other_end=_down(low), step=layout.grid.step)
    sharp = (
        value > _LEAST_DELTA
        and above.infinite <= _RARE * value
        and found.other_end >= (1.0 - _SHARP) * value
        and layout.is_fine_for(epsilon)
    )
    return found, sharp


def _worst(candidates: Sequence[DominatingReleases], target: Target) -> LossBound:
    """The largest upper bound: rough ones are computed first, and those that may be it are refined.

    Every candidate is either computed accurately, or has an upper bound, a rough one or the sum of
    its largest losses, that is at most what is returned.
    """
    # The sum of all largest losses bounds epsilon, but only where losses that are infinite are no
    # more probable than delta.
    limits = [
        math.inf
        if target.delta is None or not _infinite_at_most(one, target.delta)
        else largest_loss(one)
        for one in candidates
    ]
    rough: list[tuple[float, int]] = []
    for index in sorted(range(len(candidates)), key=limits.__getitem__, reverse=True):
        value = limits[index]
        if not rough or value > min(rough)[0]:
            value = _above(candidates[index], target, _ROUGH).value
        rough.append((value, index))
    worst: LossBound | None = None
    for value, index in sorted(rough, key=itemgetter(0), reverse=True):
        if worst is not None and value <= worst.value:
            break
        found = _above(candidates[index], target)
        worst = found if worst is None or found.value > worst.value else worst
    assert worst is not None
    return worst


def lower(event: Event, target: Target) -> tuple[Guarantee, Alternative[AttainedReleases]]:
    """The largest number that an explicit pair of data sets attains, and which pair that is.

    Rough bounds say in which order the pairs are computed accurately; once one attains nearly what
    any of them could, the others are left out. The enclosure is that of all pairs that were found.
    Raises NoLossDistributionError if no pair is known for a part of the event, or it takes more
    work than the limits in force.
    """
    candidates = list(directions(attained_alternatives(event, target.adjacency)).values())
    ranked = sorted(
        ((roughly(one.releases, target), one) for one in candidates),
        key=itemgetter(0),
        reverse=True,
    )
    most = ranked[0][0]
    # A rough bound that failed says nothing about how much a pair leaks.
    above = most if ranked[-1][0] >= 0.0 else math.inf
    best: tuple[LossBound, Alternative[AttainedReleases]] | None = None
    failed: NoLossDistributionError | None = None
    for place, (rough, one) in enumerate(ranked):
        if best is not None and (
            best[0].value >= _NEARLY * most
            or 0.0 <= rough <= best[0].value
            or (place >= _MOST_PAIRS and math.isfinite(most))
        ):
            break
        try:
            found = _once(epsilon_below, delta_below, one.releases, target, rough=rough)
        except NoLossDistributionError as error:
            failed = error
            continue
        if 0.0 <= rough < found.value:
            raise ArithmeticError(
                f"A pair of data sets would attain at least {found.value!r} and at most {rough!r}: "
                "one of the two is false. Please report this."
            )
        if best is None or found.value > best[0].value:
            best = found, one
    if best is None:
        assert failed is not None
        raise failed
    if math.isinf(above) and target.epsilon is not None:
        above = 1.0
    computed = Enclosure(lower=best[0].value, upper=above)
    return _guarantee(event, target, best[0], Kind.LOWER, computed), best[1]


def directions(found: tuple[Alternative[R], ...]) -> dict[R, Alternative[R]]:
    """Every alternative in both orders of the two data sets, each once, by its releases."""
    both: dict[R, Alternative[R]] = {}
    for alternative in found:
        both.setdefault(alternative.releases, alternative)
    for alternative in found:
        other = alternative.reversed()
        both.setdefault(other.releases, other)
    return both


@contextmanager
def remembered() -> Iterator[None]:
    """Compute nothing twice for a while: upper and lower bounds ask for the same distributions."""
    known = _REMEMBERED.get()
    token = _REMEMBERED.set({} if known is None else known)
    try:
        yield
    finally:
        _REMEMBERED.reset(token)


def _above(releases: DominatingReleases, target: Target, accuracy: float = ACCURACY) -> LossBound:
    return _once(epsilon_above, delta_above, releases, target, accuracy=accuracy)


def _once(
    epsilon: Callable[..., LossBound],  # The functions that answer, of which one is asked
    delta: Callable[..., LossBound],
    releases: Releases,
    target: Target,
    **options: float,
) -> LossBound:
    """The answer to a question, computed once where answers are remembered."""
    known = _REMEMBERED.get()
    known = {} if known is None else known
    ask, given = (epsilon, "delta") if target.epsilon is None else (delta, "epsilon")
    options[given] = getattr(target, given)
    asked = (ask, releases, *options.items())
    if asked not in known:
        known[asked] = ask(releases, **options)
    return known[asked]


def roughly(releases: AttainedReleases, target: Target) -> float:
    """A rough upper bound on what a pair attains, or -1 where there is none."""
    return _rough(_above, releases, target=target, accuracy=_ROUGH)


def _rough(ask: Callable[..., LossBound], releases: AttainedReleases, **options: Any) -> float:
    try:
        return ask(of_a_pair(releases), **options).value
    except NoLossDistributionError:
        return -1.0


def _guarantee(
    event: Event, target: Target, found: LossBound, kind: Kind, computed: Enclosure
) -> Guarantee:
    how = f"privacy loss distribution with grid step {found.step:.2g}"
    return target.answer(
        found.value,
        bound=UPPER_ID if kind is Kind.UPPER else LOWER_ID,
        kind=kind,
        computed=computed,
        assumptions=event.assumptions(),
        notes=(how if found.step else "privacy loss distribution in closed form",),
    )


def epsilon_above(
    # Steps and counts, from :func:`rdpkit.accountants.losses.steps.alternatives`.
    releases: DominatingReleases,
    *,
    delta: float,  # In [0, 1)
    accuracy: float = ACCURACY,  # About how far discretisation may move the result, relative to it
) -> LossBound:
    """Upper bound on epsilon at ``delta``; infinity where there is none.

    Raises NoLossDistributionError if a grid would take more work than the limits in force, or more
    than doubles resolve.
    """
    given = releases
    told = [one for one in given if isinstance(one[0], StatedPair) and one[0].epsilon == 0.0]
    rest = DominatingReleases(tuple([one for one in given if one not in told]))
    lost = infinite_mass(tuple(told)) if told else arb(0)
    if rest and lost > 0:
        # Some tell everything or nothing: with probability ``lost`` all is told, and otherwise the
        # rest has the delta that it has, so that it is lost + (1 - lost) delta at epsilons >= 0.
        with ctx.workprec(256):
            left = float_below((arb(delta) - lost) / (1 - lost))
        if left > 0.0:
            return epsilon_above(rest, delta=left, accuracy=accuracy)
    releases, only = merged(given)
    if not releases:
        return _NOTHING
    if isinstance(only, Step) and only.is_gaussian and delta > 0.0:
        value = closed.epsilon(only, delta, above=True)
        return LossBound(value=value, other_end=_just_below(value), exact=True)
    pure, infinite = largest_loss(releases), infinite_mass(releases)
    if delta == 0.0 or not _infinite_at_most(given, delta):
        finite = pure if delta == 0.0 and infinite == 0 else math.inf
        below = _below_largest(releases, finite)
        return LossBound(value=finite, other_end=below, exact=below > 0.0)
    if pure == 0.0:
        return _NOTHING
    if only is not None:
        value = closed.epsilon(only, delta, above=True)
        value = min(value, pure)
        return LossBound(value=value, other_end=_just_below(value), exact=True)
    found = _epsilon_on_grids(releases, delta, accuracy, pure)
    if pure <= found.value:
        return LossBound(value=pure, other_end=min(found.other_end, pure), step=found.step)
    return found


def _epsilon_on_grids(
    releases: DominatingReleases, delta: float, accuracy: float, pure: float
) -> LossBound:
    """The best of a few grids, each better centred than the one before."""
    around: float | None = None
    best = LossBound(value=math.inf, other_end=0.0)
    best_layout: Layout | None = None
    gentle = False
    failure: NoLossDistributionError | None = None
    for _ in range(_ROUNDS):
        try:
            layout = arrange(releases, delta=delta, epsilon=None, around=around, accuracy=accuracy)
            above = from_above(layout)
            low, high = above.epsilon_at(delta)
        except NoLossDistributionError as error:
            failure = error
            break
        if high < best.value:
            best = LossBound(value=high, other_end=low, step=layout.grid.step)
            best_layout, gentle = layout, _is_gentle(above, high, delta)
        guess = layout.saddle.epsilon
        close = high >= _CLOSE * guess if around is None else high >= 0.98 * around
        if math.isfinite(high) and close and high - low <= _WIDE * accuracy * high:
            break
        around = best.value if math.isfinite(best.value) else 1.25 * guess
        if around == 0.0:
            break
    wide = _WIDE * accuracy
    if best_layout is not None and best.value - best.other_end > wide * best.value:
        again = partial(
            arrange, releases, delta=delta, epsilon=None, around=best.value, accuracy=accuracy
        )
        for sharper in _sharper(best_layout, again):
            low, high = from_above(sharper).epsilon_at(delta)
            if high < best.value:
                best = LossBound(value=high, other_end=low, step=sharper.grid.step)
            if best.value - best.other_end <= wide * best.value:
                break
    if best_layout is not None and best.value - best.other_end <= wide * best.value:
        guess = best_layout.saddle.epsilon
        near = _CLOSE * guess <= best.value <= guess / _CLOSE
        best = replace(best, fine=near and gentle and best_layout.is_fine)
    if math.isinf(best.value) and math.isinf(pure):
        raise failure or NoLossDistributionError(
            f"Double precision does not resolve delta {delta!r} of this composition."
        )
    return best


def _is_gentle(above: Above, epsilon: float, delta: float) -> bool:
    """Whether delta at 99 % of epsilon is at most e times as large.

    Where it falls faster, a grid may be further from what is attained than its layout estimates,
    and a conversion from divergences, which loses about one over the slope of the logarithm of
    delta, comes near.
    """
    return _up(above.delta_at(0.99 * epsilon)[1]) <= math.e * delta


def delta_above(
    releases: DominatingReleases, *, epsilon: float, accuracy: float = ACCURACY
) -> LossBound:
    """Upper bound on delta at ``epsilon`` >= 0, in nats; see :func:`epsilon_above`."""
    releases, only = merged(releases)
    if not releases:
        return _NOTHING
    infinite = infinite_mass(releases)
    if epsilon >= largest_loss(releases):
        return LossBound(value=_up(infinite), other_end=_down(infinite), exact=True)
    if only is not None:
        value = closed.delta(only, epsilon, above=True)
        return LossBound(value=value, other_end=_just_below(value), exact=True)
    return _delta_on_grids(releases, epsilon, accuracy)


def _delta_on_grids(releases: DominatingReleases, epsilon: float, accuracy: float) -> LossBound:
    """The best of a few grids, each for the delta that the one before found."""
    best = LossBound(value=1.0, other_end=0.0)
    kept = float_above(infinite_mass(releases))
    expected: float | None = None
    for _ in range(_MANY_ROUNDS):
        try:
            layout = arrange(releases, delta=expected, epsilon=epsilon, accuracy=accuracy)
        except NoLossDistributionError:
            if expected is not None:
                break
            # A delta that is at most 1e-100 is returned as 1e-100.
            least = epsilon_above(releases, delta=_LEAST_DELTA, accuracy=accuracy)
            if least.value <= epsilon:
                return LossBound(value=_LEAST_DELTA, other_end=0.0)
            raise
        found = from_above(layout)
        low, high = found.delta_at(epsilon)
        value = min(_up(high), 1.0)
        if value < best.value or expected is None:
            fine = low >= high * (1.0 - _SHARP) and value > _LEAST_DELTA and layout.is_fine
            fine = fine and _is_gentle(found, epsilon, value)
            best = LossBound(value=value, other_end=_down(low), step=layout.grid.step, fine=fine)
        if not _LEAST_DELTA < value < 1.0:
            break
        # If losses that were left out as too rare make up much of delta, the guess was too large.
        rare = found.infinite - kept > _RARE * value
        if not rare and (expected is not None or low >= high * 0.9):
            break
        expected = max(value * 1e-12, _LEAST_DELTA) if rare else value
    return best


def epsilon_below(
    releases: AttainedReleases,
    *,
    delta: float,
    accuracy: float = ACCURACY,
    rough: float | None = None,  # What :func:`roughly` found; it only chooses the tilt
) -> LossBound:
    """Epsilon that the pairs given by ``releases`` exceed at ``delta``: a lower bound."""
    releases, only = merged(releases)
    if not releases:
        return _NOTHING
    if delta == 0.0:
        # Losses are unbounded, except for "added", where they go up to a finite sum.
        value = _largest_sum(releases)
        return LossBound(value=value, other_end=value)
    if only is not None:
        value = closed.epsilon(only, delta, above=False)
        return LossBound(value=value, other_end=_just_above(value))
    if rough is None:
        rough = _rough(epsilon_above, releases, delta=delta, accuracy=_COARSER * accuracy)
    around = rough if 0.0 < rough < math.inf else None
    again = partial(arrange, releases, delta=delta, epsilon=None, around=around, accuracy=accuracy)
    least = _FAR * (around or 0.0)
    wide = _WIDE * accuracy
    best = _from_below(lambda found: found.epsilon_at(delta), again, least=least, wide=wide)
    if around is not None and best.value < least:
        # Close to the largest sum of bounded losses a tilt for a little less loses less.
        lower = partial(again, around=_FAR * around)
        found = _from_below(lambda one: one.epsilon_at(delta), lower, least=0.0, wide=wide)
        best = max(best, found, key=lambda one: one.value)
    return best


def _from_below(
    # The bound, and about what it would be without what is uncertain.
    ask: Callable[[Below], tuple[float, float]],
    again: Callable[..., Layout],  # Makes the layout
    *,
    # A bound below this is too low. The uncertainty does not show what is lost where sums are
    # rounded onto a coarser grid; the distance to a coarse upper bound does.
    least: float,
    wide: float,  # The largest uncertainty that is accepted, relative to the bound
) -> LossBound:
    """A lower bound from a layout, and from sharper ones while it is below what is expected."""
    layout = again()
    value, rough = ask(Below(layout))
    if rough - value > wide * rough or value < least:
        for sharper in _sharper(layout, again):
            found, rough = ask(Below(sharper))
            value = max(value, found)
            if rough - value <= wide * rough and value >= least:
                break
    return LossBound(value=value, other_end=_just_above(value), step=layout.grid.step)


def _sharper(layout: Layout, again: Callable[..., Layout]) -> Iterator[Layout]:
    """Layouts that take more work and have smaller errors, within the limits in force."""
    if layout.in_stages:
        try:
            layout = again(at_once=True)
        except NoLossDistributionError:
            pass
        else:
            yield layout
    more = layout.in_more_digits()
    if more is not None:
        yield more


def delta_below(
    releases: AttainedReleases,
    *,
    epsilon: float,
    accuracy: float = ACCURACY,
    rough: float | None = None,
) -> LossBound:
    """Delta that the pairs given by ``releases`` have at ``epsilon`` >= 0: a lower bound."""
    releases, only = merged(releases)
    if not releases:
        return _NOTHING
    if only is not None:
        value = closed.delta(only, epsilon, above=False)
        return LossBound(value=value, other_end=_just_above(value))
    expected = -1.0 if rough is None else rough
    if expected < 0.0:
        expected = _delta_on_grids(of_a_pair(releases), epsilon, _COARSER * accuracy).value
    if expected <= _LEAST_DELTA:
        return LossBound(value=0.0, other_end=expected)
    hint = expected if 0.0 < expected < 1.0 else None
    again = partial(arrange, releases, delta=hint, epsilon=epsilon, accuracy=accuracy)
    least = 0.5 * expected
    best = _from_below(
        lambda found: found.delta_at(epsilon), again, least=least, wide=_WIDE_FOR_DELTA
    )
    for other in (expected, *_OTHER_DELTAS):
        if best.value >= least:
            break
        # Where losses are rare, a tilt for another question may lose less to rounding.
        try:
            layout = arrange(releases, delta=other, epsilon=None, accuracy=accuracy)
            value = Below(layout).delta_at(epsilon)[0]
        except NoLossDistributionError:
            continue
        if value > best.value:
            best = LossBound(value=value, other_end=_just_above(value), step=layout.grid.step)
    return best


def infinite_mass(releases: Releases) -> arb:
    """Probability of an infinite loss: the delta that remains at every epsilon."""
    if len(releases) == 1 and releases[0][1] == 1:
        step = releases[0][0]
        return kind_of(step).infinite(step)
    with ctx.workprec(128):
        log_finite = arb(0)
        for step, count in releases:
            log_finite += count * (-kind_of(step).infinite(step)).log1p()
        return -log_finite.expm1()


def _infinite_at_most(releases: Releases, delta: float) -> bool:
    """Whether infinite losses are certainly no more probable than delta, which they may equal."""
    ball = infinite_mass(releases)
    if ball <= delta or ball > delta or sum([count for _, count in releases]) > _FEW_EXACT:
        return bool(ball <= delta)
    finite = Fraction(1)
    for step, count in releases:
        of_step = kind_of(step).infinite(step)
        if of_step.rad() != 0:
            return False
        finite *= (1 - Fraction(_exactly(of_step, float_above))) ** count
    return 1 - finite <= Fraction(delta)


def merged(releases: R) -> tuple[R, AnyStep | None]:
    """All Gaussian pairs as one, and the step if only one is left, taken once.

    Releases with a handful of outcomes each are one step, too, if all their sums can be listed.

    The squared distances of Gaussian pairs over the noise add up, exactly.
    """
    distances: list[float] = []
    rest: list[tuple[AnyStep, int]] = []
    several = 0
    for step, count in releases:
        if isinstance(step, Step) and step.is_gaussian:
            distances.append(math.sqrt(count) * ((1.0 - step.other) / step.noise_multiplier))
            several += count
        else:
            rest.append((step, count))
    if several > 1:
        # No square is taken, which might be too large for a float, or too small.
        total = math.hypot(*distances)
        if not 0.0 < total < math.inf or math.isinf(1.0 / total):
            raise NoLossDistributionError("The noise is too small, or too large, for floats.")
        z = 1.0 / total
        gaussian = Step(kind="replaced", noise_multiplier=z, sampling_probability=1.0)
        releases = cast(R, (*rest, (gaussian, 1)))
    if len(releases) == 1 and releases[0][1] == 1:
        return releases, releases[0][0]
    if releases and has_few_sums(releases):
        together = FiniteSum(releases=releases)
        return cast(R, ((together, 1),)), together
    return releases, None


def largest_loss(releases: Releases) -> float:
    """The sum of the largest finite losses, rounded up; infinite where one has none."""
    total = Fraction(0)
    for step, count in releases:
        with ctx.workprec(128):
            largest = kind_of(step).largest(step, True)
            if largest is None or not largest.is_finite():
                return math.inf
            total += count * Fraction(_exactly(largest, float_above))
    if total > Fraction(1e300):
        return math.inf
    found = float(total)
    return found if Fraction(found) >= total else math.nextafter(found, math.inf)


def _below_largest(releases: Releases, largest: float) -> float:
    """The other end of an enclosure of the largest loss.

    Where what is attained is so near that rounding alone can be between them, it is that end.
    """
    if not math.isfinite(largest):
        return largest
    attained = _largest_sum(releases)
    return min(attained, largest) if largest - attained <= _ROUNDED * largest else largest


def _exactly(ball: arb, rounded: Callable[[arb], float]) -> float:
    """The float that a ball is, or else the one to the side that ``rounded`` rounds to."""
    return float(ball) if ball.rad() == 0 and arb(float(ball)) == ball else rounded(ball)


def _largest_sum(releases: Releases) -> float:
    """The supremum of the losses, rounded down; infinite where a loss may be."""
    with ctx.workprec(128):
        total = arb(0)
        for step, count in releases:
            largest = kind_of(step).largest(step, False)
            if largest is None or kind_of(step).infinite(step) > 0:
                return math.inf
            total += count * largest
        return max(_exactly(total, float_below), 0.0)


def _up(value: arb) -> float:
    return 0.0 if value == 0 else max(float_above(value), 0.0)


def _down(value: arb) -> float:
    return max(float_below(value), 0.0)


def _just_below(value: float) -> float:
    """Where an enclosure of a number computed to double precision begins."""
    return max(math.nextafter(value * (1.0 - 1e-12), -math.inf), 0.0) if value else 0.0


def _just_above(value: float) -> float:
    return math.nextafter(value * (1.0 + 1e-12), math.inf)
