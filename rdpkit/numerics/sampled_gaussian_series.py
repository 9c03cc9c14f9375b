r"""The two-sided series of Mironov, Talwar and Zhang in ball arithmetic, with a proven remainder.

With z0 = 1/2 + z^2 log(1/q - 1) the generalised binomial series of (1 - q + q e^l)^a converges on
both sides of z0, and integrating it term by term gives

    A = sum_k C(a,k) (1-q)^(a-k) q^k     e^{k(k-1)/(2 z^2)} erfc((k - z0) / (z sqrt 2)) / 2
      + sum_k C(a,k) (1-q)^k     q^(a-k) e^{j(j-1)/(2 z^2)} erfc((z0 - j) / (z sqrt 2)) / 2,

where j = a - k (Mironov et al. 2019, section 3.3; Xia et al., appendix B, Eq. 29 to 31). For k > a
the terms alternate in sign and only decay like k^(-a-2). If the series is cut off and the next term
bounds the remainder, tens of thousands of terms are needed near q = 1/2 for ten digits.

An accelerated sum needs far fewer. For k > a, |C(a,k)| is proportional to the Beta integral of
t^(k-a-1) (1-t)^a over [0, 1], and the other factor is the integral of w^k over a region in which
the ratio w of the two summands lies in [0, 1]. Both are moment sequences of measures on [0, 1], and
so is their product. For alternating series whose terms are moment sequences, Cohen, Rodriguez
Villegas and Zagier (2000, Proposition 1) give a sum of n terms whose error is proven to be at most
the first term over ((3 + sqrt 8)^n + (3 - sqrt 8)^n) / 2. Fifty terms give thirty-eight digits. The
bound on the error is added to the ball.
"""

from __future__ import annotations

import math

from flint import arb, ctx

from rdpkit.numerics import sampled_gaussian_trapezoid
from rdpkit.numerics.balls import to_relative_accuracy

# One term on both sides of the series costs about as much as this many nodes of the trapezoid rule.
_TERM_IN_NODES = 12.0


def _accelerated_tail(terms: list[arb]) -> arb:
    """The infinite sum of (-1)^k terms[k] for a moment sequence, of which the first are given."""
    n = len(terms)
    previous, current = 1, 3
    for _ in range(n - 1):
        previous, current = current, 6 * current - previous
    d = current  # the Chebyshev value ((3 + sqrt 8)^n + (3 - sqrt 8)^n) / 2, an integer
    b, c = -1, -d
    total = arb(0)
    for k, term in enumerate(terms):
        c = b - c
        total += c * term
        b = b * 2 * (k + n) * (k - n) // ((2 * k + 1) * (k + 1))
    return total / d + arb(0, terms[0].upper() / d)


def _one_side(order: arb, order_float: float, head: int, tail: int, term: _Term) -> arb:
    total = arb(0)
    binomial = arb(1)
    for k in range(head):
        total += binomial * term(k)
        binomial *= (order - k) / (k + 1)
    if order_float == math.floor(order_float):
        return total  # every further binomial is zero
    magnitudes = []
    sign = 1 if binomial > 0 else -1
    for k in range(head, head + tail):
        magnitudes.append(abs(binomial) * term(k))
        binomial *= (order - k) / (k + 1)
    return total + sign * _accelerated_tail(magnitudes)


class _Term:
    """The k-th term of one side of the series without its binomial."""

    def __init__(self, order: arb, z: arb, q: arb, *, left: bool) -> None:
        self.order, self.z, self.q, self.left = order, z, q, left
        self.split = arb(1) / 2 + z * z * ((1 - q) / q).log()
        self.scale = z * arb(2).sqrt()

    def __call__(self, k: int) -> arb:
        if self.left:
            power = arb(k)
            argument = (power - self.split) / self.scale
            weight = (1 - self.q) ** (self.order - k) * self.q**k
        else:
            power = self.order - k
            argument = (self.split - power) / self.scale
            weight = (1 - self.q) ** k * self.q**power
        growth = (power * (power - 1) / (2 * self.z * self.z)).exp()
        return weight * growth * argument.erfc() / 2


def _excess(order: float, z: float, q: float) -> arb:
    a, ball_z, ball_q = arb(order), arb(z), arb(q)
    head = math.floor(order) + 1
    tail = max(8, math.ceil(ctx.prec / 2.54))
    total = arb(-1)
    for left in (True, False):
        total += _one_side(a, order, head, tail, _Term(a, ball_z, ball_q, left=left))
    return total


def series_enclosure(order: float, z: float, q: float, *, bits: int = 70) -> arb:
    """What :func:`rdp_enclosure` returns, always computed by the series.

    Raises ArithmeticError if the accuracy is not reached.
    """

    def compute() -> arb:
        return _excess(order, z, q).log1p() / (arb(order) - 1)

    return to_relative_accuracy(compute, bits=bits, start=256)


def rdp_enclosure(
    # Renyi order, noise multiplier and sampling probability, taken as the exact binary numbers.
    order: float,
    z: float,
    q: float,
    *,
    bits: int = 70,  # The relative accuracy of the ball is 2^-bits
) -> arb:
    """A ball that contains the Renyi divergence at ``order``; needs 0 < q < 1, z > 0, order > 1.

    It is computed by the trapezoid rule (:mod:`rdpkit.numerics.sampled_gaussian_trapezoid`) or, if
    that would take more work, by the series. Raises ArithmeticError if the accuracy is not reached.
    """
    # Computing A - 1 from A loses about this many bits (as a negative number).
    lost = math.log2(min(order * (order - 1.0) * (q / z) ** 2, 1.0) or 1e-300)
    start = bits + 24 + math.ceil(-lost)
    nodes = sampled_gaussian_trapezoid.nodes_needed(order, z, start)
    if nodes > _TERM_IN_NODES * (order + start / 2.54):
        return series_enclosure(order, z, q, bits=bits)

    def compute() -> arb:
        excess = sampled_gaussian_trapezoid.excess(order, z, q)
        return excess.log1p() / (arb(order) - 1)

    return to_relative_accuracy(compute, bits=bits, start=start)
