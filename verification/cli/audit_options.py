"""What ``rdpkit audit`` and ``rdpkit report`` share: options, warnings and progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rdpkit.cli.option_types import NameType
from rdpkit.cli.progress import threads_option, work_shown
from rdpkit.formats.text import how_many, printable
from rdpkit.verification.auditing.findings import Bounds, Finding
from rdpkit.verification.auditing.selection import VERDICTS, Selection, Years
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.claims.format import KINDS
from rdpkit.verification.claims.reading import register_files, shipped_files
from rdpkit.verification.cli.evidence_options import evidence_options, read_evidence_options

if TYPE_CHECKING:
    from rdpkit.verification.blackbox.betting.steps import VerificationStep

Command = TypeVar("Command", bound=Callable[..., Any])

file_type = click.Path(path_type=Path, dir_okay=False)

_OPTIONS = (
    click.argument("files", nargs=-1, type=click.Path(path_type=Path)),
    click.option(
        "--bounds",
        type=NameType.of("bounds", [member.value for member in Bounds]),
        default=Bounds.ALL.value,
        show_default=True,
        help="Which bounds to compute. all: every one. needed: privacy loss distributions only for "
        "claims that certified Renyi bounds do not prove. rdp: certified Renyi bounds only, which "
        "prove claims and refute none.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=lambda: os.cpu_count() or 1,
        show_default="all cores",
        help="Processes to share the work between.",
    ),
    threads_option,
    click.option(
        "--cache",
        type=file_type,
        help="Keep findings in this file, and take those from it that are still true.",
    ),
    click.option(
        "--regions",
        is_flag=True,
        help="Compute what claims would need whose source leaves something out: for which values "
        "they would be true. Takes seconds to minutes a claim; those that are shipped are known.",
    ),
    click.option(
        "--allow-code",
        is_flag=True,
        help="Run the code and the trainings that claims point at; they are never run otherwise.",
    ),
)


_SELECTION = (
    click.option(
        "--register",
        is_flag=True,
        help="Audit the register: claims of the wider literature, which are shipped, in place of "
        "FILES.",
    ),
    click.option(
        "--kind",
        "kinds",
        type=NameType.of("kinds", KINDS),
        multiple=True,
        help="Only claims of this kind; may be repeated.",
    ),
    click.option(
        "--year",
        "years",
        type=click.UNPROCESSED,
        multiple=True,
        callback=lambda ctx, option, words: _years(words),
        metavar="YEARS",
        help="Only claims of works of these years: 2016, 2016:2020, 2016: or :2020; may be "
        "repeated.",
    ),
    click.option(
        "--verdict",
        "verdicts",
        type=NameType.of("verdicts", VERDICTS),
        multiple=True,
        help="Show only claims with this verdict; may be repeated. The exit status and the files "
        "that are written are about the others as well.",
    ),
)


def selection_options(command: Command) -> Command:
    """Give a command the options that choose the register, some of its claims, and findings."""
    for option in reversed(_SELECTION):
        command = option(command)
    return command


def claim_options(command: Command) -> Command:
    """Give a command the options that choose the register, and some of the claims."""
    for option in reversed(_SELECTION[:-1]):
        command = option(command)
    return command


def _years(words: Sequence[str]) -> tuple[Years, ...]:
    try:
        return tuple(map(Years.parse, words))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def read_selection(options: dict[str, Any]) -> Selection:
    """What the options of a selection say; they are taken out of the others."""
    names = ("kinds", "years", "verdicts")
    return Selection(**{name: tuple(options.pop(name, ())) for name in names})


def files_to_audit(files: Sequence[Path], *, register: bool) -> list[Path]:
    """The files that were named, or the register, or the claims of the papers.

    Raises
    ------
    ValueError
        If there are both files and the register.
    """
    if register and files:
        raise ValueError("Expected FILES or --register, got both.")
    return list(files) or (register_files() if register else shipped_files())


def audit_options(command: Command) -> Command:
    """Give a command the argument and the options of an audit."""
    command = evidence_options(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


certificates_option = click.option(
    "--certificates",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder that 'rdpkit audit --certificates' wrote; the page has a button for each, which "
    "checks it in the reader's browser. Those that claims carry are there in any case.",
)
"""Pages show certificates of their claims."""


def audited(
    claims: Sequence[Claim],
    *,
    bounds: str,
    jobs: int,
    cache: Path | None,
    allow_code: bool,
    regions: bool = False,
    **others: Any,
) -> list[Finding]:
    """Audit claims with progress on a terminal; what is damaged in the cache is a warning."""
    evidence = read_evidence_options(others, None)
    if evidence is not None and not allow_code:
        raise ValueError("Expected --allow-code with --evidence, which is about tests of code.")
    # Imported here so that --help does not wait for the accountants.
    from rdpkit.verification.auditing.driver import findings_about  # noqa: PLC0415

    kept = None
    if cache is not None:
        from rdpkit.verification.auditing.cache import AuditCache  # noqa: PLC0415

        kept = AuditCache(cache)
        for problem in kept.damaged:
            click.echo(printable(f"Warning: {problem}: computed again."), err=True)
    findings: list[Finding] = []
    with work_shown() as work:

        def on_step(claim: Claim, step: VerificationStep) -> None:
            note = f"{claim.id}: {step.stage}, {how_many(step.runs, 'run')} of the code"
            work.show("auditing", len(findings), len(claims), note)

        for finding in findings_about(
            claims,
            bounds=bounds,
            jobs=jobs,
            cache=kept,
            allow_code=allow_code,
            evidence=evidence,
            on_step=on_step,
            regions=regions,
        ):
            findings.append(finding)
            work.show("auditing", len(findings), len(claims), finding.claim.id)
    return findings
