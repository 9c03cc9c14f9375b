"""Epsilon at a delta, delta at an epsilon, and every bound side by side."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.accountants import loss_distributions, renyi
from rdpkit.accountants.divergence_bounds import find_published, published_bounds, upper_ids
from rdpkit.accountants.event_tree import UpperBounds, check_adjacency, leaves
from rdpkit.accountants.loss_distributions import LOWER_ID, UPPER_ID
from rdpkit.accountants.losses.steps import Alternative, AttainedReleases
from rdpkit.accountants.renyi import ALL_ORDERS, RenyiOptions
from rdpkit.adjacency import Adjacency, needed
from rdpkit.bounds.base import Kind
from rdpkit.conversions import EPSILON
from rdpkit.events import Event
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.formats.html import Points
from rdpkit.guarantee import Comparison, Enclosure, Guarantee, Target
from rdpkit.numerics.balls import float_above, float_below

BEST = "best"
BEST_RDP = "best-rdp"

# A privacy profile is drawn from this many points on each side of epsilon, and in a notebook no
# longer than this.
_POINTS, _SECONDS = 3, 1.5
# Epsilons beyond this are as good as infinite.
_FAR = 1e12
# Where a divergence is known at any order, it is known at one of these.
_ORDERS = np.array([1.0 + 1e-6, 1.01, 2.0, 32.0])

__all__ = [
    "BEST",
    "BEST_RDP",
    "check_sandwich",
    "compare",
    "delta",
    "epsilon",
    "lower_bound",
    "published_bounds",
    "published_rdp",
    "upper_rdp",
]


@_validate.by_name(adjacency=needed())
def epsilon(
    event: Event,
    *,
    delta: float,
    adjacency: Adjacency | str,
    bound: str = BEST,
    conversion: str | None = None,
    order_limits: tuple[float, float] = ALL_ORDERS,
    certify: bool = True,
    lower: bool = False,
) -> Guarantee:
    """Epsilon at ``delta``: by default the best sound upper bound that the library knows.

    Guarantee
    ---------
    With ``bound="best"`` or ``"best-rdp"`` the event is (epsilon, delta)-DP under ``adjacency``.
    With another bound's id the number is what that theorem gives; its kind is in the result.

    Assumes
    -------
    What the result's ``assumptions`` list.

    Parameters
    ----------
    event : Event
        What was released.
    delta : float
        In [0, 1). At 0 the answer is that of pure differential privacy: infinite where there is
        none.
    adjacency : Adjacency or str
        The neighbouring relation.
    bound : str
        "best": the smallest sound bound, from a privacy loss distribution or, unless that is
        known to be as small as any, from Renyi divergences. "best-rdp": the smallest one from Renyi
        divergences. Both are certified in ball arithmetic. Or the id of a published bound for this
        event, of an upper bound for the events inside of it, "pld-upper", or "pair-lower".
    conversion : {"mironov2017", "balle2020", "optimal"}, optional
        By default "optimal" for upper bounds, and the paper's own for published ones. With one,
        "best" means "best-rdp".
    order_limits : pair of float
        The Renyi orders that may be used. A note in the result says when the best one is at an
        edge. Published bounds that were minimised over a fixed grid use it unless this is given.
    certify : bool
        Whether to enclose the number in ball arithmetic and return the safe end of the enclosure.
    lower : bool
        Whether to compute as well what an explicit pair of neighbouring data sets attains, which
        takes about a quarter longer. It is then in the result's ``lower``, unless no pair is known.

    Returns
    -------
    Guarantee
        ``print`` shows it in one line. Its epsilon is inf where no theorem says anything.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or no such bound exists for the event.
    ArithmeticError
        If a number cannot be computed, or its certificate does not contain it.

    Source
    ------
    The theorem that the result names; ``rdpkit.BOUNDS`` has their citations.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    >>> g = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one", bound="gaussian")
    >>> g.bound, g.kind.value, g < 0.84
    ('gaussian', 'upper', True)
    """
    checked = _validate.target_delta("delta", delta)
    target = Target(adjacency=Adjacency(adjacency), delta=checked)
    options = renyi_options(conversion, order_limits, certify=certify)
    found = _answer(event, target, bound, options)
    profile = partial(_profile, event, target.adjacency, found.epsilon)
    return replace(found, profile=profile, lower=_attained(event, target, found) if lower else None)


@overload
def delta(
    event: Event,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    bound: str = ...,
    conversion: str | None = ...,
    order_limits: tuple[float, float] = ...,
    certify: bool = ...,
    lower: bool = ...,
) -> Guarantee: ...


@overload
def delta(
    event: Event,
    *,
    epsilon: Sequence[float] | NDArray[np.float64],
    adjacency: Adjacency | str,
    bound: str = ...,
    conversion: str | None = ...,
    order_limits: tuple[float, float] = ...,
    certify: bool = ...,
    lower: bool = ...,
) -> tuple[Guarantee, ...]: ...


@_validate.by_name(adjacency=needed())
def delta(
    event: Event,
    *,
    epsilon: float | Sequence[float] | NDArray[np.float64],
    adjacency: Adjacency | str,
    bound: str = BEST,
    conversion: str | None = None,
    order_limits: tuple[float, float] = ALL_ORDERS,
    certify: bool = True,
    lower: bool = False,
) -> Guarantee | tuple[Guarantee, ...]:
    """Delta at ``epsilon``: by default the best sound upper bound that the library knows.

    Guarantee
    ---------
    As :func:`epsilon`, with the roles exchanged.

    Assumes
    -------
    What the result's ``assumptions`` list.

    Parameters
    ----------
    event, adjacency, bound, conversion, order_limits, certify, lower
        As for :func:`epsilon`.
    epsilon : float, or sequence of float
        In nats, finite and >= 0. Many are answered together, which takes much less time.

    Returns
    -------
    Guarantee, or tuple of Guarantee
        One for each epsilon. Its delta is 1 where no theorem says anything.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or no such bound exists for the event.
    ArithmeticError
        If a number cannot be computed, or its certificate does not contain it.

    Source
    ------
    The theorem that the result names.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=3.0, record_norm=1.0)
    >>> found = rdpkit.delta(event, epsilon=1.0, adjacency="add_or_remove_one")
    >>> f"{found.delta:.4g}"
    '0.0002075'
    """
    relation = Adjacency(adjacency)
    options = renyi_options(conversion, order_limits, certify=certify)
    if isinstance(epsilon, (Sequence, np.ndarray)) and not isinstance(epsilon, (str, bytes)):
        several = [_validate.non_negative(f"epsilon[{k}]", one) for k, one in enumerate(epsilon)]
        return _deltas(event, several, relation, bound, options, lower=lower)
    checked = _validate.non_negative("epsilon", epsilon)
    target = Target(adjacency=relation, epsilon=checked)
    found = _answer(event, target, bound, options)
    profile = partial(_profile, event, target.adjacency, found.epsilon)
    return replace(found, profile=profile, lower=_attained(event, target, found) if lower else None)


def _deltas(
    event: Event,
    epsilons: Sequence[float],
    adjacency: Adjacency,
    bound: str,
    options: RenyiOptions,
    *,
    lower: bool,
) -> tuple[Guarantee, ...]:
    """Deltas from distributions that they share, and from their own where these do not do."""
    _validate.one_of_a_kind("event", event, Event)
    check_adjacency(event, adjacency)
    shared: Sequence[Guarantee | None] = [None] * len(epsilons)
    if bound == UPPER_ID or _of_all(bound, options):
        shared = loss_distributions.deltas(event, adjacency, epsilons)
    found = []
    for epsilon, one in zip(epsilons, shared, strict=True):
        target = Target(adjacency=adjacency, epsilon=epsilon)
        answer = one or _answer(event, target, bound, options)
        profile = partial(_profile, event, adjacency, answer.epsilon)
        attained = _attained(event, target, answer) if lower else None
        found.append(replace(answer, profile=profile, lower=attained))
    return tuple(found)


@_validate.by_name(adjacency=needed())
def lower_bound(
    event: Event,
    *,
    adjacency: Adjacency | str,
    delta: float | None = None,
    epsilon: float | None = None,
) -> tuple[Guarantee, Alternative[AttainedReleases]]:
    """What an explicit pair of neighbouring data sets attains, and the pair's releases.

    Guarantee
    ---------
    No (epsilon, delta)-DP statement holds for the event with an epsilon (or delta) below the one
    returned: two neighbours that :mod:`rdpkit.pairs.worst_pair` writes out attain it.

    Assumes
    -------
    That the mechanism accepts the records of the pair.

    Parameters
    ----------
    event : Event
        What was released.
    adjacency : Adjacency or str
        The neighbouring relation.
    delta, epsilon : float
        Exactly one: the other is what is bounded.

    Raises
    ------
    ValueError
        If not exactly one of ``delta`` and ``epsilon`` is given, or one is outside of its range.
    NoLossDistributionError
        If no pair is known for a part of the event (a ``ValueError``).

    Source
    ------
    rdpkit, theory page "Privacy loss distributions".

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=3.0, record_norm=1.0)
    >>> found, pair = rdpkit.lower_bound(event, delta=1e-5, adjacency="add_or_remove_one")
    >>> f"{found.epsilon:.4g}"
    '1.271'
    """
    _validate.one_of_a_kind("event", event, Event)
    target = Target(
        adjacency=Adjacency(adjacency),
        delta=None if delta is None else _validate.target_delta("delta", delta),
        epsilon=None if epsilon is None else _validate.non_negative("epsilon", epsilon),
    )
    check_adjacency(event, target.adjacency)
    if target.epsilon is not None and target.epsilon > _FAR:
        raise NoLossDistributionError(
            f"No pair of data sets is evaluated at an epsilon above {_FAR:g}, got {epsilon!r}."
        )
    try:
        return loss_distributions.lower(event, target)
    except (OverflowError, ZeroDivisionError, FloatingPointError) as error:
        raise _too_extreme(event) from error


@_validate.by_name(adjacency=needed())
def compare(event: Event, *, delta: float, adjacency: Adjacency | str) -> Comparison:
    """Every bound that is about the event or about an event inside of it, side by side.

    Guarantee
    ---------
    Each entry states its kind. Published bounds come first, then finite upper bounds from the
    smallest epsilon on, then the attained lower bound; the first upper bound is the one that
    :func:`epsilon` returns, and if it is infinite the only one.

    Assumes
    -------
    What each result's ``assumptions`` list.

    Parameters
    ----------
    event : Event
        What was released.
    delta : float
        In [0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.

    Returns
    -------
    Comparison
        A tuple of guarantees, which ``print`` and notebooks show as a table. ``best`` is its
        smallest upper bound, and ``lower`` its lower bound.

    Source
    ------
    The theorem that each result names.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.LDPDC(class_sizes=[5421, 6742], group_size=50, samples_per_class=50,
    ...                      noise_std=28.0, value_bound=1.0, dimension=784)
    >>> for g in rdpkit.compare(event, delta=1e-5, adjacency="add_or_remove_one"):
    ...     print(f"{g.bound:15} {g.kind.value:10} {g.epsilon:.2f}")
    ldpdc-thm3.1    published  1.10
    pld-upper       upper      0.54
    mironov2019     upper      0.98
    pair-lower      lower      0.54
    """
    _validate.one_of_a_kind("event", event, Event)
    relation = Adjacency(adjacency)
    published = [
        epsilon(event, delta=delta, adjacency=relation, bound=name)
        for name in published_bounds(event, relation)
    ]
    uppers: list[Guarantee] = []
    lowers: list[Guarantee] = []
    for name in (BEST_RDP, *upper_ids(event, relation), UPPER_ID, LOWER_ID):
        try:
            found = epsilon(event, delta=delta, adjacency=relation, bound=name)
        except NoLossDistributionError:
            continue
        if name == LOWER_ID:
            lowers.append(found)
        elif math.isfinite(found.epsilon) and found.bound not in {g.bound for g in uppers}:
            uppers.append(found)
    if not uppers:
        uppers.append(epsilon(event, delta=delta, adjacency=relation))
    check_sandwich(uppers, lowers)
    return Comparison((*published, *sorted(uppers, key=lambda g: g.epsilon), *lowers))


def check_sandwich(uppers: Iterable[Guarantee], lowers: Iterable[Guarantee]) -> None:
    """Raise if a lower bound is above an upper bound: one of the two is then false.

    Raises
    ------
    ArithmeticError
        With both numbers and their bounds.
    """
    for upper in uppers:
        for lower in lowers:
            if lower.epsilon > upper.epsilon and lower.delta >= upper.delta:
                raise ArithmeticError(
                    f"The lower bound {lower.bound} says epsilon >= {lower.epsilon!r} where the "
                    f"upper bound {upper.bound} says epsilon <= {upper.epsilon!r}, at delta "
                    f"{lower.delta!r}: one of them is false. Please report this."
                )


def published_rdp(event: Event, *, order: float, adjacency: Adjacency, bound: str) -> float:
    """A published bound's Renyi divergence at one order; inf outside of its range."""
    found = find_published(event, adjacency, bound)
    if found is None:
        raise _no_such_bound(event, adjacency, bound)
    return float(found.values(event, np.array([order]), adjacency)[0])


def upper_rdp(event: Event, *, order: float, adjacency: Adjacency) -> tuple[float, str]:
    """The best sound Renyi divergence at one order in floats, and the id of its bound."""
    check_adjacency(event, adjacency)
    evaluator = UpperBounds()
    value = float(evaluator.rdp(event, np.array([order]), adjacency)[0])
    names = evaluator.used(event, order, adjacency) if math.isfinite(value) else ()
    return value, " + ".join(names) or "none"


def certified_rdp(
    event: Event, *, order: float, adjacency: Adjacency
) -> tuple[float, str, Enclosure | None]:
    """The best sound Renyi divergence at one order, its bound, and its enclosure.

    The value is the safe end of the enclosure; None where the bound has no ball, or is infinite.
    """
    value, name = upper_rdp(event, order=order, adjacency=adjacency)
    ball = UpperBounds().ball(event, order, adjacency) if math.isfinite(value) else None
    if ball is None:
        return value, name, None
    found = Enclosure(lower=max(float_below(ball), 0.0), upper=float_above(ball))
    return found.upper, name, found


def renyi_options(
    conversion: str | None, order_limits: tuple[float, float], *, certify: bool = True
) -> RenyiOptions:
    """How Renyi divergences are to be used, checked."""
    if conversion is not None:
        _validate.choice("conversion", conversion, EPSILON)
    if order_limits is ALL_ORDERS:
        return RenyiOptions(conversion=conversion, certify=certify)
    condition = "to be a pair (smallest, largest) with 1 < smallest <= largest"
    try:
        smallest, largest = order_limits
    except (TypeError, ValueError):
        raise _validate.fail("order_limits", condition, order_limits) from None
    low = _validate.order("order_limits[0]", smallest)
    high = _validate.order("order_limits[1]", largest)
    if low > high:
        raise _validate.fail("order_limits", condition, order_limits)
    return RenyiOptions(conversion=conversion, order_limits=(low, high), certify=certify)


def _attained(event: Event, target: Target, found: Guarantee) -> float | None:
    """What a pair of data sets attains of the number that was asked for; None if none is known."""
    try:
        attained = loss_distributions.lower(event, target)[0]
    except NoLossDistributionError:
        return None
    number = target.number(attained)
    if found.kind is Kind.UPPER and number > target.number(found):
        raise ArithmeticError(
            f"The pair {attained.bound} attains {found.asked} = {number!r} where the upper bound "
            f"{found.bound} says {target.number(found)!r}: one of them is false. Please report "
            "this."
        )
    return number


def _profile(
    event: Event, adjacency: Adjacency, around: float, *, seconds: float = _SECONDS
) -> Points:
    """Deltas on both sides of an epsilon, for a drawing: as many as there is time for.

    Each point is a proven upper bound, and a lower one where a pair is known.
    """
    if not 0.0 < around < math.inf:
        return ()
    began = time.monotonic()
    options = renyi_options(None, ALL_ORDERS, certify=False)
    found: list[tuple[float, float, float | None]] = []
    steps = range(1, _POINTS + 1)
    for step in (0, *(signed for one in steps for signed in (-one, one))):
        if time.monotonic() - began > seconds:
            break
        place = around * (1.0 + step / _POINTS)
        target = Target(adjacency=adjacency, epsilon=place)
        try:
            below = loss_distributions.lower(event, target)[0].delta
        except NoLossDistributionError:
            below = None
        found.append((place, _answer(event, target, BEST, options).delta, below))
    return tuple(sorted(found, key=itemgetter(0)))


class NoSuchBoundError(ValueError):
    """A bound was asked for by a name that none has for this event and relation."""

    def __init__(self, message: str, names: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.names = names  #: Those that are accepted


def _no_such_bound(event: Event, adjacency: Adjacency, identifier: str) -> NoSuchBoundError:
    names = (
        BEST,
        BEST_RDP,
        *published_bounds(event, adjacency),
        *upper_ids(event, adjacency),
        UPPER_ID,
        LOWER_ID,
    )
    return NoSuchBoundError(str(_validate.no_such("bound", identifier, names)), names)


def _answer(event: Event, target: Target, bound: str, options: RenyiOptions) -> Guarantee:
    _validate.one_of_a_kind("event", event, Event)
    check_adjacency(event, target.adjacency)
    if target.epsilon is not None and target.epsilon > _FAR:
        # Delta never grows with epsilon, and far out nothing is gained.
        found = _answer(event, replace(target, epsilon=_FAR), bound, options)
        return replace(found, epsilon=target.epsilon)
    try:
        found = _computed(event, target, bound, options)
    except (OverflowError, ZeroDivisionError, FloatingPointError) as error:
        raise _too_extreme(event) from error
    if math.isfinite(found.epsilon) or found.kind is Kind.LOWER:
        return found
    notes = dict.fromkeys((*found.notes, *_why_infinite(event, target, _of_all(bound, options))))
    return replace(found, notes=tuple(notes))


def _too_extreme(event: Event) -> NoLossDistributionError:
    return NoLossDistributionError(
        f"The numbers of this event are too large, or too small, for floats: {event!r}."
    )


def _of_all(bound: str, options: RenyiOptions) -> bool:
    """Whether the best of all bounds is asked for, those of Renyi divergences and others."""
    return bound == BEST and options.conversion is None


def _why_infinite(event: Event, target: Target, of_all: bool) -> Iterator[str]:
    """Why no epsilon is finite: what nothing is known about, or else what is unbounded."""
    other = "this bound gives no finite epsilon at this delta"
    if target.delta == 0.0:
        yield "no epsilon is known to hold with delta = 0" if of_all else other
        return
    unknown = [
        f"nothing is known about {type(leaf).__name__} under {relation.value}"
        for leaf, relation in leaves(event, target.adjacency)
        if leaf.expand() is None and _is_unknown(leaf, relation)
    ]
    none = "no finite epsilon is known to hold at this delta"
    yield from unknown or [none if of_all else other]


def _is_unknown(leaf: Event, relation: Adjacency) -> bool:
    try:
        leaf.dominating(relation)
    except NoLossDistributionError:
        return bool(np.isinf(UpperBounds().rdp(leaf, _ORDERS, relation)).all())
    return False


def _computed(event: Event, target: Target, bound: str, options: RenyiOptions) -> Guarantee:
    if _of_all(bound, options):
        return _best(event, target, options)
    if bound == UPPER_ID:
        return loss_distributions.upper(event, target)[0]
    if bound == LOWER_ID:
        return loss_distributions.lower(event, target)[0]
    published = find_published(event, target.adjacency, bound)
    # With a conversion, which is one from Renyi divergences, "best" means "best-rdp".
    best = bound in (BEST, BEST_RDP)
    if published is None and not best and bound not in upper_ids(event, target.adjacency):
        raise _no_such_bound(event, target.adjacency, bound)
    if target.delta == 0.0:
        return _nothing_known(event, target, bound, published.kind if published else Kind.UPPER)
    if published is not None:
        return renyi.published(event, published, target, options)
    return renyi.upper(event, target, options, theorem=None if best else bound)


def _nothing_known(event: Event, target: Target, bound: str, kind: Kind) -> Guarantee:
    """Epsilon at delta = 0 where there is none: Renyi divergences say nothing there."""
    return target.answer(math.inf, bound=bound, kind=kind, assumptions=event.assumptions())


def _best(event: Event, target: Target, options: RenyiOptions) -> Guarantee:
    """The smaller one of the numbers from loss distributions and from Renyi divergences.

    Renyi divergences are left out only where data sets attain the other number, but for the
    discretisation of a fine grid: no sound bound is smaller by more than that. A grid may be far
    too coarse for a large number of releases, and then they say more.
    """
    try:
        by_losses, attained = loss_distributions.upper(event, target)
    except NoLossDistributionError as error:
        if target.delta == 0.0:
            return _nothing_known(event, target, BEST, Kind.UPPER)
        found = renyi.upper(event, target, options)
        return replace(found, notes=(*found.notes, f"no privacy loss distribution: {error}"))
    # Renyi divergences say nothing at delta = 0.
    if target.delta == 0.0 or (attained and math.isfinite(by_losses.epsilon)):
        return by_losses
    by_divergences = renyi.upper(event, target, options)
    smaller = target.number(by_losses) <= target.number(by_divergences)
    return by_losses if smaller else by_divergences
