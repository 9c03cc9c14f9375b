"""The first of several runs whose output is good enough: selection with a known threshold."""

from __future__ import annotations

import math
from typing import ClassVar

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import released_counts
from rdpkit.events.fields import declared, event_class, part
from rdpkit.events.free_parameters import number
from rdpkit.events.losses import Attained, Dominating
from rdpkit.events.pairs import BoundedRange, LaplacePair, StatedPair
from rdpkit.events.selection.cells import BITS, Cells, cells_of, outcomes_of


def _stopping(name: str, value: object) -> float:
    return _validate.positive(name, _validate.probability(name, value))


@event_class
class FirstAboveThreshold(Event):
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
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = (
        "the number of runs, and the outputs of runs that were not released, stay secret",
        "what is good enough does not depend on the data except through the output",
    )

    event: Event = part("One run")
    stopping_probability: float = declared(
        "Probability of an end after each run that was not good enough",
        check=_stopping,
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
