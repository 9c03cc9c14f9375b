"""Events of which somebody states a guarantee, or points of a curve, and nothing else is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.composition import Composed
from rdpkit.events.fields import declared, event_class, non_negative, relation
from rdpkit.events.losses import Attained, Dominating, ProfilePoints, attains, sampled_step
from rdpkit.events.pairs import StatedPair


@event_class
class EpsilonDelta(DescribedEvent):
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


@event_class
class ZeroConcentrated(DescribedEvent):
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


# From 1.01 to 1000, twenty a decade above 1.
_USUAL_ORDERS = tuple(1.0 + 10.0 ** (k / 20) for k in range(-40, 61))


@event_class
class CustomRdp(DescribedEvent):
    """A mechanism of which only bounds on the Renyi divergence are known, at some orders.

    It satisfies (orders[i], values[i])-RDP under ``adjacency`` for every i: the Renyi divergence of
    order ``orders[i]`` between the outputs on neighbours is at most ``values[i]``.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.CustomRdp(
    ...     orders=[2.0, 8.0, 32.0], values=[0.02, 0.08, 0.32], adjacency="replace_one"
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
    0.548
    """

    mechanism: ClassVar[str] = "custom_rdp"

    orders: tuple[float, ...] = declared(
        "Renyi orders without a unit; each above 1, strictly increasing"
    )
    values: tuple[float, ...] = declared(
        "Upper bounds on the Renyi divergence between neighbours, in nats; each at least 0, as "
        "many as there are orders. inf stands for an unknown bound"
    )
    adjacency: Adjacency = relation("The neighbouring relation under which they hold")

    @classmethod
    def from_function(
        cls,
        curve: Callable[[float], float],
        *,
        adjacency: Adjacency | str,
        orders: Sequence[float] = _USUAL_ORDERS,
    ) -> CustomRdp:
        """The event whose Renyi divergences a function bounds.

        Parameters
        ----------
        curve : callable
            Of an order, the bound on the divergence in nats; inf where there is none.
        adjacency : Adjacency or str
            The neighbouring relation under which it holds.
        orders : sequence of float
            Where it is evaluated. What holds there is all that is used.

        Examples
        --------
        >>> import rdpkit
        >>> event = rdpkit.CustomRdp.from_function(lambda a: 0.01 * a, adjacency="replace_one")
        >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
        0.546
        """
        values = tuple(curve(order) for order in orders)
        return cls(orders=tuple(orders), values=values, adjacency=Adjacency.parse(adjacency))

    def _check_together(self) -> None:
        orders = _validate.orders("orders", self.orders)
        values = _validate.divergences("values", self.values, like=orders)
        if (orders[1:] <= orders[:-1]).any():
            raise _validate.fail("orders", "to be strictly increasing", self.orders)
        object.__setattr__(self, "orders", tuple(float(v) for v in orders))
        object.__setattr__(self, "values", tuple(float(v) for v in values))


@event_class
class CustomProfile(DescribedEvent):
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
