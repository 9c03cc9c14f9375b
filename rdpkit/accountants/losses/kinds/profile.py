"""A release of which points of the privacy profile are known, in both directions."""

from __future__ import annotations

import math

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Guide
from rdpkit.accountants.losses.kinds.base import Curve, LossKind, mirrored
from rdpkit.accountants.losses.steps import ProfileStep


def _profile(step: ProfileStep) -> Curve:
    """The chords between a profile's nodes; constant beyond the last."""
    nodes = [arb(epsilon) for epsilon in step.profile.epsilons]
    # The first value is a float that was rounded: two units in the last place cover it.
    values = [arb(value) for value in step.profile.values]
    values[0] = values[0] * (1 + arb(2) ** -50)

    def height(loss: arb) -> arb:
        for k in range(len(nodes) - 1):
            if loss == nodes[k + 1]:
                return values[k + 1]
            if loss < nodes[k + 1]:
                share = (loss - nodes[k]).expm1() / (nodes[k + 1] - nodes[k]).expm1()
                return values[k] + share * (values[k + 1] - values[k])
        return values[-1]

    return height


def _guide(step: ProfileStep, reach: float) -> Guide:
    epsilons, values = np.array(step.profile.epsilons), np.array(step.profile.values)
    if epsilons.size == 1:
        return Guide(losses=np.zeros(1), log_masses=np.zeros(1))
    # Slopes in e^eps, times e^eps of the node at which they end.
    drops = values[:-1] - values[1:]
    drops[0] = step.profile.first_drop
    width = -np.expm1(epsilons[:-1] - epsilons[1:])
    scaled = drops / width
    before = scaled[1:] * np.exp(epsilons[1:-1] - epsilons[2:])
    masses = scaled.copy()
    masses[:-1] -= before
    masses = np.maximum(masses, 1e-300)
    losses = epsilons[1:]
    log_masses = np.log(masses)
    mirrored = log_masses - losses
    rest = max(1.0 - float(masses.sum() + np.exp(mirrored).sum()) - step.profile.infinite, 1e-300)
    return Guide(
        losses=np.concatenate([-losses[::-1], [0.0], losses]),
        log_masses=np.concatenate([mirrored[::-1], [math.log(rest)], log_masses]),
    )


PROFILE = LossKind(
    curve=lambda step, leaks_more: mirrored(_profile(step)),
    guide=_guide,
    largest=lambda step, leaks_more: arb(step.profile.epsilons[-1]),
    infinite=lambda step: arb(step.profile.infinite),
    atoms=lambda step: _guide(step, 0.0).losses,
)
