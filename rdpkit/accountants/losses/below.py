r"""Epsilon and delta of a composition from below: proven, by a test that tells two data sets apart.

Guarantee
---------
Cut the line of each release into cells and give each an integer, a label: about the logarithm of
the ratio of its two probabilities in grid steps, rounded. The sum of all labels is a statistic of
the composition, and "the sum is at least m" an event A. Whatever the labels are,

    delta(epsilon) >= P(A) - e^epsilon Q(A),   epsilon(delta) >= log((P(A) - delta) / Q(A)),

P(A) from below and Q(A) from above: masses in balls, rounded to doubles on the safe side, sums with
a proven error (:mod:`rdpkit.numerics.fourier`). By Neyman and Pearson the best event is that the
loss exceeds epsilon; labels that are a little off make the test worse by a second-order term.

Source
------
Neyman and Pearson 1933; labels and enclosure: rdpkit, theory page "Certified loss distributions".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.losses.grid import (
    Grid,
    Indices,
    Tilted,
    Total,
    add_up,
    beyond,
    merged_labels,
)
from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.inversion import TAIL, Inversion, Line, Transformed, transformed
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.layout import Block, Layout, copies
from rdpkit.accountants.losses.steps import AnyStep
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.numerics.balls import float_above, float_below
from rdpkit.numerics.fourier import TINY, U, geometric

_BITS = 128
_SUM_BITS = 96
# Weights of masses are left out below this part of the largest one.
_SMALL = 2.0**-110


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of a line: labels, before and after rounding, and probabilities under both members."""

    labels: Indices
    exact: Array
    first: Sequence[arb]
    second: Sequence[arb]


def _cells(
    step: AnyStep, guide: Guide, edges: Indices, grid: Grid, *, between: bool = False
) -> _Cells:
    """The line in cells: around the edges and between them, or ``between`` them alone."""
    of_kind = kind_of(step).tails
    if of_kind is None or guide.places is None:
        raise TypeError(f"No pair of distributions is known for {step!r}.")
    # Cells end about where the loss is half-way between grid points, so that most cells have the
    # loss of one grid point. Floats suffice: cells with any ends give a valid bound.
    losses = (edges if between else np.append(edges[0] - 0.5, edges + 0.5)) * grid.step
    places = np.unique(np.interp(losses, guide.losses, guide.places))
    tails = of_kind(step)
    beyond = [(arb(1), arb(1)), *[tails(arb(place)) for place in places.tolist()]]
    first, second = (
        [left - right for left, right in zip(tail, [*tail[1:], arb(0)], strict=True)]
        for tail in zip(*beyond, strict=True)
    )
    exact = np.array([_loss(p, q) / grid.step for p, q in zip(first, second, strict=True)])
    if between:
        # The two cells without an end may have any label, and a far one takes a wide window.
        exact = np.clip(exact, edges[0], edges[-1])
    if not float(np.abs(exact).max()) < 2.0**62:
        raise NoLossDistributionError("The losses are too far apart for one grid.")
    labels = np.round(exact).astype(np.int64)
    return _Cells(labels=labels, exact=exact, first=first, second=second)


def _loss(first: arb, second: arb) -> float:
    """The logarithm of the ratio; 0 for cells too small to say."""
    return float((first / second).log()) if first > 0 and second > 0 else 0.0


def _drift(cells: _Cells, one: Tilted) -> float:
    """How far rounding the labels moves the tilted mean, in grid points."""
    weights = np.interp(cells.labels, one.indices, one.masses)
    # Cells with the same label are given the same weight, which is accurate enough here.
    whole = float(weights.sum())
    if not 0.0 < whole < math.inf:
        raise NoLossDistributionError("The probabilities of a test are beyond floats.")
    return float(np.dot(weights, cells.labels - cells.exact)) / whole


def _tilted(masses: Sequence[arb], labels: Indices, grid: Grid, *, above: bool) -> Tilted:
    """Masses of labels, rounded to one side."""
    rate = arb(grid.tilt) * arb(grid.step)
    tilted = [mass * (rate * int(k)).exp() for mass, k in zip(masses, labels, strict=True)]
    scale = float(sum(tilted, arb(0)).log().mid())
    shrink = (-arb(scale)).exp()
    rounded = float_above if above else float_below
    numbers = np.array([max(rounded(mass * shrink), 0.0) for mass in tilted])
    indices, where = np.unique(labels, return_inverse=True)
    together = np.zeros(indices.size)
    np.add.at(together, where, numbers)
    # The slack covers the rounding of a sum of positive doubles.
    slack = 2.0 * labels.size * U
    together *= 1.0 + slack if above else 1.0 - slack
    return Tilted(indices=indices, masses=together, scale=scale)


class Below:
    """A composition from below."""

    def __init__(
        self,
        layout: Layout,  # How it is computed; every step a pair of distributions
    ) -> None:
        bits = _BITS + math.ceil(max(-layout.saddle.log_delta, 0.0) / math.log(2.0))
        found: list[tuple[Block, _Cells]] = []
        with ctx.workprec(bits):
            for block in layout.blocks:
                fine = Grid(step=layout.grid.step / block.factor, tilt=layout.grid.tilt)
                between = layout.line is not None
                cells = _cells(block.step, block.guide, block.edges, fine, between=between)
                found.append((block, cells))
            self._tests: _TestsOnGrid | _TestsOnLine
            if layout.line is None:
                self._tests = _TestsOnGrid(layout, found)
            else:
                self._tests = _TestsOnLine(layout, layout.line, found)

    def prepare(self, epsilons: Sequence[float]) -> None:
        """Compute together what tests at several epsilons have in common."""
        if isinstance(self._tests, _TestsOnLine):
            for side in self._tests.sides:
                side.prepare(epsilons)

    def test(self, epsilon: float) -> tuple[arb, arb]:
        """Two probabilities of "the loss is about epsilon or more".

        From below under the first member of the pair, and from above under the second one.
        """
        with ctx.workprec(_SUM_BITS):
            return self._tests.test(self._tests.place(epsilon))

    def delta_at(self, epsilon: float) -> tuple[float, float]:
        """A lower bound on delta at an epsilon, and about what it would be without any slack."""
        with ctx.workprec(_SUM_BITS):
            growth = arb(epsilon).exp()

            def value(place: float, *, certain: bool = True) -> float:
                first, second = self._tests.test(place, certain=certain)
                return float_below(first - growth * second)

            best = self._best(value, self._tests.place(epsilon))
            found = min(max(value(best), 0.0), 1.0)
            return found, max(value(best, certain=False), found)

    def epsilon_at(self, delta: float) -> tuple[float, float]:
        """A lower bound on epsilon at a delta, and about what it would be without any slack."""
        with ctx.workprec(_SUM_BITS):
            target = arb(delta)
            span = self._tests.last - self._tests.first

            def value(place: float, *, certain: bool = True) -> float:
                first, second = self._tests.test(place, certain=certain)
                left = arb((first - target).lower())
                if left > 0 and second > 0:
                    return float_below((left / second).log())
                # The outcomes beyond this place have a probability below delta, so that the best
                # threshold is lower; or, far below the best one, doubles do not resolve it. These
                # values make the search go where neither holds.
                rough = self._tests.test(place, certain=False)[0]
                far = self._tests.last - place if rough > target else place - self._tests.first
                return -1e300 * (far + 0.01 * span) / (2.0 * span)

            best = self._best(value, self._tests.guess)
            found = max(value(best), 0.0)
            return found, max(value(best, certain=False), found)

    def _best(self, value: Callable[..., float], start: float) -> float:
        """About the best threshold: steps that grow uphill, then shrink; any one is valid."""
        first, last = self._tests.first, self._tests.last
        place = min(max(start, first), last)
        known: dict[float, float] = {}

        def at(k: float) -> float:
            if k not in known:
                known[k] = value(k)
            return known[k]

        # What is asked for first is where bounds on aliases are made sharp.
        at(place)
        width = self._tests.widest
        while width >= self._tests.least:
            for candidate in (place - width, place + width):
                if first <= candidate <= last and at(candidate) > at(place):
                    place = candidate
                    break
            else:
                width = self._tests.halved(width)
        return place


class _TestsOnGrid:
    """Tests by sums of labels on a grid."""

    least = 1  # The last step of a search for the best threshold; ``widest`` is the first one

    def __init__(self, layout: Layout, found: Sequence[tuple[Block, _Cells]]) -> None:
        self._window, self._format = layout.window, layout.format_
        self._step = layout.grid.step
        self._shift = 0
        sides: list[_Side] = []
        for above in (False, True):
            # Under the second member a loss has e^-loss times the mass, so the tilt that
            # centres it is larger by 1.
            tilt = layout.grid.tilt + (1.0 if above else 0.0)
            sides.append(self._side(found, tilt, above=above))
        self._sides = sides
        self.first, self.last = self._window.first, self._window.last
        self.widest = max(self._window.size // 16, 1)
        self.guess = round(layout.saddle.epsilon / self._step) + self._shift

    def place(self, epsilon: float) -> float:
        """The threshold at about an epsilon."""
        place = round(epsilon / self._step) + self._shift
        return min(max(place, self.first), self.last)

    def halved(self, width: float) -> float:
        """The next smaller step of a search."""
        return width // 2

    def test(self, place: float, *, certain: bool = True) -> tuple[arb, arb]:
        """Probabilities of a sum of at least ``place`` under both members."""
        first, second = [side.beyond(int(place), certain=certain) for side in self._sides]
        return first, second

    def _side(self, found: Sequence[tuple[Block, _Cells]], tilt: float, *, above: bool) -> _Side:
        parts: list[tuple[Tilted, int]] = []
        shift = 0.0
        for block, cells in found:
            fine = Grid(step=self._step / block.factor, tilt=tilt)
            masses = cells.second if above else cells.first
            one = _tilted(masses, cells.labels, fine, above=above)
            drift = _drift(cells, one)
            shift += drift * block.count / block.factor
            merge = partial(merged_labels, above=above)
            parts += copies(block, one, fine, merge, drift=drift, format_=self._format)
        if not above:
            # Labels are rounded, and so their sum is off by a multiple of the count.
            self._window = self._window.moved(round(shift))
            self._shift = round(shift)
        grid = Grid(step=self._step, tilt=tilt)
        total = add_up(parts, grid, self._window, format_=self._format)
        return _Side(total, grid, parts, above=above)


class _TestsOnLine:
    """Tests by sums of labels with some noise, from transforms; attributes as on a grid."""

    def __init__(self, layout: Layout, line: Line, found: Sequence[tuple[Block, _Cells]]) -> None:
        grids = [Grid(step=layout.grid.step, tilt=layout.grid.tilt + more) for more in (0.0, 1.0)]
        sides = [
            [
                (_tilted(masses, cells.labels, grid, above=above), block.count)
                for block, cells in found
                for masses in (cells.second if above else cells.first,)
            ]
            for grid, above in zip(grids, (False, True), strict=True)
        ]
        line = line.refitted(sides[0], grids[0], layout.saddle)
        parts: list[list[tuple[Transformed, int]]] = [[], []]
        for (one, count), (other, _) in zip(*sides, strict=True):
            for side, both in zip(parts, transformed([one, other], grids[0], line), strict=True):
                side.append((both, count))
        self.sides = [
            Inversion(side, grid, line, TAIL) for side, grid in zip(parts, grids, strict=True)
        ]
        self.guess = layout.saddle.epsilon
        self.widest, self.least = 0.5 * layout.saddle.deviation, 0.1 * line.deviation
        reach = math.pi / line.frequency
        self.first, self.last = self.guess - reach, self.guess + reach

    def place(self, epsilon: float) -> float:
        """The threshold at about an epsilon."""
        return epsilon

    def halved(self, width: float) -> float:
        """The next smaller step of a search."""
        return 0.5 * width

    def test(self, place: float, *, certain: bool = True) -> tuple[arb, arb]:
        """Probabilities of a sum of at least ``place`` under both members."""
        first, second = self.sides
        if not certain:
            return arb(first.at(place).mid()), arb(second.at(place).mid())
        return first.below(place), arb(second.at(place).upper())


class _Side:
    """Probabilities that the sum of labels is at least a threshold, from one side."""

    def __init__(
        self, total: Total, grid: Grid, parts: Sequence[tuple[Tilted, int]], *, above: bool
    ) -> None:
        self._total, self._grid, self._parts, self._above = total, grid, parts, above
        composition = total.composition
        self._rough = np.maximum(composition.masses, 0.0)
        self._masses = composition.above() if above else composition.below()
        with ctx.workprec(_SUM_BITS):
            rate = -arb(grid.tilt) * arb(grid.step)
            table = geometric(rate, total.window.size)
        self._weights = table * (1.0 + 8.0 * U if above else 1.0 - 8.0 * U)
        # Beyond these points weights are so small that all mass together is added in their place,
        # or none of it.
        small = _SMALL * float(self._weights.max())
        self._reach = int(np.flatnonzero(self._weights >= small)[-1]) + 1
        self._rest = 2.0 * small * float(self._masses.sum()) if above else 0.0
        self._wrapped: tuple[int, arb] | None = None

    def beyond(self, place: int, *, certain: bool = True) -> arb:
        """The probability that the sum is at least ``place``, a grid point of the window.

        If ``certain``, it is a bound from this side; otherwise it is the number that floats give.
        """
        window = self._total.window
        start = place - window.first
        masses = self._masses if certain else self._rough
        points = min(window.size - start, self._reach)
        # A product and a sum: the threads of a BLAS wait for each other on a busy machine.
        sum_ = float((self._weights[:points] * masses[start : start + points]).sum())
        rounding = 2.0 * (window.size + 8) * U
        rate = arb(self._grid.tilt) * arb(self._grid.step)
        factor = (self._total.scale - rate * place).exp()
        if not certain:
            return arb((factor * arb(sum_)).mid())
        if self._above:
            high = sum_ * (1.0 + rounding) + window.size * TINY + self._rest
            inside = factor * (arb(high) + arb(self._total.lost))
            return arb((inside + self._total.infinite).upper())
        # Mass that wrapped around from above the window may be in the sum, and is subtracted.
        low = arb(sum_ * (1.0 - rounding)) - arb(self._total.lost) - self._from_above(place)
        return arb((factor * low).lower())

    def _from_above(self, place: int) -> arb:
        """Bound on the tilted mass that is a whole window or more above a threshold.

        This mass falls as the threshold rises, so the bound for a lower threshold is used again.
        """
        if self._wrapped is None or place < self._wrapped[0]:
            edge = place + self._total.window.size
            self._wrapped = (place, beyond(self._parts, self._grid, edge, above=True))
        return self._wrapped[1]
