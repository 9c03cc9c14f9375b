"""One event of every kind, from the examples of its docstring."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import rdpkit
from rdpkit.events.base import Event


@cache
def example(kind: type[Event]) -> Event:
    """The first event of a kind that the examples in its docstring make."""
    names: dict[str, Any] = {"rdpkit": rdpkit}
    for one in doctest.DocTestParser().get_examples(inspect.getdoc(kind) or ""):
        if "print" not in one.source and "epsilon" not in one.source.split("=")[0]:
            exec(one.source, names)
        for value in [value for value in names.values() if isinstance(value, Event)]:
            for found in _with_parts(value):
                if type(found) is kind:
                    return found
    raise LookupError(f"The docstring of {kind.__name__} makes none.")


def _with_parts(event: Event) -> Iterator[Event]:
    yield event
    for _, part in event.parts():
        yield from _with_parts(part)
