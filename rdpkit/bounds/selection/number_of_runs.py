r"""The distribution of the number of runs of a selection: its parameter from its mean.

The truncated negative binomial distribution of shape h > -1 and parameter g in (0, 1] has
probabilities proportional to (1-g)^k Gamma(k+h) / k! at k = 1, 2, ...; h = 1 is the geometric and
h = 0 the logarithmic distribution. Its mean is

    h (1 - g) / (g (1 - g^h)),    for h = 0:  (1/g - 1) / log(1/g),

and falls with g from infinity to 1.
"""

from __future__ import annotations

import math
from functools import lru_cache

from flint import arb, ctx

from rdpkit.numerics.balls import float_below

_HALVINGS = 200


def mean_number(log_inverse: float, shape: float) -> arb:
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

    Raises
    ------
    ArithmeticError
        If no float is large enough.
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
            if suffices(middle):
                high = middle
            else:
                low = middle
        return high
