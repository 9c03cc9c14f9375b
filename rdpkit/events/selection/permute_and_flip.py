"""Permute and flip."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import event_class, flag, positive
from rdpkit.events.losses import Attained, Dominating
from rdpkit.events.pairs import LaplacePair
from rdpkit.events.selection.two_options import SCORES, laplace_pairs


@event_class
class PermuteAndFlip(Event):
    """One of several options, by permute and flip: better scores than the exponential mechanism.

    Released: the first option, in random order, whose coin shows heads; option i's coin does with
    probability e^(epsilon * (score_i - best score) / (2 s)), where s is the largest change of one
    score between neighbours. The same as the largest score with exponential noise added.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.PermuteAndFlip(epsilon=0.1)
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="replace_one").epsilon, 2)
    4.22
    """

    mechanism: ClassVar[str] = "permute_and_flip"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = (SCORES,)
    # Every record of a group may move the scores as far, in one direction.
    groups_are_attained = True

    epsilon: float = positive("The parameter of the mechanism, in nats", private=-1)
    monotone_scores: bool = flag(
        "Whether between neighbours either no score falls or no score rises", default=False
    )

    def distance(self, adjacency: Adjacency) -> float:
        """How far apart two Laplace distributions are that tell as much as this can."""
        return self.epsilon / 2.0 if self.monotone_scores else self.epsilon

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Laplace distributions."""
        return Dominating((LaplacePair(distance=self.distance(adjacency)),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two options."""
        return laplace_pairs(self.distance(adjacency))

    def in_groups(self, size: int) -> Event:
        """Scores that change by so many times their sensitivity."""
        return replace(self, epsilon=size * self.epsilon)
