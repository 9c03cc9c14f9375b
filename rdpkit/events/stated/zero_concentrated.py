"""A release of which only a zCDP guarantee is known."""

from __future__ import annotations

import math
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import event_class, non_negative, relation
from rdpkit.events.losses import Attained, attains, sampled_step


@event_class
class ZeroConcentrated(Event):
    """A release of which only zero-concentrated differential privacy (zCDP) is known.

    It is (xi, rho)-zCDP under ``adjacency``: between neighbours the Renyi divergence of every order
    above 1 is at most xi + rho * order. With xi = 0 this is rho-zCDP. A Gaussian release whose
    noise is z times its sensitivity has rho = 1 / (2 z^2), so a lower bound is attained by that
    release: it says what the guarantee leaves possible, and not what your mechanism leaks.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.ZeroConcentrated(rho=0.1, adjacency="add_or_remove_one")
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.914
    """

    mechanism: ClassVar[str] = "zero_concentrated"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    rho: float = non_negative(
        "What the divergence grows by with each unit of the order, in nats", private=-1
    )
    adjacency: Adjacency = relation("The neighbouring relation under which it holds")
    xi: float = non_negative(
        "What is added to the divergence at every order, in nats", private=-1, default=0.0
    )

    def attained(self, adjacency: Adjacency) -> Attained:
        """A Gaussian release with this guarantee; what is the worst such release is not known."""
        if adjacency is not self.adjacency:
            raise self._no_losses(adjacency)
        if self.rho == 0.0:
            return attains(())
        # The noise is rounded up by more than its roundings, so that the release has the guarantee.
        noise = math.sqrt(0.5 / self.rho) * (1.0 + 1e-14)
        return attains(sampled_step("replaced", noise_multiplier=noise, sampling_probability=1.0))
