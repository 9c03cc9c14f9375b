"""What the calls of noise in a replay spent, composed and held against the claim.

Every call whose noise is known is a pair of distributions: the same noise around the value on D and
around that on D'. Composed, they are what an adversary learns who sees every noisy value. An
adversary who sees less learns no more, so this number is an upper bound for the pair, and more than
the claim is a fault only where every noisy value is released.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import rdpkit
from rdpkit import Composed, EpsilonDelta, Event, Gaussian, Laplace
from rdpkit.formats.numbers import how_many

# One value moves by what one record contributes, whichever relation moved the record.
_RELATION = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
# Noise whose losses add up to epsilon: what moved, in units of the noise, is the loss itself.
_PURE = ("categorical", "discrete laplace")
_LARGEST = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one pair of runs spent."""

    epsilon: float  # At the claim's delta, an upper bound for the pair
    delta: float
    calls: int  # Calls that were composed
    open_calls: int  # Calls that moved, and whose noise is not known
    released: bool  # Whether every noisy value that moved is in the release

    def describe(self) -> str:
        """In words."""
        text = f"epsilon {self.epsilon:.4g} at delta {self.delta:g}, by "
        text += f"{how_many(self.calls, 'call')} of noise that the record moved"
        if self.open_calls:
            text += f"; {self.open_calls} more could not be counted"
        return text


def spent_by(
    calls: Sequence[Mapping[str, Any]],  # As an agent describes them
    released: Sequence[bool],  # For each, whether its noisy value is in the release
    delta: float,  # The claim's
) -> Spent | None:
    """What the calls spent; None if nothing was moved."""
    events: list[Event] = []
    unknown, shown = 0, True
    for place, call in enumerate(calls):
        if not moves(call):
            continue
        event = _event_of(call)
        if event is None:
            unknown += 1
            continue
        events.append(event)
        shown = shown and place < len(released) and released[place]
    if not events:
        return None
    epsilon = _composed(tuple(sorted(events, key=repr)), delta)
    return Spent(
        epsilon=epsilon, delta=delta, calls=len(events), open_calls=unknown, released=shown
    )


@functools.lru_cache(maxsize=256)
def _composed(events: tuple[Event, ...], delta: float) -> float:
    """The epsilon of some events, in whatever order: one record often moves the same as another."""
    event = events[0] if len(events) == 1 else Composed(events=events)
    return rdpkit.epsilon(event, delta=delta, adjacency=_RELATION).epsilon


def moves(call: Mapping[str, Any]) -> bool:
    """Whether the record moved what the call hides, as far as that can be seen."""
    if call["relative"] is not None:
        return bool(call["relative"][0] > 0.0)
    if call["moved"] is not None:
        return bool(call["moved"][0] > 0.0)
    return call["declared"] is not None or bool(call["hides"])


def _event_of(call: Mapping[str, Any]) -> Event | None:
    """The call as an event; None if its noise is not known, or hides nothing at all."""
    if not call["known"]:
        return None
    if call["declared"] is not None:
        epsilon, delta = call["declared"]
        return _stated(epsilon, delta) if epsilon < math.inf else None
    if call["relative"] is None:
        return None
    total, length = call["relative"]
    if not total < _LARGEST:
        return None
    if call["family"] == "normal":
        return Gaussian(noise_std=1.0, record_norm=length)
    if call["family"] == "laplace":
        return Laplace(noise_scale=1.0, record_norm=total)
    return _stated(total, 0.0) if call["family"] in _PURE else None


def _stated(epsilon: float, delta: float) -> EpsilonDelta:
    return EpsilonDelta(epsilon=epsilon, delta=delta, adjacency=_RELATION)
