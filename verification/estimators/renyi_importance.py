"""The Renyi divergence of two distributions with known densities, by importance sampling."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.verification.estimators.base import (
    Array,
    ConfidenceInterval,
    Density,
    Diagnostic,
    DiagnosticKind,
    Estimate,
    check_outputs,
)
from rdpkit.verification.estimators.bounded_mean import bounded_mean_interval
from rdpkit.verification.estimators.importance import (
    GaussianDensity,
    MixtureDensity,
    Proposal,
    density_values,
)

# The shares of P and of Q in the mixture that is drawn from. They bound the weights where the
# density of the proposal is too small.
_DEFENSIVE = 0.1
# Fewer effective samples than this part of all, or than this number, are reported.
_SMALL_PART, _SMALL_NUMBER = 0.01, 100.0
# A bound may be exceeded by this much, relative to its terms, because log-densities are rounded.
_ROUNDING = 1e-12


def renyi_importance(
    p: Density,
    q: Density,
    *,
    orders: ArrayLike,
    samples: int,
    confidence: float,
    rng: np.random.Generator,
    proposal: Callable[[float], Proposal] | None = None,
    log_ratio_bound: float | None = None,
) -> tuple[Estimate, ...]:
    r"""Estimate D_a(P||Q) = log(E_Q[(p/q)^a]) / (a - 1) at several orders.

    Points are drawn from m = 0.8 t + 0.1 p + 0.1 q, where t is the proposal for the order, or from
    m = 0.5 p + 0.5 q if there is none. The mean of p^a q^(1-a) / m is exp((a - 1) D_a), and the
    weights are bounded if p^a q^(1-a) / t is, or if abs(log p/q) is. An interval for a bounded mean
    then gives an interval for the divergence. Plain Monte-Carlo samples from P or Q miss the points
    that matter at large orders, and a Gaussian interval then excludes the divergence unnoticed.

    Guarantee
    ---------
    All intervals contain their divergences, together, with probability at least ``confidence``, at
    every number of samples. Without a bound on the weights the upper ends are infinite, and
    ``unbounded_weights`` is diagnosed.

    Assumes
    -------
    The densities are exact, and the proposal samples from its own. The bounds are true.

    Parameters
    ----------
    p, q : Density
        Over the same space.
    orders : array_like, shape (k,)
        Each > 1.
    samples : int
        How many points to draw for each order.
    confidence : float
        In (0, 1), for all orders together; each order has a k-th part of the failure probability.
    rng : numpy.random.Generator
        All randomness.
    proposal : callable, optional
        Maps an order to a proposal; :func:`gaussian_proposal` for two Gaussians.
    log_ratio_bound : float, optional
        L with abs(log p/q) <= L wherever p or q is positive (pure DP with epsilon L).

    Returns
    -------
    tuple of Estimate
        One for each order, in their order.

    Raises
    ------
    ArithmeticError
        If a density is NaN, or q is 0 at a point where p is not.
    ValueError
        If a drawn point shows that a bound is wrong.

    Source
    ------
    Owen and Zhou, "Safe and effective importance sampling", JASA 2000 (defensive mixtures);
    Waudby-Smith and Ramdas 2024 for the interval, see
    :mod:`rdpkit.verification.estimators.bounded_mean`.

    Examples
    --------
    >>> import numpy as np
    >>> p, q = GaussianDensity(mean=[1.0], std=2.0), GaussianDensity(mean=[0.0], std=2.0)
    >>> found = renyi_importance(
    ...     p, q, orders=[2.0, 32.0], samples=2000, confidence=0.99,
    ...     rng=np.random.default_rng(1), proposal=gaussian_proposal(p, q),
    ... )
    >>> [order / 8.0 in estimate.interval for order, estimate in zip([2.0, 32.0], found)]
    [True, True]
    """
    checked = np.atleast_1d(_validate.orders("orders", orders))
    count = _validate.integer("samples", samples)
    level = _validate.open_probability("confidence", confidence)
    bound = None
    if log_ratio_bound is not None:
        bound = _validate.non_negative("log_ratio_bound", log_ratio_bound)
    each = 1.0 - (1.0 - level) / checked.size
    return tuple(
        _at_order(
            (p, q),
            order=float(order),
            count=count,
            confidence=each,
            rng=rng,
            proposal=None if proposal is None else proposal(float(order)),
            log_ratio_bound=bound,
        )
        for order in checked
    )


def gaussian_proposal(p: GaussianDensity, q: GaussianDensity) -> Callable[[float], Proposal]:
    r"""Tilted densities of two Gaussians of one standard deviation s.

    p^a q^(1-a) is exp(a (a - 1) |mean_p - mean_q|^2 / (2 s^2)) times the Gaussian around
    a mean_p + (1 - a) mean_q. So the weights are bounded and nearly constant.
    """
    if p.std != q.std:
        raise _validate.fail("q", f"to have p's standard deviation {p.std!r}", q.std)
    if p.mean.shape != q.mean.shape:
        raise _validate.fail("q", f"to have p's dimension {p.mean.size}", q.mean.size)

    def at(order: float) -> Proposal:
        distance = float(((p.mean - q.mean) ** 2).sum())
        exponent = 0.5 * order * (order - 1.0) * distance / p.std**2
        mean = order * p.mean + (1.0 - order) * q.mean
        return Proposal(density=GaussianDensity(mean=mean, std=p.std), log_bound=exponent)

    return at


def _at_order(
    pair: tuple[Density, Density],
    *,
    order: float,
    count: int,
    confidence: float,
    rng: np.random.Generator,
    proposal: Proposal | None,
    log_ratio_bound: float | None,
) -> Estimate:
    p, q = pair
    share = 0.5 if proposal is None else _DEFENSIVE
    own = () if proposal is None else (proposal.density,)
    weights = [1.0 - 2.0 * share, share, share][-2 - len(own) :]
    drawn = MixtureDensity(parts=(*own, p, q), weights=weights)
    points = check_outputs("points", drawn.sample(rng, count), minimum=count)
    log_p, log_q = density_values("p", p, points), density_values("q", q, points)
    if (np.isneginf(log_q) & ~np.isneginf(log_p)).any():
        raise ArithmeticError(
            "Expected q to be positive where p is, got a point with q = 0: the divergence is inf."
        )
    log_m = drawn.log_density(points)
    with np.errstate(invalid="ignore"):
        log_f = np.where(np.isneginf(log_p), -np.inf, order * log_p + (1.0 - order) * log_q)
    log_weights = log_f - log_m
    if np.isnan(log_weights).any():
        raise ArithmeticError("A log-weight came out NaN.")
    size = order * float(np.abs(log_p[np.isfinite(log_p)]).max(initial=1.0))
    slack = _ROUNDING * (1.0 + size + abs(proposal.log_bound if proposal else 0.0))
    # A bound on log(p^a q^(1-a) / m), if there is one.
    top = math.inf if proposal is None else proposal.log_bound - math.log(1.0 - 2.0 * share)
    if log_ratio_bound is not None:
        # r^a / (share (r + 1)) increases in r = p/q for a >= 1.
        ratio = (
            order * log_ratio_bound - math.log(share) - float(np.logaddexp(0.0, log_ratio_bound))
        )
        top = min(top, ratio)
    if float(log_weights.max()) > top + slack:
        raise ValueError(
            f"Expected the weights at order {order:g} to be at most exp({top:g}), got "
            f"exp({float(log_weights.max()):g}): log_bound or log_ratio_bound is wrong."
        )
    return _estimate(log_weights, order, top + slack, confidence)


def _estimate(log_weights: Array, order: float, top: float, confidence: float) -> Estimate:
    count = log_weights.size
    # Weights are scaled by their bound, or by the largest weight if there is no bound.
    scale = top if math.isfinite(top) else float(log_weights.max())
    if math.isinf(scale):
        raise ArithmeticError("Expected a point with p > 0, got none.")
    upper = 1.0 if math.isfinite(top) else math.inf
    values = np.minimum(np.exp(log_weights - scale), upper)
    mean = bounded_mean_interval(values, lower=0.0, upper=upper, confidence=confidence)
    total, squares = float(values.sum()), float(values @ values)
    effective = total * total / squares if squares > 0.0 else 0.0

    def divergence(value: float) -> float:
        if value == 0.0 or math.isinf(value):
            return value
        # No Renyi divergence is below 0.
        return max(0.0, (math.log(value) + scale) / (order - 1.0))

    diagnostics = []
    if math.isinf(top):
        diagnostics.append(
            Diagnostic(
                kind=DiagnosticKind.UNBOUNDED_WEIGHTS,
                message=f"No bound on the weights at order {order:g} is known: no upper end.",
                advice="Give a proposal with a log_bound, or a log_ratio_bound.",
            )
        )
    if effective < max(_SMALL_NUMBER, _SMALL_PART * count):
        diagnostics.append(
            Diagnostic(
                kind=DiagnosticKind.LOW_EFFECTIVE_SAMPLE_SIZE,
                message=f"At order {order:g}, {count} samples are worth only {effective:.3g}.",
                advice="Draw from a proposal nearer to p^a q^(1-a), or draw more samples.",
            )
        )
    return Estimate(
        value=divergence(float(values.mean())),
        interval=ConfidenceInterval(
            lower=divergence(mean.lower), upper=divergence(mean.upper), confidence=confidence
        ),
        samples=count,
        effective_samples=effective,
        diagnostics=tuple(diagnostics),
    )
