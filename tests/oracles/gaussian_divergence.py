"""Renyi divergences between Gaussians in 1 to 4 dimensions, to 30 digits.

By the formula with determinants and an inverse at mp.dps = 60. In one dimension the integral of
p^a q^(1-a) is computed as well, by the trapezoid rule (the integrand is a Gaussian), and the script
stops unless both agree to 10^-32. Covariances are M M' + I/4 for small integer matrices M, so that
the stored decimals are exact.

Run as a module to rewrite values/gaussian_divergence.json: ``python -m
tests.oracles.gaussian_divergence``.
"""

from mpmath import mp, mpf

from tests.oracles.table import digits, write

DPS = 60


def covariance(rows: list[list[int]], scale: float = 1.0) -> list[list[float]]:
    """(M M' + I/4) scale as floats, exact for the small integers used here."""
    d = len(rows)
    return [
        [
            scale * (sum(rows[i][k] * rows[j][k] for k in range(d)) + (0.25 if i == j else 0.0))
            for j in range(d)
        ]
        for i in range(d)
    ]


_TWO = covariance([[1, 0], [1, 1]])
_THREE = covariance([[1, 0, 1], [0, 2, 0], [1, -1, 1]])
_SPREAD = [[2, 0, 1], [0, 3, 0], [1, -1, 3]]
_FOUR = covariance([[1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 2, 1]])

# order, mean_p, cov_p, mean_q, cov_q
POINTS = [
    (2.0, [1.0], [[1.0]], [0.0], [[1.0]]),
    (1.01, [0.5], [[1.5]], [-0.25], [[1.0]]),
    (2.5, [0.0], [[1.5]], [0.5], [[1.0]]),
    (2.5, [1.0], [[0.125]], [0.0], [[2.0]]),
    (40.0, [0.0], [[1.0]], [0.125], [[1.0078125]]),
    (3.0, [0.0], [[1.0]], [0.0], [[1.0000152587890625]]),
    (3.0, [0.0], [[1.0]], [9.5367431640625e-07], [[1.0]]),
    (4.0, [0.0], [[9.5367431640625e-07]], [0.0], [[1.0]]),
    (1.5, [1.0, -1.0], _TWO, [0.0, 0.5], covariance([[2, 1], [0, 1]])),
    (8.0, [0.0, 0.0], _TWO, [0.25, 0.0], covariance([[1, 0], [1, 1]], 1.0625)),
    (2.0, [0.0, 1.0, 2.0], _THREE, [1.0, 1.0, 1.0], covariance(_SPREAD)),
    (1.0625, [0.0, 1.0, 2.0], covariance(_SPREAD), [0.0, 1.0, 2.0], _THREE),
    (3.5, [1.0, 0.0, 0.0, -1.0], _FOUR, [0.0] * 4, _FOUR),
    (
        1.75,
        [1.0, 0.0, 0.0, -1.0],
        _FOUR,
        [0.0] * 4,
        covariance([[1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 2, 2]], 1.25),
    ),
]


def divergence(order: float, mean_p, cov_p, mean_q, cov_q):
    """Gil et al.'s formula; S must be positive definite (checked by its leading minors)."""
    with mp.workdps(DPS):
        a = mpf(order)
        one, two = mp.matrix(cov_p), mp.matrix(cov_q)
        mixed = (1 - a) * one + a * two
        d = len(mean_p)
        if any(mp.det(mixed[: k + 1, : k + 1]) <= 0 for k in range(d)):
            raise ArithmeticError("S is not positive definite.")
        gap = mp.matrix(mean_p) - mp.matrix(mean_q)
        quadratic = (gap.T * mp.inverse(mixed) * gap)[0]
        logs = mp.log(mp.det(mixed)) - (1 - a) * mp.log(mp.det(one)) - a * mp.log(mp.det(two))
        return a / 2 * quadratic - logs / (2 * (a - 1))


def by_integration(order: float, mean_p, cov_p, mean_q, cov_q):
    """In one dimension, the logarithm of the integral of p^a q^(1-a)."""
    with mp.workdps(DPS):
        a, m1, m2 = mpf(order), mpf(mean_p[0]), mpf(mean_q[0])
        v1, v2 = mpf(cov_p[0][0]), mpf(cov_q[0][0])
        precision = a / v1 + (1 - a) / v2
        centre, width = (a * m1 / v1 + (1 - a) * m2 / v2) / precision, 1 / mp.sqrt(precision)
        total, step = mpf(0), width / 4
        for i in range(-60, 61):
            x = centre + i * step
            total += mp.exp(-a * (x - m1) ** 2 / (2 * v1) - (1 - a) * (x - m2) ** 2 / (2 * v2))
        total *= step * (2 * mp.pi * v1) ** (-a / 2) * (2 * mp.pi * v2) ** ((a - 1) / 2)
        return mp.log(total) / (a - 1)


def entry(order: float, mean_p, cov_p, mean_q, cov_q) -> dict:
    """One row of the table."""
    arguments = {"mean_p": mean_p, "cov_p": cov_p, "mean_q": mean_q, "cov_q": cov_q}
    value = divergence(order, **arguments)
    if len(mean_p) == 1 and abs(by_integration(order, **arguments) - value) > mpf(10) ** -32:
        raise ArithmeticError(f"The integral disagrees with the formula at order {order}.")
    return {"order": order, **arguments, "divergence": digits(value)}


if __name__ == "__main__":
    write(
        "gaussian_divergence",
        quantity="D_order(N(mean_p, cov_p) || N(mean_q, cov_q)) in nats",
        dps=DPS,
        entries=[entry(*point) for point in POINTS],
    )
