"""Theorem 3.1 and Corollary 3.2 of Miura et al. 2023, formulas as printed, to 30 digits.

Logarithms of quotients as they stand, at mp.dps = 60: for n = 10^7 about 14 digits cancel. The free
parameter of Corollary 3.2 is found by golden section in log(p - 1) from a grid of 200 points; an
error of 10^-20 in p moves the minimum by its square.

Table 1 of the paper prints n times these values (n outputs) at order 4, d = 6, sigma = 0.01.
Run as a module to rewrite values/gaussian_synthesis.json: ``python -m
tests.oracles.gaussian_synthesis``.
"""

import functools

from mpmath import log, mp, mpf

from tests.oracles.table import digits, write

DPS = 60

# n, d, sigma, order
POINTS = [
    *((10**k, 6, 0.01, 4.0) for k in (4, 5, 6, 7)),
    *((10**5, 6, 0.01, a) for a in (1.01, 2.0, 17.5)),
    *((10**6, 20, 0.05, a) for a in (1.5, 8.0, 64.0)),
    *((1000, 1, 1.0, a) for a in (1.001, 2.0, 50.0, 100.0)),
    *((50, 2, 0.9, a) for a in (1.1, 2.0, 2.5)),
    (10**9, 10, 0.01, 4.0),
    (10**9, 10, 0.01, 1000.0),
]


def limit(n: int, d: int, sigma: float):
    """The limit on orders, condition (1)."""
    tau = 4 * d / mpf(sigma)
    return min(mpf(n + 1), mpf(n) ** 2 / (tau * (n + 1) - n))


def one_step(a, n: int, d: int, sigma: float):
    """Theorem 3.1: the larger of the two directions."""
    n = mpf(n)
    tau = 4 * d / mpf(sigma)
    half = 2 * (a - 1)
    added = a / 2 * tau / ((n + 1) * (n + 1 - a))
    added -= d / half * log((1 - a / (n + 1)) / (1 - 1 / (n + 1)) ** a)
    added -= (
        min(
            mpf(0),
            log((1 + a * n * tau / ((n + 1) * (n + 1 - a))) / (1 + tau / (n + 1)) ** a),
        )
        / half
    )
    removed = a / 2 * tau / (n * (n + a) - a * (n + 1) * tau)
    removed -= d / half * log((1 + a / n) / (1 + 1 / n) ** a)
    removed -= (
        min(
            mpf(0),
            log((1 - a * (n + 1) * tau / ((n + a) * n)) / (1 - tau / n) ** a),
        )
        / half
    )
    return max(added, removed)


def two_steps(a, n: int, d: int, sigma: float, second: int):
    """Corollary 3.2 with its parameter optimised; None where no p is admissible."""
    c = limit(n, d, sigma)
    if not c * c > a * (2 * c - 1):
        return None
    low, high = log((c - 1) / (c - a) - 1), log(c / a - 1)

    @functools.cache
    def value(u):
        p = 1 + mp.exp(u)
        first = (a - 1 / p) / (a - 1) * one_step(p * a, n, d, sigma)
        return first + one_step((p * a - 1) / (p - 1), second, d, sigma)

    points = 200
    grid = [low + (high - low) * (i + mpf("0.5")) / points for i in range(points)]
    pick = min(range(points), key=lambda i: value(grid[i]))
    left = grid[pick - 1] if pick else low + (high - low) * mpf("1e-25")
    right = grid[pick + 1] if pick + 1 < points else high - (high - low) * mpf("1e-25")
    ratio = (mp.sqrt(5) - 1) / 2
    for _ in range(110):
        inner, outer = right - ratio * (right - left), left + ratio * (right - left)
        if value(inner) < value(outer):
            right = outer
        else:
            left = inner
    return value((left + right) / 2)


def entry(n: int, d: int, sigma: float, order: float) -> dict:
    """Both theorems at one point."""
    with mp.workdps(DPS):
        a = mpf(order)
        found = {"n": n, "d": d, "min_eigenvalue": sigma, "order": order}
        found["theorem31"] = digits(one_step(a, n, d, sigma)) if a < limit(n, d, sigma) else None
        for name, second in (("corollary32", n + 1), ("corollary32_both_at_n", n)):
            value = two_steps(a, n, d, sigma, second)
            found[name] = None if value is None else digits(value)
        return found


if __name__ == "__main__":
    write(
        "gaussian_synthesis",
        quantity="Theorem 3.1 and Corollary 3.2 for one output, in nats; null outside of the range",
        dps=DPS,
        entries=[entry(*point) for point in POINTS],
    )
