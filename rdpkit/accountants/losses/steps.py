"""An event as one-dimensional pairs: a list of them for each way in which a record may matter.

Privacy loss distributions compose exactly, but the larger of two is not always defined. So where a
record's own value decides which releases it touches, every possibility gets a list of its own, and
a bound is the largest number over all lists.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, pairwise, permutations, product
from typing import Any, ClassVar, Generic, NewType, TypeVar, cast

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.stated import Envelope, envelope
from rdpkit.events import Composed, Event, Parallel, Repeated
from rdpkit.events.composition import partition_is_fixed
from rdpkit.events.losses import Losses, NoLossDistributionError, ProfilePoints, Several, Step
from rdpkit.events.pairs import LargestOf, Pair

_MOST_ALTERNATIVES = 64
_PARTS_THAT_MEET = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileStep:
    """One release of which points of the privacy profile are known, in both directions."""

    profile: Envelope  # The profile; its last value is the mass of an infinite loss
    is_a_pair: ClassVar[bool] = False

    def reversed(self) -> ProfileStep:
        """The step itself: the profile holds in both directions."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteSum:
    """Several releases with a handful of outcomes each, as one pair."""

    releases: tuple[tuple[Any, int], ...]
    """The steps, for which :func:`rdpkit.accountants.losses.kinds.outcomes.has_few_sums` holds, and
    how often each is taken.
    """

    @property
    def is_a_pair(self) -> bool:
        """Whether every release is one."""
        return all(step.is_a_pair for step, _ in self.releases)

    def reversed(self) -> FiniteSum:
        """Every release with its members exchanged."""
        return FiniteSum(releases=tuple((step.reversed(), n) for step, n in self.releases))


AnyStep = Step | ProfileStep | Pair | FiniteSum
"""One release."""

Releases = tuple[tuple[AnyStep, int], ...]
"""Steps with how often each is taken, sorted."""

DominatingReleases = NewType("DominatingReleases", Releases)
"""Releases that bound what one changed record may show: upper bounds are computed from these."""

AttainedReleases = NewType("AttainedReleases", Releases)
"""Releases between two data sets: lower bounds are computed from these, and from no others."""

R = TypeVar("R", bound=Releases)


def of_a_pair(releases: AttainedReleases) -> DominatingReleases:
    """What bounds these data sets themselves, and no others: a pair is not above itself."""
    return DominatingReleases(releases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative(Generic[R]):
    """One way in which a changed record may matter."""

    releases: R  # What the adversary sees, step by step
    touched: tuple[int, ...] = ()
    """Which parts of a :class:`rdpkit.Parallel` the record touches: the one that it leaves (or is
    in), then the one that it joins, if another.
    """

    def reversed(self) -> Alternative[R]:
        """The two data sets exchanged."""
        steps = [(step.reversed(), count) for step, count in self.releases]
        releases = cast(R, tuple(sorted(steps, key=repr)))
        return Alternative(releases=releases, touched=self.touched[::-1])


def alternatives(event: Event, adjacency: Adjacency) -> tuple[Alternative[DominatingReleases], ...]:
    """Every way in which one changed record may matter, without those that another one dominates.

    Every step bounds what one release leaks. Under add-or-remove-one they are for a removal;
    reversed, for an addition. Under zero-out they are for a record that becomes the special one;
    reversed, for the special one in its place. Raises NoLossDistributionError if a part of the
    event has none, or the possibilities are too many to list.
    """
    above: _Questions[DominatingReleases] = _Questions(
        expand=lambda event: event.expand(),
        losses=lambda event, adjacency: (event.dominating(adjacency),),
        attained=False,
    )
    return tuple(_undominated(_walk(event, adjacency, above)))


def attained_alternatives(
    event: Event, adjacency: Adjacency
) -> tuple[Alternative[AttainedReleases], ...]:
    """What pairs of data sets attain, in the order of :func:`alternatives`.

    Every step is a pair that two data sets attain (:mod:`rdpkit.pairs.worst_pair` says which).
    Raises NoLossDistributionError if no pair is known for a part of the event, or the possibilities
    are too many to list.
    """
    below: _Questions[AttainedReleases] = _Questions(
        expand=lambda event: event.attained_expansion(),
        losses=lambda event, adjacency: event.attained(adjacency),
        attained=True,
    )
    return tuple(_undominated(_walk(event, adjacency, below)))


@dataclass(frozen=True, slots=True)
class _Questions(Generic[R]):
    """What an event is asked from one side: what it is made of, and its possible losses.

    ``known`` holds what was found of its parts.
    """

    expand: Callable[[Event], Event | None]
    losses: Callable[[Event, Adjacency], tuple[Losses, ...]]
    attained: bool
    known: dict[tuple[Event, Adjacency], list[Alternative[R]]] = field(default_factory=dict)


def _walk(event: Event, adjacency: Adjacency, side: _Questions[R]) -> list[Alternative[R]]:
    """What :func:`alternatives` says before it is sorted out; each part is looked at once."""
    known = side.known.get((event, adjacency))
    if known is None:
        known = side.known[event, adjacency] = _compute(event, adjacency, side)
    return known


def _compute(event: Event, adjacency: Adjacency, side: _Questions[R]) -> list[Alternative[R]]:
    if isinstance(event, Repeated):
        inner = _walk(event.event, adjacency, side)
        if not event.same_partition:
            return _any_of_each(_fixed(event.event, _undominated(inner), side), event.count)
        return [_times(found, event.count) for found in inner]
    if isinstance(event, Composed):
        parts = [_undominated(_walk(part, adjacency, side)) for part in event.events]
        if len(parts) > 1:
            parts = [_fixed(*one, side) for one in zip(event.events, parts, strict=True)]
        _check_number(math.prod(len(part) for part in parts))
        return [_together(choice) for choice in product(*parts)]
    if isinstance(event, Parallel):
        return _parallel(event, adjacency, side)
    expanded = side.expand(event)
    if expanded is not None:
        return _walk(expanded, adjacency, side)
    return [
        Alternative(releases=cast(R, _releases(losses))) for losses in side.losses(event, adjacency)
    ]


def _parallel(event: Parallel, adjacency: Adjacency, side: _Questions[R]) -> list[Alternative[R]]:
    within = _in_each_part(event, event.inside(adjacency), side)
    if not event.record_may_move(adjacency):
        return _undominated(within)
    # The record leaves one part and joins another, so every ordered pair of parts is an
    # alternative. A part that two others dominate need not be considered.
    ends = _in_each_part(event, Adjacency.ADD_OR_REMOVE_ONE, side)
    kept: list[Alternative[R]] = []
    for found in ends:
        above = {
            other.touched[:1]
            for other in kept
            if other.touched[:1] != found.touched[:1] and _covers(other.releases, found.releases)
        }
        if len(above) < _PARTS_THAT_MEET:
            kept.append(found)
    moved = []
    for left, joined in permutations(kept, _PARTS_THAT_MEET):
        if left.touched[:1] == joined.touched[:1]:
            continue
        if side.attained:
            # The part that the record joins then has one record more than the event says.
            part = event.events[joined.touched[0]].with_one_more_record()
            entered = _walk(part, Adjacency.ADD_OR_REMOVE_ONE, side)
            moved += [
                _together(
                    (left, Alternative(releases=one.releases, touched=joined.touched).reversed())
                )
                for one in entered
            ]
        else:
            moved.append(_together((left, joined.reversed())))
    return _undominated([*within, *moved])


def _fixed(event: Event, found: list[Alternative[R]], side: _Questions[R]) -> list[Alternative[R]]:
    """The alternatives, or one above all of them if earlier outputs may decide which it is.

    Data sets with a partition that does not depend on outputs attain every alternative.
    """
    if side.attained or len(found) == 1 or partition_is_fixed(event):
        return found
    if any(len(one.releases) > 1 or (one.releases[:1] and one.releases[0][1] > 1) for one in found):
        raise NoLossDistributionError(
            "Earlier outputs may decide in which part of the data a record is, and what each part "
            "shows of it is more than one release: no privacy loss distribution is known above all "
            "of them. With a partition that is fixed in advance (fixed_partition) there is one."
        )
    branches = tuple(one.releases[0][0] for one in found if one.releases)
    return [Alternative(releases=cast(R, ((LargestOf(branches=branches), 1),)))]


def _check_number(total: int) -> None:
    if total > _MOST_ALTERNATIVES:
        raise NoLossDistributionError(
            f"The event has {total} ways in which one record may matter; privacy loss "
            f"distributions are computed for at most {_MOST_ALTERNATIVES}."
        )


def _any_of_each(found: list[Alternative[R]], count: int) -> list[Alternative[R]]:
    """Every way of choosing one alternative in each of some releases, in any order."""
    _check_number(math.comb(count + len(found) - 1, count))
    chosen: list[Alternative[R]] = []
    for ends in combinations(range(count + len(found) - 1), len(found) - 1):
        # The gaps between the ends say how often each alternative is chosen.
        gaps = [b - a - 1 for a, b in pairwise((-1, *ends, count + len(found) - 1))]
        chosen.append(
            _together(
                tuple(_times(one, times) for one, times in zip(found, gaps, strict=True) if times)
            )
        )
    return chosen


def _times(found: Alternative[R], count: int) -> Alternative[R]:
    releases = cast(R, tuple([(step, many * count) for step, many in found.releases]))
    return Alternative(releases=releases, touched=found.touched)


def _in_each_part(
    event: Parallel, adjacency: Adjacency, side: _Questions[R]
) -> list[Alternative[R]]:
    return [
        Alternative(releases=found.releases, touched=(index, *found.touched))
        for index in _different(event.events)
        for found in _walk(event.events[index], adjacency, side)
    ]


def _different(events: tuple[Event, ...]) -> list[int]:
    """The places of the first two of all events that are equal.

    A record may move from one to the other, and further equal events add no alternative: of a
    million equal classes two suffice.
    """
    occurrences: dict[int, int] = {}
    by_identity = []
    for index, event in enumerate(events):
        occurrences[id(event)] = occurrences.get(id(event), 0) + 1
        if occurrences[id(event)] <= _PARTS_THAT_MEET:
            by_identity.append(index)
    counted: Counter[Event] = Counter()
    found = []
    for index in by_identity:
        counted[events[index]] += 1
        if counted[events[index]] <= _PARTS_THAT_MEET:
            found.append(index)
    return found


def _together(found: tuple[Alternative[R], ...]) -> Alternative[R]:
    counter: Counter[AnyStep] = Counter()
    for alternative in found:
        for step, count in alternative.releases:
            counter[step] += count
    return Alternative(
        releases=cast(R, tuple(sorted(counter.items(), key=repr))),
        # Data sets are written out for events with one partition, which a record touches in at
        # most two places.
        touched=tuple(index for one in found for index in one.touched)[:_PARTS_THAT_MEET],
    )


def _releases(losses: Losses) -> Releases:
    """What one primitive event says of its losses, as steps."""
    counter: Counter[AnyStep] = Counter()
    for given in losses:
        loss: Any = given
        count = 1
        while isinstance(loss, Several):
            loss, count = loss.loss, count * loss.count
        if not isinstance(loss, ProfilePoints):
            counter[loss] += count
            continue
        profile = envelope(loss)
        if profile.infinite == 1.0:
            raise NoLossDistributionError(
                "A release of which nothing but delta <= 1 is known has no privacy loss "
                "distribution."
            )
        if profile.values[0] > 0.0:
            counter[ProfileStep(profile=profile)] += count
    return tuple(sorted(counter.items(), key=repr))


def _undominated(found: list[Alternative[R]]) -> list[Alternative[R]]:
    """Drop repetitions, and what leaks no more than another alternative step by step."""
    if len(found) == 1:
        return found
    unique = list({alternative.releases: alternative for alternative in reversed(found)}.values())
    return [
        one
        for one in reversed(unique)
        if not any(other is not one and _covers(other.releases, one.releases) for other in unique)
    ]


def _covers(larger: Releases, smaller: Releases) -> bool:
    """Whether ``larger`` leaks at least as much, step by step: less noise, more often drawn."""
    if len(larger) != len(smaller):
        return False
    return all(
        many >= few and _dominates(one, two)
        for (one, many), (two, few) in zip(larger, smaller, strict=True)
    )


def _dominates(one: AnyStep, two: AnyStep) -> bool:
    if not (isinstance(one, Step) and isinstance(two, Step)):
        return one == two
    return (
        one.kind == two.kind
        and one.other == two.other
        and one.noise_multiplier <= two.noise_multiplier
        and one.sampling_probability >= two.sampling_probability
    )
