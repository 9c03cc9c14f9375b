"""One formula in balls, and the same in floats rounded up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array
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


def rdp_of(formula: Formula) -> Callable[[Any, Array, Adjacency], Array]:
    """The ``rdp`` of a bound: the same balls, rounded up."""
    ball = ball_of(formula)

    def rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
        return np.array([float_above(ball(event, order, adjacency)) for order in orders.tolist()])

    return rdp


def moved_up(value: float) -> arb:
    """A quotient of what users gave, eight units in the last place larger."""
    return arb(value) * (1 + arb(2) ** -49)
