"""Guarantees from privacy loss distributions: the tight upper bound, and the attained lower one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rdpkit import pld
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.events import Event
from rdpkit.guarantee import Guarantee, UncertifiedEnclosure
from rdpkit.loss import Alternative, alternatives

UPPER_ID = "pld-upper"
LOWER_ID = "pair-lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Epsilon at a delta, or delta at an epsilon: exactly one of the two is given.

    ``scale`` is about how large the epsilon in question is; it only sets the first grid.
    """

    adjacency: Adjacency
    delta: float | None = None
    epsilon: float | None = None
    scale: float = 1.0


def _directions(found: tuple[Alternative, ...], adjacency: Adjacency) -> list[Alternative]:
    """Both orders of the two data sets; a replacement's list already holds both."""
    both: dict[Alternative, None] = {}
    for alternative in found:
        both[alternative] = None
        both[alternative.reversed()] = None
    return list(both)


def upper(event: Event, question: Question) -> Guarantee:
    """The largest number over all that a changed record may amount to.

    Raises
    ------
    NoLossDistributionError
        If no privacy loss distribution is known for a part of the event.
    """
    found = [
        _ask_above(alternative, question)
        for alternative in _directions(alternatives(event, question.adjacency), question.adjacency)
    ]
    worst = max(found, key=lambda bound: bound.value)
    return _guarantee(event, question, worst, Kind.UPPER)


def lower(event: Event, question: Question) -> tuple[Guarantee, Alternative]:
    """The largest number that an explicit pair of data sets attains, and which pair that is.

    Raises
    ------
    NoLossDistributionError
        If no pair is known for a part of the event.
    """
    candidates = _directions(
        alternatives(event, question.adjacency, attained=True), question.adjacency
    )
    found = [(_ask_below(candidate, question), candidate) for candidate in candidates]
    best, alternative = max(found, key=lambda item: item[0].value)
    return _guarantee(event, question, best, Kind.LOWER), alternative


def _ask_above(alternative: Alternative, question: Question) -> pld.LossBound:
    if question.delta is not None:
        return pld.epsilon_above(alternative.releases, delta=question.delta, scale=question.scale)
    assert question.epsilon is not None
    return pld.delta_above(alternative.releases, epsilon=question.epsilon, scale=question.scale)


def _ask_below(alternative: Alternative, question: Question) -> pld.LossBound:
    if question.delta is not None:
        return pld.epsilon_below(alternative.releases, delta=question.delta, scale=question.scale)
    assert question.epsilon is not None
    return pld.delta_below(alternative.releases, epsilon=question.epsilon, scale=question.scale)


def _guarantee(event: Event, question: Question, found: pld.LossBound, kind: Kind) -> Guarantee:
    value = max(found.value, 0.0)
    change = found.change if math.isfinite(found.change) else value
    if kind is Kind.UPPER:
        enclosure = UncertifiedEnclosure(lower=max(value - change, 0.0), upper=value)
    else:
        enclosure = UncertifiedEnclosure(lower=value, upper=value + change)
    return Guarantee(
        epsilon=value if question.epsilon is None else question.epsilon,
        delta=value if question.delta is None else question.delta,
        adjacency=question.adjacency,
        bound=UPPER_ID if kind is Kind.UPPER else LOWER_ID,
        kind=kind,
        enclosure=enclosure,
        assumptions=event.assumptions(),
        notes=(
            f"privacy loss distribution with grid step {found.step:.2g}; the last refinement "
            f"moved the number by {found.change:.2g}",
        ),
    )
