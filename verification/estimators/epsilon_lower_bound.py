"""A lower bound on epsilon at a delta, from samples alone, without a claim or densities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.verification.estimators import clopper_pearson
from rdpkit.verification.estimators.base import (
    Array,
    Diagnostic,
    DiagnosticKind,
    Direction,
    EpsilonLowerBound,
    ThresholdEvent,
    check_scores,
)

# Thresholds to search on the first part of the scores; they are dense in rank at both ends.
_THRESHOLDS = 400


def epsilon_lower_bound(
    p_scores: ArrayLike,
    q_scores: ArrayLike,
    *,
    delta: float,
    confidence: float,
    training: float = 0.5,
    events: int = 4,
) -> EpsilonLowerBound:
    """A lower bound on the epsilon of a mechanism at ``delta``.

    If P(E) >= p and Q(E) <= q, then epsilon >= log((p - delta) / q). The first part of the scores
    is used to choose events: for each side of a threshold and each direction, the threshold at
    which the bound would be largest if the remaining scores looked like the first part. On the
    remaining scores, Clopper-Pearson bounds of all chosen events hold together, and the largest
    bound is returned.

    Guarantee
    ---------
    The mechanism is (epsilon', delta)-DP for an epsilon' below the returned epsilon with
    probability at most 1 - ``confidence`` over the samples.

    Assumes
    -------
    Scores are independent, those of ``p_scores`` with one distribution, those of ``q_scores`` with
    another. Neither their order nor the score function depends on their values.

    Parameters
    ----------
    p_scores, q_scores : array_like, shape (n,) and (m,)
        n, m >= 2.
    delta : float
        In [0, 1).
    confidence : float
        In (0, 1).
    training : float
        In (0, 1): the part of either side's scores that is used to choose the events.
    events : int
        From 1 to 4: how many kinds of events are kept. They share the failure probability.

    Raises
    ------
    ArithmeticError
        If a score is NaN.
    ValueError
        If an argument is outside of its range.

    Source
    ------
    Jagielski, Ullman and Oprea, "Auditing differentially private machine learning: how private is
    private SGD?", NeurIPS 2020 (arXiv 2006.07709v1), section 3 and Theorem 1, except
    that the event is chosen on samples that are not counted afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p, q = rng.laplace(1.0, 1.0, 20_000), rng.laplace(0.0, 1.0, 20_000)
    >>> found = epsilon_lower_bound(p, q, delta=0.0, confidence=0.95)
    >>> 0.9 < found.epsilon <= 1.0
    True
    """
    p = check_scores("p_scores", p_scores, minimum=2)
    q = check_scores("q_scores", q_scores, minimum=2)
    if _validate.probability("delta", delta) >= 1.0:
        raise _validate.fail("delta", "in [0, 1)", delta)
    level = _validate.open_probability("confidence", confidence)
    part = _validate.open_probability("training", training)
    kept = _validate.integer("events", events, minimum=1, maximum=4)
    cuts = [min(max(1, math.ceil(part * side.size)), side.size - 1) for side in (p, q)]
    first, rest = (p[: cuts[0]], q[: cuts[1]]), (p[cuts[0] :], q[cuts[1] :])
    # Each of the two bounds of each event fails with at most this probability.
    failure = (1.0 - level) / (2.0 * kept)
    chosen = _choose(first, (rest[0].size, rest[1].size), float(delta), failure)[:kept]
    best, which = 0.0, None
    for event in chosen:
        one, other = rest if event.direction is Direction.P_OVER_Q else rest[::-1]
        hits = [np.array([float(np.count_nonzero(event.contains(s)))]) for s in (one, other)]
        sizes = (one.size, other.size)
        bound = float(_bounds((hits[0], hits[1]), sizes, float(delta), failure)[0])
        if bound > best:
            best, which = bound, event
    diagnostics: tuple[Diagnostic, ...] = ()
    if which is None:
        diagnostics = (
            Diagnostic(
                kind=DiagnosticKind.NO_SEPARATION,
                message=f"No event showed an epsilon above 0 at delta {delta:g}, with {p.size} and "
                f"{q.size} scores.",
                advice="Draw more samples, or check that the score shows the difference.",
            ),
        )
    return EpsilonLowerBound(
        epsilon=best,
        delta=float(delta),
        confidence=level,
        samples=(p.size, q.size),
        event=which,
        diagnostics=diagnostics,
    )


def _choose(
    first: tuple[Array, Array], sizes: tuple[int, int], delta: float, failure: float
) -> list[ThresholdEvent]:
    """The best event of each kind on the first part of the scores; the best kinds come first."""
    found: list[tuple[float, ThresholdEvent]] = []
    for above in (True, False):
        sign = 1.0 if above else -1.0
        ordered = [np.sort(sign * side) for side in first]
        thresholds = _thresholds(np.concatenate(ordered))
        shares = [
            (side.size - np.searchsorted(side, thresholds, side="right")) / side.size
            for side in ordered
        ]
        for direction in Direction:
            step = 1 if direction is Direction.P_OVER_Q else -1
            (one, other), (n, m) = shares[::step], sizes[::step]
            # The bound if the remaining scores looked like the first part, less half a hit.
            hits = np.maximum(one * n - 0.5, 0.0), np.minimum(other * m + 0.5, float(m))
            bounds = _bounds(hits, (n, m), delta, failure)
            place = int(bounds.argmax())
            event = ThresholdEvent(
                threshold=sign * float(thresholds[place]), above=above, direction=direction
            )
            found.append((float(bounds[place]), event))
    found.sort(key=lambda pair: -pair[0])
    return [event for _, event in found]


def _thresholds(both: Array) -> Array:
    """Values of both samples at ranks that are dense at both ends, and the values just below.

    An event is strictly above its threshold. So a threshold just below a repeated value is needed
    for the event that includes this value.
    """
    values = np.sort(both)
    size = values.size
    steps = np.geomspace(1.0, size, _THRESHOLDS)
    ranks = np.concatenate([steps, size + 1.0 - steps, size * np.linspace(0.0, 1.0, _THRESHOLDS)])
    places = np.unique(np.clip(np.round(ranks) - 1.0, 0, size - 1).astype(np.int64))
    chosen = np.unique(values[places])
    before = values[np.maximum(np.searchsorted(values, chosen) - 1, 0)]
    return np.unique(np.concatenate([chosen, before]))


def _bounds(
    hits: tuple[Array, Array], sizes: tuple[int, int], delta: float, failure: float
) -> Array:
    """The log of (lower bound on P(E) - delta) / upper bound on Q(E); -inf if it is negative."""
    low = clopper_pearson.lower_bound(hits[0], sizes[0], failure)
    high = clopper_pearson.upper_bound(hits[1], sizes[1], failure)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low - delta, 0.0)) - np.log(high))
