"""Lower bounds on epsilon and on mu that hold whenever a test stops.

An event is chosen from past outputs, and its hits are counted in the outputs that follow. Whenever
scores are chosen again, so are the events; each choice gets a part of the failure probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm

from rdpkit.formats.records import as_plain
from rdpkit.verification.blackbox.betting import confidence_sequence
from rdpkit.verification.estimators.base import (
    Array,
    Direction,
    EpsilonLowerBound,
    ThresholdEvent,
)
from rdpkit.verification.estimators.event_search import thresholds_of

# Events are planned for bounds that fail with a probability of about exp(-9).
_PLANNED_NATS = 9.0
Bound = Callable[[Array, Array], Array]
"""A bound from a lower bound on P(E) and an upper bound on Q(E)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MuLowerBound:
    """A lower bound on the mu of Gaussian differential privacy, from samples."""

    mu: float
    """At least 0. Unless the bound failed, the mechanism is not mu'-GDP for any smaller mu'."""
    confidence: float  #: ``mu`` is a lower bound with at least this probability
    samples: tuple[int, int]  #: How many outputs on D and on D' its event was counted in
    event: ThresholdEvent | None = None  #: The event; None if none showed a mu above 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": "lower", **as_plain(self)}


@dataclass(slots=True)
class CountedEvent:
    """An event of one score, and its hits since it was chosen."""

    column: int  # The score's place
    event: ThresholdEvent
    choice: int  # Which choice of events on its pair it belongs to, from 1
    hits: list[int] = field(default_factory=lambda: [0, 0])  # On D and on D'
    trials: int = 0  # Outputs on each data set

    def count(self, p_scores: Array, q_scores: Array) -> None:
        """Count the hits among new scores, of shape (n, k), with a column for each score."""
        for side, scores in enumerate((p_scores, q_scores)):
            self.hits[side] += int(self.event.contains(scores[:, self.column]).sum())
        self.trials += len(p_scores)

    def bound(self, of: Bound, failure: float) -> float:
        """The bound, if the failure probability of all choices on the pair is ``failure``."""
        if self.trials == 0:
            return 0.0
        # The parts of all choices add up: sum 1 / (k (k + 1)) = 1. Half is for either side.
        part = failure / (2.0 * self.choice * (self.choice + 1.0))
        first, second = self.hits if self.event.direction is Direction.P_OVER_Q else self.hits[::-1]
        low = confidence_sequence.lower_bound([float(first)], self.trials, part)
        high = confidence_sequence.upper_bound([float(second)], self.trials, part)
        return max(0.0, float(of(low, high)[0]))


def epsilon_of(delta: float) -> Bound:
    """The bound log((P(E) - delta) / Q(E)) on epsilon."""

    def bound(low: Array, high: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(low - delta, 0.0)) - np.log(high))

    return bound


def mu_of(low: Array, high: Array) -> Array:
    """The bound on mu: a mu-GDP mechanism has norm.ppf(P(E)) - norm.ppf(Q(E)) <= mu."""
    return np.asarray(norm.ppf(low) - norm.ppf(high))


def best_event(
    # Past scores; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    *,
    of: Bound,
) -> tuple[float, ThresholdEvent]:
    """The event whose bound is about the largest on past scores."""
    found: list[tuple[float, ThresholdEvent]] = []
    # The widths of Bernstein's inequality stand for those of the bounds.
    size = min(p_scores.size, q_scores.size)
    width = (_PLANNED_NATS + 0.5 * math.log(size)) / size
    for above in (True, False):
        sign = 1.0 if above else -1.0
        ordered = [np.sort(sign * side) for side in (p_scores, q_scores)]
        cuts = thresholds_of(ordered[0], ordered[1])
        shares = [1.0 - np.searchsorted(side, cuts, side="right") / side.size for side in ordered]
        for direction in Direction:
            one, other = shares if direction is Direction.P_OVER_Q else shares[::-1]
            low = one - np.sqrt(2.0 * one * (1.0 - one) * width) - width
            high = other + np.sqrt(2.0 * other * (1.0 - other) * width) + width
            bounds = of(np.clip(low, 0.0, 1.0), np.clip(high, 1e-300, 1.0))
            place = int(np.nan_to_num(bounds, nan=-np.inf).argmax())
            event = ThresholdEvent(
                threshold=sign * float(cuts[place]), above=above, direction=direction
            )
            found.append((float(bounds[place]), event))
    return max(found, key=lambda pair: pair[0])


def epsilon_bound(
    counted: list[CountedEvent], *, delta: float, failure: float, pairs: int = 1
) -> EpsilonLowerBound:
    """The largest lower bound on epsilon of all events that were counted on one pair.

    Guarantee
    ---------
    The mechanism is (epsilon', delta)-DP for an epsilon' below it with probability at most
    ``failure``, whenever the counting stopped, on whichever of ``pairs`` pairs of data sets.
    """
    found, bound = _largest(counted, epsilon_of(delta), failure / pairs)
    return EpsilonLowerBound(
        epsilon=bound,
        delta=delta,
        confidence=1.0 - failure,
        samples=(0, 0) if found is None else (found.trials, found.trials),
        event=None if found is None else found.event,
    )


def mu_bound(counted: list[CountedEvent], *, failure: float, pairs: int = 1) -> MuLowerBound:
    """The largest lower bound on mu of all events that were counted on one pair.

    Guarantee
    ---------
    The mechanism is mu'-GDP for a mu' below it with probability at most ``failure``, whenever the
    counting stopped, on whichever of ``pairs`` pairs of data sets.
    """
    found, bound = _largest(counted, mu_of, failure / pairs)
    return MuLowerBound(
        mu=bound,
        confidence=1.0 - failure,
        samples=(0, 0) if found is None else (found.trials, found.trials),
        event=None if found is None else found.event,
    )


def _largest(
    counted: list[CountedEvent], of: Bound, failure: float
) -> tuple[CountedEvent | None, float]:
    bounds = [one.bound(of, failure) for one in counted]
    best = max(bounds, default=0.0)
    return (counted[bounds.index(best)], best) if best > 0.0 else (None, 0.0)
