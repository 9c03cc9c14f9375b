"""Bets that new processes repeat a release more often on one data set than the claim allows.

A generator that is seeded when a module is imported makes the same noise in every new process. Its
releases look independent within a process. Releases of new processes are outputs like others,
though: the event that an output equals the first one that was made on D is bounded by the claim as
every event is, and the event is chosen before the outputs that are bet on are made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rdpkit.verification.estimators.base import Array, Direction, ThresholdEvent
from rdpkit.verification.estimators.bets import best_bet
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim
from rdpkit.verification.estimators.witness import event_witness

Digests = tuple[str, ...]
"""Hashes of one release: of the whole, and then of each of its parts."""

# How often the first output may come again on its own side: each has a part of the capital.
_ALTERNATIVES = (0.99, 0.5, 0.2)
# On the other side it is then expected this many times less often than the claim would need.
_RARER = 0.1
_WHOLE = 1_000_000
# The most parts of a release, besides the whole, that are bet on.
_MOST_PARTS = 6
# After this many outputs on each side, nothing is expected of an event that was never seen again.
_PATIENCE = 5
ENOUGH = math.log(1e6)
"""No more outputs are needed once the logarithm of the capital reaches this."""


@dataclass(slots=True)
class RepeatedEvent:
    """The event that a part of an output equals the first one on one side."""

    side: int
    place: int
    reference: str
    log_share: float
    log_factors: Array
    log_capitals: Array
    repeats: tuple[int, int] = (0, 0)

    def look_at(self, pair: tuple[Digests, Digests]) -> None:
        """Bet on one more output on each side."""
        p, q = (self.contains(one) for one in pair)
        self.log_capitals += self.log_factors[:, int(p), int(q)]
        self.repeats = (self.repeats[0] + p, self.repeats[1] + q)

    def contains(self, output: Digests) -> bool:
        """Whether that part of an output is the one that was seen first."""
        return len(output) > self.place and output[self.place] == self.reference

    @property
    def log_capital(self) -> float:
        """The logarithm of its part of the capital."""
        together = float(np.logaddexp.reduce(self.log_capitals))
        return self.log_share + together - math.log(len(self.log_capitals))

    @property
    def promising(self) -> bool:
        """Whether the output came again on its own side, and more often than on the other."""
        return self.repeats[self.side] > self.repeats[1 - self.side]


class RepeatBets:
    """Bets on outputs of new processes, one on each side at a time.

    Guarantee
    ---------
    If the claim is true, ``log_e_value`` is the logarithm of a nonnegative supermartingale that
    begins at 1, whatever the distribution of the outputs: constant, discrete or continuous.

    Assumes
    -------
    Outputs of new processes are independent.
    """

    def __init__(self, claim: PrivacyClaim) -> None:
        self._log_factors = [_log_factors(claim, direction) for direction in Direction]
        self._events: list[RepeatedEvent] = []
        self.pairs = 0
        """How many outputs were seen on each side."""

    @property
    def log_e_value(self) -> float:
        """The logarithm of the capital, which began as 1."""
        if not self._events:
            return 0.0
        return float(np.logaddexp.reduce([event.log_capital for event in self._events]))

    @property
    def done(self) -> bool:
        """Whether more outputs would hardly change anything."""
        if self.log_e_value >= ENOUGH:
            return True
        return self.pairs >= _PATIENCE and not any(event.promising for event in self._events)

    def update(self, p: Digests, q: Digests) -> None:
        """Look at one more output on each side."""
        if self.pairs:
            for event in self._events:
                event.look_at((p, q))
        else:
            self._begin(p, q)
        self.pairs += 1

    @property
    def clearest(self) -> RepeatedEvent:
        """The event that speaks most clearly against the claim."""
        return max(self._events, key=lambda event: event.log_capital)

    def describe(self) -> str:
        """What was seen, in words."""
        if self.pairs < 2:
            made = "1 release was" if self.pairs == 1 else f"{self.pairs} releases were"
            return f"{made} made in new processes on each data set."
        event = self.clearest
        side, other = ("D", "D'") if event.side == 0 else ("D'", "D")
        what = "a part of the first release" if event.place else "the first release"
        again = self.pairs - 1
        return (
            f"{event.repeats[event.side]} of {again} further new processes on {side} gave {what} "
            f"on {side} again, and {event.repeats[1 - event.side]} of {again} on {other} gave it."
        )

    def always_repeated(self, side: int) -> bool:
        """Whether all releases on this side were equal."""
        return any(
            event.side == side and event.place == 0 and event.repeats[side] == self.pairs - 1
            for event in self._events
        )

    def _begin(self, p: Digests, q: Digests) -> None:
        parts = min(len(p), len(q), 1 + _MOST_PARTS)
        shares = [1.0] if parts == 1 else [0.5] + [0.5 / (parts - 1)] * (parts - 1)
        self._events = [
            RepeatedEvent(
                side=side,
                place=place,
                reference=first[place],
                log_share=math.log(0.5 * share),
                log_factors=self._log_factors[side],
                log_capitals=np.zeros(len(_ALTERNATIVES)),
            )
            for side, first in enumerate((p, q))
            for place, share in enumerate(shares)
        ]


def _log_factors(claim: PrivacyClaim, direction: Direction) -> Array:
    """What a bet makes of the capital, by whether the event came on D and whether it came on D'.

    There is one bet for each alternative, on the point of the claim that it speaks most clearly
    against. Shape (alternatives, 2, 2).
    """
    event = ThresholdEvent(threshold=0.5, above=True, direction=direction)
    forward = direction is Direction.P_OVER_Q
    found = []
    for often in _ALTERNATIVES:
        candidates = []
        for epsilon, delta in zip(*claim.supporting_lines(), strict=True):
            witness = event_witness(event, epsilon=float(epsilon), delta=float(delta))
            rare = _RARER * often * math.exp(-float(epsilon))
            one, other = (_counts(probability) for probability in (often, rare))
            p, q = (one, other) if forward else (other, one)
            bet = best_bet(witness, p, q, ratio=1.0, boldness=1.0)
            candidates.append((bet.log_factor(witness, p, q), witness, bet))
        _, witness, bet = max(candidates, key=lambda candidate: candidate[0])
        cells = np.eye(2, dtype=np.int64)
        found.append([[bet.log_factor(witness, p, q) for q in cells] for p in cells])
    return np.array(found)


def _counts(probability: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How often an event does not come, and comes, of many times."""
    inside = round(probability * _WHOLE)
    return np.array([_WHOLE - inside, inside], dtype=np.int64)
