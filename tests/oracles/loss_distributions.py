r"""Epsilon of composed pairs by Fourier inversion along a tilted line, and by closed forms.

Another way than the library's: no grid of losses, no chords, no windows. With M(s) the mean of
e^(s L) under the first member of a pair, L its privacy loss, T independent copies have for any tilt
t > 0

    delta(eps) = 1/(2 pi) Integral e^(-(t + iu) eps) M(t + iu)^T / ((t + iu)(t + iu + 1)) du,

since (1 - e^(eps - l))_+ is the inverse Laplace transform of e^(-s eps) / (s (s + 1)). M is an
integral over the line by the trapezoid rule, which converges geometrically; so does the outer one.
The tilt is at the saddle, so that nothing cancels. Steps are refined until two sets of them agree
to 1e-8; T = 1 and Gaussians are closed forms at 60 digits. Floats: doubles, about 10 digits of the
result.

Run as a module to rewrite values/loss_distributions.json: ``python -m
tests.oracles.loss_distributions``.
"""

import math

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import brentq, minimize_scalar

from tests.oracles.table import write

# kind, z, q, count, delta
POINTS = [
    ("removed", 1.0, 0.01, 1, 1e-5),
    ("added", 0.8, 0.3, 1, 1e-2),
    ("opposed", 0.7, 0.1, 1, 1e-30),
    ("removed", 2.0, 0.5, 1, 1e-100),
    ("gaussian", 1.0, 1.0, 100, 1e-10),
    ("gaussian", 1e3, 1.0, 10**9, 1e-100),
    ("gaussian", 40.0, 1.0, 10**6, 1e-2),
    ("removed", 1.0, 0.01, 1000, 1e-5),
    ("added", 1.0, 0.01, 1000, 1e-5),
    ("opposed", 1.0, 0.01, 1000, 1e-5),
    ("removed", 1.0, 0.01, 1000, 1e-12),
    ("removed", 1.0, 0.01, 1000, 1e-100),
    ("opposed", 1.0, 0.01, 10**4, 1e-6),
    ("opposed", 2.0, 0.01, 10**4, 1e-6),
    ("removed", 0.614, 4.0802e-5, 10**5, 1.1e-10),
    ("removed", 0.7, 1e-4, 10**6, 1.1e-10),
    ("removed", 4.0, 0.2, 10**4, 1e-2),
    ("added", 4.0, 0.2, 10**4, 1e-30),
    ("removed", 30.0, 0.5, 10**6, 1e-8),
    ("opposed", 30.0, 0.5, 10**6, 1e-60),
    ("removed", 0.5, 0.02, 60, 1e-6),
    ("added", 0.5, 0.9, 10, 1e-6),
    ("removed", 1.0, 0.004, 10**5, 1e-5),
    ("removed", 1.0, 0.01, 10**6, 1e-100),
    ("removed", 5.0, 1e-3, 10**7, 1e-9),
    ("opposed", 3.0, 1e-3, 10**8, 1e-9),
    ("removed", 1.0, 0.01, 10**9, 1e-30),
    ("added", 20.0, 1e-3, 10**9, 1e-10),
    ("removed", 100.0, 0.01, 10**8, 1e-5),
    ("removed", 1.0, 1e-4, 10**7, 1e-7),
]


# Steps of the integral over the line and of the one over frequencies: each finer than the last.
STEPS = (
    (0.02, 450, 15.0),
    (0.013, 900, 30.0),
    (0.011, 1900, 64.0),
    (0.009, 4000, 130.0),
    (0.007, 9000, 290.0),
)


class Pair:
    """(1-q) N(0) + q N(s) against N(0), the reverse, or against (1-q) N(0) + q N(-s); s = 1/z."""

    def __init__(self, kind, z, q, *, dx):
        s = 1.0 / z
        x = np.arange(-14.0 - s, 40.0 + s, dx)
        log_normal = -0.5 * x * x - 0.5 * math.log(2.0 * math.pi)
        up, down = (self._log_mixture(x, q, c) for c in (s, -s))
        self.loss = {"removed": up, "added": -up, "opposed": up - down}[kind]
        self.weight = np.exp(log_normal + (0.0 if kind == "added" else up)) * dx

    @staticmethod
    def _log_mixture(x, q, c):
        exponent = c * x - 0.5 * c * c
        with np.errstate(over="ignore"):
            near = np.log1p(q * np.expm1(np.minimum(exponent, 1.0)))
        return np.where(exponent < 1.0, near, np.logaddexp(math.log1p(-q), math.log(q) + exponent))

    def log_mean(self, s):
        """log M at an array of complex s: from M - 1, so that counts of 1e9 keep their digits."""
        means = [np.dot(self.weight, np.expm1(one * self.loss)) for one in s]
        return np.log1p(np.array(means, dtype=complex))

    def cumulant(self, tilt):
        """log M at a real tilt."""
        return float(self.log_mean([complex(tilt)])[0].real)


def log_delta(pair, count, epsilon, *, points, fine):
    """The logarithm of delta, by the trapezoid rule on the line through the saddle."""

    def height(log_tilt):
        tilt = math.exp(log_tilt)
        return count * pair.cumulant(tilt) - tilt * epsilon - math.log(tilt * (tilt + 1.0))

    with np.errstate(over="ignore", invalid="ignore"):
        grid = np.arange(-14.0, 9.0, 0.25)
        pick = float(grid[int(np.nanargmin([height(place) for place in grid]))])
        found = minimize_scalar(height, bounds=(pick - 0.25, pick + 0.25), method="bounded")
    tilt, top = math.exp(found.x), found.fun

    def integrand(u):
        s = tilt + 1j * u
        return np.exp(count * pair.log_mean(s) - s * epsilon - np.log(s * (s + 1.0)) - top)

    width = tilt
    while abs(integrand(np.array([width]))[0]) > 1e-13:
        width *= 1.3
    step = min(tilt / fine, width / points)
    u = np.arange(0.0, width, step)
    values = integrand(u).real
    total = float(values.sum() - 0.5 * values[0])
    # So far out that nothing is left of it beside the rounding of the sum.
    return top + math.log(total * step / math.pi) if total > 0.0 else -1e9


def by_inversion(kind, z, q, count, delta, *, dx, points, fine):
    """Epsilon at delta."""
    pair = Pair(kind, z, q, dx=dx)

    def off(epsilon):
        return log_delta(pair, count, epsilon, points=points, fine=fine) - math.log(delta)

    low, high = 1e-3, 1.0
    while off(high) > 0.0:
        low, high = high, 2.0 * high
    return brentq(off, low, high, rtol=1e-11)


def closed(kind, z, q, delta):
    """Epsilon of one release: the hockey-stick curve at 60 digits, inverted."""
    with mp.workdps(60 + int(-math.log10(delta))):
        z, q, s = mpf(z), mpf(q), 1 / mpf(z)
        tail = lambda x: mp.erfc(x / mp.sqrt(2)) / 2  # noqa: E731

        def curve(epsilon):
            g = mp.exp(epsilon)
            if kind == "added":
                level = (1 / g - 1 + q) / q
                if level <= 0:
                    return mpf(0)
                x = z * mp.log(level) + s / 2
                return tail(-x) - g * ((1 - q) * tail(-x) + q * tail(s - x))
            if kind == "opposed":
                half = (1 - q) * (g - 1) / (2 * q) * mp.exp(s * s / 2)
                x = mp.log(half + mp.sqrt(half * half + g)) / s
                return (1 - q) * (1 - g) * tail(x) + q * (tail(x - s) - g * tail(x + s))
            x = z * mp.log((g - 1 + q) / q) + s / 2
            return (1 - q) * tail(x) + q * tail(x - s) - g * tail(x)

        low, high = mpf(0), mpf(1)
        while curve(high) > delta:
            low, high = high, 2 * high
        for _ in range(160):
            middle = (low + high) / 2
            low, high = (middle, high) if curve(middle) > delta else (low, middle)
        return float(high)


def epsilon(kind, z, q, count, delta):
    """Epsilon of ``count`` copies, checked against itself where it is not a closed form."""
    if kind == "gaussian":
        return closed("removed", float(z / math.sqrt(count)), 1.0, delta)
    if count == 1:
        return closed(kind, z, q, delta)
    last = math.inf
    for dx, points, fine in STEPS:
        found = by_inversion(kind, z, q, count, delta, dx=dx, points=points, fine=fine)
        if abs(found - last) <= 1e-8 * found:
            return found
        last = found
    raise ArithmeticError(f"{kind, z, q, count, delta}: no two sets of steps agree.")


def entry(kind, z, q, count, delta):
    """One row of the table."""
    found = epsilon(kind, z, q, count, delta)
    return {
        "kind": kind,
        "z": z,
        "q": q,
        "count": count,
        "delta": delta,
        "epsilon": f"{found:.10g}",
    }


if __name__ == "__main__":
    write(
        "loss_distributions",
        quantity="epsilon at delta of composed pairs, to 1e-8 relative",
        dps=60,
        entries=[entry(*point) for point in POINTS],
    )
