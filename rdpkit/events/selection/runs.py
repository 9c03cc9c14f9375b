"""One output of several runs: the best of a random number, or the first that is good enough."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.cells import BITS, Cells, cells_of, outcomes_of
from rdpkit.events.composition import released_counts
from rdpkit.events.fields import declared, event_class, part
from rdpkit.events.free_parameters import SMALLEST, FreeParameter, number
from rdpkit.events.losses import Attained, Dominating
from rdpkit.events.pairs import BoundedRange, LaplacePair, StatedPair
from rdpkit.numerics.number_of_runs import mean_of_power

_LARGEST_SHAPE = 1e100
# Of distributions of larger shapes, but the Poisson one, balls are too wide.
_LARGEST_KNOWN = 1e3


def _shape(name: str, value: object) -> float:
    found = _validate.above(name, value, -1.0)
    if _LARGEST_SHAPE < found < math.inf:
        raise _validate.fail(name, f"to be at most {_LARGEST_SHAPE:g}, or inf", value)
    return found


def _mean(event: RepeatAndSelect) -> FreeParameter:
    return number(-1, lowest=1.0 if math.isfinite(event.shape) else SMALLEST, role="count")


@event_class
class RepeatAndSelect(DescribedEvent):
    """The best output of a random number of runs, as when hyperparameters are tuned.

    The event is run K times with fresh randomness, where K is drawn from the distribution that
    ``shape`` and ``mean`` name, and stays secret. Released: the best of the K outputs by an order
    of all outputs that is fixed in advance (a score is part of the output), and nothing else. If K
    is 0, which happens for ``shape`` inf alone, something is released that depends on no record.
    Different candidates, such as hyperparameters, are drawn at random within a run.

    Examples
    --------
    >>> import rdpkit
    >>> run = rdpkit.Gaussian(noise_std=10.0, record_norm=1.0)
    >>> event = rdpkit.RepeatAndSelect(event=run, mean=20.0, shape=0.0)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.629
    """

    mechanism: ClassVar[str] = "repeat_and_select"
    assumed = (
        "the number of runs, and the outputs of runs that were not selected, stay secret",
        "the order by which the best output is selected does not depend on the data except "
        "through the outputs",
    )

    event: Event = part("One run")
    mean: float = declared(
        "Mean number of runs: at least 1, or above 0 if ``shape`` is inf",
        check=_validate.positive,
        free=_mean,
    )
    shape: float = declared(
        "Of the distribution of the number of runs. 1: geometric. 0: logarithmic. Another number "
        "above -1: truncated negative binomial. inf: Poisson",
        check=_shape,
    )

    def attained(self, adjacency: Adjacency) -> Attained:
        """The cell of the best output, where cells that say little are best, and then by loss.

        An output that is telling tells more if what is better is rarer than on the other data set.
        """
        found: list[Cells] = []
        if self.shape <= _LARGEST_KNOWN or math.isinf(self.shape):
            for cells in cells_of(self.event, adjacency):
                with ctx.workprec(BITS):
                    size = len(cells)
                    for last in (0, *range(size // 2, size + 1)):
                        found.append(self._best_of([*cells[last:][::-1], *cells[:last]]))
        if not found:
            raise self._no_losses(adjacency)
        return outcomes_of(found)

    def _best_of(self, cells: Cells) -> Cells:
        """The best of the runs, the first cell being the best one."""
        ends = [(arb(1), arb(1))]
        for p, q in cells:
            ends.append((ends[-1][0] - p, ends[-1][1] - q))
        powers = [
            [mean_of_power(s.max(arb(0)), self.mean, self.shape) for s in both] for both in ends
        ]
        best = [(a[0] - b[0], a[1] - b[1]) for a, b in pairwise(powers)]
        # Without a run something is released that depends on no record.
        none = (arb(-self.mean).exp(),) * 2
        return [*best, none] if math.isinf(self.shape) else best

    def _check_together(self) -> None:
        if math.isfinite(self.shape) and self.mean < 1.0:
            raise _validate.fail("mean", "to be at least 1 unless shape is inf", self.mean)


@event_class
class FirstAboveThreshold(DescribedEvent):
    """The first output of a series of runs that is good enough, by a threshold that is known.

    The event is run with fresh randomness until its output is good enough, which a fixed rule
    decides from the output alone (a score is part of the output). After each run that was not, all
    ends with the probability ``stopping_probability``. Released: the output that was good enough,
    or that there was none, and not the number of runs. This costs about twice what one run does,
    instead of three times as for the best of a geometric number of runs.

    Examples
    --------
    >>> import rdpkit
    >>> run = rdpkit.EpsilonDelta(epsilon=0.5, delta=0.0, adjacency="add_or_remove_one")
    >>> event = rdpkit.FirstAboveThreshold(event=run, stopping_probability=0.01)
    >>> round(rdpkit.epsilon(event, delta=0.0, adjacency="add_or_remove_one").epsilon, 3)
    1.0
    """

    mechanism: ClassVar[str] = "first_above_threshold"
    assumed = (
        "the number of runs, and the outputs of runs that were not released, stay secret",
        "what is good enough does not depend on the data except through the output",
    )

    event: Event = part("One run")
    stopping_probability: float = declared(
        "Probability of an end after each run that was not good enough",
        check=lambda name, value: _validate.positive(name, _validate.probability(name, value)),
        accepted="in (0, 1]",
        free=number(1, highest=1.0),
    )

    # What the theorem on the best of several runs calls them: it holds here with these.
    shape: ClassVar[float] = 0.0

    @property
    def mean(self) -> float:
        """The largest mean number of runs, rounded up."""
        return math.nextafter(1.0 / self.stopping_probability, math.inf)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """With losses of one run in [-l, l], those of all lie in a range of 2 l."""
        total = 0.0
        for leaf, count in released_counts(self.event).items():
            for loss in leaf.dominating(adjacency):
                match loss:
                    case StatedPair(epsilon=largest, delta=0.0):
                        total += count * largest
                    case LaplacePair(distance=largest) | BoundedRange(epsilon=largest):
                        total += count * largest
                    case _:
                        raise self._no_losses(adjacency)
        if total == 0.0:
            return Dominating(())
        return Dominating((BoundedRange(epsilon=2.0 * total * (1.0 + 64 * math.ulp(1.0))),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """Cells of one run that tell most in either way are good enough, and no others."""
        found: list[Cells] = []
        for cells in cells_of(self.event, adjacency):
            size = len(cells)
            with ctx.workprec(BITS):
                for first in range(1, size // 2 + 1, max(1, size // 24)):
                    for last in (size, size - size // 8, size - size // 4, (size + 1) // 2):
                        found.append(self._until(cells[:first] + cells[last:]))
        if not found:
            raise self._no_losses(adjacency)
        return outcomes_of(found)

    def _until(self, good: Cells) -> Cells:
        """The cell of what is released, and the end without it."""
        stop = arb(self.stopping_probability)
        sides: list[list[arb]] = []
        for side in (0, 1):
            whole = sum([one[side] for one in good], arb(0))
            ended = stop + (1 - stop) * whole
            sides.append([*[one[side] / ended for one in good], stop * (1 - whole) / ended])
        return list(zip(*sides, strict=True))
