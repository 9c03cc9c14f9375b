"""The claim that a mechanism is (epsilon_i, delta_i)-DP for several pairs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rdpkit.verification.estimators.base import Array, PrivacyClaim
from rdpkit.verification.estimators.claimed_dp import DpClaim

from rdpkit import _validate


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


__all__ = ["ProfileClaim"]
