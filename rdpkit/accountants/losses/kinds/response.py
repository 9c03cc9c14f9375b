r"""Randomised response, and other pairs with a handful of outcomes.

Of k buckets the true one is released with probability a = 1 - p + p/k, each other with b = p/k.
With a record in one bucket and in another the losses are log(a/b), 0 and -log(a/b). The curve is
a - b e^l for 0 <= l <= log(a/b).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import (
    Curve,
    LossKind,
    Tails,
    largest_of,
    mirrored,
    normalised,
    piece,
)
from rdpkit.events.pairs import ResponsePair, StatedPair, TwoOutcomes

# Probabilities that are known up to a few roundings.
_KNOWN = 2.0**-44

Outcomes = Callable[[Any, bool], list[tuple[arb, arb]]]
"""Maps a description, and whether it may leak more or less than the exact one, to the outcomes'
probabilities on either data set, by falling loss."""


def _response(step: ResponsePair, leaks_more: bool) -> list[tuple[arb, arb]]:
    p, k = arb(step.noise_parameter), step.num_buckets
    other = p / k
    true = 1 - p + other
    return [(true, other), ((k - 2) * other, (k - 2) * other), (other, true)]


def _response_curve(step: ResponsePair, leaks_more: bool) -> Curve:
    (a, b), _, _ = _response(step, leaks_more)

    def right(loss: arb) -> arb:
        return piece(loss, (a / b).log(), lambda: a - b * loss.exp(), lambda: arb(0))

    return mirrored(right)


def _two(step: TwoOutcomes, leaks_more: bool) -> list[tuple[arb, arb]]:
    """A likelier outcome that is even likelier, and a rarer one that is even rarer, leak more."""
    rising = step.first >= step.second
    sign = _KNOWN if leaks_more is rising else -_KNOWN
    first, second = arb(step.first * (1.0 + sign)), arb(step.second * (1.0 - sign))
    if not leaks_more and (first < second) is rising:
        # Probabilities that differ by no more than their roundings may be equal.
        second = first
    found = [(first, second), (1 - first, 1 - second)]
    return found if rising else found[::-1]


def _stated(step: StatedPair, leaks_more: bool) -> list[tuple[arb, arb]]:
    delta, grown = arb(step.delta), arb(step.epsilon).exp()
    large, small = (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown)
    # The outcome that only one data set has is taken together with the one beside it.
    return [(delta + large, small), (small, delta + large)]


def _stated_curve(step: StatedPair, leaks_more: bool) -> Curve:
    delta, e = arb(step.delta), arb(step.epsilon)
    grown = e.exp()

    def right(loss: arb) -> arb:
        def inside() -> arb:
            return delta + (1 - delta) * (grown - loss.exp()) / (1 + grown)

        return piece(loss, e, inside, lambda: delta)

    return mirrored(right)


def _sum_curve(outcomes: Outcomes) -> Callable[[Any, bool], Curve]:
    def curve(step: Any, leaks_more: bool) -> Curve:
        found = outcomes(step, leaks_more)

        def height(loss: arb) -> arb:
            grown = loss.exp()
            return sum((largest_of([arb(0), p - grown * q]) for p, q in found), arb(0))

        return height

    return curve


def _losses(outcomes: Outcomes, step: Any, leaks_more: bool = False) -> tuple[Array, Array]:
    """Losses, ascending, and logarithms of their probabilities, in floats."""
    found = [(p, q) for p, q in outcomes(step, leaks_more) if p > 0 and q > 0]
    losses = np.array([float((p / q).log()) for p, q in reversed(found)])
    return losses, np.array([float(p.log()) for p, _ in reversed(found)])


def _tails_of(outcomes: Outcomes) -> Callable[[Any], Tails]:
    def tails(step: Any) -> Tails:
        found = [(p, q) for p, q in outcomes(step, False) if p > 0 and q > 0]
        losses = _losses(outcomes, step)[0][::-1]

        def beyond(place: arb) -> tuple[arb, arb]:
            above = int(np.sum(losses > float(place.mid())))
            if above == len(found):
                return arb(1), arb(1)
            return sum((p for p, _ in found[:above]), arb(0)), sum(
                (q for _, q in found[:above]), arb(0)
            )

        return beyond

    return tails


def _guide_of(outcomes: Outcomes) -> Callable[[Any, float], Guide]:
    def guide(step: Any, reach: float) -> Guide:
        losses, log_masses = _losses(outcomes, step)
        return Guide(losses=losses, log_masses=normalised(log_masses), places=losses)

    return guide


def _largest_of(outcomes: Outcomes) -> Callable[[Any, bool], arb]:
    def largest(step: Any, leaks_more: bool) -> arb:
        p, q = outcomes(step, leaks_more)[0]
        return (p / q).log()

    return largest


RESPONSE = LossKind(
    curve=_response_curve,
    guide=_guide_of(_response),
    tails=_tails_of(_response),
    largest=_largest_of(_response),
    atoms=lambda step: _losses(_response, step, True)[0],
)
TWO_OUTCOMES = LossKind(
    curve=_sum_curve(_two),
    guide=_guide_of(_two),
    tails=_tails_of(_two),
    largest=_largest_of(_two),
    atoms=lambda step: _losses(_two, step, True)[0],
)
STATED = LossKind(
    curve=_stated_curve,
    guide=_guide_of(_stated),
    tails=_tails_of(_stated),
    largest=lambda step, leaks_more: arb(step.epsilon),
    infinite=lambda step: arb(step.delta),
    atoms=lambda step: np.array([-step.epsilon, step.epsilon]),
)
