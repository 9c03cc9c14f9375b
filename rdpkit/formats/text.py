"""What people and programs read: numbers rounded safely, JSON, a guarantee in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rdpkit.formats.numbers import how_many, printable, rounded_down, rounded_up

if TYPE_CHECKING:
    from rdpkit.guarantee import Guarantee

_LONGEST_CELL = 300
_MARKUP = re.compile(r"[!-+/:-@\[-`{-~]")


def escaped_markdown(
    text: str,  # Anything
) -> str:  # At most 300 characters; each that could be markup is an entity
    """The text on one line, in which Markdown and HTML see nothing but letters."""
    one_line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(one_line) > _LONGEST_CELL:
        one_line = one_line[: _LONGEST_CELL - 3] + "..."
    entities = _MARKUP.sub(lambda match: f"&#{ord(match.group())};", one_line)
    # A bare address would become a link.
    return re.sub(r"(?i)www\.", lambda match: match.group()[:3] + "&#46;", entities)


def as_json(value: Any) -> str:
    """JSON that any parser reads: no NaN and no Infinity."""
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)


def guarantee_lines(guarantee: Guarantee) -> list[str]:
    """A guarantee in words."""
    rounded = rounded_down if guarantee.kind.value == "lower" else rounded_up
    lines = [
        f"epsilon    {rounded(guarantee.epsilon)}",
        f"delta      {rounded(guarantee.delta)}",
        f"adjacency  {guarantee.adjacency.dashed}",
        f"bound      {guarantee.bound} ({guarantee.kind.value})",
    ]
    if guarantee.lower is not None:
        number = rounded_down(guarantee.lower)
        lines.append(f"lower      {guarantee.asked} >= {number}, attained by two data sets")
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


__all__ = [
    "as_json",
    "escaped_markdown",
    "guarantee_lines",
    "how_many",
    "printable",
    "rounded_down",
    "rounded_up",
    "with_guarantee",
]
