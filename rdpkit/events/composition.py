"""Events made of events: several in a row, one repeated, several on disjoint parts, and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events import fields
from rdpkit.events.base import DescribedEvent, Event, composes
from rdpkit.events.fields import count, event_class, flag, integer, parts

# An event may occur many times in another one; of so many it is remembered what they become.
_REMEMBERED = 1024


@event_class
class Composed(DescribedEvent):
    """Several releases from the same data; each may depend on the outputs of earlier ones.

    Released: the outputs of all events. Renyi divergences and privacy losses add up. The partition
    of a :class:`Parallel` among them may depend on earlier outputs as well, unless it says that it
    is fixed.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Composed(
    ...     events=[
    ...         rdpkit.Gaussian(noise_std=6.0, record_norm=1.0),
    ...         rdpkit.Gaussian(noise_std=8.0, record_norm=1.0),
    ...     ]
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.759
    """

    mechanism: ClassVar[str] = "composed"

    events: tuple[Event, ...] = parts("What is released, in any order")

    def in_groups(self, size: int) -> Event:
        """Every event for groups."""
        return replace(self, events=tuple(_in_groups(part, size) for part in self.events))

    def attained_in_groups(self, size: int) -> Event | None:
        """Every event for groups, if all are known from below: the same records are in all."""
        found = [_attained_in_groups(part, size) for part in self.events]
        known = tuple(part for part in found if part is not None)
        return replace(self, events=known) if len(known) == len(found) else None

    def with_one_more_record(self) -> Event:
        """Every event on the larger data set."""
        return replace(self, events=tuple(_with_one_more(part) for part in self.events))


@event_class
class Repeated(DescribedEvent):
    """The same release a number of times, with fresh randomness each time.

    Released: ``count`` outputs of the event. Renyi divergences and privacy losses add up. If the
    event is on disjoint parts of the data (:class:`Parallel`), the partition is the same every
    time, so that a record is in the same part in all releases, unless ``same_partition`` is False.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Repeated(event=rdpkit.Gaussian(noise_std=20.0, record_norm=1.0), count=16)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.726
    """

    mechanism: ClassVar[str] = "repeated"

    event: Event = fields.part("What is released each time")
    count: int = count("Number of releases")
    same_partition: bool = flag(
        "Whether disjoint parts inside of the event are the same in all releases. If not, a "
        "record may be in another part each time",
        default=True,
    )

    def in_groups(self, size: int) -> Event:
        """The repeated event for groups."""
        return replace(self, event=_in_groups(self.event, size))

    def attained_in_groups(self, size: int) -> Event | None:
        """The repeated event for groups, if it is known from below."""
        found = _attained_in_groups(self.event, size)
        return None if found is None else replace(self, event=found)

    def with_one_more_record(self) -> Event:
        """The repeated event on the larger data set."""
        return replace(self, event=_with_one_more(self.event))


@event_class
class Parallel(DescribedEvent):
    """Releases from disjoint parts of the data, where a record's own value decides its part.

    Released: the output of one event for each part. Under add-or-remove-one the change touches a
    single part, so the divergence is the largest divergence of a part. Under replace-one the new
    record may be in another part than the old one, for example if its label changes. Then one part
    loses a record and another part gains one, and the divergences of both parts add up.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Parallel(
    ...     events=[
    ...         rdpkit.Gaussian(noise_std=5.0, record_norm=1.0),
    ...         rdpkit.Gaussian(noise_std=8.0, record_norm=1.0),
    ...     ]
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.726
    """

    mechanism: ClassVar[str] = "parallel"

    events: tuple[Event, ...] = parts("What is released from each part")
    record_keeps_its_part: bool = flag(
        "Whether a replaced record stays in its part. True is right only if the part is "
        "determined by something that is the same in both neighbours (a public key). The special "
        "record of zero-out is then in the part of the record whose place it takes, and otherwise "
        "in no part",
        default=False,
    )
    fixed_partition: bool = flag(
        "Whether the partition is fixed before any output is seen, as by a label. If not, it may "
        "be chosen after the outputs of releases that this one is composed with",
        default=False,
    )

    def with_one_more_record(self) -> Event:
        """Every part with one more record, because the record may join any part."""
        return replace(self, events=tuple(_with_one_more(part) for part in self.events))

    def inside(self, adjacency: Adjacency) -> Adjacency:
        """The relation between the two versions of the one part that a changed record touches.

        Under zero-out the special record is in no part, so that the part loses a record, unless the
        place of a record decides which part it is in.
        """
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.REPLACE_ONE:
                return adjacency
            case Adjacency.ZERO_OUT:
                return adjacency if self.record_keeps_its_part else Adjacency.ADD_OR_REMOVE_ONE

    def record_may_move(self, adjacency: Adjacency) -> bool:
        """Whether a changed record may leave one part and join another."""
        replaced = adjacency is Adjacency.REPLACE_ONE
        return replaced and not self.record_keeps_its_part and len(self.events) > 1


@lru_cache(maxsize=_REMEMBERED)
def _in_groups(part: Event, size: int) -> Event:
    return part.in_groups(size)


@lru_cache(maxsize=_REMEMBERED)
def _attained_in_groups(part: Event, size: int) -> Event | None:
    return part.attained_in_groups(size)


@lru_cache(maxsize=_REMEMBERED)
def _with_one_more(part: Event) -> Event:
    return part.with_one_more_record()


def part_by_part(events: Iterable[Event]) -> Event:
    """The events of classes as one event; a single class needs no :class:`Parallel`."""
    parts = tuple(events)
    return parts[0] if len(parts) == 1 else Parallel(events=parts, fixed_partition=True)


def composed_of(counts: Mapping[Event, int]) -> Event | None:
    """Releases with how often each was made, as one event; None if there are no releases.

    Nothing is known of the partitions that the data were divided by each time, so that a record may
    have been in another part in every release.
    """
    parts = tuple(
        event
        if count == 1
        else Repeated(event=event, count=count, same_partition=not _has_partition(event))
        for event, count in counts.items()
    )
    if len(parts) <= 1:
        return parts[0] if parts else None
    return Composed(events=parts)


def released_counts(event: Event) -> dict[Event, int]:
    """The events inside of compositions and repetitions, with how often each is released.

    They come in order of appearance. Each composition is looked at once, however often it occurs.
    """
    inside: dict[Event, list[tuple[Event, int]]] = {}
    order: list[Event] = []
    pending = [(event, False)]
    while pending:
        current, finished = pending.pop()
        if finished:
            order.append(current)
        elif current not in inside:
            inside[current] = _inside(current)
            pending.append((current, True))
            pending.extend((part, False) for part, _ in reversed(inside[current]))
    counts = Counter({event: 1})
    # What an event is part of stands behind it.
    for current in reversed(order):
        for part, times in inside[current]:
            counts[part] += counts[current] * times
    return {current: counts[current] for current in order if not inside[current]}


def _inside(event: Event) -> list[tuple[Event, int]]:
    if isinstance(event, Repeated):
        return [(event.event, event.count)]
    return list(Counter(event.events).items()) if isinstance(event, Composed) else []


@composes
def times(event: Event, count: Any) -> Event:
    """The event a number of times; what is repeated already is repeated more often.

    Raises ValueError if the count is not an integer of at least 1.
    """
    number = _validate.integer("count", count)
    if isinstance(event, Repeated) and event.same_partition:
        return Repeated(event=event.event, count=event.count * number)
    return Repeated(event=event, count=number)


@composes
def together(one: Event, other: Event) -> Event:
    """Both events as one composition; compositions are joined, and equal events are counted.

    An event that depends on a partition of the data is not counted: when it is repeated its
    partition stays, and two of them in a composition may have different ones.
    """
    found: list[Event] = []
    for event in (*_flat(one), *_flat(other)):
        base, count = _counted(event)
        for place, known in enumerate(found):
            known_base, known_count = _counted(known)
            if known_base == base and not _has_partition(base):
                found[place] = Repeated(event=base, count=known_count + count)
                break
        else:
            found.append(event)
    return found[0] if len(found) == 1 else Composed(events=tuple(found))


def _flat(event: Event) -> tuple[Event, ...]:
    return event.events if isinstance(event, Composed) else (event,)


def _counted(event: Event) -> tuple[Event, int]:
    return (event.event, event.count) if isinstance(event, Repeated) else (event, 1)


@lru_cache(maxsize=_REMEMBERED)
def _has_partition(event: Event) -> bool:
    """Whether the event, or one that it is made of or expands to, is on parts of the data."""
    return isinstance(event, Parallel) or any(_has_partition(part) for part in _made_of(event))


@lru_cache(maxsize=_REMEMBERED)
def partition_is_fixed(event: Event) -> bool:
    """Whether every partition inside of the event is fixed before any output is seen."""
    fixed = not isinstance(event, Parallel) or event.fixed_partition
    return fixed and all(partition_is_fixed(part) for part in _made_of(event))


def _made_of(event: Event) -> list[Event]:
    expanded = event.expand()
    return [part for _, part in event.parts()] + ([] if expanded is None else [expanded])


@event_class
class Group(DescribedEvent):
    """The same release, for neighbours that differ in up to ``size`` records instead of one.

    For a family, a household or a user with several records. The event says itself what it tells of
    a group: noise hides a sum of records that is so many times as long, and a guarantee of
    (epsilon, delta) is used once for every record of a chain of neighbours.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=20.0, record_norm=1.0)
    >>> group = rdpkit.Group(event=event, size=4)
    >>> round(rdpkit.epsilon(group, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.726
    """

    mechanism: ClassVar[str] = "group"

    event: Event = fields.part("What is released")
    size: int = integer("How many records may differ")

    def _check_together(self) -> None:
        self.expand()

    def expand(self) -> Event:
        """The event that tells as much of one record as this one does of a group."""
        return self.event if self.size == 1 else self.event.in_groups(self.size)

    def attained_expansion(self) -> Event | None:
        """What groups attain of the event: a rule for upper bounds need not be attained."""
        return self.event if self.size == 1 else self.event.attained_in_groups(self.size)

    def attained_in_groups(self, size: int) -> Event | None:
        """Groups of groups."""
        return self.event.attained_in_groups(self.size * size)

    def in_groups(self, size: int) -> Event:
        """Groups of groups."""
        return Group(event=self.event, size=self.size * size)
