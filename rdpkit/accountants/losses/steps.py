"""What an adversary sees at worst: an event as one-dimensional pairs, one by one or composed.

Privacy loss distributions compose exactly, but have no maximum: where a record's own value decides
which releases it touches, every possibility is a list of its own, and a bound is the largest over
all of them.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Literal

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.custom_profile import Envelope, envelope
from rdpkit.events import (
    Composed,
    CustomProfile,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    Parallel,
    PoissonSampledGaussian,
    Repeated,
)

_MOST_ALTERNATIVES = 64
_PARTS_THAT_MEET = 2

Kind = Literal["removed", "added", "replaced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One release, as the pair that bounds it.

    Parameters
    ----------
    kind : {"removed", "added", "replaced"}
        "removed": (1-q) N(0) + q N(1) against N(0), variance z^2. "added": the same with the two
        exchanged. "replaced": the privacy profile of (1-q) N(0) + q N(1) against
        (1-q) N(0) + q N(other) at losses >= 0, and its mirror image to the left. With other = -1
        it is that pair's own curve, and with q = 1 that of two Gaussians.
    noise_multiplier : float
        z.
    sampling_probability : float
        q in (0, 1].
    other : float
        For "replaced", where the second value of the record is if the first is at 1: in [-1, 1).
    """

    kind: Kind
    noise_multiplier: float
    sampling_probability: float
    other: float = 0.0

    @property
    def is_gaussian(self) -> bool:
        """Whether the step is a pair of Gaussians, which all compose to one."""
        return self.kind == "replaced" and self.sampling_probability == 1.0

    @property
    def is_a_pair(self) -> bool:
        """Whether one pair of distributions has exactly this curve, so that it can be attained."""
        return self.kind != "replaced" or self.is_gaussian or self.other == -1.0

    def reversed(self) -> Step:
        """The step with the two data sets exchanged."""
        exchanged: dict[Kind, Kind] = {"removed": "added", "added": "removed"}
        return replace(self, kind=exchanged.get(self.kind, self.kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileStep:
    """One release of which points of the privacy profile are known, in both directions.

    Parameters
    ----------
    profile : Envelope
        The profile; its last value is the mass of an infinite loss.
    """

    profile: Envelope

    @property
    def kind(self) -> Literal["profile"]:
        """Always "profile"."""
        return "profile"

    def reversed(self) -> ProfileStep:
        """The step itself: the profile holds in both directions."""
        return self


Releases = tuple[tuple[Step | ProfileStep, int], ...]
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


class NoLossDistributionError(ValueError):
    """An event, or a part of one, of which no privacy loss distribution is known."""


def alternatives(
    event: Event, adjacency: Adjacency, *, attained: bool = False
) -> tuple[Alternative, ...]:
    """All that one changed record may amount to; what something else dominates is left out.

    Under add-or-remove-one they are for a removal; reversed, for an addition.

    Parameters
    ----------
    event : Event
        What was released.
    adjacency : Adjacency
        The neighbouring relation.
    attained : bool
        False: every step bounds what one release leaks. True: every step is a pair that two
        data sets attain (:mod:`rdpkit.pairs.neighbouring` says which).

    Raises
    ------
    NoLossDistributionError
        If a part of the event has none, or the possibilities are too many to list.
    """
    return tuple(_undominated(_walk(event, adjacency, attained)))


def _walk(event: Event, adjacency: Adjacency, attained: bool) -> list[Alternative]:
    if isinstance(event, Repeated):
        return [
            Alternative(
                releases=tuple((step, count * event.count) for step, count in found.releases),
                touched=found.touched,
            )
            for found in _walk(event.event, adjacency, attained)
        ]
    if isinstance(event, Composed):
        parts = [_undominated(_walk(part, adjacency, attained)) for part in event.events]
        total = math.prod(len(part) for part in parts)
        if total > _MOST_ALTERNATIVES:
            raise NoLossDistributionError(
                f"The event has {total} ways in which one record may matter; privacy loss "
                f"distributions are computed for at most {_MOST_ALTERNATIVES}."
            )
        return [_together(choice) for choice in product(*parts)]
    if isinstance(event, Parallel):
        return _parallel(event, adjacency, attained)
    expanded = event.expand()
    if expanded is not None:
        return _walk(expanded, adjacency, attained)
    return [Alternative(releases=_step(event, adjacency, attained))]


def _parallel(event: Parallel, adjacency: Adjacency, attained: bool) -> list[Alternative]:
    within = _in_each_part(event, adjacency, attained)
    moves = adjacency is Adjacency.REPLACE_ONE and not event.record_keeps_its_part
    if not moves or len(event.events) == 1:
        return _undominated(within)
    # The record leaves one part and joins another: every ordered pair of parts, of which a part
    # that two others dominate need not be one.
    ends = _in_each_part(event, Adjacency.ADD_OR_REMOVE_ONE, attained)
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
            part = _with_one_more(event.events[joined.touched[0]])
            entered = _walk(part, Adjacency.ADD_OR_REMOVE_ONE, attained)
            moved += [
                _together(
                    (left, Alternative(releases=one.releases, touched=joined.touched).reversed())
                )
                for one in entered
            ]
        else:
            moved.append(_together((left, joined.reversed())))
    return _undominated([*within, *moved])


def _in_each_part(event: Parallel, adjacency: Adjacency, attained: bool) -> list[Alternative]:
    return [
        Alternative(releases=found.releases, touched=(index, *found.touched))
        for index in _different(event.events)
        for found in _walk(event.events[index], adjacency, attained)
    ]


def _different(events: tuple[Event, ...]) -> list[int]:
    """The places of all events that differ, and of a second one of each: a record may move there.

    A million equal classes are two.
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


def _with_one_more(event: Event) -> Event:
    """The same event on a data set with one record more, where that changes what is drawn."""
    if isinstance(event, Repeated):
        return Repeated(event=_with_one_more(event.event), count=event.count)
    if isinstance(event, Composed):
        return Composed(events=tuple(_with_one_more(part) for part in event.events))
    if isinstance(event, Parallel):
        return replace(event, events=tuple(_with_one_more(part) for part in event.events))
    if isinstance(event, FixedSizeSampledGaussian):
        return replace(event, population_size=event.population_size + 1)
    expanded = event.expand()
    return event if expanded is None else _with_one_more(expanded)


def _together(found: tuple[Alternative, ...]) -> Alternative:
    counter: Counter[Step | ProfileStep] = Counter()
    for alternative in found:
        for step, count in alternative.releases:
            counter[step] += count
    return Alternative(
        releases=tuple(sorted(counter.items(), key=repr)),
        touched=tuple(index for alternative in found for index in alternative.touched),
    )


def _step(event: Event, adjacency: Adjacency, attained: bool) -> Releases:
    if isinstance(event, CustomProfile) and event.adjacency is adjacency and not attained:
        return _profile_step(event)
    unbounded = adjacency is Adjacency.ADD_OR_REMOVE_ONE
    kind: Kind = "removed" if unbounded else "replaced"
    other = 0.0
    match event:
        case Gaussian():
            z, q = event.noise_multiplier(adjacency), 1.0
        case PoissonSampledGaussian():
            z, q = event.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE), event.sampling_probability
            if not unbounded:
                z, other = _exchanged_record(event, attained)
        case FixedSizeSampledGaussian():
            z, q = event.noise_multiplier, event.sample_size / event.population_size
            if unbounded and event.sample_size == event.population_size:
                raise NoLossDistributionError(
                    "A sample of the whole population cannot be drawn with one record less: "
                    "expected sample_size < population_size under add_or_remove_one."
                )
            if attained:
                kind = "removed"
        case _:
            raise NoLossDistributionError(
                f"No privacy loss distribution is known for the mechanism {event.mechanism!r}."
            )
    if q == 0.0:
        return ()
    if q == 1.0:
        # All kinds are the same Gaussian pair, up to the distance, and one name composes better.
        kind, z, other = "replaced", z / (1.0 - other), 0.0
    return ((Step(kind=kind, noise_multiplier=z, sampling_probability=q, other=other), 1),)


def _exchanged_record(event: PoissonSampledGaussian, attained: bool) -> tuple[float, float]:
    """Noise multiplier, and where the new record is if the old one is at 1, on one line.

    From above the pair that dominates all others: the old record at the norm, the new one as far
    from it as it may be, on the other side of the origin if that is farther than the norm (theory
    page "Poisson sampling under replace-one"). What two data sets attain is x against -x, at the
    norm or, if nearer, at half of the diameter.
    """
    at_norm = event.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE)
    diameter = event.record_diameter
    if diameter is None or diameter >= 2.0 * event.record_norm:
        return at_norm, -1.0
    if attained:
        return max(2.0 * event.noise_multiplier(Adjacency.REPLACE_ONE), at_norm), -1.0
    if diameter == event.record_norm:
        return at_norm, 0.0
    # A quotient and a difference of floats: rounded towards the far side.
    return at_norm, max(1.0 - diameter / event.record_norm - 4.0 * math.ulp(1.0), -1.0)


def _profile_step(event: CustomProfile) -> Releases:
    profile = envelope(event)
    if profile.infinite == 1.0:
        raise NoLossDistributionError(
            "A release of which nothing but delta <= 1 is known has no privacy loss distribution."
        )
    if profile.values[0] == 0.0:
        return ()
    return ((ProfileStep(profile=profile), 1),)


def _undominated(found: list[Alternative]) -> list[Alternative]:
    """Drop repetitions, and what leaks no more than another alternative step by step."""
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


def _dominates(one: Step | ProfileStep, two: Step | ProfileStep) -> bool:
    if isinstance(one, ProfileStep) or isinstance(two, ProfileStep):
        return one == two
    return (
        one.kind == two.kind
        and one.other == two.other
        and one.noise_multiplier <= two.noise_multiplier
        and one.sampling_probability >= two.sampling_probability
    )
