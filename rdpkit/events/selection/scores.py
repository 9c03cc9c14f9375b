"""One or several of some options, by scores with noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Literal

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.fields import choice, count, event_class, flag, noise, positive
from rdpkit.events.losses import Attained, Dominating, Several
from rdpkit.events.pairs import BoundedRange, LaplacePair, StatedPair
from rdpkit.events.selection.two_options import (
    SCORES,
    laplace_pairs,
    logistic_pairs,
    two_laplace_pairs,
)


@event_class
class Exponential(DescribedEvent):
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


@event_class
class PermuteAndFlip(DescribedEvent):
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


NoiseOfMaximum = Literal["laplace", "gumbel", "exponential"]


@event_class
class ReportNoisyMax(DescribedEvent):
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
    assumed = (SCORES,)
    # Every record of a group may move the scores as far, in one direction.
    groups_are_attained = True

    noise_scale: float = noise("Scale of the noise, in the units of the scores")
    sensitivity: float = positive(
        "Largest change of one score between neighbours, in the units of the scores"
    )
    noise: NoiseOfMaximum = choice("The distribution of the noise", NoiseOfMaximum)
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


NoiseOfTop = Literal["gumbel", "laplace"]


@event_class
class TopOptions(DescribedEvent):
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
    assumed = (SCORES,)
    # Every record of a group may move the scores as far, in one direction.
    groups_are_attained = True

    noise_scale: float = noise("Scale of the noise, in the units of the scores")
    noise: NoiseOfTop = choice("The distribution of the noise", NoiseOfTop)
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
