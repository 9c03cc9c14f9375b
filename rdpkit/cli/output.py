"""What every command shares: the choice of a format, and errors in one line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from rdpkit.text import printable

P = ParamSpec("P")
R = TypeVar("R")

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people, json for programs.",
)


class BadInput(click.ClickException):
    """Bad usage or bad input: one line, exit status 2."""

    exit_code = 2

    def format_message(self) -> str:
        """The message on one line."""
        return printable(" ".join(str(self.message).split()))


def one_line_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Turn the errors that bad input causes into one line and exit status 2."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (ValueError, ArithmeticError, OSError) as error:
            raise BadInput(str(error) or type(error).__name__) from None

    return wrapped
