r"""The distribution of the number of runs of a selection: its parameter from its mean.

The truncated negative binomial distribution of shape h > -1 and parameter g in (0, 1] has
probabilities proportional to (1-g)^k Gamma(k+h) / k! at k = 1, 2, ...; h = 1 is the geometric and
h = 0 the logarithmic distribution. Its mean is

    h (1 - g) / (g (1 - g^h)),    for h = 0:  (1/g - 1) / log(1/g),

and falls with g from infinity to 1. The mean of s^K is, with t = 1 - (1 - g) s,

    (t^-h - 1) / (g^-h - 1),    for h = 0:  log(t) / log(g).
"""

from __future__ import annotations

import math
from functools import lru_cache

from flint import arb, ctx

from rdpkit.numerics.balls import float_below

_HALVINGS = 200


def mean_number(log_inverse: float | arb, shape: float) -> arb:
    """A ball around the mean, where ``log_inverse`` is log(1/g)."""
    if log_inverse == 0.0:
        return arb(1)
    x = arb(log_inverse)
    if shape == 0.0:
        return x.expm1() / x
    # h (e^x - 1) / (1 - e^(-h x)).
    return -arb(shape) * x.expm1() / (-arb(shape) * x).expm1()


@lru_cache(maxsize=256)
def log_inverse_parameter(
    mean: float,  # At least 1
    shape: float,  # Above -1 and finite
) -> float:
    """A float that is certainly at least log(1/g), and very close to it.

    Raises ArithmeticError if no float is large enough.
    """
    if mean == 1.0:
        return 0.0
    with ctx.workprec(256):

        def suffices(x: float) -> bool:
            return float_below(mean_number(x, shape)) >= mean

        low, high = 0.0, 1.0
        while not suffices(high):
            low, high = high, 2.0 * high
            if math.isinf(high) or high > 1e9:
                raise ArithmeticError(f"No number of runs of shape {shape!r} has mean {mean!r}.")
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            if not low < middle < high or high - low <= 4.0 * math.ulp(high):
                break
            low, high = (low, middle) if suffices(middle) else (middle, high)
        return high


@lru_cache(maxsize=256)
def _log_inverse_ball(mean: float, shape: float, bits: int) -> arb:
    """A ball around log(1/g), which the float is a few units in the last place above."""
    high = arb(log_inverse_parameter(mean, shape))
    low = high * (1 - 16 * arb(math.ulp(1.0)))
    for _ in range(bits):
        middle = ((low + high) / 2).mid()
        found = mean_number(middle, shape)
        if found < mean:
            low = middle
        elif found > mean:
            high = middle
        else:
            break
    return low.union(high)


def mean_of_power(
    s: arb,  # In [0, 1]
    mean: float,
    shape: float,  # inf for the Poisson distribution
) -> arb:
    """A ball around the mean of s^K."""
    if math.isinf(shape):
        return (arb(mean) * (s - 1)).exp()
    if mean == 1.0:
        return s
    x = _log_inverse_ball(mean, shape, ctx.prec)
    t = (-x).exp() - (-x).expm1() * (1 - s)
    if shape == 0.0:
        return -t.log() / x
    return (-arb(shape) * t.log()).expm1() / (arb(shape) * x).expm1()
