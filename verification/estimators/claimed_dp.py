"""The claim that a mechanism is (epsilon, delta)-DP."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from rdpkit.verification.estimators.base import Array, PrivacyClaim

from rdpkit import _validate

# e^(2 epsilon), a part of variances, is no float much beyond this.
_LARGEST_EPSILON = 350.0


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


__all__ = ["DpClaim"]
