r"""The moment of the sampled Gaussian in ball arithmetic, with proven errors: in two ways.

*The series of Mironov, Talwar and Zhang.* With z0 = 1/2 + z^2 log(1/q - 1) the generalised binomial
series of (1 - q + q e^l)^a converges on both sides of z0, and integrating it term by term gives

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

*The trapezoid rule.* The moment is A = Integral f(t) dt with f(t) = phi_z(t) g(t)^a and
g(t) = 1 - q + q e^{(2t-1)/(2 z^2)}, where phi_z is the density of N(0, z^2).

For \|y\| < pi z^2 the summand q e^{...} of g(t + iy) has an argument inside of (-pi, pi), so g is
never zero or negative and f is analytic in this strip. There \|g(t+iy)\| <= g(t) and
\|phi_z(t+iy)\| = phi_z(t) e^{y^2/(2 z^2)}, hence the integral of \|f\| along the line at height y
is at most e^{y^2/(2 z^2)} A. The infinite sum T of the rule with step h therefore satisfies

    |T - A| <= kappa A,   kappa = 2 e^{b^2/(2 z^2)} / (e^{2 pi b/h} - 1),

for every b up to pi z^2 (Trefethen and Weideman, "The exponentially convergent trapezoidal rule",
SIAM Review 56 (2014), Theorem 5.1). The best b is about 2 pi z^2/h if that is below pi z^2.

The derivative of log g is in [0, 1/z^2]. To the right of a, f therefore falls at least as fast as a
Gaussian around a, and to the left of 0 it falls at least as fast as a Gaussian around 0. If the sum
leaves out a node t > a and all nodes to the right of it, it loses at most f(t) (h + z^2/(t - a)).
If it leaves out t < 0 and all nodes to the left of it, it loses at most f(t) (h + z^2/\|t\|). The
bounds on f: rdpkit, theory page "Certified numbers".
"""

from __future__ import annotations

import math

from flint import arb, ctx

from rdpkit.numerics.balls import to_relative_accuracy

# The working precision exceeds the accuracy of the rule by this many bits.
_GUARD = 12
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
    return to_relative_accuracy(
        lambda: _excess(order, z, q).log1p() / (arb(order) - 1), bits=bits, start=256
    )


def nodes_needed(order: float, z: float, bits: int) -> float:
    """About how many nodes the rule needs for ``bits`` accurate bits of A."""
    wanted = bits * math.log(2.0)
    return (order + 2.0 * z * math.sqrt(2.0 * wanted)) / _step(z, wanted)


def _step(z: float, wanted: float) -> float:
    """A step at which kappa is below e^-wanted."""
    exponent = wanted + 1.0
    step = math.pi * z * math.sqrt(2.0 / exponent)
    if step < 2.0:
        step = 2.0 * math.pi**2 * z * z / (exponent + math.pi**2 * z * z / 2.0)
    return step


def excess_by_nodes(
    # Renyi order, noise multiplier and sampling probability, taken as exact numbers.
    order: float,
    z: float,
    q: float,
) -> arb:
    """A ball around A - 1 by the trapezoid rule; needs 0 < q < 1 and order > 1.

    Its radius is about 2^-p A, where p is the working precision, the one in force.
    """
    wanted = (ctx.prec - _GUARD) * math.log(2.0)
    step = _step(z, wanted)
    reach = z * math.sqrt(2.0 * (wanted + 2.0))
    first = math.floor(-reach / step)
    last = math.ceil((order + reach) / step)

    a, h, ball_q = arb(order), arb(step), arb(q)
    square = arb(z) * arb(z)
    rest = 1 - ball_q
    # Along the nodes e^{(2t-1)/(2 z^2)} is a geometric sequence.
    grown = ball_q * ((h * first - arb(0.5)) / square).exp()
    ratio = (h / square).exp()
    half = 1 / (2 * square)
    values = []
    for k in range(first, last + 1):
        t = h * k
        values.append((a * (rest + grown).log() - t * t * half).exp())
        grown *= ratio
    scale = 1 / (arb(z) * (2 * arb.pi()).sqrt())
    left, right = h * first, h * last
    tails = values[0] * (h - square / left) + values[-1] * (h + square / (right - a))
    total = scale * (h * sum(values[1:-1], arb(0)) + tails.union(arb(0)))
    # kappa for b at the edge of the strip or at the best height inside of it.
    height = arb.pi() * square * min(2.0 / step, 1.0)
    kappa = 2 / ((2 * arb.pi() * height / h - height * height * half).exp() - 1)
    if not 0 < kappa < 1:
        return arb.nan()
    # T = A (1 + t kappa) with |t| <= 1.
    return total * (1 + arb(0, (kappa / (1 - kappa)).upper())) - 1


def rdp_enclosure(
    # Renyi order, noise multiplier and sampling probability, taken as the exact binary numbers.
    order: float,
    z: float,
    q: float,
    *,
    bits: int = 70,  # The relative accuracy of the ball is 2^-bits
) -> arb:
    """A ball that contains the Renyi divergence at ``order``; needs 0 < q < 1, z > 0, order > 1.

    It is computed by the trapezoid rule or, if that would take more work, by the series. Raises
    ArithmeticError if the accuracy is not reached.
    """
    # Computing A - 1 from A loses about this many bits (as a negative number).
    lost = math.log2(min(order * (order - 1.0) * (q / z) ** 2, 1.0) or 1e-300)
    start = bits + 24 + math.ceil(-lost)
    nodes = nodes_needed(order, z, start)
    if nodes > _TERM_IN_NODES * (order + start / 2.54):
        return series_enclosure(order, z, q, bits=bits)
    return to_relative_accuracy(
        lambda: excess_by_nodes(order, z, q).log1p() / (arb(order) - 1), bits=bits, start=start
    )
