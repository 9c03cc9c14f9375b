"""The base class of all events."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from numbers import Number
from typing import Any, ClassVar, Self, TypeVar

from rdpkit import _validate
from rdpkit.adjacency import ORDINARY, Adjacency
from rdpkit.events.data_sets import NeighbouringDataSets
from rdpkit.events.free_parameters import FreeParameter
from rdpkit.events.identity import Compared, is_shown_whole, size
from rdpkit.events.losses import Attained, Dominating, NoLossDistributionError, attains
from rdpkit.events.mixing import Mixing
from rdpkit.formats import html

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# What products and sums of events are, by name. They are events in their turn.
_COMPOSITIONS: dict[str, Callable[[Any, Any], Any]] = {}

# Parts of a composition that a notebook shows.
_SHOWN = 20


def composes(function: F) -> F:
    """Mark what a product of events is (``times``), or a sum of them (``together``)."""
    _COMPOSITIONS[function.__name__] = function
    return function


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a field says of itself; :mod:`rdpkit.events.fields` makes it."""

    text: str  #: Its meaning, its unit and its range
    check: Callable[..., Any] | None
    """``check(name, value)`` returns the value to keep, or raises a ValueError."""
    free: Callable[[Any], FreeParameter] | None  #: How calibration may choose it, from an event
    most: str  #: The name of another field, which limits it; "" if none does
    holds_events: bool  #: Whether its values are events, which the event is made of


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Compared):
    """A frozen description of what was released, in the user's own units.

    An event knows nothing of theorems. The event of a paper's mechanism expands, by :meth:`expand`,
    to primitive events (Gaussian, sampled Gaussian, compositions) that reveal at least as much, and
    sound bounds are computed for those. The methods are all that other packages ask of an event.
    Every method has a default, which says that nothing is known. Fields are declared by
    :mod:`rdpkit.events.fields`.

    ``event * 1000`` is the event released 1000 times, ``one + other`` is both of them, and ``sum``
    adds up any number.

    Attributes
    ----------
    mechanism : str
        The name of this kind of event in claims and on the command line.
    of_whole_data : str
        Why the same description would not be true of a release from a random sample of the records;
        "" if it would be. Sizes of the data and schedules of participation are the usual reasons.
        A class that does not say so cannot be sampled.
    adjacencies : tuple of Adjacency
        The neighbouring relations under which it is known what one record changes. Any other
        relation is refused. By default the special record of zero-out is not known.
    assumed : tuple of str
        What must hold, beyond the parameters, for the description to be true, whatever they are.
    losses_are_attained : bool
        Whether two data sets have the losses of :meth:`dominating`.
    groups_are_attained : bool
        Whether groups attain what :meth:`in_groups` says.
    expansion_is_attained : bool
        Whether all that data sets attain of :meth:`expand` they attain here.
    mixing : Mixing or None
        For mechanisms that release noisy means or sums of records: the parameters that planning
        may change.
    """

    mechanism: ClassVar[str] = ""
    of_whole_data: ClassVar[str] = (
        "its class does not say that it describes a release from a sample"
    )
    adjacencies: ClassVar[tuple[Adjacency, ...]] = ORDINARY
    assumed: ClassVar[tuple[str, ...]] = ()
    losses_are_attained: ClassVar[bool] = False
    groups_are_attained: ClassVar[bool] = False
    expansion_is_attained: ClassVar[bool] = False
    mixing: ClassVar[Mixing | None] = None
    # numpy's numbers leave a product with an event to the event.
    __array_ufunc__: ClassVar[None] = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Check that the parameters are named, and which they are."""
        # Copies are made without parameters.
        if args or kwargs:
            signature = _signature(cls.__init__)
            try:
                signature.bind(*args, **kwargs)
            except TypeError:
                raise _validate.wrong_call(cls.__name__, signature, args, kwargs) from None
        return object.__new__(cls)

    def __post_init__(self) -> None:
        """Check every field as it is declared, those last that another one limits."""
        kind: Any = type(self)
        for name, default, declared in sorted(_declared(kind), key=lambda one: one[2].most != ""):
            value = getattr(self, name)
            if declared.check is None or (value is None and default is None):
                continue
            limits = {"maximum": getattr(self, declared.most)} if declared.most else {}
            object.__setattr__(self, name, declared.check(name, value, **limits))
        self._check_together()

    def _check_together(self) -> None:
        """Check what must hold between parameters, each of which is in its range."""

    def __mul__(self, count: Any) -> Event:
        """The event released ``count`` times on the same data."""
        known = isinstance(count, Number)
        return _COMPOSITIONS["times"](self, count) if known else NotImplemented

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Event:
        """Both events, released on the same data."""
        known = isinstance(other, Event)
        return _COMPOSITIONS["together"](self, other) if known else NotImplemented

    def __radd__(self, other: Any) -> Event:
        """The event itself after nothing, so that ``sum`` adds events up."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _repr_html_(self) -> str:
        """What a notebook shows: the kind of event and its parameters."""
        kind = html.escaped(type(self).__name__)
        return html.block(f"<b>{kind}</b>", html.table(_described(self)))

    def expand(self) -> Event | None:
        """An event made of primitive events that leaks at least as much; None for a primitive."""
        return None

    def attained_expansion(self) -> Event | None:
        """An event made of primitive events, all that data sets attain of which they attain here.

        It is what :meth:`expand` is for upper bounds. None for a primitive, and where nothing is
        known from below.
        """
        return self.expand() if self.expansion_is_attained else None

    def assumptions(self) -> tuple[str, ...]:
        """What must hold, beyond the parameters, for the description to be true."""
        return self.assumed

    def parts(self) -> tuple[tuple[str, Event], ...]:
        """Events that this one is made of, each with its path: ``event``, ``events[0]``."""
        kind: Any = type(self)
        found: list[tuple[str, Event]] = []
        for name, _, declared in _declared(kind):
            if not declared.holds_events:
                continue
            value = getattr(self, name)
            if isinstance(value, tuple):
                found += [(f"{name}[{i}]", part) for i, part in enumerate(value)]
            else:
                found.append((name, value))
        return tuple(found)

    def fold(self, combine: Callable[[Event, tuple[T, ...]], T]) -> T:
        """What a function makes of the event and of what it made of the parts of the event.

        Each event is looked at once, however often and however deep it occurs.

        Parameters
        ----------
        combine : callable
            ``combine(event, found)``, where ``found`` has what it returned for each part.
        """
        known: dict[int, T] = {}
        # What is known by where it is in memory stays there.
        kept: list[Event] = []
        pending: list[tuple[Event, list[Event] | None]] = [(self, None)]
        while pending:
            current, parts = pending.pop()
            if id(current) in known:
                continue
            if parts is None:
                parts = [part for _, part in current.parts()]
                pending.append((current, parts))
                pending.extend((part, None) for part in reversed(parts))
            else:
                kept.append(current)
                known[id(current)] = combine(current, tuple(known[id(part)] for part in parts))
        return known[id(self)]

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """The event's own parameters that calibration may choose, by name.

        The direction that each of them states must hold for the divergence itself, because upper
        bounds rest on it; see :class:`rdpkit.events.free_parameters.FreeParameter`. By default they
        are those that the fields declare.
        """
        kind: Any = type(self)
        return {name: one.free(self) for name, _, one in _declared(kind) if one.free}

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The losses that bound one release from above; only called for primitive events.

        Guarantee
        ---------
        For every pair of neighbours, and whatever the adversary may choose of what the event leaves
        open, the hockey-stick divergence of the release is at most that of these losses, at every
        real epsilon.

        Parameters
        ----------
        adjacency : Adjacency
            The neighbouring relation. Under add-or-remove-one the losses are for a removal, and
            under zero-out for a record that becomes the special one.

        Raises
        ------
        NoLossDistributionError
            If none are known.
        """
        raise self._no_losses(adjacency)

    def attained(self, adjacency: Adjacency) -> Attained:
        """The losses between explicit data sets; only called for primitive events.

        Guarantee
        ---------
        For each entry, some two neighbours, the first of them the one with the record, have these
        losses exactly, or larger ones.

        Parameters
        ----------
        adjacency : Adjacency
            As for :meth:`dominating`.

        Raises
        ------
        NoLossDistributionError
            If none are known.
        """
        if self.losses_are_attained:
            return attains(self.dominating(adjacency))
        raise self._no_losses(adjacency)

    def _no_losses(self, adjacency: Adjacency) -> NoLossDistributionError:
        return NoLossDistributionError(
            f"No privacy loss distribution is known for the mechanism {self.mechanism!r} under "
            f"{adjacency.value}."
        )

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """The neighbouring data sets that attain the lower bound.

        Parameters
        ----------
        adjacency : Adjacency
            The neighbouring relation.
        touched : tuple of int
            For an event that expands to a :class:`rdpkit.Parallel`: the index of the part that the
            changed record leaves, and, if it joins another part, the index of that part.

        Raises
        ------
        NoLossDistributionError
            If none are known.
        """
        raise NoLossDistributionError(
            f"No data sets are written out for the mechanism {self.mechanism!r}."
        )

    def attained_in_groups(self, size: int) -> Event | None:
        """What groups of ``size`` records attain, as an event; None where nothing is known.

        Every data sets' losses of that event are losses between two data sets that differ in that
        many records here.

        Parameters
        ----------
        size : int
            At least 2.
        """
        if self.groups_are_attained:
            return self.in_groups(size)
        expanded = self.attained_expansion()
        return None if expanded is None else expanded.attained_in_groups(size)

    def in_groups(self, size: int) -> Event:
        """The same release for neighbours that differ in up to ``size`` records, as an event.

        It bounds what the release tells of a group from above.

        Parameters
        ----------
        size : int
            At least 2.

        Raises
        ------
        ValueError
            If nothing is known of the release for groups.
        """
        expanded = self.expand()
        if expanded is not None:
            return expanded.in_groups(size)
        raise ValueError(f"Nothing is known about groups of records for {self.mechanism!r}.")

    def with_one_more_record(self) -> Event:
        """The same release from a data set with one record more, as primitive events."""
        expanded = self.expand()
        return self if expanded is None else expanded.with_one_more_record()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedEvent(Event):
    """An event of which all is known that :class:`Event` does not take for granted.

    It says what one record changes under every neighbouring relation, and nothing of how many
    records there are or of when they take part, so that it means the same on a random sample.
    """

    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)


def check_samples(event: Event) -> None:
    """Raise a ValueError if an event, or a part of it, has no meaning on a random sample."""

    def check(current: Event, parts: tuple[None, ...]) -> None:
        if current.of_whole_data:
            name = type(current).__name__
            reason = f"which {name} is not: {current.of_whole_data}"
            raise _validate.fail("event", f"to be a release from a random sample, {reason}", event)

    event.fold(check)


def declared_of(field: dataclasses.Field[Any]) -> Declared | None:
    """What a field of an event says of itself; None if it is a plain field."""
    return field.metadata.get("declared")


@cache
def _declared(kind: Any) -> list[tuple[str, Any, Declared]]:
    """The fields that are declared: their names, defaults and what they say of themselves."""
    known = [(field.name, field.default, declared_of(field)) for field in dataclasses.fields(kind)]
    return [(name, default, one) for name, default, one in known if one is not None]


@cache
def _signature(initialise: Callable[..., None]) -> inspect.Signature:
    """How an event is made."""
    found = inspect.signature(initialise)
    return found.replace(parameters=list(found.parameters.values())[1:])


def _described(event: Event) -> dict[str, object]:
    """The parameters of an event, where events are described in the same way."""
    if not is_shown_whole(event):
        return {"events": f"{size(event)} in all"}
    found: dict[str, object] = {}
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if isinstance(value, Event):
            found[field.name] = {type(value).__name__: _described(value)}
        elif isinstance(value, tuple) and value and all(isinstance(v, Event) for v in value):
            parts = value[:_SHOWN]
            found |= {
                f"{field.name}[{i}]": {type(part).__name__: _described(part)}
                for i, part in enumerate(parts)
            }
            if len(value) > _SHOWN:
                found[f"and {len(value) - _SHOWN} more"] = ""
        elif value is not None:
            found[field.name] = value.value if isinstance(value, Enum) else value
    return found
