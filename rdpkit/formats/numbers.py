"""Numbers and words as people read them: rounded to the safe side, without control characters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

# Numbers with more digits than this before the point are written with an exponent.
_LONGEST = 12
_NUMBER_FORMAT = re.compile(r"(?:.?[<>=^])?[-+ ]?#?0?\d*[_,]?(?:\.(\d+))?([eEfFgG%])")
# Digits beyond these are those of the float itself.
_EXACT = 340
# A number that is so near to one of a few digits, relative to it, is that one: parameters and what
# is computed of them are rounded to floats, and the Laplace noise of epsilon 0.1 is not of 0.1001.
_FEW, _ROUNDING = 12, Decimal("1e-14")


def printable(text: str) -> str:
    """The text with control characters spelled out, so that no file controls a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def as_given(value: float) -> str:
    """A delta or an order with all its digits: a rounded one is another promise."""
    return text if float(text := f"{value:g}") == value else repr(value)


def beside(said: float, value: float, show: Callable[[int], str], digits: int) -> str:
    """A number with as many digits as show on which side of another it is."""
    texts = (show(many) for many in range(digits, 18))
    return next((one for one in texts if (float(one) > said) == (value > said)), repr(value))


def rounded_down(value: float, digits: int = 4) -> str:
    """A lower bound for people, rounded down."""
    return _rounded(value, digits, ROUND_FLOOR)


def rounded_up(value: float, digits: int = 4) -> str:
    """A number for people, rounded up so that it never understates a privacy loss."""
    return _rounded(value, digits, ROUND_CEILING)


def _rounded(value: float, digits: int, mode: str) -> str:
    if math.isinf(value):
        return "inf"
    if value == 0.0:
        return "0"
    exact = meant(value) if digits <= _FEW else Decimal(repr(value))
    unit = Decimal(1).scaleb(min(exact.adjusted() - digits + 1, 0))
    up = exact.quantize(unit, rounding=mode, context=Context(prec=400))
    if exact.adjusted() > _LONGEST:
        return f"{exact.normalize(Context(prec=digits, rounding=mode)):.{digits - 1}e}"
    if exact.adjusted() >= -digits:
        return f"{up:f}"
    mantissa, exponent = f"{up.normalize(Context(prec=digits + 1, rounding=mode)):e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"


def meant(value: float) -> Decimal:
    """The shortest decimal that reads back as the float, 1e-05, or is as near as rounding is."""
    exact = Decimal(repr(value))
    short = Context(prec=_FEW).plus(exact)
    return short if abs(short - exact) <= _ROUNDING * abs(exact) else exact


def how_many(
    count: int,  # How many
    noun: str,  # One of them
    plural: str | None = None,  # Several of them; by default the noun with an s
) -> str:
    """A number of things in words: "1 claim", "2 claims", "2 repositories"."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def formatted(
    value: float,  # At least 0
    specification: str,  # As for floats, ending in e, f, g or %
    *,
    up: bool,  # Whether larger is safe
) -> str | None:  # None if the specification is another one
    """A number as a format specification of floats asks for, rounded to the safe side.

    Examples
    --------
    >>> formatted(2.81624, ".3f", up=True), formatted(2.81624, ".3f", up=False)
    ('2.817', '2.816')
    >>> formatted(0.12301, "8.1%", up=True)
    '   12.4%'
    """
    found = _NUMBER_FORMAT.fullmatch(specification)
    if found is None:
        return None
    if not math.isfinite(value) or value == 0.0:
        return format(value, specification)
    digits, kind = min(int(found[1] or 6), _EXACT), found[2].lower()
    exact = meant(value) if digits <= _FEW else Decimal(repr(value))
    place = {
        "f": -digits,
        "%": -digits - 2,
        "e": exact.adjusted() - digits,
        "g": exact.adjusted() - max(digits, 1) + 1,
    }[kind]
    mode = ROUND_CEILING if up else ROUND_FLOOR
    rounded = exact.quantize(Decimal(1).scaleb(place), rounding=mode, context=Context(prec=800))
    return format(float(rounded), specification)
