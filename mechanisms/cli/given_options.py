"""Options that several kinds of arguments have, and the refusal of those that one kind lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

# Names of options that differ from those of their variables.
_OPTIONS = {"mechanism_options": "option", "targets": "target", "models": "model"}
# No number of records has so many digits.
_DIGITS = 19


def with_options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for several options, which help lists in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def refuse(given: Mapping[str, Any], *, expected: str, got: str = "") -> None:
    """Say of the first option that was given what it is for; None, False and () are no values."""
    for name, value in given.items():
        if value is not None and value is not False and value != ():
            option = _OPTIONS.get(name, name).replace("_", "-")
            message = f"Expected {expected} for --{option}{got and f', got {got}'}."
            secret = " Its noise is never seeded." if name in ("seed", "noise") else ""
            raise ValueError(message + secret)


def is_number(text: str) -> bool:
    """Whether a text is a whole number of a size that numbers of records have."""
    return text.isascii() and text.isdigit() and len(text) < _DIGITS


def counts_of(given: str) -> str | list[int]:
    """What ``--counts`` says: a word, or numbers with commas between them."""
    parts = [part.strip() for part in given.split(",")]
    return [int(part) for part in parts] if all(map(is_number, parts)) else given
