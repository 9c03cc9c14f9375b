"""What people and programs read: numbers rounded safely, JSON, a guarantee in words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdpkit.guarantee import Guarantee

# Numbers with more digits than this before the point are written with an exponent.
_LONGEST = 12
_LONGEST_CELL = 300
_MARKUP = re.compile(r"[!-+/:-@\[-`{-~]")


def printable(text: str) -> str:
    """The text with control characters spelled out, so that no file controls a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escaped_markdown(text: str) -> str:
    """The text on one line, in which Markdown and HTML see nothing but letters.

    Parameters
    ----------
    text : str
        Anything.

    Returns
    -------
    str
        At most 300 characters; each that could be markup is an entity.
    """
    one_line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(one_line) > _LONGEST_CELL:
        one_line = one_line[: _LONGEST_CELL - 3] + "..."
    entities = _MARKUP.sub(lambda match: f"&#{ord(match.group())};", one_line)
    # A bare address would become a link.
    return re.sub(r"(?i)www\.", lambda match: match.group()[:3] + "&#46;", entities)


def as_json(value: Any) -> str:
    """JSON that any parser reads: no NaN and no Infinity."""
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)


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
    # The shortest decimal that reads back as the float: 1e-05 stays 1e-05.
    exact = Decimal(repr(value))
    unit = Decimal(1).scaleb(min(exact.adjusted() - digits + 1, 0))
    up = exact.quantize(unit, rounding=mode, context=Context(prec=400))
    if exact.adjusted() > _LONGEST:
        return f"{exact.normalize(Context(prec=digits, rounding=mode)):.{digits - 1}e}"
    if exact.adjusted() >= -digits:
        return f"{up:f}"
    mantissa, exponent = f"{up.normalize(Context(prec=digits + 1, rounding=mode)):e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"


def guarantee_lines(guarantee: Guarantee) -> list[str]:
    """A guarantee in words."""
    rounded = rounded_down if guarantee.kind.value == "lower" else rounded_up
    lines = [
        f"epsilon    {rounded(guarantee.epsilon)}",
        f"delta      {rounded(guarantee.delta)}",
        f"adjacency  {guarantee.adjacency.value}",
        f"bound      {guarantee.bound} ({guarantee.kind.value})",
    ]
    if guarantee.order is not None:
        lines.append(f"order      {guarantee.order:.6g} ({guarantee.conversion} conversion)")
    lines.extend(f"assumes    {text}" for text in guarantee.assumptions)
    lines.extend(f"note       {text}" for text in guarantee.notes)
    return lines


def with_guarantee(
    lines: list[str], guarantee: Guarantee, notes: Iterable[str], width: int
) -> list[str]:
    """Lines of a name and a value, followed by a guarantee and notes in columns of that width."""
    found = list(lines)
    for line in guarantee_lines(guarantee):
        name, _, rest = line.partition(" ")
        found.append(f"{name:{width}} {rest.strip()}")
    return found + [f"{'note':{width}} {text}" for text in notes]
