r"""Sums of many independent losses: a Fourier transform in floats with a proven error.

A library's FFT is accurate, but nothing proves by how much. This one consists of nothing but
additions and multiplications of floats, which IEEE 754 rounds correctly, in an order that is
written down here, so that its error has a bound that is a theorem (theory page "Certified loss
distributions"):

* Roots of unity come from balls, or are products of two such roots: they are off by at most 3.7 u,
  u = 2^-53 for doubles and 2^-64 for the extended format of x86 processors.
* One pass of radix 4 multiplies by three of them (a complex product is off by at most sqrt(5) u)
  and adds twice (u each time). Up to its length a pass is a unitary map, so in the 2-norm it is off
  by at most (3.7 + sqrt(5) + 2) u < 8 u, a pass of radix 2 by no more. P passes are off by
  (1 + 8 u)^P - 1 <= 8.1 u P, relative to the 2-norm of the exact transform.

The composition of distributions is IDFT(product of DFT(a_j)^n_j), pointwise. How far an error of
one transform moves a power, what the powers round, and what the way back rounds, is added up in
:func:`compose`.
"""

from __future__ import annotations

import math
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
# A number that underflows is at most this, which is added to errors where it could matter.
TINY = 1e-290
_TINY_MODULUS = 1e-150
_BLOCK = 512
_BITS, _TABLE_BITS = 144, 80
# Masses whose part of a transform may be summed up directly.
_DIRECT = 16
# Masses are summed directly until the error is this part of what it is without.
_ENOUGH = 0.25


@dataclass(frozen=True, slots=True)
class Format:
    """A format of floats.

    Parameters
    ----------
    real, complex : numpy types
        Of its numbers.
    u : float
        Half of the distance between 1 and the next number.
    """

    real: Any
    complex: Any
    u: float

    def transform_error(self, size: int) -> float:
        """Bound on the error of :func:`transform` in the 2-norm, relative to the exact one."""
        return 8.1 * self.u * (size.bit_length() // 2)


DOUBLE = Format(real=np.float64, complex=np.complex128, u=U)
_EXTENDED = Format(real=np.longdouble, complex=np.clongdouble, u=2.0**-64)


def extended() -> Format | None:
    """A format with more digits than doubles, where the processor has one that rounds correctly."""
    info = np.finfo(np.longdouble)
    return _EXTENDED if info.nmant == 63 and float(info.eps) == 2.0**-63 else None


@dataclass(frozen=True, slots=True)
class Factor:
    """One distribution and how many independent copies of it are summed.

    Parameters
    ----------
    masses : ndarray, shape (N,)
        Finite doubles >= 0, taken as exact; index k stands for all losses k modulo N.
    count : int
        How many copies, at least 1.
    """

    masses: Array
    count: int


@dataclass(frozen=True, slots=True)
class Composition:
    """A cyclic convolution, enclosed.

    Parameters
    ----------
    masses : ndarray, shape (N,)
        The computed masses, rounded to doubles.
    error : float
        Every exact mass is within this distance of the computed one, before that was rounded.
    """

    masses: Array
    error: float

    def above(self) -> Array:
        """Numbers that no exact mass exceeds."""
        return (
            np.asarray(np.maximum(self.masses * (1.0 + 2.0 * U) + self.error, 0.0))
            * (1.0 + 4.0 * U)
            + TINY
        )

    def below(self) -> Array:
        """Numbers >= 0 that exceed no exact mass."""
        return np.asarray(np.maximum(self.masses * (1.0 - 2.0 * U) - self.error, 0.0)) * (
            1.0 - 4.0 * U
        )


@np.errstate(over="ignore", invalid="ignore")
def compose(factors: Sequence[Factor], format_: Format = DOUBLE) -> Composition:
    r"""The distribution of a sum of independent losses, modulo N, with its error.

    Guarantee
    ---------
    With A_j the exact transform of a factor, B_j the computed one and \|A_j - B_j\| <= e_j
    pointwise, the product of the powers differs from its exact value at each frequency by at most
    G min(1, Sum_j n_j e_j / (\|B_j\| + e_j)), G = Prod_j (\|B_j\| + e_j)^n_j; rounding the powers
    adds the part (1 + 2.3 u)^n - 1 of G, n the number of factors in all. An error of the product at
    the frequencies moves every mass by at most its mean over the frequencies, and the way back
    rounds by at most its own part of the 2-norm.

    Parameters
    ----------
    factors : sequence of Factor
        At least one; all of the same length N, a power of two.
    format_ : Format
        The format of floats in which it is computed.

    Raises
    ------
    ArithmeticError
        If the counts are too large for the format to say anything (about 4e13 doubles in all), or
        numbers overflow.
    """
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


def spectrum_of(masses: Array, format_: Format = DOUBLE) -> tuple[Numbers, float]:
    """The transform of a distribution, and by how much it is off, at any frequency.

    Where a few masses make up nearly all of it (a release that rarely tells anything), their part
    is summed directly, with one product by a root of unity each. The error of the transform of all
    other masses is then smaller in proportion to their norm.

    Parameters
    ----------
    masses : ndarray, shape (N,)
        N a power of two.
    format_ : Format
        The format of floats.
    """
    size, u = masses.size, format_.u
    # Most masses are zero, and partitioning equal numbers is slow.
    order = np.flatnonzero(masses)
    if order.size > _DIRECT:
        order = order[np.argpartition(masses[order], -_DIRECT)[-_DIRECT:]]
    order = order[np.argsort(masses[order])[::-1]]
    squares = np.concatenate([[0.0], np.cumsum(masses[order] ** 2)])
    whole = float(np.dot(masses, masses))
    # These differences cancel, but they only choose; the norm of the rest is computed anew below.
    left = np.sqrt(np.maximum(whole - squares, 0.0))
    direct = np.concatenate([[0.0], np.cumsum(masses[order])])
    each = (6.0 + np.arange(order.size + 1)) * u
    bounds = format_.transform_error(size) * math.sqrt(size) * left + each * direct
    # Each mass that is summed directly costs as much as a pass, so as few as suffice are taken.
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
        # Roots are off by 3.7 u, products and additions by u each; the rest is added to as well.
        largest = float(direct[several]) + float(rest.sum())
        error += (6.0 + several) * u * largest * (1.0 + 1e-9)
    return spectrum, error + TINY


def _power(base: Numbers, count: int) -> Numbers:
    """The pointwise power by squaring: count - 1 roundings, counted with their multiplicity."""
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


def transform(values: Numbers, format_: Format = DOUBLE) -> Numbers:
    """The discrete Fourier transform, Sum_k values[k] e^(-2 pi i k f / N), by our own passes.

    Parameters
    ----------
    values : ndarray of complex, shape (N,)
        N is a power of two.
    format_ : Format
        The format of ``values``.
    """
    size = values.size
    roots = _roots(size, format_)
    # Row k, column j: element k of the transform of every (size / rows)-th value from j on.
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
    """e^(-2 pi i k / size) for k below size; each is off by at most 3.7 u."""
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
    """The midpoint, rounded to the format: twice to doubles, whose sum then rounds once."""
    high = float(ball)
    return format_.real(high) + format_.real(float(ball - high))


def geometric(log_ratio: arb, count: int) -> Array:
    """e^(log_ratio k) for k below ``count``; each is off by at most 4 u, or below ``TINY``.

    Parameters
    ----------
    log_ratio : arb
        At most 0, so that nothing overflows.
    count : int
        At least 1.
    """
    with ctx.workprec(_TABLE_BITS):
        low = np.array([float((log_ratio * k).exp()) for k in range(min(_BLOCK, count))])
        blocks = -(-count // _BLOCK)
        high = np.array([float((log_ratio * (_BLOCK * k)).exp()) for k in range(blocks)])
    return np.asarray((high[:, None] * low[None, :]).ravel()[:count])
