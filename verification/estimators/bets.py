"""Witnesses, whose payoffs a claim limits, and how much a sequential test bets on one.

A witness sorts scores into cells and pays an amount that depends on the cell: g for an output from
P, and h for an output from Q. Cells and amounts are such that, if the claim is true,

    E_P[g] + E_Q[h] <= limit.

For (epsilon, delta)-DP the cells are an event E and its complement, g = 1_E and
h = -e^epsilon 1_E, and the limit is delta. For Renyi divergences, see
:mod:`rdpkit.verification.estimators.renyi_witness`.

A bet (l_p, l_q, c) multiplies the capital, for n outputs from P and m from Q, by

    prod_i (1 + l_p (g(x_i) - c)) prod_j (1 + l_q (h(y_j) + c - limit)),      l_p n = l_q m.

If E_P[g] + E_Q[h] <= limit, its expectation is at most

    exp(l_p n (E_P[g] - c) + l_q m (E_Q[h] + c - limit)) = exp(l_p n (E_P[g] + E_Q[h] - limit)),

which is at most 1. This follows from 1 + x <= e^x, because expectations of independent factors
multiply and no factor is negative. The bet may depend on everything that was seen before, so the
capital of a whole sequence of bets is a nonnegative supermartingale. The probability that it ever
reaches 1/alpha is at most alpha (Ville's inequality), whatever the rule for looking and stopping.

With the best c and l the capital grows, per output, at the rate of the Kullback-Leibler divergence
between the true distribution and the nearest one that the claim allows. For events this is the
e-variable of Turner and Gruenwald for two Bernoulli streams and a convex null hypothesis.

Source
------
Ville 1939; Turner and Gruenwald, "Exact anytime-valid confidence intervals for contingency tables
and beyond", Statistics and Probability Letters 2023 (arXiv 2203.09785); Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting", JRSS B 2024 (arXiv 2010.09686v7).
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


_NEWTON_STEPS = 50
BOLDNESS = 0.5
"""The part of the best bet that a sequential test places."""
KEPT = 0.02
"""The part of the capital that remains after the worst possible outputs."""
UNSEEN = 0.5
"""The worst cell is counted as if it had been seen this many times more, in case it is rare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bet:
    """What is bet on one output.

    A payoff g for an output from P multiplies the capital by 1 + share g - centre, and a payoff h
    for an output from Q multiplies it by 1 + ratio (share (h - limit) + centre).
    """

    share: float  # l_p >= 0
    centre: float  # l_p c
    ratio: float  # n / m, the number of outputs from P over that from Q

    def log_factor(self, witness: Witness, p_counts: Cells, q_counts: Cells) -> float:
        """The logarithm of the factor on the capital, given the number of scores in each cell.

        Raises ArithmeticError if a factor is not positive, or NaN.
        """
        one, other = self._terms(witness)
        if not (one > -1.0).all() or not (other > -1.0).all():
            raise ArithmeticError(
                "A bet came out with which the whole capital or more could be lost."
            )
        return float(p_counts @ np.log1p(one) + q_counts @ np.log1p(other))

    def _terms(self, witness: Witness) -> tuple[Array, Array]:
        one = self.share * witness.payoffs_p - self.centre
        other = self.share * (witness.payoffs_q - witness.limit) + self.centre
        return one, self.ratio * other


def best_bet(
    witness: Witness,  # The witness to bet on
    # Past scores in each cell; shape (k,)
    p_counts: Cells,
    q_counts: Cells,
    *,
    ratio: float,  # n / m of the scores to come
    # In (0, 1]: the part of the best bet that is placed. Half of the best bet loses a quarter of
    # the growth, and still gains if the excess was estimated up to twice too large.
    boldness: float,
) -> Bet:
    """The bet under which the capital would have grown most on past scores, then scaled down."""
    g, h = witness.payoffs_p, witness.payoffs_q - witness.limit
    rows = np.concatenate(
        [
            np.stack([g, -np.ones_like(g)], axis=1),
            ratio * np.stack([h, np.ones_like(h)], axis=1),
        ]
    )
    weights = [counts.astype(np.float64) for counts in (p_counts, q_counts)]
    for side, payoffs in zip(weights, (g, h), strict=True):
        # The worst cell is counted as if it had been seen a little more often.
        side[payoffs.argmin()] += UNSEEN
        side /= side.sum()  # noqa: PLW2901
    best = _kelly(rows, np.concatenate([ratio * weights[0], weights[1]]))
    bet = Bet(share=float(best[0]), centre=float(best[1]), ratio=ratio)
    if bet.share <= 0.0:
        return Bet(share=0.0, centre=0.0, ratio=ratio)
    # The bet is limited so that a part of the capital remains after any output.
    lowest = min(float(terms.min()) for terms in bet._terms(witness))
    part = boldness if lowest >= 0.0 else min(boldness, (1.0 - KEPT) / -lowest)
    return Bet(share=part * bet.share, centre=part * bet.centre, ratio=ratio)


def _kelly(rows: Array, weights: Array) -> Array:
    """Maximise sum w log(1 + rows u) over u in R^2, a concave function, by damped Newton steps."""
    seen = weights > 0.0
    rows, weights = rows[seen], weights[seen]
    # Scale both columns to one size, because payoffs may be very large or small.
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-300)
    rows = rows / scale
    u = np.zeros(2)
    value = 0.0
    for _ in range(_NEWTON_STEPS):
        factors = 1.0 + rows @ u
        relative = rows / factors[:, None]
        gradient = weights @ relative
        hessian = (relative * weights[:, None]).T @ relative
        step = np.linalg.solve(hessian + 1e-12 * np.trace(hessian) * np.eye(2), gradient)
        gain = float(gradient @ step)
        if gain < 1e-14:
            break
        length, reached = 1.0, value
        while length > 1e-10:
            moved = 1.0 + rows @ (u + length * step)
            if (moved > 0.0).all():
                reached = float(weights @ np.log(moved))
                if reached >= value + 0.1 * length * gain:
                    break
            length *= 0.5
        else:
            break
        u, value = u + length * step, reached
    return np.asarray(u / scale)
