"""The numbers of the register's page: ``python -m tests.oracles.register_page`` audits and writes.

The part of ``docs/explanation/register.md`` between two marks is written; a slow test compares it
with a new audit.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rdpkit.formats.text import rounded_down, rounded_up
from rdpkit.verification.auditing.audit import audit_files
from rdpkit.verification.auditing.findings import ClaimVerdict, Finding, Reproduction, Soundness
from rdpkit.verification.auditing.rules import slack
from rdpkit.verification.claims.format import KINDS
from rdpkit.verification.claims.reading import register_files
from rdpkit.verification.outputs.words import statement

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "register.md"
BEGIN = "<!-- made by python -m tests.oracles.register_page -->"
END = "<!-- end of what is made -->"

_HALF = 2.0
_BEST = 15


def _row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    return [_row(headings), _row("---" for _ in headings), *map(_row, rows), ""]


_COLUMNS: dict[str, Callable[[Finding], bool]] = {
    "proven": lambda one: one.soundness is Soundness.SOUND,
    "of these could be halved": lambda one: (
        one.soundness is Soundness.SOUND and slack(one) >= _HALF
    ),
    "refuted": lambda one: one.verdict is ClaimVerdict.FALSE,
    "false in this reading, as an approximation or by a digit": lambda one: (
        one.soundness is Soundness.REFUTED and one.verdict is not ClaimVerdict.FALSE
    ),
    "cannot be recomputed": lambda one: one.reproduction is Reproduction.UNDERSPECIFIED,
    "open": lambda one: (
        one.soundness is Soundness.UNPROVEN and one.reproduction is not Reproduction.UNDERSPECIFIED
    ),
}


def _counts(findings: Sequence[Finding]) -> list[int]:
    return [len(findings), *(sum(map(column, findings)) for column in _COLUMNS.values())]


def _titles(findings: Iterable[Finding]) -> list[str]:
    found = {one.claim.work.title for one in findings if one.claim.work is not None}
    return sorted(found, key=str.lower)


def _of_works(findings: Sequence[Finding]) -> list[list[object]]:
    rows: list[list[object]] = []
    for title in _titles(findings):
        chosen = [one for one in findings if one.claim.work and one.claim.work.title == title]
        work = chosen[0].claim.work
        assert work is not None
        rows.append([f"[{work.title}]({work.url})", work.year, *_counts(chosen)])
    return rows


def _refuted(findings: Sequence[Finding]) -> list[list[object]]:
    return [
        [
            f"`{one.claim.id}`",
            one.claim.kind,
            statement(one.claim),
            "" if one.lower is None else rounded_down(one.lower.epsilon, digits=6),
            "" if one.upper is None else rounded_up(one.upper.epsilon, digits=6),
            one.verdict.value,
        ]
        for one in findings
        if one.soundness is Soundness.REFUTED
    ]


def _loose(findings: Sequence[Finding]) -> list[list[object]]:
    sound = [one for one in findings if one.soundness is Soundness.SOUND and slack(one) >= _HALF]
    sound.sort(key=lambda one: (-slack(one), one.claim.id))
    return [
        [
            f"`{one.claim.id}`",
            statement(one.claim),
            "" if one.upper is None else rounded_up(one.upper.epsilon, digits=4),
            f"{slack(one):.3g}",
        ]
        for one in sound[:_BEST]
    ]


def made(findings: Sequence[Finding]) -> str:
    """What stands between the marks."""
    headings = ["claims", *_COLUMNS]
    kinds = [
        [kind, len(_titles(chosen)), *_counts(chosen)]
        for kind in KINDS
        if (chosen := [one for one in findings if one.claim.kind == kind])
    ]
    kinds.append(["**all**", len(_titles(findings)), *_counts(findings)])
    unread = sum(1 for one in findings if one.claim.unread is not None)
    lines = [
        "### By kind",
        "",
        *_table(["kind", "works", *headings], kinds),
        f"{unread} of the claims were read in quotations alone, and are marked so in every output.",
        "",
        "### Claims that a pair of data sets exceeds",
        "",
        *_table(["claim", "kind", "says", "attained", "proven", "verdict"], _refuted(findings)),
        "### Those that could be said best",
        "",
        *_table(["claim", "says", "proven", "times smaller"], _loose(findings)),
        "### By work",
        "",
        *_table(["work", "year", *headings], _of_works(findings)),
    ]
    return "\n".join(lines)


def between_the_marks(text: str) -> str:
    """The part of a page that is made."""
    return text.partition(BEGIN)[2].partition(END)[0].strip()


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    findings = audit_files(*register_files(), jobs=-1)
    PAGE.write_text(f"{before}{BEGIN}\n\n{made(findings)}\n{END}{after}")
