r"""Hockey-stick curves of single releases, in balls.

A curve maps a privacy loss l, any real number, to h(e^l) = sup over events of P - e^l Q. It is
enclosed at parameters moved by eight units in the last place, since they are quotients of what
users gave: with less noise, and a larger sampling probability, everything leaks more (data
processing; a smaller probability is a mixture of a larger one with what both members have in
common).

In units of the noise, with s = 1/z and G(x) = P(N(0, 1) > x):

* removed: (1-q) N(0) + q N(s) against N(0): h(e^l) = q d(l'), e^l = 1 - q + q e^l', d the curve of
  N(s) against N(0); 1 - e^l where e^l <= 1 - q.
* replaced: (1-q) N(0) + q N(s) against (1-q) N(0) + q N(rho s), -1 <= rho < 1, at l >= 0, and its
  mirror image h(-l) = 1 - e^-l + e^-l h(l) to the left. The ratio exceeds e^l beyond one point x
  alone: (1-q)(1 - e^l) + q e^(s x - s^2/2) - e^l q e^(rho s x - rho^2 s^2/2) has one change of sign
  in the order of its exponents (Descartes' rule for exponential sums).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb, ctx

from rdpkit.accountants.losses.steps import ProfileStep
from rdpkit.events.losses import Step

Curve = Callable[[arb], arb]
"""Maps a privacy loss to the hockey-stick divergence there."""

_MARGIN = 8 * math.ulp(1.0)
_NEWTON = 60


def curve(step: Step | ProfileStep, *, leaks_more: bool) -> Curve:
    """The step's curve at parameters on one side of the exact ones.

    Parameters
    ----------
    step : Step or ProfileStep
        One release.
    leaks_more : bool
        Whether it is to leak no less than the exact one (for an upper bound), or no more.
    """
    if isinstance(step, ProfileStep):
        return _mirrored(_profile(step))
    q, z = parameters(step, leaks_more=leaks_more)
    if step.kind == "removed":
        return _removed(z, q)
    if step.kind == "added":
        return _added(z, q)
    if step.is_gaussian:
        return lambda loss: gaussian(loss, z)
    if step.other == 0.0:
        return _mirrored(_removed(z, q))
    return _mirrored(_replaced(z, q, arb(step.other)))


def parameters(step: Step, *, leaks_more: bool) -> tuple[arb, arb]:
    """Sampling probability and noise multiplier, eight units in the last place to one side."""
    sign = 1.0 if leaks_more else -1.0
    z = arb(step.noise_multiplier * (1.0 - sign * _MARGIN))
    if step.sampling_probability == 1.0:
        return arb(1), z / (1 - arb(step.other))
    return arb(min(step.sampling_probability * (1.0 + sign * _MARGIN), 1.0)), z


def upper_tail(x: arb) -> arb:
    """P(N(0, 1) > x)."""
    return (x / arb(2).sqrt()).erfc() / 2


def gaussian(loss: arb, z: arb) -> arb:
    """The curve of N(1/z, 1) against N(0, 1)."""
    t = loss * z - 1 / (2 * z)
    return upper_tail(t) - loss.exp() * upper_tail(t + 1 / z)


def _removed(z: arb, q: arb) -> Curve:
    def height(loss: arb) -> arb:
        level = loss.expm1() / q
        if not level > -1:
            return -loss.expm1()
        return q * gaussian(level.log1p(), z)

    return height


def _added(z: arb, q: arb) -> Curve:
    """N(0) against the mixture: c d(l + log(q / c)) with c = 1 - (1-q) e^l, 0 where c <= 0.

    For l >= 0; to the left 1 - e^l + e^l times the other direction's curve at -l. So no difference
    of two numbers of the size of e^l is taken.
    """
    removed = _removed(z, q)

    def height(loss: arb) -> arb:
        if loss < 0:
            return loss.exp() * removed(-loss) - loss.expm1()
        share = q - (1 - q) * loss.expm1()
        if not share > 0:
            return arb(0) if share < 0 else arb(0).union(q * gaussian(loss, z))
        return share * gaussian(loss + (q / share).log(), z)

    return height


def _mirrored(right: Curve) -> Curve:
    """The curve of a symmetric relation, from what it is at losses >= 0."""

    def both(loss: arb) -> arb:
        return loss.exp() * right(-loss) - loss.expm1() if loss < 0 else right(loss)

    return both


def _replaced(z: arb, q: arb, other: arb) -> Curve:
    s = 1 / z

    def height(loss: arb) -> arb:
        ratio = loss.exp()
        x = _threshold(loss, s, q, other)
        both = (1 - q) * -loss.expm1() * upper_tail(x)
        return both + q * (upper_tail(x - s) - ratio * upper_tail(x - other * s))

    return height


def _threshold(loss: arb, s: arb, q: arb, other: arb) -> arb:
    """The point beyond which the ratio exceeds e^loss, loss >= 0."""
    if other == -1:
        # A quadratic equation for e^(s x), times e^(s^2/2).
        half = (1 - q) * loss.expm1() / (2 * q) * (s * s / 2).exp()
        return (half + (half * half + loss.exp()).sqrt()).log() / s
    # log(q e^(s x - s^2/2)) - log((1-q)(e^l - 1) + e^l q e^(rho s x - rho^2 s^2/2)) increases in x
    # with a slope of at least s (1 - max(rho, 0)): so a small value encloses the zero.
    common = (1 - q) * loss.expm1()
    slope = s * (1 - other) if other > 0 else s

    def off(x: arb) -> tuple[arb, arb]:
        second = loss.exp() * q * (other * s * x - (other * s) ** 2 / 2).exp()
        whole = common + second
        return q.log() + s * x - s * s / 2 - whole.log(), s - other * s * second / whole

    x = (loss.expm1() / q).log1p() / s + s * (1 + other) / 2
    for _ in range(_NEWTON):
        x = x.mid()
        value, derivative = off(x)
        distance = abs(value) / slope
        if distance < _tolerance(x):
            break
        x = x - value / derivative
    x = x.mid()
    value, _ = off(x)
    return x + (value / slope).union(-value / slope)


def _tolerance(x: arb) -> arb:
    return (abs(x) + 1) * arb(2) ** (8 - ctx.prec)


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
