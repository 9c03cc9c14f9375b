"""What calibration searches: one number that moves one or several parameters of an event.

A parameter is named by its path from the event: ``noise_std``, ``event.noise_std`` inside of a
:class:`rdpkit.Repeated`, ``events[1].event.count`` further down. The end of a path is enough where
only one parameter has it, and ``events[*].noise_std`` names those of all parts.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rdpkit import _validate
from rdpkit.calibration import bracket
from rdpkit.events import Event
from rdpkit.events.free_parameters import Direction, FreeParameter, ValueKind
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


_RATIO = "to map names of parameters to numbers >= 0, at least one of them > 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedParameter:
    """One parameter that the search variable moves."""

    path: str  # Where it is
    kind: ValueKind  # What its values are; one of {"number", "integer", "integers"}
    weights: tuple[Fraction, ...]
    """What the variable is multiplied by, for each of its values (one, unless it is a list)."""
    lowest: int  # For integers, the least value that is accepted
    up: bool  # Whether integers are rounded up, which is towards more privacy

    def value(self, t: float) -> Value:
        """The value at t."""
        if self.kind == "number":
            return float(self.weights[0]) * t
        rounded = math.ceil if self.up else math.floor
        found = tuple(max(rounded(weight * int(t)), self.lowest) for weight in self.weights)
        return found if self.kind == "integers" else found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchVariable:
    """A number t > 0 that is searched for, and the event at each t."""

    event: Event  # The event whose parameters are moved; their values in it do not matter
    moved: tuple[MovedParameter, ...]  # The parameters
    private: Direction
    """1 if the event is more private at larger t, -1 at smaller ones, 0 if neither always holds;
    one of {1, -1, 0}.
    """
    whole: bool  # Whether t is an integer
    # The ends of its range.
    lowest: float
    highest: float
    start: float  # A t to begin with: about the event's own value
    scaled: tuple[str, ...] = ()
    """Where privacy has no fixed direction, the paths of the noises of a mean; see
    :class:`rdpkit.events.free_parameters.FreeParameter`.
    """

    def values(self, t: float) -> dict[str, Value]:
        """The parameters at t, by path."""
        return {one.path: one.value(t) for one in self.moved}

    def at(self, t: float) -> Event:
        """The event at t."""
        event = self.event
        for one in self.moved:
            event = with_value(event, one.path, one.value(t))
        return event

    def least_within(self, low: int, high: int) -> Event:
        """An event that leaks no more than this one does at any t in [low, high].

        For a mean over t records: records join with the probability that they have at ``low``, and
        the noise counts as much as it does at ``high``.
        """
        event = self.at(low)
        for path in self.scaled:
            event = with_value(event, path, value_at(event, path) * high / low)
        return event

    def bracket(
        self,
        score: bracket.Scoring,
        *,
        tolerance: float,  # Of numbers, as for :func:`rdpkit.calibration.bracket.numbers`
        start: float,  # Where to begin
        towards: Direction,  # Where privacy has no fixed direction: 1 for the smallest integer
    ) -> bracket.Bracket:
        """The last t that meets the target, and one beside it that does not."""
        if self.whole:
            return bracket.integers(
                score,
                start=int(start),
                lowest=int(self.lowest),
                highest=int(self.highest),
                private=self.private or towards,
            )
        return bracket.numbers(
            score,
            start=start,
            lowest=self.lowest,
            highest=self.highest,
            private=self.private,
            tolerance=tolerance,
        )

    @property
    def names(self) -> str:
        """The parameters, for people."""
        return " and ".join(one.path for one in self.moved)


def search_variable(
    event: Event,  # What was released
    parameter: Any,  # Names or paths of parameters
) -> SearchVariable:
    """The variable for one parameter, for several that keep their ratio, or for a stated ratio."""
    ratio = _ratio(event, parameter)
    known = paths(event)
    free = {path: known[path] for path in ratio}
    if len(ratio) == 1:
        ((path, parameter),) = free.items()
        return _of_one(event, path, parameter)
    whole = {one.kind != "number" for one in free.values()}
    directions = {one.private for one in free.values()}
    if len(whole) > 1 or len(directions) > 1 or directions == {0}:
        raise ValueError(
            "Parameters that are calibrated together must all be numbers or all be integers, and "
            "all make the event more private in the same direction; expected such ones, got "
            + ", ".join(
                f"{path!r} ({'integer' if one.kind != 'number' else 'number'}, "
                f"{ {1: 'larger', -1: 'smaller', 0: 'neither'}[one.private] } is more private)"
                for path, one in free.items()
            )
            + "."
        )
    return _of_several(event, free, ratio)


def _ratio(event: Event, parameter: Any) -> dict[str, Fraction | None]:
    """Paths with their stated weights, or None where the event's own values are kept in ratio."""
    if isinstance(parameter, Mapping):
        found: dict[str, Fraction | None] = {}
        for name, weight in parameter.items():
            number = _validate.non_negative(f"parameter[{name!r}]", weight)
            for path in matching(event, name):
                found[path] = Fraction(number)
        if not any(found.values()):
            raise _validate.fail("parameter", _RATIO, dict(parameter))
        return found
    if isinstance(parameter, str):
        return dict.fromkeys(matching(event, parameter))
    if isinstance(parameter, (tuple, list)) and parameter:
        return dict.fromkeys(path for name in parameter for path in matching(event, name))
    raise _validate.fail(
        "parameter", "to be a name, several names, or a mapping from names to a ratio", parameter
    )


def _moved(
    path: str, parameter: FreeParameter, value: Any, weights: tuple[Fraction, ...]
) -> MovedParameter:
    plain: ValueKind = "integer" if parameter.kind == "integers" else parameter.kind
    return MovedParameter(
        path=path,
        kind="integers" if isinstance(value, tuple) else plain,
        weights=weights,
        lowest=int(parameter.lowest) if parameter.kind != "number" else 0,
        up=parameter.private > 0,
    )


def _start(value: Any, parameter: FreeParameter) -> float:
    """Where a search may begin: the event's own value, if it says anything of the scale."""
    if isinstance(value, tuple):
        return float(max(value))
    if value:
        return float(value)
    # A diameter that is not given is twice the norm; a noise of 0 has no scale.
    return float(parameter.highest) if parameter.private < 0 and value is None else 1.0


def _of_one(event: Event, path: str, parameter: FreeParameter) -> SearchVariable:
    value = value_at(event, path)
    prefix = path[: path.rindex(".") + 1] if "." in path else ""
    values = value if isinstance(value, tuple) else (1,)
    weights = tuple(Fraction(v, max(values)) for v in values)
    return SearchVariable(
        event=event,
        moved=(_moved(path, parameter, value, weights),),
        private=parameter.private,
        whole=parameter.kind != "number",
        lowest=parameter.lowest,
        highest=parameter.highest,
        start=min(max(_start(value, parameter), parameter.lowest), parameter.highest),
        scaled=tuple(prefix + name for name in parameter.scaled),
    )


def _of_several(
    event: Event, free: Mapping[str, FreeParameter], ratio: Mapping[str, Fraction | None]
) -> SearchVariable:
    shares = {path: _shares(event, path, ratio[path]) for path in free}
    moving = [path for path, share in shares.items() if any(share)]
    if not moving:
        raise _validate.fail(
            "parameter", "to name parameters that are not all 0, to keep their ratio", list(free)
        )
    whole = free[moving[0]].kind != "number"
    # The variable equals the first number that is not 0, or the largest of integers.
    shown = max(moving, key=lambda path: max(shares[path])) if whole else moving[0]
    unit = max(shares[shown])
    weights = {path: tuple(share / unit for share in shares[path]) for path in free}
    largest = {path: float(max(weights[path])) for path in moving}
    low = max(free[path].lowest / (1.0 if whole else largest[path]) for path in moving)
    high = min(free[path].highest / largest[path] for path in moving)
    return SearchVariable(
        event=event,
        moved=tuple(
            _moved(path, free[path], value_at(event, path), weights[path]) for path in free
        ),
        private=free[shown].private,
        whole=whole,
        lowest=low,
        highest=math.floor(high) if whole else high,
        start=min(max(_start(value_at(event, shown), free[shown]), low), high),
    )


def _shares(event: Event, path: str, weight: Fraction | None) -> tuple[Fraction, ...]:
    """What each value of a parameter is in proportion to; a stated weight is the largest one's."""
    value = value_at(event, path)
    if weight is not None and isinstance(value, tuple):
        return tuple(weight * Fraction(v, max(value)) for v in value)
    if weight is not None:
        return (weight,)
    if value is None:
        raise ValueError(
            f"Expected {path} to be given in the event, whose ratio is kept, or parameter to state "
            "a ratio, got None."
        )
    return tuple(Fraction(v) for v in value) if isinstance(value, tuple) else (Fraction(value),)
