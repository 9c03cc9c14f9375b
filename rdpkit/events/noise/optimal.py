"""A number with noise that is made for an epsilon: staircase and canonical noise."""

from __future__ import annotations

import math
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent
from rdpkit.events.fields import declared, event_class, positive
from rdpkit.events.losses import Attained, Dominating, attains
from rdpkit.events.pairs import Outcomes, StatedPair

# Beyond this the rarest outcome is e^-20, and what is left between the others a few roundings.
_LARGEST = 20.0


@event_class
class Staircase(DescribedEvent):
    """A number plus staircase noise: the least noise for a large epsilon.

    Released: the number plus noise whose density falls by e^-epsilon at every step. Steps are as
    wide as the sensitivity, and the first of them, on either side of 0, ends at the share ``gamma``
    of it. With gamma = 1 / (1 + e^(epsilon / 2)) the noise has the smallest mean absolute value.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Staircase(epsilon=1.0)
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="add_or_remove_one").epsilon, 1)
    77.4
    """

    mechanism: ClassVar[str] = "staircase"
    assumed = (
        "the noise is made for the sensitivity of the number under the adjacency that is asked "
        "about",
    )

    epsilon: float = positive("What the density falls by at a step, in nats", private=-1)
    gamma: float | None = declared(
        "Where the first step ends, as a share of the sensitivity",
        check=_validate.probability,
        accepted="in [0, 1]; by default 1 / (1 + e^(epsilon / 2))",
        default=None,
    )

    def _rarest(self) -> float:
        """How much of the second step, or of the first, the shorter of them is: a probability.

        It is that of the part between the two centres in which one density is the larger one.
        """
        fallen = math.exp(-self.epsilon)
        if self.gamma is None:
            half = math.exp(-self.epsilon / 2.0)
            share = half / (1.0 + half)
        else:
            share = self.gamma
        whole = 2.0 * (share + fallen * (1.0 - share))
        return min(share, 1.0 - share) * -math.expm1(-self.epsilon) / whole

    def _outcomes(self) -> Outcomes:
        """Losses of epsilon, 0 and -epsilon."""
        fallen = math.exp(-self.epsilon)
        large = 0.5 + self._rarest()
        # 1 - large (1 + e^-epsilon), which is small where the steps are equally long.
        middle = 0.5 * -math.expm1(-self.epsilon) - self._rarest() * (1.0 + fallen)
        if middle <= 1e-12:
            large, middle = 1.0 / (1.0 + fallen), 0.0
        masses = (large, middle, large * fallen) if middle else (large, large * fallen)
        return Outcomes(first=masses, second=masses[::-1])

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two numbers that are the sensitivity apart."""
        if self.epsilon > _LARGEST:
            return Dominating((StatedPair(epsilon=self.epsilon, delta=0.0),))
        return Dominating((self._outcomes(),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two numbers that are the sensitivity apart."""
        return attains((self._outcomes(),) if self.epsilon <= _LARGEST else ())


@event_class
class CanonicalNoise(DescribedEvent):
    """A number plus canonical noise for (epsilon, delta): Tulap noise, truncated or not.

    Released: the number plus noise for which the best tests between two numbers at the distance of
    the sensitivity are those of the worst (epsilon, delta)-DP mechanism, and no better. For counts,
    rounded up, it is two-sided geometric noise, truncated if delta is above 0.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.CanonicalNoise(epsilon=0.1, delta=1e-8)
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    4.33
    """

    mechanism: ClassVar[str] = "canonical_noise"
    assumed = (
        "the noise is made for the sensitivity of the number under the adjacency that is asked "
        "about",
    )
    losses_are_attained = True

    epsilon: float = positive("Of the noise, in nats", private=-1)
    delta: float = declared(
        "Of the noise", check=_validate.target_delta, accepted="in [0, 1)", default=0.0
    )

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The worst mechanism that has the guarantee."""
        return Dominating((StatedPair(epsilon=self.epsilon, delta=self.delta),))
