"""Renyi divergence of the Poisson-sampled Gaussian, to 30 digits.

A - 1 = E[(1 + x)^a - 1 - a x], x = q (e^((2Z-1)/(2 z^2)) - 1), Z ~ N(0, z^2). At integers the
finite binomial sum over k >= 2, with every exponential as it stands; between them the trapezoid
rule, computed at two steps of which the second is not a multiple of the first: the script stops
unless the two agree to 10^-32. Working precision: mp.dps = 70, so that x^2 near 1e-19 still has 50
digits.

Parameters are the binary floats that the entries' decimals round to. Run as a module to rewrite
values/poisson_gaussian.json: ``python -m tests.oracles.poisson_gaussian``.
"""

import itertools

from mpmath import mp, mpf

from tests.oracles.table import digits, write

DPS = 70

# Theory, section 2: four published digits to compare with; then a grid, then corners.
POINTS = [
    *((0.01, 1.0, a) for a in (1.1, 1.5, 2.5, 9.9)),
    *itertools.product((1e-7, 1e-3, 0.05, 0.5), (0.7, 2.0, 10.0), (1.01, 1.5, 3.3, 32.0)),
    *((1e-7, 0.3, a) for a in (1.01, 4.0, 256.0)),
    *((0.5, 0.3, a) for a in (1.01, 2.5, 63.5, 256.0)),
    *((0.9, 1.0, a) for a in (1.1, 7.5, 64.0)),
    *((0.999, 3.0, a) for a in (1.01, 2.0, 12.25)),
    *((0.999, 0.4, a) for a in (1.2, 30.5)),
    *((q, 100.0, a) for q in (1e-7, 0.01, 0.5, 0.999) for a in (1.01, 2.5, 256.0)),
    *((0.01, 5.0, a) for a in (100.3, 255.9, 256.0)),
    *((1.0, z, a) for z in (0.3, 100.0) for a in (1.01, 256.0)),
]


def excess_by_sum(order: int, z, q):
    """A - 1 by the finite sum; every term is positive."""
    total = mpf(0)
    for k in range(2, order + 1):
        weight = mp.binomial(order, k) * q**k * (1 - q) ** (order - k)
        total += weight * mp.expm1(k * (k - 1) / (2 * z * z))
    return total


def excess_by_trapezoid(order, z, q, step):
    """A - 1 by the trapezoid rule on [-14 z, a + 14 z], beyond which lies below 10^-42."""
    first = -14 * z
    count = int((order + 28 * z) / step) + 1
    total = mpf(0)
    for i in range(count + 1):
        node = first + i * step
        x = q * mp.expm1((2 * node - 1) / (2 * z * z))
        bracket = mp.exp(order * mp.log1p(x)) - 1 - order * x
        total += bracket * mp.exp(-node * node / (2 * z * z))
    return total * step / (z * mp.sqrt(2 * mp.pi))


def rdp(q: float, z: float, order: float):
    """The divergence at one point."""
    with mp.workdps(DPS):
        a, big_z, big_q = mpf(order), mpf(z), mpf(q)
        if q == 1.0:
            return a / (2 * big_z * big_z)
        if order == int(order):
            excess = excess_by_sum(int(order), big_z, big_q)
        else:
            step = min(big_z * mpf("0.42"), big_z**2 * mpf("0.24"))
            excess = excess_by_trapezoid(a, big_z, big_q, step)
            again = excess_by_trapezoid(a, big_z, big_q, step * mpf("0.9"))
            if abs(again - excess) > mpf(10) ** -32 * excess:
                raise ArithmeticError(f"Two steps disagree at {(q, z, order)}.")
        return mp.log1p(excess) / (a - 1)


if __name__ == "__main__":
    entries = [{"q": q, "z": z, "order": a, "rdp": digits(rdp(q, z, a))} for q, z, a in POINTS]
    write(
        "poisson_gaussian",
        quantity="D_order((1-q) N(0, z^2) + q N(1, z^2) || N(0, z^2)) in nats",
        dps=DPS,
        entries=entries,
    )
