"""Texts of a page in which nothing is markup."""

from __future__ import annotations

import html


def escaped(text: str) -> str:
    """A text for a page or for an attribute in quotes, with nothing that cannot be printed."""
    return html.escape("".join(c if c.isprintable() else " " for c in text), quote=True)
