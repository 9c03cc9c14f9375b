"""Guarantees from privacy loss distributions: the tight upper bound, and the attained lower one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from rdpkit import by_rdp, pld
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.events import Event
from rdpkit.guarantee import Guarantee, UncertifiedEnclosure
from rdpkit.loss import Alternative, NoLossDistributionError, alternatives
from rdpkit.order_search import LARGEST_ORDER, SMALLEST_ORDER

UPPER_ID = "pld-upper"
LOWER_ID = "pair-lower"

SOURCES = {
    UPPER_ID: "privacy loss distribution by connecting the dots: Doroshenko et al. 2022",
    LOWER_ID: "two data sets seen through bins, by data processing: rdpkit, theory pages",
}
"""What the two bounds rest on, by their ids."""

# Exponentials of larger losses are no floats.
_LARGEST_SCALE = 256.0
_SMALLEST_SCALE = 1e-6
_SURELY_TOO_LARGE = 1e6
_RESCALINGS = 8
_USUAL_DELTA = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Epsilon at a delta, or delta at an epsilon: exactly one of the two is given.

    ``scale`` is about how large the epsilon in question is; it only sets the first grid.
    """

    adjacency: Adjacency
    delta: float | None = None
    epsilon: float | None = None
    scale: float = 1.0


def usual_scale(event: Event, adjacency: Adjacency, delta: float | None) -> float:
    """About how large an epsilon of interest is, as a power of two, by Renyi divergences.

    All questions about an event begin with this scale, so that their answers agree: another first
    grid moves the last digits.
    """
    question = by_rdp.Question(
        adjacency=adjacency,
        delta=_USUAL_DELTA if delta is None else delta,
        epsilon=None,
        conversion="balle2020",
        limits=(SMALLEST_ORDER, LARGEST_ORDER),
        use_grid=False,
        certify=False,
    )
    found = by_rdp.upper(event, by_rdp.BEST_ID, question).epsilon
    return float(2.0 ** round(math.log2(min(max(found, _SMALLEST_SCALE), _SURELY_TOO_LARGE))))


def _check_scale(question: Question) -> None:
    if question.scale > _LARGEST_SCALE:
        raise NoLossDistributionError(
            f"Privacy loss distributions are computed for epsilons up to {_LARGEST_SCALE:g}, and "
            f"this one is about {question.scale:g}."
        )


def _rescaled(candidates: list[Alternative], question: Question) -> Question:
    """The question with a scale from the distributions where infinite losses leave RDP none."""
    kept = max(pld.infinite_mass(candidate.releases) for candidate in candidates)
    if kept == 0.0:
        return question
    if question.delta is None:
        asked = replace(question, epsilon=None, delta=min(max(_USUAL_DELTA, 2.0 * kept), 0.5))
    else:
        asked = question
    scale, best = _LARGEST_SCALE, math.inf
    for _ in range(_RESCALINGS):
        found = max(
            _ask(pld.epsilon_above, pld.delta_above, candidate, asked, 0, scale=scale).value
            for candidate in candidates
        )
        if found == 0.0:
            return replace(question, scale=scale)
        # A coarse grid says too much, never too little: refine it while that pays.
        if math.isinf(found) or found > 0.7 * best:
            break
        best = found
        scale = max(min(scale / 4.0, best), _SMALLEST_SCALE)
    return replace(question, scale=max(min(best, _LARGEST_SCALE), _SMALLEST_SCALE))


def _directions(found: tuple[Alternative, ...]) -> list[Alternative]:
    """Every alternative in both orders of the two data sets, each once."""
    both = dict.fromkeys(found)
    both.update(dict.fromkeys(alternative.reversed() for alternative in found))
    return list(both)


def upper(event: Event, question: Question) -> Guarantee:
    """The largest number over all that a changed record may amount to.

    Coarse bounds come first; only what may still be the largest is refined.

    Raises
    ------
    NoLossDistributionError
        If no privacy loss distribution is known for a part of the event.
    """
    candidates = _directions(alternatives(event, question.adjacency))
    question = _rescaled(candidates, question)
    _check_scale(question)
    if len(candidates) == 1:
        worst = _ask(pld.epsilon_above, pld.delta_above, candidates[0], question)
        return _guarantee(event, question, worst, Kind.UPPER)
    coarse = [
        _ask(pld.epsilon_above, pld.delta_above, candidate, question, refinements=0)
        for candidate in candidates
    ]
    refined: pld.LossBound | None = None
    for index in sorted(range(len(coarse)), key=lambda i: -coarse[i].value):
        if refined is not None and coarse[index].value <= refined.value:
            break
        found = _ask(pld.epsilon_above, pld.delta_above, candidates[index], question)
        refined = found if refined is None or found.value > refined.value else refined
    assert refined is not None
    return _guarantee(event, question, refined, Kind.UPPER)


def lower(event: Event, question: Question) -> tuple[Guarantee, Alternative]:
    """The largest number that an explicit pair of data sets attains, and which pair that is.

    Coarse bounds choose the pair, and only that one is refined.

    Raises
    ------
    NoLossDistributionError
        If no pair is known for a part of the event.
    """
    candidates = _directions(alternatives(event, question.adjacency, attained=True))
    _check_scale(question)
    chosen = candidates[0]
    if len(candidates) > 1:
        coarse = [
            _ask(pld.epsilon_below, pld.delta_below, candidate, question, refinements=1)
            for candidate in candidates
        ]
        chosen = candidates[max(range(len(coarse)), key=lambda i: coarse[i].value)]
    best = _ask(pld.epsilon_below, pld.delta_below, chosen, question)
    return _guarantee(event, question, best, Kind.LOWER), chosen


def _ask(
    for_epsilon: Callable[..., pld.LossBound],
    for_delta: Callable[..., pld.LossBound],
    alternative: Alternative,
    question: Question,
    refinements: int = 6,
    *,
    scale: float | None = None,
) -> pld.LossBound:
    common = {"scale": scale or question.scale, "refinements": refinements}
    if question.delta is not None:
        return for_epsilon(alternative.releases, delta=question.delta, **common)
    assert question.epsilon is not None
    return for_delta(alternative.releases, epsilon=question.epsilon, **common)


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
