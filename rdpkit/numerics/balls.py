"""Ball arithmetic with python-flint: adaptive precision, and rounding outwards to floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx, fmpq

_MAX_BITS = 1 << 16
# Arguments that carry a few roundings are off by at most this many units in the last place.
_ULPS = 8


def float_below(ball: arb) -> float:
    """A float that is certainly at most every number of the ball."""
    return math.nextafter(float(ball.lower()), -math.inf)


def float_above(ball: arb) -> float:
    """A float that is certainly at least every number of the ball."""
    return math.nextafter(float(ball.upper()), math.inf)


def rational(number: float | Fraction) -> fmpq:
    """A float or a fraction as an exact rational number."""
    fraction = Fraction(number)
    return fmpq(fraction.numerator, fraction.denominator)


def over_rounded_inputs(
    # Maps a noise multiplier and a sampling probability, both taken as exact, to a ball.
    compute: Callable[[float, float], arb],
    # The computed arguments, within eight units in the last place of the exact values.
    noise_multiplier: float,
    sampling_probability: float,
) -> arb:
    """Enclose a divergence when its two arguments are results of float arithmetic.

    The divergence falls with the noise multiplier and rises with the sampling probability. Its
    values eight units in the last place to either side therefore enclose its value at the exact
    arguments.
    """
    z, q = noise_multiplier, sampling_probability
    margin = _ULPS * math.ulp(1.0)
    with ctx.workprec(128):
        smallest = compute(z * (1.0 + margin), q * (1.0 - margin))
        largest = compute(z * (1.0 - margin), min(q * (1.0 + margin), 1.0))
        return smallest.union(largest)


def to_relative_accuracy(
    compute: Callable[[], arb],  # Evaluates the quantity at the working precision in force
    *,
    # The relative accuracy wanted is 2^-bits; a ball that is exactly zero is accepted.
    bits: int = 60,
    start: int = 128,  # The first working precision, in bits
) -> arb:
    """Repeat a computation in balls, with twice the precision each time, until it is accurate.

    Raises ArithmeticError if a precision of 65,536 bits does not suffice.
    """
    precision = start
    while precision <= _MAX_BITS:
        with ctx.workprec(precision):
            ball = compute()
            if ball.is_finite() and (ball.rel_accuracy_bits() >= bits or ball == 0):
                return ball
        precision *= 2
    raise ArithmeticError(f"No enclosure to {bits} bits was reached with {_MAX_BITS} bits.")


def upper_tail(x: arb) -> arb:
    """P(N(0, 1) > x)."""
    return (x / arb(2).sqrt()).erfc() / 2
