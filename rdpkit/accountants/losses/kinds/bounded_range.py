r"""Mechanisms of bounded range, such as the exponential mechanism.

For some t, which depends on the two data sets, all losses lie in [t - epsilon, t]. Of the
mechanisms with one t the worst has losses at both ends alone, t with probability
(1 - e^(t - epsilon)) / (1 - e^-epsilon) (Dong, Durfee and Rogers 2020). Its divergence at l is that
times 1 - e^(l - t), which is largest at t = (epsilon + l) / 2. So with u = e^((l - epsilon)/2) the
curve above all of them is (1 - u)^2 / (1 - e^-epsilon) for -epsilon <= l <= epsilon. The relation
is symmetric, and so is the curve.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Guide
from rdpkit.accountants.losses.kinds.base import Curve, LossKind, moved, normalised, piece
from rdpkit.events.pairs import BoundedRange

_POINTS = 1500


def _curve(step: BoundedRange, leaks_more: bool) -> Curve:
    epsilon = moved(step.epsilon, leaks_more)
    whole = -((-epsilon).expm1())

    def height(loss: arb) -> arb:
        def within() -> arb:
            return piece(
                loss, epsilon, lambda: ((loss - epsilon) / 2).expm1() ** 2 / whole, lambda: arb(0)
            )

        return piece(loss, -epsilon, lambda: -loss.expm1(), within)

    return height


def _largest(step: BoundedRange, leaks_more: bool) -> arb:
    return moved(step.epsilon, leaks_more)


def _guide(step: BoundedRange, reach: float) -> Guide:
    """The density of the loss is e^((l - epsilon)/2) / 2 / (1 - e^-epsilon)."""
    epsilon = step.epsilon
    far = min(2.0 * epsilon, 2.0 * reach + 2.0)
    losses = epsilon - np.linspace(far, 0.0, _POINTS)
    if far < 2.0 * epsilon:
        losses = np.concatenate([np.linspace(-epsilon, losses[0], _POINTS)[:-1], losses])
    log_masses = 0.5 * (losses - epsilon) + np.log(np.gradient(losses))
    log_masses -= math.log(2.0)
    return Guide(losses=losses, log_masses=normalised(log_masses), places=losses)


BOUNDED_RANGE = LossKind(curve=_curve, guide=_guide, largest=_largest)
