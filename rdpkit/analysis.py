"""The questions: epsilon at a delta, delta at an epsilon, and every bound side by side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.bounds import BOUNDS, OrderRange
from rdpkit.bounds.base import Kind, RdpBound
from rdpkit.bounds.composition import UpperBounds, leaves, sound_bounds
from rdpkit.conversions import DELTA, EPSILON
from rdpkit.events import CustomRdp, Event
from rdpkit.guarantee import Guarantee
from rdpkit.order_search import LARGEST_ORDER, SMALLEST_ORDER, BestOrder, minimise, on_grid

Array = NDArray[np.float64]

BEST = "best"


def rdp_to_epsilon(
    orders: ArrayLike,
    rdp: ArrayLike,
    *,
    delta: float,
    conversion: str = "balle2020",
) -> tuple[float, float]:
    """Smallest epsilon that an RDP curve gives at ``delta``, and the order it comes from.

    Guarantee
    ---------
    A mechanism that is (orders[i], rdp[i])-RDP for every i is (epsilon, delta)-DP with the epsilon
    returned: an upper bound.

    Assumes
    -------
    The curve bounds the divergence in both directions, as RDP under a symmetric neighbouring
    relation does ("optimal" uses both).

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders, each > 1.
    rdp : array_like, shape (k,)
        Divergences in nats, each >= 0; inf says nothing.
    delta : float
        In (0, 1).
    conversion : {"mironov2017", "balle2020", "optimal"}
        Each is at most the one before.

    Returns
    -------
    epsilon : float
        In nats, >= 0; inf if every divergence is.
    order : float
        The order that attains it; NaN if epsilon is inf.

    Raises
    ------
    ValueError
        If arrays do not match, or hold NaN, a negative divergence or an order not > 1, or
        ``delta`` is not in (0, 1).

    Source
    ------
    Mironov 2017, Proposition 3; Balle et al. 2020, Theorem 21; Asoodeh et al. 2021, Theorem 2.

    Examples
    --------
    >>> import rdpkit
    >>> orders = [1.5, 2, 4, 8, 16]
    >>> rdp = rdpkit.gaussian_rdp(orders, noise_multiplier=5.0)
    >>> epsilon, order = rdpkit.rdp_to_epsilon(orders, rdp, delta=1e-5)
    >>> f"{epsilon:.6f}", order
    ('0.838151', 16.0)
    """
    checked = _validate.orders("orders", orders)
    values = _validate.divergences("rdp", rdp, like=checked)
    target = _validate.open_probability("delta", delta)
    _validate.choice("conversion", conversion, EPSILON)
    epsilons = EPSILON[conversion](checked, values, target)
    if np.isnan(epsilons).any():
        raise ArithmeticError(f"The conversion {conversion!r} could not be computed.")
    pick = int(np.argmin(epsilons))
    best = float(epsilons[pick])
    return best, (float(checked[pick]) if math.isfinite(best) else math.nan)


def epsilon(
    event: Event,
    *,
    delta: float,
    adjacency: Adjacency | str,
    bound: str = BEST,
    conversion: str | None = None,
    order_limits: tuple[float, float] = (SMALLEST_ORDER, LARGEST_ORDER),
) -> Guarantee:
    """Epsilon at ``delta``: by default the best sound upper bound that the library knows.

    Guarantee
    ---------
    With ``bound="best"`` the event is (epsilon, delta)-DP under ``adjacency``. With a bound's id
    the number is what that theorem gives; its kind is in the result.

    Assumes
    -------
    What the result's ``assumptions`` list.

    Parameters
    ----------
    event : Event
        What was released.
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    bound : str
        "best", or the id of a published bound for this event, or of an upper bound for the
        events inside of it.
    conversion : {"mironov2017", "balle2020", "optimal"}, optional
        By default "optimal" for upper bounds, and the paper's own for published ones.
    order_limits : pair of float
        The Renyi orders that may be used. A note in the result says when the best one is at an
        edge.

    Returns
    -------
    Guarantee
        Its epsilon is inf where no theorem says anything.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or no such bound exists for the event.
    ArithmeticError
        If a number cannot be computed.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    >>> g = rdpkit.epsilon(event, delta=1e-5, adjacency=rdpkit.Adjacency.ADD_OR_REMOVE_ONE)
    >>> g.bound, g.kind.value, g < 0.84
    ('gaussian', 'upper', True)
    """
    target = _validate.open_probability("delta", delta)
    return _guarantee(event, adjacency, bound, conversion, order_limits, delta=target)


def delta(
    event: Event,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    bound: str = BEST,
    conversion: str | None = None,
    order_limits: tuple[float, float] = (SMALLEST_ORDER, LARGEST_ORDER),
) -> Guarantee:
    """Delta at ``epsilon``: by default the best sound upper bound that the library knows.

    Guarantee
    ---------
    As :func:`epsilon`, with the roles exchanged.

    Parameters
    ----------
    event, adjacency, bound, conversion, order_limits
        As for :func:`epsilon`.
    epsilon : float
        In nats, finite and >= 0.

    Returns
    -------
    Guarantee
        Its delta is 1 where no theorem says anything.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or no such bound exists for the event.
    """
    target = _validate.non_negative("epsilon", epsilon)
    return _guarantee(event, adjacency, bound, conversion, order_limits, epsilon_=target)


def compare(event: Event, *, delta: float, adjacency: Adjacency | str) -> tuple[Guarantee, ...]:
    """Every bound that is about the event or about an event inside of it, side by side.

    Guarantee
    ---------
    Each entry states its kind. Published bounds come first, then upper bounds from the smallest
    epsilon on; the first upper bound is the one that :func:`epsilon` returns.

    Parameters
    ----------
    event : Event
        What was released.
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.

    Raises
    ------
    ValueError
        If an argument is outside of its range.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.LDPDC(class_sizes=[5421, 6742], group_size=50, samples_per_class=50,
    ...                      noise_std=28.0, value_bound=1.0, dimension=784)
    >>> for g in rdpkit.compare(event, delta=1e-5, adjacency="add_or_remove_one"):
    ...     print(f"{g.bound:15} {g.kind.value:10} {g.epsilon:.3f}")
    ldpdc-thm3.1    published  1.100
    mironov2019     upper      0.984
    """
    _validate.one_of_a_kind("event", event, Event)
    relation = Adjacency.parse(adjacency)
    published = [
        epsilon(event, delta=delta, adjacency=relation, bound=b.id)
        for b in BOUNDS
        if b.kind is Kind.PUBLISHED and b.applies(event, relation)
    ]
    uppers = [epsilon(event, delta=delta, adjacency=relation)]
    for identifier in _upper_ids(event, relation):
        found = epsilon(event, delta=delta, adjacency=relation, bound=identifier)
        known = {g.bound for g in uppers}
        if found.bound not in known and math.isfinite(found.epsilon):
            uppers.append(found)
    return (*published, *sorted(uppers, key=lambda g: g.epsilon))


def published_bounds(event: Event, adjacency: Adjacency) -> tuple[str, ...]:
    """Ids of the published bounds about this event, the one to be read first in front."""
    return tuple(b.id for b in BOUNDS if b.kind is Kind.PUBLISHED and b.applies(event, adjacency))


def published_rdp(event: Event, *, order: float, adjacency: Adjacency, bound: str) -> float:
    """A published bound's Renyi divergence at one order; inf outside of its range."""
    found = _find(event, adjacency, bound)
    return float(found.values(event, np.array([order]), adjacency)[0])


def upper_rdp(event: Event, *, order: float, adjacency: Adjacency) -> tuple[float, str]:
    """The best sound Renyi divergence at one order, and the id of the bound that gives it."""
    evaluator = UpperBounds()
    value = float(evaluator.rdp(event, np.array([order]), adjacency)[0])
    names = evaluator.used(event, order, adjacency) if math.isfinite(value) else ()
    return value, " + ".join(names) or "none"


def _upper_ids(event: Event, adjacency: Adjacency) -> list[str]:
    found: dict[str, None] = {}
    for leaf in leaves(event):
        for bound in sound_bounds(leaf, adjacency):
            found[bound.id] = None
    return list(found)


def _find(event: Event, adjacency: Adjacency, identifier: str) -> RdpBound:
    for bound in BOUNDS:
        published = bound.id == identifier and bound.kind is Kind.PUBLISHED
        if published and bound.applies(event, adjacency):
            return bound
    raise _validate.fail(
        "bound",
        "to be one of "
        + ", ".join(
            repr(name)
            for name in (BEST, *published_bounds(event, adjacency), *_upper_ids(event, adjacency))
        ),
        identifier,
    )


def _guarantee(
    event: Event,
    adjacency: Adjacency | str,
    bound: str,
    conversion: str | None,
    order_limits: tuple[float, float],
    *,
    delta: float | None = None,
    epsilon_: float | None = None,
) -> Guarantee:
    _validate.one_of_a_kind("event", event, Event)
    relation = Adjacency.parse(adjacency)
    if conversion is not None:
        _validate.choice("conversion", conversion, EPSILON)
    smallest, largest = _limits(order_limits)

    if bound == BEST or bound in _upper_ids(event, relation):
        kind = Kind.UPPER
        only: dict[type[Event], str] = {}
        if bound != BEST:
            only = {
                type(leaf): bound
                for leaf in leaves(event)
                if any(b.id == bound for b in sound_bounds(leaf, relation))
            }
        evaluator = UpperBounds(only)
        used = conversion or "optimal"
        grid = None
        allowed = _upper_range(event, relation)

        def curve(orders: Array) -> Array:
            return evaluator.rdp(event, orders, relation)

        def name(order: float | None) -> str:
            if order is None:
                return "none" if bound == BEST else bound
            return " + ".join(evaluator.used(event, order, relation))

        theorem_assumptions = _theorem_assumptions(event, relation, only)
    else:
        theorem = _find(event, relation, bound)
        kind = theorem.kind
        used = conversion or theorem.conversion
        grid = theorem.grid if (smallest, largest) == (SMALLEST_ORDER, LARGEST_ORDER) else None
        allowed = theorem.order_range(event, relation)

        def curve(orders: Array) -> Array:
            return theorem.values(event, orders, relation)

        def name(order: float | None) -> str:
            return theorem.id

        theorem_assumptions = theorem.assumptions(event)

    best = _best(
        curve, allowed, (smallest, largest), used, grid=grid, delta=delta, epsilon_=epsilon_
    )
    notes = (best.note,) if best.note else ()
    found_epsilon = best.value if delta is not None else epsilon_
    found_delta = delta if delta is not None else min(math.exp(best.value), 1.0)
    assert found_epsilon is not None
    assert found_delta is not None
    return Guarantee(
        epsilon=found_epsilon,
        delta=found_delta,
        adjacency=relation,
        bound=name(best.order),
        kind=kind,
        order=best.order,
        conversion=used,
        assumptions=(*event.assumptions(), *theorem_assumptions),
        notes=notes,
    )


def _limits(order_limits: tuple[float, float]) -> tuple[float, float]:
    condition = "to be a pair (smallest, largest) with 1 < smallest <= largest"
    try:
        smallest, largest = order_limits
    except (TypeError, ValueError):
        raise _validate.fail("order_limits", condition, order_limits) from None
    low = _validate.order("order_limits[0]", smallest)
    high = _validate.order("order_limits[1]", largest)
    if low > high:
        raise _validate.fail("order_limits", condition, order_limits)
    return low, high


def _best(
    curve: Callable[[Array], Array],
    allowed: OrderRange,
    limits: tuple[float, float],
    conversion: str,
    *,
    grid: tuple[float, ...] | None,
    delta: float | None,
    epsilon_: float | None,
) -> BestOrder:
    def objective_of(name: str) -> Callable[[Array], Array]:
        def objective(orders: Array) -> Array:
            rdp = curve(orders)
            if delta is not None:
                values = EPSILON[name](orders, rdp, delta)
            else:
                assert epsilon_ is not None
                with np.errstate(divide="ignore"):
                    values = np.log(DELTA[name](orders, rdp, epsilon_))
            if np.isnan(values).any():
                raise ArithmeticError(f"The conversion {name!r} could not be computed.")
            return values

        return objective

    if grid is not None:
        return on_grid(objective_of(conversion), grid)
    # The optimal conversion is dearer: the cheaper one that bounds it finds the region.
    coarse = objective_of("balle2020" if conversion == "optimal" else conversion)
    refined = objective_of(conversion) if conversion == "optimal" else None
    return minimise(coarse, allowed, smallest=limits[0], largest=limits[1], refined=refined)


def _upper_range(event: Event, adjacency: Adjacency) -> OrderRange:
    """The orders worth searching: below the smallest limit that any part of the event has."""
    highest = math.inf
    included = True
    for leaf in leaves(event):
        if isinstance(leaf, CustomRdp) or leaf.expand() is None:
            ranges = [b.order_range(leaf, adjacency) for b in sound_bounds(leaf, adjacency)]
            if ranges:
                top = max(r.highest for r in ranges)
                if top < highest:
                    highest = top
                    included = all(r.includes_highest for r in ranges if r.highest == top)
    return OrderRange(highest=highest, includes_highest=included and math.isfinite(highest))


def _theorem_assumptions(
    event: Event, adjacency: Adjacency, only: dict[type[Event], str]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for leaf in leaves(event):
        for assumption in leaf.assumptions() if leaf is not event else ():
            found[assumption] = None
        for bound in sound_bounds(leaf, adjacency):
            if only.get(type(leaf), bound.id) == bound.id:
                for assumption in bound.assumptions(leaf):
                    found[assumption] = None
    return tuple(found)
