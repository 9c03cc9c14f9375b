"""RDP of sampling under replace-one from its privacy profile, to 30 digits.

The hockey-stick integral as it stands in Sason and Verdu 2016, in eps' itself: exp((a-1) D_a) - 1 =
a (a-1) times the integral over eps' > 0 of (e^((a-1) eps') + e^(-a eps')) h(eps'), with h(eps') =
gamma delta(eps), eps = log(1 + (e^eps' - 1)/gamma), and delta(eps) = Phi(-t) - e^eps Phi(-t - 1/z),
t = eps z - 1/(2z). Pieces are 0.9 or 1.3 min(2z, 1) wide in eps z, each by mpmath's adaptive
Gauss-Legendre rule, up to where the integrand has fallen by e^-140: the script stops unless the two
cuts agree to 10^-34. Working precision: mp.dps = 60.

Parameters are the binary floats that the entries' decimals round to. Run as a module to rewrite
values/profile_sampling.json: ``python -m tests.oracles.profile_sampling``.
"""

import itertools

from mpmath import mp, mpf

from tests.oracles.table import digits, write

DPS = 60

# gamma, z, order: a grid, then corners.
POINTS = [
    *itertools.product((1e-7, 0.01, 0.5), (0.7, 2.0, 10.0), (1.01, 1.5, 2.0, 17.25)),
    *itertools.product((1e-7, 0.999), (0.3,), (1.01, 2.5, 32.0)),
    *itertools.product((1e-7, 0.01, 0.999), (100.0,), (1.01, 2.5, 256.0)),
    *((gamma, 5.0, 256.0) for gamma in (1e-7, 0.01, 0.5)),
    *((0.01, 0.3, a) for a in (4.0, 128.0)),
    (1e-7, 0.7, 256.0),
    *((1.0, z, a) for z, a in ((0.3, 1.01), (0.3, 7.5), (1.0, 2.0), (100.0, 256.0))),
]


def delta(eps, z):
    """The Gaussian's hockey-stick divergence."""
    t, root = eps * z - 1 / (2 * z), mp.sqrt(2)
    return (mp.erfc(t / root) - mp.exp(eps) * mp.erfc((t + 1 / z) / root)) / 2


def excess(a, z, gamma, *, width):
    """exp((a-1) D_a) - 1, over pieces that are ``width`` min(2z, 1) wide in eps z."""

    def integrand(outer):
        inner = mp.log1p(mp.expm1(outer) / gamma)
        return (mp.exp((a - 1) * outer) + mp.exp(-a * outer)) * gamma * delta(inner, z)

    step = mpf(width) * min(2 * z, 1)
    # delta(eps) falls like e^(-t^2/2), the rest grows at most like e^(a eps).
    farthest = (a + 1) / z + mp.sqrt(2 * (140 + a * abs(mp.log(gamma)))) + 1 / z
    count = int(farthest / step) + 1
    edges = [mp.log1p(gamma * mp.expm1(i * step / z)) for i in range(count + 1)]
    total, peak = mpf(0), mpf(0)
    for left, right in itertools.pairwise(edges):
        piece = mp.quad(integrand, [left, right], method="gauss-legendre", maxdegree=7)
        total += piece
        peak = max(peak, piece)
        # Past the last hump of the integrand: see the end of the range.
        if left > edges[-1] / 2 and piece < peak * mp.exp(-140):
            break
    return a * (a - 1) * total


def rdp(gamma: float, z: float, order: float):
    """The divergence at one point."""
    with mp.workdps(DPS):
        a, big_z, big_gamma = mpf(order), mpf(z), mpf(gamma)
        found = [excess(a, big_z, big_gamma, width=width) for width in ("0.9", "1.3")]
        if abs(found[0] - found[1]) > mpf(10) ** -34 * found[0]:
            raise ArithmeticError(f"Two cuts disagree at {(gamma, z, order)}.")
        return mp.log1p(found[0]) / (a - 1)


if __name__ == "__main__":
    entries = [
        {"gamma": gamma, "z": z, "order": a, "rdp": digits(rdp(gamma, z, a))}
        for gamma, z, a in POINTS
    ]
    write(
        "profile_sampling",
        quantity="the hockey-stick integral over gamma delta(eps) at every order, as RDP, in nats",
        dps=DPS,
        entries=entries,
    )
