"""Pairs of distributions: their hockey-stick curves, and tests between their two members.

Argument
--------
The curve of a pair (P, Q) is H(t) = sup over events A of P(A) - t Q(A), t > 0. It is convex, falls,
and is at least 1 - t and 0. With the members exchanged it is 1 - t + t H(1/t). Two kinds of pairs:

*On a line*: mixtures of normal or Laplace noise of scale 1 around centres, where no centre of Q is
above one of P. The density f of either noise is log-concave: f(x - a) / f(x - b) does not fall in x
for a >= b. Hence p(x) q(y) >= p(y) q(x) for x > y, as it holds for each pair of centres: the ratio
r = p / q does not fall. So for every x

    P(> x) - t Q(> x) <= H(t) <= P(> x) - t Q(> x) + max(0, t - r(x)) Q(> x)
                                                   + max(0, 1 - t / r(x)) P(<= x),

as above x, t q - p <= (t - r(x)) q, and below, p - t q <= (1 - t / r(x)) p.

*A list of outcomes*, of which H(t) is the sum of max(0, p - t q). Outcomes are in the order of
their ratios, the largest first.

A sample, (1 - q) Q + q P against Q, and a pair whose members are exchanged, are such pairs again.

Of *batches*, numbers from N(0, 1) of which with some probability one has another mean, only events
are known: that all are above x, or, mirrored, that any is below -x.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, NamedTuple, Optional

from .intervals import ONE, TAILS, Enclosed, exp, exp_of, log, of, require, total, upper

NOTHING = 0 * ONE
OPPOSITE = {"all": "any", "any": "all"}
FINE = 4000
Parts = Iterable[tuple[Fraction, Fraction]]


class Pair(NamedTuple):
    """A pair of distributions.

    Parameters
    ----------
    noise : str
        Of a pair on a line; "all" or "any" of batches; "" for a list of outcomes.
    first, second : tuple
        P and Q: (centre, weight) of the parts of a mixture, or probabilities of outcomes, or the
        number of batches, the probability and the other mean.
    limit : tuple of Fraction, optional
        A bound on all finite losses, and the probability of an infinite one.
    mirrored : bool
        Whether it is the curve of a symmetric relation: below t = 1 the mirror image of the other
        side.
    """

    noise: str
    first: Any
    second: Any
    limit: Optional[tuple[Fraction, Fraction]] = None
    mirrored: bool = False


def line(noise: str, first: Parts, second: Parts, limit: Any = None) -> Pair:
    """Two mixtures on a line, moved such that the last centre of the second is 0."""
    parts = [*first], [*second]
    last = max(b for b, _ in parts[1])
    require(min(w for one in parts for _, w in one) >= 0, "a weight is negative")
    require(min(a for a, _ in parts[0]) >= last, "the centres of two mixtures are mixed up")
    moved, other = (tuple(sorted((a - last, w) for a, w in one)) for one in parts)
    return Pair(noise, moved, other, limit)


def reverse(pair: Pair) -> Pair:
    """The members exchanged; a line is mirrored as well, which makes it such a pair again."""
    if pair.noise in OPPOSITE:
        return Pair(OPPOSITE[pair.noise], pair.second, pair.first)
    if pair.noise and not pair.mirrored:
        first, second = (((-a, w) for a, w in one) for one in (pair.second, pair.first))
        return line(pair.noise, first, second, pair.limit)
    return (
        pair._replace(first=pair.second[::-1], second=pair.first[::-1]) if not pair.noise else pair
    )


def sample(pair: Pair, q: Fraction) -> Pair:
    """The pair (1 - q) Q + q P against Q; 1 / (1 - q + q e^-L) <= 1 - q + q e^L bounds losses."""
    limit, one, share, rest = None, of(ONE, 60), of(q, FINE), of(1 - q, FINE)
    if pair.limit and not pair.limit[1]:
        limit = upper(log(one + of(q, 60) * (exp_of(pair.limit[0], 60) - one))), NOTHING
    if pair.noise:
        mixed = [*((b, (1 - q) * w) for b, w in pair.second), *((a, q * w) for a, w in pair.first)]
        return line(pair.noise, mixed, pair.second, limit)
    both = tuple(share * p + rest * q for p, q in zip(pair.first, pair.second))
    return Pair("", both, pair.second, limit)


def outcomes(first: Iterable[Enclosed], limit: tuple[Fraction, Fraction]) -> Pair:
    """Outcomes whose probabilities under Q are those under P in the opposite order."""
    return Pair("", tuple(first), tuple(first)[::-1], limit)


def stated(epsilon: Fraction, delta: Fraction) -> Pair:
    """The worst (epsilon, delta)-private pair."""
    lost, kept = of(delta, FINE), of(1 - delta, FINE)
    small = kept / (of(ONE, FINE) + exp_of(epsilon, FINE))
    return outcomes((lost, kept - small, small, of(NOTHING, FINE)), (epsilon, delta))


def response(kept: Fraction, other: Fraction) -> Pair:
    """An answer that is the true one, the one of the other data set, or any of the others."""
    first = (of(one, FINE) for one in (kept, 1 - kept - other, other))
    return outcomes([*first], (upper(log(of(kept / other, 60))), NOTHING))


def geometric(rate: Fraction, n: int) -> Pair:
    """Integers with probabilities in e^(-rate abs(i)) around n, and around 0, from n downwards."""
    one = of(ONE, FINE)
    above = [exp_of(-rate * (m + 1), FINE) / (one + exp_of(-rate, FINE)) for m in range(n)]
    below = [of(NOTHING, FINE), *(one - tail for tail in above), one]
    return outcomes([b - a for a, b in zip(below, below[1:])], (rate * n, NOTHING))


def curve(pair: Pair, t: Enclosed) -> Enclosed:
    """The height of a curve at t."""
    one = of(ONE, t.bits)
    require(pair.noise not in OPPOSITE, "only events of batches are known")
    if pair.mirrored and t.lo < one.lo:
        require(t.hi <= one.lo, "too few digits beside 1")
        return one - t + t * curve(pair, one / t)
    if not pair.noise:
        return total([(p - t * q).positive() for p, q in _outcomes(pair, t.bits)], t.bits)
    x, p, q = event(pair, t)
    above, _, below, _ = _densities(pair, x, t.bits)
    ratio, found = (above / below).positive(), p - t * q
    most = Enclosed(ratio.hi, ratio.hi, t.bits)
    wrong = (t - ratio).positive() * q + (most - t).positive() / most * (one - p)
    return Enclosed(max(found.lo, 0), min(max((found + wrong).hi, 0), one.hi), t.bits)


def event(pair: Pair, t: Enclosed, start: Any = None) -> tuple[int, Enclosed, Enclosed]:
    """About the outcomes with a ratio above t: where they begin, and their P and Q.

    Of two such events the one that begins later is a part of the other one. Of batches it is said
    where they begin, in thousandths.
    """
    if not pair.noise:
        outcomes = _outcomes(pair, t.bits)
        above = [i for i, (p, q) in enumerate(outcomes, 1) if (p - t * q).lo > 0]
        kept = outcomes[: max(above, default=0)]
        return -len(kept), total([p for p, _ in kept], t.bits), total([q for _, q in kept], t.bits)
    if pair.noise in OPPOSITE:
        require(start is not None, "it is not said where events begin")
        x = (start << t.bits) // 1000
        p, q = (_of_batches(pair.noise, one, x, t.bits) for one in (pair.first, pair.second))
        return x, p, q
    x, tail = _place(pair, t), TAILS[pair.noise]
    here, sides = Enclosed(x, x, t.bits), (_parts(one, t.bits) for one in (pair.first, pair.second))
    p, q = (total([w * tail(here - a) for a, w in one], t.bits) for one in sides)
    return x, p, q


def _of_batches(which: str, given: Any, x: int, bits: int) -> Enclosed:
    """That all numbers are above x, or any is below -x, which all others are above."""
    count, share, mean = given
    end, tail = x if which == "all" else -x, TAILS["normal"]
    here, above = Enclosed(end, end, bits), of(1 - share, bits)
    own = tail(here)
    above = above * own + of(share, bits) * tail(here - of(mean, bits))
    for digit in bin(count - 1)[:1:-1]:
        above, own = above * own if digit == "1" else above, own * own
    return above if which == "all" else of(ONE, bits) - above


def _outcomes(pair: Pair, bits: int) -> list[tuple[Enclosed, Enclosed]]:
    return [(p.at(bits), q.at(bits)) for p, q in zip(pair.first, pair.second)]


@lru_cache(maxsize=4096)
def _parts(parts: Any, bits: int) -> list[tuple[Enclosed, Enclosed]]:
    return [(of(a, bits), of(w, bits)) for a, w in parts]


def _densities(pair: Pair, x: int, bits: int) -> list[Enclosed]:
    """Of P, and of Q: a density at x, but for a common factor, and its slope."""
    found, one, here = [], of(ONE, bits), Enclosed(x, x, bits)
    for parts in (pair.first, pair.second):
        values, slopes = [], []
        for a, w in _parts(parts, bits):
            far, half = here - a, Enclosed(a.lo >> 1, a.hi + 1 >> 1, bits)
            power = Enclosed(abs(x) - max(-far.lo, far.hi), abs(x) - max(far.lo, -far.hi, 0), bits)
            slope = one if far.hi <= 0 else of(-ONE, bits)
            if pair.noise == "normal":
                power, slope = (here - half) * a, a
            values.append(w * exp(power))
            slopes.append(values[-1] * slope)
        found += [total(values, bits), total(slopes, bits)]
    return found


def _place(pair: Pair, t: Enclosed) -> int:
    """About where the ratio is t, by Newton's method for its logarithm, between two ends."""
    bits, centres = t.bits, [a for a, _ in (*pair.first, *pair.second)]
    reach, x = isqrt(2 * bits) + 2 if pair.noise == "normal" else bits, 0
    low, high = (int(end) << bits for end in (min(centres) - reach, max(centres) + reach))
    for _ in range(200):
        p, dp, q, dq = (one.lo for one in _densities(pair, x, bits))
        q, dq = q * t.lo >> bits, dq * t.lo >> bits
        low, high = (x, high) if p < q else (low, x)
        slope = (dp << bits) // max(p, 1) - (dq << bits) // max(q, 1)
        # The difference of two logarithms: from a few binary digits on, seven tenths of one.
        far = 7 * (q.bit_length() - p.bit_length())
        above, below = (far, 10) if abs(far) > 20 else (2 * (q - p), max(p + q, 1))
        moved = (above << 2 * bits) // (below * max(slope, 1))
        if abs(moved) >> bits // 4 == 0 or high - low < 2:
            return x + moved
        x = x + moved if low < x + moved < high else (low + high) // 2
    return x
