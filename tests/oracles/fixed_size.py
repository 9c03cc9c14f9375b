"""B(m) and Theorems 9 and 27 of Wang, Balle and Kasiviswanathan 2019 for a Gaussian, to 30 digits.

B(m) is the alternating sum of the definition, at mp.dps = 900: at z = 100 and m = 256 about 340
digits cancel. It is computed again with 1100 digits, and the script stops unless both agree.
Theorems: the sum over j as printed at integers, Corollary 10 (the chord of (a-1) r) between them.

Parameters are the binary floats that the entries' decimals round to. Run as a module to rewrite
values/fixed_size.json: ``python -m tests.oracles.fixed_size``.
"""

import functools
import itertools

from mpmath import mp, mpf

from tests.oracles.table import digits, write

DPS = 900

MOMENTS = list(itertools.product((2, 4, 6, 16, 64, 128, 256), (0.3, 1.0, 5.0, 100.0)))
POINTS = [
    *itertools.product(
        ((1, 10**7), (60, 60000), (50, 1000), (500, 1000), (999, 1000), (7, 7)),
        (0.3, 1.0, 6.54),
        (1.01, 2.0, 2.5, 3.0, 17.75, 58.0),
    ),
    *itertools.product(((60, 60000), (500, 1000)), (30.0, 100.0), (1.5, 3.0, 64.0, 100.25, 256.0)),
]


@functools.cache
def moment(m: int, z: float):
    """B(m) as its definition says, at two precisions."""
    found = []
    for dps in (DPS, DPS + 200):
        with mp.workdps(dps):
            rate = 1 / (2 * mpf(z) ** 2)
            found.append(
                sum(
                    (-1) ** i * mp.binomial(m, i) * mp.exp(i * (i - 1) * rate) for i in range(m + 1)
                )
            )
    with mp.workdps(60):
        if abs(found[0] - found[1]) > mpf(10) ** -40 * abs(found[1]):
            raise ArithmeticError(f"B({m}) at z = {z} has lost its digits.")
        return +found[1]


def weight(j: int, z: float, theorem: str):
    """The factor of gamma^j C(a, j): theorem9, theorem27 or their minimum."""
    base = mp.exp(j * (j - 1) / (2 * mpf(z) ** 2))  # e^((j-1) r(j))
    if j == 2:
        return min(4 * (base - 1), 2 * base)
    nine = 2 * base
    if theorem == "theorem9":
        return nine
    other = 4 * mp.sqrt(moment(2 * (j // 2), z) * moment(2 * ((j + 1) // 2), z))
    return other if theorem == "theorem27" else min(nine, other)


def scaled_at(order: int, z: float, gamma, theorem: str):
    """(order - 1) r at an integer order >= 2; 0 at order 1."""
    total = mpf(0)
    for j in range(2, order + 1):
        total += gamma**j * mp.binomial(order, j) * weight(j, z, theorem)
    return mp.log1p(total)


def rdp(sample: int, population: int, z: float, order: float, theorem: str):
    """The divergence at one point."""
    with mp.workdps(60):
        gamma = mpf(sample / population)
        below = int(order)
        value = scaled_at(below, z, gamma, theorem)
        fraction = mpf(order) - below
        if fraction:
            above = scaled_at(below + 1, z, gamma, theorem)
            value = (1 - fraction) * value + fraction * above
        return value / (mpf(order) - 1)


if __name__ == "__main__":
    entries = [{"m": m, "z": z, "moment": digits(moment(m, z))} for m, z in MOMENTS]
    for (sample, population), z, order in POINTS:
        entry = {"sample": sample, "population": population, "z": z, "order": order}
        for theorem in ("theorem9", "theorem27", "minimum"):
            entry[theorem] = digits(rdp(sample, population, z, order, theorem))
        entries.append(entry)
    write(
        "fixed_size",
        quantity="B(m); bounds of Theorem 9, Theorem 27 and their per-term minimum, in nats",
        dps=DPS,
        entries=entries,
    )
