"""How far one record moves weighted sums and second moments: a search that knows no formula.

Two records r, r' in the unit ball of the plane, or in its quarter with no negative coordinate, each
in class 0 or 1. The whole released vector is written out for both, and the squared distance is
searched for its maximum over norms and angles: a grid, then a finer grid around the best two
points of it, again and again until the cell is smaller than 10^-7. At a maximum the distance is
quadratic in the cell, or the maximum is on the edge of the grid, so it is right to about 10^-14.
The working precision is 30 digits, of which 12 are stored.

Run as a module to rewrite values/class_moments.json: ``python -m tests.oracles.class_moments``.
"""

from __future__ import annotations

import itertools

from mpmath import mp, mpf

from tests.oracles.table import write

DPS = 30
# Squared weights of the sums, the pooled moments, the moments by class, the counts.
WEIGHTS = [
    ("0.3", "0.7", "0", "0"),
    ("0.3", "0.35", "0.35", "0"),
    ("0.3", "0", "0.7", "0.01"),
    ("0.3", "0", "0.7", "0.05"),
    ("0.7", "0.3", "0", "0"),
    ("0.7", "0.1", "0.1", "0.3"),
    ("0.7", "0.1", "0.1", "0.6"),
    ("1", "0", "0", "0"),
    ("0", "1", "0", "0"),
    ("2", "1", "0", "0"),
    ("0", "0", "0", "1"),
]


def released(point, label, weights):
    """Everything that one record adds: sums, counts and moments of both classes, pooled moments."""
    a, b, c, k = (mp.sqrt(mpf(weight)) for weight in weights)
    norm, angle = point
    x, y = norm * mp.cos(angle), norm * mp.sin(angle)
    products = [x * x, mp.sqrt(2) * x * y, y * y]
    slot = [k, a * x, a * y, *(c * value for value in products)]
    empty = [mpf(0)] * len(slot)
    both = slot + empty if label == 0 else empty + slot
    return both + [b * value for value in products]


def squared(point, other, moved, weights):
    """The squared distance of what two records add."""
    one, two = released(point, 0, weights), released(other, int(moved), weights)
    return sum((p - q) ** 2 for p, q in zip(one, two, strict=True))


def largest(weights, moved, nonnegative):
    """The largest distance, over norms in [0, 1] and the angle between the records."""
    top = mp.pi / 2 if nonnegative else mp.pi
    low, high = [mpf(0)] * 3, [mpf(1), mpf(1), top]
    cells, steps = [(low, high)], 8
    best = mpf(0)
    while True:
        found = []
        for start, end in cells:
            axes = [
                [s + (e - s) * i / steps for i in range(steps + 1)]
                for s, e in zip(start, end, strict=True)
            ]
            for place in itertools.product(*axes):
                r, s, angle = place
                value = squared((r, mpf(0)), (s, angle), moved, weights)
                width = [(e - t) / steps for t, e in zip(start, end, strict=True)]
                found.append((value, place, width))
        found.sort(key=lambda entry: entry[0], reverse=True)
        best = max(best, found[0][0])
        if max(found[0][2]) < mpf(10) ** -7:
            return mp.sqrt(best)
        cells = [
            (
                [max(bottom, p - w) for bottom, p, w in zip(low, place, width, strict=True)],
                [min(limit, p + w) for limit, p, w in zip(high, place, width, strict=True)],
            )
            for _, place, width in found[:2]
        ]


def entry(weights, nonnegative) -> dict:
    """One row of the table."""
    with mp.workdps(DPS):
        distance = max(largest(weights, moved, nonnegative) for moved in (False, True))
        return {
            "weights": list(weights),
            "nonnegative": nonnegative,
            "diameter": mp.nstr(distance, 12),
        }


def main() -> None:
    """Rewrite the table."""
    entries = [entry(weights, flag) for weights in WEIGHTS for flag in (False, True)]
    write("class_moments", quantity="diameter", dps=DPS, entries=entries)


if __name__ == "__main__":
    main()
