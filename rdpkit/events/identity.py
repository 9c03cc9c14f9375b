"""Equality and hashes of events, in a time that does not grow with how often a part occurs.

An event may hold the same event twice, which holds another one twice, and so on: sixty levels have
2^60 parts. So equal events share one :class:`Identity`, which is found from the fields of an event
and the identities of the events in them, and two events are compared by it alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable
from dataclasses import fields
from typing import Any
from weakref import WeakValueDictionary

# Descriptions of events with more parts than this are cut short.
_SHOWN_WHOLE = 10_000


class Identity:
    """What equal events have in common."""

    __slots__ = ("__weakref__", "size", "value_hash")

    def __init__(
        self,
        value_hash: int,  # Their hash
        size: int,  # How many events they are made of, each counted as often as it occurs
    ) -> None:
        self.value_hash = value_hash
        self.size = size

    def __hash__(self) -> int:
        """The hash of the events, which does not depend on where in memory they are."""
        return self.value_hash


_KNOWN: WeakValueDictionary[Hashable, Identity] = WeakValueDictionary()
# A finaliser that compares events may run while the lock is held, hence a reentrant one.
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A child would otherwise wait for ever for a lock that another thread of its parent held.
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )


class Compared:
    """Frozen dataclasses that are equal if their classes and fields are.

    What a subclass defines itself stays; the dataclass decorator adds nothing to what is here.
    """

    __slots__ = ("_identity",)
    _identity: Identity | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give the class its methods before the dataclass decorator looks for them."""
        super().__init_subclass__(**kwargs)
        for name in ("__eq__", "__hash__", "__repr__"):
            if name not in cls.__dict__:
                setattr(cls, name, getattr(Compared, name))

    def __eq__(self, other: object) -> bool:
        """Whether both are of one class and have equal fields."""
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        try:
            return identity(self) is identity(other)
        except TypeError:  # a field is not hashable
            return _values(self) == _values(other)

    def __hash__(self) -> int:
        """Equal for equal events."""
        return identity(self).value_hash

    def __repr__(self) -> str:
        """The class and the fields, of which those that hold too many events are cut short."""
        shown = ", ".join(f"{f.name}={_shown(self, f.name)}" for f in _fields(self) if f.repr)
        return f"{type(self).__qualname__}({shown})"


def identity(event: Any) -> Identity:
    """What an event has in common with all that are equal to it.

    Raises TypeError if a field of it cannot be hashed.
    """
    known: Identity | None = getattr(event, "_identity", None)
    if known is not None:
        return known
    values = tuple(_key(value) for value in _values(event))
    # The key holds the identities of the parts, so that these exist as long as that of the whole.
    key = (type(event), values)
    value_hash = hash((type(event).__qualname__, values))
    with _LOCK:
        found = _KNOWN.get(key)
        if found is None:
            found = _KNOWN[key] = Identity(value_hash, 1 + sum(map(_size, values)))
    object.__setattr__(event, "_identity", found)
    return found


def size(event: Any) -> int:
    """How many events an event is made of, each as often as it occurs; 1 if that is not known."""
    try:
        return identity(event).size
    except TypeError:
        return 1


def is_shown_whole(event: Any) -> bool:
    """Whether an event has few enough parts for every one of them to be described."""
    return size(event) <= _SHOWN_WHOLE


def _fields(event: Any) -> tuple[Any, ...]:
    return fields(event)


def _values(event: Any) -> tuple[Any, ...]:
    return tuple(getattr(event, f.name) for f in _fields(event) if f.compare)


def _key(value: Any) -> Any:
    """A field's value, with identities in place of events."""
    if isinstance(value, tuple):
        return tuple(_key(item) for item in value)
    if isinstance(value, Compared) and type(value).__eq__ is Compared.__eq__:
        return identity(value)
    return value


def _size(key: Any) -> int:
    if isinstance(key, Identity):
        return key.size
    return sum(map(_size, key)) if isinstance(key, tuple) else 0


def _shown(event: Any, name: str) -> str:
    value = getattr(event, name)
    parts = value if isinstance(value, tuple) else (value,)
    held = [part for part in parts if isinstance(part, Compared)]
    if held and not is_shown_whole(event):
        return f"<{sum(size(part) for part in held)} events>"
    return repr(value)
