r"""The moment of a sampled Gaussian profile in ball arithmetic, by an integral of powers alone.

The profile bound's hockey-stick integral (theory page "Profile sampling") can be integrated once
more. With Q = N(0, z^2), w the ratio of N(1, z^2) to it and S = 1 + gamma (w - 1), the profile at
g >= 1 is E_Q[(S - g)_+], and exchanging expectation and integral

    A - 1 = a (a-1) Integral_1^inf [g^(a-2) + g^(-a-1)] E_Q[(S - g)_+] dg
          = E_Q[ S^a + S^(1-a) - S - 1;  S >= 1 ] = E_Q[ (S^a - 1) (1 - S^(1-a));  t >= 1/2 ],

S >= 1 being t >= 1/2 in the variable of Q. Nothing but exponentials and logarithms is left.

Beyond t > a the integrand is at most that of S^a, whose logarithm falls there at least as fast as
that of a Gaussian around a (:mod:`rdpkit.numerics.sampled_gaussian_trapezoid`).
"""

from __future__ import annotations

import math
from itertools import pairwise

from flint import acb, arb

from rdpkit.numerics.balls import to_relative_accuracy

# Bits that are kept beyond what the integral is to be good to.
_GUARD = 16
_SPARE = 32


def excess(order: float, z: float, gamma: arb, *, bits: int) -> arb:
    """A ball around A - 1 at the working precision in force.

    Parameters
    ----------
    order, z : float
        Renyi order > 1 and noise multiplier > 0, taken as exact numbers.
    gamma : arb
        Sampling probability in (0, 1].
    bits : int
        About how many bits of A - 1 are asked for; the ball says how many it has.
    """
    a = arb(order)
    square = arb(z) * arb(z)
    half = 1 / (2 * square)

    def integrand(t: acb, analytic: bool) -> acb:
        log_s = (1 + gamma * ((2 * t - 1) * half).expm1()).log(analytic)
        return (a * log_s).expm1() * -((1 - a) * log_s).expm1() * (-t * t * half).exp()

    share = float(gamma.mid())
    # About the smallest that A - 1 may be, so that nothing is computed to more digits than it has.
    least = 0.5 * (share / z) ** 2 * order * (order - 1.0)
    wanted = (bits + _GUARD) * math.log(2.0) - math.log(min(least, 1.0) or 1e-300)
    end = order + z * math.sqrt(2.0 * wanted + 4.0)
    goal = arb(2) ** -(bits + _GUARD // 2)
    total = arb(0)
    for left, right in pairwise([0.5, *_cuts(order, z, share, end), end]):
        found = acb.integral(
            integrand, arb(left), arb(right), rel_tol=goal, abs_tol=goal * arb(least) * z
        )
        total += found.real
    # What is beyond the end is at most f(end) z^2 / (end - a), f the integrand of S^a.
    last = arb(end)
    log_s = (1 + gamma * ((2 * last - 1) * half).expm1()).log()
    tail = (a * log_s - last * last * half).exp() * square / (last - a)
    return (total + tail.union(arb(0))) / (arb(z) * (2 * arb.pi()).sqrt())


def _cuts(order: float, z: float, gamma: float, end: float) -> list[float]:
    """Where the integrand has its peaks and its bend, and to either side of them."""
    bend = 0.5 + z * z * math.log1p(1.0 / gamma)
    points = {p + shift * z for p in (0.5, 2.0, bend, order) for shift in (-6.0, 0.0, 6.0)}
    return sorted(p for p in points if 0.5 + 1e-3 * z < p < end - 1e-3 * z)


def rdp_ball(order: float, z: float, gamma: arb, *, bits: int = 60) -> arb:
    """A ball that contains the profile bound's divergence, log(A) / (order - 1).

    Parameters
    ----------
    order, z : float
        Renyi order > 1 and noise multiplier > 0, taken as exact numbers.
    gamma : arb
        Sampling probability in (0, 1].
    bits : int
        Relative accuracy asked for.

    Raises
    ------
    ArithmeticError
        If the accuracy is not reached.
    """
    # The two factors of the integrand are differences of numbers close to 1.
    share = float(gamma.mid())
    lost = math.log2(min((share / z) ** 2 * order * (order - 1.0), 1.0) or 1e-300)
    return to_relative_accuracy(
        lambda: excess(order, z, gamma, bits=bits).log1p() / (arb(order) - 1),
        bits=bits,
        start=bits + _SPARE + math.ceil(-lost),
    )
