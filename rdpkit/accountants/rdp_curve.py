"""An RDP curve on a set of orders, with its neighbouring relation and its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.accountants.event_tree import UpperBounds, check_adjacency
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.conversions.curves import rdp_to_epsilon
from rdpkit.events import CustomRdp, Event
from rdpkit.guarantee import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RdpCurve:
    """Upper bounds on the Renyi divergence between neighbours, order by order.

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders, each > 1, strictly increasing.
    values : array_like, shape (k,)
        Divergences in nats, each >= 0; inf says nothing.
    adjacency : Adjacency or str
        The neighbouring relation under which they hold.
    source : str
        Where they came from.

    Raises
    ------
    ValueError
        If the arrays do not match, hold NaN or a negative value, or orders are not increasing.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
    >>> one = rdpkit.RdpCurve.of(event, orders=[2, 4, 8], adjacency="add_or_remove_one")
    >>> (one + one).values.tolist() == (2 * one).values.tolist() == [0.5, 1.0, 2.0]
    True
    """

    orders: NDArray[np.float64]
    values: NDArray[np.float64]
    adjacency: Adjacency
    source: str

    def __init__(
        self, *, orders: ArrayLike, values: ArrayLike, adjacency: Adjacency | str, source: str
    ) -> None:
        checked = _validate.orders("orders", orders)
        if (np.diff(checked) <= 0.0).any():
            raise _validate.fail("orders", "to be strictly increasing", orders)
        found = _validate.divergences("values", values, like=checked)
        for array in (checked, found):
            array.flags.writeable = False
        object.__setattr__(self, "orders", checked)
        object.__setattr__(self, "values", found)
        object.__setattr__(self, "adjacency", Adjacency.parse(adjacency))
        object.__setattr__(self, "source", str(source))

    @classmethod
    def of(cls, event: Event, *, orders: ArrayLike, adjacency: Adjacency | str) -> RdpCurve:
        """The best sound curve of an event at the given orders."""
        _validate.one_of_a_kind("event", event, Event)
        relation = Adjacency.parse(adjacency)
        check_adjacency(event, relation)
        checked = _validate.orders("orders", orders)
        values = UpperBounds().rdp(event, checked, relation)
        return cls(orders=checked, values=values, adjacency=relation, source=repr(event))

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, RdpCurve):
            return NotImplemented
        return (
            self.adjacency is other.adjacency
            and np.array_equal(self.orders, other.orders)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]

    def _check_matches(self, other: RdpCurve) -> None:
        if self.adjacency is not other.adjacency:
            raise _validate.fail(
                "adjacency",
                f"to be {self.adjacency.value!r} for both curves",
                other.adjacency.value,
            )
        if not np.array_equal(self.orders, other.orders):
            raise _validate.fail(
                "orders", f"to be {self.orders.tolist()} for both curves", other.orders.tolist()
            )

    def __add__(self, other: RdpCurve) -> RdpCurve:
        """Adaptive composition: the sum (Mironov 2017, Proposition 1)."""
        if not isinstance(other, RdpCurve):
            return NotImplemented
        self._check_matches(other)
        return RdpCurve(
            orders=self.orders,
            values=self.values + other.values,
            adjacency=self.adjacency,
            source=f"{self.source} + {other.source}",
        )

    def __mul__(self, count: int) -> RdpCurve:
        """Composition of ``count`` copies."""
        times = _validate.integer("count", count)
        return RdpCurve(
            orders=self.orders,
            values=self.values * times,
            adjacency=self.adjacency,
            source=f"{times} x ({self.source})",
        )

    __rmul__ = __mul__

    def parallel(self, other: RdpCurve) -> RdpCurve:
        """Releases from two disjoint parts of the data, each with its own curve.

        Under replace-one this holds only where a record stays in its part; use
        :class:`rdpkit.Parallel` where it may move.
        """
        self._check_matches(other)
        return RdpCurve(
            orders=self.orders,
            values=np.maximum(self.values, other.values),
            adjacency=self.adjacency,
            source=f"max({self.source}, {other.source})",
        )

    def as_event(self) -> CustomRdp:
        """The curve as an event that composes with others."""
        return CustomRdp(
            orders=tuple(self.orders), values=tuple(self.values), adjacency=self.adjacency
        )

    def epsilon(self, *, delta: float, conversion: str = "balle2020") -> Guarantee:
        """The smallest epsilon at ``delta`` over the curve's own orders."""
        value, order = rdp_to_epsilon(self.orders, self.values, delta=delta, conversion=conversion)
        notes = []
        if order in (self.orders[0], self.orders[-1]):
            notes.append(f"the best order, {order:.6g}, is at the edge of the curve")
        return Guarantee(
            epsilon=value,
            delta=float(delta),
            adjacency=self.adjacency,
            bound=self.source,
            kind=Kind.UPPER,
            order=None if np.isnan(order) else order,
            conversion=conversion,
            notes=tuple(notes),
        )
