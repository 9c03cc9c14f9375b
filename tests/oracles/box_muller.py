"""The polynomials behind the noise: found by Remez's exchange, and proven by balls.

    python tests/oracles/box_muller.py

prints the coefficients of ``mechanisms/parts/compiled/box_muller.py``, found with 60 digits, and a
bound of the distance of each polynomial, as it is stored, from its function.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb

import mpmath as mp
from flint import arb, ctx

DIGITS, TERMS, PIECES = 60, 40, 16
# x^2 is at most 1/4 where a quarter of a turn is 1. s^2 is at most ((sqrt(2)-1)/(sqrt(2)+1))^2,
# which is below 0.02944, and rounding cannot bring it above 0.02945.
RANGES = {"LOGARITHM": Fraction(2945, 100000), "SINE": Fraction(1, 4), "COSINE": Fraction(1, 4)}


def taylor(name: str) -> list[arb]:
    """The first coefficients of a function, in the square of its argument."""
    half = arb.pi() / 2
    if name == "LOGARITHM":
        return [arb(2) / (2 * n + 3) for n in range(TERMS)]
    first = 1 if name == "SINE" else 2
    sign = 1 if name == "SINE" else -1
    return [
        sign * (-1) ** n * half ** (2 * n + first) / arb(2 * n + first).gamma() / (2 * n + first)
        for n in range(TERMS)
    ]


def distance(name: str, coefficients: Sequence[float]) -> arb:
    """A bound of the largest distance of the polynomial from the function on its range.

    Those of the logarithm and of the cosine are multiplied by the square of their argument, as they
    are where they are used.
    The difference of the polynomial and the first Taylor terms is a polynomial, which lies between
    the smallest and the largest of its Bernstein coefficients on each piece. The terms left out are
    at most a geometric series, because coefficients decrease.
    """
    with ctx.workprec(400):
        series = taylor(name)
        end = arb(RANGES[name].numerator) / RANGES[name].denominator
        difference = [
            (arb(coefficients[n]) if n < len(coefficients) else arb(0)) - series[n]
            for n in range(TERMS)
        ]
        if name != "SINE":
            difference = [arb(0), *difference[:-1]]
        worst = arb(0)
        for piece in range(PIECES):
            low, width = end * piece / PIECES, end / PIECES
            moved = [
                sum((difference[m] * comb(m, n) * low ** (m - n) for m in range(n, TERMS)), arb(0))
                * width**n
                for n in range(TERMS)
            ]
            for k in range(TERMS):
                value = sum(
                    (moved[n] * comb(k, n) / comb(TERMS - 1, n) for n in range(k + 1)), arb(0)
                )
                worst = worst.max(abs(value))
        left_out = 2 * abs(series[-2]) * end ** (TERMS - 1) / (1 - end)
        return arb((worst + left_out).upper())


def remez(f: Callable[[mp.mpf], mp.mpf], weight: Callable[[mp.mpf], mp.mpf], n: int, end: mp.mpf):
    """The polynomial with n coefficients whose weighted distance from f is smallest on [0, end]."""
    points = [end / 2 - end / 2 * mp.cos(mp.pi * i / n) for i in range(n + 1)]
    grid = [end / 2 - end / 2 * mp.cos(mp.pi * i / (60 * n)) for i in range(60 * n + 1)]
    for _ in range(12):
        matrix = mp.matrix(n + 1, n + 1)
        for i, x in enumerate(points):
            for k in range(n):
                matrix[i, k] = x**k
            matrix[i, n] = (-1) ** i / weight(x)
        found = mp.lu_solve(matrix, mp.matrix([f(x) for x in points]))
        values = [
            (mp.polyval([found[k] for k in reversed(range(n))], x) - f(x)) * weight(x) for x in grid
        ]
        new: list[mp.mpf] = []
        best, positive = (mp.mpf(-1), grid[0]), values[0] > 0
        for x, value in zip(grid, values, strict=True):
            if (value > 0) != positive:
                new.append(best[1])
                best, positive = (mp.mpf(-1), x), value > 0
            if abs(value) > best[0]:
                best = (abs(value), x)
        new.append(best[1])
        if len(new) != n + 1:
            break
        points = new
    return [float(found[k]) for k in range(n)]


def searched() -> dict[str, list[float]]:
    """The coefficients, found anew."""
    half = mp.pi / 2
    logarithm_end = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * (1 + mp.mpf(2) ** -18)

    def logarithm(z: mp.mpf) -> mp.mpf:
        if z < mp.mpf(10) ** -18:
            return mp.mpf(2) / 3 + 2 * z / 5
        return (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z

    def sine(z: mp.mpf) -> mp.mpf:
        return mp.sin(half * mp.sqrt(z)) / mp.sqrt(z) if z > 0 else half

    def cosine(z: mp.mpf) -> mp.mpf:
        return (mp.cos(half * mp.sqrt(z)) - 1) / z if z > mp.mpf(10) ** -30 else -(half**2) / 2

    return {
        "LOGARITHM": remez(logarithm, lambda z: z / 2 + mp.mpf(10) ** -6, 7, logarithm_end),
        "SINE": remez(sine, lambda z: 1 / sine(z), 7, mp.mpf(1) / 4),
        "COSINE": remez(cosine, lambda z: z + mp.mpf(10) ** -5, 6, mp.mpf(1) / 4),
    }


def exact_pair(first: int, second: int) -> tuple[arb, arb]:
    """The two normal numbers of two words, in balls: the cosine's and the sine's."""
    with ctx.workprec(200):
        u = arb((first >> 11) + 1) / 2**53
        radius = (-2 * u.log()).sqrt() if (first >> 11) + 1 < 2**53 else arb(0)
        angle = arb(second >> 11) / 2**52  # in units of pi
        sine, cosine = angle.sin_pi(), angle.cos_pi()
        return radius * cosine, radius * sine


if __name__ == "__main__":
    mp.mp.dps = DIGITS
    for name, coefficients in searched().items():
        print(name, coefficients)
        print("  distance at most", distance(name, coefficients).str(6, radius=False))
