"""Diagnostics that say why a claim may have survived a test although it is wrong."""

from __future__ import annotations

import math

import numpy as np

from rdpkit.verification.estimators.base import Array, Diagnostic, DiagnosticKind
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim

# The power that diagnostics refer to, and its standard normal quantile.
_POWER, _QUANTILE = 0.95, 1.645
# A test should notice a true epsilon of this many times the claimed one.
_NOTICEABLE = 1.5
# For two equal distributions, Kolmogorov's statistic exceeds this in one of a hundred cases.
_KOLMOGOROV = 1.63


def diagnose(
    claim: PrivacyClaim,  # What was tested
    # The scores that were tested; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    *,
    threshold: float,  # The test rejects if the excess is this many standard deviations
) -> tuple[Diagnostic, ...]:
    """Diagnostics for a test that did not reject."""
    found = []
    n, m = p_scores.size, q_scores.size
    claimed, noticed = noticeable_epsilon(
        claim, p_scores, q_scores, deviations=threshold + _QUANTILE
    )
    if math.isinf(noticed):
        found.append(
            Diagnostic(
                kind=DiagnosticKind.TOO_FEW_SAMPLES,
                message=f"With {n} and {m} scores no epsilon, however large, would have been "
                f"noticed with probability {_POWER:g}.",
                advice="Draw more samples: ten times as many, to begin with.",
            )
        )
    elif noticed > _NOTICEABLE * claimed + 0.1:
        found.append(
            Diagnostic(
                kind=DiagnosticKind.UNDERPOWERED,
                message=f"With {n} and {m} scores only an epsilon of {noticed:.3g} or more, where "
                f"{claimed:.3g} is claimed, would have been noticed with probability {_POWER:g}.",
                advice="Draw more samples; the noticeable excess falls with their square root.",
            )
        )
    distance = largest_difference(p_scores, q_scores)
    if distance * math.sqrt(n * m / (n + m)) < _KOLMOGOROV:
        found.append(
            Diagnostic(
                kind=DiagnosticKind.NO_SEPARATION,
                message=f"No difference is seen between {n} scores on one data set and {m} on the "
                f"other: their empirical distribution functions differ by {distance:.2g}.",
                advice="Check that the mechanism depends on what differs between the data sets, "
                "and that the score shows it; try a learned score.",
            )
        )
    return tuple(found)


def noticeable_epsilon(
    claim: PrivacyClaim, p_scores: Array, q_scores: Array, *, deviations: float
) -> tuple[float, float]:
    """A claimed epsilon, and the smallest true epsilon that so many scores would have shown.

    For a claimed pair (epsilon, delta) and an event with Q(E) = q, a probability P(E) is noticed if
    its excess over e^epsilon q + delta is at least ``deviations`` standard deviations. The
    result is for the event and the pair whose noticed epsilon is nearest to the claimed one.
    """
    epsilons, deltas = claim.supporting_lines()
    best = (float(epsilons[0]), math.inf)
    for first, second in ((p_scores.size, q_scores), (q_scores.size, p_scores)):
        m = second.size
        # Only the probability of an event matters here, and some threshold has each probability.
        q = np.geomspace(min(0.5, 5.0 / m), 0.5, 60)
        for epsilon, delta in zip(epsilons, deltas, strict=True):
            slope = math.exp(epsilon)
            base = slope * q + delta
            # Solve p - base = deviations sqrt(p/n + slope^2 q/m), quadratic in the square root.
            c = deviations**2
            noise = slope**2 * q / m
            b = c / first
            p = base + 0.5 * b + np.sqrt(0.25 * b * b + c * (base / first + noise))
            fits = p < 1.0
            if fits.any():
                noticed = float(np.log((p[fits] - delta) / q[fits]).min())
                if noticed - epsilon < best[1] - best[0]:
                    best = (float(epsilon), noticed)
    return best


def largest_difference(p_scores: Array, q_scores: Array) -> float:
    """The largest difference between the two empirical distribution functions."""
    p, q = np.sort(p_scores), np.sort(q_scores)
    both = np.concatenate([p, q])
    one = np.searchsorted(p, both, side="right") / p.size
    two = np.searchsorted(q, both, side="right") / q.size
    return float(np.abs(one - two).max())
