"""The options with the largest noisy scores, all chosen at once."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Literal

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import choice, count, event_class, flag, noise, positive
from rdpkit.events.losses import Attained, Dominating, Several
from rdpkit.events.pairs import BoundedRange, StatedPair
from rdpkit.events.selection.two_options import SCORES, logistic_pairs

Noise = Literal["gumbel", "laplace"]


@event_class
class TopOptions(Event):
    """The options with the largest noisy scores, in order, by noise that is drawn once.

    Released: the indices of the ``options`` largest score_i + noise_i, the largest first, and not
    the scores. With Gumbel noise it is the exponential mechanism so many times, each time without
    what was chosen before. With Laplace noise of scale b it is (2 k s / b, 0)-DP with s the
    sensitivity and k the number of options, and without the 2 if scores are monotone.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.TopOptions(noise="gumbel", noise_scale=20.0, sensitivity=1.0, options=100)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 2)
    2.15
    """

    mechanism: ClassVar[str] = "top_options"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = (SCORES,)
    # Every record of a group may move the scores as far, in one direction.
    groups_are_attained = True

    noise_scale: float = noise("Scale of the noise, in the units of the scores")
    noise: Noise = choice("The distribution of the noise", Noise)
    sensitivity: float = positive(
        "Largest change of one score between neighbours, in the units of the scores"
    )
    options: int = count("How many options are released")
    monotone_scores: bool = flag(
        "Whether between neighbours either no score falls or no score rises", default=False
    )

    def distance(self, adjacency: Adjacency) -> float:
        """How far the difference of two scores may move, over the scale of the noise."""
        moved = self.sensitivity if self.monotone_scores else 2.0 * self.sensitivity
        return moved / self.noise_scale

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """With Gumbel noise a bounded range for each option; otherwise pure privacy."""
        distance = self.distance(adjacency)
        if self.noise == "gumbel":
            pair = BoundedRange(epsilon=distance)
            return Dominating((Several(loss=pair, count=self.options),))
        epsilon = self.options * distance * (1.0 + 8.0 * math.ulp(1.0))
        return Dominating((StatedPair(epsilon=epsilon, delta=0.0),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two kinds of options, so many of each that those that are chosen leave the rest alike.

        Of many options with the same score the largest noises are, in either kind, as far apart as
        those of Gumbel noise are.
        """
        pairs = logistic_pairs(self.distance(adjacency))
        return Attained(
            tuple(
                tuple(Several(loss=loss, count=self.options) for loss in losses) for losses in pairs
            )
        )

    def in_groups(self, size: int) -> Event:
        """Scores that change by so many times their sensitivity."""
        return replace(self, sensitivity=size * self.sensitivity)
