"""The noise with which a claim is true as it is printed, whatever quantity it is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import rdpkit
from rdpkit import Event
from rdpkit.analysis import certified_rdp
from rdpkit.calibration import bracket
from rdpkit.calibration.outcome import UnreachableTargetError
from rdpkit.calibration.search_variable import Value, search_variable
from rdpkit.formats.text import rounded_up
from rdpkit.verification.claims.claim import Claim

_TOLERANCE = 1e-4


def calibrated_values(
    # A claim with an event and a finite number; its order is one of a claim about one order.
    claim: Claim,
    names: tuple[str, ...],  # Paths of noises of the event, or of how often it happens
) -> dict[str, float]:
    """The least noises that make a claim true, in the ratio that they have, or the largest count.

    Raises ValueError if no value makes it true. Raises ArithmeticError if a number cannot be
    computed.
    """
    event, adjacency, delta = claim.event, claim.adjacency, claim.delta
    assert event is not None
    assert claim.epsilon is not None
    target = float(claim.epsilon)
    match claim.quantity:
        case "epsilon" if claim.order is None:
            assert delta is not None
            found = rdpkit.calibrate(
                event, target_epsilon=target, delta=delta, adjacency=adjacency, parameter=names
            ).values
        case "mu":
            found = rdpkit.calibrate_attack(
                event, target_mu=target, smallest_delta=delta, adjacency=adjacency, parameter=names
            ).values
        case "advantage":
            found = rdpkit.calibrate_attack(
                event, target_advantage=target, adjacency=adjacency, parameter=names
            ).values
        case "tpr":
            found = rdpkit.calibrate_attack(
                event, target_tpr=target, at_fpr=claim.fpr, adjacency=adjacency, parameter=names
            ).values
        case "rho":
            return _searched(
                event, names, target, lambda one: rdpkit.zcdp(one, adjacency=adjacency).rho
            )
        case _:
            order = claim.order
            assert order is not None
            return _searched(
                event,
                names,
                target,
                lambda one: certified_rdp(one, order=order, adjacency=adjacency)[0],
            )
    return _floats(found)


def _searched(
    event: Event, names: tuple[str, ...], target: float, bound: Callable[[Event], float]
) -> dict[str, float]:
    """The values at which a bound is the target, by halving."""
    if not target > 0.0:
        raise ValueError(f"Expected a claim above 0, got {target!r}.")
    variable = search_variable(event, names)

    def score(t: float) -> float:
        found = bound(variable.at(t))
        if found <= 0.0:
            return -math.inf
        return math.log(found / target) if math.isfinite(found) else math.inf

    found = bracket.numbers(
        score,
        start=variable.start,
        lowest=variable.lowest,
        highest=variable.highest,
        private=variable.private,
        tolerance=_TOLERANCE,
    )
    if found.meets is None:
        least = bound(variable.at(variable.highest if variable.private > 0 else variable.lowest))
        raise UnreachableTargetError(
            f"{variable.names} cannot make it {target:g}: the smallest found is "
            f"{rounded_up(least)}.",
            limit=least,
        )
    return _floats(variable.values(found.meets))


def _floats(values: Mapping[str, Value]) -> dict[str, float]:
    return {path: value for path, value in values.items() if not isinstance(value, tuple)}
