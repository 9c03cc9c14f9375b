"""Ball arithmetic (python-flint's arb): precision that adapts, and rounding outwards to floats."""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb, ctx

_MAX_BITS = 1 << 16


def float_below(ball: arb) -> float:
    """A float that is certainly at most every number of the ball."""
    return math.nextafter(float(ball.lower()), -math.inf)


def float_above(ball: arb) -> float:
    """A float that is certainly at least every number of the ball."""
    return math.nextafter(float(ball.upper()), math.inf)


_ULPS = 8


def over_rounded_inputs(
    compute: Callable[[float, float], arb], noise_multiplier: float, sampling_probability: float
) -> arb:
    """Enclose a divergence when its two arguments are results of float arithmetic.

    The divergence falls with the noise multiplier and rises with the sampling probability. Both
    arguments carry a few roundings; evaluating at the two ends, eight units in the last place away,
    encloses the value at the exact arguments.

    Parameters
    ----------
    compute : callable
        Maps (noise multiplier, sampling probability), exact, to a ball.
    noise_multiplier, sampling_probability : float
        Within eight units in the last place of the exact values.
    """
    z, q = noise_multiplier, sampling_probability
    margin = _ULPS * math.ulp(1.0)
    smallest = compute(z * (1.0 + margin), q * (1.0 - margin))
    largest = compute(z * (1.0 - margin), min(q * (1.0 + margin), 1.0))
    return smallest.union(largest)


def to_relative_accuracy(compute: Callable[[], arb], *, bits: int, start: int) -> arb:
    """Repeat a ball computation at growing precision until it is good to 2^-bits relative.

    Parameters
    ----------
    compute : callable
        Evaluates the quantity at the working precision in force.
    bits : int
        Accuracy asked for; a ball that is exactly zero is accepted.
    start : int
        Working precision in bits to begin with.

    Raises
    ------
    ArithmeticError
        If 65,536 bits do not suffice: the failure is never returned as a number.
    """
    precision = start
    while precision <= _MAX_BITS:
        with ctx.workprec(precision):
            ball = compute()
            if ball.is_finite() and (ball.rel_accuracy_bits() >= bits or ball == 0):
                return ball
        precision *= 2
    raise ArithmeticError(f"No enclosure to {bits} bits was reached with {_MAX_BITS} bits.")
