"""Enclosures of real numbers by integers: sums, products, exp, log and the tail of the normal law.

Argument
--------
An :class:`Enclosed` number is known to lie in [lo, hi] / 2^bits, with integers lo <= hi. Every
operation rounds lo down and hi up. A function of an enclosure is evaluated by a series whose terms
all are positive, or whose rounding errors are counted, in units of the last of ``work`` bits.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

ONE = Fraction(1)


class RefusedError(Exception):
    """A certificate is not accepted, or not understood; the message says why."""


def require(shown: bool, reason: str) -> None:
    """Raise an error with a reason unless something is shown."""
    if not shown:
        raise RefusedError(reason)


LEFT = [0]
"""What may still be computed, in units of about a microsecond."""


def spend(units: int) -> None:
    """Take some units away, before what they stand for is computed."""
    LEFT[0] -= units
    require(LEFT[0] >= 0, "it takes more work than is allowed for one certificate")


class Enclosed:
    """A real number in [lo, hi] / 2^bits."""

    __slots__ = ("bits", "hi", "lo")

    def __init__(self, lo: int, hi: int, bits: int) -> None:
        self.lo, self.hi, self.bits = lo, hi, bits

    def __add__(self, other: Enclosed) -> Enclosed:
        """The sum, exactly."""
        return Enclosed(self.lo + other.lo, self.hi + other.hi, self.bits)

    def __sub__(self, other: Enclosed) -> Enclosed:
        """The difference, exactly."""
        return Enclosed(self.lo - other.hi, self.hi - other.lo, self.bits)

    def __mul__(self, other: Enclosed) -> Enclosed:
        """The product; the ends are among the four products of ends."""
        low, *_, high = sorted(a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi))
        return Enclosed(low >> self.bits, -(-high >> self.bits), self.bits)

    def __truediv__(self, other: Enclosed) -> Enclosed:
        """The quotient by a number that is certainly positive."""
        require(other.lo > 0, "a divisor is not certainly positive: too few digits")
        low = (self.lo << self.bits) // (other.hi if self.lo >= 0 else other.lo)
        high = -((-self.hi << self.bits) // (other.lo if self.hi >= 0 else other.hi))
        return Enclosed(low, high, self.bits)

    def positive(self) -> Enclosed:
        """The larger one of the number and 0."""
        return Enclosed(max(self.lo, 0), max(self.hi, 0), self.bits)


def of(value: Fraction, bits: int) -> Enclosed:
    """A rational number."""
    scaled = value.numerator << bits
    return Enclosed(scaled // value.denominator, -(-scaled // value.denominator), bits)


def upper(number: Enclosed) -> Fraction:
    """The upper end."""
    return Fraction(number.hi, 1 << number.bits)


def root(number: Enclosed) -> Enclosed:
    """The square root of a number that is at least 0."""
    low, high = (max(end, 0) << number.bits for end in (number.lo, number.hi))
    return Enclosed(isqrt(low), isqrt(high) + 1, number.bits)


def _odd_series(z: int, sign: int, bits: int) -> Enclosed:
    """Sum of sign^n z^(2n+1) / (2n+1), for z known to one unit and at most 1/3.

    A power is off by at most 2 units, as z^2 is by one and each product is rounded, so that a term
    is off by at most 2; what is left out is less than 4, and z itself changes the sum by less.
    """
    total, power, n, square = 0, z, 0, z * z >> bits
    while power:
        total += sign**n * (power // (2 * n + 1))
        power, n = power * square >> bits, n + 1
    return Enclosed(total - 2 * n - 8, total + 2 * n + 8, bits)


@lru_cache(maxsize=256)
def log_two(bits: int) -> Enclosed:
    """The logarithm of 2, as 2 artanh(1/3)."""
    spend(bits**2 // 4000 + bits**3 // 10**7)
    half = _odd_series((1 << bits) // 3, 1, bits)
    return half + half


@lru_cache(maxsize=256)
def root_of_two_pi(bits: int) -> Enclosed:
    """The square root of 2 pi, with pi = 16 arctan(1/5) - 4 arctan(1/239) by Machin."""
    a, b = (_odd_series((1 << bits) // n, -1, bits) for n in (5, 239))
    return root(of(32 * ONE, bits) * a - of(8 * ONE, bits) * b)


def exp(x: Enclosed) -> Enclosed:
    """The exponential, off by a few units in the last place of 2^-bits.

    x = k log 2 + 2^8 r with 0 <= r < log(2) / 2^8 + a little. The terms r^n / n! are rounded down,
    each off by less than 3 units; those that are left out add up to less than 5. The uncertainty
    of r is multiplied by less than 4. Then eight squares; for w < 1/2, e^w <= 1 + 2w.
    """
    bits, width, two = x.bits, x.hi - x.lo, log_two(x.bits)
    if x.hi == x.lo == 0:
        return of(ONE, bits)
    require(two.lo > 0, "too few digits for an exponential")
    k = x.lo // (two.hi if x.lo >= 0 else two.lo)
    spend(8 + (bits + max(k, 0)) ** 2 // 600 * (1 + (bits + max(k, 0) >> 14)))
    require(k < 100000 and not width >> (bits - 1), "an exponential is too large, or too uncertain")
    if k < -bits - 8:
        return Enclosed(0, 1, bits)
    work = bits + max(k, 0) + 40
    two = log_two(work)
    ends = sorted((x.lo << (work - bits)) - k * end for end in (two.lo, two.hi))
    r = max(ends[0], 0) >> 8
    term, total, n = 1 << work, 0, 0
    while term:
        total, n = total + term, n + 1
        term = (term * r >> work) // n
    low, high = total, total + 3 * n + 10 + 4 * (ends[1] - ends[0] + 2)
    for _ in range(8):
        low, high = low * low >> work, (high * high >> work) + 1
    low, high = low >> (work - bits - k), (high >> (work - bits - k)) + 1
    return Enclosed(low, high + (2 * high * width >> bits) + 1, bits)


def exp_of(value: Fraction, bits: int) -> Enclosed:
    """The exponential of a rational number."""
    return exp(of(value, bits))


def log(x: Enclosed) -> Enclosed:
    """The logarithm of a number that is certainly positive: 2 artanh((m - 1) / (m + 1)) + k log 2.

    The number is 2^k m with 1 <= m < 2.
    """
    require(x.lo > 0, "a logarithm of a number that is not certainly positive")
    work, found = x.bits + 40, []
    for end in (x.lo, x.hi):
        k = end.bit_length() - 1 - x.bits
        m, one = (end << 40) >> k if k >= 0 else end << (40 - k), 1 << work
        half = _odd_series(((m - one) << work) // (m + one), 1, work)
        found.append(half + half + of(k * ONE, work) * log_two(work))
    # Where digits of m were lost, the logarithm of m is off by less than one unit.
    return Enclosed((found[0].lo - 1) >> 40, ((found[1].hi + 1) >> 40) + 1, x.bits)


def tail(x: Enclosed) -> Enclosed:
    """P(N(0, 1) > x) = 1/2 - phi(x) (x + x^3/3 + x^5/(3 5) + ...), which falls by at most 0.4."""
    bits, width = x.bits, x.hi - x.lo
    low, high = _tail(abs(x.lo), bits)
    if x.lo < 0:
        low, high = (1 << bits) - high, (1 << bits) - low
    return Enclosed(max(low - (2 * width + 4) // 5, 0), min(high, 1 << bits), bits)


def _tail(n: int, bits: int) -> tuple[int, int]:
    """Bounds on the tail at n / 2^bits >= 0; beyond x^2 = 1.4 bits it is below e^(-x^2/2) / 2.

    The sum is about as large as e^(x^2/2), which takes so many bits more.
    """
    square = n * n >> bits
    if square > (7 * bits << bits) // 5:
        return 0, 1
    guard = 32 + bits // 10 + (3 * square >> bits + 2)
    work = bits + guard
    spend((work + (4 * square >> bits)) * (1 + (work >> 11) ** 2) // 4)
    x, exact = n << guard, n * n << 2 * guard
    density = exp(Enclosed(-(exact >> work + 1) - 1, -(exact >> work + 1), work))
    density = density / root_of_two_pi(work)
    low = density.lo * _within(x, exact >> work, 0, work) >> work
    high = (density.hi * _within(x, (exact >> work) + 1, 1, work) >> work) + 1
    half = 1 << (work - 1)
    return max((half - high) >> guard, 0), ((half - low) >> guard) + 1


def _within(x: int, square: int, up: int, work: int) -> int:
    """The sum x + x^3/3 + x^5/(3 5) + ..., rounded down, or up with ``up`` = 1.

    Once a divisor is above 2 x^2, a term is less than half of the one before it, so that all terms
    from one of at most 4 units on add up to less than 8.
    """
    term, total, n = x, 0, 1
    while term > 4 or n << work < 2 * square:
        total, n = total + term, n + 2
        term = (term * square >> work) // n + 2 * up
    return total + 16 * up
