"""The best epsilon and delta that one Renyi order allows, by brute force, to 30 digits.

Over all p, the smallest q with both p^a q^(1-a) + (1-p)^a (1-q)^(1-a) <= e^((a-1) r) and its
reflection, found by bisection in log q; then the largest log((p - delta)/q), or p - e^eps q, by a
grid of 160 points in logit(p) that reaches far below delta, and golden section from its two best
local maxima. Working precision: mp.dps = 50.

Run as a module to rewrite values/optimal_conversion.json: ``python -m
tests.oracles.optimal_conversion``.
"""

from mpmath import mp, mpf

from tests.oracles.table import digits, write

DPS = 50
_GRID = 160

# order, rdp, delta
EPSILONS = [
    (2.0, 0.5, 1e-5),
    (1.01, 0.3, 1e-5),
    (1.5, 1e-3, 1e-6),
    (3.7, 2.0, 0.1),
    (16.0, 0.32, 1e-5),
    (64.0, 5.0, 1e-9),
    (256.0, 0.01, 1e-5),
    (2.0, 1e-8, 1e-7),
    (32.0, 1.0, 0.9),
    (2.0, 20.0, 1e-5),
    (10.0, 0.5, 1e-20),
]
# order, rdp, epsilon
DELTAS = [
    (2.0, 0.5, 1.0),
    (2.0, 0.5, 0.0),
    (1.01, 0.3, 0.1),
    (16.0, 0.32, 1.0),
    (64.0, 5.0, 2.0),
    (8.0, 1e-6, 0.0),
    (4.0, 1e-4, 0.01),
    (32.0, 1.0, 3.0),
]


def smallest_q(p, a, r):
    """The smallest q that both directions allow, by bisection in log q."""
    limit = (a - 1) * r

    def excess(q):
        forward = p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)
        backward = q**a * p ** (1 - a) + (1 - q) ** a * (1 - p) ** (1 - a)
        return mp.log(max(forward, backward)) - limit

    high = mp.log(p)
    # One direction alone gives q >= p^(a/(a-1)) e^-r; below that nothing is allowed.
    low = a / (a - 1) * mp.log(p) - r - 1
    for _ in range(125):
        middle = (low + high) / 2
        if excess(mp.exp(middle)) > 0:
            low = middle
        else:
            high = middle
    return mp.exp(high)


def largest(value, low, high):
    """The maximum over logit(p): a grid, then golden section around its best local maxima."""
    step = (high - low) / (_GRID - 1)
    grid = [low + i * step for i in range(_GRID)]
    values = [value(w) for w in grid]
    peaks = [i for i in range(1, _GRID - 1) if values[i - 1] <= values[i] >= values[i + 1]] or [
        max(range(_GRID), key=values.__getitem__)
    ]
    ratio = (mp.sqrt(5) - 1) / 2
    best = []
    for i in sorted(peaks, key=values.__getitem__)[-2:]:
        left, right = grid[i] - step, grid[i] + step
        one, two = right - ratio * (right - left), left + ratio * (right - left)
        at_one, at_two = value(one), value(two)
        for _ in range(80):
            if at_one > at_two:
                right, two, at_two = two, one, at_one
                one = right - ratio * (right - left)
                at_one = value(one)
            else:
                left, one, at_one = one, two, at_two
                two = left + ratio * (right - left)
                at_two = value(two)
        best.append(max(at_one, at_two))
    return max(best)


def epsilon(order: float, rdp: float, delta: float):
    """The largest log((p - delta)/q) over the region."""
    with mp.workdps(DPS):
        a, r, target = mpf(order), mpf(rdp), mpf(delta)

        def value(w):
            gain = (1 - target) / (1 + mp.exp(-w))  # p - delta
            return mp.log(gain) - mp.log(smallest_q(target + gain, a, r))

        return largest(value, mp.log(target) - 25, mpf(60))


def delta(order: float, rdp: float, epsilon: float):
    """The largest p - e^epsilon q over the region."""
    with mp.workdps(DPS):
        a, r, target = mpf(order), mpf(rdp), mp.exp(mpf(epsilon))

        def value(w):
            p = 1 / (1 + mp.exp(-w))
            return p - target * smallest_q(p, a, r)

        return largest(value, mpf(-100), mpf(60))


if __name__ == "__main__":
    entries = [
        {"order": a, "rdp": r, "delta": d, "epsilon": digits(epsilon(a, r, d))}
        for a, r, d in EPSILONS
    ]
    entries += [
        {"order": a, "rdp": r, "epsilon": e, "delta": digits(delta(a, r, e))} for a, r, e in DELTAS
    ]
    write(
        "optimal_conversion",
        quantity="the largest epsilon at delta, or delta at epsilon, that (order, rdp) allows",
        dps=DPS,
        entries=entries,
    )
