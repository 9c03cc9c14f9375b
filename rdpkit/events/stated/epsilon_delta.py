"""An event of which nothing is known but its (epsilon, delta)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, event_class, non_negative, relation
from rdpkit.events.losses import Dominating
from rdpkit.events.pairs import StatedPair


@event_class
class EpsilonDelta(Event):
    """A mechanism that is (epsilon, delta)-DP, of which nothing else is known.

    The numbers are those of the worst mechanism that has this guarantee, which is known exactly
    (Kairouz, Oh and Viswanath 2015). So a lower bound is attained by that mechanism, and not
    necessarily by yours.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.EpsilonDelta(epsilon=0.1, delta=1e-8, adjacency="replace_one")
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="replace_one").epsilon, 3)
    4.33
    """

    mechanism: ClassVar[str] = "epsilon_delta"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    # By the worst mechanism that has the guarantee.
    losses_are_attained = True

    epsilon: float = non_negative("In nats; finite", private=-1)
    delta: float = declared(
        "In [0, 1); 0 for pure differential privacy", check=_validate.target_delta
    )
    adjacency: Adjacency = relation("The neighbouring relation under which it holds")

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The worst mechanism that has the guarantee."""
        if adjacency is not self.adjacency:
            raise self._no_losses(adjacency)
        if self.epsilon == self.delta == 0.0:
            return Dominating(())
        return Dominating((StatedPair(epsilon=self.epsilon, delta=self.delta),))

    def in_groups(self, size: int) -> Event:
        """Chains of neighbours: epsilon times the size, and delta times a geometric sum."""
        grown = size * self.epsilon
        if self.delta == 0.0:
            return replace(self, epsilon=grown)
        if grown > 700.0:
            raise _validate.fail("size", "to be so small that the group's epsilon is a float", size)
        # The slack covers the roundings of the sum.
        total = math.fsum([math.exp(i * self.epsilon) for i in range(size)]) * (1.0 + 1e-12)
        if self.delta * total >= 1.0:
            raise _validate.fail("size", "to be so small that the group's delta is below 1", size)
        return replace(self, epsilon=math.nextafter(grown, math.inf), delta=self.delta * total)
