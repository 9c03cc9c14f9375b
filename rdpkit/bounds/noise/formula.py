"""Theorems by one formula in balls, whose floats are the same rounded up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, every_order
from rdpkit.numerics.balls import float_above

_BITS = 192
_MOST_BITS = 1 << 12

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
    """The upper bound that a formula is."""
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
