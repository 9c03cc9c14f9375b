r"""Distributions on a grid of losses, tilted, and what is known of their sums for certain.

A :class:`Tilted` distribution holds numbers a_k; the mass at the loss k w is a_k e^(c - t k w), w
the grid step, t the tilt, c a scale. All three are floats and taken for exact. Tilting moves the
part of a composition that matters, however small its probability, to where most of the a_k are, so
that doubles have room for it; and it commutes with adding independent losses.

Sums are computed modulo a window of N grid points. What lies outside of the window, in the sum or
in a part of it that was summed first, is bounded by Chernoff's inequality. Above the last
window it is kept as a probability, in ``infinite``, as if the loss was infinite. Elsewhere it is
kept in ``lost`` as a part of the tilted mass: since losses add up, the probability that such a part
ends up beyond a loss x is at most e^(c - t x) times it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.losses.guide import Array, lowest
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.numerics.balls import float_above, float_below
from rdpkit.numerics.fourier import DOUBLE, TINY, Composition, Factor, Format, U, compose, geometric

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]
_BITS = 96
# Points are looked up in a table of all between them, unless that is so many times as long.
_SPARSE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tilted:
    """A distribution on a grid."""

    indices: Indices  #: Shape (k,): grid points, ascending
    masses: Array  #: Shape (k,): tilted masses, finite and >= 0, taken as exact
    scale: float  #: c, for one copy
    lost: float = 0.0  #: Tilted mass that is somewhere else, at most
    infinite: arb = arb(0)  # noqa: RUF009
    """Probability of a loss that is larger than any on the grid, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What all distributions that are added up share."""

    step: float  # w
    tilt: float  # t


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Grid points from ``first`` on, ``size`` of them (a power of two)."""

    first: int
    size: int

    @property
    def last(self) -> int:
        """The last grid point."""
        return self.first + self.size - 1

    def moved(self, places: int) -> Window:
        """The window so many grid points further up."""
        return Window(first=self.first + places, size=self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A sum of independent losses on a window."""

    composition: Composition  # Tilted masses, from the window's first grid point on
    window: Window
    scale: arb  # The sum of all scales
    lost: float  # Tilted mass that lies outside of the window, or of one before, at most
    infinite: arb  # Probability of a loss above the window, at most


def add_up(
    parts: Sequence[tuple[Tilted, int]],  # At least one
    grid: Grid,  # The grid that they are on
    window: Window,  # Where the sum is wanted
    *,
    # Whether nothing is added to the sum any more. Then a loss above the window is as good as
    # infinite; before, it may still be brought down.
    last: bool = True,
    format_: Format = DOUBLE,  # The format of floats of the transforms
) -> Total:
    """The sum of independent copies of distributions, each so many times."""
    factors = []
    for part, count in parts:
        folded = np.zeros(window.size)
        np.add.at(folded, part.indices % window.size, part.masses)
        factors.append(Factor(masses=folded, count=count))
    if len(factors) == 1 and factors[0].count == 1:
        found = Composition(masses=factors[0].masses, error=0.0)
    else:
        try:
            found = compose(factors, format_)
        except ArithmeticError as error:
            raise NoLossDistributionError(
                f"A privacy loss distribution is beyond floats: {error}"
            ) from None
    # Folding into the window adds masses, and each such sum is rounded a few times.
    folds = max([1 + int(part.indices[-1] - part.indices[0]) // window.size for part, _ in parts])
    many = sum([count for _, count in parts])
    off = found.error
    if folds > 1:
        off += math.expm1(1.01 * folds * U * many) * float(np.max(found.masses) + off)
    rolled = np.roll(found.masses, -(window.first % window.size))
    log_total = math.fsum(
        [
            count * math.log(_up(float(part.masses.sum()) + part.lost, part.masses.size))
            for part, count in parts
        ]
    )
    growth = math.exp(min(log_total + 1e-9 * abs(log_total) + 1e-12, 700.0))
    missing = math.fsum([count * part.lost for part, count in parts]) * growth
    below = beyond(parts, grid, window.first, above=False)
    with ctx.workprec(_BITS):
        scale = sum([count * arb(part.scale) for part, count in parts], arb(0))
        finite = sum([count * (-part.infinite).log1p() for part, count in parts], arb(0))
        above = beyond(parts, grid, window.last, above=True)
        over = arb(0)
        if last:
            over = above * (scale - arb(grid.tilt) * arb(grid.step) * window.last).exp()
        infinite = arb((over - finite.expm1()).upper())
        lost = missing + float_above(below if last else below + above)
    return Total(
        composition=Composition(masses=rolled, error=off),
        window=window,
        scale=scale,
        lost=lost * (1.0 + 1e-9),
        infinite=infinite,
    )


def _up(value: float, terms: int) -> float:
    """A float sum of positive terms, rounded up by all that it may have lost."""
    return value * (1.0 + 2.0 * (terms + 4) * U)


def beyond(parts: Sequence[tuple[Tilted, int]], grid: Grid, edge: int, *, above: bool) -> arb:
    """Tilted mass of the sum beyond a grid point: Chernoff's inequality, rounded up."""
    sign = 1 if above else -1
    ends = [int(part.indices[-1] if above else part.indices[0]) for part, _ in parts]
    if sign * edge >= sum(
        [count * sign * end for (_, count), end in zip(parts, ends, strict=True)]
    ):
        return arb(0)
    rate = _best_rate(parts, edge, sign)
    # Exponents are measured from the far ends, so that none of them is above 0.
    exponent = arb(0)
    distance = -edge
    for (part, count), end in zip(parts, ends, strict=True):
        offsets = np.abs(part.indices - end)
        inner = float(np.dot(part.masses, _falling(arb(rate), offsets)))
        inner = _up(inner, part.masses.size) * (1.0 + 8.0 * U) + part.masses.size * TINY
        exponent += count * arb(inner).log()
        distance += count * end
    exponent += arb(rate) * sign * distance
    return arb(exponent.exp().upper())


def _falling(rate: arb, offsets: Indices) -> Array:
    """e^(-rate k) for integers k, as accurate as :func:`rdpkit.numerics.fourier.geometric`."""
    size = int(offsets.max()) + 1
    if size <= _SPARSE * offsets.size:
        return geometric(-rate, size)[offsets]
    # A table of all that lies between a few far ones could be of any size.
    with ctx.workprec(_BITS):
        return np.array([float((-rate * int(k)).exp()) for k in offsets])


def _best_rate(parts: Sequence[tuple[Tilted, int]], edge: int, sign: int) -> float:
    """The rate, per grid point, at which Chernoff's bound is about least, by floats."""
    logs = []
    mean = variance = 0.0
    for part, count in parts:
        total = float(part.masses.sum())
        places = part.indices.astype(np.float64)
        middle = float(np.dot(part.masses, places)) / total
        mean += count * middle
        variance += count * float(np.dot(part.masses, (places - middle) ** 2)) / total
        with np.errstate(divide="ignore"):
            logs.append((np.log(part.masses), sign * places, count))
    room = sign * (edge - mean)

    def bound(log_rate: float) -> float:
        rate = math.exp(min(log_rate, 700.0))
        value = -rate * sign * edge
        for log_masses, places, count in logs:
            with np.errstate(over="ignore", invalid="ignore"):
                exponents = log_masses + rate * places
                top = float(exponents.max())
                total = float(np.exp(exponents - top).sum())
            if not (math.isfinite(top) and total > 0.0):
                return math.inf
            value += count * (top + math.log(total))
        return value

    start = math.log(max(room, math.sqrt(variance), 1.0) / max(variance, 1.0))
    return math.exp(lowest(bound, start, width=1.0, rounds=40))


def merged_above(total: Total, grid: Grid, factor: int) -> Tilted:
    """The sum on a grid ``factor`` times as coarse, dominated by what is returned.

    Each mass is split between the two coarse points beside it, such that both members of the pair
    keep theirs: a spread of the ratio that keeps its mean.
    """
    up, down = _split(grid, factor)
    masses = total.composition.above()
    first = total.window.first // factor
    before = total.window.first - first * factor
    rows = -(-(before + masses.size) // factor)
    padded = np.zeros(rows * factor)
    padded[before : before + masses.size] = masses
    table = padded.reshape(rows, factor)
    coarse = np.zeros(rows + 1)
    coarse[:-1] += table @ down
    coarse[1:] += table @ up
    coarse *= 1.0 + 2.0 * (factor + 8) * U
    return _contiguous(coarse, first, total, above=True)


def _split(grid: Grid, factor: int) -> tuple[Array, Array]:
    with ctx.workprec(_BITS + 64):
        w, t = arb(grid.step), arb(grid.tilt)
        whole = -((-factor * w).expm1())
        up, down = [], []
        for j in range(factor):
            share = -((-j * w).expm1()) / whole
            up.append(float_above(share * (t * (factor - j) * w).exp()))
            down.append(float_above((1 - share) * (-t * j * w).exp()))
    up[0] = 0.0
    return np.array(up), np.array(down)


def merged_labels(
    total: Total,  # What was added up
    grid: Grid,
    factor: int,  # How many times as coarse the new one is
    *,
    above: bool,  # Whether masses are rounded up or down
) -> Tilted:
    """The sum with every label rounded to the nearest multiple of ``factor``."""
    half = factor // 2
    with ctx.workprec(_BITS):
        rate = arb(grid.tilt) * arb(grid.step)
        weights = np.array([float((rate * (half - j)).exp()) for j in range(factor)])
    masses = total.composition.above() if above else total.composition.below()
    start = total.window.first + half
    first = start // factor
    before = start - first * factor
    rows = -(-(before + masses.size) // factor)
    padded = np.zeros(rows * factor)
    padded[before : before + masses.size] = masses
    coarse = padded.reshape(rows, factor) @ weights
    rounding = 2.0 * (factor + 8) * U
    coarse = coarse * (1.0 + rounding if above else 1.0 - rounding)
    # Mass that counts as lost has a label, too, which may be rounded up by half of the factor.
    with ctx.workprec(_BITS):
        grown = float_above((rate * factor / 2).exp())
    return _contiguous(coarse, first, replace(total, lost=total.lost * grown * 1.001), above=above)


def _contiguous(masses: Array, first: int, total: Total, *, above: bool) -> Tilted:
    scale = float(total.scale.mid())
    with ctx.workprec(_BITS):
        # The scale of a distribution is a float, so its rounding error goes into the masses.
        rest = (total.scale - arb(scale)).exp()
    if above:
        masses = masses * (float_above(rest) * (1.0 + 4.0 * U))
    else:
        masses = masses * (float_below(rest) * (1.0 - 4.0 * U))
    return Tilted(
        indices=np.arange(first, first + masses.size, dtype=np.int64),
        masses=masses,
        scale=scale,
        lost=total.lost,
        infinite=total.infinite,
    )
