"""An event of which only an RDP curve is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, event_class, relation

# From 1.01 to 1000, twenty a decade above 1.
_USUAL_ORDERS = tuple(1.0 + 10.0 ** (k / 20) for k in range(-40, 61))


@event_class
class CustomRdp(Event):
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
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)

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
