"""The hockey-stick divergence at an epsilon, of two distributions with known densities."""

from __future__ import annotations

import numpy as np

from rdpkit import _validate
from rdpkit.verification.estimators.base import (
    Density,
    Diagnostic,
    DiagnosticKind,
    Estimate,
    check_outputs,
)
from rdpkit.verification.estimators.bounded_mean import bounded_mean_interval
from rdpkit.verification.estimators.importance import density_values

# With fewer points than this at which the integrand is positive, a diagnostic is reported.
_FEWEST = 30


def hockey_stick(
    p: Density,
    q: Density,
    *,
    epsilon: float,
    samples: int,
    confidence: float,
    rng: np.random.Generator,
) -> Estimate:
    r"""Estimate H(P||Q) = sup_E P(E) - e^epsilon Q(E), the smallest delta in this direction.

    It is the mean under P of (1 - e^epsilon q/p)_+, which is in [0, 1]. (epsilon, delta)-DP is
    about both directions: the mechanism's delta for this pair is the larger of H(P||Q) and H(Q||P).

    Guarantee
    ---------
    The interval contains H(P||Q) with probability at least ``confidence``, at every number of
    samples.

    Assumes
    -------
    ``p.sample`` draws from ``p.log_density``, and both densities are exact.

    Parameters
    ----------
    p, q : Density
        Over the same space.
    epsilon : float
        In nats; may be negative.
    samples : int
        Points to draw from P.
    confidence : float
        In (0, 1).
    rng : numpy.random.Generator
        All randomness.

    Raises
    ------
    ArithmeticError
        If a density is NaN, or 0 at a point that was drawn from it.

    Source
    ------
    Sason and Verdu, "f-divergence inequalities", IEEE Trans. IT 2016 (the divergence as a mean);
    the interval is that of :mod:`rdpkit.verification.estimators.bounded_mean`.
    """
    count = _validate.integer("samples", samples)
    if not np.isfinite(epsilon):
        raise _validate.fail("epsilon", "to be a finite real number", epsilon)
    points = check_outputs("points of p", p.sample(rng, count), minimum=count)
    log_p, log_q = density_values("p", p, points), density_values("q", q, points)
    if np.isneginf(log_p).any():
        raise ArithmeticError("Expected p's density to be positive where p is drawn, got 0.")
    # Where the exponent is above 0 the integrand is 0, and e^x could overflow.
    exponent = np.minimum(epsilon + log_q - log_p, 0.0)
    values = -np.expm1(exponent)
    positive = int(np.count_nonzero(values))
    diagnostics: tuple[Diagnostic, ...] = ()
    if positive < min(_FEWEST, count):
        diagnostics = (
            Diagnostic(
                kind=DiagnosticKind.TOO_FEW_SAMPLES,
                message=f"p exceeds e^epsilon q at only {positive} of {count} points.",
                advice="Draw more samples: the interval is valid, but wide.",
            ),
        )
    total, squares = float(values.sum()), float(values @ values)
    return Estimate(
        value=float(values.mean()),
        interval=bounded_mean_interval(values, lower=0.0, upper=1.0, confidence=confidence),
        samples=count,
        effective_samples=total * total / squares if squares > 0.0 else 0.0,
        diagnostics=diagnostics,
    )
