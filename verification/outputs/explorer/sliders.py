"""Which parameters of an event get a slider, and at which values.

What a parameter means, and in which direction it is more private, is what the event says of itself
(:class:`rdpkit.events.free_parameters.FreeParameter`); no mechanism is named here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rdpkit import Event
from rdpkit.calibration.parameters import paths, value_at, with_value
from rdpkit.calibration.search_variable import SearchVariable, search_variable
from rdpkit.events.free_parameters import Role

ROLES: dict[Role, str] = {
    "noise": "Noise",
    "batch": "Batch",
    "count": "Steps",
    "records": "Records",
}
"""What sliders are called, in the order in which they stand."""

MOST_SLIDERS = 3

# Multiples of the claim's own value. With fewer sliders there is time for more values of each.
_FINE: dict[Role, tuple[float, ...]] = {
    "noise": (0.25, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 2, 3, 5, 10),
    "batch": (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10),
    "count": (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10),
    "records": (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10),
}
_USUAL: dict[Role, tuple[float, ...]] = {
    "noise": (0.5, 0.75, 1, 1.35, 2, 3, 5),
    "batch": (0.25, 0.5, 1, 2),
    "count": (0.1, 0.5, 1, 2),
    "records": (0.5, 1, 2, 4),
}
_COARSE: dict[Role, tuple[float, ...]] = {
    "noise": (0.5, 0.75, 1, 1.5, 3),
    "batch": (0.5, 1, 2),
    "count": (0.5, 1, 2),
    "records": (0.5, 1, 2),
}
# Whole numbers above this are rounded to three digits, as nobody would choose others.
_PRINTED_WHOLE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """One parameter, or several that keep their ratio, at several values.

    Parameters
    ----------
    role : str
        What it means to people: "noise", "batch", "count" or "records".
    name : str
        The parameter's own name.
    variable : SearchVariable
        How a value changes the event.
    values : tuple of float
        Values of the variable, from small to large; one of them is the event's own.
    own : int
        The place of the event's own value.
    """

    role: Role
    name: str
    variable: SearchVariable
    values: tuple[float, ...]
    own: int

    @property
    def private(self) -> int:
        """1 if larger values are more private, -1 if smaller ones are."""
        return self.variable.private

    @property
    def key(self) -> str:
        """What links call it: the name without what it is inside of."""
        return self.name.rsplit(".", 1)[-1]

    def texts(self) -> tuple[str, ...]:
        """Every value as people read it."""
        return tuple(self._text(place) for place in range(len(self.values)))

    def _text(self, place: int) -> str:
        found: list[float] = []
        for one in self.variable.moved:
            own = value_at(self.variable.event, one.path)
            value = own if place == self.own else one.value(self.values[place])
            found += value if isinstance(value, tuple) else [value]
        low, high = min(found), max(found)
        return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"

    def applied(self, event: Event, place: int) -> Event:
        """The event with the value at a place; at its own place nothing is changed.

        Raises
        ------
        ValueError
            If the event does not accept it.
        """
        if place != self.own:
            for one in self.variable.moved:
                event = with_value(event, one.path, one.value(self.values[place]))
        return event


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliders:
    """The event that sliders change, and the sliders."""

    event: Event
    sliders: tuple[Slider, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each slider has."""
        return tuple(len(slider.values) for slider in self.sliders)

    def events(self) -> Iterator[Event | None]:
        """The event at every setting, the last slider moving first; None where it is refused."""
        for number in range(math.prod(self.shape)):
            yield self._event(number)

    def _event(self, number: int) -> Event | None:
        event = self.event
        for slider in reversed(self.sliders):
            number, place = divmod(number, len(slider.values))
            try:
                event = slider.applied(event, place)
            except ValueError:
                return None
        return event

    @property
    def own(self) -> int:
        """The number of the setting of the claim itself."""
        number = 0
        for slider in self.sliders:
            number = number * len(slider.values) + slider.own
        return number


def sliders_of(event: Event, *, coarse: bool = False) -> Sliders | None:
    """The sliders of an event; None if it has no parameter that sliders are made for.

    An event that does not say how its batches may change, while what it expands to does, is
    replaced by that, which leaks at least as much.

    Parameters
    ----------
    event : Event
        What was released.
    coarse : bool
        Whether several sliders have a few values only, because each number takes long.
    """
    found = _by_role(event)
    inner = event.expand()
    if "batch" not in found and inner is not None:
        expanded = _by_role(inner)
        if "batch" in expanded:
            event, found = inner, expanded
    chosen = [role for role in ROLES if role in found][:MOST_SLIDERS]
    by_many = (_FINE, _FINE, _USUAL) if not coarse else (_FINE, _USUAL, _COARSE)
    steps = by_many[max(len(chosen), 1) - 1]
    made = [_slider(role, found[role], steps[role]) for role in chosen]
    sliders = tuple(one for one in made if one is not None)
    return Sliders(event=event, sliders=sliders) if sliders else None


def _by_role(event: Event) -> dict[Role, SearchVariable]:
    """One variable for each role that a parameter with a fixed direction has."""
    named: dict[Role, dict[str, list[str]]] = {}
    for path, parameter in paths(event).items():
        if parameter.role and parameter.private and _has_value(event, path):
            name = path.rsplit(".", 1)[-1]
            named.setdefault(parameter.role, {}).setdefault(name, []).append(path)
    found = {}
    for role, names in named.items():
        # Noises go together; of two counts, such as steps and runs, the first is moved.
        together = [path for some in names.values() for path in some]
        moved = together if role == "noise" else next(iter(names.values()))
        try:
            found[role] = search_variable(event, tuple(moved))
        except ValueError:
            # They have different directions, or no common range.
            continue
    return found


def _has_value(event: Event, path: str) -> bool:
    value = value_at(event, path)
    values = value if isinstance(value, tuple) else (value,)
    return all(one is not None and 0 < one < math.inf for one in values)


def _slider(role: Role, variable: SearchVariable, factors: Iterable[float]) -> Slider | None:
    own = variable.start
    values = {own}
    for factor in factors:
        value = _printed(own * factor, whole=variable.whole)
        if variable.lowest <= value <= variable.highest and factor != 1:
            values.add(value)
    ordered = tuple(sorted(values))
    if len(ordered) < 2:
        return None
    names = dict.fromkeys(one.path.rsplit(".", 1)[-1] for one in variable.moved)
    return Slider(
        role=role,
        name=" and ".join(names),
        variable=variable,
        values=ordered,
        own=ordered.index(own),
    )


def _printed(value: float, *, whole: bool) -> float:
    """A value as somebody would choose it: three digits, or a whole number."""
    if whole and value < _PRINTED_WHOLE:
        return float(max(round(value), 1))
    return float(f"{value:.3g}")


__all__ = ["ROLES", "Slider", "Sliders", "sliders_of"]
