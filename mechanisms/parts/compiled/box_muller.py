"""Sums of four normal numbers each, made from uniform words by Box and Muller's method.

The logarithm, the sine and the cosine are polynomials of our own. They are evaluated by additions,
multiplications, divisions, square roots and shifts alone, which IEEE 754 rounds in one way on every
machine. So a seed gives the same bits everywhere: compiled or not, with wide registers or without.
The functions of a library differ in their last bits from one machine to the next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Sums = Callable[[Words, Floats], None]

SUMMANDS = 4
"""How many normal numbers are added up. Their sum has this variance."""

_word = np.uint64
_ONE, _TWO = _word(1), _word(2)
# A word's upper 53 bits are the number that is used.
_UNUSED = _word(11)
# The bits of 2^52: a whole number below 2^52 in the places after them gives 2^52 plus that number.
_TO_FLOAT = _word(0x4330000000000000)
_FRACTION, _FRACTION_BITS = _word(0x000FFFFFFFFFFFFF), _word(52)
# The bits of the square root of 1/2, and how far they are from those of 1.
_ROOT = _word(0x3FE6A09E667F3BCC)
_FROM_ROOT = _word(0x3FF0000000000000 - 0x3FE6A09E667F3BCC)
# 2^52, the bias of exponents, and 53, because the numbers are whole multiples of 2^-53.
_EXPONENT = 2.0**52 + 1023.0 + 53.0
# log(2) in two parts: the first has trailing zeros, so that small multiples of it are exact.
_LOG2, _LOG2_REST = 0.6931471803691238, 1.9082149292705877e-10
# A turn has 2^53 steps, a quarter of it 2^51, and half of a quarter 2^50.
_QUARTER_BITS, _HALF_QUARTER = _word(51), _word(1 << 50)
_IN_QUARTER = _word((1 << 51) - 1)
_MIDDLE, _STEP = 2.0**52 + 2.0**50, 2.0**-51
_SIGN = _word(62)

# Coefficients, the lowest first: of (log((1+s)/(1-s)) - 2s) / s in s^2, of sin(pi x / 2) / x in x^2
# and of (cos(pi x / 2) - 1) in x^2, without the constant. tests/oracles/box_muller.py finds them
# and proves how far they are from the functions.
LOGARITHM = (
    0.6666666666666734, 0.3999999999941509, 0.2857142874230852, 0.2222219858037601,
    0.18183563987412457, 0.15314058525311108, 0.14795875510187934,
)  # fmt: skip
SINE = (
    1.5707963267948966, -0.6459640975062443, 0.07969262624603955, -0.004681754132282393,
    0.0001604411502915399, -3.5986417542989537e-06, 5.633721019051144e-08,
)  # fmt: skip
COSINE = (
    -1.233700550136157, 0.25366950790005327, -0.02086348073757917, 0.0009192599677972174,
    -2.520019254342517e-05, 4.656005379183753e-07,
)  # fmt: skip
_L0, _L1, _L2, _L3, _L4, _L5, _L6 = LOGARITHM
_S0, _S1, _S2, _S3, _S4, _S5, _S6 = SINE
_C0, _C1, _C2, _C3, _C4, _C5 = COSINE


def _float_of(bits: Any) -> Any:
    return bits.view(np.float64)


def _bits_of(number: Any) -> Any:
    return number.view(np.uint64)


def _radius(word: Any) -> Any:
    """The square root of -2 log(u), where u is a multiple of 2^-53 in (0, 1].

    log(u) is k log(2) + log(1 + f), where 1 + f lies between the square root of 1/2 and that of 2.
    """
    bits = _bits_of(np.float64((word >> _UNUSED) + _ONE)) + _FROM_ROOT
    k = _float_of((bits >> _FRACTION_BITS) | _TO_FLOAT) - _EXPONENT
    f = _float_of((bits & _FRACTION) + _ROOT) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = _L0 + z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * _L6)))))
    half = 0.5 * f * f
    logarithm = k * _LOG2 - ((half - (s * (half + z * p) + k * _LOG2_REST)) - f)
    return np.sqrt(-2.0 * logarithm)


def _cosine_and_sine(word: Any) -> Any:
    """Both of 2 pi v, where v is a multiple of 2^-53 in [0, 1).

    The quarter of the turn that is nearest is taken off exactly, in whole numbers.
    """
    steps = (word >> _UNUSED) + _HALF_QUARTER
    quarter = steps >> _QUARTER_BITS
    x = (_float_of((steps & _IN_QUARTER) | _TO_FLOAT) - _MIDDLE) * _STEP
    z = x * x
    sine = x * (_S0 + z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6))))))
    cosine = 1.0 + z * (_C0 + z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * _C5)))))
    # In an odd quarter sine and cosine change places, without a branch, and then have new signs.
    c, s = _bits_of(cosine), _bits_of(sine)
    exchanged = (c ^ s) & ~((quarter & _ONE) - _ONE)
    return (
        _float_of((c ^ exchanged) ^ (((quarter + _ONE) & _TWO) << _SIGN)),
        _float_of((s ^ exchanged) ^ ((quarter & _TWO) << _SIGN)),
    )


def portable_sums(
    # Uniform words: the first half for radii, the second for angles; shape (2, 4, half)
    words: Words,
    found: Floats,  # Where the sums go; shape (2 * half,)
) -> None:
    """Sums of four standard normal numbers each, by numpy.

    The cosine and the sine of one pair of words go into different sums. In one sum they would count
    as a single number.
    """
    half = words.shape[2]
    found[:] = 0.0
    with np.errstate(over="ignore"):  # whole numbers are taken modulo 2^64
        for radii, angles in zip(words[0], words[1], strict=True):
            radius = _radius(radii)
            cosine, sine = _cosine_and_sine(angles)
            found[:half] += radius * cosine
            found[half:] += radius * sine


def _loop(words: Any, found: Any) -> None:
    """What ``portable_sums`` does, number by number."""
    half = words.shape[2]
    found[:] = 0.0
    first, second = found[:half], found[half:]
    for summand in range(words.shape[1]):
        radii, angles = words[0, summand], words[1, summand]
        for i in range(half):
            radius = _radius(radii[i])
            cosine, sine = _cosine_and_sine(angles[i])
            first[i] += radius * cosine
            second[i] += radius * sine


_compiling = threading.Lock()
_compiled: list[Sums] = []


def compiled_sums() -> Sums:
    """``portable_sums``, compiled; or itself where numba is missing or does not give the same bits.

    What numba compiled, now or in an earlier process, is compared bit by bit on some words first,
    so that a cache that is damaged or out of date cannot change the noise.
    """
    with _compiling:
        if not _compiled:
            _compiled.append(_compile())
        return _compiled[0]


def _compile() -> Sums:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, (2, SUMMANDS, 64), dtype=np.uint64)
    expected, got = np.empty(128), np.empty(128)
    portable_sums(words, expected)
    try:
        run = _with_numba()
        run(words, got)
    except (ImportError, OSError):  # OSError: the cache is full or cannot be read
        return portable_sums
    return run if np.array_equal(expected, got) else portable_sums


def _with_numba() -> Sums:
    from numba import types  # noqa: PLC0415 - it takes time, and few draws are worth it
    from numba.extending import intrinsic, overload, register_jitable  # noqa: PLC0415

    from rdpkit.mechanisms.parts.compiled.compiler import compiled  # noqa: PLC0415

    def reading(kind: Any, source: Any) -> Any:
        def as_kind(context: Any, value: Any) -> Any:
            def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return builder.bitcast(arguments[0], target.get_value_type(kind))

            return kind(source), generate

        return intrinsic(as_kind)

    as_float = reading(types.float64, types.uint64)
    as_bits = reading(types.uint64, types.float64)
    overload(_float_of, inline="always")(lambda bits: lambda bits: as_float(bits))  # noqa: PLW0108
    overload(_bits_of, inline="always")(lambda number: lambda number: as_bits(number))  # noqa: PLW0108
    register_jitable(_radius)
    register_jitable(_cosine_and_sine)
    # With Python's rules a division by zero raises, which the loop would have to look out for.
    found: Sums = compiled(error_model="numpy")(_loop)
    return found
