"""An event as one-dimensional pairs: a list of them for each way in which a record may matter.

Privacy loss distributions compose exactly, but the larger of two is not always defined. So where a
record's own value decides which releases it touches, every possibility gets a list of its own, and
a bound is the largest number over all lists.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.custom_profile import Envelope, envelope
from rdpkit.events import Composed, Event, Parallel, Repeated
from rdpkit.events.losses import Losses, NoLossDistributionError, OneOf, ProfilePoints, Step
from rdpkit.events.pairs import Pair

_MOST_ALTERNATIVES = 64
_PARTS_THAT_MEET = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileStep:
    """One release of which points of the privacy profile are known, in both directions.

    Parameters
    ----------
    profile : Envelope
        The profile; its last value is the mass of an infinite loss.
    """

    profile: Envelope
    is_a_pair: ClassVar[bool] = False

    def reversed(self) -> ProfileStep:
        """The step itself: the profile holds in both directions."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteSum:
    """Several releases with a handful of outcomes each, as one pair.

    Parameters
    ----------
    releases : tuple of (step, int)
        The steps, for which :func:`rdpkit.accountants.losses.kinds.finite.has_few_sums` holds, and
        how often each is taken.
    """

    releases: tuple[tuple[Any, int], ...]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One way in which a changed record may matter.

    Parameters
    ----------
    releases : Releases
        What the adversary sees, step by step.
    touched : tuple of int
        Which parts of a :class:`rdpkit.Parallel` the record touches: the one that it leaves (or is
        in), then the one that it joins, if another.
    """

    releases: Releases
    touched: tuple[int, ...] = ()

    def reversed(self) -> Alternative:
        """The two data sets exchanged."""
        steps = [(step.reversed(), count) for step, count in self.releases]
        return Alternative(releases=tuple(sorted(steps, key=repr)), touched=self.touched[::-1])


Known = dict[tuple[Event, Adjacency], list[Alternative]]
"""What was found of parts of an event."""


def alternatives(
    event: Event, adjacency: Adjacency, *, attained: bool = False
) -> tuple[Alternative, ...]:
    """Every way in which one changed record may matter, without those that another one dominates.

    Under add-or-remove-one they are for a removal; reversed, for an addition. Under zero-out they
    are for a record that becomes the special one; reversed, for the special one in its place.

    Parameters
    ----------
    event : Event
        What was released.
    adjacency : Adjacency
        The neighbouring relation.
    attained : bool
        False: every step bounds what one release leaks. True: every step is a pair that two
        data sets attain (:mod:`rdpkit.pairs.worst_pair` says which).

    Raises
    ------
    NoLossDistributionError
        If a part of the event has none, or the possibilities are too many to list.
    """
    return tuple(_undominated(_walk(event, adjacency, attained, {})))


def _walk(event: Event, adjacency: Adjacency, attained: bool, known: Known) -> list[Alternative]:
    """What :func:`alternatives` says before it is sorted out; each part is looked at once."""
    if (event, adjacency) not in known:
        known[event, adjacency] = _compute(event, adjacency, attained, known)
    return known[event, adjacency]


def _compute(event: Event, adjacency: Adjacency, attained: bool, known: Known) -> list[Alternative]:
    if isinstance(event, Repeated):
        return [
            Alternative(
                releases=tuple([(step, count * event.count) for step, count in found.releases]),
                touched=found.touched,
            )
            for found in _walk(event.event, adjacency, attained, known)
        ]
    if isinstance(event, Composed):
        parts = [_undominated(_walk(part, adjacency, attained, known)) for part in event.events]
        total = math.prod(len(part) for part in parts)
        if total > _MOST_ALTERNATIVES:
            raise NoLossDistributionError(
                f"The event has {total} ways in which one record may matter; privacy loss "
                f"distributions are computed for at most {_MOST_ALTERNATIVES}."
            )
        return [_together(choice) for choice in product(*parts)]
    if isinstance(event, Parallel):
        return _parallel(event, adjacency, attained, known)
    expanded = event.expand()
    if expanded is not None:
        return _walk(expanded, adjacency, attained, known)
    choices = event.losses(adjacency, attained=attained)
    return [
        Alternative(releases=_releases(losses))
        for losses in (choices.choices if isinstance(choices, OneOf) else (choices,))
    ]


def _parallel(
    event: Parallel, adjacency: Adjacency, attained: bool, known: Known
) -> list[Alternative]:
    within = _in_each_part(event, event.inside(adjacency), attained, known)
    if not event.record_may_move(adjacency):
        return _undominated(within)
    # The record leaves one part and joins another, so every ordered pair of parts is an
    # alternative. A part that two others dominate need not be considered.
    ends = _in_each_part(event, Adjacency.ADD_OR_REMOVE_ONE, attained, known)
    kept: list[Alternative] = []
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
        if attained:
            # The part that the record joins then has one record more than the event says.
            part = event.events[joined.touched[0]].with_one_more_record()
            entered = _walk(part, Adjacency.ADD_OR_REMOVE_ONE, attained, known)
            moved += [
                _together(
                    (left, Alternative(releases=one.releases, touched=joined.touched).reversed())
                )
                for one in entered
            ]
        else:
            moved.append(_together((left, joined.reversed())))
    return _undominated([*within, *moved])


def _in_each_part(
    event: Parallel, adjacency: Adjacency, attained: bool, known: Known
) -> list[Alternative]:
    return [
        Alternative(releases=found.releases, touched=(index, *found.touched))
        for index in _different(event.events)
        for found in _walk(event.events[index], adjacency, attained, known)
    ]


def _different(events: tuple[Event, ...]) -> list[int]:
    """The places of the first two of all events that are equal.

    A record may move from one to the other, and further equal events add no alternative: of a
    million equal classes two suffice.
    """
    seen: dict[int, int] = {}
    by_identity = []
    for index, event in enumerate(events):
        seen[id(event)] = seen.get(id(event), 0) + 1
        if seen[id(event)] <= _PARTS_THAT_MEET:
            by_identity.append(index)
    counted: Counter[Event] = Counter()
    found = []
    for index in by_identity:
        counted[events[index]] += 1
        if counted[events[index]] <= _PARTS_THAT_MEET:
            found.append(index)
    return found


def _together(found: tuple[Alternative, ...]) -> Alternative:
    counter: Counter[AnyStep] = Counter()
    for alternative in found:
        for step, count in alternative.releases:
            counter[step] += count
    return Alternative(
        releases=tuple(sorted(counter.items(), key=repr)),
        # Data sets are written out for events with one partition, which a record touches in at
        # most two places.
        touched=tuple(index for one in found for index in one.touched)[:_PARTS_THAT_MEET],
    )


def _releases(losses: Losses) -> Releases:
    """What one primitive event says of its losses, as steps."""
    counter: Counter[AnyStep] = Counter()
    for loss in losses:
        if not isinstance(loss, ProfilePoints):
            counter[loss] += 1
            continue
        profile = envelope(loss)
        if profile.infinite == 1.0:
            raise NoLossDistributionError(
                "A release of which nothing but delta <= 1 is known has no privacy loss "
                "distribution."
            )
        if profile.values[0] > 0.0:
            counter[ProfileStep(profile=profile)] += 1
    return tuple(sorted(counter.items(), key=repr))


def _undominated(found: list[Alternative]) -> list[Alternative]:
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
