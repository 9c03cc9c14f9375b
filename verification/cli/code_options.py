"""Options about tests of code, and about evidence that is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import FILE, INTEGER, NUMBER, NameType
from rdpkit.cli.output import with_options
from rdpkit.formats.files import write_whole
from rdpkit.verification.blackbox.options import Option
from rdpkit.verification.evidence.error_control import ErrorControl
from rdpkit.verification.outputs import Output, output_for

if TYPE_CHECKING:
    from rdpkit.verification.evidence.accumulation import EvidenceOptions

ToWrite = list[tuple[Path, Callable[[Any], str]]]
"""The files that were asked for, each with the function that makes its content."""


def record_options(options: Sequence[Option]) -> Callable[[Any], Any]:
    """Command-line options made from those that a record declares."""
    types: dict[str, Any] = {"boolean": bool, "integer": INTEGER, "number": NUMBER}

    def made(option: Option) -> Callable[[Any], Any]:
        schema = option.kind.schema
        kind = schema.get("type", "string")
        several = NameType.of(option.name, schema["items"]["enum"]) if kind == "array" else str
        usual = option.usual or ("" if option.default is None else f"{option.default}")
        default = f" [default: {usual}]" if usual else ""
        return click.option(
            option.flag,
            option.name,
            type=types.get(kind, several),
            is_flag=kind == "boolean",
            multiple=kind == "array",
            metavar=option.metavar or None,
            help=" ".join(filter(None, [option.meaning, option.command_line, default])),
        )

    return with_options(*map(made, options))


def files_of(output: str) -> str:
    """The name under which the files of an output reach a command."""
    return "files_of_" + output.replace("-", "_")


def file_options(outputs: Mapping[str, Sequence[Output]]) -> Callable[[Any], Any]:
    """An option for each output, which may be repeated."""
    return with_options(
        *(
            click.option(f"--{name}", files_of(name), type=FILE, multiple=True, help=known[0].help)
            for name, known in outputs.items()
        )
    )


def files_to_write(given: dict[str, Any], outputs: Mapping[str, Sequence[Output]]) -> ToWrite:
    """The files that were asked for, whose options are taken out of the others.

    A folder that does not exist is noticed before hours of work, and not after them.
    """
    found = []
    for name, known in outputs.items():
        for path in given.pop(files_of(name)):
            if not path.absolute().parent.is_dir():
                raise ValueError(f"Expected --{name} to be in a folder, got {str(path)!r}.")
            found.append((path, output_for(name, path, known).load()))
    return found


def write_files(to_write: ToWrite, made: object) -> None:
    """Write what was asked for."""
    for path, content in to_write:
        write_whole(path, content(made))


evidence_options = with_options(
    click.option(
        "--evidence",
        type=FILE,
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
"""A decorator for the options about evidence."""


def read_evidence_options(given: dict[str, Any], rate: float | None) -> EvidenceOptions | None:
    """The options that were given, which are taken out of the others; None without a file."""
    path, control = given.pop("evidence", None), given.pop("error_control", None)
    again, skip = given.pop("again", False), given.pop("skip_unchanged", False)
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
