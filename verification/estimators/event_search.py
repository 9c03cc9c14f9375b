"""The threshold event of a score that speaks most clearly against a claim.

The search is for training samples only. The event must then be tested on other samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.verification.estimators.base import Array, Direction, ThresholdEvent, check_scores
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim

# Thresholds to search; they are dense in rank near the ends, where privacy loss is largest.
_THRESHOLDS = 160
# An event with fewer samples than this is chosen only if every event has so few.
_FEWEST = 5
# The larger side gets at most this many samples for each sample of the smaller side.
_MOST_UNEQUAL = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An event, and how clearly it speaks against one pair (epsilon, delta) of a claim."""

    event: ThresholdEvent  # The event
    # A pair that the claim implies.
    epsilon: float
    delta: float
    clarity: float
    """The estimate of P(E) - e^epsilon Q(E) - delta, in the event's direction, over its standard
    deviation, for samples of the sizes that will test it.
    """


def best_event(
    claim: PrivacyClaim,
    # Training samples; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    *,
    ratio: float = 1.0,  # Size of the test sample from P over that from Q
) -> Candidate:
    """The clearest event: above or below a threshold, and likelier on D or likelier on D'."""
    epsilons, deltas = claim.supporting_lines()
    slopes = np.exp(epsilons)[:, None]
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
            sides = [(hits[0], p_scores.size), (hits[1], q_scores.size)]
            (x, n), (y, m) = sides if direction is Direction.P_OVER_Q else sides[::-1]
            excess = (x / n)[None, :] - slopes * (y / m)[None, :] - deltas[:, None]
            # One hit and one miss are added, so that no event looks certain for lack of samples.
            p, q = (x + 1.0) / (n + 2.0), (y + 1.0) / (m + 2.0)
            relative = ratio if direction is Direction.P_OVER_Q else 1.0 / ratio
            variance = (p * (1.0 - p))[None, :] + slopes**2 * relative * (q * (1.0 - q))[None, :]
            clarity = excess / np.sqrt(variance)
            clarity = np.where(x + y < _FEWEST, np.minimum(clarity, 0.0) - 1e3, clarity)
            line, place = np.unravel_index(int(clarity.argmax()), clarity.shape)
            found.append(
                Candidate(
                    event=ThresholdEvent(
                        threshold=sign * float(thresholds[place]), above=above, direction=direction
                    ),
                    epsilon=float(epsilons[line]),
                    delta=float(deltas[line]),
                    clarity=float(clarity[line, place]),
                )
            )
    return max(found, key=lambda candidate: candidate.clarity)


def best_allocation(
    claim: PrivacyClaim,  # What will be tested
    # First scores, which must not be tested: if the sizes depend on scores that are tested, the
    # guarantee of the test is void; shape (n,) and (m,)
    p_scores: ArrayLike,
    q_scores: ArrayLike,
    *,
    total: int,  # At least 4
) -> tuple[int, int]:
    """How many of ``total`` samples to draw from P and from Q.

    For an event with probabilities p and q, the variance of its estimated excess
    p - e^epsilon q - delta is smallest if the numbers of samples are in the proportion
    sqrt(p (1 - p)) to e^epsilon sqrt(q (1 - q)). Returns samples from P and from Q. They add up to
    ``total``, and each is at least 2. Where ``total`` allows it, neither is more than twenty times
    the other.
    """
    checked: PrivacyClaim = _validate.one_of_a_kind("claim", claim, PrivacyClaim)
    sides = check_scores("p_scores", p_scores), check_scores("q_scores", q_scores)
    count = _validate.integer("total", total, minimum=4)
    chosen = best_event(checked, *sides)
    # One hit and one miss are added, as in the choice of the event.
    p, q = (
        (np.count_nonzero(chosen.event.contains(side)) + 1.0) / (side.size + 2.0) for side in sides
    )
    # Q's share is e^epsilon times as large where P is the likelier side, and P's where Q is.
    forward = chosen.event.direction is Direction.P_OVER_Q
    unequal = math.sqrt(p * (1.0 - p) / (q * (1.0 - q)))
    unequal *= math.exp(-chosen.epsilon if forward else chosen.epsilon)
    unequal = min(max(unequal, 1.0 / _MOST_UNEQUAL), _MOST_UNEQUAL)
    from_p = min(max(2, round(count * unequal / (1.0 + unequal))), count - 2)
    return from_p, count - from_p


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
