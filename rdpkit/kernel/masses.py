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

from bisect import bisect
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from .intervals import of, require, spend
from .pairs import Pair, curve, event

MOST_PLACES, MOST_DIGITS = 400_000, 60_000_000


class Masses(NamedTuple):
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

    step: Fraction
    digits: int
    low: int
    lists: list[list[int]]
    infinite: list[int]

    def times(self, other: "Masses") -> "Masses":
        """The masses of sums of two independent losses."""
        both = list(zip(*self[3:], *other[3:], [len(self.lists) == 1, True]))
        lists = [_product(a, b, self.digits, up) for a, _, b, _, up in both]
        infinite = [a + b - (not up) * (a * b // 10**self.digits + 1) for _, a, _, b, up in both]
        return self._replace(low=self.low + other.low, lists=lists, infinite=infinite)

    def halved(self) -> "Masses":
        """On a grid of twice the step; 1 / (1 + e^-step) of what is between goes up."""
        one, found = of(1, 4 * self.digits + 64), []
        up = min((one / (one + of(-self.step, one.bits).exp())).hi, one.hi) * (len(self.lists) == 1)
        for values in self.lists:
            padded = [0] * (self.low % 2) + values + [0, 0]
            raised = [-(-v * up >> one.bits) for v in padded[1::2]]
            both = zip(padded[::2], padded[1::2], raised, [0, *raised])
            found.append([even + odd - ours + joined for even, odd, ours, joined in both])
        return self._replace(step=2 * self.step, low=self.low // 2, lists=found)

    def cut(self, budget: int) -> "Masses":
        """Without places at both ends that together have at most a budget of mass each."""
        p = self.lists[0]
        first = min(bisect(list(accumulate(p)), budget), len(p) - 1)
        last = max(len(p) - bisect(list(accumulate(reversed(p))), budget), first + 1)
        kept = [values[first:last] for values in self.lists]
        kept[0][0] += sum(p[:first]) if len(self.lists) == 1 else 0
        infinite = [i + sum(values[last:]) for i, values in zip(self.infinite, self.lists)]
        return self._replace(low=self.low + first, lists=kept, infinite=infinite)

    def power(self, count: int, halvings: list[int], cut: int) -> "Masses":
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
        """A bound on delta: the largest P(sum >= s) - e^epsilon Q(sum >= s).

        From above masses of Q are e^-loss times those of P, and only losses above epsilon add any.
        """
        below, bits = len(self.lists) == 2, 4 * self.digits + 64
        first = of(epsilon - (not below) * self.low * self.step, bits).exp()[below]
        fall = 1 << bits if below else of(-self.step, bits).exp().lo
        p, q = [*self.lists[0], self.infinite[0]], [*self.lists[-1], self.infinite[-1] * below]
        weights = accumulate(p[1:], lambda weight, _: weight * fall >> bits, initial=first)
        parts = [(a << bits) - b * weight for a, b, weight in zip(p, q, weights)]
        return Fraction(max(accumulate(parts[::-1])), 10**self.digits << bits)


def _product(ours: list[int], theirs: list[int], digits: int, up: bool) -> list[int]:
    """The convolution, over 10^digits, rounded up or down.

    The entries are written side by side as digits of two long numbers, with room for every sum, and
    multiplied; ``decimal`` does that exactly, or raises.
    """
    width = len(str(max(ours))) + len(str(max(theirs))) + len(str(len(ours)))
    places, unit = len(ours) + len(theirs) - 1, 10**digits
    require(places <= MOST_PLACES and width <= min(MOST_DIGITS // places, 1000), "it is too long")
    spend(places * (width // 4 + 2))
    context = Context((places + 1) * width, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact])
    both = (Decimal("".join(f"{v:0{width}d}" for v in one[::-1])) for one in (ours, theirs))
    text = f"{context.multiply(*both):f}".zfill(places * width)
    found = (int(text[end - width : end]) for end in range(len(text), 0, -width))
    return [-(-value // unit) if up else value // unit for value in found]


def from_above(pair: Pair, places: list[int], step: Fraction, digits: int) -> Masses:
    """Masses at some places of a grid whose curve is above that of a pair."""
    bits, unit = _bits(pair, places, step, digits), 10**digits
    t = [of(0, bits), *(of(k * step, bits).exp() for k in places)]
    heights = [of(1, bits), *(curve(pair, one) for one in t[1:])]
    slopes = [(heights[i + 1] - heights[i]) / (t[i + 1] - t[i]) for i in range(len(places))]
    jumps = (b - a for a, b in zip(slopes, [*slopes[1:], of(0, bits)]))
    masses = [max(-(-(t * jump).hi * unit >> bits), 0) for t, jump in zip(t[1:], jumps)]
    last = max(-(-heights[-1].hi * unit >> bits), 0)
    return Masses(step, digits, places[0], [_spread(places, masses)], [last])


def from_below(pair: Pair, places: list[int], step: Fraction, digits: int, starts: Any) -> Masses:
    """What lies between the events of a pair that begin at ``starts``, labelled with places."""
    require(len(starts) == len(places) and starts == sorted(starts), "events do not shrink")
    bits, unit = _bits(pair, places, step, digits), 10**digits
    p, q = zip(*(event(pair, start, bits) for start in starts), (of(0, bits),) * 2)
    least = [max((a - b).lo * unit >> bits, 0) for a, b in zip(p, p[1:])]
    most = [-(-(a - b).hi * unit >> bits) for a, b in zip(q, q[1:])]
    return Masses(step, digits, places[0], [_spread(places, one) for one in (least, most)], [0, 0])


def _bits(pair: Pair, places: list[int], step: Fraction, digits: int) -> int:
    """Binary digits, more where e^loss, or one over it, multiplies what is off."""
    far, width = int(max(-places[0], places[-1]) * step), places[-1] - places[0] + 1
    require(far < 10**5 and 0 < width <= MOST_PLACES, "a loss is too large, or a grid too long")
    bits = 7 * digits // 2 + 64 + 4 * len(str(step.denominator)) + 3 * far // 2
    spend(4 * width + len(places) * len(pair.given[0]) * (10 + bits**2 // 40_000))
    return bits


def _spread(places: list[int], masses: list[int]) -> list[int]:
    known = dict(zip(places, masses))
    return [known.get(k, 0) for k in range(places[0], places[-1] + 1)]
