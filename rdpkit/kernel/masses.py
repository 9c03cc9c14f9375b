"""Losses on a grid: the masses of a pair, their sums over many releases, and delta.

Argument
--------
*From above.* At the points t_i = e^(k_i h), with H(t_i) the exact curve of a pair, its chords (to
the left through (0, 1), to the right constant) form a convex curve above H. It is that of masses

    m_i = (H_(i+1) - H_i) / (e^((k_(i+1) - k_i) h) - 1)
        + (H_(i-1) - H_i) / (1 - e^(-(k_i - k_(i-1)) h)),        m_0 = ... + 1 - H_0,

of the losses k_i h, and H of the last point at an infinite loss. Delta of a composition grows with
each mass, and if mass moves to a larger loss. So masses are rounded up, those below a window move
to its lower end, those above it become infinite, and an odd multiple of h is split between the two
even ones beside it, which keeps the sum of mass times e^-loss: a chord again.

*From below.* At the same points there are events, each a part of the one before it. What is in one
and not in the next has k_i as its label; what is in none is never in the test, which accepts if the
labels' sum is at least some number. P is rounded down, and Q up. A sum below a window is never
accepted, and one above it always; where both happen, always.
"""

from __future__ import annotations

from bisect import bisect
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from operator import itemgetter
from typing import Any

from .intervals import ONE, exp_of, of, require, spend
from .pairs import NOTHING, Pair, curve, event

MOST_PLACES, MOST_DIGITS = 400_000, 60_000_000


class Masses:
    """Masses of the losses (low + i) step, in units of 10^-digits.

    Parameters
    ----------
    step : Fraction
        Distance of two neighbouring losses.
    digits : int
        Decimal digits of a mass.
    low : int
        Place of the first mass.
    lists : list of list of int
        One list: upper bounds on masses under P. Two: lower bounds under P, and upper bounds on
        those of the same labels under Q.
    infinite : list of int
        What is above every place: under P, and under Q.
    """

    def __init__(self, step: Fraction, digits: int, low: int, lists: Any, infinite: Any) -> None:
        require(0 < len(lists[0]) <= MOST_PLACES, "the grid has no place, or too many")
        self.step, self.digits, self.low = step, digits, low
        self.lists, self.infinite = lists, infinite
        self.ups = [len(lists) == 1, True]

    def times(self, other: Masses) -> Masses:
        """The masses of sums of two independent losses."""
        infinite, lists = [], []
        for i, up in zip(range(len(self.lists)), self.ups):
            a, b = self.infinite[i], other.infinite[i]
            lists.append(_product(self.lists[i], other.lists[i], self.digits, up))
            infinite.append(a + b if up else a + b - a * b // 10**self.digits - 1)
        return Masses(self.step, self.digits, self.low + other.low, lists, infinite)

    def halved(self) -> Masses:
        """On a grid of twice the step; 1 / (1 + e^-step) of what is between goes up."""
        one, found = of(ONE, 4 * self.digits + 64), []
        share = (one / (one + exp_of(-self.step, one.bits))).hi if self.ups[0] else 0
        for values in self.lists:
            padded = [0] * (self.low % 2) + values + [0, 0]
            up = [-(-v * share >> one.bits) for v in padded[1::2]]
            both = zip(padded[::2], padded[1::2], up, [0, *up])
            found.append([even + odd - raised + joined for even, odd, raised, joined in both])
        return Masses(2 * self.step, self.digits, self.low // 2, found, self.infinite)

    def cut(self, budget: int) -> Masses:
        """Without places at both ends that together have at most a budget of mass each."""
        p = self.lists[0]
        first = min(bisect(list(accumulate(p)), budget), len(p) - 1)
        last = max(len(p) - bisect(list(accumulate(reversed(p))), budget), first + 1)
        kept = [values[first:last] for values in self.lists]
        kept[0][0] += sum(p[:first]) if self.ups[0] else 0
        infinite = [i + sum(values[last:]) for i, values in zip(self.infinite, self.lists)]
        return Masses(self.step, self.digits, self.low + first, kept, infinite)

    def power(self, count: int, halvings: list[int], cut: int) -> Masses:
        """The masses of sums of ``count`` independent losses, by repeated squares.

        After the squares that ``halvings`` lists the grid gets coarser.
        """
        found, once, taken = self, self, 1
        for level, digit in enumerate(bin(count)[3:]):
            found, taken = found.times(found), 2 * taken
            if level in halvings:
                found, once = found.halved(), once.halved()
            if digit == "1":
                found, taken = found.times(once), taken + 1
            found = found.cut(cut * taken // count)
        return found

    def delta(self, epsilon: Fraction) -> Fraction:
        """A bound on delta: infinite + sum of (1 - e^(epsilon - loss)) mass over larger losses.

        From below it is the largest P(sum >= s) - e^epsilon Q(sum >= s).
        """
        bits, unit = 4 * self.digits + 64, 10**self.digits
        if not self.ups[0]:
            grown = exp_of(epsilon, bits).hi
            p, q = ([i, *reversed(values)] for i, values in zip(self.infinite, self.lists))
            found = max((a << bits) - b * grown for a, b in zip(accumulate(p), accumulate(q)))
            return Fraction(found, unit << bits)
        first = max(epsilon // self.step + 1 - self.low, 0)
        weight = exp_of(epsilon - (self.low + first) * self.step, bits).lo
        fall, total = exp_of(-self.step, bits).lo, self.infinite[0] << bits
        for mass in self.lists[0][first:]:
            total += mass * ((1 << bits) - weight)
            weight = weight * fall >> bits
        return Fraction(total, unit << bits)


def _product(ours: list[int], theirs: list[int], digits: int, up: bool) -> list[int]:
    """The convolution, over 10^digits, rounded up or down.

    The entries are written side by side as digits of two long numbers, with room for every sum, and
    multiplied; ``decimal`` does that exactly, or raises.
    """
    room = len(str(max(ours))) + len(str(max(theirs))) + len(str(len(ours)))
    width, places = max(room, digits) + 1, len(ours) + len(theirs) - 1
    require(places <= MOST_PLACES and places * width <= MOST_DIGITS, "a product is too long")
    spend(places * (width // 4 + 2))
    context = Context(prec=(places + 1) * width, Emax=MAX_EMAX, Emin=MIN_EMIN)
    context.traps = dict.fromkeys(context.traps, True)
    both = [Decimal("".join([f"{v:0{width}d}" for v in one[::-1]])) for one in (ours, theirs)]
    text = f"{context.multiply(*both):f}".zfill(places * width)
    nothing, kept, found = "0" * digits, width - digits, []
    for start in range(len(text) - width, -1, -width):
        above, below = text[start : start + kept], text[start + kept : start + width]
        found.append(int(above) + (up and below != nothing))
    return found


def from_above(pair: Pair, places: list[int], step: Fraction, digits: int) -> Masses:
    """Masses at some places of a grid whose curve is above that of a pair."""
    bits = _bits(places, step, digits)
    points = (exp_of(k * step, bits + _more(k * step)) for k in places)
    heights, one = [curve(pair, t).at(bits) for t in points], of(ONE, bits)
    masses, gaps = [0] * (places[-1] - places[0] + 1), [b - a for a, b in zip(places, places[1:])]
    rises = {gap: exp_of(gap * step, bits) - one for gap in set(gaps)}
    falls = {gap: one - exp_of(-gap * step, bits) for gap in rises}
    for i, k in enumerate(places):
        mass = (heights[i - 1] - heights[i]) / falls[gaps[i - 1]] if i else one - heights[0]
        if i < len(gaps):
            mass += (heights[i + 1] - heights[i]) / rises[gaps[i]]
        masses[k - places[0]] = max(-(-mass.hi * 10**digits >> bits), 0)
    last = max(-(-heights[-1].hi * 10**digits >> bits), 0)
    return Masses(step, digits, places[0], [masses], [last])


def from_below(
    pair: Pair, places: list[int], step: Fraction, digits: int, starts: list[Any]
) -> Masses:
    """What lies between the events of a pair, each with the place of the event as its label."""
    bits, unit = _bits(places, step, digits) + _more(max(-places[0], places[-1]) * step), 10**digits
    each = (event(pair, exp_of(k * step, bits), start) for k, start in zip(places, starts))
    found = sorted(each, key=itemgetter(0))
    zero = of(NOTHING, bits)
    lists = [[0] * (places[-1] - places[0] + 1) for _ in (0, 1)]
    for k, (_, p, q), (_, beyond_p, beyond_q) in zip(places, found, [*found[1:], (0, zero, zero)]):
        lists[0][k - places[0]] = max((p - beyond_p).lo * unit >> bits, 0)
        lists[1][k - places[0]] = -(-(q - beyond_q).hi * unit >> bits)
    return Masses(step, digits, places[0], lists, [0, 0])


def _bits(places: list[int], step: Fraction, digits: int) -> int:
    require(places[-1] - places[0] < MOST_PLACES, "the grid has too many places")
    require(max(-places[0], places[-1]) * step < 10**5, "a loss is too large")
    return 7 * digits // 2 + 64 + 4 * len(str(step.denominator))


def _more(loss: Fraction) -> int:
    """Where t = e^loss is large, it multiplies the error of Q; where it is small, 1 / t does."""
    return int(abs(loss) * 3 / 2)
