"""How much has been spent, at any time, of a budget that nobody set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from rdpkit import _validate
from rdpkit.accountants.event_tree import check_adjacency
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event
from rdpkit.planning.budgets.order_mixture import around, charged, equal_weights, odometer_epsilon
from rdpkit.planning.budgets.rules import divergences

_CENTRE = 12.0  # The middle order, where no budget says which is best


class PrivacyOdometer:
    """A running upper bound on the privacy loss of releases that are chosen as one goes.

    Guarantee
    ---------
    With probability at least 1 - delta, over the releases, the privacy loss of everything so far is
    at most :attr:`epsilon` at all times at once. So it is at any time at which one may choose to
    stop, however that time and the releases depend on earlier outputs. There is no limit.

    Assumes
    -------
    Each release is charged before it is made, with an event that describes it. Each is finished
    before the next one is chosen.

    Parameters
    ----------
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    orders : float or sequence of float, optional
        Renyi orders, with equal weights; by default 47 orders around 12.

    Source
    ------
    Ville's inequality for a mixture of supermartingales: Whitehouse, Ramdas, Rogers and Wu 2023
    (arXiv 2203.05481); theory page "Budgets that are spent as one goes".

    Examples
    --------
    >>> import rdpkit
    >>> odometer = rdpkit.PrivacyOdometer(delta=1e-5, adjacency="add_or_remove_one")
    >>> step = rdpkit.PoissonSampledGaussian(
    ...     noise_std=1.0, record_norm=1.0, sampling_probability=0.01
    ... )
    >>> round(odometer.spend(step, count=1000), 3)
    2.929
    """

    def __init__(
        self,
        *,
        delta: float,
        adjacency: Adjacency | str,
        orders: float | Sequence[float] | None = None,
    ) -> None:
        self.delta = _validate.open_probability("delta", delta)
        self.adjacency = Adjacency.parse(adjacency)
        if orders is None:
            self._mixture = around(_CENTRE)
        else:
            self._mixture = equal_weights(sorted(set(_validate.orders("orders", orders).tolist())))
        self._total: list[Fraction | float] = [Fraction(0)] * len(self._mixture.orders)

    @property
    def epsilon(self) -> float:
        """The bound on the loss so far; inf where nothing is known."""
        return odometer_epsilon(self._mixture, self._total, delta=self.delta)

    def spend(self, event: Event, *, count: int = 1) -> float:
        """Charge releases before they are made, and return :attr:`epsilon` with them.

        Raises
        ------
        ValueError
            If the event has no certified Renyi divergence under this relation.
        """
        _validate.one_of_a_kind("event", event, Event)
        times = _validate.integer("count", count)
        check_adjacency(event, self.adjacency)
        charge = divergences(event, self.adjacency, self._mixture.orders, 0.0)
        if all(math.isinf(number) for number in charge):
            raise _validate.fail("event", "to have a certified Renyi divergence", event)
        self._total = charged(self._total, charge, times)
        return self.epsilon
