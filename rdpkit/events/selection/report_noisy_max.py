"""The option with the largest noisy score."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import choice, event_class, flag, noise, positive
from rdpkit.events.losses import Attained, Dominating
from rdpkit.events.pairs import BoundedRange, LaplacePair
from rdpkit.events.selection.two_options import (
    SCORES,
    laplace_pairs,
    logistic_pairs,
    two_laplace_pairs,
)

Noise = Literal["laplace", "gumbel", "exponential"]


@event_class
class ReportNoisyMax(Event):
    """The option whose score plus noise is the largest; the scores themselves stay secret.

    Released: the index of the largest score_i + noise_i, the noise of every option drawn
    independently. With Gumbel noise it is the exponential mechanism, with exponential noise permute
    and flip.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.ReportNoisyMax(noise_scale=20.0, sensitivity=1.0, noise="laplace")
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="replace_one").epsilon, 2)
    3.13
    """

    mechanism: ClassVar[str] = "report_noisy_max"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = (SCORES,)
    # Every record of a group may move the scores as far, in one direction.
    groups_are_attained = True

    noise_scale: float = noise("Scale of the noise, in the units of the scores")
    sensitivity: float = positive(
        "Largest change of one score between neighbours, in the units of the scores"
    )
    noise: Noise = choice("The distribution of the noise", Noise)
    monotone_scores: bool = flag(
        "Whether between neighbours either no score falls or no score rises", default=False
    )

    def distance(self, adjacency: Adjacency) -> float:
        """How far the difference of two scores may move, over the scale of the noise."""
        moved = self.sensitivity if self.monotone_scores else 2.0 * self.sensitivity
        return moved / self.noise_scale

    def range(self, adjacency: Adjacency) -> float:
        """The length of the range of losses; at most twice their size, with exponential noise."""
        shares = {"gumbel": 1.0, "laplace": 1.4, "exponential": 2.0}
        return shares[self.noise] * self.distance(adjacency)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """With Gumbel noise a bounded range; otherwise two Laplace distributions."""
        distance = self.distance(adjacency)
        if self.noise == "gumbel":
            return Dominating((BoundedRange(epsilon=distance),))
        return Dominating((LaplacePair(distance=distance),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two kinds of options, whose scores move in opposite directions, or one of them alone."""
        of_noise = {
            "gumbel": logistic_pairs,
            "exponential": laplace_pairs,
            "laplace": two_laplace_pairs,
        }
        return of_noise[self.noise](self.distance(adjacency))

    def in_groups(self, size: int) -> Event:
        """Scores that change by so many times their sensitivity."""
        return replace(self, sensitivity=size * self.sensitivity)
