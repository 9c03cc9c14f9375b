"""FS-RDP (Birrell et al. 2024, Theorem 3.4) for a Gaussian, and what it bounds.

The bound, to 30 digits: B(k) is the alternating sum of its definition, at mp.dps = 1200, since at
z = 100 and k = 530 about 620 digits cancel; the script stops where 200 digits more change it. The
coefficients of the k-th derivative are falling factorials as differentiation gives them, not the
ratios R_kj of the statement, and the remainder is summed over i as printed. The values for
all lengths m are stored: where several agree to double precision a float cannot tell the best.

What it bounds, to 15 digits: D_order((1-q) N(0) + q N(v) || (1-q) N(0) + q N(v')) in the plane, by
the trapezoid rule on (1+x)^a (1+y)^(1-a) - 1 - a x - (1-a) y, which is nonnegative, at two steps of
which the second is not a multiple of the first: the script stops unless the two agree to 10^-15.
The working precision there is 50 digits.

Run as a module to rewrite values/birrell2024.json: ``python -m tests.oracles.birrell2024``.
"""

import functools
import itertools

from mpmath import mp, mpf

from tests.oracles.table import digits, write

DPS = 1200
LENGTHS = (3, 4, 5, 6, 8, 10, 12, 16)

BOUNDS = [
    *itertools.product(
        ((1, 10**7), (60, 60000), (1, 10), (999, 1000)),
        (0.3, 1.0, 6.54, 100.0),
        (1.01, 1.5, 2.0, 3.0, 4.5, 17.75),
    ),
    *itertools.product(((60, 60000), (1, 2)), (10.0,), (32.0, 100.25, 512.0)),
    ((60, 60000), 0.02, 3.5),
    ((60, 60000), 2.0, 511.5),
    ((60, 60000), 100.0, 512.0),
]

GEOMETRIES = {
    "add": ((1, 0), (0, 0)),
    "remove": ((0, 0), (1, 0)),
    "equilateral": ((1, 0), (mpf(1) / 2, None)),  # None: sqrt(3)/2, at the precision in force
    "collinear": ((mpf(1) / 2, 0), (mpf(-1) / 2, 0)),
}

DIVERGENCES = [
    *itertools.product(GEOMETRIES, ((60, 60000), (1, 10)), (1.0, 6.54), (1.5, 2.0, 5.0)),
    *(("equilateral", (1, 10**7), z, 2.0) for z in (5.0, 100.0)),
    *((geometry, (1, 100), 5.0, 24.0) for geometry in GEOMETRIES),
]


@functools.cache
def exponential(i: int, z: float, dps: int):
    """e^(i (i-1) / (2 z^2))."""
    with mp.workdps(dps):
        return mp.exp(i * (i - 1) / (2 * mpf(z) ** 2))


@functools.cache
def even_moment(k: int, z: float):
    """B(k) as its definition says, at two precisions."""
    found = []
    for dps in (DPS, DPS + 200):
        with mp.workdps(dps):
            found.append(
                sum((-1) ** i * mp.binomial(k, i) * exponential(i, z, dps) for i in range(k + 1))
            )
    with mp.workdps(60):
        if abs(found[0] - found[1]) > mpf(10) ** -45 * abs(found[1]):
            raise ArithmeticError(f"B({k}) at z = {z} has lost its digits.")
        return +found[1]


def moment(k: int, z: float):
    """B(k), by Cauchy and Schwarz for odd k."""
    if k % 2:
        return mp.sqrt(even_moment(k - 1, z) * even_moment(k + 1, z))
    return even_moment(k, z)


def coefficient(a, j: int, p: int):
    """(1+t)^a differentiated j times and (1+t)^(1-a) p times, both at t = 0."""
    return mp.ff(a, j) * mp.ff(1 - a, p)


def derivative(k: int, a, z: float):
    """F_k."""
    leading = (a - 1) * a ** (k - 1)
    total = (3 if k % 2 else 4) * leading
    for j in range(k + 1):
        total += mp.binomial(k, j) * abs((-1) ** (k - j) * coefficient(a, j, k - j) - leading)
    return total * moment(k, z)


def remainder(m: int, a, z: float, q, complement):
    """E_m."""
    total = mpf(0)
    for j in range(m + 1):
        if a <= j:
            integral = complement ** (a - j) * moment(m, z)
        else:
            count = int(mp.ceil(a)) - j
            integral = moment(m, z)
            for i in range(count + 1):
                factor = mp.ff(count, i) * mp.factorial(m) / mp.factorial(m + i)
                integral += q**i * factor * moment(m + i, z)
        size = abs(coefficient(a, j, m - j))
        total += mp.binomial(m, j) * size * complement ** (-(a + m - j - 1)) * integral
    return total * q**m / mp.factorial(m)


def rdp(sample: int, population: int, z: float, order: float, m: int):
    """The bound for one m."""
    with mp.workdps(60):
        a, q = mpf(order), mpf(sample) / population
        complement = mpf(population - sample) / population
        s = 1 / mpf(z) ** 2
        total = q**2 * a * (a - 1) * (mp.exp(s) - mp.exp(s / 2))
        for k in range(3, m):
            total += q**k / mp.factorial(k) * derivative(k, a, z)
        total += remainder(m, a, z, q, complement)
        return mp.log1p(total) / (a - 1)


def log_ratio(x, y, v, z):
    """The logarithm of the density of N(v, z^2 I) over that of N(0, z^2 I) at (x, y)."""
    return (x * v[0] + y * v[1] - (v[0] ** 2 + v[1] ** 2) / 2) / z**2


def excess(a, z, q, pair, *, step):
    """E[(1+x)^a (1+y)^(1-a)] - 1 by the trapezoid rule."""
    v, w = pair
    corners = [(0, 0), v, w, [a * c for c in v], [a * c + (1 - a) * d for c, d in zip(v, w)]]
    axes = []
    for i in range(2):
        low = min(c[i] for c in corners) - 10 * z
        count = int((max(c[i] for c in corners) + 10 * z - low) / step) + 1
        axes.append([low + n * step for n in range(count + 1)])
    total = mpf(0)
    for x, y in itertools.product(*axes):
        one = q * mp.expm1(log_ratio(x, y, v, z))
        two = q * mp.expm1(log_ratio(x, y, w, z))
        bracket = mp.exp(a * mp.log1p(one) + (1 - a) * mp.log1p(two)) - 1 - a * one - (1 - a) * two
        total += bracket * mp.exp(-(x * x + y * y) / (2 * z * z))
    return total * step**2 / (2 * mp.pi * z * z)


def divergence(geometry: str, sample: int, population: int, z: float, order: float):
    """The divergence of one pair of neighbours."""
    with mp.workdps(50):
        pair = tuple(
            tuple(mp.sqrt(3) / 2 if c is None else mpf(c) for c in point)
            for point in GEOMETRIES[geometry]
        )
        a, big_z, q = mpf(order), mpf(z), mpf(sample) / population
        step = min(big_z / 2, big_z**2 * mpf("0.36"))
        found = [excess(a, big_z, q, pair, step=step * scale) for scale in (mpf(1), mpf("0.91"))]
        if abs(found[0] - found[1]) > mpf(10) ** -15 * found[1]:
            raise ArithmeticError(f"Two steps disagree at {(geometry, sample, z, order)}.")
        return mp.log1p(found[1]) / (a - 1)


if __name__ == "__main__":
    entries = []
    for (sample, population), z, order in BOUNDS:
        found = [digits(rdp(sample, population, z, order, m)) for m in LENGTHS]
        entry = {"sample": sample, "population": population, "z": z, "order": order}
        entries.append({**entry, "bounds": found})
    for geometry, (sample, population), z, order in DIVERGENCES:
        entry = {"sample": sample, "population": population, "z": z, "order": order}
        value = divergence(geometry, sample, population, z, order)
        # Two steps agree to 15 digits: more would not be reproducible.
        entries.append({**entry, "geometry": geometry, "divergence": mp.nstr(value, 15)})
    write(
        "birrell2024",
        quantity="FS-RDP bound for each m, and exact divergences of pairs of mixtures, in nats",
        dps=DPS,
        entries=entries,
    )
