r"""The likelihood ratio of random allocation: a mean of independent lognormals, enclosed.

With s = 1/z, Y = e^(s N - s^2/2), N standard normal, and S the sum of t independent copies of Y,
the ratio of the two members is L = S / t under the second member, and the first member's density is
L times that.

*From above.* Each Y is split between neighbouring points of a set of nodes such that its mean stays
as it is. The split Y', and the sum S' of them, are larger in convex order, so that E(S' - x)_+ and
E(x - S')_+ are upper bounds at every x. Nodes up to a cut are integers times a step w. They are
added up by a transform with a proven error (:mod:`rdpkit.numerics.fourier`). Of sums with one or
two nodes above the cut the others are added up first. What is not enumerated counts as an infinite
loss, and how much that is follows from the masses adding up to 1.

*From below.* Every Y is rounded to a node, and the nodes are added up, or if any lies above the
cut, the largest is taken: a statistic of what was released, with probabilities enclosed on either
side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from rdpkit.accountants.losses.grid import Grid, Tilted, Window, add_up
from rdpkit.accountants.losses.guide import Array
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.numerics.balls import float_above, float_below, upper_tail
from rdpkit.numerics.fourier import DOUBLE, Format, U, extended

_BITS = 320
# Where the sum of all rare probabilities is small enough, and how far nodes are followed.
_RARE, _REACH = 1e-13, 9.0
_LONGEST = 1 << 17
_MOST_BATCHES, _MOST_NOISE, _LARGEST_S = 10**7, 1e12, 6.0
_FINE, _COARSE, _EVERY = 4096, 24, 12
_HALF_UNITS = 8.0 * U
# The part of the probability of a value beyond the cut that a sum of others must have to matter.
_TELLING = 1e-3
_NEVER, _MANY = 1e-9, 100.0
_BOTH = (float_below, float_above)
# Covers the roundings of sums of up to a million positive doubles, and of exact sums.
_SLACK, _TIGHT = 1e-9, 1e-14


@dataclass(frozen=True, slots=True)
class Law:
    """A distribution of the ratio, from one side."""

    ratios: Array  # Values of S, ascending; the ratio is this over the number of batches
    masses: Array  # Upper bounds on the probabilities, under the first member or under the second
    rest: float  # Upper bound on what is nowhere in ``masses``


@dataclass(frozen=True, slots=True)
class Statistic:
    """Probabilities that a statistic is beyond each of its thresholds, enclosed."""

    values: Array  # About the value of S at each threshold, ascending
    # Lower and upper bounds under either member.
    first: tuple[Array, Array]
    second: tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Nodes of one lognormal: integers times a step up to the cut, and numbers above it."""

    step: float
    small: Array
    big: Array

    @property
    def values(self) -> Array:
        """The places of all nodes."""
        return np.concatenate([self.small * self.step, self.big])


def _tail(y: float, mean: float, s: float) -> float:
    return 0.5 * math.erfc((math.log(y) - mean) / s / math.sqrt(2.0))


def check_reach(s: float, batches: int) -> None:
    """Raise where floats are not known to suffice."""
    if not (s <= _LARGEST_S and batches <= _MOST_BATCHES):
        raise NoLossDistributionError(
            "Random allocation is computed for noise multipliers of at least "
            f"{1.0 / _LARGEST_S:.2g} and at most {_MOST_BATCHES} batches, got {1.0 / s!r} and "
            f"{batches}."
        )


def _nodes(s: float, batches: int, *, above: bool, first: bool = True) -> _Nodes:
    """Where the nodes are, chosen in floats; any choice gives valid bounds."""
    check_reach(s, batches)
    deviation = math.sqrt(math.expm1(s * s))
    spread = math.sqrt(batches) * deviation
    top = math.exp(s * s / 2.0 + _REACH * s)
    cut = math.exp(s * s / 2.0 + 2.0 * s)
    while cut < top:
        present, often = _tail(cut, s * s / 2.0, s), batches * _tail(cut, -s * s / 2.0, s)
        rare = present * often**2 + often**3 / 6.0 < _RARE
        if rare if above else (cut > _MANY * spread or present < _NEVER):
            break
        cut *= 1.1
    cut = min(cut, top)
    if above and not first and cut > 2.0 * batches:
        # Under the second member small sums matter: no larger one is told apart.
        cut = 2.0 * batches
        square = math.exp(s * s) * _tail(1.0 / cut, -1.5 * s * s, s)
        spread = math.sqrt(batches * min(square, deviation**2))
    wanted = 0.05 * min(deviation, 2.0, 0.04 * batches)
    range_ = min(24.0 * spread, batches + 12.0 * spread) + 3.0 * cut
    step = 2.0 ** math.floor(math.log2(max(wanted, 2.0 * range_ / _LONGEST)))
    relative = 0.05 * min(deviation, 0.4)
    small = [0.0]
    while small[-1] * step < cut:
        small.append(small[-1] + max(1.0, math.floor(relative * small[-1])))
    lowest = small[-1] * step * (1.0 + relative)
    count = max(2, math.ceil(math.log(max(top / lowest, 1.0)) / relative) + 2)
    return _Nodes(
        step=step,
        small=np.array(small),
        big=lowest * (1.0 + relative) ** np.arange(count, dtype=np.float64),
    )


def _split(s: arb, nodes: _Nodes) -> tuple[Array, float]:
    """The spread of Y that keeps its mean, under the second member, and what is beyond all nodes.

    Returned are probabilities of nodes, rounded up, and the part of the mean beyond the last node.
    """
    values = [arb(value) for value in nodes.values.tolist()]
    heights = [arb(1)]
    for value in values[1:]:
        level = value.log() / s
        heights.append(upper_tail(level - s / 2) - value * upper_tail(level + s / 2))
    ends = zip(pairwise(heights), pairwise(values), strict=True)
    slopes = [arb(-1), *[(right - left) / (b - a) for (left, right), (a, b) in ends], arb(0)]
    masses = [right - left for left, right in pairwise(slopes)]
    return np.array([max(float_above(mass), 0.0) for mass in masses]), float_above(heights[-1])


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of small nodes: its places, its masses from both sides, and what is outside of them."""

    places: Array
    above: Array
    below: Array
    outside: float

    def moments(self) -> tuple[float, float]:
        """About the mean and the deviation."""
        whole = float(self.above.sum())
        mean = float(np.dot(self.places, self.above)) / whole
        square = float(np.dot((self.places - mean) ** 2, self.above)) / whole
        return mean, math.sqrt(square)

    def kept(self, weights: Array | None = None) -> float:
        """The mass, or a mean of weights >= 0 that grow with the place, from below."""
        if weights is None:
            return max(math.fsum(self.below.tolist()) * (1.0 - _TIGHT) - self.outside, 0.0)
        found = math.fsum((self.below * weights).tolist()) * (1.0 - _TIGHT)
        return max(found - self.outside * float(weights[-1]), 0.0)


def _added(parts: list[tuple[Array, int]], nodes: _Nodes, window: Window, format_: Format) -> _Sum:
    indices = nodes.small.astype(np.int64)
    tilted = [
        (Tilted(indices=indices, masses=masses, scale=0.0), count)
        for masses, count in parts
        if count
    ]
    total = add_up(tilted, Grid(step=nodes.step, tilt=0.0), window, format_=format_)
    return _Sum(
        places=np.asarray((window.first + np.arange(window.size)) * nodes.step, dtype=np.float64),
        above=total.composition.above(),
        below=total.composition.below(),
        outside=(total.lost + float_above(total.infinite)) * (1.0 + _SLACK),
    )


def _window(nodes: _Nodes, masses: Array, batches: int) -> Window:
    """Places of the sum that matter."""
    places = nodes.small
    whole = float(masses.sum())
    mean = float(np.dot(masses, places)) / whole
    square = float(np.dot(masses, (places - mean) ** 2)) / whole
    spread = math.sqrt(batches * square)
    low = max(0, math.floor(batches * mean - 12.0 * spread))
    high = batches * mean + 12.0 * spread + 2.0 * float(places[-1])
    high = min(high, batches * float(places[-1]))
    return Window(first=low, size=1 << max(8, math.ceil(math.log2(high - low + 2.0))))


def _onto(nodes: Array, places: Array, masses: Array, *, first: bool) -> Array:
    """Masses split between nodes such that both members keep theirs; rounded up.

    ``first`` says whether they are probabilities under the first member.
    """
    right = np.clip(np.searchsorted(nodes, places, side="left"), 1, nodes.size - 1)
    low, high = nodes[right - 1], nodes[right]
    share = (places - low) / (high - low)
    # What the subtractions may have lost.
    lost = _HALF_UNITS * (1.0 + high / (high - low))
    to_low, to_high = (masses * np.clip(part + lost, 0.0, 1.0) for part in (1.0 - share, share))
    if first:
        with np.errstate(divide="ignore", invalid="ignore"):
            to_low = np.where(places > 0.0, to_low * low / places, 0.0)
            to_high = np.where(places > 0.0, to_high * high / places, 0.0)
    found = np.bincount(right - 1, to_low, nodes.size) + np.bincount(right, to_high, nodes.size)
    return np.asarray(found) * (1.0 + _SLACK)


def _ladder(mean: float, spread: float, top: float) -> Array:
    """The values of S at which a law is kept: fine near the mean, then ever coarser."""
    low, high = max(mean - 10.0 * spread, 0.0), mean + 10.0 * spread
    steps = np.geomspace(1.0, max((top - mean) / (high - mean), 2.0), 1200)
    parts: list[Array] = [
        np.linspace(low, high, _FINE),
        mean + (high - mean) * steps,
        np.array([1.01 * top]),
    ]
    parts.append(np.linspace(0.0, low, 64) if low > 0.0 else np.zeros(1))
    return np.unique(np.concatenate(parts))


def _collapsed(found: _Sum) -> tuple[Array, Array]:
    """The sum of small nodes on a few places, mean kept."""
    mean, spread = found.moments()
    first, last = found.places[0], found.places[-1]
    near = mean + spread * np.linspace(-4.0, 4.0, _COARSE)
    far = mean + spread * np.array([-9.0, 9.0, 30.0])
    few = np.unique(np.clip(np.concatenate([[first, last], near, far]), first, last))
    return few, _onto(few, found.places, found.above, first=False)


@lru_cache(maxsize=16)
def law(
    noise_multiplier: float,  # Taken as exact
    batches: int,  # At least 2
    *,
    first: bool,  # Under which member
) -> Law:
    """The ratio from above, under the first member or under the second."""
    if noise_multiplier > _MOST_NOISE:  # Where floats tell no ratio from 1
        raise NoLossDistributionError(f"Random allocation takes noise of at most {_MOST_NOISE:g}.")
    with ctx.workprec(_BITS):
        s = 1 / arb(noise_multiplier)
        nodes = _nodes(float(s), batches, above=True, first=first)
        masses, beyond = _split(s, nodes)
        everything = sum((arb(mass) for mass in masses.tolist()), arb(0))
        # The first member's density is the ratio, so its mass is a mean of the nodes.
        mean = arb(beyond) + sum(
            (arb(m) * arb(v) for m, v in zip(masses.tolist(), nodes.values.tolist(), strict=True)),
            arb(0),
        )
        few = nodes.small.size
        none = sum((arb(mass) for mass in masses[:few].tolist()), arb(0))
        if first:
            total = float_above(everything ** (batches - 1) * mean)
        else:
            # With none, or one, above the cut; all of the others have a place.
            one = batches * (everything - none) * none ** (batches - 1)
            total = float_above(none**batches + one)
    small, big = masses[:few], masses[few:]
    window = _window(nodes, small, batches)
    others = _added([(small, batches - 1)], nodes, window, DOUBLE)
    format_ = extended() or DOUBLE
    if first:
        weighted = nodes.small * nodes.step * small * (1.0 + 4.0 * U)
        none_big = _added([(weighted, 1), (small, batches - 1)], nodes, window, format_)
    else:
        none_big = _added([(small, batches)], nodes, window, format_)
    top = 2.0 * float(nodes.big[-1]) + float(window.last * nodes.step)
    ladder = _ladder(*none_big.moments(), top)
    found = _onto(ladder, none_big.places, none_big.above, first=first)
    more, kept = (_first_big if first else _second_big)(ladder, nodes, big, others, batches)
    rest = total - (none_big.kept() + kept) * (1.0 - 1e-15)
    return Law(ratios=ladder, masses=found + more, rest=max(rest, 0.0) + 1e-300)


def _first_big(
    ladder: Array, nodes: _Nodes, big: Array, others: _Sum, batches: int
) -> tuple[Array, float]:
    """One or two nodes above the cut, under the first member; and what is kept at least."""
    rest, rest_masses = _collapsed(others)
    places = (nodes.big[:, None] + rest[None, :]).ravel()
    masses = (big[:, None] * rest_masses[None, :]).ravel() * places
    found = _onto(ladder, places, masses, first=True)
    whole, mean = math.fsum(big.tolist()), math.fsum((big * nodes.big).tolist())
    kept = mean * others.kept() + whole * others.kept(others.places)
    chosen = np.unique(np.concatenate([nodes.big[::_EVERY], nodes.big[-1:]]))
    coarse = _onto(chosen, nodes.big, big, first=False)
    both = (chosen[:, None] + chosen[None, :]).ravel()
    # The sum of one small node more is larger, and has less mass by one factor.
    ways = 0.5 * (batches - 1) / max(1.0 - 2.0 * whole, 0.5)
    weights = ways * (coarse[:, None] * coarse[None, :]).ravel()
    for place, mass in zip(rest.tolist(), rest_masses.tolist(), strict=True):
        found = found + _onto(ladder, both + place, weights * mass * (both + place), first=True)
    kept += (batches - 1) * mean * whole * others.kept()
    kept += 0.5 * (batches - 2) * whole**2 * others.kept(others.places)
    return found, kept * (1.0 - _TIGHT)


def _second_big(
    ladder: Array, nodes: _Nodes, big: Array, others: _Sum, batches: int
) -> tuple[Array, float]:
    """The same under the second member, where several large nodes hardly matter."""
    rest, rest_masses = _collapsed(others)
    places = (nodes.big[:, None] + rest[None, :]).ravel()
    masses = batches * (big[:, None] * rest_masses[None, :]).ravel()
    found = _onto(ladder, places, masses, first=False)
    whole = math.fsum(big.tolist())
    # Two at least are large with at most this probability. The others are no smaller than if all of
    # them were small, and a small node is at most the smallest large one: so the sum is at least
    # that of one large node and of one small node more.
    pairs = 0.5 * batches * (batches - 1) * whole**2
    alone = others.kept()
    weights = min(pairs, 1.0) * (1.0 + _SLACK) / max(alone, 1e-300) * rest_masses
    found = found + _onto(ladder, rest + float(nodes.big[0]), weights, first=False)
    kept = batches * whole * alone
    return found, kept * (1.0 - _TIGHT)


def _cells(levels: list[arb], centre: arb) -> list[arb]:
    """Probabilities that N(centre) is above each level."""
    return [upper_tail(level - centre) for level in levels]


def _masses(tails: list[arb], *, above: bool) -> Array:
    rounded = float_above if above else float_below
    ends = [arb(1), *tails]
    balls = [left - right for left, right in pairwise(ends)]
    return np.array([max(rounded(ball), 0.0) for ball in balls])


def _beyond(masses: Array, outside: float, *, above: bool) -> Array:
    """The sum of all masses after each, with what is outside of the window, from one side."""
    sums = np.append(np.cumsum(masses[:0:-1], dtype=np.longdouble)[::-1], 0.0)
    lost = 2.0 * masses.size * float(np.finfo(np.longdouble).eps) + 4.0 * U
    sign = 1.0 if above else -1.0
    return np.maximum(sums.astype(np.float64) * (1.0 + sign * lost) + sign * outside, 0.0)


def _kept_places(window: Window, nodes: _Nodes, beyond: Array) -> NDArray[np.int64]:
    """The places of a window at which tails are kept: most of them where the sum mostly is."""
    inside = np.flatnonzero((beyond < 1.0 - 1e-12) & (beyond > 1e-16))
    low, high = (int(inside[0]), int(inside[-1])) if inside.size else (0, window.size - 1)
    central = np.flatnonzero((beyond < 1.0 - 1e-7) & (beyond > 1e-7))
    parts: list[Array] = [np.linspace(low, high, _FINE // 4), np.array([0.0, window.size - 1.0])]
    if central.size:
        parts.append(np.linspace(int(central[0]), int(central[-1]), _FINE // 2))
        parts.append(central[-1] + np.geomspace(1.0, max(high - central[-1], 2.0), _FINE // 4))
    return np.unique(np.clip(np.concatenate(parts), 0, window.size - 1).astype(np.int64))


@lru_cache(maxsize=16)
def statistic(
    noise_multiplier: float,  # Taken as exact
    batches: int,  # At least 2
) -> Statistic:
    """A statistic of what is released, as large as the ratio about."""
    format_ = extended() or DOUBLE
    with ctx.workprec(_BITS):
        s = 1 / arb(noise_multiplier)
        nodes = _nodes(float(s), batches, above=False)

        def levels(values: Array) -> list[arb]:
            """Where N is if Y is at these values."""
            return [arb(value).log() / s + s / 2 for value in values.tolist()]

        small = nodes.small * nodes.step
        edges = np.concatenate([(small[1:] + small[:-1]) / 2.0, [small[-1]]])
        big_edges = np.concatenate([small[-1:], nodes.big])
        one, other = (_cells(levels(edges), centre) for centre in (s, arb(0)))
        # Some copy is beyond an edge unless all are below it.
        tails = [_cells(levels(big_edges), centre) for centre in (s, arb(0))]
        largest = [
            tuple(1 - (1 - own) * (1 - rest) ** (batches - 1) for own in (first, rest))
            for first, rest in zip(*tails, strict=True)
        ]
        bounds = [
            [np.array([max(f(pair[side]), 0.0) for pair in largest]) for f in _BOTH]
            for side in (0, 1)
        ]
    window = _window(nodes, _masses(other, above=True), batches)
    sums = []
    middle = 0.0
    for own in (one, other):
        parts = [(own, 1), (other, batches - 1)]
        low, high = (
            [(_masses(tails_of, above=above), count) for tails_of, count in parts]
            for above in (False, True)
        )
        total = _added(high, nodes, window, format_)
        middle = total.moments()[0]
        # Every product of masses from below is at least this part of that of masses from above.
        lost = sum(
            count * float(np.max(1.0 - less / np.maximum(more, 1e-300)))
            for (less, count), (more, _) in zip(low, high, strict=True)
        ) * (1.0 + _SLACK)
        kept = total.below * (1.0 - lost)
        if lost > _SLACK:
            kept = _added(low, nodes, window, format_).below
        # The probability that the sum is beyond each place, nothing above the cut.
        sums.append(
            [
                _beyond(kept, total.outside, above=False),
                _beyond(total.above, total.outside, above=True),
            ]
        )
    keep = _kept_places(window, nodes, sums[1][1])
    # Sums of small ones that say no more than that one is beyond the cut are left out.
    telling = sums[0][1][keep] > _TELLING * bounds[0][0][0]
    telling[0] = True
    keep = keep[telling]
    small_sums = (keep + window.first) * nodes.step
    # Where one is beyond the cut, the others are about in the middle.
    beyond_cut = big_edges[1:] + middle
    lowest = float(small_sums[-1]) * (1.0 + 1e-9 * np.arange(1, beyond_cut.size + 1))
    values = np.concatenate([small_sums, np.maximum(beyond_cut, lowest)])
    ends_of = [
        [
            np.concatenate([sums[side][end][keep] + bounds[side][end][0], bounds[side][end][1:]])
            * (1.0 + (4.0 * U if end else -4.0 * U))
            for end in (0, 1)
        ]
        for side in (0, 1)
    ]
    return Statistic(
        values=values, first=(ends_of[0][0], ends_of[0][1]), second=(ends_of[1][0], ends_of[1][1])
    )
