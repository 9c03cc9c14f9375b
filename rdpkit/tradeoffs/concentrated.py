r"""Zero-concentrated differential privacy: the smallest rho with D_a <= rho a at every order a > 1.

Orders up to some A are covered by chords: (a - 1) D_a is convex in a, so that the chord between two
orders bounds it from above, and the largest quotient of a chord and a (a - 1) is known in closed
form. Beyond A, and for events for which that is enough everywhere, there are bounds on D_a / a that
fall in a: for Gaussians, sampled or not, for losses that are bounded, and for stated zCDP.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.accountants import profiles
from rdpkit.accountants.loss_distributions import directions, infinite_mass, largest_loss
from rdpkit.accountants.losses.kinds.sampled_gaussian import parameters, unsampled_distance
from rdpkit.accountants.losses.steps import AnyStep, alternatives, attained_alternatives
from rdpkit.adjacency import Adjacency, needed
from rdpkit.analysis import certified_rdp
from rdpkit.events import Event, ZeroConcentrated
from rdpkit.events.composition import released_counts
from rdpkit.events.losses import NoLossDistributionError, Step
from rdpkit.formats.numbers import rounded_down, rounded_up
from rdpkit.formats.records import as_plain
from rdpkit.numerics.balls import float_above, float_below

_BITS = 192
_FIRST, _LAST = 1.0 + 1e-4, 1e7  # Smallest and largest order of chords
_START = (1.01, 1.1, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_SLACK, _MOST_ORDERS = 1e-4, 300  # Relative, at which chords are good enough; and orders, at most
# The largest relative distance of a lower bound to an upper one at which no more is asked.
_EXACT = 1e-9
# Chords are tried where at large orders the bound falls below this part of what holds everywhere.
_WORTHWHILE_FALL = 0.5
_SMALLEST_DELTA = 1e-30  # Of the profiles that bound rho from below


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedDP:
    """rho of zero-concentrated differential privacy, from both sides."""

    rho: float
    """Upper bound, proven: the Renyi divergence between any two neighbours is at most rho times the
    order, at every order above 1. Infinite where none is known.
    """
    lower: float  #: A pair of neighbours refutes every smaller rho; 0 where no pair is known
    adjacency: Adjacency  #: The neighbouring relation
    assumptions: tuple[str, ...] = ()  #: What must hold, beyond the parameters
    notes: tuple[str, ...] = ()  #: What a reader should know about how the number came about

    def __post_init__(self) -> None:
        if math.isnan(self.rho) or not 0.0 <= self.lower <= self.rho:
            raise ArithmeticError(
                f"rho would be at least {self.lower!r} and at most {self.rho!r}: one of the two is "
                "false. Please report this."
            )

    def __float__(self) -> float:
        return self.rho

    def __str__(self) -> str:
        return (
            f"rho <= {rounded_up(self.rho)} ({self.adjacency.value.replace('_', '-')}; certified; "
            f"lower {rounded_down(self.lower)})"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite number is the string "inf"."""
        return {
            "rho": as_plain(self.rho),
            "enclosure": as_plain([self.lower, self.rho]),
            "adjacency": self.adjacency.value,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
        }


@_validate.by_name(adjacency=needed())
def zcdp(event: Event, *, adjacency: Adjacency | str) -> ConcentratedDP:
    """The smallest rho of zero-concentrated differential privacy that is proven for an event.

    Guarantee
    ---------
    Between any two neighbours D_a <= rho a at *every* order a > 1. No smaller rho than ``lower``
    holds.

    Assumes
    -------
    What the result's ``assumptions`` list.

    Parameters
    ----------
    event : Event
        What was released.
    adjacency : Adjacency or str
        The neighbouring relation.

    Returns
    -------
    ConcentratedDP
        rho from above and below.

    Source
    ------
    Bun and Steinke 2016 (arXiv 1605.02065); all orders at once: rdpkit, theory page "Trade-off
    curves".

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    >>> print(f"{rdpkit.zcdp(event, adjacency='add_or_remove_one').rho:.6f}")
    0.020000
    """
    _validate.one_of_a_kind("event", event, Event)
    relation = Adjacency(adjacency)
    with ctx.workprec(_BITS):
        everywhere = _slope_beyond(event, relation, 1.0)
        lower = _attained(event, relation)
        rho = everywhere
        # Chords can only help where most of what is known of large orders falls.
        if _slope_beyond(event, relation, _LAST) < _WORTHWHILE_FALL * everywhere < math.inf:
            rho = min(everywhere, _over_all_orders(event, relation))
    notes = []
    if math.isinf(rho):
        notes.append("nothing is known to bound divergence over order at all large orders")
    if lower == 0.0 < rho:
        notes.append("no pair of data sets is known, so that there is no lower bound")
    return ConcentratedDP(
        rho=rho,
        lower=min(lower, rho) if lower <= rho * (1.0 + _EXACT) else lower,
        adjacency=relation,
        assumptions=event.assumptions(),
        notes=tuple(notes),
    )


def _slope_beyond(event: Event, adjacency: Adjacency, order: float) -> float:
    """An upper bound on D_a / a that holds at every a >= order."""
    parts = [
        count * arb(_slope_of_one(leaf, adjacency, order))
        for leaf, count in released_counts(event).items()
    ]
    return _up(sum(parts, arb(0)))


def _slope_of_one(event: Event, adjacency: Adjacency, order: float) -> float:
    if isinstance(event, ZeroConcentrated):
        value = certified_rdp(event, order=2.0, adjacency=adjacency)[0]
        if not math.isfinite(value):
            return math.inf
        return _up(arb(event.rho) + arb(event.xi) / arb(order))
    try:
        candidates = directions(alternatives(event, adjacency))
    except NoLossDistributionError:
        expanded = event.expand()
        return math.inf if expanded is None else _slope_beyond(expanded, adjacency, order)
    totals = [
        sum([count * _slope_of_step(step, order) for step, count in found], arb(0))
        for found in candidates
    ]
    return max([_up(total) for total in totals])


def _slope_of_step(step: AnyStep, order: float) -> arb:
    if isinstance(step, Step):
        # A sampled Gaussian has at most the divergence of the Gaussians themselves.
        distance = unsampled_distance(step)
        return distance * distance / 2
    both: tuple[AnyStep, ...] = (step, step.reversed())
    if any(infinite_mass(((one, 1),)) != 0 for one in both):
        return arb("inf")
    largest = max(largest_loss(((one, 1),)) for one in both)
    # Losses up to L: divergences are at most L, and at most L^2 / 2 times the order.
    bounded = arb(largest)
    return (bounded / order).min(bounded * bounded / 2) if math.isfinite(largest) else arb("inf")


def _attained(event: Event, adjacency: Adjacency) -> float:
    """What a pair attains: in closed form for Gaussians, else by what rho says of delta."""
    gaussians = _attained_by_gaussians(event, adjacency)
    if gaussians is not None:
        return gaussians
    best = arb(0)
    for one in profiles.attained(event, adjacency, smallest=_SMALLEST_DELTA):
        for epsilon, delta in one.forward.points():
            if 0.0 < delta < 1.0:
                # rho-zCDP implies delta <= exp(-(epsilon - rho)^2 / (4 rho)) for epsilon >= rho.
                log = -arb(delta).log()
                root = (log + epsilon).sqrt() - log.sqrt()
                best = best.max(root * root)
    return max(float_below(best), 0.0)


def _attained_by_gaussians(event: Event, adjacency: Adjacency) -> float | None:
    """The limit of D_a / a at large orders for sampled Gaussians, or a lower bound on it.

    With P >= q N(1) and, where x > 0, Q <= N(0): E_Q (P/Q)^a >= q^a times the part x > 0 of the
    integral of N(1)^a N(0)^(1 - a), which is exp(a (a - 1) / (2 z^2)) up to a factor that tends
    to 1.
    """
    try:
        candidates = directions(attained_alternatives(event, adjacency))
    except NoLossDistributionError:
        return None
    best: float | None = None
    for releases in candidates:
        total = arb(0)
        for step, count in releases:
            if not isinstance(step, Step) or step.kind == "added" or step.other > 0.0:
                break
            _, z = parameters(step, leaks_more=False)
            total += count / (z * z) / 2
        else:
            best = max(best or 0.0, float_below(total), 0.0)
    return best


def _over_all_orders(event: Event, adjacency: Adjacency) -> float:
    """The largest divergence over order, from chords between orders and a bound beyond them."""

    def scaled(order: float) -> arb | None:
        """(a - 1) D_a, from above; None where nothing is proven."""
        value, _, enclosure = certified_rdp(event, order=order, adjacency=adjacency)
        known = math.isfinite(value) and (enclosure is not None or value == 0.0)
        return (arb(order) - 1) * value if known else None

    known: dict[float, arb] = {}
    beyond = math.inf
    for order in (_FIRST, *_START, *[128.0 * 2.0**k for k in range(17)]):
        value = scaled(order)
        if value is None or order > _LAST:
            return math.inf
        known[order] = value
        beyond = _slope_beyond(event, adjacency, order)
        most = max([float_above(k / (arb(a) * (a - 1))) for a, k in known.items()])
        if order > _START[0] and beyond <= most:
            break
    if not math.isfinite(beyond):
        return math.inf
    # Below the first order, D_a / a is at most D of that order.
    first = float_above(known[_FIRST] / (arb(_FIRST) - 1))
    orders = sorted(known)
    heap = [_interval(a, b, known) for a, b in pairwise(orders)]
    heapq.heapify(heap)
    while len(known) < _MOST_ORDERS:
        most = max([first, *[float_above(k / (arb(a) * (a - 1))) for a, k in known.items()]])
        bound, a, b = heap[0]
        middle = math.sqrt(a * b)
        if -bound <= most * (1.0 + _SLACK) or not a < middle < b:
            break
        value = scaled(middle)
        if value is None:
            return math.inf
        known[middle] = value
        heapq.heapreplace(heap, _interval(a, middle, known))
        heapq.heappush(heap, _interval(middle, b, known))
    return max(first, beyond, -heap[0][0])


def _interval(a: float, b: float, known: dict[float, arb]) -> tuple[float, float, float]:
    """Minus the largest quotient of the chord and x (x - 1) between two orders, and the orders.

    The chord c x - s has its largest quotient, among all x > 1, at the larger zero of
    c x^2 - 2 s x + s, where it is c / (2 x - 1).
    """
    left, right = known[a], known[b]
    low, high = arb(a), arb(b)
    c = (right - left) / (high - low)
    s = c * low - left
    ends = [left / (low * (low - 1)), right / (high * (high - 1))]
    if c > 0 and s > 0 and s * s - s * c > 0:
        x = (s + (s * s - s * c).sqrt()) / c
        best = ends[0] if x < low else ends[1] if x > high else c / (2 * x - 1)
    else:
        best = right.max(left) / (low * (low - 1))
    return -float_above(best.max(ends[0]).max(ends[1])), a, b


def _up(value: arb) -> float:
    if value == 0:
        return 0.0
    return max(float_above(value), 0.0) if value.is_finite() else math.inf
