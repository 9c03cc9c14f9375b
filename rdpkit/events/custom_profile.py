"""An event of which only points of a privacy profile are known."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, event_class, relation
from rdpkit.events.losses import Dominating, ProfilePoints


@event_class
class CustomProfile(Event):
    """A mechanism of which only points of the privacy profile are known.

    It is (epsilons[i], deltas[i])-DP under ``adjacency`` for every i. One point is a plain
    (epsilon, delta) guarantee as papers state it; with delta 0 it is pure differential privacy.
    More points give tighter bounds. Neighbouring is symmetric, so every point bounds the
    hockey-stick divergence in both directions.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.CustomProfile(epsilons=[0.1], deltas=[0.0], adjacency="replace_one")
    >>> twenty = rdpkit.Repeated(event=event, count=20)
    >>> round(rdpkit.epsilon(twenty, delta=1e-5, adjacency="replace_one").epsilon, 3)
    1.598
    """

    mechanism: ClassVar[str] = "custom_profile"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

    epsilons: tuple[float, ...] = declared(
        "Privacy losses in nats; finite, at least 0, strictly increasing"
    )
    deltas: tuple[float, ...] = declared(
        "Upper bounds on probabilities; in [0, 1], nowhere increasing, as many as there are "
        "epsilons. They need not be convex"
    )
    adjacency: Adjacency = relation("The neighbouring relation under which they hold")

    def _check_together(self) -> None:
        condition = "to be finite numbers >= 0, of shape (k,) with k >= 1"
        epsilons = np.atleast_1d(_validate.real_array("epsilons", self.epsilons, condition))
        if epsilons.ndim != 1 or epsilons.size == 0:
            raise _validate.fail("epsilons", condition, self.epsilons)
        if not (np.isfinite(epsilons).all() and (epsilons >= 0.0).all()):
            raise _validate.fail("epsilons", condition, self.epsilons)
        if (epsilons[1:] <= epsilons[:-1]).any():
            raise _validate.fail("epsilons", "to be strictly increasing", self.epsilons)
        condition = f"to be numbers in [0, 1], of shape ({epsilons.size},) as epsilons has"
        deltas = np.atleast_1d(_validate.real_array("deltas", self.deltas, condition))
        if deltas.shape != epsilons.shape or not ((deltas >= 0.0) & (deltas <= 1.0)).all():
            raise _validate.fail("deltas", condition, self.deltas)
        if (deltas[1:] > deltas[:-1]).any():
            raise _validate.fail("deltas", "not to increase with epsilons", self.deltas)
        # Adding zero turns -0.0 into 0.0, so that equal events are also printed alike.
        object.__setattr__(self, "epsilons", tuple(float(v) + 0.0 for v in epsilons))
        object.__setattr__(self, "deltas", tuple(float(v) + 0.0 for v in deltas))

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The points; no data sets are known that attain them."""
        if adjacency is not self.adjacency:
            raise self._no_losses(adjacency)
        return Dominating((ProfilePoints(epsilons=self.epsilons, deltas=self.deltas),))
