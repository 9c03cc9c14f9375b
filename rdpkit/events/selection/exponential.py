"""The exponential mechanism."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import event_class, flag, positive
from rdpkit.events.losses import Attained, Dominating
from rdpkit.events.pairs import BoundedRange
from rdpkit.events.selection.two_options import SCORES, logistic_pairs


@event_class
class Exponential(Event):
    """One of several options, the better the likelier: the exponential mechanism.

    Released: option i with a probability in proportion to e^(epsilon * score_i / (2 s)), where s is
    the largest change of one score between neighbours. It is epsilon-DP, and more: its losses lie
    in a range of length epsilon (or half of that if scores are monotone).

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Exponential(epsilon=0.1)
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="replace_one").epsilon, 2)
    2.15
    """

    mechanism: ClassVar[str] = "exponential"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = (SCORES,)
    # Every record of a group may move the scores as far, in one direction.
    groups_are_attained = True

    epsilon: float = positive("The parameter of the mechanism, in nats", private=-1)
    monotone_scores: bool = flag(
        "Whether between neighbours either no score falls or no score rises, as for counts under "
        "add-or-remove-one",
        default=False,
    )

    def range(self) -> float:
        """The length of the range of losses."""
        return self.epsilon / 2.0 if self.monotone_scores else self.epsilon

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The curve above all mechanisms of bounded range."""
        return Dominating((BoundedRange(epsilon=self.range()),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two options."""
        return logistic_pairs(self.range())

    def in_groups(self, size: int) -> Event:
        """Scores that change by so many times their sensitivity."""
        return replace(self, epsilon=size * self.epsilon)
