"""How a composition is computed: tilt, grid, cells, window and cost, all chosen in floats.

Every choice gives a valid bound. Choices are made so that the discretisation moves epsilon by about
``ACCURACY`` of it, with as few evaluations in balls and as short transforms as that takes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from rdpkit import _validate
from rdpkit.accountants.losses.grid import Grid, Indices, Tilted, Total, Window, add_up
from rdpkit.accountants.losses.guide import RARE, Guide, Saddle, Sum, estimated_epsilon, saddle
from rdpkit.accountants.losses.inversion import Line
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.steps import AnyStep, Releases
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.numerics.fourier import DOUBLE, Format, extended

ACCURACY = 1e-4
"""The relative error of epsilon that discretisation may cause, about."""
# The part of the tilted mass, over all releases, that may be moved up to the lowest grid point.
_LOWER_END = 1e-8
# The smallest window, and the largest one that is used without looking for stages that cost less.
_SMALLEST, _SINGLE = 1 << 8, 1 << 17
# The window of a sum in stages, and the largest factor between its last grid and a finer one.
_FINAL, _MOST_FACTOR = 1 << 17, 1 << 14
_MOST_CELLS = 20_000
_ROUNDS, _GUESSES = 3, 60
# Deltas below e^-240, about 1e-104, are not told apart.
_LEAST_LOG_DELTA = -240.0
# The widest cell, in units of 1 / (tilt + 1).
_WIDEST = 0.1
# The relative error of delta that is accepted, over that of epsilon.
_DELTA_OVER_EPSILON = 10.0
# Discretisation never adds more than this part to the variance.
_MOST_INFLATION = 0.01
# Losses on a line are integers of so many binary digits, and closer than this they count as equal.
_DIGITS, _EQUAL = 48, 1 << 20
# Where single losses make up delta, cells are fine in this range, in units of epsilon.
_JUMP = (0.7, 1.4)
# The part of delta that several deltas may lose because they share a layout.
_SMALL_ERROR = 5e-4
# An estimate of epsilon above this part of the one before is good enough.
_NEAR = 0.85
# A line that takes less time than this, in seconds, is not compared with a grid.
_SHORT = 3.0
# Estimated cost of a cell in ball arithmetic, and of a point of a transform and its power.
_SECONDS_PER_CELL, _SECONDS_PER_POINT, _BYTES_PER_POINT = 5e-5, 3e-7, 200
# The same of a value of a transform along a line, and of one loss at one frequency.
_SECONDS_PER_VALUE, _SECONDS_PER_TURN = 1.5e-5, 1e-8
# How much slower transforms with more digits are.
_SLOWER = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """How the copies of one step are summed."""

    step: AnyStep
    guide: Guide  # Where its losses are
    count: int  # How many copies
    edges: Indices  # Grid points that separate its losses into cells
    factor: int = 1  # The step of the layout's grid, over the step of this block's finer grid
    block: int = 1  # How many copies are summed on the fine grid; 1 if there is no fine grid
    # The windows on the fine grid: for the sum of ``block`` copies, and for the copies that are
    # left over.
    window: Window | None = None
    rest_window: Window | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All choices for one composition."""

    saddle: Saddle  # The tilt, and about the epsilon and delta in question
    grid: Grid  # The grid of the whole sum
    window: Window  # The window of the whole sum, on that grid
    blocks: tuple[Block, ...]  # How each step is summed
    format_: Format = DOUBLE  # The format of floats of the transforms
    line: Line | None = None
    """Where the transform of the sum is inverted, if it is not put onto a grid. The grid is then
    one of floats, and the window is not used.
    """

    def in_more_digits(self) -> Layout | None:
        """The same with more digits than doubles have, if that is possible within the limits."""
        more = extended()
        if self.line is not None:
            if self.line.in_balls:
                return None
            found = replace(self, line=replace(self.line, in_balls=True))
        elif more is None or self.format_ is more:
            return None
        else:
            found = replace(self, format_=more)
        return found if _excess(found) is None else None

    def is_fine_for(self, epsilon: float) -> bool:
        """Whether a delta at another epsilon is about as accurate as with a layout of its own."""
        guides = tuple([(block.guide, block.count) for block in self.blocks])
        at = saddle(Sum(parts=guides), log_delta=None, epsilon=epsilon)
        steepness = max(_steepness(guides, at), 1e-9)
        own = _budget(at, ACCURACY, steepness, delta_asked=True)
        added = self._added(at.tilt)
        if at.tilt * at.deviation < 1.0:
            # Among the usual sums noise is small where it adds little to their variance.
            return added <= 4.0 * _SMALL_ERROR * at.deviation**2
        return added <= own + 2.0 * _SMALL_ERROR / (steepness * (steepness + 1.0))

    @property
    def is_fine(self) -> bool:
        """Whether discretisation moves the epsilon in question by about ``ACCURACY``, or less."""
        guides = tuple([(block.guide, block.count) for block in self.blocks])
        own = _budget(self.saddle, ACCURACY, _steepness(guides, self.saddle), delta_asked=False)
        return not self.in_stages and self._added(self.saddle.tilt) <= 2.0 * own

    def _added(self, tilt: float) -> float:
        """What the discretisation adds to the variance of the tilted sum."""
        added = 0.0 if self.line is None else self.line.deviation**2
        for block in self.blocks:
            ends = np.asarray(block.edges * self.grid.step, dtype=np.float64)
            added += block.count * block.guide.spread(tilt, ends)
        return added

    @property
    def in_stages(self) -> bool:
        """Whether some copies are summed before others are added."""
        return any(block.window is not None for block in self.blocks)

    def cost(self) -> tuple[float, float]:
        """Seconds and bytes, estimated."""
        cells = sum([block.edges.size for block in self.blocks])
        if self.line is not None:
            values = self.line.count * len(self.blocks)
            turns = self.line.count * cells
            turn = _SECONDS_PER_TURN * (_SLOWER if self.line.in_balls else 1.0)
            return (
                cells * _SECONDS_PER_CELL + values * _SECONDS_PER_VALUE + turns * turn,
                100.0 * (values + math.sqrt(self.line.count) * cells),
            )
        sizes = [self.window.size * (1 + len(self.blocks))]
        for block in self.blocks:
            sizes += [w.size for w in (block.window, block.rest_window) if w is not None]
        points = sum([2.0 * size * size.bit_length() / 20.0 for size in sizes])
        seconds = cells * _SECONDS_PER_CELL + points * _SECONDS_PER_POINT
        size = max(self.window.size, *sizes[1:], 1) * _BYTES_PER_POINT
        if self.format_ is not DOUBLE:
            seconds, size = _SLOWER * seconds, 2 * size
        return seconds, size


def arrange(
    releases: Releases,  # Steps with counts, at least one
    *,
    # What is given. With both, epsilon is asked about and delta is what is expected there.
    delta: float | None,
    epsilon: float | None,
    around: float | None = None,  # About the epsilon at ``delta``, if known
    accuracy: float = ACCURACY,  # About how far epsilon may move, relative to it
    # Whether all copies go into one transform, however long it is. Where losses are rare and large
    # this is more accurate than a sum in stages.
    at_once: bool = False,
) -> Layout:
    """The layout for a question about a composition.

    Raises NoLossDistributionError if the grid would have to be larger than is ever computed.
    """
    log_delta = None if delta is None else math.log(delta)
    guides, at = _guides(releases, log_delta, epsilon, around)
    if log_delta is not None and epsilon is None and around is None:
        at = _centred(Sum(parts=guides), at)
    total_count = sum([count for _, count in releases])
    if not (math.isfinite(at.epsilon) and math.isfinite(at.tilt) and math.isfinite(at.deviation)):
        raise NoLossDistributionError("The losses are too large for privacy loss distributions.")
    steepness = _steepness(guides, at)
    budget = _budget(at, accuracy, steepness, delta_asked=epsilon is not None)
    low, high, wrapping = Sum(parts=guides).ends(at, 1)
    # Mass that wraps around from above the window must end up below epsilon.
    span = max(high - low, wrapping - at.epsilon)
    atoms = [atom for step, _ in releases for atom in kind_of(step).atoms(step).tolist()[-1:]]
    last = max(atoms, default=0.0)

    jump = math.sqrt(2.0 * budget) if steepness > at.tilt else None
    line = _on_a_line(releases, guides, at, budget, jump)
    if line is not None and _excess(line) is None and (line.cost()[0] < _SHORT or at_once):
        return line

    def with_window(step: float, size: int, *, staged: bool) -> Layout:
        if last > step:
            # The largest loss with a probability of its own is put on a grid point, or just before
            # it, although it may have a few roundings: the step is a little larger than it need be.
            step = last / math.ceil(last / step) * (1.0 + 64.0 * math.ulp(1.0))
        grid = Grid(step=step, tilt=at.tilt)
        share, staged_at = budget / len(releases), at if staged else None
        blocks = [
            _block(one, found, count, grid, share, staged_at=staged_at)
            for (one, _), (found, count) in zip(releases, guides, strict=True)
        ]
        window = Window(first=math.floor(low / step) - 1, size=size)
        return Layout(saddle=at, grid=grid, window=window, blocks=tuple(blocks))

    # The widest of many steps that add no more than half of the budget to the variance.
    step = math.sqrt(6.0 * (0.5 * budget) / total_count)
    while 2.0 * step <= span / _SMALLEST:
        if math.fsum([n * g.inflation(at.tilt, 2.0 * step) for g, n in guides]) > 0.5 * budget:
            break
        step *= 2.0
    found = with_window(step, _size(span / step), staged=False)
    if found.window.size > _SINGLE and len(releases) < total_count and not at_once:
        # Sums of blocks that go onto a coarser grid have shorter transforms where counts are large,
        # unless single losses are as large as their sum.
        in_stages = with_window(span / (0.98 * _FINAL), _FINAL, staged=True)
        if in_stages.cost()[0] < found.cost()[0]:
            found = in_stages
    if line is not None and line.cost()[0] < found.cost()[0]:
        found = line
    excess = _excess(found)
    if excess is not None:
        raise NoLossDistributionError(excess)
    return found


def _on_a_line(
    releases: Releases, guides: _Guides, at: Saddle, budget: float, jump: float | None
) -> Layout | None:
    """The layout for an inversion along a line; None where losses have atoms.

    Noise of variance v adds v to the variance of the sum, so that it takes half of the budget.
    Where delta comes from single large losses, cells near epsilon are no wider than ``jump``.
    """
    if any(kind_of(step).atoms(step).size for step, _ in releases):
        return None
    at = _raised(Sum(parts=guides), at)
    cumulant = Sum(parts=guides).cumulant
    line = Line.fitted(lambda apart: cumulant(at.tilt + apart), at, math.sqrt(0.5 * budget))
    largest = max([float(np.abs(found.losses).max()) for found, _ in guides])
    grid = Grid(step=2.0 ** (math.frexp(largest)[1] - _DIGITS), tilt=at.tilt)
    share = 0.5 * budget / len(releases)
    blocks = []
    for (step, _), (found, count) in zip(releases, guides, strict=True):
        edges = _edges(step, found, count, grid, share)
        if jump is not None:
            fine = math.ceil(min((_JUMP[1] - _JUMP[0]) * at.epsilon / jump, _MOST_CELLS / 10.0))
            near = np.linspace(*_JUMP, fine + 1) * (at.epsilon / grid.step)
            near = near[(near > edges[0]) & (near < edges[-1])]
            edges = np.unique(np.concatenate([edges, near.astype(np.int64)]))
        # Edges that are as good as equal to a neighbour are left out.
        apart = np.diff(edges) >= _EQUAL
        edges = edges[np.concatenate([[True], apart[1:] & apart[:-1], [True]])]
        blocks.append(Block(step=step, guide=found, count=count, edges=edges))
    return Layout(
        saddle=at, grid=grid, window=Window(first=0, size=1), blocks=tuple(blocks), line=line
    )


def _centred(total: Sum, at: Saddle) -> Saddle:
    """The saddle for a better estimate of epsilon than the first one."""
    for _ in range(_ROUNDS):
        if not (at.epsilon > 0.0 and math.isfinite(at.tilt) and math.isfinite(at.deviation)):
            break
        before = at.epsilon
        around = estimated_epsilon(total, _raised(total, at))
        if not around > 0.0:
            break
        at = saddle(total, log_delta=at.log_delta, epsilon=None, around=around)
        if around > _NEAR * before:
            break
    return at


def _raised(total: Sum, at: Saddle) -> Saddle:
    """The saddle with a larger tilt where it is close to 0, where transforms have a pole."""
    _, mean, _ = total.moments(0.0)
    least = min(1.0 / at.deviation, 10.0 / max(abs(mean - at.epsilon), 1e-300))
    if at.tilt >= least:
        return at
    share = min(at.log_delta - total.cumulant(least) + least * at.epsilon, 0.0)
    return replace(at, tilt=least, log_share=share)


_Guides = tuple[tuple[Guide, int], ...]


def _guides(
    releases: Releases, log_delta: float | None, epsilon: float | None, around: float | None
) -> tuple[_Guides, Saddle]:
    """Where losses are, without those that are too far and too rare to matter, and the tilt.

    What is too rare depends on delta. Where delta is asked for it is guessed; if leaving out rare
    losses makes the guess smaller, the guess was too large and is replaced.
    """
    total_count = sum([count for _, count in releases])
    reach = 60.0 + math.log(total_count) - (log_delta or 0.0)
    asked = log_delta
    for _ in range(_ROUNDS):
        whole = tuple([(kind_of(step).guide(step, reach), count) for step, count in releases])
        at = saddle(Sum(parts=whole), log_delta=log_delta, epsilon=epsilon, around=around)
        if asked is None:
            asked = max(at.log_delta, _LEAST_LOG_DELTA)
        for _ in range(_GUESSES):
            limit = asked + math.log(RARE / total_count)
            guides = tuple([(found.truncated(limit), count) for found, count in whole])
            at = saddle(Sum(parts=guides), log_delta=log_delta, epsilon=epsilon, around=around)
            if log_delta is not None:
                break
            once = Sum(parts=guides).log_excess(at.epsilon)
            guess = max(at.log_delta, once, _LEAST_LOG_DELTA)
            if guess > asked - 1.0:
                at = replace(at, log_delta=asked)
                break
            asked = guess
        needed = 60.0 + math.log(total_count) - asked
        if reach >= 0.99 * needed:
            break
        reach = 1.2 * needed
    return guides, at


def _size(points: float) -> int:
    """The least power of two with room for so many points."""
    exponent = math.ceil(math.log2(min(max(points * 1.01 + 8.0, 2.0), 2.0**60)))
    return max(1 << exponent, _SMALLEST)


def _steepness(guides: _Guides, at: Saddle) -> float:
    """About how fast the logarithm of delta falls with epsilon.

    That is the tilt, unless delta comes from single losses that are rare and large.
    """
    once = Sum(parts=guides).log_excess
    # A hundredth of the smallest floats is 0.
    if not 0.01 * at.epsilon > 0.0 or once(at.epsilon) < at.log_delta - 1.0:
        return at.tilt
    further = once(1.01 * at.epsilon)
    if not math.isfinite(further):
        return at.tilt
    return max(at.tilt, (once(at.epsilon) - further) / (0.01 * at.epsilon))


def _budget(at: Saddle, accuracy: float, steepness: float, *, delta_asked: bool) -> float:
    """How much the discretisation may add to the variance of the whole sum.

    Splitting a loss between two grid points leaves the mean of e^-loss as it is, so a variance v
    that is added moves the cumulant at a tilt t by t (t + 1) v / 2, the logarithm of delta by as
    much, and epsilon by (t + 1) v / 2.
    """
    scale = max(at.epsilon, 0.05 * at.deviation)
    if delta_asked and at.tilt > 0.0:
        scale = max(scale, _DELTA_OVER_EPSILON / at.tilt)
    budget = 2.0 * accuracy * scale / (steepness + 1.0)
    return min(budget, max(_MOST_INFLATION * at.deviation**2, (accuracy * at.epsilon) ** 2))


def _block(
    step: AnyStep, found: Guide, count: int, grid: Grid, share: float, *, staged_at: Saddle | None
) -> Block:
    """How one step is summed, given its part of the variance that may be added."""
    if staged_at is None or count * found.inflation(grid.tilt, grid.step) <= 0.5 * share:
        edges = _edges(step, found, count, grid, 0.5 * share)
        return Block(step=step, guide=found, count=count, edges=edges)
    # The share is divided by three: for the cells, for the fine grid, and for rounding sums onto
    # the coarse grid.
    factor = 2
    while count * found.inflation(grid.tilt, grid.step / factor) > share / 3.0:
        factor *= 2
        if factor > _MOST_FACTOR:
            break
    fine = Grid(step=grid.step / factor, tilt=grid.tilt)
    block = min(max(math.ceil(count * grid.step**2 / (2.0 * share)), 2), count)
    edges = _edges(step, found, count, fine, share / 3.0)
    rest = count % block
    return Block(
        step=step,
        guide=found,
        count=count,
        edges=edges,
        factor=factor,
        block=block,
        window=_window(found, block, count, fine, staged_at),
        rest_window=_window(found, rest, count, fine, staged_at) if rest else None,
    )


def copies(
    block: Block,  # How they are summed
    one: Tilted,  # One copy, on its own grid
    fine: Grid,  # That grid
    # Brings a sum to a grid that is coarser by a factor.
    merged: Callable[[Total, Grid, int], Tilted],
    *,
    drift: float = 0.0,  # How many fine grid points the mean of one copy lies above the guide's
    format_: Format = DOUBLE,  # The format of floats of the transforms
) -> list[tuple[Tilted, int]]:
    """All copies of a step as distributions on the layout's grid, with how often each is added."""
    found = []
    for window, size, count in (
        (block.window, block.block, block.count // block.block),
        (block.rest_window, block.count % block.block, 1),
    ):
        if window is not None:
            moved = window.moved(round(drift * size))
            total = add_up([(one, size)], fine, moved, last=False, format_=format_)
            found.append((merged(total, fine, block.factor), count))
    return found or [(one, block.count)]


def _window(found: Guide, block: int, count: int, grid: Grid, at: Saddle) -> Window:
    low, _, wrapping = Sum(parts=((found, block),)).ends(at, max(count // block, 1))
    size = _size((wrapping - low) / grid.step)
    return Window(first=math.floor(low / grid.step) - 1, size=size)


def _edges(step: AnyStep, found: Guide, count: int, grid: Grid, share: float) -> Indices:
    """Grid points between which losses are told apart: fine where the tilted mass is.

    Cells of width d add Sum a d^2 / 6 to the variance of one copy; for a given number of cells that
    is least where d is in proportion to the cubic root of 1 / density.
    """
    tilt, w = grid.tilt, grid.step
    losses = found.losses
    exponents = found.log_masses + tilt * losses
    cumulant = float(exponents.max())
    cumulant += math.log(float(np.exp(exponents - cumulant).sum()))
    tilted = np.exp(exponents - cumulant)
    with np.errstate(divide="ignore", over="ignore"):
        below = np.log(np.cumsum(np.exp(found.log_masses))) + tilt * losses - cumulant
    first = int(np.searchsorted(below, math.log(_LOWER_END / count)))
    last = losses.size - 1
    first = min(first, last)
    inside = slice(first, last + 1)
    width = np.gradient(losses[inside]) if last > first else np.ones(1)
    weights = np.cbrt(tilted[inside] * np.maximum(width, 0.0) ** 2)
    along = np.cumsum(weights)
    whole = float(along[-1])
    cells = min(math.ceil(math.sqrt(whole**3 * count / (6.0 * share))) + 8, _MOST_CELLS)
    places = np.interp(np.linspace(float(along[0]), whole, cells + 1), along, losses[inside])
    # Even where there is little mass, e^(tilt loss) must not change much within a cell.
    widest = _WIDEST / (tilt + 1.0)
    gaps = np.diff(places)
    if (gaps > widest).any():
        pieces = np.minimum(np.ceil(gaps / widest), _MOST_CELLS / 10).astype(np.int64)
        inner = np.concatenate([[0.0], np.cumsum(pieces)])
        places = np.interp(np.arange(min(int(inner[-1]), _MOST_CELLS) + 1), inner, places)
    if float(np.abs(losses[first :: max(last - first, 1)]).max()) / w > 2.0**62:
        raise NoLossDistributionError("The losses are too far apart for one grid.")
    edges = np.round(places / w).astype(np.int64)
    ends = [math.floor(float(losses[first]) / w), math.ceil(float(losses[last]) / w)]
    extra: list[int] = [*ends]
    if not step.is_a_pair:
        # The curve of a symmetric relation may have a point mass at 0.
        extra += [-1, 0, 1]
    for atom in kind_of(step).atoms(step).tolist():
        if losses[first] <= atom <= losses[last]:
            extra += [math.floor(atom / w), math.ceil(atom / w)]
    found_edges = np.unique(np.concatenate([edges, np.array(extra, dtype=np.int64)]))
    # A step may have one finite loss alone; no mass is at the grid point beside it.
    return found_edges if found_edges.size > 1 else np.append(found_edges, found_edges[-1] + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on work, which is estimated before it begins."""

    seconds: float = 30.0  # Processor time of one distribution
    bytes: float = 1e9  # Memory of one distribution


# Environment variables, for the command line and for processes that it starts.
_SECONDS, _BYTES = "RDPKIT_MAX_SECONDS", "RDPKIT_MAX_BYTES"
_CURRENT: ContextVar[Limits | None] = ContextVar("limits", default=None)


def _current() -> Limits:
    """The limits in force: those of a ``with`` block, or of the environment, or the usual ones."""
    return _CURRENT.get() or _from_environment(
        os.environ.get(_SECONDS, ""), os.environ.get(_BYTES, "")
    )


@lru_cache(maxsize=8)
def _from_environment(seconds: str, size: str) -> Limits:
    usual = Limits()
    return Limits(
        seconds=_number(_SECONDS, seconds) if seconds else usual.seconds,
        bytes=_number(_BYTES, size) if size else usual.bytes,
    )


def _number(name: str, text: str) -> float:
    try:
        return _validate.positive(name, float(text))
    except ValueError:
        raise _validate.fail(name, "to be a positive number", text) from None


@_validate.by_name()
@contextmanager
def limits(*, seconds: float | None = None, memory: float | None = None) -> Iterator[Limits]:
    """Set, for a while, how much work one privacy loss distribution may be.

    A distribution that would take more is not computed. The answer is then the certified bound from
    Renyi divergences, and a note says so. Estimates are rough, within a small factor. On the
    command line the environment variables ``RDPKIT_MAX_SECONDS`` and ``RDPKIT_MAX_BYTES`` do the
    same.

    Parameters
    ----------
    seconds : float, optional
        Processor time; 30 where nothing is set.
    memory : float, optional
        Bytes; 1e9 where nothing is set.

    Raises
    ------
    ValueError
        If one of them is not a positive number.

    Examples
    --------
    >>> import rdpkit
    >>> step = rdpkit.PoissonSampledGaussian(
    ...     noise_std=1.0, record_norm=1.0, sampling_probability=0.01)
    >>> many = rdpkit.Repeated(event=step, count=1000)
    >>> with rdpkit.limits(seconds=1e-6):
    ...     g = rdpkit.epsilon(many, delta=1e-5, adjacency="add_or_remove_one")
    >>> g.bound, "1e-06 s" in " ".join(g.notes)
    ('mironov2019', True)
    """
    before = _current()
    chosen = Limits(
        seconds=before.seconds if seconds is None else _validate.positive("seconds", seconds),
        bytes=before.bytes if memory is None else _validate.positive("memory", memory),
    )
    token = _CURRENT.set(chosen)
    try:
        yield chosen
    finally:
        _CURRENT.reset(token)


def _excess(found: Layout) -> str | None:
    """What a layout would cost, if that is more than the limits in force allow."""
    allowed = _current()
    seconds, size = found.cost()
    if seconds <= allowed.seconds and size <= allowed.bytes:
        return None
    return (
        f"A privacy loss distribution would take about {seconds:.2g} s and {size:.2g} bytes; "
        f"the limits are {allowed.seconds:g} s and {allowed.bytes:g} bytes (rdpkit.limits)."
    )
