"""The claim that a mechanism has an RDP curve."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from rdpkit.verification.estimators.base import Array, PrivacyClaim
from scipy.special import expit, log_expit, logsumexp

from rdpkit import RdpCurve, _validate
from rdpkit.conversions import DELTA

_HALVINGS = 70
_LINES = 25
# Epsilons at which a test of single events looks, relative to the divergence at the lowest order.
_SMALLEST_DELTA = 1e-6
_ULP = 2.3e-16


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


__all__ = ["RdpClaim"]
