"""Curves and events of pairs against mpmath, for samples and with members exchanged as well."""

import itertools
from fractions import Fraction

import mpmath
import pytest

from rdpkit.kernel import intervals
from rdpkit.kernel.intervals import Enclosed, of
from rdpkit.kernel.pairs import Pair, curve, event, geometric, laplace, mixture, response, shift
from rdpkit.kernel.pairs import stated as worst

F = Fraction
HALF = F(1, 2)
COLLINEAR = Pair(
    "normal", (((HALF, F(3, 4)), (2, F(1, 4))), ((HALF, F(3, 4)), (0, F(1, 4)))), side=0
)


def normal(parts):
    """Probabilities of {> x} under a mixture, and its density."""
    both = [(mpmath.sqrt(mpmath.mpf(a.numerator) / a.denominator), w) for a, w in parts]
    both = [(a, mpmath.mpf(w.numerator) / w.denominator) for a, w in both]
    return (
        lambda x: sum(w * mpmath.erfc((x - a) / mpmath.sqrt(2)) / 2 for a, w in both),
        lambda x: sum(w * mpmath.npdf(x, a) for a, w in both),
    )


def height(pair, q, t):
    """The curve of a sample at t, by the best event of the pair on its line."""
    t = (t - 1 + q) / q
    if t <= 0:
        return q * (1 - t)
    if pair.kind == "outcomes":
        sides = [[mpmath.mpf(p.lo) / mpmath.mpf(2) ** p.bits for p in one] for one in pair.given]
        return q * sum(max(a - t * b, 0) for a, b in zip(*sides, strict=True))
    if pair.kind == "laplace":
        d = mpmath.mpf(pair.given[0][0].numerator) / pair.given[0][0].denominator
        x = min(max((mpmath.log(t) + d) / 2, 0), d)
        inside = 1 - mpmath.exp(x - d) / 2 - t * mpmath.exp(-x) / 2
        return q * max(0, 1 - t, inside)
    (p, density), (other, below) = map(normal, pair.given)
    low, high = mpmath.mpf(-60), mpmath.mpf(60)
    for _ in range(200):
        x = (low + high) / 2
        low, high = (low, x) if density(x) > t * below(x) else (x, high)
    return q * max(p(x) - t * other(x), 0, 1 - t)


intervals.LEFT[0] = 10**9
PAIRS = {
    "gaussian": shift(F(9, 4)),
    "tiny": shift(F(1, 10**6)),
    "mixture": mixture(F(2), [(F(1), F(0)), (F(2), F(1)), (F(1), F(3))]),
    "collinear": COLLINEAR,
    "laplace": laplace(F(2), F(1)),
    "discrete": geometric(F(3, 2), F(3)),
    "response": response(4, F(3, 5)),
    "stated": worst(F(1), F(1, 1000)),
}


@pytest.mark.parametrize(
    "rate", [F(1), F(1, 3), pytest.param(F(1, 1000), marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("name", PAIRS)
def test_curves_enclose_the_exact_ones_closely(name, rate):
    intervals.LEFT[0] = 10**9
    pair, bits = PAIRS[name], 200
    side = pair.side if rate == 1 else 1
    with mpmath.workdps(80):
        q = mpmath.mpf(rate.numerator) / rate.denominator
        for loss in (F(-3), F(-1, 10**4), F(0), F(1, 3), F(4)):
            t = of(loss, bits).exp()
            exact_t = mpmath.exp(mpmath.mpf(loss.numerator) / loss.denominator)
            forward = height(pair, q, exact_t)
            backward = 1 - exact_t + exact_t * height(pair, q, 1 / exact_t)
            for way, exact in ((1, forward), (-1, backward)):
                found = curve(pair._replace(rate=rate, side=side * way), t)
                unit = mpmath.mpf(2) ** bits
                # For side 0 both are the same curve.
                assert found.lo / unit <= exact + mpmath.mpf(10) ** -55, (loss, way)
                assert exact - mpmath.mpf(10) ** -55 <= found.hi / unit, (loss, way)
                assert (found.hi - found.lo) >> 60 == 0


def test_up_to_nothing_a_curve_is_the_line():
    for low, high in ((-5, 5), (-7, -3), (0, 1)):
        t, one = Enclosed(low, high, 40), 1 << 40
        for pair in PAIRS.values():
            found = curve(pair, t)
            assert found.lo <= one - high
            assert found.hi >= max(one, one - low)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("rate", [F(1), F(1, 3)])
@pytest.mark.parametrize("name", PAIRS)
def test_no_event_is_better_than_the_curve(name, rate, side):
    intervals.LEFT[0] = 10**9
    pair, bits = PAIRS[name]._replace(rate=rate, side=side), 200
    one = of(1, bits)
    for loss in (F(-1), F(1, 10), F(1)):
        t = of(loss, bits).exp()
        most, seen = curve(pair, t), []
        for start in range(-30000, 40001, 2500):
            p, q = event(pair, start, bits)
            assert (p - t * q).lo <= most.hi
            seen.append((p, q))
        for (p, q), (next_p, next_q) in itertools.pairwise(seen):
            assert p.hi >= 0
            assert p.lo <= one.hi
            assert next_p.lo <= p.hi
            assert next_q.lo <= q.hi
