"""A release of which only a zCDP guarantee is known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import Composed
from rdpkit.events.fields import declared, event_class, non_negative, relation
from rdpkit.events.losses import Attained, Dominating, attains, sampled_step
from rdpkit.events.pairs import StatedPair
from rdpkit.events.stated.epsilon_delta import EpsilonDelta


@event_class
class ZeroConcentrated(Event):
    """A release of which only zero-concentrated differential privacy (zCDP) is known.

    It is (xi, rho)-zCDP under ``adjacency``: between neighbours the Renyi divergence of every order
    above 1 is at most xi + rho * order. With xi = 0 this is rho-zCDP. With a ``delta`` it is
    delta-approximate (xi, rho)-zCDP: that holds once an event of the probability delta is left out
    on either of the two data sets.

    A Gaussian release whose noise is z times its sensitivity has rho = 1 / (2 z^2), and with the
    probability delta a mechanism may show everything. Lower bounds are attained by such a release:
    they say what the guarantee leaves possible, and not what your mechanism leaks.

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
    expansion_is_attained = True

    rho: float = non_negative(
        "What the divergence grows by with each unit of the order, in nats", private=-1
    )
    adjacency: Adjacency = relation("The neighbouring relation under which it holds")
    xi: float = non_negative(
        "What is added to the divergence at every order, in nats", private=-1, default=0.0
    )

    delta: float = declared(
        "Probability of what is left out",
        check=_validate.target_delta,
        accepted="in [0, 1)",
        default=0.0,
    )

    def expand(self) -> Event | None:
        """Everything with the probability delta, and otherwise zCDP without a delta."""
        if self.delta == 0.0:
            return None
        told = EpsilonDelta(epsilon=0.0, delta=self.delta, adjacency=self.adjacency)
        return Composed(events=(told, replace(self, delta=0.0)))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """With rho = 0 it is (xi, delta)-DP; otherwise no pair is known."""
        if adjacency is not self.adjacency or self.rho > 0.0:
            raise self._no_losses(adjacency)
        return Dominating(self._pure())

    def _pure(self) -> tuple[StatedPair, ...]:
        known = self.xi or self.delta
        return (StatedPair(epsilon=self.xi, delta=self.delta),) if known else ()

    def attained(self, adjacency: Adjacency) -> Attained:
        """A Gaussian release and the worst (xi, delta)-DP one; together they are as private."""
        if adjacency is not self.adjacency:
            raise self._no_losses(adjacency)
        if self.rho == 0.0:
            return attains(self._pure())
        # The noise is rounded up by more than its roundings, so that the release has the guarantee.
        noise = math.sqrt(0.5 / self.rho) * (1.0 + 1e-14)
        gaussian = sampled_step("replaced", noise_multiplier=noise, sampling_probability=1.0)
        # Divergences add up, and what is left out is left out of the second one.
        return attains((*gaussian, *self._pure()))
