"""The findings of an audit as a table: CSV for programs, LaTeX for papers."""

from __future__ import annotations

import csv
import io

from rdpkit.formats.columns import as_tex
from rdpkit.formats.numbers import as_given, formatted, printable
from rdpkit.verification.auditing.findings import Finding, Side
from rdpkit.verification.outputs import AuditResult

_COLUMNS = (
    "claim", "mechanism", "neighbours", "quantity", "delta", "claimed", "published", "lower",
    "upper", "reproduction", "verdict",
)  # fmt: skip


def csv_table(result: AuditResult) -> str:
    """A row for each claim, with a heading; bounds are rounded to the safe side."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for finding in result.findings:
        writer.writerow("'" + one if _is_formula(one) else one for one in _row(finding, 10))
    return text.getvalue()


def tex_table(result: AuditResult) -> str:
    """A ``tabular`` with a row for each claim, without packages beyond LaTeX's own."""
    rows = [_row(finding, 4) for finding in result.findings]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(_COLUMNS)}
    return as_tex(columns, "llll" + "r" * 5 + "ll")


def _row(finding: Finding, digits: int) -> tuple[str, ...]:
    claim = finding.claim
    return tuple(
        map(
            printable,
            (
                claim.id,
                claim.mechanism,
                claim.adjacency.dashed,
                claim.quantity,
                "" if claim.delta is None else as_given(claim.delta),
                "" if claim.epsilon is None else str(claim.epsilon),
                _number(finding.published, digits),
                _number(finding.lower, digits, up=False),
                _number(finding.upper, digits),
                finding.reproduction.value,
                finding.verdict.value,
            ),
        )
    )


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet may take a text for a formula; it knows full-width signs, too."""
    return text.lstrip()[:1] in tuple("=+-@\uff1d\uff0b\uff0d\uff20")


def _number(side: Side | None, digits: int, *, up: bool = True) -> str:
    return "" if side is None else formatted(side.epsilon, f".{digits}g", up=up) or ""
