"""The votes of teachers that were trained on disjoint parts of the data: PATE."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.composition import Composed, Repeated
from rdpkit.events.fields import choice, count, declared, event_class, noise
from rdpkit.events.gaussian import Gaussian
from rdpkit.events.losses import Attained, Losses, Several
from rdpkit.events.selection.scores import ReportNoisyMax, pairs_of

Noise = Literal["gaussian", "laplace"]
# A vote that leaves one class and joins another moves the histogram by the square root of 2.
_MOVED = math.nextafter(math.sqrt(2.0), 2.0)
_PLACES = (0.5, 0.0, 1.0, 1.5, -1.0, 2.0)


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
    noise: Noise = choice("The distribution of the noise", Noise)
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
            pairs = pairs_of([(_normal(s * moved), _normal(s * moved - moved)) for s in _PLACES])
        found: list[Losses] = [
            tuple(Several(loss=loss, count=self.queries) for loss in losses) for losses in pairs
        ]
        return Attained(tuple(found))


def _normal(x: float) -> float:
    """P(N(0, 1) < x)."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))
