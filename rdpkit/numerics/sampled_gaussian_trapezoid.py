r"""The sampled Gaussian's moment by the trapezoid rule in ball arithmetic, with a proven error.

The moment is A = Integral f(t) dt with f(t) = phi_z(t) g(t)^a and
g(t) = 1 - q + q e^{(2t-1)/(2 z^2)}, where phi_z is the density of N(0, z^2).

*Discretisation.* For \|y\| < pi z^2 the summand q e^{...} of g(t + iy) has an argument inside of
(-pi, pi), so g is never zero or negative and f is analytic in this strip. There \|g(t+iy)\| <= g(t)
and \|phi_z(t+iy)\| = phi_z(t) e^{y^2/(2 z^2)}, hence the integral of \|f\| along the line at height
y is at most e^{y^2/(2 z^2)} A. The infinite sum T of the trapezoid rule with step h therefore
satisfies

    |T - A| <= kappa A,   kappa = 2 e^{b^2/(2 z^2)} / (e^{2 pi b/h} - 1),

for every b up to pi z^2 (Trefethen and Weideman 2014, Theorem 5.1). The best b is about 2 pi z^2/h
if that is below pi z^2.

*Tails.* The derivative of log g is in [0, 1/z^2]. To the right of a, f therefore falls at least as
fast as a Gaussian around a, and to the left of 0 it falls at least as fast as a Gaussian around 0.
If the sum leaves out a node t > a and all nodes to the right of it, it loses at most
f(t) (h + z^2/(t - a)). If it leaves out t < 0 and all nodes to the left of it, it loses at most
f(t) (h + z^2/\|t\|).

Source
------
Trefethen and Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 56 (2014),
Theorem 5.1; the bounds on f: rdpkit, theory page "Certified numbers".
"""

from __future__ import annotations

import math

from flint import arb, ctx

# The working precision exceeds the accuracy of the rule by this many bits.
_GUARD = 12


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


def excess(
    # Renyi order, noise multiplier and sampling probability, taken as exact numbers.
    order: float,
    z: float,
    q: float,
) -> arb:
    """A ball around A - 1 at the working precision in force; needs 0 < q < 1 and order > 1.

    Its radius is about 2^-p A, where p is the working precision.
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
