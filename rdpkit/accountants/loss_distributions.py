"""Guarantees from privacy loss distributions: the tight upper bound, and the attained lower one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rdpkit.accountants import losses
from rdpkit.accountants.losses import LossBound
from rdpkit.accountants.losses.steps import Alternative, Releases, alternatives
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.events import Event
from rdpkit.events.losses import NoLossDistributionError, Step
from rdpkit.guarantee import Enclosure, Guarantee

UPPER_ID = "pld-upper"
LOWER_ID = "pair-lower"

SOURCES = {
    UPPER_ID: "privacy loss distribution by connecting the dots: Doroshenko et al. 2022",
    LOWER_ID: "a test between two data sets, by the sum of labels: rdpkit, theory pages",
}
"""What the two bounds rest on, by their ids."""

# How much rougher the numbers are that only choose between alternatives, or close an enclosure.
_ROUGHLY = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Epsilon at a delta, or delta at an epsilon: exactly one of the two is given."""

    adjacency: Adjacency
    delta: float | None = None
    epsilon: float | None = None

    def above(self, releases: Releases, accuracy: float = losses.ACCURACY) -> LossBound:
        """An upper bound for one list of releases."""
        if self.delta is not None:
            return losses.epsilon_above(releases, delta=self.delta, accuracy=accuracy)
        assert self.epsilon is not None
        return losses.delta_above(releases, epsilon=self.epsilon, accuracy=accuracy)

    def below(self, releases: Releases, accuracy: float = losses.ACCURACY) -> LossBound:
        """A lower bound for one list of releases."""
        if self.delta is not None:
            return losses.epsilon_below(releases, delta=self.delta, accuracy=accuracy)
        assert self.epsilon is not None
        return losses.delta_below(releases, epsilon=self.epsilon, accuracy=accuracy)


def _directions(found: tuple[Alternative, ...]) -> list[Alternative]:
    """Every alternative in both orders of the two data sets, each once."""
    both = {alternative.releases: alternative for alternative in found}
    for alternative in found:
        other = alternative.reversed()
        both.setdefault(other.releases, other)
    return list(both.values())


def upper(event: Event, question: Question) -> Guarantee:
    """The largest number over all that a changed record may amount to.

    Rough bounds come first; only what may still be the largest is computed accurately.

    Raises
    ------
    NoLossDistributionError
        If no privacy loss distribution is known for a part of the event, or one takes more work
        than the limits in force.
    """
    candidates = _directions(alternatives(event, question.adjacency))
    # Losses that are bounded cannot add up to more than this, so that some need no distribution.
    limits = [math.inf] * len(candidates)
    if question.delta is not None:
        limits = [losses.largest_loss(candidate.releases) for candidate in candidates]
    worst: LossBound | None = None
    rough: list[tuple[float, Releases]] = []
    several = len(candidates) > 1
    for limit, candidate in sorted(zip(limits, candidates, strict=True), key=lambda one: -one[0]):
        value = limit
        # What is bounded by less than others may be is looked at only if it may be the largest.
        if several and (not rough or limit > min(known for known, _ in rough)):
            value = question.above(candidate.releases, _ROUGHLY * losses.ACCURACY).value
        rough.append((value, candidate.releases))
    for value, releases in sorted(rough, key=lambda pair: -pair[0]):
        if worst is not None and value <= worst.value:
            break
        found = question.above(releases)
        worst = found if worst is None or found.value > worst.value else worst
    assert worst is not None
    return _guarantee(
        event, question, worst, Kind.UPPER, Enclosure(lower=worst.other_end, upper=worst.value)
    )


def is_attained(event: Event, adjacency: Adjacency) -> bool:
    """Whether what bounds the event from above are pairs, so that no other bound can be smaller.

    Up to the accuracy with which they are computed.
    """
    try:
        found = alternatives(event, adjacency)
    except NoLossDistributionError:
        return False
    steps = (step for one in found for step, _ in one.releases)
    return all(not isinstance(step, Step) or step.is_a_pair for step in steps)


def lower(event: Event, question: Question) -> tuple[Guarantee, Alternative]:
    """The largest number that an explicit pair of data sets attains, and which pair that is.

    Rough bounds choose the pair, and only that one is computed accurately. The enclosure is that of
    the pair's own number.

    Raises
    ------
    NoLossDistributionError
        If no pair is known for a part of the event, or it takes more work than the limits in force.
    """
    candidates = _directions(alternatives(event, question.adjacency, attained=True))
    chosen = candidates[0]
    if len(candidates) > 1:
        rough = [_roughly(question, candidate) for candidate in candidates]
        chosen = candidates[max(range(len(rough)), key=lambda i: rough[i])]
    best = question.below(chosen.releases)
    above = _roughly(question, chosen)
    if 0.0 <= above < best.value:
        raise ArithmeticError(
            f"A pair of data sets would attain at least {best.value!r} and at most {above!r}: one "
            "of the two is false. Please report this."
        )
    if above < 0.0:
        above = math.inf if question.epsilon is None else 1.0
    enclosure = Enclosure(lower=best.value, upper=above)
    return _guarantee(event, question, best, Kind.LOWER, enclosure), chosen


def _roughly(question: Question, candidate: Alternative) -> float:
    """A rough upper bound on what a pair attains, or -1 where there is none."""
    try:
        return question.above(candidate.releases, _ROUGHLY * losses.ACCURACY).value
    except NoLossDistributionError:
        return -1.0


def _guarantee(
    event: Event, question: Question, found: LossBound, kind: Kind, enclosure: Enclosure
) -> Guarantee:
    how = f"privacy loss distribution with grid step {found.step:.2g}"
    return Guarantee(
        epsilon=found.value if question.epsilon is None else question.epsilon,
        delta=found.value if question.delta is None else question.delta,
        adjacency=question.adjacency,
        bound=UPPER_ID if kind is Kind.UPPER else LOWER_ID,
        kind=kind,
        enclosure=enclosure,
        assumptions=event.assumptions(),
        notes=(how if found.step else "privacy loss distribution in closed form",),
    )
