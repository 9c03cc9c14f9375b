"""Witnesses: payoffs whose expectations are limited by a claim, which a test bets on.

A witness sorts scores into cells and pays an amount that depends on the cell: g for an output from
P, and h for an output from Q. Cells and amounts are such that, if the claim is true,

    E_P[g] + E_Q[h] <= limit.

For (epsilon, delta)-DP the cells are an event E and its complement, g = 1_E and
h = -e^epsilon 1_E, and the limit is delta. For Renyi divergences, see
:mod:`rdpkit.verification.estimators.renyi_witness`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.estimators.base import Array, Direction, ThresholdEvent

Cells = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Witness:
    """Cells, the payoffs in each of them, and the limit under the claim."""

    description: str  # In words
    cell: Callable[[Array], Cells]
    """Maps scores, shape (n,), to the numbers of their cells, from 0 to k - 1."""
    # The payoff in each cell, for an output from P and for an output from Q; shape (k,).
    payoffs_p: Array
    payoffs_q: Array
    limit: float  # The expected sum of both payoffs is at most this if the claim is true

    def counts(self, scores: Array) -> Cells:
        """How many scores are in each cell, shape (k,)."""
        return np.bincount(self.cell(scores), minlength=self.payoffs_p.size)


def event_witness(event: ThresholdEvent, *, epsilon: float, delta: float) -> Witness:
    """The payoffs of P(E) <= e^epsilon Q(E) + delta, in the event's direction."""
    gain = np.array([0.0, 1.0])
    loss = np.array([0.0, -math.exp(epsilon)])
    forward = event.direction is Direction.P_OVER_Q

    def cell(scores: Array) -> Cells:
        return event.contains(scores).astype(np.int64)

    return Witness(
        description=f"{event.describe()}, at epsilon {epsilon:.6g} and delta {delta:.6g}",
        cell=cell,
        payoffs_p=gain if forward else loss,
        payoffs_q=loss if forward else gain,
        limit=delta,
    )
