"""Enclosures of real numbers by integers: sums, products, exp, log and the tails of noise.

Argument
--------
An :class:`Enclosed` number is known to lie in [lo, hi] / 2^bits, with integers lo <= hi. Every
operation rounds lo down and hi up. Functions are evaluated by series of positive terms, once with
every step rounded down and once with every step rounded up.
"""

from fractions import Fraction
from functools import lru_cache, reduce
from math import isqrt
from typing import NamedTuple, Union


def require(shown: bool, reason: str) -> None:
    """Raise an error with a reason unless something is shown."""
    if not shown:
        raise ValueError(reason)


# What may still be computed, in units of about a microsecond.
LEFT = [0]


def spend(units: int) -> None:
    """Take some units away, before what they stand for is computed."""
    LEFT[0] -= units
    require(LEFT[0] >= 0, "it takes more work than is allowed for one certificate")


class Enclosed(NamedTuple):
    """A real number in [lo, hi] / 2^bits."""

    lo: int
    hi: int
    bits: int

    def __add__(self, other: "Enclosed") -> "Enclosed":  # type: ignore[override]
        """The sum, exactly."""
        return Enclosed(self.lo + other.lo, self.hi + other.hi, self.bits)

    def __sub__(self, other: "Enclosed") -> "Enclosed":
        """The difference, exactly."""
        return Enclosed(self.lo - other.hi, self.hi - other.lo, self.bits)

    def __mul__(self, other: "Enclosed") -> "Enclosed":  # type: ignore[override]
        """The product; the ends are among the four products of ends."""
        low, *_, high = sorted(a * b for a in self[:2] for b in other[:2])
        return Enclosed(low >> self.bits, -(-high >> self.bits), self.bits)

    def __truediv__(self, other: "Enclosed") -> "Enclosed":
        """The quotient by a number that is certainly positive; it is among those of ends."""
        require(other.lo > 0, "a divisor is not certainly positive: too few digits")
        ends = [(a << self.bits) // b for a in self[:2] for b in other[:2]]
        return Enclosed(min(ends), max(ends) + 1, self.bits)

    def larger(self, other: "Enclosed") -> "Enclosed":
        """The larger one of two numbers."""
        return Enclosed(max(self.lo, other.lo), max(self.hi, other.hi), self.bits)

    def at(self, bits: int) -> "Enclosed":
        """The same number, with other bits."""
        fewer, more = max(self.bits - bits, 0), max(bits - self.bits, 0)
        return Enclosed((self.lo << more) >> fewer, -((-self.hi << more) >> fewer), bits)

    def root(self) -> "Enclosed":
        """The square root of a number that is at least 0."""
        low, high = (isqrt(max(end, 0) << self.bits) for end in self[:2])
        return Enclosed(low, high + 1, self.bits)

    def exp(self) -> "Enclosed":
        """The exponential, by squares of e^r, or of e^-r, for r = x / 2^k below 2^-16.

        For a number that is uncertain by w < 1/2, the upper end is multiplied by 1 + 2 w >= e^w.
        """
        bits, size, width = self.bits, abs(self.lo), self.hi - self.lo
        squares, grown = max(size.bit_length() - bits, 0) + 16, 3 * size * (self.lo > 0) >> bits + 1
        work = bits + grown + squares + 20
        spend(8 + (work + grown) ** 2 // 600 * (1 + (work >> 14)))
        require(grown < 160_000 and not width >> bits - 1, "an exponential is uncertain, or large")
        near = _series(1 << work, size << work - bits >> squares, 1, 1, work)
        low, high, _ = near if self.lo >= 0 else of(1, work) / near
        for _ in range(squares):
            low, high = low * low >> work, (high * high >> work) + 1
        low, high, _ = Enclosed(low, high, work).at(bits)
        return Enclosed(low, high + (2 * high * width >> bits) + 1, bits)

    def log(self) -> "Enclosed":
        """The logarithm of a number that is certainly positive: 2^n log u, with u^(2^n) = x.

        1 - 1 / u <= log u <= u - 1; after n roots these ends differ by about (log x)^2 / 2^n.
        """
        spend(self.bits**2 // 8)
        near = reduce(lambda one, _: one.root(), range(self.bits), self.at(3 * self.bits))
        above = near - of(1, near.bits)
        low, high = (above / near).lo << self.bits, above.hi << self.bits
        return Enclosed(low, high, near.bits).at(self.bits)


def of(value: Union[int, Fraction], bits: int) -> Enclosed:
    """A rational number."""
    scaled = value.numerator << bits
    return Enclosed(scaled // value.denominator, -(-scaled // value.denominator), bits)


def _series(first: int, factor: int, divisor: int, stride: int, work: int) -> Enclosed:
    """Bounds on x + x f / d + x f^2 / (d (d + s)) + ..., where f lies between two neighbours.

    Once a divisor is above 2 f, a term is less than half of the one before it, so that all terms
    from one of at most 4 units on add up to less than 8.
    """
    ends = []
    for up in (0, 1):
        found, term, below = 0, first, divisor
        while term > 4 or below << work < 2 * (factor + up):
            found += term
            term = (term * (factor + up) >> work) // below + 2 * up
            below += stride
        ends.append(found + 16 * up)
    return Enclosed(ends[0], ends[1], work)


def _area(n: int, bits: int) -> Enclosed:
    """The integral of e^(-u^2/2) from 0 to x = n / 2^bits: e^(-x^2/2) (x + x^3/3 + x^5/(3 5) ...).

    Its derivative by x is e^(-x^2/2).
    """
    square = n * n >> bits
    spend((bits + (4 * square >> bits)) * (1 + (bits >> 11) ** 2))
    return Enclosed(-(square >> 1) - 1, -(square >> 1), bits).exp() * _series(n, square, 3, 2, bits)


@lru_cache(maxsize=None)
def half_area(bits: int) -> Enclosed:
    """The integral from 0 on; what is beyond x, where x^2 >= 2 bits, is less than one unit."""
    work = 3 * bits + 64
    return _area(isqrt(2 * bits) + 1 << work, work).at(bits) + Enclosed(0, 1, bits)


def normal_tail(x: Enclosed) -> Enclosed:
    """P(N(0, 1) > x), which falls by at most 0.4 as x grows by 1.

    The sum of the series is about as large as e^(x^2/2), which takes so many bits more.
    """
    bits, half, n = x.bits, 1 << x.bits - 1, abs(x.lo)
    more = 32 * (2 + (3 * (n * n >> bits) >> bits + 7))
    share = _area(n << more, bits + more) / half_area(bits + more)
    low, high = share.lo >> more + 1, (share.hi >> more + 1) + 1
    low, high = (low, high) if x.lo >= 0 else (-high, -low)
    return Enclosed(max(half - high - (2 * (x.hi - x.lo) + 4) // 5, 0), half - low, bits)
