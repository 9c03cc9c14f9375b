"""One of several pairs, of which it is seen which.

Where chance decides, the curve is the mean of their curves; of a branch with probabilities w and v
under the two members it is w h(l + log(v / w)). Where an adversary does, it is the largest of them,
point by point: it is convex as they are, and above the curve of each. Where each of them bounds one
release, so does the largest convex curve below all of them, because the true one is convex: here
chords of it, in e^l, between knots.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import (
    Curve,
    LossKind,
    guide_of_curve,
    largest_of,
    normalised,
)
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import BranchedPair, LargestOf, LeastOf

_LIGHTEST = 1e-300
# Corners of a convex curve: how many are looked for, how far apart they are over a usual loss, and
# how improbable losses beyond them are.
_KNOTS, _NEAR, _REACH, _BITS, _BEYOND = 300, 0.003, 80.0, 320, 1.0 + 1e-9

KindOf = Callable[[Any], LossKind]


def branched(
    kind_of: KindOf,  # Finds the kind of a branch
) -> LossKind:
    """The kind of :class:`rdpkit.events.pairs.BranchedPair`."""

    def curve(step: BranchedPair, leaks_more: bool) -> Curve:
        curves = [kind_of(one).curve(one, leaks_more) for one in step.branches]
        weights = [arb(weight) for weight in step.weights]
        # What the second member has too little of makes the divergence larger.
        second = [arb(weight) * (1 - arb(step.off)) for weight in step.second or ()]
        shifts = [arb(0)] * len(weights)
        if second:
            shifts = [(v / w).log() for v, w in zip(second, weights, strict=True)]

        def height(loss: arb) -> arb:
            parts = [w * one(loss + s) for w, one, s in zip(weights, curves, shifts, strict=True)]
            return sum(parts, arb(0))

        return height

    def guide(step: BranchedPair, reach: float) -> Guide:
        return _guide(kind_of, step.branches, step.weights, reach, step.second or step.weights)

    def largest(step: BranchedPair, leaks_more: bool) -> arb | None:
        found = _largest(kind_of, step.branches, leaks_more)
        if found is None or step.second is None:
            return found
        # Not much above the largest of them.
        ratios = [
            arb(w) / (arb(v) * (1 - arb(step.off)))
            for w, v in zip(step.weights, step.second, strict=True)
        ]
        return found + largest_of(ratios).log().max(arb(0))

    def infinite(step: BranchedPair) -> arb:
        parts = [
            w * kind_of(one).infinite(one)
            for w, one in zip(step.weights, step.branches, strict=True)
        ]
        return sum(parts, arb(0))

    def atoms(step: BranchedPair) -> Array:
        return np.unique(np.concatenate([kind_of(one).atoms(one) for one in step.branches]))

    return LossKind(curve=curve, guide=guide, largest=largest, infinite=infinite, atoms=atoms)


def largest_branch(kind_of: KindOf) -> LossKind:
    """The kind of :class:`rdpkit.events.pairs.LargestOf`; parameters as for the other."""

    def curve(step: LargestOf, leaks_more: bool) -> Curve:
        curves = [kind_of(one).curve(one, leaks_more) for one in step.branches]
        return lambda loss: largest_of([one(loss) for one in curves])

    def guide(step: LargestOf, reach: float) -> Guide:
        return _guide(kind_of, step.branches, (1.0,) * len(step.branches), reach)

    def largest(step: LargestOf, leaks_more: bool) -> arb | None:
        return _largest(kind_of, step.branches, leaks_more)

    def infinite(step: LargestOf) -> arb:
        return largest_of([kind_of(one).infinite(one) for one in step.branches])

    def atoms(step: LargestOf) -> Array:
        return np.unique(np.concatenate([kind_of(one).atoms(one) for one in step.branches]))

    return LossKind(curve=curve, guide=guide, largest=largest, infinite=infinite, atoms=atoms)


def least_branch(kind_of: KindOf) -> LossKind:
    """The kind of :class:`rdpkit.events.pairs.LeastOf`; parameters as for the other."""

    @lru_cache(maxsize=16)
    def knots(step: LeastOf) -> tuple[list[float], list[arb], list[arb]]:
        """Losses, their exponentials, and the least of all curves: corners of a convex curve."""
        found = _guide(kind_of, step.branches, (1.0,) * len(step.branches), _REACH)
        # Losses that differ by less than a common one count once.
        near = _NEAR * math.sqrt(float((np.exp(found.log_masses) * found.losses**2).sum()))
        if not near > 0.0:
            raise NoLossDistributionError(
                "Losses this small, or this large, floats do not tell apart."
            )
        apart = np.unique(np.round(found.losses / near)) * near
        some = apart[np.linspace(0, apart.size - 1, _KNOTS).astype(np.int64)]
        kept: list[tuple[float, arb, arb]] = []
        with ctx.workprec(_BITS):
            curves = [kind_of(one).curve(one, True) for one in step.branches]
            places = np.unique(np.concatenate([some, [0.0], _ends(kind_of, step)]))
            for place in places.tolist():
                ratio = arb(place).exp()
                heights = [curve(arb(place)) for curve in curves]
                low = min(heights, key=lambda one: float(one.mid()))
                # Any corners are valid; those above the chord of their neighbours are left out.
                while len(kept) > 1 and (
                    (kept[-1][2] - kept[-2][2]) * (ratio - kept[-2][1])
                    >= (low - kept[-2][2]) * (kept[-1][1] - kept[-2][1])
                ):
                    kept.pop()
                kept.append((place, ratio, low))
        losses, ratios, values = zip(*kept, strict=True)
        return list(losses), list(ratios), list(values)

    def curve(step: LeastOf, leaks_more: bool) -> Curve:
        if not leaks_more:
            raise TypeError(f"No pair of distributions is known for {step!r}.")
        losses, ratios, values = knots(step)

        def chord(at: int, ratio: arb) -> arb:
            if at == len(losses):
                return values[-1]
            # At a ratio of 0 every curve is 1.
            low, high = (ratios[at - 1], values[at - 1]) if at else (arb(0), arb(1))
            return high + (ratio - low) / (ratios[at] - low) * (values[at] - high)

        def height(loss: arb) -> arb:
            ratio = loss.exp()
            at = bisect_right(losses, float(loss.mid()))
            # Beside a corner the ball may be on either side of it.
            near = range(max(at - 1, 0), min(at + 1, len(losses)) + 1)
            return largest_of(
                [chord(k, ratio) for k in near if k == at or _beside(loss, losses, k)]
            )

        return height

    def guide(step: LeastOf, reach: float) -> Guide:
        return guide_of_curve(curve(step, True), atoms(step), reach)

    def infinite(step: LeastOf) -> arb:
        return arb(knots(step)[2][-1].upper())

    def largest(step: LeastOf, leaks_more: bool) -> arb | None:
        losses, _, values = knots(step)
        return arb(next(x for x, y in zip(losses, values, strict=True) if not y > values[-1]))

    def atoms(step: LeastOf) -> Array:
        return np.array(knots(step)[0])

    return LossKind(curve=curve, guide=guide, infinite=infinite, atoms=atoms, largest=largest)


def _ends(kind_of: KindOf, step: LeastOf) -> Array:
    """A little beyond the largest loss of each branch, of a symmetric relation on either side."""
    if step.reversed() != step:
        return np.zeros(0)
    found = [kind_of(one).largest(one, True) for one in step.branches]
    ends = np.array([_BEYOND * float(one.mid()) for one in found if one is not None])
    return np.concatenate([-ends, ends])


def _beside(loss: arb, losses: list[float], piece: int) -> bool:
    """Whether a ball reaches into a piece between two corners."""
    above = piece == 0 or not loss < losses[piece - 1]
    return above and (piece == len(losses) or not loss > losses[piece])


def _guide(
    kind_of: KindOf,
    branches: tuple[Any, ...],
    weights: tuple[float, ...],
    reach: float,
    second: tuple[float, ...] | None = None,
) -> Guide:
    losses, masses = [], []
    for weight, other, one in zip(weights, second or weights, branches, strict=True):
        found = kind_of(one).guide(one, reach)
        losses.append(found.losses + math.log(weight / other))
        masses.append(found.log_masses + math.log(max(weight, _LIGHTEST)))
    together, logs = np.concatenate(losses), np.concatenate(masses)
    order = np.argsort(together)
    return Guide(losses=together[order], log_masses=normalised(logs[order]))


def _largest(kind_of: KindOf, branches: tuple[Any, ...], leaks_more: bool) -> arb | None:
    found = [kind_of(one).largest(one, leaks_more) for one in branches]
    known = [one for one in found if one is not None]
    return largest_of(known) if len(known) == len(found) else None
