"""A number with the noise that (epsilon, delta) is made of: Tulap noise."""

from __future__ import annotations

from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, event_class, positive
from rdpkit.events.losses import Dominating
from rdpkit.events.pairs import StatedPair


@event_class
class CanonicalNoise(Event):
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
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = (
        "the noise is made for the sensitivity of the number under the adjacency that is asked "
        "about",
    )
    losses_are_attained = True

    epsilon: float = positive("Of the noise, in nats", private=-1)
    delta: float = declared(
        "Of the noise",
        check=_validate.target_delta,
        accepted="in [0, 1)",
        default=0.0,
    )

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The worst mechanism that has the guarantee."""
        return Dominating((StatedPair(epsilon=self.epsilon, delta=self.delta),))
