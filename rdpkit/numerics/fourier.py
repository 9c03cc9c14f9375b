r"""Sums of many independent losses: a Fourier transform in floats with a proven error.

An FFT from a library is accurate, but has no proven error bound. The transform here consists of
additions and multiplications of floats only, which IEEE 754 rounds correctly, in a fixed order. Its
error therefore has a proven bound (theory page "Certified loss distributions"), in terms of the
unit u, which is 2^-53 for doubles and 2^-64 for the extended format of x86 processors:

* Roots of unity are rounded from balls, or are products of two of these. Their error is at most
  3.7 u.
* One pass of radix 4 multiplies by three roots, with an error of at most sqrt(5) u for a complex
  product, and adds twice, with an error of u each time. Apart from a constant factor a pass is a
  unitary map, so its error in the 2-norm is at most (3.7 + sqrt(5) + 2) u < 8 u. That of a pass of
  radix 2 is no larger. The error of P passes is at most (1 + 8 u)^P - 1 <= 8.1 u P, relative to the
  2-norm of the exact transform.

What is assumed of the machine
------------------------------
* Each sum and product is rounded to nearest: :func:`rounds_to_nearest` tests it before every
  composition.
* A compiler may fuse one product of a complex product into the sum that follows, in any of the ways
  that the formula allows. The naive product with a fused multiply-add is off by at most 2 u
  (Jeannerod, Kornerup, Louvet and Muller 2017), less than the sqrt(5) u without (Brent, Percival
  and Zimmermann 2007). A fused square or product in any other place has one rounding less.
* Sums of many numbers may be taken in any order: of n positive numbers every order is off by at
  most (n - 1) u / (1 - (n - 1) u) of the sum, and 2 n u is reserved.
* Numbers that underflow may become 0, or lose digits: either is an error below 2^-1022 for each
  operation, and ``TINY`` = 1e-290 covers 10^17 of them.

The composition of n_j copies of the distributions a_j is the inverse transform of the pointwise
product of DFT(a_j)^n_j. :func:`compose` adds up the errors of the transforms, of the powers and of
the inverse transform.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[Any]
"""Real or complex, of the format in use."""

U = 2.0**-53
# Numbers that underflow are at most this, which is added to errors where it could matter.
TINY = 1e-290
_TINY_MODULUS = 1e-150
_BLOCK = 512
_BITS, _TABLE_BITS = 144, 80
# At most this many masses contribute to a transform by a direct sum.
_DIRECT = 16
_PROBES = 67
# Masses are summed directly until the error has fallen to this part of the error without.
_ENOUGH = 0.25


@dataclass(frozen=True, slots=True)
class Format:
    """A format of floats."""

    # The numpy types of its numbers.
    real: Any
    complex: Any
    u: float  # Half of the distance between 1 and the next number

    def transform_error(self, size: int) -> float:
        """Bound on the error of :func:`transform` in the 2-norm, relative to the exact one."""
        return 8.1 * self.u * (size.bit_length() // 2)


DOUBLE = Format(real=np.float64, complex=np.complex128, u=U)
_EXTENDED = Format(real=np.longdouble, complex=np.clongdouble, u=2.0**-64)


def extended() -> Format | None:
    """A format with more digits than doubles, where the processor has one that rounds correctly.

    There is none if the environment variable ``RDPKIT_NO_EXTENDED`` is set, other than to 0.
    """
    if os.environ.get("RDPKIT_NO_EXTENDED", "0") not in ("", "0"):
        return None
    info = np.finfo(np.longdouble)
    known = info.nmant == 63 and float(info.eps) == 2.0**-63
    return _EXTENDED if known and rounds_to_nearest(_EXTENDED) else None


def rounds_to_nearest(format_: Format) -> bool:
    """Whether sums and products of arrays are rounded to the nearest number of a format, now.

    An x87 unit can be set to fewer bits, and every processor to another direction, by any library
    in the process. With u half the distance from 1 to the next number, 1 + u and 1 + 3 u lie half
    way between two numbers, and the even one is the result; a product shows the same for numbers
    that lie a little further from one of the two.
    """
    u = format_.real(format_.u)
    # As many numbers as take the vector instructions of a processor, and a rest.
    for kind in (format_.real, format_.complex):
        one = np.ones(_PROBES, dtype=kind)
        odd = one + 2 * u
        even = one + 4 * u
        ties = (odd - one, 2 * u), (one + u, one), (odd + u, even), (-odd - u, -even)
        products = (odd * odd, even), (odd * (one - u), one), (-odd * odd, -even)
        if any(bool(np.any(found != wanted)) for found, wanted in (*ties, *products)):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Factor:
    """One distribution and how many independent copies of it are summed."""

    masses: Array
    """Finite doubles >= 0, taken as exact; index k stands for all losses equal to k modulo N; shape
    (N,).
    """
    count: int  # How many copies, at least 1


@dataclass(frozen=True, slots=True)
class Composition:
    """A cyclic convolution, enclosed."""

    masses: Array  # The computed masses, rounded to doubles; shape (N,)
    error: float
    """Bound on the distance of every exact mass from the computed one before its rounding."""

    def above(self) -> Array:
        """Upper bounds on the exact masses."""
        return (
            np.asarray(np.maximum(self.masses * (1.0 + 2.0 * U) + self.error, 0.0))
            * (1.0 + 4.0 * U)
            + TINY
        )

    def below(self) -> Array:
        """Lower bounds >= 0 on the exact masses."""
        return np.asarray(np.maximum(self.masses * (1.0 - 2.0 * U) - self.error, 0.0)) * (
            1.0 - 4.0 * U
        )


@np.errstate(over="ignore", invalid="ignore")
def compose(
    factors: Sequence[Factor],  # At least one factor; all have the same length N, a power of two
    format_: Format = DOUBLE,  # The format of floats for the computation
) -> Composition:
    r"""The distribution of a sum of independent losses, modulo N, with its error.

    Guarantee
    ---------
    Every exact mass is within ``error`` of the computed one. Let A_j be the exact transform of a
    factor and B_j the computed one, with \|A_j - B_j\| <= e_j at every frequency, and let
    G = Prod_j (\|B_j\| + e_j)^n_j. At every frequency the product of the powers differs from the
    exact one by at most G min(1, Sum_j n_j e_j / (\|B_j\| + e_j)). Rounding the powers adds at most
    the part (1 + 2.3 u)^n - 1 of G, where n is the sum of the n_j. An error of the product moves
    every mass by at most the mean of the error over the frequencies. The inverse transform adds its
    own error, relative to the 2-norm.

    Raises
    ------
    ArithmeticError
        If the sum of the counts is too large (about 4e13 for doubles), or numbers overflow, or the
        processor is set to round otherwise than to nearest.
    """
    if not rounds_to_nearest(format_):
        raise ArithmeticError(
            f"Sums of {format_.real.__name__} are not rounded to nearest by this processor as it "
            "is set; a library in this process may have changed its rounding."
        )
    total = sum([factor.count for factor in factors])
    # A complex product is off by at most sqrt(5) u.
    rounding = math.expm1(total * math.log1p(2.3 * format_.u)) * (1.0 + 1e-9)
    if not rounding < 0.1:
        raise ArithmeticError(f"A sum of {total} losses is too long for floats.")
    size, u = factors[0].masses.size, format_.u
    relative = format_.transform_error(size)
    product: Numbers | None = None
    largest: Numbers | None = None
    moved = np.zeros(size, dtype=format_.real)
    for factor in factors:
        spectrum, error = spectrum_of(factor.masses, format_)
        modulus = np.sqrt(spectrum.real**2 + spectrum.imag**2) * (1.0 + 8.0 * u)
        modulus += error + _TINY_MODULUS
        moved += factor.count * (error + _TINY_MODULUS) / modulus
        power, bound = _power(spectrum, factor.count), _power(modulus, factor.count)
        product = power if product is None else product * power
        largest = bound if largest is None else largest * bound
    assert product is not None
    assert largest is not None
    # The real powers are rounded no more often than the complex ones.
    largest *= (1.0 + 2.0 * rounding) * (1.0 + 8.0 * u)
    off = largest * (np.minimum(moved * (1.0 + 16.0 * u), 1.0) + rounding) + TINY
    masses = transform(np.conj(product), format_).real / size
    norm = math.sqrt(float(np.vdot(product, product).real)) * (1.0 + 4.0 * size * u)
    error = (
        float(off.sum()) / size * (1.0 + 4.0 * size * u) + relative * norm / math.sqrt(size) + TINY
    )
    # The warnings of numpy about overflow are off, because it is an error here.
    if not (math.isfinite(error) and np.isfinite(masses).all()):
        raise ArithmeticError("The masses of a sum overflow.")
    return Composition(masses=masses.astype(np.float64), error=error * (1.0 + 16.0 * U))


def spectrum_of(
    masses: Array,  # N a power of two; shape (N,)
    format_: Format = DOUBLE,  # The format of floats
) -> tuple[Numbers, float]:
    """The transform of a distribution, and a bound on its error at every frequency.

    If a few masses make up nearly the whole distribution (a release that rarely tells anything),
    their contribution is summed directly, with one product by a root of unity for each mass. The
    error of the transform of the other masses is proportional to their norm, and so becomes small.
    """
    size, u = masses.size, format_.u
    # Most masses are zero, and partitioning equal numbers is slow.
    order = np.flatnonzero(masses)
    if order.size > _DIRECT:
        order = order[np.argpartition(masses[order], -_DIRECT)[-_DIRECT:]]
    order = order[np.argsort(masses[order])[::-1]]
    squares = np.concatenate([[0.0], np.cumsum(masses[order] ** 2)])
    whole = float(np.dot(masses, masses))
    # These differences lose digits, but only serve to choose; the norm of the rest is computed
    # below.
    left = np.sqrt(np.maximum(whole - squares, 0.0))
    direct = np.concatenate([[0.0], np.cumsum(masses[order])])
    each = (6.0 + np.arange(order.size + 1)) * u
    bounds = format_.transform_error(size) * math.sqrt(size) * left + each * direct
    # A mass that is summed directly costs as much as a pass, so only as many as necessary are
    # taken.
    several = int(np.argmax(bounds <= max(2.0 * float(bounds.min()), _ENOUGH * float(bounds[0]))))
    chosen = order[:several]
    rest = masses.copy()
    rest[chosen] = 0.0
    spectrum = transform(rest.astype(format_.complex), format_)
    roots = _roots(size, format_)
    frequencies = np.arange(size, dtype=np.int64)
    for k in chosen[::-1].tolist():
        spectrum += format_.real(masses[k]) * roots[(frequencies * k) % size]
    norm = math.sqrt(float(np.dot(rest, rest)) * (1.0 + 2.0 * size * U))
    error = format_.transform_error(size) * math.sqrt(size) * norm * (1.0 + 8.0 * U)
    if several:
        # Roots have an error of 3.7 u, products and additions of u each; the rest takes part, too.
        largest = float(direct[several]) + float(rest.sum())
        error += (6.0 + several) * u * largest * (1.0 + 1e-9)
    return spectrum, error + TINY


def _power(base: Numbers, count: int) -> Numbers:
    """The pointwise power by repeated squaring; its error is that of count - 1 roundings."""
    result: Numbers | None = None
    square = base
    while True:
        if count & 1:
            result = square if result is None else result * square
        count >>= 1
        if not count:
            assert result is not None
            return result
        square = square * square


def transform(
    values: Numbers,  # N is a power of two; shape (N,)
    format_: Format = DOUBLE,  # The format of ``values``
) -> Numbers:
    """The discrete Fourier transform, Sum_k values[k] e^(-2 pi i k f / N), in passes of radix 4."""
    size = values.size
    roots = _roots(size, format_)
    # Row k and column j hold element k of the transform of every (size / rows)-th value from j on.
    grid = values.reshape(1, size)
    if (size.bit_length() - 1) % 2:
        half = size // 2
        grid = np.concatenate([grid[:, :half] + grid[:, half:], grid[:, :half] - grid[:, half:]])
    while grid.shape[0] < size:
        rows, columns = grid.shape[0], grid.shape[1] // 4
        following = np.empty((4 * rows, columns), dtype=format_.complex)
        parts = [grid[:, b * columns : (b + 1) * columns] for b in range(4)]
        if rows > 1:
            stride = size // (4 * rows)
            parts[1:] = [
                parts[b] * roots[: b * rows * stride : b * stride, None] for b in range(1, 4)
            ]
        even_sum, even_difference = parts[0] + parts[2], parts[0] - parts[2]
        odd_sum, odd_difference = parts[1] + parts[3], parts[1] - parts[3]
        # Multiplication by -i is exact: it exchanges the real and the imaginary part.
        turned = np.empty_like(odd_difference)
        turned.real, turned.imag = odd_difference.imag, -odd_difference.real
        np.add(even_sum, odd_sum, out=following[:rows])
        np.add(even_difference, turned, out=following[rows : 2 * rows])
        np.subtract(even_sum, odd_sum, out=following[2 * rows : 3 * rows])
        np.subtract(even_difference, turned, out=following[3 * rows :])
        grid = following
    return grid.ravel()


@lru_cache(maxsize=4)
def _roots(size: int, format_: Format) -> Numbers:
    """e^(-2 pi i k / size) for k below size, each with an error of at most 3.7 u."""
    fine = min(size, 1 << (size.bit_length() // 2))
    low = _unit_roots(size, 1, fine, format_)
    high = _unit_roots(size, fine, size // fine, format_)
    return np.asarray((high[:, None] * low[None, :]).ravel())


def _unit_roots(size: int, step: int, count: int, format_: Format) -> Numbers:
    found = np.empty(count, dtype=format_.complex)
    with ctx.workprec(_BITS):
        angle = -2 * arb.pi() * step / size
        for k in range(count):
            root = acb(0, angle * k).exp()
            found[k] = _rounded(root.real, format_) + 1j * _rounded(root.imag, format_)
    return found


def _rounded(ball: arb, format_: Format) -> Any:
    """The midpoint in the format: the rounded sum of a double and of what it leaves."""
    high = float(ball)
    return format_.real(high) + format_.real(float(ball - high))


def geometric(
    log_ratio: arb,  # At most 0, so that nothing overflows
    count: int,  # At least 1
) -> Array:
    """e^(log_ratio k) for k below ``count``.

    Each number has a relative error of at most 4 u, or is below ``TINY``.
    """
    with ctx.workprec(_TABLE_BITS):
        low = np.array([float((log_ratio * k).exp()) for k in range(min(_BLOCK, count))])
        blocks = -(-count // _BLOCK)
        high = np.array([float((log_ratio * (_BLOCK * k)).exp()) for k in range(blocks)])
    return np.asarray((high[:, None] * low[None, :]).ravel()[:count])
