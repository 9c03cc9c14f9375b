"""The last value of a parameter at which no attack does better than a target allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rdpkit import _validate
from rdpkit.accountants import profiles
from rdpkit.adjacency import Adjacency, needed
from rdpkit.analysis import delta as delta_at
from rdpkit.calibration.outcome import NoEffectError, UnreachableTargetError
from rdpkit.calibration.search_variable import SearchVariable, Value, search_variable
from rdpkit.events import Event
from rdpkit.formats.records import as_plain
from rdpkit.formats.text import rounded_up
from rdpkit.tradeoffs.curve import SMALLEST_DELTA, TradeoffCurve
from rdpkit.tradeoffs.gaussian import mu_from_above

_TOLERANCE = 1e-4
# Deltas below this part of a true positive rate hardly matter for it.
_NEGLIGIBLE_SHARE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCalibration:
    """An event whose parameter was chosen so that no attack exceeds a target."""

    event: Event  #: The event at the values found
    values: Mapping[str, Value]  #: The calibrated parameters by their paths
    measure: str  #: What is limited: "advantage", "TPR at FPR 0.01", "mu for delta >= 1e-10"
    target: float  #: What was asked for
    reached: float  #: What is proven of ``event``: at most the target
    adjacency: Adjacency  #: The neighbouring relation
    misses: Mapping[str, Value] | None
    """Values on the less private side, next to ``values`` or within the tolerance, at which the
    proven number exceeds the target; None where there are none in the range.
    """
    evaluations: int  #: How often the number was computed
    assumptions: tuple[str, ...] = ()  #: What must hold, beyond the parameters

    def __post_init__(self) -> None:
        if not self.reached <= self.target:
            raise ArithmeticError(
                f"A calibration with {self.measure} {self.reached!r} above its target "
                f"{self.target!r} was about to be made."
            )

    @property
    def value(self) -> Value:
        """The value of the one parameter, or of the first of several."""
        return next(iter(self.values.values()))

    @property
    def slack(self) -> float:
        """How much of the target is left, >= 0."""
        return self.target - self.reached

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mechanism": self.event.mechanism,
            "values": as_plain(self.values),
            "measure": self.measure,
            "target": self.target,
            "reached": self.reached,
            "slack": self.slack,
            "adjacency": self.adjacency.value,
            "misses": as_plain(self.misses),
            "evaluations": self.evaluations,
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measure:
    """A number about an event that is to stay below a target."""

    name: str  # What it is, in words
    target: float  # Its largest value
    of: Callable[[Event], float]  # Maps an event to an upper bound on it, proven


@_validate.by_name(adjacency=needed())
def calibrate_attack(
    event: Event,
    *,
    adjacency: Adjacency | str,
    parameter: str | Sequence[str] | Mapping[str, float],
    target_advantage: float | None = None,
    target_tpr: float | None = None,
    at_fpr: float | None = None,
    target_mu: float | None = None,
    smallest_delta: float | None = None,
    tolerance: float = _TOLERANCE,
) -> AttackCalibration:
    """The value of a parameter at which no attack does better than a target, and not much worse.

    Guarantee
    ---------
    For the event that is returned, ``reached`` is proven, and at most the target: the advantage of
    every attack, its true positive rate at ``at_fpr``, or mu. ``misses`` holds a value on the other
    side, evaluated too, at which what is proven exceeds the target.

    Assumes
    -------
    What the result's ``assumptions`` list.

    Parameters
    ----------
    event : Event
        What is to be released, as for :func:`rdpkit.calibrate`.
    adjacency : Adjacency or str
        The neighbouring relation.
    parameter : str, sequence of str, or mapping from str to number
        As for :func:`rdpkit.calibrate`; one with a fixed direction.
    target_advantage : float, optional
        The largest true positive rate minus the false positive rate, in (0, 1). Exactly one of the
        three targets is given.
    target_tpr : float, optional
        The largest true positive rate at the false positive rate ``at_fpr``: above it and below 1.
    at_fpr : float, optional
        In [0, 1); with ``target_tpr`` alone.
    target_mu : float, optional
        The largest mu of Gaussian differential privacy, > 0.
    smallest_delta : float, optional
        With ``target_mu`` alone: the smallest delta for which mu is to hold; 1e-10 by default.
    tolerance : float
        How far apart, relative to their size, a number that meets the target and one that misses it
        may be.

    Returns
    -------
    AttackCalibration
        The event, the values, what is proven of it, and what misses.

    Raises
    ------
    UnreachableTargetError
        A ValueError: no value of the parameter meets the target.
    NoEffectError
        A ValueError: the target does not depend on the parameter.
    ValueError
        If an argument is outside of its range, or there is no such parameter.

    Source
    ------
    rdpkit, theory page "Trade-off curves".

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)
    >>> found = rdpkit.calibrate_attack(
    ...     event, target_advantage=0.1, adjacency="add_or_remove_one", parameter="noise_std")
    >>> f"{found.value:.3f} {found.reached <= 0.1}"
    '3.979 True'
    """
    _validate.one_of_a_kind("event", event, Event)
    relation = Adjacency(adjacency)
    targets = {
        "target_advantage": target_advantage,
        "target_tpr": target_tpr,
        "target_mu": target_mu,
    }
    given = [name for name, value in targets.items() if value is not None]
    if len(given) != 1:
        raise ValueError(
            f"Expected exactly one of {', '.join(targets)}, got {' and '.join(given) or 'none'}."
        )
    for name, extra, owner in (
        ("at_fpr", at_fpr, "target_tpr"),
        ("smallest_delta", smallest_delta, "target_mu"),
    ):
        if extra is not None and owner != given[0]:
            raise ValueError(f"Expected {name} only with {owner}, got it with {given[0]}.")
    if target_advantage is not None:
        wanted = _advantage(target_advantage, relation)
    elif target_tpr is not None:
        wanted = _tpr(target_tpr, at_fpr, relation)
    else:
        wanted = _mu(target_mu, smallest_delta, relation)
    number = _validate.positive("tolerance", tolerance)
    return _search(search_variable(event, parameter), wanted, relation, number)


def _advantage(target: float, adjacency: Adjacency) -> _Measure:
    return _Measure(
        name="advantage",
        target=_validate.open_probability("target_advantage", target),
        of=lambda event: delta_at(event, epsilon=0.0, adjacency=adjacency).delta,
    )


def _tpr(target: float, fpr: float | None, adjacency: Adjacency) -> _Measure:
    number = _validate.open_probability("target_tpr", target)
    if fpr is None:
        raise ValueError("Expected at_fpr, the false positive rate, with target_tpr, got None.")
    rate = _validate.probability("at_fpr", fpr)
    if not rate < number:
        raise _validate.fail(
            "target_tpr", f"above at_fpr = {rate!r}, which guessing attains", target
        )
    smallest = max(_NEGLIGIBLE_SHARE * (number - rate), 1e-100)

    def of(event: Event) -> float:
        curve = TradeoffCurve(
            adjacency=adjacency,
            smallest_delta=smallest,
            profile=profiles.proven(event, adjacency, smallest=smallest),
            attained=(),
            gaussian=profiles.gaussian_mu(event, adjacency),
        )
        return curve.tpr(rate).upper

    return _Measure(name=f"TPR at FPR {rate:g}", target=number, of=of)


def _mu(target: float | None, smallest_delta: float | None, adjacency: Adjacency) -> _Measure:
    smallest = SMALLEST_DELTA
    if smallest_delta is not None:
        smallest = _validate.open_probability("smallest_delta", smallest_delta)
    return _Measure(
        name=f"mu for delta >= {smallest:g}",
        target=_validate.positive("target_mu", target),
        of=lambda event: mu_from_above(event, adjacency, smallest),
    )


def _search(
    variable: SearchVariable, wanted: _Measure, adjacency: Adjacency, tolerance: float
) -> AttackCalibration:
    """The last value that meets the target."""
    if variable.private == 0:
        raise _validate.fail(
            "parameter",
            "to have a fixed direction: more of it is always more private, or always less",
            variable.names,
        )
    answers: dict[float, float] = {}

    def score(t: float) -> float:
        if t not in answers:
            answers[t] = wanted.of(variable.at(t))
        if answers[t] <= 0.0:
            return -math.inf
        return math.log(answers[t] / wanted.target) if math.isfinite(answers[t]) else math.inf

    found = variable.bracket(score, tolerance=tolerance, start=variable.start, towards=1)
    if found.meets is None:
        best = min(answers, key=answers.__getitem__)
        raise UnreachableTargetError(
            f"{wanted.name} {wanted.target:g} cannot be reached by {variable.names}: the smallest "
            f"found is {rounded_up(answers[best])}, at {variable.values(best)}.",
            limit=answers[best],
        )
    if found.constant and variable.lowest < variable.highest:
        raise NoEffectError(
            f"{wanted.name} does not depend on {variable.names}: it is "
            f"{rounded_up(answers[found.meets])} at every value that was tried.",
            limit=answers[found.meets],
        )
    event = variable.at(found.meets)
    return AttackCalibration(
        event=event,
        values=variable.values(found.meets),
        measure=wanted.name,
        target=wanted.target,
        reached=answers[found.meets],
        adjacency=adjacency,
        misses=None if found.misses is None else variable.values(found.misses),
        evaluations=len(answers),
        assumptions=event.assumptions(),
    )
