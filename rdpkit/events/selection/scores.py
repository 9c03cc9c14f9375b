"""Options by scores with noise, labels by noisy votes (PATE), and what two kinds of them attain."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, ClassVar, Literal

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.composition import Composed, Repeated
from rdpkit.events.fields import choice, count, declared, event_class, flag, noise, positive
from rdpkit.events.gaussian import Gaussian
from rdpkit.events.losses import Attained, Dominating, Losses, Several
from rdpkit.events.pairs import BoundedRange, LaplacePair, StatedPair, TwoOutcomes

SCORES = "the sensitivity of the scores is that under the adjacency that is asked about"
"""The assumption of every event about scores."""

# Probabilities below this are exponentials of numbers above 69. The roundings of these, of the
# distance and of the place then stay below the 2^-44 that a pair of two outcomes allows for.
_LEAST = 1e-30

_PLACES = (0.5, 0.25, 0.75, 0.125, 0.875, 0.0, 1.0)
# And where the first option is seldom chosen, whatever the distance: for few releases.
_SELDOM = (-0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -7.0)
# With Laplace noise: how many options of the first kind and of the other one, and the farthest.
_KINDS = ((1, 6), (1, 3), (1, 2), (2, 2), (2, 3))
_FARTHEST = 80.0


def logistic_pairs(distance: float) -> Attained:
    """The softmax of two options whose scores' difference moves by ``distance``.

    The better option's probability moves from 1 / (1 + e^-x) to 1 / (1 + e^(distance - x)); its
    loss is best where x is somewhere between 0 and the distance.
    """

    def chosen(x: float) -> float:
        return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0

    places = (*[s * distance for s in _PLACES], *_SELDOM)
    return pairs_of([(chosen(x), chosen(x - distance)) for x in places])


def laplace_pairs(distance: float) -> Attained:
    """The larger of two scores with noise whose difference has Laplace tails."""

    def chosen(x: float) -> float:
        return 1.0 - 0.5 * math.exp(-x) if x >= 0.0 else 0.5 * math.exp(max(x, -700.0))

    return pairs_of([(chosen(s * distance), chosen(s * distance - distance)) for s in _PLACES])


def two_laplace_pairs(distance: float) -> Attained:
    """The larger of the maxima of two kinds of scores, each with Laplace noise of its own.

    Several options of a kind have their largest noise where it falls, whichever of them has it, so
    that they tell more than one of each kind.
    """
    if distance > _FARTHEST:
        return pairs_of([])
    places = (0.0, 0.5 * distance, distance, -0.5, -1.5, -3.0, -7.0)
    return pairs_of(
        [
            (_largest(x, *kinds), _largest(x - distance, *kinds))
            for x, kinds in product(places, _KINDS)
        ]
    )


@lru_cache(maxsize=1024)
def _largest(x: float, ours: int, others: int) -> float:
    """P(the largest of so many, all x higher, exceeds the largest of others), Laplace noise.

    Between 0 and x, and on either side, it is a mean of sums of exponentials, which Gauss and
    Legendre's rule has to all digits in cells of the length 2; all of it is above 0.
    """
    ends = sorted({min(x, 0.0) - 40.0, min(x, 0.0), max(x, 0.0), max(x, 0.0) + 45.0})
    cells = [np.linspace(a, b, math.ceil((b - a) / 2.0) + 1)[:-1] for a, b in pairwise(ends)]
    edges = np.append(np.concatenate(cells), ends[-1])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    halves = np.diff(edges)[:, None] / 2.0
    at = edges[:-1, None] + halves * (1.0 + nodes)
    density, below = (0.5 * np.exp(-np.abs(at - place)) for place in (x, 0.0))
    lower = np.where(at > x, 1.0 - density, density) ** (ours - 1)
    chance = density * lower * np.where(at > 0.0, 1.0 - below, below) ** others
    return float(ours * np.sum(halves * weights * chance))


def pairs_of(
    found: Iterable[tuple[float, float]],  # Its probability on either data set
) -> Attained:
    """Pairs of two outcomes, from probabilities of the first; without those that are too far."""
    pairs = [
        (TwoOutcomes(first=first, second=second),)
        for first, second in found
        if _LEAST < second < first < 1.0
    ]
    return Attained(tuple(pairs) or ((),))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfScores(DescribedEvent):
    """An event about scores: every record of a group may move them as far, in one direction."""

    assumed = (SCORES,)
    groups_are_attained = True

    def in_groups(self, size: int) -> Event:
        """Scores that change by so many times their sensitivity."""
        event: Any = self
        name = "sensitivity" if hasattr(event, "sensitivity") else "epsilon"
        return replace(event, **{name: size * getattr(event, name)})  # type: ignore[no-any-return]


@event_class
class Exponential(OfScores):
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


@event_class
class PermuteAndFlip(OfScores):
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


NoiseOfMaximum = Literal["laplace", "gumbel", "exponential"]


@event_class
class ReportNoisyMax(OfScores):
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


NoiseOfTop = Literal["gumbel", "laplace"]


@event_class
class TopOptions(OfScores):
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


NoiseOfVotes = Literal["gaussian", "laplace"]
# A vote that leaves one class and joins another moves the histogram by the square root of 2.
_MOVED = math.nextafter(math.sqrt(2.0), 2.0)
_VOTES_APART = (0.5, 0.0, 1.0, 1.5, -1.0, 2.0)


@event_class
class TeacherVotes(DescribedEvent):
    """Labels by the noisy votes of teachers, each trained on its own part of the data: PATE.

    Released: for each of ``queries`` inputs the class with the most votes after noise was added to
    the votes of every class. What a teacher is trained on does not depend on other records, so that
    one record changes one teacher. With ``screening_noise_std`` an input is answered only if its
    largest number of votes, with Gaussian noise of that standard deviation, exceeds a threshold
    (Confident-GNMax); ``screened`` counts all inputs that were asked. Nothing is assumed of the
    votes themselves, so that the number is public.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.TeacherVotes(noise="gaussian", noise_scale=100.0, queries=1000)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
    1.76
    """

    mechanism: ClassVar[str] = "teacher_votes"
    assumed = ("which records a teacher is trained on does not depend on other records",)

    noise_scale: float = noise(
        "Standard deviation of Gaussian noise or scale of Laplace noise, in votes"
    )
    noise: NoiseOfVotes = choice("The distribution of the noise", NoiseOfVotes)
    queries: int = count("How many inputs are answered at most")
    screening_noise_std: float | None = declared(
        "Standard deviation of the noise of the largest number of votes, in votes",
        check=_validate.positive,
        accepted="above 0; by default every input is answered",
        default=None,
    )
    screened: int | None = declared(
        "How many inputs are screened",
        check=_validate.integer,
        accepted="at least queries, and given if screening_noise_std is",
        default=None,
    )

    def _check_together(self) -> None:
        if (self.screened is None) is not (self.screening_noise_std is None):
            condition = "to be given exactly if screening_noise_std is"
            raise _validate.fail("screened", condition, self.screened)
        if self.screened is not None and self.screened < self.queries:
            condition = f"to be at least queries = {self.queries}"
            raise _validate.fail("screened", condition, self.screened)

    def expand(self) -> Event:
        """All noisy votes, or the noisy maximum; and the largest number of votes."""
        votes: Event
        if self.noise == "gaussian":
            votes = Gaussian(noise_std=self.noise_scale, record_norm=_MOVED, record_diameter=_MOVED)
        else:
            votes = ReportNoisyMax(noise_scale=self.noise_scale, sensitivity=1.0, noise="laplace")
        answers: Event = Repeated(event=votes, count=self.queries)
        if self.screening_noise_std is None or self.screened is None:
            return answers
        # The largest number of votes changes by one at most.
        largest = Gaussian(noise_std=self.screening_noise_std, record_norm=1.0, record_diameter=1.0)
        return Composed(events=(answers, Repeated(event=largest, count=self.screened)))

    def attained_expansion(self) -> None:
        """Votes are not released."""
        return

    def attained(self, adjacency: Adjacency) -> Attained:
        """Two classes, between which one vote moves, where every input is answered."""
        if self.noise == "laplace":
            noisy = ReportNoisyMax(noise_scale=self.noise_scale, sensitivity=1.0, noise="laplace")
            pairs = noisy.attained(adjacency)
        else:
            moved = math.sqrt(2.0) / self.noise_scale
            pairs = pairs_of(
                [(_normal(s * moved), _normal(s * moved - moved)) for s in _VOTES_APART]
            )
        found: list[Losses] = [
            tuple(Several(loss=loss, count=self.queries) for loss in losses) for losses in pairs
        ]
        return Attained(tuple(found))


def _normal(x: float) -> float:
    """P(N(0, 1) < x)."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))
