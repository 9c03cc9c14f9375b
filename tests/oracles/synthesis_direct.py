"""The direct bounds on mean-and-covariance synthesis, from two Gaussians written out, to 30 digits.

Every value is the divergence of Gil et al. between Gaussians with diagonal covariances, logarithms
of determinants as they stand, at mp.dps = 80: at n = 10^9 about 20 digits cancel. No series, no
log1p, and none of the eigenvalue function that the library works with.

Replace-one: with the second covariance the identity, the first has an eigenvalue 1 + T, and the
means differ by sqrt(T/(n-1)) along it; the other candidate has eigenvalues 1 + T/sqrt 3 and
1 - T/sqrt 3, and the first one's term of means. T = tau (n-1)/n^2.

Add-or-remove-one: the common records have covariance I, the further one lies at distance sqrt(t).
The largest divergence, of both directions, over t on a grid of 33 points from 0 to
d (1 + sqrt(1 - sigma))^2 / sigma; the script stops unless it lies at an end of the grid.

Run as a module to rewrite values/synthesis_direct.json: ``python -m
tests.oracles.synthesis_direct``.
"""

from mpmath import inf, log, mp, mpf, sqrt

from tests.oracles.table import digits, write

DPS = 80
GRID = 32

# n, d, sigma, order
POINTS = [
    *((10**k, 6, 0.01, a) for k in (4, 5, 6, 7, 9) for a in (1.0009765625, 1.5, 4.0)),
    *((10**6, 20, 0.05, a) for a in (1.000001, 8.0, 64.0, 600.0)),
    *((1000, 1, 1.0, a) for a in (1.0009765625, 2.0, 50.0, 200.0)),
    *((50, 2, 0.9, a) for a in (1.125, 2.0, 2.5, 5.5)),
    *((3500, 6, 0.01, a) for a in (1.0009765625, 1.125, 2.25)),
    *((2600, 6, 0.01, a) for a in (1.0009765625, 1.5, 2.0)),
    (2000, 6, 0.01, 1.5),
    (10**9, 1, 1.0, 1.0009765625),
    (10**9, 2, 0.9, 2.0),
    (10**9, 10, 0.01, 1000.0),
]


def gil(a, difference, first, second):
    """D_a between Gaussians with diagonal covariances; inf where it diverges."""
    mixed = [(1 - a) * p + a * q for p, q in zip(first, second)]
    if any(s <= 0 for s in mixed):
        return inf
    quadratic = sum(x * x / s for x, s in zip(difference, mixed))
    logs = sum(log(s / (p ** (1 - a) * q**a)) for s, p, q in zip(mixed, first, second))
    return a / 2 * quadratic - logs / (2 * (a - 1))


def replaced(a, n: int, d: int, sigma: float):
    """The bound on replace-one; None where no finite bound is claimed."""
    n = mpf(n)
    spread = 4 * d / mpf(sigma) * (n - 1) / n**2
    if spread >= 1 or (a - 1) * spread >= 1:
        return None
    means = gil(a, [sqrt(spread / (n - 1))], [1 + spread], [mpf(1)])
    none = gil(a, [mpf(0)], [1 + spread], [mpf(1)])
    third = spread / sqrt(mpf(3))
    other = gil(a, [mpf(0)] * 2, [1 + third, 1 - third], [mpf(1)] * 2)
    return means - none + max(none, other)


def added_or_removed(a, m: int, d: int, sigma: float):
    """The largest divergence between m records and one more; None where it is infinite."""
    size = mpf(m) + 1
    farthest = d * (1 + sqrt(1 - mpf(sigma))) ** 2 / mpf(sigma)
    found = []
    for i in range(GRID + 1):
        t = farthest * i / GRID
        difference = [sqrt(t) / size] + [mpf(0)] * (d - 1)
        larger = [m / size + m * t / size**2] + [m / size] * (d - 1)
        smaller = [mpf(1)] * d
        found.append(max(gil(a, difference, larger, smaller), gil(a, difference, smaller, larger)))
    largest = max(found)
    if largest not in (found[0], found[-1]):
        raise ArithmeticError(f"The largest value is inside the range, for {m}, {d}, {sigma}, {a}.")
    return None if largest == inf else largest


def entry(n: int, d: int, sigma: float, order: float) -> dict:
    """Both bounds at one point, the second one for the pair (n, n + 1)."""
    with mp.workdps(DPS):
        a = mpf(order)
        found = {"n": n, "d": d, "min_eigenvalue": sigma, "order": order}
        for name, bound in (("replaced", replaced), ("added_or_removed", added_or_removed)):
            value = bound(a, n, d, sigma)
            found[name] = None if value is None else digits(value)
        return found


if __name__ == "__main__":
    write(
        "synthesis_direct",
        quantity="direct bounds for one output, in nats, add-or-remove-one for n and n + 1 records;"
        " null where none is finite",
        dps=DPS,
        entries=[entry(*point) for point in POINTS],
    )
