"""Privacy claims as tests need them: (epsilon, delta)-DP, a privacy profile, or an RDP curve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.conversions import DELTA
from rdpkit.verification.estimators.base import Array

# Variances contain e^(2 epsilon), which would overflow for an epsilon much larger than this.
_LARGEST_EPSILON = 350.0
# How many supporting lines an RDP curve gets, down to the smallest delta that is worth a test.
_LINES = 25
_SMALLEST_DELTA = 1e-6


class PrivacyClaim(ABC):
    """A privacy statement about all neighbours, in both directions, as tests need it.

    Tests of single events use its supporting lines: pairs (epsilon, delta) that it implies.
    """

    @abstractmethod
    def supporting_lines(self) -> tuple[Array, Array]:
        """Pairs (epsilon, delta) that the claim implies and that a test should look at.

        For every event, P(E) <= e^epsilon Q(E) + delta, and the same with P and Q
        exchanged.
        """

    @abstractmethod
    def describe(self) -> str:
        """The claim in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DpClaim(PrivacyClaim):
    """P(E) <= e^epsilon Q(E) + delta for every event E and all neighbours, in both directions.

    Examples
    --------
    >>> DpClaim(epsilon=1.0, delta=1e-5).describe()
    '(1, 1e-05)-DP'
    """

    epsilon: float  #: In nats, in [0, 350]
    delta: float  #: In [0, 1)

    def __post_init__(self) -> None:
        epsilon = _validate.non_negative("epsilon", self.epsilon)
        if epsilon > _LARGEST_EPSILON:
            raise _validate.fail("epsilon", f"in [0, {_LARGEST_EPSILON:g}]", self.epsilon)
        if _validate.probability("delta", self.delta) >= 1.0:
            raise _validate.fail("delta", "in [0, 1)", self.delta)

    def supporting_lines(self) -> tuple[Array, Array]:
        """The claim itself, which implies everything else."""
        return np.array([self.epsilon]), np.array([self.delta])

    def describe(self) -> str:
        """The claim in words."""
        return f"({self.epsilon:g}, {self.delta:g})-DP"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileClaim(PrivacyClaim):
    """A privacy profile, or any list of (epsilon, delta) pairs that are all claimed.

    Examples
    --------
    >>> claim = ProfileClaim(epsilons=[0.5, 1.0], deltas=[1e-2, 1e-3])
    >>> claim.describe()
    'DP at (0.5, 0.01), (1, 0.001)'
    """

    epsilons: Array  #: In nats, each in [0, 350]
    deltas: Array  #: Each in [0, 1)

    def __init__(self, *, epsilons: ArrayLike, deltas: ArrayLike) -> None:
        condition = "to be numbers of shape (k,) with k >= 1"
        checked = [
            np.atleast_1d(_validate.real_array(name, value, condition))
            for name, value in (("epsilons", epsilons), ("deltas", deltas))
        ]
        if checked[0].ndim != 1 or checked[0].size == 0:
            raise _validate.fail("epsilons", condition, epsilons)
        if checked[1].shape != checked[0].shape:
            raise _validate.fail(
                "deltas", f"to be of shape {checked[0].shape} as epsilons is", deltas
            )
        for epsilon, delta in zip(*checked, strict=True):
            DpClaim(epsilon=float(epsilon), delta=float(delta))
        for array in checked:
            array.flags.writeable = False
        object.__setattr__(self, "epsilons", checked[0])
        object.__setattr__(self, "deltas", checked[1])

    def supporting_lines(self) -> tuple[Array, Array]:
        """All pairs."""
        return self.epsilons, self.deltas

    def describe(self) -> str:
        """The claim in words."""
        shown = ", ".join(
            f"({epsilon:g}, {delta:g})"
            for epsilon, delta in zip(self.epsilons[:3], self.deltas[:3], strict=True)
        )
        more = self.epsilons.size - 3
        return f"DP at {shown}" + (f" and {more} more pairs" if more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RdpClaim(PrivacyClaim):
    """D_a(P||Q) <= r(a) and D_a(Q||P) <= r(a) at every given order, for all neighbours.

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders, each > 1.
    values : array_like, shape (k,)
        Claimed divergences in nats, each >= 0; inf stands for no claim at that order.

    Raises
    ------
    ValueError
        If the arrays do not match, or nothing is claimed at any order.

    Examples
    --------
    >>> RdpClaim(orders=[2, 4, 8], values=[0.25, 0.5, 1.0]).describe()
    'RDP at 3 orders, from (2, 0.25) to (8, 1)'
    """

    orders: Array
    values: Array
    # The supporting lines are kept, because conversions at many epsilons take a while.
    _lines: tuple[Array, Array] | None = field(init=False, repr=False, default=None)

    def __init__(self, *, orders: ArrayLike, values: ArrayLike) -> None:
        checked = _validate.orders("orders", orders)
        found = _validate.divergences("values", values, like=checked)
        finite = np.isfinite(found)
        if not finite.any():
            raise _validate.fail("values", "to be finite at one order at least", values)
        checked, found = checked[finite], found[finite]
        for array in (checked, found):
            array.flags.writeable = False
        object.__setattr__(self, "orders", checked)
        object.__setattr__(self, "values", found)
        object.__setattr__(self, "_lines", None)

    def _delta_at(self, epsilon: float) -> float:
        """The smallest delta that the optimal conversion gives at any of the orders."""
        found = DELTA["optimal"](self.orders, self.values, float(epsilon))
        return min(1.0, float(np.min(found)))

    def supporting_lines(self) -> tuple[Array, Array]:
        """The implied privacy profile at epsilons whose delta is large enough for a test."""
        if self._lines is not None:
            return self._lines
        top = 1e-3
        while self._delta_at(top) > _SMALLEST_DELTA and top < 100.0:
            top *= 1.5
        epsilons = np.concatenate([[0.0], np.geomspace(top / 100.0, top, _LINES - 1)])
        deltas = np.array([self._delta_at(float(epsilon)) for epsilon in epsilons])
        for array in (epsilons, deltas):
            array.flags.writeable = False
        object.__setattr__(self, "_lines", (epsilons, deltas))
        return epsilons, deltas

    def describe(self) -> str:
        """The claim in words."""
        if self.orders.size == 1:
            return f"({self.orders[0]:g}, {self.values[0]:g})-RDP"
        low, high = int(self.orders.argmin()), int(self.orders.argmax())
        return (
            f"RDP at {self.orders.size} orders, from ({self.orders[low]:g}, {self.values[low]:g}) "
            f"to ({self.orders[high]:g}, {self.values[high]:g})"
        )
