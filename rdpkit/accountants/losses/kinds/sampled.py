r"""A record that takes part with a probability, in a release whose own pair is known.

* removed: (1-q) Q + q P against Q: h(e^l) = q h_PQ(e^l'), e^l = 1 - q + q e^l'; 1 - e^l where
  e^l <= 1 - q. added: the same, exchanged.
* replaced, for l >= 0: with e^l = 1 + q (e^L - 1) and b = e^(l - L), the divergence of
  (1-q) R + q P from (1-q) R + q Q is q H_L(P || (1-b) R + b Q), at most
  q ((1-b) H_L(P || R) + b H_L(P || Q)) (advanced joint convexity: Balle, Barthe and Gaboardi 2018,
  Theorem 2, arXiv 1807.01647v2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import (
    Curve,
    LossKind,
    Tails,
    added_curve,
    guide_of_curve,
    mirrored,
    moved_probability,
    removed_curve,
    reversed_curve,
    sided_guide,
)
from rdpkit.events.pairs import SampledPair, SampledReplacement

KindOf = Callable[[Any], LossKind]
# About how many losses of each pair a guide looks at.
_NODES = 400


def sampled(
    kind_of: KindOf,  # Finds the kind of the pair that is sampled
) -> LossKind:
    """The kind of :class:`rdpkit.events.pairs.SampledPair`."""

    def curve(step: SampledPair, leaks_more: bool) -> Curve:
        q = moved_probability(step.sampling_probability, leaks_more)
        removed = removed_curve(kind_of(step.pair).curve(step.pair, leaks_more), q)
        if step.kind == "removed":
            return removed
        if step.pair.is_a_pair:
            return reversed_curve(removed, 1 - q)
        # What is only known from one side is known better of the pair exchanged.
        other = step.pair.reversed()
        return added_curve(kind_of(other).curve(other, leaks_more), removed, q)

    def tails(step: SampledPair) -> Tails:
        of_pair = kind_of(step.pair).tails
        if of_pair is None:
            raise TypeError(f"No pair of distributions is known for {step!r}.")
        inner = of_pair(step.pair)
        q = moved_probability(step.sampling_probability, False)

        def beyond(place: arb) -> tuple[arb, arb]:
            first, second = inner(place)
            mixture = (1 - q) * second + q * first
            return (mixture, second) if step.kind == "removed" else (second, mixture)

        return beyond

    def largest(step: SampledPair, leaks_more: bool) -> arb | None:
        q = moved_probability(step.sampling_probability, leaks_more)
        if step.kind == "removed":
            found = kind_of(step.pair).largest(step.pair, leaks_more)
            return None if found is None else (q * found.expm1()).log1p()
        other = step.pair.reversed()
        least = None if excludes(step) else kind_of(other).largest(other, leaks_more)
        rest = -q if least is None else q * (-least).expm1()
        return -(rest.log1p()) if rest > -1 else None

    def excludes(step: SampledPair) -> bool:
        """Whether an output may show that the record took no part: its loss is -log(1 - q)."""
        other = step.pair.reversed()
        return bool(kind_of(other).infinite(other).upper() > 0)

    def infinite(step: SampledPair) -> arb:
        q = moved_probability(step.sampling_probability, True)
        return q * kind_of(step.pair).infinite(step.pair) if step.kind == "removed" else arb(0)

    def guide(step: SampledPair, reach: float) -> Guide:
        q = step.sampling_probability
        found = kind_of(step.pair).guide(step.pair, reach - math.log(q) + 60.0)
        losses, second = _drawn(found.losses, q), found.log_masses - found.losses
        return sided_guide(step, losses, second + losses, second, found.places)

    def atoms(step: SampledPair) -> Array:
        inner = kind_of(step.pair).atoms(step.pair)
        if excludes(step):
            inner = np.concatenate([[-math.inf], inner])
        found = _drawn(inner, step.sampling_probability)
        return found if step.kind == "removed" else -found[::-1]

    return LossKind(
        curve=curve, guide=guide, tails=tails, largest=largest, infinite=infinite, atoms=atoms
    )


def _drawn(losses: Array, q: float) -> Array:
    """log(1 - q + q e^loss), in floats."""
    with np.errstate(over="ignore"):
        near = np.log1p(q * np.expm1(np.minimum(losses, 1.0)))
    common = math.log1p(-q) if q < 1.0 else -math.inf
    found: Array = np.where(losses < 1.0, near, np.logaddexp(common, math.log(q) + losses))
    return found


def replacement(kind_of: KindOf) -> LossKind:
    """The kind of :class:`rdpkit.events.pairs.SampledReplacement`; parameters as for the other."""

    def curve(step: SampledReplacement, leaks_more: bool) -> Curve:
        q = moved_probability(step.sampling_probability, leaks_more)
        replaced = kind_of(step.replaced).curve(step.replaced, leaks_more)
        removed = kind_of(step.removed).curve(step.removed, leaks_more)

        same = step.replaced == step.removed

        def right(loss: arb) -> arb:
            level = (loss.expm1() / q).log1p()
            if same:
                return q * removed(level)
            share = (loss - level).exp()
            return q * ((1 - share) * removed(level) + share * replaced(level))

        return mirrored(right)

    def largest(step: SampledReplacement, leaks_more: bool) -> arb | None:
        q = moved_probability(step.sampling_probability, leaks_more)
        pairs = (step.replaced, step.removed)
        found = [kind_of(pair).largest(pair, leaks_more) for pair in pairs]
        if found[0] is None or found[1] is None:
            return None
        return (q * found[0].max(found[1]).expm1()).log1p()

    def infinite(step: SampledReplacement) -> arb:
        pairs = (step.replaced, step.removed)
        found = [kind_of(pair).infinite(pair) for pair in pairs]
        return moved_probability(step.sampling_probability, True) * found[0].max(found[1])

    def guide(step: SampledReplacement, reach: float) -> Guide:
        q = step.sampling_probability
        found = []
        for pair in (step.replaced, step.removed):
            losses = kind_of(pair).guide(pair, reach - math.log(q) + 60.0).losses
            right = losses[losses > 0.0]
            found.append(_drawn(right[:: max(1, right.size // _NODES)], q))
            found.append(_drawn(right[-1:], q))
        right = np.unique(np.concatenate(found))
        nodes = np.concatenate([-right[::-1], [0.0], right])
        return guide_of_curve(curve(step, True), nodes, reach)

    def atoms(step: SampledReplacement) -> Array:
        q = step.sampling_probability
        found = [kind_of(pair).atoms(pair) for pair in (step.replaced, step.removed)]
        right = _drawn(np.concatenate([one[one > 0.0] for one in found]), q)
        return np.unique(np.concatenate([-right, [0.0], right]))

    return LossKind(curve=curve, guide=guide, largest=largest, infinite=infinite, atoms=atoms)
