r"""Symmetric Skellam distributions, n integers apart.

Probabilities are log-concave, so that the loss falls along the integers
(:mod:`rdpkit.numerics.skellam`). They are listed as far as they are above e^-720, and tails beyond
that are no smaller than 0.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array
from rdpkit.accountants.losses.kinds.base import Curve
from rdpkit.accountants.losses.kinds.lattice import LatticeLaw, height_at, lattice_kind, listed
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import SkellamPair
from rdpkit.numerics import skellam


def _at_most(m: int, step: SkellamPair) -> arb:
    return skellam.upper_tail(-m - 1, step.variance)


@lru_cache(maxsize=16)
def _all_losses(step: SkellamPair) -> tuple[int, Array]:
    """The first integer that is listed, and the losses from there on, which fall."""
    logs = skellam.log_masses(step.variance)
    last = logs.size - 1
    k = np.arange(step.distance - last, last + 1)
    if k.size < 2:
        raise NoLossDistributionError("The noise is too small for the distance.")
    return int(k[0]), logs[np.abs(k)] - logs[np.abs(k - step.distance)]


def _threshold(loss: float, step: SkellamPair) -> int:
    first, losses = _all_losses(step)
    return first + int(np.searchsorted(-losses, -loss)) - 1


def _integers(step: SkellamPair, reach: float) -> Array:
    first, losses = _all_losses(step)
    logs = skellam.log_masses(step.variance)
    far = int(np.searchsorted(-logs, reach + 2.0)) + 1
    low, high = max(-far, first), min(step.distance + far, first + losses.size - 1)
    found = listed(low, high, (0.0, float(step.distance)), float(far))
    return found[(found >= low) & (found <= high)]


def _losses(k: Array, step: SkellamPair) -> Array:
    first, losses = _all_losses(step)
    return losses[k.astype(np.int64) - first]


def _log_densities(k: Array, step: SkellamPair) -> Array:
    return skellam.log_masses(step.variance)[np.abs(k).astype(np.int64)]


_LAW = LatticeLaw(
    at_most=_at_most,
    threshold=_threshold,
    integers=_integers,
    losses=_losses,
    log_densities=_log_densities,
)
_LISTED = lattice_kind(_LAW)


def _curve(step: SkellamPair, leaks_more: bool) -> Curve:
    inside = _LISTED.curve(step, leaks_more)
    first, losses = _all_losses(step)

    def height(loss: arb) -> arb:
        if losses[-1] < float(loss.mid()) < losses[0]:
            return inside(loss)
        # Only integers that are not listed have a larger loss, or a smaller one.
        end, sign = (first, 1) if loss > 0 else (first + losses.size - 1, -1)
        if height_at(_LAW, step, loss, end + sign) > height_at(_LAW, step, loss, end):
            raise NoLossDistributionError("Floats do not say where a loss is exceeded.")
        beyond = arb(0).union(_at_most(first, step))
        return beyond if loss > 0 else loss.exp() * beyond - loss.expm1()

    return height


SKELLAM = replace(_LISTED, curve=_curve)
