"""The report as Markdown."""

from __future__ import annotations

import html
import re

from rdpkit.mechanisms.evaluation.utility.outputs.view import Table, view
from rdpkit.mechanisms.evaluation.utility.report import UtilityReport


def utility_markdown(report: UtilityReport) -> str:
    """A page of Markdown in which names of columns and files are text."""
    shown = view(report)
    short, full = shown.cost
    parts = [f"# {_text(shown.title)}", f"> **{_text(short)}** {_text(full)}"]
    if shown.alarm:
        parts.insert(1, f"> **{_text(shown.alarm)}**")
    for section in shown.sections:
        parts.append(f"## {_text(section.title)}")
        parts += [_text(paragraph) for paragraph in section.text if paragraph]
        parts += [_table(table) for table in section.tables]
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    lines = [_row(table.headings), _row(tuple("---" for _ in table.headings), markup=True)]
    lines += [_row(row) for row in table.rows]
    return f"{_text(table.caption)}:\n\n" + "\n".join(lines)


def _row(cells: tuple[str, ...], *, markup: bool = False) -> str:
    return "| " + " | ".join(cell if markup else _text(cell) for cell in cells) + " |"


def _text(words: str) -> str:
    """A text on one line in which nothing is markup, and that people can read as it stands."""
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    plain = re.sub(r"([\\\\`*_{}\[\]#|~$!])", r"\\\1", html.escape(line, quote=False))
    # A bare address would become a link.
    return re.sub(r"(?i)(https?|ftp|mailto|xmpp):|www\.|@", _entity, plain)


def _entity(found: re.Match[str]) -> str:
    text = found.group()
    return f"{text[:-1]}&#{ord(text[-1])};"
