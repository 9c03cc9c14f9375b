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


def guarantee_rows(guarantee: Guarantee) -> list[tuple[str, str]]:
    """A guarantee in words, each with the name of what it says."""
    rounded = rounded_down if guarantee.kind.value == "lower" else rounded_up
    rows = [
        ("epsilon", rounded(guarantee.epsilon)),
        ("delta", rounded(guarantee.delta)),
        ("adjacency", guarantee.adjacency.dashed),
        ("bound", f"{guarantee.bound} ({guarantee.kind.value})"),
    ]
    if guarantee.lower is not None:
        number = rounded_down(guarantee.lower)
        rows.append(("lower", f"{guarantee.asked} >= {number}, attained by two data sets"))
    if guarantee.order is not None:
        rows.append(("order", f"{guarantee.order:.6g} ({guarantee.conversion} conversion)"))
    rows += [("assumes", text) for text in guarantee.assumptions]
    return rows + [("note", text) for text in guarantee.notes]


def in_columns(rows: Iterable[tuple[str, str]], width: int = 10) -> list[str]:
    """Lines of a name and a text, which begins behind that many columns."""
    return [f"{name:{width}} {text}" for name, text in rows]


__all__ = [
    "as_json",
    "escaped_markdown",
    "guarantee_rows",
    "how_many",
    "in_columns",
    "printable",
    "rounded_down",
    "rounded_up",
]
