"""The threshold event of a score that speaks most clearly against a claim.

The search is for training samples only. The event must then be tested on other samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rdpkit.verification.estimators.base import Array, Direction, ThresholdEvent
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim

# Thresholds to search; they are dense in rank near the ends, where privacy loss is largest.
_THRESHOLDS = 160
# An event with fewer samples than this is chosen only if every event has so few.
_FEWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An event, and how clearly it speaks against one pair (epsilon, delta) of a claim."""

    event: ThresholdEvent  # The event
    # A pair that the claim implies.
    epsilon: float
    delta: float
    excess: float  # The estimate of P(E) - e^epsilon Q(E) - delta, in the event's direction
    clarity: float
    """The excess over its standard deviation, for samples of the sizes that will test it."""


def best_events(
    claim: PrivacyClaim,
    # Training samples; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    *,
    count: int = 1,  # How many kinds to return, at most four
    ratio: float = 1.0,  # Size of the test sample from P over that from Q
) -> list[Candidate]:
    """The clearest event of each kind; the clearest kinds come first.

    There are four kinds: above or below a threshold, and likelier on D or likelier on D'.
    """
    epsilons, deltas = claim.supporting_lines()
    found: list[Candidate] = []
    for above in (True, False):
        sign = 1.0 if above else -1.0
        p_sorted, q_sorted = np.sort(sign * p_scores), np.sort(sign * q_scores)
        thresholds = thresholds_of(p_sorted, q_sorted)
        hits = [
            np.asarray(side.size - np.searchsorted(side, thresholds, side="right"), np.float64)
            for side in (p_sorted, q_sorted)
        ]
        for direction in Direction:
            forward = direction is Direction.P_OVER_Q
            first, second = hits if forward else hits[::-1]
            sizes = (p_scores.size, q_scores.size)
            n, m = sizes if forward else sizes[::-1]
            excess, clarity = _clarity(
                (first, n), (second, m), epsilons, deltas, ratio if forward else 1.0 / ratio
            )
            line, place = np.unravel_index(int(clarity.argmax()), clarity.shape)
            found.append(
                Candidate(
                    event=ThresholdEvent(
                        threshold=sign * float(thresholds[place]), above=above, direction=direction
                    ),
                    epsilon=float(epsilons[line]),
                    delta=float(deltas[line]),
                    excess=float(excess[line, place]),
                    clarity=float(clarity[line, place]),
                )
            )
    found.sort(key=lambda candidate: -candidate.clarity)
    return found[:count]


def thresholds_of(p_sorted: Array, q_sorted: Array) -> Array:
    """Thresholds at ranks of both samples together; they are densest near the upper end."""
    both = np.sort(np.concatenate([p_sorted, q_sorted]))
    size = both.size
    steps = np.geomspace(1.0, size, _THRESHOLDS)
    ranks = np.unique(np.concatenate([steps, size * np.linspace(0.0, 1.0, _THRESHOLDS // 4)]))
    places = np.unique(np.clip(size - np.round(ranks), 0, size - 1).astype(np.int64))
    thresholds = np.unique(both[places])
    # A score that equals the threshold is outside of the event. So the event that includes a
    # repeated value has the next smaller value as its threshold.
    before = np.unique(both[np.maximum(np.searchsorted(both, thresholds) - 1, 0)])
    return np.unique(np.concatenate([thresholds, before]))


def _clarity(
    first: tuple[Array, int],
    second: tuple[Array, int],
    epsilons: Array,
    deltas: Array,
    ratio: float,
) -> tuple[Array, Array]:
    """The excess, and the excess over its standard deviation, shape (lines, thresholds)."""
    (x, n), (y, m) = first, second
    slopes = np.exp(epsilons)[:, None]
    excess = (x / n)[None, :] - slopes * (y / m)[None, :] - deltas[:, None]
    # One hit and one miss are added, so that no event looks certain for lack of samples.
    p, q = (x + 1.0) / (n + 2.0), (y + 1.0) / (m + 2.0)
    variance = (p * (1.0 - p))[None, :] + slopes**2 * ratio * (q * (1.0 - q))[None, :]
    clarity = excess / np.sqrt(variance)
    few = (x + y < _FEWEST)[None, :]
    return excess, np.where(few, np.minimum(clarity, 0.0) - 1e3, clarity)
