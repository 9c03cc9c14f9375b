"""Which parameters of an event can be calibrated, by what names, and in which direction.

A parameter is named by its path from the event: ``noise_std``, ``event.noise_std`` inside of a
:class:`rdpkit.Repeated`, ``events[1].event.count`` further down. The end of a path is enough where
only one parameter has it, and ``events[*].noise_std`` names those of all parts.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rdpkit import _validate
from rdpkit.events import Event
from rdpkit.events.free_parameters import FreeParameter
from rdpkit.events.identity import size

Value = float | int | tuple[int, ...]

_MOST_EVENTS = 10**7
_STEP = re.compile(r"^([a-z_]+)(?:\[(\d+)\])?$")


def paths(event: Event) -> dict[str, FreeParameter]:
    """Every parameter that can be calibrated, of the event and of those inside of it, by path."""
    if size(event) > _MOST_EVENTS:
        raise ValueError(
            f"The parameters of an event that is made of at most {_MOST_EVENTS} others have names, "
            f"got one of {size(event)}."
        )
    return event.fold(_paths)


def _paths(event: Event, inside: tuple[dict[str, FreeParameter], ...]) -> dict[str, FreeParameter]:
    found = dict(event.free_parameters())
    for (name, _), parameters in zip(event.parts(), inside, strict=True):
        found |= {f"{name}.{path}": parameter for path, parameter in parameters.items()}
    return found


def stands_for(name: str, path: str) -> bool:
    """Whether a name is a path, or its end from a dot on; ``[*]`` is any index."""
    pattern = re.escape(name).replace(re.escape("[*]"), r"\[\d+\]")
    return re.search(rf"(^|\.){pattern}$", path) is not None


def matching(event: Event, name: Any) -> tuple[str, ...]:
    """The paths that a name stands for: one, or several if it has a ``[*]``."""
    known = paths(event)
    if isinstance(name, str):
        if name in known:
            return (name,)
        found = tuple(path for path in known if stands_for(name, path))
        if len(found) == 1 or (found and "[*]" in name):
            return found
        if found:
            raise ValueError(
                f"Expected parameter to name one parameter, got {name!r}, which may be "
                + _listed(found)
                + "; name one of them, or several in a tuple."
            )
    if not known:
        raise ValueError(
            f"A {event.mechanism} has no parameter that can be calibrated, got parameter={name!r}."
        )
    hint = _validate.did_you_mean(name, known)
    raise ValueError(f"Expected parameter to be one of {_listed(known)}, got {name!r}.{hint}")


def _listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    shown = [repr(name) for name in names]
    if len(shown) > 24:
        shown = [*shown[:24], f"... ({len(names)} in all)"]
    return ", ".join(shown)


def value_at(event: Event, path: str) -> Any:
    """The value of a parameter."""
    current: Any = event
    for name, index in _steps(path):
        current = getattr(current, name)
        current = current if index is None else current[index]
    return current


def with_value(event: Event, path: str, value: Any) -> Event:
    """The event with another value of a parameter."""
    return _replaced(event, _steps(path), value)


def _steps(path: str) -> list[tuple[str, int | None]]:
    found = []
    for step in path.split("."):
        match = _STEP.match(step)
        assert match is not None
        found.append((match[1], None if match[2] is None else int(match[2])))
    return found


def _replaced(event: Event, steps: list[tuple[str, int | None]], value: Any) -> Event:
    (name, index), rest = steps[0], steps[1:]
    if rest:
        inner = getattr(event, name)
        if index is None:
            value = _replaced(inner, rest, value)
        else:
            changed = _replaced(inner[index], rest, value)
            value = (*inner[:index], changed, *inner[index + 1 :])
    return dataclasses.replace(event, **{name: value})
