"""Options that ``rdpkit verify`` and ``rdpkit verify-training`` share, and the files they write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import INTEGER, NUMBER, NameType
from rdpkit.formats.files import write_whole
from rdpkit.verification.blackbox.options import Option
from rdpkit.verification.outputs import CODE_OUTPUTS

if TYPE_CHECKING:
    from rdpkit.verification.outputs.tests_of_code import CodeView

ToWrite = list[tuple[Path, Callable[[Sequence["CodeView"]], str]]]
"""The files that were asked for, each with the function that makes its content."""


def record_options(options: Sequence[Option]) -> Callable[[Any], Any]:
    """Command-line options made from those that a record declares."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            schema = option.kind.schema
            kind = schema.get("type", "string")
            types: dict[str, Any] = {"boolean": bool, "integer": INTEGER, "number": NUMBER}
            if kind == "array":
                types[kind] = NameType.of(option.name, schema["items"]["enum"])
            function = click.option(
                option.flag,
                option.name,
                type=types.get(kind, str),
                is_flag=kind == "boolean",
                multiple=kind == "array",
                metavar=option.metavar or None,
                help=" ".join(filter(None, [option.meaning, option.command_line, _usual(option)])),
            )(function)
        return function

    return decorate


def _usual(option: Option) -> str:
    default = option.usual or ("" if option.default is None else f"{option.default}")
    return f" [default: {default}]" if default else ""


def file_options(function: Any) -> Any:
    """An option for each file that can be written."""
    for output in reversed(CODE_OUTPUTS):
        function = click.option(
            f"--{output.name}",
            output.name,
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help=output.help,
        )(function)
    return function


def files_to_write(given: dict[str, Any]) -> ToWrite:
    """The files that were asked for, whose options are taken out of the others.

    A folder that does not exist is noticed before hours of tests, and not after them.
    """
    found = []
    for output in CODE_OUTPUTS:
        path = given.pop(output.name)
        if path is not None:
            if not path.absolute().parent.is_dir():
                raise ValueError(f"Expected --{output.name} to be in a folder, got {str(path)!r}.")
            found.append((path, output.load()))
    return found


def write_files(to_write: ToWrite, views: Sequence[CodeView]) -> None:
    """Write what was asked for."""
    for path, content in to_write:
        write_whole(path, content(views))
