r"""The moment of a sampled Gaussian profile in ball arithmetic.

The integral is that of :mod:`rdpkit.numerics.sampled_profile`, in the same letters,

    A - 1 = Integral_0^inf phi(v + s/2) (L^a - 1) (1 - L^(1-a)) dv,   L = 1 + gamma (e^(vs) - 1).

Arb's rigorous integrator computes it up to a finite end. The derivative of log L in v is at most s,
so beyond the end phi(v + s/2) L^a falls at least as fast as a Gaussian around (a - 1/2) s. The rest
of the integral is therefore at most the value at the end over the distance of the end from
(a - 1/2) s.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from flint import acb, arb

from rdpkit.numerics.balls import to_relative_accuracy
from rdpkit.numerics.sampled_profile import log_excess

# The tail and the error of the integrator are to be this many bits smaller than the accuracy
# wanted.
_TAIL_BITS = 16
_GOAL_BITS = 6
# Below this noise multiplier epsilon exceeds 1e9: a wide ball is returned and nothing integrated.
_LEAST_NOISE = 1e-5
# Bits for the roundings, in addition to the bits lost to large exponents and small factors.
_SPARE = 24


def excess(
    # Renyi order > 1 and noise multiplier > 0, taken as exact numbers.
    order: float,
    z: float,
    gamma: arb,  # Sampling probability in (0, 1]
    *,
    # About how many accurate bits of A - 1 are wanted; the radius of the ball is always valid.
    bits: int,
) -> arb:
    """A ball around A - 1 at the working precision in force."""
    a, s = arb(order), 1 / arb(z)
    log_gamma, odds = gamma.log(), (1 - gamma) / gamma
    peak, height = (a - arb(0.5)) * s, a * (a - 1) * s * s / 2

    def before(v: acb, analytic: bool) -> acb:
        log_l = (1 + gamma * (v * s).expm1()).log(analytic)
        u = v + s / 2
        return (a * log_l).expm1() * -((1 - a) * log_l).expm1() * (-u * u / 2).exp()

    def beyond(v: acb, analytic: bool) -> acb:
        # The factor e^(vs) is taken out of the logarithm, because its branch cuts would otherwise
        # run along the path. It goes into the Gaussian, whose centre it shifts. That way no
        # enclosure is a product of a very large and a very small factor, which would be wide.
        grown = log_gamma + (1 + odds * (-v * s).exp()).log(analytic)
        log_l, w = grown + v * s, v - peak
        gaussian = (height + a * grown - w * w / 2).exp()
        return gaussian * (-a * log_l).expm1() * ((1 - a) * log_l).expm1()

    share = float(gamma.mid())
    log_size = float(log_excess(np.array([order]), z, share)[0])
    end = _end(order, z, share, (bits + _TAIL_BITS) * math.log(2.0), log_size)
    goal = arb(2) ** -(bits + _GOAL_BITS)
    absolute = arb(log_size).exp() * goal
    bend = z * math.log1p(1.0 / share)
    total = arb(0)
    for left, right in pairwise([0.0, *_cuts(order, z, bend, end), end]):
        part = beyond if left >= bend else before
        total += acb.integral(part, arb(left), arb(right), rel_tol=goal, abs_tol=absolute).real
    last = arb(end)
    u = last + s / 2
    log_l = (1 + gamma * (last * s).expm1()).log()
    tail = (a * log_l - u * u / 2).exp() / (u - a * s)
    return (total + tail.union(arb(0))) / (2 * arb.pi()).sqrt()


def _end(order: float, z: float, gamma: float, wanted: float, log_size: float) -> float:
    """The end beyond which the tail is about e^-wanted of A - 1."""
    peak = (order - 0.5) / z
    epsilon = peak / z
    if epsilon < 30.0:
        log_l = math.log1p(gamma * math.expm1(epsilon))
    else:
        rest = math.log1p(-gamma) if gamma < 1.0 else -math.inf
        log_l = float(np.logaddexp(math.log(gamma) + epsilon, rest))
    highest = order * log_l - (order / z) ** 2 / 2.0
    return peak + math.sqrt(2.0 * (wanted + 4.0 + max(0.0, highest - log_size)))


def _cuts(order: float, z: float, bend: float, end: float) -> list[float]:
    """Points at and around the peaks and the bend of the integrand, where to divide the path."""
    points = {p + shift for p in (1.5 / z, (order - 0.5) / z) for shift in (-6.0, 0.0, 6.0)}
    points |= {bend + shift * z for shift in (-4.0, 0.0, 6.0)}
    least = 1e-3 * min(z, 1.0)
    return sorted(p for p in points if least < p < end - least)


def rdp_ball(
    # Renyi order > 1 and noise multiplier > 0, taken as exact numbers.
    order: float,
    z: float,
    gamma: arb,  # Sampling probability in (0, 1]
    *,
    # The relative accuracy wanted is 2^-bits; it is not reached below a noise multiplier of 1e-5.
    bits: int = 60,
) -> arb:
    """A ball that contains the profile bound's divergence, log(A) / (order - 1).

    With a noise multiplier below 1e-5 the ball is wide. Its upper end is the divergence without
    amplification. Its lower end is from A > gamma^a e^(a(a-1)/(2 z^2))/2 - 1, which holds because
    the integrand is at least L^a - L - 1, L is at least gamma e^eps, and the means of L and 1 are
    at most 1. Raises ArithmeticError if the accuracy is not reached.
    """
    if z < _LEAST_NOISE:
        a, variance = arb(order), arb(z) * arb(z)
        least = (a * gamma.log() + a * (a - 1) / (2 * variance)).exp() / 2 - 1
        lowest = least.log() / (a - 1) if least > 1 else arb(0)
        return lowest.union(a / (2 * variance))
    small = math.log2(max(z, 1.0)) - math.log2(float(gamma.mid()))
    large = math.log2(1.0 + (order / z) ** 2)
    return to_relative_accuracy(
        lambda: excess(order, z, gamma, bits=bits).log1p() / (arb(order) - 1),
        bits=bits,
        start=bits + _SPARE + math.ceil(max(small, 0.0) + large),
    )
