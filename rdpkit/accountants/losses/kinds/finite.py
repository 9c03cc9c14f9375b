r"""Compositions of releases with a handful of outcomes each: every sum of losses, without a grid.

A release with two outcomes, taken n times, has n + 1 different sums of losses, and their
probabilities are the coefficients of (p_0 + p_1 x)^n under one member and of (q_0 + q_1 x)^n under
the other. The same is true of three outcomes whose losses are equally far apart. The divergence at
l is the sum of P - e^l Q over all sums above l, so the curve is straight in e^l between two sums.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from flint import arb, arb_poly

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import Curve, LossKind, largest_of, moved_probability
from rdpkit.accountants.losses.kinds.outcomes import finite_outcomes, infinite_outcomes
from rdpkit.accountants.losses.kinds.response import _response, _two
from rdpkit.accountants.losses.steps import FiniteSum
from rdpkit.events.pairs import Outcomes, ResponsePair, SampledPair, StatedPair, TwoOutcomes

_MOST_SUMS = 5_000
# Losses that floats do not tell from a place are looked at one by one.
_BESIDE = 1e-9
_PAIR = 2


def has_few_sums(releases: tuple[tuple[Any, int], ...]) -> bool:
    """Whether all sums of losses can be listed."""
    sums = 1
    for step, count in releases:
        inner = step.pair if isinstance(step, SampledPair) else step
        if isinstance(step, SampledPair) and getattr(inner, "delta", 0.0) > 0.0:
            return False
        if isinstance(inner, ResponsePair) and inner is step:
            sums *= 2 * count + 1
        elif isinstance(inner, (StatedPair, TwoOutcomes)) or _is_short(step):
            sums *= count + 1
        else:
            return False
    return sums <= _MOST_SUMS


def _is_short(step: Any) -> bool:
    """Whether a pair of several outcomes has two at most that both members have."""
    if not isinstance(step, Outcomes):
        return False
    return sum(min(both) > 0.0 for both in zip(step.first, step.second, strict=True)) <= _PAIR


def _outcomes(step: Any, leaks_more: bool) -> list[tuple[arb, arb]]:
    """Probabilities of the outcomes with a finite loss, which falls by equal steps."""
    if isinstance(step, SampledPair):
        q = moved_probability(step.sampling_probability, leaks_more)
        mixed = [((1 - q) * b + q * a, b) for a, b in _outcomes(step.pair, leaks_more)]
        return mixed if step.kind == "removed" else [(b, a) for a, b in reversed(mixed)]
    if isinstance(step, Outcomes):
        return finite_outcomes(step, leaks_more)
    if isinstance(step, StatedPair):
        delta, grown = arb(step.delta), arb(step.epsilon).exp()
        large, small = (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown)
        return [(large, small), (small, large)]
    return (_response if isinstance(step, ResponsePair) else _two)(step, leaks_more)


def _sums(step: Any, count: int, leaks_more: bool) -> list[tuple[arb, arb, arb]]:
    """Every sum of ``count`` losses: both probabilities, and the sum."""
    found = _outcomes(step, leaks_more)
    first = (found[0][0] / found[0][1]).log()
    last = (found[-1][0] / found[-1][1]).log()
    apart = (first - last) / max(len(found) - 1, 1)
    size = count * (len(found) - 1) + 1
    both = [arb_poly([one[side] for one in found]) ** count for side in (0, 1)]
    return [(both[0][k], both[1][k], count * first - k * apart) for k in range(size)]


def _all_sums(step: FiniteSum, leaks_more: bool) -> list[tuple[arb, arb, float]]:
    """Every sum over all releases, the largest first."""
    parts = [_sums(one, count, leaks_more) for one, count in step.releases]
    found = []
    for choice in product(*parts):
        first, second, loss = arb(1), arb(1), arb(0)
        for p, q, each in choice:
            first, second, loss = first * p, second * q, loss + each
        found.append((first, second, float(loss.mid())))
    return sorted(found, key=lambda one: -one[2])


def finite_sum(
    kind_of: Callable[[Any], LossKind],  # Finds the kind of a release
) -> LossKind:
    """The kind of :class:`rdpkit.accountants.losses.steps.FiniteSum`."""

    def curve(step: FiniteSum, leaks_more: bool) -> Curve:
        found = _all_sums(step, leaks_more)
        falling = [-loss for _, _, loss in found]
        totals = [(arb(0), arb(0))]
        for p, q, _ in found:
            totals.append((totals[-1][0] + p, totals[-1][1] + q))
        rest = _infinite(step, leaks_more)

        def height(loss: arb) -> arb:
            place, grown = float(loss.mid()), loss.exp()
            beside = _BESIDE * (1.0 + abs(place))
            above = bisect_left(falling, -place - beside)
            total = rest + totals[above][0] - grown * totals[above][1]
            for p, q, one in found[above:]:
                if one < place - beside:
                    break
                total += largest_of([arb(0), p - grown * q])
            return total

        return height

    def largest(step: FiniteSum, leaks_more: bool) -> arb:
        each = [(kind_of(one).largest(one, leaks_more), n) for one, n in step.releases]
        return sum((n * loss for loss, n in each if loss is not None), arb(0))

    def _infinite(step: FiniteSum, leaks_more: bool) -> arb:
        alone = [
            (
                infinite_outcomes(one, False)
                if isinstance(one, Outcomes) and not leaks_more
                else kind_of(one).infinite(one),
                n,
            )
            for one, n in step.releases
        ]
        return -sum([n * (-each).log1p() for each, n in alone], arb(0)).expm1()

    def infinite(step: FiniteSum) -> arb:
        return _infinite(step, True)

    def atoms(step: FiniteSum) -> Array:
        return np.unique([loss for _, _, loss in _all_sums(step, True) if math.isfinite(loss)])

    def guide(step: FiniteSum, reach: float) -> Guide:
        raise TypeError("All sums of losses are known, so that none are looked for.")

    return LossKind(curve=curve, guide=guide, largest=largest, infinite=infinite, atoms=atoms)
