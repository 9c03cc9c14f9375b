"""One of several pairs, of which it is seen which.

Where chance decides, the curve is the mean of their curves. Where an adversary does, it is the
largest of them, point by point: it is convex as they are, and above the curve of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import Curve, LossKind, largest_of, normalised
from rdpkit.events.pairs import BranchedPair, LargestOf

_LIGHTEST = 1e-300

KindOf = Callable[[Any], LossKind]


def branched(
    kind_of: KindOf,  # Finds the kind of a branch
) -> LossKind:
    """The kind of :class:`rdpkit.events.pairs.BranchedPair`."""

    def curve(step: BranchedPair, leaks_more: bool) -> Curve:
        curves = [kind_of(one).curve(one, leaks_more) for one in step.branches]
        weights = [arb(weight) for weight in step.weights]

        def height(loss: arb) -> arb:
            parts = [w * one(loss) for w, one in zip(weights, curves, strict=True)]
            return sum(parts, arb(0))

        return height

    def guide(step: BranchedPair, reach: float) -> Guide:
        return _guide(kind_of, step.branches, step.weights, reach)

    def largest(step: BranchedPair, leaks_more: bool) -> arb | None:
        return _largest(kind_of, step.branches, leaks_more)

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


def _guide(
    kind_of: KindOf, branches: tuple[Any, ...], weights: tuple[float, ...], reach: float
) -> Guide:
    losses, masses = [], []
    for weight, one in zip(weights, branches, strict=True):
        found = kind_of(one).guide(one, reach)
        losses.append(found.losses)
        masses.append(found.log_masses + math.log(max(weight, _LIGHTEST)))
    together, logs = np.concatenate(losses), np.concatenate(masses)
    order = np.argsort(together)
    return Guide(losses=together[order], log_masses=normalised(logs[order]))


def _largest(kind_of: KindOf, branches: tuple[Any, ...], leaks_more: bool) -> arb | None:
    found = [kind_of(one).largest(one, leaks_more) for one in branches]
    known = [one for one in found if one is not None]
    return largest_of(known) if len(known) == len(found) else None
