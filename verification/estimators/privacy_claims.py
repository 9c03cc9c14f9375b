"""Privacy claims as tests need them: (epsilon, delta)-DP, a privacy profile, or an RDP curve."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from rdpkit.verification.estimators.base import Array
from scipy.special import expit, log_expit, logsumexp

from rdpkit import RdpCurve, _validate
from rdpkit.conversions import DELTA

# e^(2 epsilon), a part of variances, is no float much beyond this.
_LARGEST_EPSILON = 350.0
_HALVINGS = 70
_LINES = 25
# Epsilons at which a test of single events looks, relative to the divergence at the lowest order.
_SMALLEST_DELTA = 1e-6
_ULP = 2.3e-16


class PrivacyClaim(ABC):
    """A privacy statement about all neighbours, in both directions, as tests need it.

    Whatever a claim says about one event E, it says as a concave, increasing function: if
    Q(E) = q, then P(E) <= ``highest_power(q)``. (In f-DP this is 1 - f(q).)
    """

    @abstractmethod
    def highest_power(self, q: Array) -> Array:
        """An upper bound on P(E), at most 1, for each value of Q(E) in [0, 1]; never too small."""

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """A delta in [0, 1] such that the claim implies (epsilon, delta)-DP; never too small."""

    @abstractmethod
    def supporting_lines(self) -> tuple[Array, Array]:
        """Pairs (epsilon, delta) that the claim implies and that a test should look at.

        Returns
        -------
        epsilons, deltas : ndarray, shape (k,) each
            For every event, P(E) <= e^epsilon Q(E) + delta, and the same with P and Q exchanged.
        """

    @abstractmethod
    def describe(self) -> str:
        """The claim in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DpClaim(PrivacyClaim):
    """P(E) <= e^epsilon Q(E) + delta for every event E and all neighbours, in both directions.

    Parameters
    ----------
    epsilon : float
        In nats, in [0, 350].
    delta : float
        In [0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> DpClaim(epsilon=0.0, delta=0.25).highest_power(np.array([0.0, 0.5, 1.0])).tolist()
    [0.25, 0.75, 1.0]
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = _validate.non_negative("epsilon", self.epsilon)
        if epsilon > _LARGEST_EPSILON:
            raise _validate.fail("epsilon", f"in [0, {_LARGEST_EPSILON:g}]", self.epsilon)
        if _validate.probability("delta", self.delta) >= 1.0:
            raise _validate.fail("delta", "in [0, 1)", self.delta)

    def highest_power(self, q: Array) -> Array:
        """The smaller of what the event and its complement allow."""
        event = math.exp(self.epsilon) * q + self.delta
        complement = 1.0 - math.exp(-self.epsilon) * (1.0 - self.delta - q)
        return np.asarray(np.minimum(1.0, np.minimum(event, complement)))

    def delta_at(self, epsilon: float) -> float:
        """Delta at another epsilon: the largest P(E) - e^epsilon' Q(E) that the claim allows.

        With epsilon' >= epsilon nothing is gained. With a smaller one the largest difference is
        where the bound for the event and the one for its complement meet.
        """
        if epsilon >= self.epsilon:
            return self.delta
        q = (1.0 - self.delta) / (1.0 + math.exp(self.epsilon))
        # P(E) = 1 - q there.
        return min(1.0, max(self.delta, 1.0 - q - math.exp(epsilon) * q))

    def supporting_lines(self) -> tuple[Array, Array]:
        """The claim itself: everything else that it implies follows from it."""
        return np.array([self.epsilon]), np.array([self.delta])

    def describe(self) -> str:
        """The claim in words."""
        return f"({self.epsilon:g}, {self.delta:g})-DP"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileClaim(PrivacyClaim):
    """A privacy profile, or any list of (epsilon, delta) pairs that are all claimed.

    Parameters
    ----------
    epsilons : array_like, shape (k,)
        In nats, each in [0, 350].
    deltas : array_like, shape (k,)
        Each in [0, 1).

    Examples
    --------
    >>> claim = ProfileClaim(epsilons=[0.5, 1.0], deltas=[1e-2, 1e-3])
    >>> claim.delta_at(0.5), claim.delta_at(2.0)
    (0.01, 0.001)
    """

    epsilons: Array
    deltas: Array

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

    def _parts(self) -> list[DpClaim]:
        return [
            DpClaim(epsilon=float(epsilon), delta=float(delta))
            for epsilon, delta in zip(self.epsilons, self.deltas, strict=True)
        ]

    def highest_power(self, q: Array) -> Array:
        """The smallest of what the pairs allow."""
        return np.asarray(np.min([part.highest_power(q) for part in self._parts()], axis=0))

    def delta_at(self, epsilon: float) -> float:
        """The smallest of what the pairs imply, each on its own."""
        return min(part.delta_at(epsilon) for part in self._parts())

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
        Claimed divergences in nats, each >= 0; inf claims nothing.

    Raises
    ------
    ValueError
        If the arrays do not match, or nothing is claimed at any order.

    Examples
    --------
    >>> import numpy as np
    >>> claim = RdpClaim(orders=[2, 4, 8], values=[0.25, 0.5, 1.0])
    >>> float(claim.highest_power(np.array([0.1]))[0]) < 0.3
    True
    """

    orders: Array
    values: Array
    # The supporting lines, once they are asked for: conversions at many epsilons take a while.
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

    @classmethod
    def of(cls, curve: RdpCurve) -> RdpClaim:
        """The claim that a curve makes about its neighbours."""
        return cls(orders=curve.orders, values=curve.values)

    def highest_power(self, q: Array) -> Array:
        """The largest p with p^a q^(1-a) + (1-p)^a (1-q)^(1-a) <= e^((a-1) r), and its reverse.

        By data processing, an event is a mechanism with two outputs. In log-odds of p both sums
        increase from p = q on; the end of the last bracket, which is outside, is returned.
        """
        q = np.asarray(q, dtype=np.float64)
        flat = np.clip(q.ravel(), 0.0, 1.0)
        inside = (flat > 0.0) & (flat < 1.0)
        found = np.where(flat >= 1.0, 1.0, 0.0)
        if inside.any():
            found[inside] = np.min(
                [
                    _largest(flat[inside], float(a), float(r))
                    for a, r in zip(self.orders, self.values, strict=True)
                ],
                axis=0,
            )
        # At q = 0 an event must be impossible: a finite divergence is absolute continuity.
        return found.reshape(q.shape)

    def delta_at(self, epsilon: float) -> float:
        """The smallest delta of the optimal conversion, over the orders, each on its own."""
        found = DELTA["optimal"](self.orders, self.values, float(epsilon))
        return min(1.0, float(np.min(found)))

    def supporting_lines(self) -> tuple[Array, Array]:
        """The implied privacy profile, on a grid of epsilons on which delta is worth a test."""
        if self._lines is not None:
            return self._lines
        top = 1e-3
        while self.delta_at(top) > _SMALLEST_DELTA and top < 100.0:
            top *= 1.5
        epsilons = np.concatenate([[0.0], np.geomspace(top / 100.0, top, _LINES - 1)])
        deltas = np.array([self.delta_at(float(epsilon)) for epsilon in epsilons])
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


def _largest(q: Array, a: float, r: float) -> Array:
    """The boundary at one order, for 0 < q < 1, from outside."""
    log_q, log_rest_q = np.log(q), np.log1p(-q)
    start = log_q - log_rest_q
    low, high = start, start + 2000.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        log_p, log_rest_p = log_expit(middle), log_expit(-middle)
        one = logsumexp(
            [a * log_p + (1.0 - a) * log_q, a * log_rest_p + (1.0 - a) * log_rest_q], axis=0
        )
        two = logsumexp(
            [a * log_q + (1.0 - a) * log_p, a * log_rest_q + (1.0 - a) * log_rest_p], axis=0
        )
        # What rounding may have added is no violation.
        size = np.abs(log_p) + np.abs(log_q) + np.abs(log_rest_p) + np.abs(log_rest_q)
        slack = 8.0 * _ULP * (1.0 + a * size)
        outside = np.maximum(one, two) > (a - 1.0) * r + slack
        low, high = np.where(outside, low, middle), np.where(outside, middle, high)
    return np.asarray(np.minimum(1.0, expit(high) * (1.0 + 4.0 * _ULP)))


__all__ = ["DpClaim", "PrivacyClaim", "ProfileClaim", "RdpClaim"]
