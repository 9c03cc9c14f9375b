"""One release, or Gaussians alone: the curve itself, without a grid."""

from __future__ import annotations

import math

from flint import arb, ctx

from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.kinds.base import Curve
from rdpkit.accountants.losses.steps import AnyStep
from rdpkit.numerics.balls import float_above, float_below

_START_BITS, _MOST_BITS = 128, 1 << 14
_SHARP = 2.0**-50
_HALVINGS = 1100
# Beyond this, 2^14 bits do not resolve the exponentials of a curve.
_FARTHEST = 2.0**127


def delta(
    step: AnyStep,  # The release
    epsilon: float,  # In nats, >= 0
    *,
    above: bool,  # Whether the number bounds delta from above or from below
) -> float:
    """Delta at an epsilon, rounded to one side."""
    height = _height(_Curves(step, above), epsilon)
    return min(max(float_above(height) if above else float_below(height), 0.0), 1.0)


class _Curves:
    """A step's curve at every precision: what it computes once, it computes at that precision."""

    def __init__(self, step: AnyStep, above: bool) -> None:
        self._step, self._above = step, above
        self._known: dict[int, Curve] = {}

    def __call__(self, loss: arb) -> arb:
        known = self._known.get(ctx.prec)
        if known is None:
            known = self._known[ctx.prec] = kind_of(self._step).curve(self._step, self._above)
        return known(loss)


def _height(of: _Curves, epsilon: float) -> arb:
    """The curve at an epsilon, to nearly double precision, or as well as 2^14 bits can."""
    bits = _START_BITS
    while True:
        with ctx.workprec(bits):
            height = of(arb(epsilon))
        sharp = height.is_finite() and bool(height.rad() <= height.mid() * _SHARP)
        # Numbers too small for a float, or exactly 0, are rounded well enough at any precision.
        small = bool(height.upper() < arb(2) ** -1100)
        if sharp or small or bits >= _MOST_BITS:
            return height
        bits *= 2


def epsilon(
    step: AnyStep,  # The release
    delta: float,  # In (0, 1)
    *,
    # Whether the number bounds epsilon from above (infinity where it is not known to be below
    # 2^127) or from below.
    above: bool,
) -> float:
    """Epsilon at a delta, rounded to one side by bisection down to neighbouring floats."""
    of = _Curves(step, above)
    target = arb(delta)

    def meets(at: float) -> bool:
        """Certainly at most delta, or for a lower bound, not certainly more than it."""
        height = _height(of, at)
        return bool(height <= target) if above else not bool(height > target)

    if meets(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not meets(high):
        low, high = high, 2.0 * high
        if high > _FARTHEST:
            return math.inf if above else low
    for _ in range(_HALVINGS):
        # Far below 1 floats are spaced evenly in their logarithm, so the logarithm is halved.
        middle = math.sqrt(low * high) if low > 0.0 and high > 2.0 * low else 0.5 * (low + high)
        if not low < middle < high or (low == 0.0 and high < 1e-300):
            break
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high if above else low
