"""An event for neighbours that differ in several records."""

from __future__ import annotations

from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import event_class, integer, part


@event_class
class Group(Event):
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
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    event: Event = part("What is released")
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
