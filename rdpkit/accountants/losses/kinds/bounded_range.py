r"""Mechanisms of bounded range, such as the exponential mechanism.

For some t, which depends on the two data sets, all losses lie in [t - epsilon, t]. Of the
mechanisms with one t the worst has losses at both ends alone, t with probability
(1 - e^(t - epsilon)) / (1 - e^-epsilon) (Dong, Durfee and Rogers 2020). Its divergence at l is that
times 1 - e^(l - t), which is largest at t = (epsilon + l) / 2. So with u = e^((l - epsilon)/2) the
curve above all of them is (1 - u)^2 / (1 - e^-epsilon) for -epsilon <= l <= epsilon. The relation
is symmetric, and so is the curve.

If no loss exceeds m, then t is at most m. The divergence is concave in t, and for larger l, where
(epsilon + l) / 2 is above m, it is that of t = m.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import (
    Curve,
    LossKind,
    guide_of_curve,
    mirrored,
    moved,
    normalised,
    piece,
)
from rdpkit.events.pairs import BoundedRange

_POINTS, _FEWER_POINTS = 1500, 301


def _curve(step: BoundedRange, leaks_more: bool) -> Curve:
    epsilon = moved(step.epsilon, leaks_more)
    whole = -((-epsilon).expm1())

    def height(loss: arb) -> arb:
        def within() -> arb:
            return piece(
                loss, epsilon, lambda: ((loss - epsilon) / 2).expm1() ** 2 / whole, lambda: arb(0)
            )

        return piece(loss, -epsilon, lambda: -loss.expm1(), within)

    return height if step.largest is None else mirrored(_limited(step, leaks_more, height))


def _limited(step: BoundedRange, leaks_more: bool, height: Curve) -> Curve:
    """The curve to the right of 0 where no loss exceeds the largest one."""
    epsilon, top = moved(step.epsilon, leaks_more), _largest(step, leaks_more)
    likely = (top - epsilon).expm1() / (-epsilon).expm1()

    def right(loss: arb) -> arb:
        def beyond() -> arb:
            return piece(loss, top, lambda: -likely * (loss - top).expm1(), lambda: arb(0))

        return piece(loss, 2 * top - epsilon, lambda: height(loss), beyond)

    return right


def _largest(step: BoundedRange, leaks_more: bool) -> arb:
    epsilon = moved(step.epsilon, leaks_more)
    return epsilon if step.largest is None else epsilon.min(moved(step.largest, leaks_more))


def _guide(step: BoundedRange, reach: float) -> Guide:
    """The density of the loss is e^((l - epsilon)/2) / 2 / (1 - e^-epsilon)."""
    if step.largest is not None:
        top = min(step.largest, step.epsilon)
        return guide_of_curve(_curve(step, True), np.linspace(-top, top, _FEWER_POINTS), reach)
    epsilon = step.epsilon
    far = min(2.0 * epsilon, 2.0 * reach + 2.0)
    losses = epsilon - np.linspace(far, 0.0, _POINTS)
    if far < 2.0 * epsilon:
        losses = np.concatenate([np.linspace(-epsilon, losses[0], _POINTS)[:-1], losses])
    log_masses = 0.5 * (losses - epsilon) + np.log(np.gradient(losses))
    log_masses -= math.log(2.0)
    return Guide(losses=losses, log_masses=normalised(log_masses), places=losses)


def _atoms(step: BoundedRange) -> Array:
    """Losses that are as large as they may be."""
    return np.empty(0) if step.largest is None else np.array([-step.largest, step.largest])


BOUNDED_RANGE = LossKind(curve=_curve, guide=_guide, largest=_largest, atoms=_atoms)
