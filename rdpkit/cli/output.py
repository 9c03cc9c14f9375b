"""What every command shares: the choice of a format, and one form for all errors."""

from __future__ import annotations

import functools
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

import click
from click.core import ParameterSource

from rdpkit.cli.option_types import FILE, NameType
from rdpkit.extensions import ExtensionError, declared, install_line
from rdpkit.formats.files import write_whole
from rdpkit.formats.records import each_of
from rdpkit.formats.screen import entry
from rdpkit.formats.text import as_json, printable

P = ParamSpec("P")
R = TypeVar("R")

GROUP = "rdpkit.commands"
"""The entry points under which other distributions, and the upper layers, register commands."""

OUT_OF_REACH = 1
"""Exit status for a check that failed, such as a target that cannot be met."""

BAD_INPUT = 2
"""Exit status for bad usage and bad input."""

OUR_FAILURE = 70
"""Exit status for a failure of the program itself (EX_SOFTWARE of sysexits.h)."""

_REPORT = (
    "This is not a mistake in your input: please report it, together with what "
    "'rdpkit --debug' and the rest of your command print."
)
# Distributions whose modules have other names.
_DISTRIBUTIONS = {
    "PIL": "pillow",
    "flint": "python-flint",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


_FORMAT = "rdpkit.format"


def format_choice(*formats: str) -> Callable[..., Any]:
    """The option ``--format``; the first one is the default, for people."""
    return click.option(
        "--format",
        "output_format",
        type=NameType.of("format", formats),
        default=formats[0],
        show_default=True,
        expose_value=False,
        callback=lambda ctx, option, value: ctx.meta.__setitem__(_FORMAT, value),
        help=f"text for people, {' or '.join(formats[1:])} for programs.",
    )


format_option = format_choice("text", "json")
"""The formats of most commands."""


def asked_format() -> str:
    """The format that was asked for, by ``--format`` or the end of the name of a file."""
    asked: str = click.get_current_context().meta[_FORMAT]
    return asked


def print_answer(
    table: object,  # Plain values, or a function that makes them where that takes long
    lines: Iterable[str],  # What people read
    **others: Callable[[], str],  # What makes the text of another format
) -> None:
    """Print the answer of a command in the format that was asked for."""
    asked = asked_format()
    if asked in others:
        click.echo(others[asked](), nl=False)
    elif asked == "json":
        click.echo(as_json(table() if callable(table) else table))
    else:
        for line in lines:
            click.echo(printable(line))


def with_options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for several options, which help lists in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


TO_FILE = "to_file"
"""The name under which the file of ``-o`` reaches a command."""


def to_file_option(
    function: Callable[..., R],
    # For the ends of names of files that hold something else than what is printed, the parameter of
    # the function that takes such a file.
    others: Mapping[str, str] | None = None,
) -> Callable[..., R]:
    """The decorator that gives a command ``-o``: what it prints goes to that file.

    It stands below all other options.
    """

    @click.option(
        "-o",
        "--output",
        TO_FILE,
        type=FILE,
        metavar="FILE",
        help="Write what is printed to this file instead, whole or not at all. The end of its name "
        "says in which format.",
    )
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> R:
        path = kwargs.pop(TO_FILE, None)
        if path is None:
            return function(*args, **kwargs)
        other = (others or {}).get(path.suffix.lower())
        if other is not None:
            given = kwargs[other]
            if given is not None and not isinstance(given, tuple):
                raise ValueError(f"Expected --output or --{other}, got both: they write the same.")
            both = path if given is None else (*given, path)
            return function(*args, **{**kwargs, other: both})
        _choose_format(path, others or ())
        with written_to(path):
            return function(*args, **kwargs)

    return wrapped


def answer_options(
    *formats: str,
    others: Mapping[str, str] | None = None,  # As for to_file_option
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """The options ``--format`` and ``-o``, below all others; the first format is the default."""

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        choice: Callable[..., R] = format_choice(*formats)(to_file_option(function, others))
        return choice

    return decorate


def _choose_format(path: Path, others: Iterable[str]) -> None:
    """Print in the format that the name of the file asks for."""
    ctx = click.get_current_context()
    wanted = path.suffix.lower().removeprefix(".")
    source = ctx.get_parameter_source("output_format")
    formats = [o.type for o in ctx.command.params if o.name == "output_format"]
    known = [name for one in formats if isinstance(one, NameType) for name in one.names]
    # A command without a choice prints JSON alone.
    known = known or ["json"]
    asked = "text" if wanted == "txt" else wanted
    if formats and asked in known:
        named = asked if source is ParameterSource.DEFAULT else ctx.meta[_FORMAT]
        if named != asked:
            end = "txt" if named == "text" else named
            raise ValueError(
                f"Expected --output to end in .{end} with --format {named}, got {str(path)!r}."
            )
        ctx.meta[_FORMAT] = asked
    if wanted not in {"", "txt", *known}:
        endings = [".txt", *(f".{name}" for name in known if name != "text"), *others]
        accepted = ", ".join(endings[:-1]) + f" or {endings[-1]}" if endings[1:] else endings[0]
        raise ValueError(f"Expected --output to end in {accepted}, got {str(path)!r}.")


@contextmanager
def written_to(
    path: Path,  # The file. It is written also where a check failed, and not at all after an error.
) -> Iterator[None]:
    """Everything that is printed to standard output goes to a file, at the end and whole."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"Expected --output to be a file in a folder, got {str(path)!r}.")
    text = io.StringIO()
    failed: SystemExit | click.exceptions.Exit | None = None
    try:
        with redirect_stdout(text):
            yield
    except (SystemExit, click.exceptions.Exit) as check:
        failed = check
    write_whole(path, text.getvalue())
    click.echo(f"wrote {printable(str(path))}", err=True)
    if failed is not None:
        raise failed


class CommandError(click.ClickException):
    """An error of a command: a line that begins with "Error:", and perhaps lines of advice.

    Several mistakes in one file are several lines. By default it is bad usage or bad input.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = BAD_INPUT,
        advice: Sequence[str] = (),
        others: Sequence[object] = (),
    ) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]
        self.advice = advice
        self.others = others

    def format_message(self) -> str:
        """The message on one line."""
        return _one_line(self.message)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the error, and the advice."""
        for message in (self.message, *self.others):
            click.echo(f"Error: {_one_line(message)}", file=file, err=file is None)
        for line in self.advice:
            click.echo(printable(line), file=file, err=file is None)


def _one_line(message: object) -> str:
    return printable(" ".join(str(message).split()))


def one_line_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into one line, in a program that is no command of ``rdpkit``, which does so."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except BrokenPipeError:
            raise
        except (ValueError, ArithmeticError, OSError) as error:
            raise _command_error(error) from None

    return wrapped


def reported(
    error: Exception,  # Anything that a command raised
    ctx: click.Context,  # The context of the program
) -> click.ClickException:
    """The error as it is shown to people; with ``--debug`` its traceback is printed now."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error
    if ctx.meta.get("rdpkit.debug"):
        import traceback  # noqa: PLC0415 - only here

        click.echo("".join(traceback.format_exception(error)), err=True)
    if isinstance(error, click.UsageError):
        words = error.format_message()
        meaning = getattr(getattr(error, "param", None), "help", None)
        # Types that have choices say what they are.
        if isinstance(error, click.MissingParameter) and meaning and words.endswith("'."):
            first = meaning.partition(". ")[0].rstrip(".")
            words = f"{words[:-1]}: {first[0].lower()}{first[1:]}."
        return CommandError(words, advice=_advice(error))
    if isinstance(error, click.ClickException):
        return error
    if isinstance(error, ModuleNotFoundError):
        return _missing(error, ctx.invoked_subcommand or "")
    return _command_error(error)


def without_library(name: str, error: ModuleNotFoundError) -> click.Command:
    """A command that cannot be imported: it says which extra it needs."""
    missing = _missing(error, name)

    @click.command(
        name,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
        help=missing.format_message(),
        short_help=f"(not installed: {missing.format_message().rpartition(': ')[2]})",
    )
    @click.argument("rest", nargs=-1, type=click.UNPROCESSED)
    def command(rest: tuple[str, ...]) -> None:
        raise missing

    return command


def _command_error(error: Exception) -> CommandError:
    words = _words(error)
    if isinstance(error, ArithmeticError):
        return CommandError(
            f"rdpkit could not prove a number: {words} {_REPORT}", status=OUR_FAILURE
        )
    if isinstance(error, ValueError):
        first, *others = map(_words, each_of(error))
        return CommandError(first, others=others)
    if isinstance(error, (OSError, ExtensionError)):
        return CommandError(words)
    return _failure(error)


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.strerror}: {os.fspath(error.filename)!r}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _failure(error: Exception) -> CommandError:
    return CommandError(
        f"rdpkit failed with {type(error).__name__}: {error}. {_REPORT}", status=OUR_FAILURE
    )


def _missing(error: ModuleNotFoundError, command: str) -> CommandError:
    """Which library a command needs, and which extra installs it."""
    module = (error.name or "").partition(".")[0]
    if module in ("", "rdpkit"):
        return _failure(error)
    library = _DISTRIBUTIONS.get(module, module.replace("_", "-"))
    extra = _extra_with(library, command)
    return CommandError(
        f"rdpkit {command} needs {library}: "
        + (install_line(extra) if extra else f"pip install {library}")
    )


def _extra_with(library: str, command: str) -> str | None:
    """The extra that installs a library; of several the one that is named after the layer."""
    # Reading the metadata takes long, and only errors need it.
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415

    try:
        requirements = requires("rdpkit") or []
    except PackageNotFoundError:
        return None
    found = (re.match(r"""([\w.-]+).*extra\s*==\s*['"]([\w-]+)""", text) for text in requirements)
    extras = [m[2] for m in found if m and m[1].lower() == library.lower() and m[2] != "dev"]
    homes = [entry.value.split(".") for entry in declared(GROUP) if entry.name == command]
    of_layer = [extra for extra in extras if any(extra in home for home in homes)]
    return next(iter(of_layer + extras), None)


def _advice(error: click.UsageError) -> list[str]:
    """Every name that would have been accepted, if one was not, and where to read on."""
    names = entry("", ", ".join(getattr(error, "names", ())), 2)
    lines = ["Names that are known:", *names] if names else []
    return lines + ([f"Try '{error.ctx.command_path} --help' for help."] if error.ctx else [])
