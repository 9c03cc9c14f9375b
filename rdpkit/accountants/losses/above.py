r"""Epsilon and delta of a composition from above: proven, by connecting the dots.

Guarantee
---------
The hockey-stick curve of each step is enclosed in balls at points of a grid of losses. Its chords
in e^loss lie above it, and belong to a discrete pair that dominates the step (Doroshenko et al.
2022); dominating pairs compose (Zhu, Dong and Wang 2022). Masses are rounded up to doubles, sums
have a proven error (:mod:`rdpkit.numerics.fourier`), and all that lies outside of the window is
added. So the delta at each grid point is an upper bound, and between grid points delta is convex in
e^epsilon, so that the chord is one, too.

Source
------
Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the dots", PoPETs 2022 (arXiv 2207.04380);
Zhu, Dong and Wang, AISTATS 2022 (arXiv 2106.08567); enclosure: rdpkit, theory page "Certified loss
distributions".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.losses.grid import Grid, Indices, Tilted, add_up, merged_above
from rdpkit.accountants.losses.guide import Array
from rdpkit.accountants.losses.inversion import DELTA, Inversion, Line, transformed
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.kinds.base import connected
from rdpkit.accountants.losses.layout import Block, Layout, copies
from rdpkit.accountants.losses.steps import AnyStep
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.numerics.balls import float_above, float_below
from rdpkit.numerics.fourier import TINY, U, geometric

_BITS = 96
_SHARP = 2.0**-30
_MOST_BITS = 1 << 12
# Weights of masses are left out below this part of the largest one.
_SMALL = 2.0**-110
# Steps of a search for an epsilon, and the accuracy of delta at which it ends.
_STEPS, _ENOUGH = 40, 1e-9


def dominating(
    step: AnyStep,  # One release
    edges: Indices,  # Ascending grid points, at least two
    grid: Grid,
    *,
    # Logarithm of the smallest probability that matters. It sets the precision, because some
    # heights are differences of larger numbers.
    log_least: float,
) -> Tilted:
    """The pair that connects the dots of a step's curve at grid points.

    Raises NoLossDistributionError if no precision makes the masses sharp.
    """
    # Masses are second differences, which lose twice as many digits as the cell width has.
    width = int(np.min(np.diff(edges))) * grid.step
    bits = _BITS + 2 * max(0, math.ceil(-math.log2(min(width, 1.0))))
    bits += math.ceil(max(-log_least, 0.0) / math.log(2.0))
    while bits <= _MOST_BITS:
        with ctx.workprec(bits):
            found = _connect(step, edges, grid)
        if found is not None:
            return found
        bits *= 2
    raise NoLossDistributionError(
        f"The privacy loss distribution of {step!r} would need more than {_MOST_BITS} bits."
    )


def _connect(step: AnyStep, edges: Indices, grid: Grid) -> Tilted | None:
    """The pair at the working precision; None where that does not suffice."""
    w, tilt = arb(grid.step), arb(grid.tilt)
    losses = [w * int(k) for k in edges]
    masses, infinite = connected(kind_of(step).curve(step, True), losses)
    tilted = [mass * (tilt * loss).exp() for mass, loss in zip(masses, losses, strict=True)]
    whole = sum(tilted, arb(0))
    if not whole > 0 or not whole.rad() < whole.mid() * _SHARP:
        return None
    scale = float(whole.log().mid())
    shrink = (-arb(scale)).exp()
    numbers = np.array([max(float_above(mass * shrink), 0.0) for mass in tilted])
    return Tilted(indices=edges, masses=numbers, scale=scale, infinite=infinite)


class Above:
    """A composition from above: delta at any epsilon, and the reverse."""

    _infinite: arb

    @property
    def infinite(self) -> float:
        """The mass of infinite losses, and of those that count as such, at most."""
        return float_above(self._infinite)

    def prepare(self, epsilons: Sequence[float]) -> None:
        """Compute together what deltas at several epsilons have in common."""

    def delta_at(self, epsilon: float) -> tuple[arb, arb]:
        """Delta at any epsilon: a lower bound for the sum as computed, and an upper bound."""
        raise NotImplementedError

    def delta_above(self, epsilon: float) -> arb:
        """Delta at any epsilon: the upper bound alone."""
        return self.delta_at(epsilon)[1]

    def epsilon_at(self, delta: float) -> tuple[float, float]:
        """Epsilon at a delta: a lower bound for the sum as computed, and an upper bound.

        The upper bound is infinite where so small a delta is not resolved.
        """
        raise NotImplementedError


def from_above(layout: Layout) -> Above:
    """A composition from above, on a grid or along a line."""
    found: list[tuple[Block, Tilted]] = []
    for block in layout.blocks:
        fine = Grid(step=layout.grid.step / block.factor, tilt=layout.grid.tilt)
        least = layout.saddle.log_delta - math.log(block.count)
        found.append((block, dominating(block.step, block.edges, fine, log_least=least)))
    return _OnGrid(layout, found) if layout.line is None else _OnLine(layout, layout.line, found)


class _OnLine(Above):
    """Delta by inversion of a transform."""

    def __init__(self, layout: Layout, line: Line, found: Sequence[tuple[Block, Tilted]]) -> None:
        copies_ = [(one, block.count) for block, one in found]
        line = line.refitted(copies_, layout.grid, layout.saddle)
        parts = [(transformed([one], layout.grid, line)[0], count) for one, count in copies_]
        self._inversion = Inversion(parts, layout.grid, line, DELTA)
        self._start, self._slope = layout.saddle.epsilon, layout.grid.tilt
        with ctx.workprec(_BITS):
            finite = sum([block.count * (-one.infinite).log1p() for block, one in found], arb(0))
            self._infinite = arb((-finite.expm1()).upper())

    def prepare(self, epsilons: Sequence[float]) -> None:
        self._inversion.prepare(epsilons)

    def delta_at(self, epsilon: float) -> tuple[arb, arb]:
        with ctx.workprec(_BITS):
            return self._inversion.below(epsilon), self.delta_above(epsilon)

    def delta_above(self, epsilon: float) -> arb:
        # Aliases only add to it.
        return arb((self._inversion.at(epsilon) + self._infinite).upper())

    def epsilon_at(self, delta: float) -> tuple[float, float]:
        with ctx.workprec(_BITS):
            target = arb(delta)
            if not self._infinite < target:
                return 0.0, math.inf
            high = self._crossing(self.delta_above, target, above=True)
            low = self._crossing(self._inversion.below, target, above=False, start=high)
            return low, high

    def _crossing(
        self, of: Callable[[float], arb], target: arb, *, above: bool, start: float = math.inf
    ) -> float:
        """Where a bound on delta is the target, at most or at least; infinity or 0 if nowhere."""

        def excess(x: float) -> float:
            found = of(x)
            return float((found / target).log().mid()) if found > 0 else -math.inf

        x = start if math.isfinite(start) else self._start
        slope, last, value = -self._slope, math.nan, math.nan
        for _ in range(_STEPS):
            now = excess(x)
            if not math.isfinite(now) or abs(now) < _ENOUGH or (x == 0.0 and now < 0.0):
                break
            if math.isfinite(last) and (now - value) * (x - last) < 0.0:
                slope = (now - value) / (x - last)
            last, value = x, now
            x = max(x - now / slope, 0.0)
        # From about there to where the bound is certainly on its side.
        step = (1.0 if above else -1.0) * max(_ENOUGH / abs(slope), 1e-15 * x)
        for _ in range(_STEPS):
            found = of(x)
            if found <= target if above else found > target:
                return x
            x = x + step
            if x <= 0.0 and not above:
                return 0.0
            step *= 4.0
        return math.inf if above else 0.0


class _OnGrid(Above):
    """Delta at any grid point, and what follows from it."""

    def __init__(self, layout: Layout, found: Sequence[tuple[Block, Tilted]]) -> None:
        self._grid, self._window = layout.grid, layout.window
        parts: list[tuple[Tilted, int]] = []
        for block, one in found:
            fine = Grid(step=self._grid.step / block.factor, tilt=self._grid.tilt)
            parts += copies(block, one, fine, merged_above, format_=layout.format_)
        total = add_up(parts, self._grid, self._window, format_=layout.format_)
        self._scale, self._lost, self._infinite = total.scale, total.lost, total.infinite
        self._masses = total.composition.below(), total.composition.above()
        self._weights = _weights(self._grid, self._window.size)
        # Beyond these points weights are so small that all mass together is added in their place.
        small = _SMALL * float(self._weights[1].max())
        self._reach = int(np.flatnonzero(self._weights[1] >= small)[-1]) + 1
        self._rest = 2.0 * small * float(self._masses[1].sum())
        self._known: dict[int, tuple[arb, arb]] = {}

    def _at(self, place: int) -> tuple[arb, arb]:
        """Lower and upper bound on the delta of the sum on the grid, at a point of the window.

        The upper one is also an upper bound on the delta of the composition.
        """
        known = self._known.get(place)
        if known is not None:
            return known
        start = place - self._window.first
        points = min(self._window.size - start, self._reach)
        low, high = [
            # A product and a sum: the threads of a BLAS wait for each other on a busy machine.
            float((weights[:points] * masses[start : start + points]).sum())
            for weights, masses in zip(self._weights, self._masses, strict=True)
        ]
        rounding = 2.0 * (self._window.size + 8) * U
        high = high * (1.0 + rounding) + self._window.size * TINY + self._rest
        with ctx.workprec(_BITS):
            factor = (self._scale - arb(self._grid.tilt) * arb(self._grid.step) * place).exp()
            below = factor * (arb(low * (1.0 - rounding)) - arb(self._lost))
            above = self._infinite + factor * (arb(high) + arb(self._lost))
            self._known[place] = arb(below.lower()), arb(above.upper())
        return self._known[place]

    def delta_at(self, epsilon: float) -> tuple[arb, arb]:
        with ctx.workprec(_BITS):
            w = arb(self._grid.step)
            place = math.floor(epsilon / self._grid.step)
            while w * place > epsilon:
                place -= 1
            while w * (place + 1) < epsilon:
                place += 1
            # Outside of the window there is no chord. Delta does not grow, so its end is a bound.
            if place < self._window.first:
                return self._at(self._window.first)[0], arb(1)
            if place >= self._window.last:
                return arb(0), self._at(self._window.last)[1]
            _, above = self._at(place)
            below, beyond = self._at(place + 1)
            # The chord in e^epsilon; the share of the right end is in [0, 1] up to rounding.
            share = (epsilon - w * place).expm1() / w.expm1()
            chord = above + share * (beyond - above)
            return below, arb(chord.upper())

    def epsilon_at(self, delta: float) -> tuple[float, float]:
        with ctx.workprec(_BITS):
            target = arb(delta)
            first = max(self._window.first, 0)
            if not self._infinite < target:
                return 0.0, math.inf
            good = self._first(target, first)
            if good is None:
                return 0.0, math.inf
            w = arb(self._grid.step)
            if good == first:
                return 0.0, 0.0 if first == 0 else float_above(w * first)
            exceeding = self._exceeding(target, first, good)
            least = arb(0) if exceeding is None else w * exceeding
            above, below = self._at(good - 1)[1], self._at(good)[1]
            share = (above - target) / (above - below)
            value = w * (good - 1) + (share * w.expm1()).log1p()
            return max(float_below(least), 0.0), min(float_above(value), float_above(w * good))

    def _first(self, target: arb, first: int) -> int | None:
        """The first grid point at which delta is certainly at most the target."""
        if self._at(first)[1] <= target:
            return first
        low, high = first, self._window.last
        if not self._at(high)[1] <= target:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._at(middle)[1] <= target else (middle, high)
        return high

    def _exceeding(self, target: arb, first: int, good: int) -> int | None:
        """About the last grid point before ``good`` at which delta is certainly above the target.

        Sums lose digits where delta is tiny, so this point may be thousands of grid points away.
        The distance is doubled until such a point is found, and then bisected.
        """
        high, low = good, good - 1
        while not self._at(low)[0] > target:
            if low == first:
                return None
            high, low = low, max(first, 2 * low - good)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._at(middle)[0] > target else (low, middle)
        return low


def _weights(grid: Grid, size: int) -> tuple[Array, Array]:
    """(1 - e^(-j w)) e^(-t j w) for j below ``size``, rounded down and up."""
    with ctx.workprec(_BITS):
        w = arb(grid.step)
        gains = 1.0 - geometric(-w, size)
        few = min(size, 512)
        gains[:few] = [float(-((-w * j).expm1())) for j in range(few)]
        decay = geometric(-w * arb(grid.tilt), size)
        # Beyond the first few, 1 - e^(-j w) is a difference, whose relative error is 5 u over it.
        off = 5.0 * U / float(gains[few - 1]) if size > few else 0.0
    found = gains * decay
    margin = off + 16.0 * U
    return found * (1.0 - margin), found * (1.0 + margin)
