"""Pairs of distributions: their hockey-stick curves, and events with their two probabilities.

Argument
--------
The curve of a pair (P, Q) is H(t) = sup over events A of P(A) - t Q(A), for any t. It is convex,
falls, and is at least 1 - t and 0; up to t = 0 it is 1 - t. Members that are exchanged have the
curve 1 - t + t H(1/t), and a sample, q P + (1 - q) Q against Q, has q H((t - 1 + q) / q), as
q P + (1 - q) Q - t Q = q (P - (t - 1 + q) / q Q). What is left are four
kinds of pairs, all on a line.

*normal*: mixtures of normal noise of scale 1, where no centre of Q is above one of P. The ratio of
two normal densities f(x - a) / f(x - b) rises with x for a >= b, so p(x) q(y) >= p(y) q(x) for
x > y, as it holds for each pair of centres: the ratio r = p / q does not fall. So for every x

    P(> x) - t Q(> x) <= H(t) <= P(> x) - t Q(> x) + max(0, t - r(x)) Q(> x)
                                                   + max(0, 1 - t / r(x)) P(<= x),

as above x, t q - p <= (t - r(x)) q, and below, p - t q <= (1 - t / r(x)) p.

*laplace*: noise of scale 1 around d and around 0, with H(t) = max(0, 1 - t, 1 - sqrt(t e^-d)).

*outcomes*: probabilities of 0, 1, 2, ... under P, where Q has them in the opposite order, and the
ratio does not fall. H(t) is the sum of max(0, p - t q).

*batches*: the smallest of some numbers from N(0, 1), of which with some probability one has another
mean. No curve of such a pair is known, only events.

Events are {> x}: they shrink as x grows. If members are exchanged, complements of {> -x} do.
"""

from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple, Optional

from .intervals import Enclosed, normal_tail, of, require

FINE = 4000


class Pair(NamedTuple):
    """A pair of distributions.

    Parameters
    ----------
    kind : str
        One of the four.
    given : tuple
        For P and for Q: of "normal" a list of (square of a centre, weight), of "laplace" of one
        centre, of "outcomes" probabilities, of "batches" how many numbers, a probability, a mean.
    limit : tuple of Fraction, optional
        An epsilon and a delta for which it is private, in both orders, and so are its samples.
    rate : Fraction
        The q of a sample.
    side : int
        1, or -1 if the members are exchanged; 0 if that is the same curve, of which the kind is the
        half from t = 1 on.
    """

    kind: str
    given: Any
    limit: Optional[tuple[Fraction, Fraction]] = None
    rate: Fraction = Fraction(1)
    side: int = 0


def shift(square: Fraction) -> Pair:
    """Normal noise around two places, whose distance has this square."""
    return Pair("normal", (((square, 1),), ((0, 1),)))


def mixture(noise: Fraction, parts: list[tuple[Fraction, Fraction]]) -> Pair:
    """Normal noise around places with some weights, and around 0."""
    first = tuple(((x / noise) ** 2, weight / sum(w for w, _ in parts)) for weight, x in parts)
    return Pair("normal", (first, ((0, 1),)), side=1)


def laplace(scale: Fraction, distance: Fraction) -> Pair:
    """Laplace noise around two places."""
    return Pair("laplace", ((distance / scale,), (0,)), (distance / scale, Fraction(0)))


def stated(epsilon: Fraction, delta: Fraction) -> Pair:
    """The worst (epsilon, delta)-private pair."""
    kept = of(1 - delta, FINE)
    small = kept / (of(1, FINE) + of(epsilon, FINE).exp())
    return _outcomes([of(0, FINE), small, kept - small, of(delta, FINE)], epsilon, delta)


def response(buckets: int, probability: Fraction) -> Pair:
    """An answer that is the one of the other data set, any of the others, or the true one."""
    other, kept = probability / buckets, 1 - probability + probability / buckets
    require(0 < probability < 1 < buckets, "no random answer")
    first = [of(one, FINE) for one in (other, 1 - kept - other, kept)]
    return _outcomes(first, Fraction(of(kept / other, 60).log().hi, 1 << 60))


def geometric(scale: Fraction, distance: Fraction) -> Pair:
    """Integers with probabilities in e^(-abs(i) / scale) around n and around 0, from 0 to n."""
    n, one = int(distance), of(1, FINE)
    require(n == distance and 1 <= n <= 100, "no distance from 1 to 100")
    half = one / (one + of(-1 / scale, FINE).exp())
    up_to = [of((m - n) / scale, FINE).exp() * half for m in range(n)]
    return _outcomes([b - a for a, b in zip([of(0, FINE), *up_to], [*up_to, one])], n / scale)


def _outcomes(first: list[Enclosed], epsilon: Fraction, delta: Fraction = Fraction(0)) -> Pair:
    return Pair("outcomes", (tuple(first), tuple(first[::-1])), (epsilon, delta))


def curve(pair: Pair, t: Enclosed) -> Enclosed:
    """The height of a curve at t."""
    none, one, bits, plain = of(0, t.bits), of(1, t.bits), t.bits, pair._replace(side=1)
    require(pair.kind != "batches", "only events of batches are known")
    if t.lo <= 0:
        return Enclosed((one - t).lo, max(one.hi, (one - t).hi), bits)
    if pair.side < 0 or (pair.side == 0 and t.lo < one.lo):
        require(pair.side < 0 or t.hi <= one.lo, "too few digits beside 1")
        return one - t + t * curve(plain, one / t)
    if pair.rate < 1:
        q = of(pair.rate, bits)
        return q * curve(plain._replace(rate=Fraction(1)), (t - one + q) / q)
    if pair.kind == "outcomes":
        parts = ((p.at(bits) - t * q.at(bits)).larger(none) for p, q in zip(*pair.given))
        return sum(parts, none)
    if pair.kind == "laplace":
        return none.larger(one - t).larger(one - (t * of(-pair.given[0][0], bits).exp()).root())
    sides = [_centres(one, bits) for one in pair.given]
    x = _place([sides[0], [(a, w * t) for a, w in sides[1]]], bits)
    p, q = (TAILS["normal"](one, x) for one in pair.given)
    ratio, found = (_density(sides[0], x)[0] / _density(sides[1], x)[0]).larger(none), p - t * q
    most = Enclosed(ratio.hi, ratio.hi, bits)
    wrong = (t - ratio).larger(none) * q + (most - t).larger(none) / most * (one - p)
    return Enclosed(max(found.lo, 0), min(max((found + wrong).hi, 0), one.hi), bits)


def event(pair: Pair, start: int, bits: int) -> tuple[Enclosed, Enclosed]:
    """P and Q of an event, which shrinks as its place grows, in ten-thousandths."""
    place, one, q = (start << bits) // 10000, of(1, bits), of(pair.rate, bits)
    x = Enclosed(place, place, bits) if pair.side >= 0 else Enclosed(-place, -place, bits)
    first, second = (TAILS[pair.kind](one, x) for one in pair.given)
    first = q * first + (one - q) * second
    return (first, second) if pair.side >= 0 else (one - second, one - first)


def _normal(given: Any, x: Enclosed) -> Enclosed:
    return sum((w * normal_tail(x - a) for a, w in _centres(given, x.bits)), of(0, x.bits))


def _steps(given: Any, x: Enclosed) -> Enclosed:
    return sum((p.at(x.bits) for i, p in enumerate(given) if i << x.bits > x.lo), of(0, x.bits))


def _batches(given: Any, x: Enclosed) -> Enclosed:
    """That all of so many numbers are above x, of which perhaps one has another mean."""
    count, share, mean = given
    own, q = normal_tail(x), of(share, x.bits)
    found = (of(1, x.bits) - q) * own + q * normal_tail(x - of(mean, x.bits))
    for digit in bin(count - 1)[:1:-1]:
        found, own = found * own if digit == "1" else found, own * own
    return found


def _laplace(given: Any, x: Enclosed) -> Enclosed:
    """e^-x / 2 from 0 on; up to there 1 - e^x / 2, which is nowhere more than the tail."""
    far, half, none = x - of(given[0], x.bits), of(Fraction(1, 2), x.bits), of(0, x.bits)
    return half * (none - far).exp() if far.lo >= 0 else of(1, x.bits) - half * far.exp()


TAILS = {"normal": _normal, "laplace": _laplace, "outcomes": _steps, "batches": _batches}


def _centres(parts: Any, bits: int) -> list[tuple[Enclosed, Enclosed]]:
    return [(of(square, 2 * bits).root().at(bits), of(w, bits)) for square, w in parts]


def _density(parts: list[tuple[Enclosed, Enclosed]], x: Enclosed) -> tuple[Enclosed, Enclosed]:
    """A density at x, but for the common factor f(x), and its slope."""
    half, none = of(Fraction(1, 2), x.bits), of(0, x.bits)
    values = [w * ((x - half * a) * a).exp() for a, w in parts]
    return sum(values, none), sum((v * a for v, (a, _) in zip(values, parts)), none)


def _place(sides: list[list[tuple[Enclosed, Enclosed]]], bits: int, x: int = 0) -> Enclosed:
    """About where the ratio is 1, by Newton's method for its logarithm, while work is left."""
    far = last = max(a.hi for one in sides for a, _ in one) + (isqrt(2 * bits) + 2 << bits)
    while abs(x - last) >> bits // 4:
        (p, dp), (q, dq) = (_density(one, Enclosed(x, x, bits)) for one in sides)
        slope = (dp.lo << bits) // max(p.lo, 1) - (dq.lo << bits) // max(q.lo, 1)
        moved = (q.lo - p.lo << 2 * bits + 1) // (max(p.lo + q.lo, 1) * max(slope, 1))
        x, last = min(max(x + moved, -far), far), x
    return Enclosed(x, x, bits)
