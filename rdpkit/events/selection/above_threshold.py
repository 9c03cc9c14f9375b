"""The sparse vector technique: which queries are the first to exceed a threshold.

What it attains: streams of queries that tell much about a noisy threshold.

First n queries of the value u are to be below the threshold, then c of the value v to be above it
before j + 1 of them are not. With the threshold noise T, F the distribution function of a query's
noise, and B(x) the probability of c successes of chance x before the (j+1)-th failure, that has the
probability

    E[F(T - u)^n B(1 - F(T - v))].

On the neighbour the first queries are s higher and the others s lower; with T + s for T that is the
same with the law of T - s, and v lower by 2 s. If queries are monotone the others stay, and v is
lower by s. The first factor rises with T and the second falls, so that their values at the ends of
cells bound the mean from both sides. Any streams give a lower bound, so those of a search do.

Or a *race*: after the first n, queries of two kinds in turn, of the values v and v + y, so many of
the second kind before each of the first, until c are above. What is seen is how many were asked and
how many of those above are of the first kind. On the neighbour the two kinds move apart by 2 s, s
if queries are monotone. With the most telling of these ways first, events of more and more of them
are points below the curve of the most powerful tests; their hull is that of a pair. Between the
places where an exponential starts, probabilities are analytic in T: Gauss and Legendre's rule
misses less than 1e-14 of a cell (theory page "Selections").
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event
from rdpkit.events.fields import count, event_class, flag, integer, noise, positive
from rdpkit.events.losses import Attained, Dominating
from rdpkit.events.pairs import Outcomes, StatedPair
from rdpkit.events.selection.scores import SCORES

Array = NDArray[np.float64]
Tail = Callable[[Array], Array]
"""Maps places to probabilities of more, for noise of scale 1 that is symmetric."""

# Deltas for which streams are chosen, and how many queries are asked at most.
_DELTAS, _MANY = (0.1, 1e-2, 1e-4, 1e-6, 1e-9), 10**6
_COARSE, _FINE = 250, 40_000
# Races: how far the noise of the threshold reaches, what is beyond and what nodes miss at most;
# half of a cell in scales of a query's noise, to bound and to choose; answers; how many are few.
_REACH, _LEFT_OUT, _HALF, _ROUGH, _MOST_OF_RACE, _FEW = 32.0, 1e-13, 0.05, 0.25, 100, 12
# Queries of a race, for each answer above and beside; events that are told apart.
_TURNS, _MORE, _EVENTS, _AT_ONCE = 3, 60, 100, 256
_LOG_FACTORIALS = np.array([math.lgamma(n + 1.0) for n in range(_TURNS * _MOST_OF_RACE + _MORE)])
# How often a race is changed a little at most; narrower noise of queries would take many cells.
_ROUNDS, _NARROWEST = 8, 0.6
# Queries that move farther are told apart by any stream.
_FARTHEST = 100.0
# Events less likely than this are left out.
_LEAST = 1e-30
# More than all roundings of floats, relative to a probability.
_SLACK = 1e-9
_MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Noises:
    """A noisy threshold and noisy queries."""

    law: Tail  # Of the threshold's noise and the queries'
    ratio: float  # The scale of the queries' noise, in that of the threshold's
    moved: float  # How far a query moves, in the scale of the threshold's noise
    both_ways: bool  # Whether one query may rise while another one falls


def laplace(x: Array) -> Array:
    """The tail of Laplace noise."""
    half: Array = 0.5 * np.exp(-np.abs(x))
    return np.where(x > 0.0, half, 1.0 - half)


def normal(x: Array) -> Array:
    """The tail of Gaussian noise."""
    root = math.sqrt(0.5)
    return np.array([0.5 * math.erfc(root * one) for one in x.tolist()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Which queries are asked, and what is looked for."""

    first: int  # How many are to be below the threshold
    centre: float  # Where that has the probability 1/2, if there are any
    place: float  # The value of the others
    above: int  # How many of them are to be above
    missed: int = 0  # Before more than so many are not
    gap: float | None = None  # In a race: how much higher the other kind is
    each: int = (
        1  # In a race: how many queries of the other kind come before each of the first kind
    )


def _chance(tail: Array, stream: Stream) -> Array:
    """B: successes before failures, by the negative binomial distribution."""
    total, term = np.zeros_like(tail), np.ones_like(tail)
    for k in range(stream.missed + 1):
        total += term
        term = term * (1.0 - tail) * (stream.above + k) / (k + 1)
    found: Array = np.minimum(total * tail**stream.above, 1.0)
    return found


def _below(noises: Noises, edges: Array, first: int, centre: float) -> Array:
    """F(t - u)^n at the edges."""
    if not first:
        return np.ones_like(edges)
    tails = noises.law((edges - centre) / noises.ratio + _lowest(noises.law, first))
    with np.errstate(divide="ignore"):
        found: Array = np.exp(first * np.log1p(-tails))
    return found


@lru_cache(maxsize=256)
def _lowest(query: Tail, first: int) -> float:
    """Where the power of so many is 1/2, in scales of a query's noise, found by bisection."""
    goal = -math.expm1(-math.log(2.0) / max(first, 1))
    low, high = -1.0, 60.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if query(np.array([middle]))[0] > goal else (low, middle)
    return low


def _masses(noises: Noises, edges: Array) -> Array:
    """Probabilities between edges, and beyond both ends."""
    above, below = noises.law(edges), noises.law(-edges)
    right = edges[:-1] >= 0.0
    inside = np.where(right, above[:-1] - above[1:], below[1:] - below[:-1])
    found: Array = np.concatenate([[below[0]], inside, [above[-1]]])
    return found


@lru_cache(maxsize=4)
def _cells(noises: Noises, count: int) -> tuple[Array, Array, Array]:
    """The edges of cells of the threshold's noise, and its masses in them on either data set."""
    edges = np.linspace(-14.0, 25.0, count)
    return edges, _masses(noises, edges), _masses(noises, edges + noises.moved)


@lru_cache(maxsize=64)
def _first_answers(noises: Noises, count: int, first: int, centre: float) -> Array:
    """The chance that all of the first queries are below, at the edges of cells and far beyond."""
    edges = _cells(noises, count)[0]
    return np.concatenate([[0.0], _below(noises, edges, first, centre), [1.0]])


def _both_sides(noises: Noises, stream: Stream, count: int) -> Array:
    """The least and the largest probability on either data set, by so many cells."""
    edges, *masses_of = _cells(noises, count)
    far = noises.moved * (2.0 if noises.both_ways else 1.0)
    first = _first_answers(noises, count, stream.first, stream.centre)
    sides = []
    for masses, lower in zip(masses_of, (0.0, far), strict=True):
        tails = noises.law((edges - stream.place + lower) / noises.ratio)
        others = np.concatenate([[1.0], _chance(tails, stream), [0.0]])
        least = float(masses @ (first[:-1] * others[1:]))
        most = float(masses @ (first[1:] * others[:-1]))
        sides.append((least, most))
    return np.array(sides)


@lru_cache(maxsize=16)
def _ways(above: int, each: int) -> tuple[Array, Array]:
    """What powers of both kinds' chances above and below a way to the last answer has.

    And the logarithm of how many such ways there are: for every number of queries, as far as they
    are likely, and of those above that are of the first kind.
    """
    asked, won = np.meshgrid(np.arange(above, _TURNS * above + _MORE), np.arange(above + 1))
    turns = asked // (each + 1)  # Of the first kind
    others, lost = asked - turns, above - won
    ours_last = asked % (each + 1) == 0
    # The last query is above.
    before = np.where(ours_last, won, lost) > 0
    possible = before & (won <= turns) & (lost <= others)
    last = np.where(ours_last, won, lost) / np.maximum(np.where(ours_last, turns, others), 1)
    powers = np.stack([won, turns - won, lost, others - lost], axis=-1)[possible]
    logs = np.log(last[possible])
    for n, k in ((turns, won), (others, lost)):
        logs += _LOG_FACTORIALS[n[possible]]
        logs -= _LOG_FACTORIALS[k[possible]] + _LOG_FACTORIALS[(n - k)[possible]]
    return powers.astype(float), logs


_legendre = lru_cache(maxsize=4)(np.polynomial.legendre.leggauss)


def _nodes(noises: Noises, stream: Stream, half: float, count: int) -> tuple[Array, Array]:
    """Places and weights of Gauss and Legendre, in cells within which everything is analytic."""
    far = noises.moved * (2.0 if noises.both_ways else 1.0)
    kinks = [0.0, -noises.moved, stream.place, stream.place - far]
    kinks.append(stream.place + (stream.gap or 0.0))
    kinks.append(stream.centre - noises.ratio * _lowest(noises.law, stream.first))
    # The noise of the threshold is around 0 on one data set, and around -moved on the other one.
    low = -_REACH - noises.moved
    ends = sorted({low, *[x for x in kinks if low < x < _REACH], _REACH})
    edges = np.concatenate(
        [np.linspace(a, b, math.ceil((b - a) / (2.0 * half)) + 1)[:-1] for a, b in pairwise(ends)]
    )
    halves = np.diff(edges, append=_REACH) / 2.0
    at, weights = _legendre(count)
    places = (edges + halves)[:, None] + halves[:, None] * at
    return places.ravel(), (halves[:, None] * weights).ravel()


def _race(noises: Noises, stream: Stream, closely: bool) -> tuple[Array, Array]:
    """The chances of the events on both data sets, with Laplace noise."""
    powers, logs = ways = _ways(stream.above, stream.each)
    p, q = _of_ways(noises, stream, max(_ROUGH * noises.ratio, 0.5), 4, ways)
    if closely:
        seen = np.maximum(p, q) > _LEFT_OUT
        half = min(_HALF * noises.ratio, 0.5)
        p, q = _of_ways(noises, stream, half, 16, (powers[seen], logs[seen]))
    # The most telling ways first, and of the events that these make as many as differ.
    ratios = np.log(np.maximum(p, _LEAST)) - np.log(np.maximum(q, _LEAST))
    order = np.argsort(-ratios, kind="stable")
    steps = np.floor((ratios[order] - ratios.min()) / (np.ptp(ratios) + _LEAST) * _EVENTS)
    ends = np.flatnonzero(np.diff(steps, append=-1.0))[::-1]
    return p[order].cumsum()[ends], q[order].cumsum()[ends]


def _of_ways(
    noises: Noises, stream: Stream, half: float, count: int, ways: tuple[Array, Array]
) -> tuple[Array, Array]:
    """The probabilities of ways to the last answer on both data sets."""
    powers, logs = ways
    at, weights = _nodes(noises, stream, half, count)
    weights = weights * _below(noises, at, stream.first, stream.centre)
    place = stream.place + (stream.gap or 0.0)
    theirs = [noises.law(sign * (at - place) / noises.ratio) for sign in (1.0, -1.0)]
    far = noises.moved * (2.0 if noises.both_ways else 1.0)
    sides = []
    for shift, lower in ((0.0, 0.0), (noises.moved, far)):
        place = stream.place - lower
        ours = [noises.law(sign * (at - place) / noises.ratio) for sign in (1.0, -1.0)]
        # Powers of chances that are nearly 0 are nearly 0.
        chances = np.log(np.maximum([*ours, *theirs], 1e-300))
        masses = weights * 0.5 * np.exp(-np.abs(at + shift))
        total = np.zeros_like(logs)
        for few in np.array_split(np.arange(at.size), at.size // _AT_ONCE + 1):
            total += np.exp(powers @ chances[:, few] + logs[:, None]) @ masses[few]
        sides.append(total)
    return sides[0], sides[1]


def probabilities(noises: Noises, stream: Stream) -> tuple[Array, Array]:
    """What events have on the first data set, at least, and on the second one, at most.

    Each event contains the next one.
    """
    if stream.gap is None:
        sides = _both_sides(noises, stream, _FINE)
        p, q = sides[:1, 0], sides[1:, 1]
    else:
        p, q = _race(noises, stream, closely=True)
        p, q = np.maximum(p - _LEFT_OUT, 0.0), q + _LEFT_OUT
    return p * (1.0 - _SLACK), q * (1.0 + _SLACK)


def outcomes(p: Array, q: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The pair whose most powerful tests are the hull of events one inside of the other."""
    hull = [(0.0, 0.0)]
    for x, y in [*zip(q[::-1].tolist(), p[::-1].tolist(), strict=True), (1.0, 1.0)]:
        if not (hull[-1][0] < x <= 1.0 and hull[-1][1] + _LEAST < y <= 1.0):
            continue
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) <= _slope(hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    first, second = zip(*[(w - y, z - x) for (x, y), (z, w) in pairwise(hull)], strict=True)
    return first, second


def _slope(one: tuple[float, float], other: tuple[float, float]) -> float:
    return (other[1] - one[1]) / (other[0] - one[0])


def _candidates(noises: Noises, most_above: int, queries: int) -> list[Stream]:
    above = min(most_above, _MOST, queries)
    allowed = queries - above
    missed = sorted({min(j, allowed) for j in (0, above // 4, above // 2, above, 2 * above)})
    unit = max(1.0, noises.ratio / math.sqrt(above))
    found = []
    for j, place in product(missed, (-4, -2, -1, 0, 0.5, 1, 2, 4)):
        left = allowed - j
        centres = (-2, -1, 0, 1, 2, 4, 8) if left else ()
        firsts = [(0, 0), *product({min(1, left), left}, centres)]
        for first, centre in firsts:
            u, v = centre * unit, (centre + place) * unit
            found.append(Stream(first=first, centre=u, place=v, above=above, missed=j))
    return found


def _races(noises: Noises, most_above: int) -> list[Stream]:
    # The narrower the queries' noise is, the more cells there are.
    most = int(_MOST_OF_RACE * min(1.0, math.sqrt(noises.ratio / 10.0)))
    above, few, r = min(most_above, most), most_above <= _FEW, noises.ratio
    firsts = [(0, 0.0), *(product((3, 1000), (0.5, 2.5)) if few else ())]
    gaps = (-0.35, 0.0, 0.35)
    return [
        Stream(first=n, centre=r * centre, place=r * place, above=above, gap=r * gap, each=each)
        for (n, centre), place, gap, each in product(firsts, (-0.5, 0.0), gaps, (0, 1, 2, 3))
    ]


@lru_cache(maxsize=64)
def best_streams(noises: Noises, most_above: int, queries: int = _MANY) -> Attained:
    """The pairs of the streams that tell most at each of some deltas."""
    if noises.law is laplace and noises.ratio >= _NARROWEST and noises.moved <= _FARTHEST:
        streams = _refined(
            noises, _races(noises, most_above), lambda one: _race(noises, one, closely=False)
        )
    else:
        streams = _refined(
            noises,
            _candidates(noises, most_above, queries),
            lambda one: tuple(_both_sides(noises, one, _COARSE).mean(axis=1)[:, None]),
        )
    found = [outcomes(*probabilities(noises, one)) for one in streams]
    return Attained(tuple((Outcomes(first=p, second=q),) for p, q in found if len(p) > 1) or ((),))


def _refined(
    noises: Noises, streams: list[Stream], chances: Callable[[Stream], tuple[Array, ...]]
) -> list[Stream]:
    """Those of the streams that tell most in some way; races with places of their own."""
    scores = np.array([_scores(*chances(one)) for one in streams])
    found = []
    for way in range(scores.shape[1]):
        best, score = streams[int(np.argmax(scores[:, way]))], float(scores[:, way].max())
        step = 0.25 if best.gap is not None and best.above <= _FEW else 0.0
        for _ in range(_ROUNDS):
            if step <= 0.05:
                break
            moved = _near(best, step * noises.ratio)
            values = [_scores(*chances(one))[way] for one in moved]
            place = int(np.argmax(values))
            if values[place] > score:
                best, score = moved[place], values[place]
            else:
                step *= 0.5
        found.append(best)
    return list(dict.fromkeys(found))


def _near(stream: Stream, step: float) -> list[Stream]:
    """Races that ask a little earlier, later, or more."""
    gap = stream.gap or 0.0
    found = [replace(stream, place=stream.place + x, gap=gap - x) for x in (-step, step)]
    found += [replace(stream, gap=gap + x) for x in (-step, step)]
    if stream.first:
        found += [replace(stream, centre=stream.centre + x) for x in (-step, step)]
        found += [replace(stream, first=n) for n in (2 * stream.first, -(-stream.first // 2))]
    return found


def _scores(p: Array, q: Array) -> list[float]:
    """The epsilons of the best event at some deltas, and what counts for many releases."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ways = [
            np.concatenate([np.log(p - x) - np.log(q), np.log(1.0 - q - x) - np.log(1.0 - p)])
            for x in _DELTAS
        ]
    found = [float(np.max(one, initial=-np.inf, where=np.isfinite(one))) for one in ways]
    first, second = (np.maximum(-np.diff(x, prepend=1.0, append=0.0), 0.0) for x in (p, q))
    return [*found, float(((np.sqrt(first) - np.sqrt(second)) ** 2).sum())]


@event_class
class AboveThreshold(DescribedEvent):
    """For each query whether it is above a threshold, until so many were: the sparse vector.

    Released: "below" or "above" for one query after the other, each with Laplace noise of
    query_noise_scale compared with a threshold that has Laplace noise of threshold_noise_scale,
    drawn once; it ends with the last of ``most_above`` answers "above". The number of queries does
    not matter. It is epsilon-DP with epsilon = s / threshold_noise_scale +
    2 c s / query_noise_scale, s the sensitivity, c = most_above; without the 2 if queries are
    monotone.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.AboveThreshold(
    ...     threshold_noise_scale=2.0, query_noise_scale=4.0, sensitivity=1.0
    ... )
    >>> round(rdpkit.epsilon(event, delta=0.0, adjacency="replace_one").epsilon, 3)
    1.0
    """

    mechanism: ClassVar[str] = "above_threshold"
    assumed = (SCORES.replace("scores", "queries"),)
    # Every record of a group may move the queries as far, in one direction.
    groups_are_attained = True

    threshold_noise_scale: float = noise(
        "Scale of the noise of the threshold, in the units of the queries"
    )
    query_noise_scale: float = noise(
        "Scale of the noise of each query, in the units of the queries"
    )
    sensitivity: float = positive(
        "Largest change of one query between neighbours, in the units of the queries"
    )
    most_above: int = integer('How many answers "above" are given at most', default=1)
    monotone_queries: bool = flag(
        "Whether between neighbours either no query falls or no query rises", default=False
    )

    def pure_epsilon(self) -> float:
        """The epsilon of pure differential privacy, rounded up to a float."""
        factor = 1 if self.monotone_queries else 2
        moved = Fraction(self.sensitivity)
        at_queries = factor * self.most_above * moved / Fraction(self.query_noise_scale)
        total = moved / Fraction(self.threshold_noise_scale) + at_queries
        # A part of a rounding more would leave the number that the theorem states unproven.
        near = float(min(total, Fraction(sys.float_info.max)))
        return near if Fraction(near) >= total else math.nextafter(near, math.inf)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The worst mechanism that is as private."""
        return Dominating((StatedPair(epsilon=self.pure_epsilon(), delta=0.0),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """A stream of queries that move as far as they may, and whether it is answered as told."""
        noises = _noises(self, laplace, self.threshold_noise_scale, self.query_noise_scale)
        return best_streams(noises, self.most_above)

    def in_groups(self, size: int) -> Event:
        """Queries that change by so many times their sensitivity."""
        return replace(self, sensitivity=size * self.sensitivity)


@event_class
class GaussianAboveThreshold(DescribedEvent):
    """For each query whether it is above a threshold, until so many were, with Gaussian noise.

    Released: "below" or "above" for at most ``queries`` queries, one after the other, each with
    noise of its own compared with a threshold whose noise is drawn once; it ends with the last of
    ``most_above`` answers "above". Unlike with Laplace noise the number of queries matters, if only
    by its logarithm. With noise of the threshold that is drawn again after each answer "above" it
    is this event for one answer, so many times.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.GaussianAboveThreshold(
    ...     threshold_noise_std=10.0, query_noise_std=20.0, sensitivity=1.0, queries=1000
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one").epsilon, 3)
    0.702
    """

    mechanism: ClassVar[str] = "gaussian_above_threshold"
    assumed = (SCORES.replace("scores", "queries"),)
    # Every record of a group may move the queries as far, in one direction.
    groups_are_attained = True

    threshold_noise_std: float = noise(
        "Standard deviation of the noise of the threshold, in the units of the queries"
    )
    query_noise_std: float = noise(
        "Standard deviation of the noise of each query, in the units of the queries"
    )
    sensitivity: float = positive(
        "Largest change of one query between neighbours, in the units of the queries"
    )
    queries: int = count("How many queries are answered at most")
    most_above: int = integer('How many answers "above" are given at most', default=1)
    monotone_queries: bool = flag(
        "Whether between neighbours either no query falls or no query rises", default=False
    )

    def moved(self) -> float:
        """How far a query falls at most, if the threshold falls with all that rise."""
        return self.sensitivity if self.monotone_queries else 2.0 * self.sensitivity

    def attained(self, adjacency: Adjacency) -> Attained:
        """A stream of queries that move as far as they may, and whether it is answered as told."""
        noises = _noises(self, normal, self.threshold_noise_std, self.query_noise_std)
        return best_streams(noises, self.most_above, min(self.queries, 10**6))

    def in_groups(self, size: int) -> Event:
        """Queries that change by so many times their sensitivity."""
        return replace(self, sensitivity=size * self.sensitivity)


def _noises(
    event: AboveThreshold | GaussianAboveThreshold, law: Tail, threshold: float, query: float
) -> Noises:
    """Those of the event, whose queries move less by more than is rounded."""
    return Noises(
        law=law,
        ratio=query / threshold,
        moved=event.sensitivity / threshold * (1.0 - 1e-12),
        both_ways=not event.monotone_queries,
    )
