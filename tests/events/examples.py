"""One event of every kind, from the examples of its docstring."""

import doctest
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import rdpkit
from rdpkit.events.base import Event
from rdpkit.events.parameters import parameters_of

# Events of which no Renyi divergence is known: targets are met by loss distributions alone.
WITHOUT_RENYI = {
    "bounded_laplace",
    "canonical_noise",
    "partition_selection",
    "sampled_with_replacement_gaussian",
    "staircase",
    "thresholded_counts",
    "top_options",
    "truncated_laplace",
}


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


def plain(event: Event) -> dict[str, Any]:
    """The parameters that describe an event, as a file would hold them."""
    found = {}
    for parameter in parameters_of(type(event)):
        value = getattr(event, parameter.name)
        if isinstance(value, Event):
            value = {"mechanism": value.mechanism, **plain(value)}
        elif parameter.kind == "events":
            value = [{"mechanism": part.mechanism, **plain(part)} for part in value]
        elif isinstance(value, tuple):
            value = list(value)
        if value is not None:
            found[parameter.name] = value
    return found
