"""One number that moves one or several parameters of an event."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from rdpkit import _validate
from rdpkit.calibration.parameters import Kind, Rule, Value, matching, paths, value_at, with_value
from rdpkit.events import Event

_RATIO = "to map names of parameters to numbers >= 0, at least one of them > 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """One parameter that a dial turns.

    Parameters
    ----------
    path : str
        Where it is.
    kind : {"number", "integer", "integers"}
        What its values are.
    weights : tuple of Fraction
        What the dial is multiplied by, for each of its values (one, unless it is a list).
    lowest : int
        For integers, the least value that is accepted.
    up : bool
        Whether integers are rounded up, which is towards more privacy.
    """

    path: str
    kind: Kind
    weights: tuple[Fraction, ...]
    lowest: int
    up: bool

    def value(self, t: float) -> Value:
        """The value at t."""
        if self.kind == "number":
            return float(self.weights[0]) * t
        rounded = math.ceil if self.up else math.floor
        found = tuple(max(rounded(weight * int(t)), self.lowest) for weight in self.weights)
        return found if self.kind == "integers" else found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dial:
    """What is searched: a number t > 0, and the event at each t.

    Parameters
    ----------
    event : Event
        The event whose parameters are turned; their values in it do not matter.
    turned : tuple of Turned
        The parameters.
    private : {1, -1, 0}
        1 if the event is more private at larger t, -1 at smaller ones, 0 if neither always holds.
    whole : bool
        Whether t is an integer.
    lowest, highest : float
        The ends of its range.
    start : float
        The t that the event has, or about.
    scaled : tuple of str
        For no fixed direction: paths of noises, see :class:`rdpkit.calibration.parameters.Rule`.
    """

    event: Event
    turned: tuple[Turned, ...]
    private: Literal[1, -1, 0]
    whole: bool
    lowest: float
    highest: float
    start: float
    scaled: tuple[str, ...] = ()

    def values(self, t: float) -> dict[str, Value]:
        """The parameters at t, by path."""
        return {one.path: one.value(t) for one in self.turned}

    def at(self, t: float) -> Event:
        """The event at t."""
        event = self.event
        for one in self.turned:
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

    @property
    def names(self) -> str:
        """The parameters, for people."""
        return " and ".join(one.path for one in self.turned)


def dial(event: Event, parameter: Any) -> Dial:
    """The dial for one parameter, for several that keep their ratio, or for a stated ratio.

    Parameters
    ----------
    event : Event
        What was released.
    parameter : str, sequence of str or mapping from str to number
        Names or paths of parameters.

    Raises
    ------
    ValueError
        If a name is not that of a parameter that can be calibrated, or the parameters cannot be
        moved together.
    """
    ratio = _ratio(event, parameter)
    known = paths(event)
    if len(ratio) == 1:
        ((path, _),) = ratio.items()
        return _of_one(event, path, *known[path])
    rules = {path: known[path][1] for path in ratio}
    whole = {rule.kind != "number" for rule in rules.values()}
    directions = {rule.private for rule in rules.values()}
    if len(whole) > 1 or len(directions) > 1 or directions == {0}:
        raise ValueError(
            "Parameters that are calibrated together must all be numbers or all be integers, and "
            "all make the event more private in the same direction; expected such ones, got "
            + ", ".join(
                f"{path!r} ({'integer' if rule.kind != 'number' else 'number'}, "
                f"{ {1: 'larger', -1: 'smaller', 0: 'neither'}[rule.private] } is more private)"
                for path, rule in rules.items()
            )
            + "."
        )
    return _of_several(event, {path: (*known[path], ratio[path]) for path in ratio}, whole.pop())


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


def _of_one(event: Event, path: str, holder: Event, rule: Rule) -> Dial:
    value = value_at(event, path)
    prefix = path[: path.rindex(".") + 1] if "." in path else ""
    lowest, highest = rule.lowest(holder), rule.highest(holder)
    if isinstance(value, tuple):
        weights = tuple(Fraction(v, max(value)) for v in value)
        start: float = max(value)
    else:
        weights = (Fraction(1),)
        start = _hint(value, rule, holder)
    return Dial(
        event=event,
        turned=(
            Turned(
                path=path,
                kind="integers" if isinstance(value, tuple) else _plain(rule.kind),
                weights=weights,
                lowest=int(lowest) if rule.kind != "number" else 0,
                up=rule.private > 0,
            ),
        ),
        private=rule.private,
        whole=rule.kind != "number",
        lowest=lowest,
        highest=highest,
        start=min(max(start, lowest), highest),
        scaled=tuple(prefix + name for name in rule.scaled),
    )


def _plain(kind: Kind) -> Kind:
    return "integer" if kind == "integers" else kind


def _hint(value: Any, rule: Rule, holder: Any) -> float:
    """Where a search may begin: the event's own value, if it says anything of the scale."""
    if value:
        return float(value)
    # A diameter that is not given is twice the norm; a noise of 0 has no scale.
    return float(rule.highest(holder)) if rule.private < 0 and value is None else 1.0


def _of_several(
    event: Event, parts: Mapping[str, tuple[Event, Rule, Fraction | None]], whole: bool
) -> Dial:
    shares = {path: _shares(event, path, weight) for path, (_, _, weight) in parts.items()}
    moving = [path for path, share in shares.items() if any(share)]
    if not moving:
        raise _validate.fail(
            "parameter", "to name parameters that are not all 0, to keep their ratio", list(parts)
        )
    # The dial shows the first number that is not 0, or the largest of integers.
    shown = max(moving, key=lambda path: max(shares[path])) if whole else moving[0]
    unit = max(shares[shown])
    turned = []
    lows, highs = [], []
    for path, (holder, rule, _) in parts.items():
        weights = tuple(share / unit for share in shares[path])
        lowest, highest = rule.lowest(holder), rule.highest(holder)
        if any(weights):
            lows.append(lowest if whole else lowest / float(max(weights)))
            highs.append(highest / float(max(weights)))
        turned.append(
            Turned(
                path=path,
                kind="integers" if isinstance(value_at(event, path), tuple) else _plain(rule.kind),
                weights=weights,
                lowest=int(lowest) if whole else 0,
                up=rule.private > 0,
            )
        )
    holder, rule, _ = parts[shown]
    low, high = max(lows), min(highs)
    value = value_at(event, shown)
    start = _hint(max(value) if isinstance(value, tuple) else value, rule, holder)
    return Dial(
        event=event,
        turned=tuple(turned),
        private=rule.private,
        whole=whole,
        lowest=low,
        highest=math.floor(high) if whole else high,
        start=min(max(start, low), high),
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
