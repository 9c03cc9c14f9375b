"""Which value of a parameter meets a target: checks of the arguments, and which search answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from rdpkit import _validate
from rdpkit.accountants.divergence_bounds import find_published, published_bounds, upper_ids
from rdpkit.accountants.event_tree import check_adjacency
from rdpkit.accountants.loss_distributions import UPPER_ID
from rdpkit.accountants.renyi import ALL_ORDERS, RenyiOptions
from rdpkit.adjacency import Adjacency, needed
from rdpkit.analysis import BEST, BEST_RDP, renyi_options
from rdpkit.analysis import epsilon as epsilon_of
from rdpkit.calibration.outcome import Calibration, CalibrationError, UnreachableTargetError
from rdpkit.calibration.scores import Requirement
from rdpkit.calibration.search import Search, by_distributions, by_divergences
from rdpkit.calibration.search_variable import search_variable
from rdpkit.events import Event
from rdpkit.guarantee import Guarantee, Target

Prefer = Literal["smallest", "largest"]
PREFERENCES = ("smallest", "largest")

# Epsilon from a loss distribution is only accurate to about 2e-4, so its tolerance is larger.
_TOLERANCE, _TOLERANCE_OF_DISTRIBUTIONS = 1e-6, 1e-4
_SMALLEST_TOLERANCE, _LARGEST_TOLERANCE = 1e-12, 0.5


@_validate.by_name(adjacency=needed())
def calibrate(
    event: Event | Callable[[Any], Event],
    *,
    target_epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    parameter: str | Sequence[str] | Mapping[str, float] | None = None,
    between: tuple[float, float] | None = None,
    bound: str = BEST,
    conversion: str | None = None,
    order_limits: tuple[float, float] = ALL_ORDERS,
    tolerance: float | None = None,
    prefer: Prefer | None = None,
) -> Calibration:
    """The value of a parameter that makes an event (target_epsilon, delta)-DP, and no more private.

    Guarantee
    ---------
    The event that is returned is (epsilon, delta)-DP under ``adjacency`` with the guarantee's
    epsilon, which is at most ``target_epsilon``. With a sound bound that is certified in ball
    arithmetic at the value returned. With a published bound it is what its theorem gives.

    The value is the end of what meets the target: the least noise, the largest norm, the most
    releases. ``misses`` holds a value on the other side, evaluated too, that exceeds the target by
    the same bound: the neighbouring integer, or a number within the tolerance.

    Assumes
    -------
    What the guarantee's ``assumptions`` list.

    Parameters
    ----------
    event : Event or callable
        What is to be released. Its own value of the parameter is where the search begins, and
        where several parameters are named, it sets their ratio. Or a function from a number to an
        event, which is searched in the range ``between``.
    target_epsilon : float
        In nats; finite and > 0.
    delta : float
        In [0, 1). At 0, pure differential privacy, only privacy loss distributions say anything.
    adjacency : Adjacency or str
        The neighbouring relation.
    parameter : str, sequence of str, or mapping from str to number
        A parameter's name, or its path from the event: ``"feature_noise"``, ``"event.noise_std"``,
        ``"events[0].event.count"``; the end of a path is enough where it is unambiguous, and
        ``"events[*].noise_std"`` names those of all parts. Several in a sequence keep the ratio
        that they have in the event; a mapping states it. The noises, norms, numbers of releases,
        sizes of samples and of the data, sampling probabilities, dimensions and the smallest
        eigenvalue can be calibrated; an unknown name is answered with the list for the event.
    between : pair of float or pair of int, optional
        Only for a function: two numbers, one of which meets the target and one does not. Of
        integers, integers are tried alone.
    bound : str
        "best": the smallest sound bound, from privacy loss distributions or Renyi divergences.
        "best-rdp": the smallest one from Renyi divergences: more noise, and less work. Both are
        certified. Or "pld-upper", the id of one of the event's upper bounds, or that of a published
        one.
    conversion : {"mironov2017", "balle2020", "optimal"}, optional
        As for :func:`rdpkit.epsilon`.
    order_limits : pair of float
        The Renyi orders that may be used.
    tolerance : float, optional
        How far apart, relative to their size, a number that meets the target and one that misses it
        may be: by default 1e-6, and 1e-4 for privacy loss distributions at a delta above 0. In
        [1e-12, 0.5].
    prefer : {"smallest", "largest"}, optional
        Only for the size of a sample whose mean is released, where privacy has no fixed direction:
        which of the sizes that meet the target to return; by default the smallest, which averages
        least.

    Returns
    -------
    Calibration
        The event, the values, the guarantee, the slack and what misses.

    Raises
    ------
    UnreachableTargetError
        A ValueError: no value of the parameter meets the target; its ``limit`` is the epsilon
        beyond which the parameter does not help.
    NoEffectError
        A ValueError: the bound does not depend on the parameter.
    ValueError
        If an argument is outside of its range, or there is no such parameter or bound.
    ArithmeticError
        If a number cannot be computed, or no certificate confirms the value.

    Source
    ------
    The theorem that the guarantee names; the search: rdpkit, docs page "Calibration".

    Examples
    --------
    >>> import rdpkit
    >>> training = rdpkit.Repeated(
    ...     event=rdpkit.PoissonSampledGaussian(
    ...         noise_std=1.0, record_norm=1.0, sampling_probability=0.01),
    ...     count=10000)
    >>> found = rdpkit.calibrate(training, target_epsilon=1.0, delta=1e-5,
    ...                          adjacency="add_or_remove_one", parameter="event.noise_std")
    >>> f"{found.value:.6f}", found.guarantee <= 1.0, found.slack < 1e-3, found.certified
    ('3.813163', True, True, True)
    """
    wanted = _validate.positive("target_epsilon", target_epsilon)
    target = Target(adjacency=Adjacency(adjacency), delta=_validate.target_delta("delta", delta))
    if callable(event):
        _only_for(between, "between", parameter=parameter, prefer=prefer)
        ask = partial(
            epsilon_of, delta=delta, adjacency=target.adjacency, bound=bound,
            conversion=conversion, order_limits=order_limits,
        )  # fmt: skip
        closeness = _tolerance(tolerance, _TOLERANCE_OF_DISTRIBUTIONS)
        return FunctionSearch(event, ask, epsilon=wanted, tolerance=closeness).within(between)
    _validate.one_of_a_kind("event", event, Event)
    _only_for(parameter, "parameter", between=between)
    assert parameter is not None
    options = renyi_options(conversion, order_limits)
    requirement = _requirement(event, bound, epsilon=wanted, target=target, options=options)
    variable = search_variable(event, parameter)
    if prefer is not None:
        _validate.choice("prefer", prefer, PREFERENCES)
        if variable.private != 0:
            raise _validate.fail(
                "prefer",
                f"to be None: of {variable.names} the "
                f"{'smallest' if variable.private > 0 else 'largest'} value that meets the target "
                "is the best",
                prefer,
            )
    search = Search(
        variable=variable,
        requirement=requirement,
        tolerance=_tolerance(tolerance, _TOLERANCE),
        smallest=prefer != "largest",
    )
    pure = target.delta == 0.0
    if bound in (BEST, UPPER_ID) and conversion is None:
        return by_distributions(
            search,
            _tolerance(tolerance, _TOLERANCE if pure else _TOLERANCE_OF_DISTRIBUTIONS),
            also_divergences=bound == BEST and not pure,
        )
    if pure:
        raise _validate.fail(
            "delta", "above 0 for Renyi divergences, which say nothing of pure privacy", delta
        )
    return by_divergences(search)


def _only_for(needed: Any, name: str, **others: Any) -> None:
    """Raise an error if an argument is missing, or one is given that is for the other case."""
    if needed is None:
        what = "a function" if name == "between" else "an event"
        raise TypeError(f"calibrate() of {what} needs the argument {name!r}.")
    for other, value in others.items():
        if value is not None:
            raise _validate.fail(other, f"to be None beside {name}", value)


def _tolerance(tolerance: float | None, usual: float) -> float:
    if tolerance is None:
        return usual
    number = _validate.positive("tolerance", tolerance)
    if not _SMALLEST_TOLERANCE <= number <= _LARGEST_TOLERANCE:
        raise _validate.fail(
            "tolerance", f"in [{_SMALLEST_TOLERANCE:g}, {_LARGEST_TOLERANCE:g}]", tolerance
        )
    return number


def _requirement(
    event: Event, bound: str, *, epsilon: float, target: Target, options: RenyiOptions
) -> Requirement:
    """What is to be met by Renyi divergences, with which every search begins."""
    check_adjacency(event, target.adjacency)
    published = find_published(event, target.adjacency, bound)
    sound = upper_ids(event, target.adjacency)
    any_sound = (BEST, BEST_RDP, UPPER_ID)
    if published is None and bound not in any_sound and bound not in sound:
        names = (*any_sound, *published_bounds(event, target.adjacency), *sound)
        accepted = "to be an upper or a published bound, one of " + ", ".join(map(repr, names))
        error = _validate.fail("bound", accepted, bound)
        raise ValueError(f"{error}{_validate.did_you_mean(bound, names)}")
    return Requirement(
        epsilon=epsilon,
        target=target,
        options=options,
        published=published,
        theorem=bound if published is None and bound not in any_sound else None,
    )


_NAME = "number"


class FunctionSearch:
    """Halves a range whose one end meets a target and whose other end does not.

    Nothing is assumed about the function in between: what is returned was evaluated, and so was
    what misses. If the bound goes up and down, it is one of several such places.
    """

    def __init__(
        self,
        make: Callable[[Any], Event],  # Maps a number to an event
        answer: Callable[[Event], Guarantee],  # The guarantee of an event at the target's delta
        *,
        epsilon: float,  # The target
        # How far apart, relative to their size, what meets the target and what misses it may be.
        tolerance: float,
    ) -> None:
        self._make, self._answer = make, answer
        self._epsilon, self._tolerance = epsilon, tolerance
        self._evaluations = 0

    def within(self, between: Any) -> Calibration:
        """The number next to the one that misses the target.

        Raises UnreachableTargetError if neither end of the range meets the target. Raises
        CalibrationError if both ends do. Raises ValueError if ``between`` is not a range, or the
        function returns something else than an event.
        """
        low, high = self._ends(between)
        ends = [(number, *self._at(number)) for number in (low, high)]
        good, bad = sorted(ends, key=lambda end: end[2].epsilon)
        if good[2].epsilon > self._epsilon:
            raise UnreachableTargetError(
                f"Neither {low!r} nor {high!r} meets epsilon = {self._epsilon!r}: they give "
                f"{ends[0][2].epsilon:.6g} and {ends[1][2].epsilon:.6g}. Try a wider range.",
                limit=good[2].epsilon,
            )
        if bad[2].epsilon <= self._epsilon:
            raise CalibrationError(
                f"Both {low!r} and {high!r} meet epsilon = {self._epsilon!r}, so that it is not "
                "known in which direction it is missed. Try a wider range.",
                limit=bad[2].epsilon,
            )
        while (middle := self._middle(good[0], bad[0])) is not None:
            found = (middle, *self._at(middle))
            if found[2].epsilon <= self._epsilon:
                good = found
            else:
                bad = found
        return Calibration(
            event=good[1],
            values={_NAME: good[0]},
            guarantee=good[2],
            target_epsilon=self._epsilon,
            misses={_NAME: bad[0]},
            evaluations=self._evaluations,
            notes=(f"searched between {low!r} and {high!r} as the function says",),
        )

    def _ends(self, between: Any) -> tuple[Any, Any]:
        condition = "to be a pair of different finite numbers, the range to search in"
        if not isinstance(between, (tuple, list)) or len(between) != 2:
            raise _validate.fail("between", condition, between)
        whole = all(isinstance(end, int) and not isinstance(end, bool) for end in between)
        ends = list(between) if whole else [float(end) for end in between]
        if not all(math.isfinite(end) for end in ends) or ends[0] == ends[1]:
            raise _validate.fail("between", condition, between)
        return min(ends), max(ends)

    def _at(self, number: Any) -> tuple[Event, Guarantee]:
        event = self._make(number)
        if not isinstance(event, Event):
            raise _validate.fail(f"the event at {number!r}", "to be an Event", event)
        self._evaluations += 1
        return event, self._answer(event)

    def _middle(self, good: Any, bad: Any) -> Any:
        """A number between two others; None if they are close enough."""
        if isinstance(good, int):
            return None if abs(good - bad) <= 1 else (good + bad) // 2
        if abs(good - bad) <= self._tolerance * max(abs(good), abs(bad)):
            return None
        # Numbers of one sign are halved in their logarithm where they are far apart.
        apart = good * bad > 0.0 and max(good / bad, bad / good) > 2.0
        sign = math.copysign(1.0, good)
        middle = sign * math.sqrt(abs(good)) * math.sqrt(abs(bad)) if apart else (good + bad) / 2.0
        return middle if min(good, bad) < middle < max(good, bad) else None
