"""Values of a claims file, checked: an error names the key, the value and what is accepted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rdpkit.verification.claims.keys import CONVERSIONS

# Decimal exponents beyond this are no privacy budgets, and slow to compute with.
LARGEST = 300


def plain(value: Any) -> Any:
    """Decimals, which keep printed digits, as the floats that events are made of."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def known_keys(table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise ValueError for a key that is not known."""
    for key in table:
        if key not in known:
            raise ValueError(f"unknown key {key!r}; accepted are {', '.join(known)}.")


def text(table: Mapping[str, Any], key: str) -> str:
    """A string that is there and not empty."""
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected {key} to be a non-empty string, got {shown(value)}.")
    return value


def texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of strings, none by default."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError(f"expected {key} to be a list of strings, got {shown(value)}.")
    return tuple(value)


def conversion(table: Mapping[str, Any]) -> str | None:
    """The conversion, one of those that claims may name."""
    if "conversion" not in table:
        return None
    value = table["conversion"]
    if value not in CONVERSIONS:
        raise ValueError(f"expected conversion to be one of {CONVERSIONS}, got {shown(value)}.")
    return str(value)


def epsilon(value: Any, missing: tuple[str, ...]) -> Decimal | None:
    """The claimed number with its printed digits; None only where the source leaves it out."""
    if value is None and missing:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise ValueError(f"expected epsilon to be a number >= 0, got {shown(value)}.")
    number = Decimal(value)
    if number.is_nan() or number.is_signed():
        raise ValueError(f"expected epsilon to be a number >= 0, got {shown(value)}.")
    exponent = number.as_tuple().exponent
    if number.is_finite() and (number.adjusted() > LARGEST or int(exponent) < -LARGEST):
        raise ValueError(
            f"expected epsilon between 1e-{LARGEST} and 1e{LARGEST}, got {shown(value)}."
        )
    return number


def optional_number(
    table: Mapping[str, Any], key: str, accepts: Any, condition: str
) -> float | None:
    """A number for which ``accepts`` is true, as ``condition`` says in words."""
    if key not in table:
        return None
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise ValueError(f"expected {key} to be a number {condition}, got {shown(value)}.")
    size = Decimal(value).adjusted() if value else 0
    number = float(value) if abs(size) < LARGEST else math.nan
    if math.isnan(number) or not accepts(number):
        raise ValueError(f"expected {key} {condition}, got {shown(value)}.")
    return number


def optional_integer(table: Mapping[str, Any], key: str, minimum: int) -> int | None:
    """An integer from ``minimum`` to a thousand million."""
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= 10**9:
        raise ValueError(
            f"expected {key} to be an integer in [{minimum}, 10^9], got {value!r:.80}."
        )
    return value


def shown(value: Any) -> str:
    """A value as errors show it: as it was written, and not too long."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
