"""How far an event is from its target, measured in Renyi divergences.

At every order a the target (epsilon, delta) leaves room for a divergence of R(a)
(:mod:`rdpkit.conversions.largest_rdp`). The event meets the target by the order a if its divergence
r(a) is at most R(a), so its *score*

    min over a of log( r(a) / R(a) )

is at most 0 if and only if the bound's epsilon, minimised over the order, is at most the target.
Unlike epsilon the score is not cut off at 0 and is almost linear in the logarithm of a noise or of
a number of releases, so that the secant method finds its zero in a few steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rdpkit.accountants.divergence_bounds import DivergenceBound, published_bound, upper_bound
from rdpkit.accountants.event_tree import Focus
from rdpkit.accountants.local_minima import WINDOW, Minimum, lowest, settle
from rdpkit.accountants.order_search import order_limits, spread
from rdpkit.accountants.renyi import RenyiOptions
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, RdpBound
from rdpkit.conversions.largest_rdp import largest_rdp
from rdpkit.events import Event, Parallel
from rdpkit.events.composition import released_counts
from rdpkit.events.losses import NoLossDistributionError, ProfilePoints, Several, Step
from rdpkit.events.pairs import Pair
from rdpkit.guarantee import Target

# How far to either side of the last best order the next one is searched, in log(order - 1): at
# least the first number, and the second one times the distance of the last event from its target.
_USUAL, _DRIFT = 0.01, 0.3
# How far around the best order of the event that was closest to its target.
_AROUND = 0.03
# Theorems that decided at orders within this factor, in distance from 1, are tried nearby.
_NEARBY = 4.0
# Scores closer to 0 than this are computed from the orders that were best before.
_CLOSE = 0.2
# Scores above this are bounded in closed form, at these orders.
_FAR = 8.0
_SPARSE = 1.0 + np.geomspace(1e-2, 1e3, 24)
# A score is settled if its error is this part of it, or this small.
_SETTLED = 0.02
_FINEST = 5e-8
_REFINED, _LEAST = 1e-2, 1e-13
_ALL_INTEGERS = 256  # Integer orders that are all looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The epsilon that must not be exceeded, and the bound by which it is counted."""

    epsilon: float  # The largest epsilon that meets the requirement
    target: Target  # At which delta in (0, 1), and for which neighbours
    options: RenyiOptions  # How epsilon is computed from Renyi divergences
    published: RdpBound | None = None  # A published bound; None for sound ones
    theorem: str | None = None  # Id of the one sound theorem to use; None for the best

    @property
    def conversion(self) -> str:
        """The conversion from Renyi divergences."""
        usual = "optimal" if self.published is None else self.published.conversion
        return self.options.conversion or usual

    def bound_on(self, event: Event, focus: Focus | None = None) -> DivergenceBound:
        """The bound on an event; a focus is what its ``traced_curve`` is restricted to."""
        options, adjacency = self.options, self.target.adjacency
        if self.published is not None:
            return published_bound(
                event,
                self.published,
                adjacency,
                conversion=options.conversion,
                use_grid=options.use_grid,
            )
        return upper_bound(
            event, adjacency, theorem=self.theorem, conversion=options.conversion, focus=focus
        )


@dataclass(frozen=True, slots=True)
class Score:
    """How far an event is from its target."""

    value: float  # log(r / R) at the best order found; the target is met if it is at most 0
    order: float | None  # That order
    settled: float  # What the value would be at the best order of all, by interpolation

    @property
    def meets(self) -> bool:
        """Whether the target is met."""
        return self.value <= 0.0

    @property
    def guess(self) -> float:
        """The settled value; ``value`` itself where only interpolation meets the target."""
        return self.settled if self.meets or self.settled > 0.0 else self.value


_NOTHING_KNOWN = Score(value=math.inf, order=None, settled=math.inf)


@dataclass(slots=True)
class Scorer:
    """Scores events, beginning at the orders that were best before once the target is near."""

    requirement: Requirement  # What is to be met
    evaluations: int = 0  # How many times divergences have been computed, at any number of orders
    _last: Minimum | None = None
    _anchor: Minimum | None = None
    _focus: Focus | None = None
    _room: dict[float, float] = field(default_factory=dict)
    _finest: float = _FINEST

    def at_order(self, event: Event, order: float) -> float:
        """The score of one order alone, by every theorem."""
        return float(self._at(np.array([order]), self._curve(event))[0])

    def score(self, event: Event) -> Score:
        """The score by the orders and theorems that were best, if the last one was close to 0."""
        if self._last is None:
            return self._from_afar(event) or self.score_everywhere(event)
        span = self._span(self.requirement.bound_on(event))
        if span is None:
            return _NOTHING_KNOWN
        function = self._scores(self._curve(event, focused=True))
        return self._keep(settle(function, self._last, span, self._accepted, _certain))

    def _from_afar(self, event: Event) -> Score | None:
        """A lower bound on the score in closed form, if that is far above 0; else None.

        With far too little noise theorems take long to evaluate, and all give the same number.
        """
        if self.requirement.published is not None:
            return None
        least = rdp_floor(event, _SPARSE, self.requirement.target.adjacency)
        scores = self._at(_SPARSE, lambda orders: least)
        pick = int(np.argmin(scores))
        score = float(scores[pick])
        if not _FAR < score < math.inf:
            return None
        return Score(value=score, order=float(_SPARSE[pick]), settled=score)

    def score_everywhere(self, event: Event, focus: Focus | None = None) -> Score:
        """The score from all orders and all theorems, or those of a focus."""
        self._last, self._focus = None, None
        bound = self.requirement.bound_on(event, focus)
        fixed = self._fixed(bound)
        if fixed is not None:
            return self._among(fixed, self._counted(bound.curve))
        span = self._span(bound)
        if span is None:
            return _NOTHING_KNOWN
        also = None if self._anchor is None else self._anchor.vertex + _AROUND * WINDOW
        grid, values = spread(self._scores(self._counted(bound.traced_curve)), span, also=also)
        pick = int(np.argmin(values))
        if values[pick] == math.inf:
            return _NOTHING_KNOWN
        # From here on only the theorems that decided near the best order are evaluated.
        place = math.exp(grid[pick])
        self._focus = focus or bound.focus_near(place / _NEARBY, place * _NEARBY)
        function = self._scores(self._curve(event, focused=True))
        return self._keep(lowest(function, (grid, values), span, self._accepted, _certain))

    def misses_surely(self, event: Event) -> float:
        """A lower bound on the score, at less cost: of parallel parts only two that meet.

        A bound on parallel parts is the larger one of what a record leaks that stays in its part,
        and of what one leaks that moves; the first is left out.
        """
        far = self._from_afar(event)
        if far is not None:
            return far.guess
        only_ends = Focus(theorems={}, ends_decide=True)
        known = (self._last, self._focus)
        found = self.score_everywhere(event, only_ends)
        self._last, self._focus = known
        return found.guess

    def refine(self) -> None:
        """Settle scores to more digits from now on."""
        self._finest = max(self._finest * _REFINED, _LEAST)

    def better_elsewhere(self, event: Event) -> bool:
        """Whether orders or theorems other than those last looked at meet the target.

        If they do, the next score looks everywhere.
        """
        bound = self.requirement.bound_on(event)
        span = self._span(bound)
        if span is None or self._last is None or self._fixed(bound) is not None:
            return False
        function = self._scores(self._counted(bound.curve))
        grid, values = spread(function, span, also=self._last.centre + _USUAL * WINDOW)
        if values.min() == math.inf:
            return False
        found = lowest(function, (grid, values), span, self._accepted, _certain)
        met = found.best <= 0.0
        if met:
            self._last, self._anchor = None, found
        return met

    def _accepted(self, score: float) -> float:
        """The error that a score may have: a part of it, and a smaller part close to 0."""
        part = _SETTLED * abs(score) * (1.0 + 10.0 * min(abs(score), 1.0))
        return max(part, self._finest)

    def _keep(self, found: Minimum) -> Score:
        """The score of a minimum over the orders; the next search begins there if it is near 0."""
        self._last = None
        if self._anchor is None or abs(found.bottom) < abs(self._anchor.bottom):
            self._anchor = found
        if abs(found.bottom) <= _CLOSE and math.isfinite(found.best):
            self._last = Minimum(
                centre=found.vertex,
                width=max(_USUAL, _DRIFT * abs(found.bottom)),
                place=found.vertex,
                best=math.inf,
                vertex=found.vertex,
                bottom=0.0,
                error=math.inf,
            )
        order = None if found.best == math.inf else 1.0 + math.exp(found.place)
        return Score(value=found.best, order=order, settled=found.bottom)

    def _span(self, bound: DivergenceBound) -> tuple[float, float] | None:
        """The ends of log(order - 1); None if no order is allowed."""
        low, high = order_limits(bound.allowed, *self.requirement.options.order_limits)
        return None if low > high else (math.log(low - 1.0), math.log(high - 1.0))

    def _fixed(self, bound: DivergenceBound) -> Array | None:
        """The orders to use where these are few: a published grid, or integers."""
        if bound.grid is not None:
            return np.array(bound.grid)
        if not bound.allowed.integers_only:
            return None
        low, high = order_limits(bound.allowed, *self.requirement.options.order_limits)
        if low > high:
            return np.empty(0)
        near = np.arange(low, min(high, low + _ALL_INTEGERS) + 1.0)
        far = np.round(np.geomspace(near[-1], max(high, near[-1]), 64))
        return np.unique(np.concatenate([near, far]))

    def _among(self, orders: Array, curve: Callable[[Array], Array]) -> Score:
        if orders.size == 0:
            return _NOTHING_KNOWN
        values = self._at(orders, curve)
        pick = int(np.argmin(values))
        value = float(values[pick])
        order = None if value == math.inf else float(orders[pick])
        return Score(value=value, order=order, settled=value)

    def _room_at(self, orders: Array) -> Array:
        missing = [a for a in orders.tolist() if a not in self._room]
        if missing:
            found = largest_rdp(
                np.array(missing),
                epsilon=self.requirement.epsilon,
                delta=self.requirement.target.given_delta,
                conversion=self.requirement.conversion,
            )
            self._room.update(zip(missing, found.tolist(), strict=True))
        return np.array([self._room[a] for a in orders.tolist()])

    def _curve(self, event: Event, *, focused: bool = False) -> Callable[[Array], Array]:
        bound = self.requirement.bound_on(event)
        if focused and self._focus is not None:
            return self._counted(bound.curve_in(self._focus))
        return self._counted(bound.curve)

    def _counted(self, curve: Callable[[Array], Array]) -> Callable[[Array], Array]:
        def counting(orders: Array) -> Array:
            self.evaluations += 1
            return curve(orders)

        return counting

    def _scores(self, curve: Callable[[Array], Array]) -> Callable[[Array], Array]:
        """The score at each u = log(order - 1)."""

        def scores(places: Array) -> Array:
            orders = 1.0 + np.exp(places)
            return self._at(orders, curve)

        return scores

    def _at(self, orders: Array, curve: Callable[[Array], Array]) -> Array:
        rdp, room = curve(orders), self._room_at(orders)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(rdp) - np.log(room)
        return np.where((room > 0.0) & ~np.isinf(rdp), values, np.inf)


def _certain(minimum: Minimum) -> bool:
    """Whether the sign of the score is known without evaluating at the interpolated minimum."""
    return not minimum.bottom <= 0.0 < minimum.best


def rdp_floor(
    event: Event,  # What is released
    orders: Array,  # Renyi orders, each > 1; shape (k,)
    adjacency: Adjacency,  # The neighbouring relation
) -> Array:
    """A lower bound, at each order, on every sound bound: it shows soon that noise is too small.

    If a record is drawn with probability q and then shifts the output by 1/z of the noise, two data
    sets have P >= q N(1, z^2) and Q = N(0, z^2), hence at every order a > 1

        D_a(P || Q) >= a / (2 z^2) - a / (a-1) log(1/q).

    A sound bound on an event is at least that: summed over releases, and largest over parts. Where
    nothing is known the value is 0 (rdpkit; the pairs are those of the theory page "Loss
    distributions").
    """
    found = [
        count * _of_one(leaf, orders, adjacency) for leaf, count in released_counts(event).items()
    ]
    return np.asarray(sum(found))


def _of_one(event: Event, orders: Array, adjacency: Adjacency) -> Array:
    if isinstance(event, Parallel):
        inside = event.inside(adjacency)
        parts = [rdp_floor(part, orders, inside) for part in dict.fromkeys(event.events)]
        return np.asarray(np.maximum.reduce(parts))
    expanded = event.attained_expansion()
    if expanded is not None:
        return rdp_floor(expanded, orders, adjacency)
    try:
        choices = event.attained(adjacency)
    except NoLossDistributionError:
        return np.zeros_like(orders)
    known = [
        sum((_pair(orders, loss) for loss in losses), np.zeros_like(orders)) for losses in choices
    ]
    return np.asarray(np.maximum.reduce(known))


def _pair(orders: Array, loss: Step | ProfilePoints | Pair | Several) -> Array:
    if not isinstance(loss, Step) or not (loss.kind == "removed" or loss.is_gaussian):
        return np.zeros_like(orders)
    with np.errstate(over="ignore"):
        whole = orders / (2.0 * loss.noise_multiplier) / loss.noise_multiplier
    drawn = orders / (orders - 1.0) * math.log(loss.sampling_probability)
    return np.maximum(whole + drawn, 0.0)
