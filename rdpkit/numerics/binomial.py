"""Tails of binomial distributions, enclosed."""

from __future__ import annotations

import math

from flint import arb, ctx

from rdpkit.numerics.balls import float_above, float_below

_START, _MOST = 192, 1 << 14
_MARGIN = 8 * math.ulp(1.0)


def binomial_tail(
    count: int,  # Number of trials, >= 0
    probability: float,  # In [0, 1]; it may carry a few roundings
    least: int,  # Any integer
) -> tuple[float, float]:
    """P(K >= least) for K binomial: a lower and an upper bound.

    Raises ArithmeticError if 2^14 bits do not suffice.
    """
    if least <= 0:
        return 1.0, 1.0
    if least > count or probability == 0.0:
        return 0.0, 0.0
    if probability == 1.0:
        return 1.0, 1.0
    low = _tail(count, probability * (1.0 - _MARGIN), least)
    high = _tail(count, min(probability * (1.0 + _MARGIN), 1.0), least)
    return max(float_below(low), 0.0), min(float_above(high), 1.0)


def _tail(count: int, probability: float, least: int) -> arb:
    if probability == 1.0:
        return arb(1)
    bits = _START
    while bits <= _MOST:
        with ctx.workprec(bits):
            # The regularised incomplete beta function (Abramowitz and Stegun, 26.5.24).
            found = arb(probability).beta_lower(least, count - least + 1, regularized=True)
            if found.is_finite() and found.rad() < abs(found.mid()) * arb(2) ** -50:
                return found
        bits *= 2
    raise ArithmeticError(f"A binomial tail P(K >= {least}) of {count} trials was not enclosed.")
