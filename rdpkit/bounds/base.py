"""What a bound is: one theorem applied to one kind of event."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event
from rdpkit.numerics.balls import float_above

Array = NDArray[np.float64]

# Bits of the products of balls: far more than the accuracy of the formulas.
_PRECISION = 128
# Where a formula begins, and where it ends at the latest.
_BITS, _MOST_BITS = 192, 1 << 12


class Kind(StrEnum):
    """How a number relates to what a mechanism really leaks.

    ``PUBLISHED``: what a paper prints, whether it is right or wrong. ``UPPER``: it is proven that
    the mechanism leaks at most this. ``LOWER``: two neighbouring data sets are known for which it
    leaks at least this.
    """

    PUBLISHED = "published"
    UPPER = "upper"
    LOWER = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRange:
    """The Renyi orders at which a theorem holds."""

    # Ends of the range; ``highest`` may be inf.
    lowest: float = 1.0
    highest: float = math.inf
    # Whether each end belongs to the range.
    includes_lowest: bool = False
    includes_highest: bool = False
    integers_only: bool = False  # Whether the theorem is stated for integers only

    def contains(self, orders: Array) -> NDArray[np.bool_]:
        """For each order, whether it is in the range."""
        inside = orders >= self.lowest if self.includes_lowest else orders > self.lowest
        inside &= orders <= self.highest if self.includes_highest else orders < self.highest
        if self.integers_only:
            inside &= orders == np.floor(orders)
        return np.asarray(inside)

    def describe(self) -> str:
        """The range in words."""
        left = "[" if self.includes_lowest else "("
        right = "]" if self.includes_highest else ")"
        interval = f"{left}{self.lowest:.6g}, {self.highest:.6g}{right}"
        return f"integers in {interval}" if self.integers_only else interval

    def check(self, name: str, orders: Array, theorem: str) -> None:
        """Raise a ValueError that names the first order outside of the range, if there is one."""
        outside = orders[~self.contains(orders)]
        if outside.size:
            raise ValueError(
                f"Expected {name} in {self.describe()}, where {theorem} holds, "
                f"got {float(outside[0])!r}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerDivergences:
    """The divergences of the event inside of another one, as a theorem about the outer one asks."""

    rdp: Callable[[Array], Array]
    """Maps orders of shape (k,) to the best sound divergences of the inner event."""
    ball: Callable[[float], arb]  # Maps one order to a ball that contains such a divergence
    remembered: dict[Any, Any] = field(default_factory=dict)
    """What a theorem has found out about the inner event, under keys of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RdpBound:
    """A theorem that bounds the Renyi divergence between neighbours, order by order.

    Parameters
    ----------
    id : str
        Stable identifier, as reports print it.
    title : str
        What the theorem is about, in a few words.
    source : str
        Paper, theorem and version.
    kind : Kind
        Published, upper or lower.
    event_type : type
        The kind of event that the theorem is about.
    adjacencies : tuple of Adjacency
        The neighbouring relations for which the theorem is stated.
    conversion : {"mironov2017", "balle2020", "optimal"}
        For a published bound, the conversion to (epsilon, delta) that the paper uses.
    order_range : callable
        Maps an event and an adjacency to the orders at which the theorem holds.
    rdp : callable
        Maps an event, orders inside of that range (shape (k,)) and an adjacency to upper bounds
        on the divergence, or, for a published bound, to what the paper prints.
    assumptions : callable
        Maps an event to the conditions under which the bound is true of the mechanism.
    grid : tuple of float, optional
        For a published bound, the orders over which its authors minimised epsilon, if the printed
        number depends on them.
    ball : callable, optional
        Maps an event, one order inside of the range (a float, taken as an exact number) and an
        adjacency to a ball that contains the theorem's value. If a formula has a free parameter,
        every value of the parameter gives a bound, and the ball is for one of these values.
    inner : callable, optional
        For a theorem about an event that another one is inside of: maps the event to the inner one.
        ``rdp`` and ``ball`` then take :class:`InnerDivergences` as a fourth argument.
    """

    id: str
    title: str
    source: str
    kind: Kind
    event_type: type[Event]
    adjacencies: tuple[Adjacency, ...]
    rdp: Callable[..., Array]
    order_range: Callable[[Any, Adjacency], OrderRange]
    conversion: str = "optimal"
    assumptions: Callable[[Any], tuple[str, ...]] = lambda event: ()
    grid: tuple[float, ...] | None = None
    ball: Callable[..., arb] | None = None
    inner: Callable[[Any], Event] | None = None

    def applies(self, event: Event, adjacency: Adjacency) -> bool:
        """Whether the theorem is about this event under this adjacency.

        An event whose numbers the user vouches for names the adjacency under which they hold; no
        theorem applies to it under the other one.
        """
        vouched_for = getattr(event, "adjacency", adjacency)
        return (
            type(event) is self.event_type
            and adjacency in self.adjacencies
            and adjacency is vouched_for
        )

    def check_adjacency(self, adjacency: Adjacency) -> None:
        """Raise a ValueError if the theorem, asked for by its name, is not for this adjacency."""
        if adjacency not in self.adjacencies:
            raise _validate.fail(
                "adjacency",
                f"to be {self.adjacencies[0].value!r}, the one that theorem {self.id!r} is for",
                adjacency.value,
            )

    def enclosure(
        self, event: Event, order: float, adjacency: Adjacency, inner: InnerDivergences | None
    ) -> arb | None:
        """A ball around the divergence at one order inside of the range; None if there is none."""
        if self.ball is None:
            return None
        return self.ball(event, order, adjacency, *_given(inner))

    def values(
        self,
        event: Event,
        orders: Array,
        adjacency: Adjacency,
        inner: InnerDivergences | None = None,
    ) -> Array:
        """Divergences at any orders: inf, which claims nothing, outside of the theorem's range.

        Parameters
        ----------
        event, orders, adjacency
            What was released, Renyi orders of shape (k,), and the neighbouring relation.
        inner : InnerDivergences, optional
            The divergences of the inner event, for a theorem that needs them.

        Raises
        ------
        ArithmeticError
            If a value is NaN or negative, because such a value must not pass for a bound.
        """
        inside = self.order_range(event, adjacency).contains(orders)
        result = np.full(orders.shape, np.inf)
        if inside.any():
            # What is no number is an error below, in words.
            with np.errstate(invalid="ignore", over="ignore"):
                result[inside] = self.rdp(event, orders[inside], adjacency, *_given(inner))
        if np.isnan(result).any() or (result < 0.0).any():
            bad = orders[np.isnan(result) | (result < 0.0)]
            raise FloatingPointError(
                f"{self.id} could not be computed at order {float(bad[0])!r} for {event!r}."
            )
        return result


def _given(inner: InnerDivergences | None) -> tuple[InnerDivergences, ...]:
    return () if inner is None else (inner,)


def every_order(event: Any, adjacency: Adjacency) -> OrderRange:
    """The range (1, inf) of all Renyi orders."""
    return OrderRange()


def only_without_delta(event: Any, adjacency: Adjacency) -> OrderRange:
    """No order if the event has a delta above 0: then no Renyi divergence is bounded."""
    return OrderRange(highest=1.0) if event.delta > 0.0 else OrderRange()


def integers_from(lowest: int) -> Callable[[Any, Adjacency], OrderRange]:
    """The range of all integers from ``lowest`` on."""
    found = OrderRange(lowest=float(lowest), includes_lowest=True, integers_only=True)
    return lambda event, adjacency: found


Arguments = Callable[[Any, Adjacency], tuple[Any, ...]]
"""Maps an event and an adjacency to the arguments that a formula takes after the orders."""


def orders_below(limit: Callable[..., float], arguments: Arguments) -> Callable[..., OrderRange]:
    """The range (1, c), where ``limit`` computes c from the arguments of the event."""
    return lambda event, adjacency: OrderRange(highest=limit(*arguments(event, adjacency)))


def of_event(
    # Maps orders (for ``ball``, one order) and the arguments to the divergences of one release.
    formula: Callable[..., Any],
    arguments: Arguments,  # Maps an event and an adjacency to the arguments
    # Maps an event to the number of its releases, whose divergences add up; by default one.
    releases: Callable[[Any], int] | None = None,
) -> Callable[[Any, Any, Adjacency], Any]:
    """The ``rdp`` or the ``ball`` of a bound, from a formula for one release."""

    def apply(event: Any, orders: Any, adjacency: Adjacency) -> Any:
        one = formula(orders, *arguments(event, adjacency))
        if releases is None:
            return one
        with ctx.workprec(_PRECISION):
            return one * int(releases(event))

    return apply


Formula = Callable[[Any, arb, Adjacency], arb]
"""Maps an event, an order and an adjacency to the divergence, in balls."""


def ball_of(formula: Formula) -> Callable[[Any, float, Adjacency], arb]:
    """The ``ball`` of a bound: as many bits as the formula takes to be known to 2^-60."""

    def ball(event: Any, order: float, adjacency: Adjacency) -> arb:
        bits = _BITS
        while True:
            with ctx.workprec(bits):
                found = formula(event, arb(order), adjacency)
                if found.is_finite() and (found.rel_accuracy_bits() >= 60 or bits >= _MOST_BITS):
                    return found.max(arb(0))
            if bits >= _MOST_BITS:
                raise ArithmeticError(f"No divergence of {event!r} at order {order!r} was found.")
            bits *= 2

    return ball


def of_formula(
    formula: Formula,
    *,
    adjacencies: tuple[Adjacency, ...] = tuple(Adjacency),
    order_range: Callable[[Any, Adjacency], OrderRange] = every_order,
    **about: Any,  # The ``id``, the ``title``, the ``source`` and the ``event_type``
) -> RdpBound:
    """The upper bound that a formula in balls is: its floats are the same rounded up."""
    ball = ball_of(formula)

    def rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
        return np.array([float_above(ball(event, order, adjacency)) for order in orders.tolist()])

    return RdpBound(
        kind=Kind.UPPER,
        adjacencies=adjacencies,
        order_range=order_range,
        rdp=rdp,
        ball=ball,
        **about,
    )


def moved_up(value: float) -> arb:
    """A quotient of what users gave, eight units in the last place larger."""
    return arb(value) * (1 + arb(2) ** -49)
