"""Pairs of distributions: their hockey-stick curves, and tests between their two members.

Argument
--------
The curve of a pair (P, Q) is H(t) = sup over events A of P(A) - t Q(A), t > 0. It is convex, falls,
and is at least 1 - t and 0. With the members exchanged it is 1 - t + t H(1/t). Pairs are:

* ("line", p, q): mixtures of N(a, 1) on a line, as (weight, centre); no centre of Q above one of P;
* ("laplace", d): Laplace laws of scale 1 at 0 and d; H(t) = max(0, 1 - t, 1 - sqrt(t e^-d));
* ("response", p, k), ("stated", epsilon, delta), ("geometric", 1/b, n): a handful of outcomes, of
  randomised response, of the worst (epsilon, delta)-private mechanism, and of integers with
  probabilities in e^(-abs(i)/b) around 0 and n; H(t) is the sum of max(0, p - t q);
* ("sampled", q, pair): (1 - q) Q + q P against Q; H(t) = q H_PQ((t - 1 + q) / q), and 1 - t where
  that is below 0;
* ("shuffled", t, s, d, e): the largest of t numbers from N(0, 1), of which one, with probability s,
  has the mean d under P and e under Q; only events are known, no curve;
* ("reversed", pair): its members exchanged;
* ("mirrored", pair): of a symmetric relation, its curve at t >= 1 and the mirror image below.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, Optional

from .intervals import ONE, Enclosed, exp, exp_of, log, of, require, root, tail, upper

NOTHING = 0 * ONE
Cells = list[tuple[Enclosed, Enclosed]]
Parts = Sequence[tuple[Fraction, Fraction]]


def line(first: Parts, second: Parts) -> Any:
    """Two mixtures on a line, moved such that the last centre of the second is 0."""
    last = max(b for _, b in second)
    require(min(w for w, _ in (*first, *second)) >= 0, "a weight is negative")
    require(min(a for _, a in first) >= last, "the centres of two mixtures are mixed up")
    return ("line", *(tuple(sorted((w, a - last) for w, a in one)) for one in (first, second)))


def reverse(pair: Any) -> Any:
    """The members exchanged; mixtures are mirrored as well, which makes them such a pair again."""
    if pair[0] == "line":
        return line(*([(w, -a) for w, a in one] for one in (pair[2], pair[1])))
    return ("reversed", pair) if pair[0] in ("sampled", "shuffled") else pair


def curve(pair: Any, t: Enclosed) -> Enclosed:
    """The height of a curve at t."""
    one, kind = of(ONE, t.bits), pair[0]
    if kind == "line":
        return _on_a_line(pair, t)
    if kind in ("reversed", "mirrored"):
        require(kind == "reversed" or not t.lo < one.lo < t.hi, "too few digits beside 1")
        if kind == "mirrored" and t.lo >= one.lo:
            return curve(pair[1], t)
        return (one - t + t * curve(pair[1], one / t)).positive()
    if kind == "laplace":
        a, b = one - t, one - root(t * exp_of(-pair[1], t.bits))
        return Enclosed(max(a.lo, b.lo, 0), max(a.hi, b.hi, 0), t.bits)
    if kind == "sampled":
        q = of(pair[1], t.bits)
        inner = (t - one + q) / q
        if inner.lo > 0:
            return q * curve(pair[2], inner)
        # H_PQ is at most 1, and q = 1 - t + q inner.
        return Enclosed((one - t).lo, ((one - t) + (q * inner).positive()).hi, t.bits).positive()
    return sum(((p - t * q).positive() for p, q in _outcomes(pair, t.bits)), one - one)


def _outcomes(pair: Any, bits: int) -> Cells:
    """The probabilities of all outcomes under P and Q."""
    (kind, first, second), one = pair, of(ONE, bits)
    if kind == "response":
        a, b, rest = 1 - first + first / second, first / second, first - 2 * first / second
        return [(of(p, bits), of(q, bits)) for p, q in ((a, b), (rest, rest), (b, a))]
    if kind == "stated":
        lost, kept = of(second, bits), of(1 - second, bits)
        small = kept / (one + exp_of(first, bits))
        return [(lost, one - one), (kept - small, small), (small, kept - small), (one - one, lost)]
    whole, n = one + exp_of(-first, bits), int(second)
    p = [one - one, *(one - exp_of(-first * (m + 1), bits) / whole for m in range(n)), one]
    q = [one - one, *(exp_of(-first * (n - m), bits) / whole for m in range(n)), one]
    return [(p[i + 1] - p[i], q[i + 1] - q[i]) for i in range(n + 1)]


def largest(pair: Any) -> Optional[tuple[Fraction, Fraction]]:
    """A bound on finite losses, and the probability of an infinite one; None if there is none.

    Of a sample of a pair with losses in [-L, L], 1 / (1 - q + q e^-L) <= 1 - q + q e^L.
    """
    kind = pair[0]
    if kind == "reversed":
        return largest(pair[1])
    if kind == "sampled":
        found, one, q = largest(pair[2]), of(ONE, 400), of(pair[1], 400)
        if found is None or found[1]:
            return None
        return upper(log(one + q * (exp_of(found[0], 400) - one))), NOTHING
    if kind == "response":
        a, b = _outcomes(pair, 200)[0]
        return upper(log(a / b)), NOTHING
    limits = {"laplace": (pair[1], NOTHING), "stated": pair[1:]}
    return (pair[1] * pair[2], NOTHING) if kind == "geometric" else limits.get(kind)


def cells(pair: Any, grid: list[Fraction], bits: int) -> Cells:
    """Disjoint events, P and Q, of a pair that two data sets attain; a grid is from, to, number."""
    one, nothing = of(ONE, bits), of(NOTHING, bits)
    first, last, number = grid
    require(first < last, "the ends of cells do not ascend")
    if pair[0] == "reversed":
        return [(q, p) for p, q in cells(pair[1], grid, bits)]
    if pair[0] == "sampled":
        q, rest = of(pair[1], bits), of(1 - pair[1], bits)
        return [(rest * b + q * a, b) for a, b in cells(pair[2], grid, bits)]
    if pair[0] == "laplace":
        half, d = of(ONE / 2, bits), pair[1]
        places = [d * i / number for i in range(int(number) + 1)]
        sides = [(half * exp_of(-x, bits), one - half * exp_of(x - d, bits)) for x in places]
    elif pair[0] in ("line", "shuffled"):
        places = [first + (last - first) * i / number for i in range(int(number) + 1)]
        above = _beyond if pair[0] == "line" else _some_beyond
        sides = [above(pair, (x.numerator << bits) // x.denominator, bits) for x in places]
    else:
        return _outcomes(pair, bits)
    beyond = [(one, one), *sides, (nothing, nothing)]
    return [(a[0] - b[0], a[1] - b[1]) for a, b in zip(beyond, beyond[1:])]


@lru_cache(maxsize=4096)
def _constants(parts: Parts, bits: int) -> list[tuple[Enclosed, Enclosed, Enclosed]]:
    """Weights w, centres a and a^2 / 2."""
    return [(of(w, bits), of(a, bits), of(a * a / 2, bits)) for w, a in parts]


def _densities(pair: Any, x: int, bits: int) -> list[Enclosed]:
    """For P, the sum of w e^(a x - a^2 / 2) and that of w a e^(a x - a^2 / 2); then for Q."""
    found, here = [], Enclosed(x, x, bits)
    for parts in pair[1:]:
        terms = [(w * exp(here * a - half), a) for w, a, half in _constants(parts, bits)]
        found.append(sum((term for term, _ in terms), Enclosed(0, 0, bits)))
        found.append(sum((term * a for term, a in terms), Enclosed(0, 0, bits)))
    return found


def _sign(pair: Any, x: int, t: Enclosed) -> int:
    """1 where dP/dQ is certainly above t at x, -1 where it is certainly below, 0 otherwise."""
    p, _, q, _ = _densities(pair, x, t.bits)
    difference = p - t * q
    return (difference.lo > 0) - (difference.hi < 0)


def _beyond(pair: Any, x: int, bits: int) -> tuple[Enclosed, Enclosed]:
    """P and Q of everything above x."""
    here = Enclosed(x, x, bits)
    first, second = (_constants(parts, bits) for parts in pair[1:])
    p, q = ([w * tail(here - a) for w, a, _ in one] for one in (first, second))
    return sum(p[1:], p[0]), sum(q[1:], q[0])


def _some_beyond(pair: Any, x: int, bits: int) -> tuple[Enclosed, Enclosed]:
    """P and Q of a largest number above x: 1 - F(x)^(t-1) ((1 - s) F(x) + s F(x - mean))."""
    _, count, share, *means = pair
    one, moved, here = of(ONE, bits), of(share, bits), Enclosed(x, x, bits)
    own = one - tail(here)
    others = exp(of(count - 1, bits) * log(own))
    p, q = ((one - moved) * own + moved * (one - tail(here - of(m, bits))) for m in means)
    return one - others * p, one - others * q


def _proposed(pair: Any, t: Enclosed, reach: int) -> int:
    """About where dP/dQ is t, by Newton's method for its logarithm, between two ends."""
    low, high, x = -reach, reach, 0
    for _ in range(200):
        p, dp, q, dq = (one.lo for one in _densities(pair, x, t.bits))
        q, dq = q * t.lo >> t.bits, dq * t.lo >> t.bits
        low, high = (x, high) if p < q else (low, x)
        slope = (dp << t.bits) // max(p, 1) - (dq << t.bits) // max(q, 1)
        # The difference of two logarithms: from a few binary digits on, seven tenths of one.
        far = 7 * (q.bit_length() - p.bit_length())
        above, below = (far, 10) if abs(far) > 20 else (2 * (q - p), max(p + q, 1))
        following = x + (above << 2 * t.bits) // (below * max(slope, 1))
        following = following if low < following < high else (low + high) // 2
        if abs(following - x) >> (t.bits // 4) == 0:
            return following
        x = following
    return x


def _on_a_line(pair: Any, t: Enclosed) -> Enclosed:
    """The height at t of a pair on a line.

    The derivative of log(dP/dQ) is the mean of P's centres given x, less that of Q's, so that it is
    not negative and {dP/dQ > t} is {x > y} for some y. With a <= y <= b, H(t) is at most
    P(x > a) - t Q(x > b); it is at least P(x > c) - t Q(x > c) for every c. That a and b are on
    either side of y is seen from the ratio there; where y comes from does not matter.
    """
    bits, ends = t.bits, [of(ONE, t.bits), of(NOTHING, t.bits)]
    reach = (isqrt(2 * bits) + 2 + int(max(abs(a) for one in pair[1:] for _, a in one))) << bits
    x = _proposed(pair, t, reach)
    steps = [1 << n for n in range(6, reach.bit_length() + 2, 16)]
    for i, side in enumerate((-1, 1)):
        found = (x + side * step for step in steps if _sign(pair, x + side * step, t) == side)
        ends[i] = next((_beyond(pair, end, bits)[i] for end in found), ends[i])
    p, q = _beyond(pair, x, bits)
    low, high = (p - t * q).positive(), ends[0] - t * ends[1]
    return Enclosed(low.lo, min(max(high.hi, low.lo), 1 << bits), bits)
