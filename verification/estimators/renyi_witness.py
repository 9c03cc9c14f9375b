r"""Witnesses against a claimed RDP curve, at all its orders together.

For every positive function t of the output, and every order a > 1,

    a t^(a-1) p - (a-1) t^a q <= p^a q^(1-a)

pointwise (Young's inequality; equality at t = p/q). So a claim D_a(P||Q) <= r(a) limits two
expectations,

    a E_P[t^(a-1)] - (a-1) E_Q[t^a] <= e^((a-1) r(a)),

one over outputs from P and one over outputs from Q. If t is near P/Q, the left side is near
e^((a-1) D_a(P||Q)). The same holds with P and Q exchanged and 1/t. Nonnegative combinations of such
limits, over orders and directions, are limits again. The combination with the largest ratio of
excess to standard deviation solves a least squares problem with nonnegative unknowns. Both t and
this combination are learnt from training samples. The payoffs are bounded because t is clipped, so
:mod:`rdpkit.verification.estimators.bets` applies.

A test of one event compares two probabilities. A test with these witnesses compares whole
distributions, and therefore refutes an RDP curve with far fewer samples.

Whatever ratio t is learnt, the test is valid; a better ratio makes it more powerful.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
from scipy.optimize import nnls
from scipy.special import expit

from rdpkit.verification.estimators.base import Array, Direction
from rdpkit.verification.estimators.bets import Cells, Witness
from rdpkit.verification.estimators.privacy_claims import RdpClaim

_ORDERS = (1.1, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0)
# Larger values of log t^a would make payoffs too large to bet on.
_LARGEST_LOG_PAYOFF = 30.0
_RIDGE = 1e-3
_NEWTON_STEPS = 40
_LOGIT_RIDGE = 1e-6
_CELLS = 256
_MOST_BINS = 64
_PER_BIN = 40
# A polynomial has few coefficients, so more samples than this hardly improve it.
_MOST_SAMPLES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatioModel:
    """An estimate of log P/Q that is constant on cells."""

    # How it was learnt, in a word and in words.
    kind: str
    name: str
    cell: Callable[[Array], Cells]  # Maps scores, shape (n,), to cells, from 0 to k - 1
    log_ratio: Array  # Log P/Q in each cell; shape (k,)


def ratio_models(p_scores: Array, q_scores: Array) -> list[RatioModel]:
    """Ratios of three kinds: log-polynomials of degrees 1 and 3, and a step function on bins.

    Degree 1 is exact if the score is a log-likelihood ratio, and for Gaussians of equal variance.
    """
    models = [_polynomial(p_scores, q_scores, degree) for degree in (1, 3)]
    return [model for model in (*models, _binned(p_scores, q_scores)) if model is not None]


def _polynomial(p_scores: Array, q_scores: Array, degree: int) -> RatioModel | None:
    """Fit the ratio by logistic regression on powers of the standardised score."""
    p_scores, q_scores = p_scores[:_MOST_SAMPLES], q_scores[:_MOST_SAMPLES]
    both = np.concatenate([p_scores, q_scores])
    finite = both[np.isfinite(both)]
    if finite.size < 20 or finite.std() == 0.0:
        return None
    low, high = finite.min(), finite.max()
    centre, scale = float(np.median(finite)), float(finite.std())

    def features(scores: Array) -> Array:
        unit = (np.clip(scores, low, high) - centre) / scale
        return np.stack([unit**k for k in range(degree + 1)], axis=1)

    rows = features(both)
    labels = np.concatenate([np.ones(p_scores.size), np.zeros(q_scores.size)])
    # Both sides have the same total weight, so that the odds are the ratio of the densities.
    weights = np.where(labels == 1.0, 0.5 / p_scores.size, 0.5 / q_scores.size)
    coefficients = np.zeros(degree + 1)
    for _ in range(_NEWTON_STEPS):
        probability = expit(rows @ coefficients)
        gradient = rows.T @ (weights * (labels - probability)) - _LOGIT_RIDGE * coefficients
        curvature = (rows * (weights * probability * (1.0 - probability))[:, None]).T @ rows
        step = np.linalg.solve(curvature + _LOGIT_RIDGE * np.eye(degree + 1), gradient)
        coefficients = coefficients + np.clip(step, -5.0, 5.0)
        if np.abs(step).max() < 1e-7:
            break

    # The range of values, without a few training samples at either end.
    values = np.sort(rows @ coefficients)
    rank = min(10, values.size // 20)
    bottom, top = float(values[rank]), float(values[-1 - rank])
    if top - bottom < 1e-12:
        return None
    step_size = (top - bottom) / (_CELLS - 1)

    def cell(scores: Array) -> Cells:
        raw = features(scores) @ coefficients
        return np.rint(np.clip((raw - bottom) / step_size, 0.0, _CELLS - 1.0)).astype(np.int64)

    return RatioModel(
        kind=f"degree {degree}",
        name=f"log-polynomial of degree {degree}",
        cell=cell,
        log_ratio=bottom + step_size * np.arange(_CELLS, dtype=np.float64),
    )


def _binned(p_scores: Array, q_scores: Array) -> RatioModel | None:
    """A step function between quantiles of both samples; each bin gets half a sample more."""
    both = np.concatenate([p_scores, q_scores])
    bins = min(_MOST_BINS, both.size // _PER_BIN)
    if bins < 2:
        return None
    ordered = np.sort(both)
    places = np.linspace(0.0, both.size - 1.0, bins + 1)[1:-1].astype(np.int64)
    edges = np.unique(ordered[places])

    def cell(scores: Array) -> Cells:
        return np.searchsorted(edges, scores, side="left")

    counts = [np.bincount(cell(side), minlength=edges.size + 1) for side in (p_scores, q_scores)]
    shares = [(count + 0.5) / (count.sum() + 0.5 * count.size) for count in counts]
    return RatioModel(
        kind="bins",
        name=f"step function on {edges.size + 1} bins",
        cell=cell,
        log_ratio=np.log(shares[0]) - np.log(shares[1]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tangent:
    """The limit at one order and in one direction, with a positive weight."""

    # a and the claimed r(a).
    order: float
    divergence: float
    direction: Direction  # P_OVER_Q for D_a(P||Q)
    weight: float  # > 0

    @property
    def limit(self) -> float:
        """The largest expected payoff under the claim."""
        return self.weight * math.exp((self.order - 1.0) * self.divergence)

    def payoffs(self, log_ratio: Array, side: Direction) -> Array:
        """The payoff for outputs from P (side P_OVER_Q) or from Q, given log P/Q there."""
        a = self.order
        u = log_ratio if self.direction is Direction.P_OVER_Q else -log_ratio
        if side is self.direction:
            return np.asarray(self.weight * a * np.exp((a - 1.0) * u))
        return np.asarray(-self.weight * (a - 1.0) * np.exp(a * u))


def best_renyi_witness(
    claim: RdpClaim,  # What to speak against
    # Training samples; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    *,
    ratio: float,  # Size of the test sample from P over that from Q
) -> tuple[Witness, float] | None:
    """The combination of orders that speaks most clearly against the claim.

    P/Q is learnt on one half of the samples. The kind of ratio and the weights are chosen on the
    other half. Returns the witness, and its excess over the standard deviation of one test sample
    from P; None if the training samples show no excess.
    """
    learn, weigh = ((p_scores[half::2], q_scores[half::2]) for half in (0, 1))

    def fitted(models: list[RatioModel]) -> list[tuple[RatioModel, list[Tangent], float]]:
        found = [(model, *_best_weights(claim, model, *weigh, ratio)) for model in models]
        return [one for one in found if one[1]]

    best = max(fitted(ratio_models(*learn)), key=itemgetter(2), default=None)
    if best is None:
        return None
    # The chosen kind of ratio is learnt again from all samples.
    again = [one for one in ratio_models(p_scores, q_scores) if one.kind == best[0].kind]
    model, tangents, _ = [*fitted(again), best][0]

    def payoffs(side: Direction) -> Array:
        found = [tangent.payoffs(model.log_ratio, side) for tangent in tangents]
        return np.asarray(np.sum(found, axis=0))

    orders = ", ".join(
        f"{tangent.order:g}{'' if tangent.direction is Direction.P_OVER_Q else ' reversed'}"
        for tangent in tangents
    )
    witness = Witness(
        description=f"divergence at orders {orders}, with a ratio P/Q that is a {model.name}",
        cell=model.cell,
        payoffs_p=payoffs(Direction.P_OVER_Q),
        payoffs_q=payoffs(Direction.Q_OVER_P),
        limit=sum(tangent.limit for tangent in tangents),
    )
    return witness, best[2]


def _candidates(claim: RdpClaim, model: RatioModel) -> list[Tangent]:
    """Tangents at orders of the claim near the usual ones, scaled to comparable payoffs."""
    reach = max(float(np.abs(model.log_ratio).max()), 1e-300)
    near = {int(np.abs(claim.orders / wanted - 1.0).argmin()) for wanted in _ORDERS}
    found = []
    for index in sorted(near):
        order, value = float(claim.orders[index]), float(claim.values[index])
        exponent = (order - 1.0) * value
        if order * reach > _LARGEST_LOG_PAYOFF or exponent > _LARGEST_LOG_PAYOFF:
            continue
        # With a limit of one, the excess would be negligible at orders near 1.
        weight = math.exp(-exponent) / (order * (order - 1.0))
        found += [
            Tangent(order=order, divergence=value, direction=direction, weight=weight)
            for direction in Direction
        ]
    return found


def _best_weights(
    claim: RdpClaim, model: RatioModel, p_scores: Array, q_scores: Array, ratio: float
) -> tuple[list[Tangent], float]:
    """The nonnegative combination with the largest excess over its standard deviation."""
    tangents = _candidates(claim, model)
    if not tangents:
        return [], -math.inf
    limits = np.array([t.limit for t in tangents])
    gains, gains_spread = _moments(model, tangents, p_scores, Direction.P_OVER_Q)
    losses, losses_spread = _moments(model, tangents, q_scores, Direction.Q_OVER_P)
    excess = gains + losses - limits
    covariance = gains_spread + ratio * losses_spread
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(scale, scale) + _RIDGE * np.eye(scale.size)
    wanted = excess / scale
    if not (wanted > 0.0).any():
        return [], float(wanted.max())
    # The minimum of |root' w|^2 - 2 wanted' w over w >= 0 also maximises wanted' w / |root' w|.
    root = np.linalg.cholesky(correlation)
    weights, _ = nnls(root.T, np.linalg.solve(root, wanted))
    if not weights.any():
        return [], float(wanted.max())
    clarity = float(wanted @ weights / np.sqrt(weights @ correlation @ weights))
    chosen = [
        replace(tangent, weight=tangent.weight * float(weight / size))
        for tangent, weight, size in zip(tangents, weights, scale, strict=True)
        if weight > 1e-6 * weights.max()
    ]
    return chosen, clarity


def _moments(
    model: RatioModel, tangents: list[Tangent], scores: Array, side: Direction
) -> tuple[Array, Array]:
    """Mean and covariance of the tangents' payoffs, counted by cell."""
    shares = np.bincount(model.cell(scores), minlength=model.log_ratio.size) / scores.size
    payoffs = np.stack([tangent.payoffs(model.log_ratio, side) for tangent in tangents])
    mean = payoffs @ shares
    centred = payoffs - mean[:, None]
    return mean, np.asarray((centred * shares) @ centred.T)
