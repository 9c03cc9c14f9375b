"""The findings of an audit as a table: CSV for programs, LaTeX for papers."""

from __future__ import annotations

import csv
import io
import re

from rdpkit.formats.numbers import formatted, printable
from rdpkit.verification.auditing.findings import Finding, Side
from rdpkit.verification.outputs import AuditResult

_COLUMNS = (
    "claim", "mechanism", "neighbours", "quantity", "delta", "claimed", "published", "lower",
    "upper", "reproduction", "verdict",
)  # fmt: skip
_OF_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{one: "\\" + one for one in "&%$#_{}"},
}


def csv_table(result: AuditResult) -> str:
    """A row for each claim, with a heading; numbers as they are, bounds rounded to the safe side.

    Parameters
    ----------
    result : AuditResult
        The findings.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for finding in result.findings:
        writer.writerow("'" + one if _is_formula(one) else one for one in _row(finding, 10))
    return text.getvalue()


def tex_table(result: AuditResult) -> str:
    """A ``tabular`` with a row for each claim, without packages beyond LaTeX's own.

    Parameters
    ----------
    result : AuditResult
        The findings.
    """
    rows = [_COLUMNS, *(_row(finding, 4) for finding in result.findings)]
    # Braces, because a row that begins with [ or * would be an option of the one before it.
    head, *lines = ("{}" + " & ".join(map(_latex, row)) + r" \\" for row in rows)
    columns = "llll" + "r" * 5 + "ll"
    return "\n".join([
        rf"\begin{{tabular}}{{{columns}}}", r"\hline", head, r"\hline", *lines, r"\hline",
        r"\end{tabular}", "",
    ])  # fmt: skip


def _row(finding: Finding, digits: int) -> tuple[str, ...]:
    claim = finding.claim
    return tuple(
        map(
            printable,
            (
                claim.id,
                claim.mechanism,
                claim.adjacency.value.replace("_", "-"),
                claim.quantity,
                "" if claim.delta is None else f"{claim.delta:g}",
                "" if claim.epsilon is None else str(claim.epsilon),
                _number(finding.published, digits),
                _number(finding.lower, digits, up=False),
                _number(finding.upper, digits),
                finding.reproduction.value,
                finding.soundness.value,
            ),
        )
    )


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet may take a text for a formula; it knows full-width signs, too."""
    return text.lstrip()[:1] in tuple("=+-@\uff1d\uff0b\uff0d\uff20")


def _number(side: Side | None, digits: int, *, up: bool = True) -> str:
    return "" if side is None else formatted(side.epsilon, f".{digits}g", up=up) or ""


def _latex(text: str) -> str:
    return re.sub(r"[\\~^&%$#_{}]", lambda found: _OF_LATEX[found[0]], text)
