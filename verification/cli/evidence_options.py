"""Options about evidence that is kept, for ``rdpkit verify``, ``audit`` and ``report``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rdpkit.cli.option_types import NameType
from rdpkit.verification.evidence.error_control import ErrorControl

if TYPE_CHECKING:
    from rdpkit.verification.evidence.accumulation import EvidenceOptions

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--evidence",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Keep the evidence of tests of code in this file, like .rdpkit/evidence.jsonl. Tests "
        "of the same code add up, from one pull request to the next, and one error rate holds for "
        "all claims, all versions of the code and all time.",
    ),
    click.option(
        "--error-control",
        type=NameType.of("control", [member.value for member in ErrorControl]),
        help="What the error rate of a new file of evidence is a rate of. fwer: the probability "
        "that any true claim is ever rejected. fdr: the expected part of true claims among the "
        "rejected ones.  [default: fwer]",
    ),
    click.option(
        "--again",
        is_flag=True,
        help="With --evidence, test code again whose claim is rejected already.",
    ),
    click.option(
        "--skip-unchanged",
        is_flag=True,
        help="With --evidence, leave out code that has not changed since it was tested.",
    ),
)


def evidence_options(command: Command) -> Command:
    """Give a command the options about evidence."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_evidence_options(given: dict[str, Any], rate: float | None) -> EvidenceOptions | None:
    """The options that were given, which are taken out of the others; None without a file."""
    path, control = given.pop("evidence"), given.pop("error_control")
    again, skip = given.pop("again"), given.pop("skip_unchanged")
    if path is None:
        named = {"--error-control": control, "--again": again, "--skip-unchanged": skip}
        for flag, value in named.items():
            if value:
                raise ValueError(f"Expected --evidence FILE with {flag}.")
        return None
    # Imported here so that --help does not wait for what runs code.
    from rdpkit.verification.evidence.accumulation import EvidenceOptions  # noqa: PLC0415

    found = EvidenceOptions(path=path, rate=rate, control=control, again=again, skip_unchanged=skip)
    # A file that cannot be used is an error before anything is run.
    found.store()
    return found
