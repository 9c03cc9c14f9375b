r"""Delta at every epsilon of a range, from both sides, for little more than the price of one delta.

Guarantee
---------
:func:`proven` returns points (epsilon_i, delta_i) with delta(epsilon_i) <= delta_i for all pairs of
neighbours. Delta is convex in e^epsilon, so the chords between the points lie above it, too.
:func:`attained` returns, for pairs of data sets, functions that are straight in e^epsilon between
their points and nowhere above the delta of the pair. Both are proven on the page "Trade-off
curves", from the certified loss distributions of :mod:`rdpkit.accountants.losses`.

A composition is looked at through a few tilts, each sharp at some deltas. Every delta is a bound
whatever the tilt, so the smallest of the upper ones is taken, and the largest of the lower ones.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import arb, ctx

from rdpkit.accountants import renyi
from rdpkit.accountants.loss_distributions import (
    directions,
    infinite_mass,
    largest_loss,
    merged,
    roughly,
)
from rdpkit.accountants.losses import closed
from rdpkit.accountants.losses.above import Above, from_above
from rdpkit.accountants.losses.below import Below
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.kinds.sampled_gaussian import unsampled_distance
from rdpkit.accountants.losses.layout import ACCURACY, Layout, arrange
from rdpkit.accountants.losses.steps import (
    AnyStep,
    DominatingReleases,
    Releases,
    alternatives,
    attained_alternatives,
    of_a_pair,
)
from rdpkit.accountants.renyi import RenyiOptions
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event
from rdpkit.events.losses import NoLossDistributionError, Step
from rdpkit.guarantee import Enclosure, Target
from rdpkit.numerics.balls import float_above, float_below

BITS = 192
"""The precision, in bits, of sums and quotients of a few deltas and exponentials."""

# Between two points delta, and 1 - delta, change by at most this factor, as a logarithm.
_FINE, _FINE_BELOW_ONE = 0.1, 0.25
_MOST_POINTS, _MOST_CORNERS = 500, 250
# Points are no closer to each other than this part of the range.
_CLOSEST = 1e-5
# A tilt is added where the best enclosure of delta is wider than this.
_WIDE = 0.02
_DEPTH, _ROUNDS = 5, 4
# A layout that takes longer than this many seconds is made coarser by these factors, if that helps.
_SLOW, _COARSER = 1.0, (1.0, 5.0, 25.0, 125.0)
# No more tilts are added where all of them together take longer than this many seconds.
_PATIENCE = 3.0
# A lower bound below this part of the upper one is tried with all tilts.
_TOO_LOW = 0.9
# With more directions than this, a lower bound follows the pair that leaks most.
_FEW = 2
_USUAL_DELTA = 1e-5
# Points of a profile from Renyi divergences, each of which is searched.
_FEW_POINTS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Points of delta as a function of epsilon; straight in e^epsilon between them."""

    epsilons: tuple[float, ...]  # Ascending, from 0 on
    deltas: tuple[float, ...]  # In [0, 1], as many

    def points(self) -> list[tuple[float, float]]:
        """Pairs of an epsilon and its delta."""
        return list(zip(self.epsilons, self.deltas, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class AttainedProfile:
    """What one pair of neighbouring data sets attains at least, in both orders."""

    # From below: for one order of the two data sets, and for the other. Beyond the last point,
    # whose delta is 0, nothing is known to be attained.
    forward: Profile
    backward: Profile


Curves = dict[tuple[Releases, float], "_Curve"]


def proven(
    event: Event,  # What was released
    # The neighbouring relation; deltas hold for both orders of two neighbours.
    adjacency: Adjacency,
    *,
    smallest: float,  # In (0, 1)
    # Curves that were computed before, and to which new ones are added.
    known: Curves | None = None,
) -> Profile:
    """Upper bounds on delta, from epsilon = 0 to where delta is at most ``smallest``.

    Where delta does not become as small as that, because infinite losses are more probable, the
    points end shortly before delta ends to fall.
    """
    known = {} if known is None else known
    try:
        candidates = directions(alternatives(event, adjacency))
        curves = [_curve(releases, smallest, known) for releases in candidates]
    except NoLossDistributionError:
        return _by_divergences(event, adjacency, smallest)

    both = dict(zip(candidates, curves, strict=True))

    def delta(epsilon: float) -> float:
        if epsilon > 0.0:
            return min(max([curve.delta(epsilon) for curve in curves]), 1.0)
        # The total variation is the same in both orders of the two data sets.
        reversed_ = [both[one.reversed().releases] for one in candidates.values()]
        pairs = zip(curves, reversed_, strict=True)
        return max([min(one.delta(0.0), other.delta(0.0), 1.0) for one, other in pairs])

    def prepare(epsilons: Sequence[float]) -> None:
        for curve in curves:
            curve.prepare(epsilons)

    corners = {place for curve in curves for place in curve.corners()}
    reach = max([curve.reach for curve in curves])
    profile = _refined(delta, reach, smallest, prepare, corners)
    # Losses that are bounded end somewhere, and with them delta.
    largest = max([largest_loss(one) for one in candidates])
    if profile.epsilons[-1] < largest < math.inf:
        last = max([curve.delta(largest) for curve in curves])
        return Profile(
            epsilons=(*profile.epsilons, largest),
            deltas=(*profile.deltas, min(last, profile.deltas[-1])),
        )
    return profile


def attained(
    event: Event, adjacency: Adjacency, *, smallest: float, known: Curves | None = None
) -> tuple[AttainedProfile, ...]:
    """What explicit pairs of data sets attain, from below; empty where no pair is known."""
    known = {} if known is None else known
    try:
        candidates = directions(attained_alternatives(event, adjacency))
        if len(candidates) > _FEW:
            target = Target(adjacency=adjacency, delta=_USUAL_DELTA)
            rough = {releases: roughly(releases, target) for releases in candidates}
            candidates = directions((candidates[max(rough, key=rough.__getitem__)],))
        found = {
            releases: _from_below(_curve(of_a_pair(releases), smallest, known), smallest)
            for releases in candidates
        }
    except NoLossDistributionError:
        return ()
    pairs = []
    for releases, alternative in candidates.items():
        backward = found[alternative.reversed().releases]
        pairs.append(AttainedProfile(forward=found[releases], backward=backward))
    return tuple(pairs)


def gaussian_mu(event: Event, adjacency: Adjacency) -> Enclosure | None:
    """The distance over noise of a composition that is a pair of Gaussians; None for others.

    It is the largest over all that a changed record may amount to. Where the pairs that bound the
    event are Gaussians that no known data sets attain, it is None as well.
    """
    try:
        candidates = list(directions(alternatives(event, adjacency)))
        attained = list(directions(attained_alternatives(event, adjacency)))
        steps = [merged(releases) for releases in candidates]
    except NoLossDistributionError:
        return None
    if set(map(of_a_pair, attained)) != set(candidates):
        return None
    found: list[tuple[float, float]] = [(0.0, 0.0)]
    for releases, only in steps:
        if not releases:
            continue
        if not (isinstance(only, Step) and only.is_gaussian):
            return None
        # The noise multiplier is a result of a few float operations.
        with ctx.workprec(BITS):
            mu = (1 - arb(only.other)) / arb(only.noise_multiplier)
            slack = 16 * math.ulp(1.0)
            found.append((float_below(mu * (1 - slack)), float_above(mu * (1 + slack))))
    return Enclosure(lower=max([low for low, _ in found]), upper=max([high for _, high in found]))


def gaussian_ceiling(event: Event, adjacency: Adjacency) -> float:
    """A mu of Gaussian differential privacy at every delta: that of the event without sampling.

    The pair of a sampled Gaussian is a mixture of a pair that is the same twice and of two
    Gaussians, with the same weights, so its delta is at most that of the two Gaussians (joint
    convexity), and Gaussians compose to Gaussians. Infinite where a part of the event is no sampled
    Gaussian.
    """
    try:
        candidates = directions(alternatives(event, adjacency))
    except NoLossDistributionError:
        return math.inf
    largest = 0.0
    with ctx.workprec(BITS):
        for releases in candidates:
            total = arb(0)
            for step, count in releases:
                if not isinstance(step, Step):
                    return math.inf
                distance = unsampled_distance(step)
                total += count * distance * distance
            largest = max(largest, float_above(total.sqrt()))
    return largest


class _Curve:
    """One composition in one order of the data sets: delta from above, and how far it reaches."""

    reach: float  # An epsilon at which delta is at most what was asked for

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta."""
        raise NotImplementedError

    def corners(self) -> frozenset[float]:
        """Where the curve has corners, if they are few; no chord is to pass over one."""
        return frozenset()

    def prepare(self, epsilons: Sequence[float]) -> None:
        """Compute together what deltas at several epsilons have in common."""


class _NoRelease(_Curve):
    """No release."""

    def __init__(self) -> None:
        self.reach = 0.0

    def delta(self, epsilon: float) -> float:
        return 0.0


class _Closed(_Curve):
    """One release, or Gaussians alone: the curve itself."""

    def __init__(self, step: AnyStep, smallest: float) -> None:
        self.step = step
        self.largest = largest_loss(((step, 1),))
        self.infinite = _up(infinite_mass(((step, 1),)))
        self.reach = closed.epsilon(step, smallest, above=True)
        if math.isinf(self.reach):
            self.reach = self.largest

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.largest:
            return self.infinite
        return closed.delta(self.step, epsilon, above=True)

    def delta_below(self, epsilon: float) -> float:
        """A lower bound on delta."""
        return closed.delta(self.step, epsilon, above=False)

    def corners(self) -> frozenset[float]:
        places = kind_of(self.step).atoms(self.step)
        inside = places[(places > 0.0) & (places < self.reach)].tolist()
        return frozenset(inside) if len(inside) <= _MOST_CORNERS else frozenset()


class _OnGrids(_Curve):
    """Several releases: a few grids, each tilted for a part of the range."""

    def __init__(self, releases: Releases, smallest: float) -> None:
        self.releases = releases
        self.largest = largest_loss(releases)
        self.infinite = _up(infinite_mass(releases))
        self._known: dict[float, float] = {}
        # By the epsilon at which each is sharp.
        self.centres: list[float] = []
        self.layouts: list[Layout] = []
        self._aboves: list[Above] = []
        advantage = self._at_zero()
        self.reach = self._end(max(smallest, 1.01 * self.infinite), advantage)
        if self.reach > 0.0:
            self._fill(0.0, self.reach, _DEPTH)

    def delta(self, epsilon: float) -> float:
        if epsilon not in self._known:
            if epsilon >= self.largest:
                self._known[epsilon] = self.infinite
            else:
                found = [self._aboves[k].delta_above(epsilon) for k in self.nearest(epsilon)]
                self._known[epsilon] = min([1.0, *map(float_above, found)])
        return self._known[epsilon]

    def prepare(self, epsilons: Sequence[float]) -> None:
        for place, several in self._together(epsilons).items():
            self._aboves[place].prepare(several)

    def _together(self, epsilons: Sequence[float]) -> dict[int, list[float]]:
        """The epsilons for which each grid is used, by the grids' places."""
        found: dict[int, list[float]] = {}
        for epsilon in epsilons:
            if epsilon not in self._known and epsilon < self.largest:
                for place in self.nearest(epsilon):
                    found.setdefault(place, []).append(epsilon)
        return found

    def nearest(self, epsilon: float) -> list[int]:
        """The places of the two grids that are sharp nearest to an epsilon."""
        right = bisect_left(self.centres, epsilon)
        return [k for k in (right - 1, right) if 0 <= k < len(self.centres)]

    def _enclosed(self, epsilon: float) -> tuple[float, float]:
        found = [self._aboves[k].delta_at(epsilon) for k in self.nearest(epsilon)]
        return max([float_below(a) for a, _ in found]), min([float_above(b) for _, b in found])

    def _add(self, centre: float, layout: Layout, above: Above) -> None:
        place = bisect_left(self.centres, centre)
        self.centres.insert(place, centre)
        self.layouts.insert(place, layout)
        self._aboves.insert(place, above)

    def _at_zero(self) -> float:
        """A grid that is sharp at epsilon = 0, if there is one, and the delta there."""
        expected: float | None = None
        found: tuple[Layout, Above] | None = None
        value = 1.0
        for _ in range(_ROUNDS):
            try:
                layout = _arranged(self.releases, delta=expected, epsilon=0.0)
            except NoLossDistributionError:
                break
            found = layout, from_above(layout)
            low, high = found[1].delta_at(0.0)
            value = min(float_above(high), 1.0)
            sharp = value > 0.5 * expected if expected is not None else low > 0.9 * high
            if sharp or value >= 1.0:
                break
            expected = max(value, 1e-100)
        if found is not None:
            self._add(0.0, *found)
        return value

    def _end(self, smallest: float, advantage: float) -> float:
        """A grid that is sharp at the smallest delta, and an epsilon there."""
        if advantage <= smallest:
            return 0.0
        around: float | None = None
        best = math.inf
        for _ in range(_ROUNDS):
            layout = _arranged(self.releases, delta=smallest, epsilon=None, around=around)
            above = from_above(layout)
            high = above.epsilon_at(smallest)[1]
            close = layout.saddle.epsilon if around is None else around
            if high < best:
                best = high
                kept = (high, layout, above)
            if math.isfinite(high) and abs(high - close) <= 0.1 * close:
                break
            around = best if math.isfinite(best) else 1.25 * close
        if math.isfinite(best):
            self._add(*kept)
        elif math.isinf(self.largest):
            raise NoLossDistributionError(
                f"Double precision does not resolve delta {smallest!r} of this composition."
            )
        return min(best, self.largest)

    def _at(self, epsilon: float, delta: float) -> None:
        """One more grid, if it can be computed in time."""
        if sum([layout.cost()[0] for layout in self.layouts]) > _PATIENCE:
            return
        try:
            layout = _arranged(self.releases, delta=delta, epsilon=epsilon)
            self._add(epsilon, layout, from_above(layout))
        except NoLossDistributionError:
            return

    def _fill(self, low: float, high: float, depth: int) -> None:
        """More grids where none is sharp."""
        inner = [c for c in self.centres if low < c < high]
        for left, right in zip([low, *inner], [*inner, high], strict=True):
            middle = 0.5 * (left + right)
            below, above = self._enclosed(middle)
            if depth > 0 and above - below > _WIDE * above and middle < self.largest:
                self._at(middle, min(max(above, 1e-300), 0.999))
                if depth > 1 and middle in self.centres:
                    self._fill(left, right, depth - 1)


def _up(probability: arb) -> float:
    return 0.0 if probability == 0 else min(max(float_above(probability), 0.0), 1.0)


def _arranged(
    releases: Releases, *, delta: float | None, epsilon: float | None, around: float | None = None
) -> Layout:
    """A layout, as accurate as can be had in a short time."""

    def within(accuracy: float) -> Layout:
        return arrange(releases, delta=delta, epsilon=epsilon, around=around, accuracy=accuracy)

    fine: Layout | None = None
    failure: NoLossDistributionError | None = None
    for factor in _COARSER:
        try:
            found = within(factor * ACCURACY)
        except NoLossDistributionError as error:
            failure = error
            continue
        if fine is None or found.cost()[0] < 0.5 * fine.cost()[0]:
            fine = found
        if fine.cost()[0] <= _SLOW or failure is not None:
            break
    if fine is None:
        assert failure is not None
        raise failure
    return fine


def _curve(releases: DominatingReleases, smallest: float, known: Curves) -> _Curve:
    if (releases, smallest) not in known:
        together, only = merged(releases)
        found: _Curve
        if not together:
            found = _NoRelease()
        elif only is not None:
            found = _Closed(only, smallest)
        else:
            found = _OnGrids(together, smallest)
        known[releases, smallest] = found
    return known[releases, smallest]


def _refined(
    delta: Callable[[float], float],
    reach: float,
    smallest: float,
    prepare: Callable[[Sequence[float]], None],
    corners: Collection[float] = (),
) -> Profile:
    """Points so close to each other that chords lose little, and the corners of the curve."""
    known = {place: delta(place) for place in (0.0, *corners) if place < reach or place == 0.0}
    if reach > 0.0:
        known[reach] = delta(reach)
        span = math.log(max(known[0.0], smallest) / max(known[reach], 0.1 * smallest))
        fine = max(_FINE, 2.0 * span / _MOST_POINTS)
        parts = list(pairwise(sorted(known)))
        while parts and len(known) < _MOST_POINTS:
            parts = [
                (left, right)
                for left, right in parts
                if right - left > _CLOSEST * reach
                and not _near(known[left], known[right], smallest, fine)
            ][: _MOST_POINTS - len(known)]
            middles = [0.5 * (left + right) for left, right in parts]
            prepare(middles)
            known.update([(middle, delta(middle)) for middle in middles])
            halves = zip(parts, middles, strict=True)
            parts = [half for (left, right), at in halves for half in ((left, at), (at, right))]
    return _convex(sorted(known.items()))


def _convex(points: Sequence[tuple[float, float]]) -> Profile:
    """The points on the lower convex hull in x = e^epsilon, which are bounds as good as all."""
    kept: list[tuple[float, float]] = []
    for epsilon, value in points:
        # Delta does not grow, so what is known at a smaller epsilon holds here as well.
        delta = min(value, kept[-1][1]) if kept else value
        while len(kept) > 1:
            (e1, d1), (e2, d2) = kept[-2:]
            # The logarithm of (x3 - x2) / (x2 - x1).
            gaps = e2 - e1 + _log_expm1(epsilon - e2) - _log_expm1(e2 - e1)
            if d1 - d2 > 0.0 and (d2 <= delta or math.log(d1 - d2) + gaps >= math.log(d2 - delta)):
                break
            if d1 == d2 == delta:
                break
            kept.pop()
        kept.append((epsilon, delta))
    return Profile(epsilons=tuple([e for e, _ in kept]), deltas=tuple([d for _, d in kept]))


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))


def _near(left: float, right: float, smallest: float, fine: float) -> bool:
    """Whether two deltas are so close that no point is needed between them."""
    ratio = math.log(max(left, 0.5 * smallest) / max(right, 0.5 * smallest))
    rest = math.log(max(1.0 - right, 1e-16) / max(1.0 - left, 1e-16))
    return ratio <= fine and rest <= _FINE_BELOW_ONE


def _by_divergences(event: Event, adjacency: Adjacency, smallest: float) -> Profile:
    """Points from Renyi divergences; (0, 1) alone where there are none."""
    options = RenyiOptions()

    def at(target: Target) -> float:
        return target.number(renyi.upper(event, target, options))

    reach = at(Target(adjacency=adjacency, delta=smallest))
    if not math.isfinite(reach):
        return Profile(epsilons=(0.0,), deltas=(1.0,))
    epsilons = [reach * k / _FEW_POINTS for k in range(_FEW_POINTS)]
    deltas = [min(at(Target(adjacency=adjacency, epsilon=epsilon)), 1.0) for epsilon in epsilons]
    for k in range(1, len(deltas)):
        deltas[k] = min(deltas[k], deltas[k - 1])
    if reach == 0.0:
        return Profile(epsilons=(0.0,), deltas=(min(deltas[0], smallest),))
    return Profile(epsilons=(*epsilons, reach), deltas=(*deltas, min(smallest, deltas[-1])))


def _from_below(curve: _Curve, smallest: float) -> Profile:
    """A function that is nowhere above the delta of a pair."""
    if isinstance(curve, _Closed):
        return _under_a_convex_curve(curve, smallest)
    if isinstance(curve, _OnGrids):
        return _under_tests(curve, smallest)
    return Profile(epsilons=(0.0,), deltas=(0.0,))


def _under_tests(curve: _OnGrids, smallest: float) -> Profile:
    """The envelope of tests: each with probabilities t and a gives delta >= t - e^epsilon a."""
    nodes = _refined(curve.delta, curve.reach, smallest, curve.prepare, curve.corners()).epsilons
    belows = [Below(layout) for layout in curve.layouts]
    for place, below in enumerate(belows):
        below.prepare([epsilon for epsilon in nodes if place in curve.nearest(epsilon)])
    tests: list[tuple[arb, arb]] = []
    with ctx.workprec(BITS):
        for epsilon in nodes:
            growth = arb(epsilon).exp()
            near = curve.nearest(epsilon)
            value, best = _best_test([belows[k] for k in near], epsilon, growth)
            if value < _TOO_LOW * curve.delta(epsilon):
                # Where losses are rare, a tilt for another epsilon may lose less to rounding.
                value, best = _best_test(belows, epsilon, growth)
            tests.append(best)
        return _envelope(tests)


def _best_test(
    belows: Sequence[Below], epsilon: float, growth: arb
) -> tuple[float, tuple[arb, arb]]:
    """The test that proves the largest delta, and that delta."""
    found = [below.test(epsilon) for below in belows]
    values = [float((t - growth * a).mid()) for t, a in found]
    best = values.index(max(values))
    return values[best], found[best]


def _envelope(tests: Sequence[tuple[arb, arb]]) -> Profile:
    """The largest of the straight lines t - a x, x = e^epsilon >= 1, and of 0, from below.

    Between two neighbouring corners one line is the largest. At a corner the smaller value of both
    lines is taken, so that chords are nowhere above the line that they follow, whatever rounding
    did to the corner.
    """
    kept: list[tuple[arb, arb, arb]] = []
    for t, a in sorted(tests, key=lambda one: -float_above(one[1].log()) if one[1] > 0 else 1e300):
        if not (t > 0 and a > 0):
            continue
        start = arb(1)
        while kept:
            last_t, last_a, last_start = kept[-1]
            if not last_a > a:
                if t > last_t:
                    kept.pop()
                    continue
                start = arb("inf")
                break
            start = ((last_t - t) / (last_a - a)).mid()
            if start > last_start:
                break
            kept.pop()
            start = arb(1)
        if start.is_finite():
            kept.append((t, a, start if start > 1 else arb(1)))
    if not kept:
        return Profile(epsilons=(0.0,), deltas=(0.0,))
    points = {0.0: max(float_below(kept[0][0] - kept[0][1]), 0.0)}
    last = kept[0]
    for one in kept[1:]:
        epsilon = max(float(one[2].log().mid()), 0.0)
        growth = arb(epsilon).exp()
        value = min([float_below(t - a * growth) for t, a, _ in (last, one)])
        if value <= 0.0:
            break
        points[epsilon] = min(value, points.get(epsilon, 1.0))
        last = one
    epsilons = sorted(points)
    # The last line ends where it is 0.
    end = float_below((last[0] / last[1]).log())
    if end > epsilons[-1]:
        epsilons.append(end)
    points[epsilons[-1]] = 0.0
    return Profile(epsilons=tuple(epsilons), deltas=tuple([points[e] for e in epsilons]))


def _under_a_convex_curve(curve: _Closed, smallest: float) -> Profile:
    """Under a convex curve that is enclosed at points: chords of neighbours, prolonged.

    Between two points a convex curve is above the prolonged chords of its neighbours. Where these
    meet is one more point.
    """
    nodes = _refined(curve.delta, curve.reach, smallest, curve.prepare).epsilons
    low = [curve.delta_below(epsilon) for epsilon in nodes]
    high = [curve.delta(epsilon) for epsilon in nodes]
    points: list[tuple[float, float]] = []
    with ctx.workprec(BITS):
        x = [arb(epsilon).exp() for epsilon in nodes]
        last = len(nodes) - 1
        for k in range(last):
            middle = _corner(x, low, high, k)
            if middle is not None and nodes[k] < middle[0] < nodes[k + 1] and middle[1] >= 0.0:
                points += [(nodes[k], low[k]), middle]
            else:
                # Delta does not grow, so up to the next point it is at least what it is there.
                points.append((nodes[k], min(low[k], low[k + 1])))
    # Delta at the last point is forgotten: beyond it nothing is known.
    points.append((nodes[-1], 0.0))
    return Profile(
        epsilons=tuple([epsilon for epsilon, _ in points]),
        deltas=tuple([delta for _, delta in points]),
    )


def _corner(
    x: Sequence[arb], low: Sequence[float], high: Sequence[float], k: int
) -> tuple[float, float] | None:
    """Where two prolonged chords meet between points k and k + 1, and a bound below both."""
    # Slopes fall in size. To the right of point k the curve falls no faster than before it, and to
    # the left of point k + 1 it falls at least as fast as behind it.
    steep = (arb(high[k - 1]) - low[k]) / (x[k] - x[k - 1]) if k > 0 else None
    flat = arb(0)
    if k + 2 < len(x):
        flat = (arb(low[k + 1]) - high[k + 2]) / (x[k + 2] - x[k + 1])
        flat = flat if flat > 0 else arb(0)
    if steep is None:
        # Left of the first point nothing is known, and delta falls by no more than 1 a unit of x.
        steep = arb(1)
    if not steep > flat:
        return None
    gap = x[k + 1] - x[k]
    share = (arb(low[k]) - low[k + 1] - flat * gap) / (steep - flat)
    epsilon = float((x[k] + share).log().mid())
    at = arb(epsilon).exp()
    left = low[k] - steep * (at - x[k])
    right = low[k + 1] + flat * (x[k + 1] - at)
    return epsilon, min(float_below(left), float_below(right))
