"""What ``rdpkit audit`` and ``rdpkit report`` share: options, warnings and progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rdpkit.cli.option_types import NameType
from rdpkit.cli.progress import threads_option, work_shown
from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Bounds, Finding
from rdpkit.verification.claims.claim import Claim
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
        "--allow-code",
        is_flag=True,
        help="Run the code that claims point at, module:callable; it is never run otherwise.",
    ),
)


def audit_options(command: Command) -> Command:
    """Give a command the argument and the options of an audit."""
    command = evidence_options(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def audited(
    claims: Sequence[Claim],
    *,
    bounds: str,
    jobs: int,
    cache: Path | None,
    allow_code: bool,
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
            note = f"{claim.id}: {step.stage}, {step.runs} runs of the code"
            work.show("auditing", len(findings), len(claims), note)

        for finding in findings_about(
            claims,
            bounds=bounds,
            jobs=jobs,
            cache=kept,
            allow_code=allow_code,
            evidence=evidence,
            on_step=on_step,
        ):
            findings.append(finding)
            work.show("auditing", len(findings), len(claims), finding.claim.id)
    return findings


__all__ = ["audit_options", "audited", "file_type"]
