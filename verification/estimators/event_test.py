"""A test of fixed size: one event is chosen on a part of the samples and tested on the others.

Its number of samples is fixed beforehand, and it gives one p-value and one bound on epsilon.
:mod:`rdpkit.verification.estimators.sequential` is the test that may stop at any time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.verification.estimators.base import (
    Array,
    Diagnostic,
    Direction,
    EpsilonLowerBound,
    Stop,
    ThresholdEvent,
    Verdict,
    check_scores,
)
from rdpkit.verification.estimators.diagnostics import diagnose
from rdpkit.verification.estimators.event_search import Candidate, best_events
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim
from rdpkit.verification.estimators.two_binomials import TwoCounts, p_value

_LARGEST_EPSILON = 350.0
# The lower bound on epsilon is found to this many nats, and rounded down.
_EPSILON_STEP = 1e-3
# The larger side gets at most this many samples for each sample of the smaller side.
_MOST_UNEQUAL = 20.0


def event_test(
    claim: PrivacyClaim,
    p_scores: ArrayLike,
    q_scores: ArrayLike,
    *,
    false_alarm_rate: float,
    training: float = 0.1,
    with_bound: bool = False,
) -> Verdict:
    """Test a claim with one threshold event of the scores.

    The first part of either side's scores is used to choose the event E and the pair (epsilon,
    delta) of the claim's supporting lines that speak most clearly against the claim. The other
    scores are counted, and P(E) <= e^epsilon Q(E) + delta is tested with the exact p-value of
    :func:`rdpkit.verification.estimators.two_binomials.p_value`.

    Guarantee
    ---------
    If the claim is true, ``rejected`` is True with probability at most ``false_alarm_rate``, and
    the p-value is at most u with probability at most u. A ``bound`` has an epsilon above the
    mechanism's smallest epsilon at its delta with probability at most ``false_alarm_rate``.

    Assumes
    -------
    Scores are independent, those of ``p_scores`` with one distribution and those of ``q_scores``
    with another, in the order in which they were drawn or another order that does not depend on
    their values. The score function and the number of scores were chosen without looking at them.

    Parameters
    ----------
    claim : PrivacyClaim
        What is claimed.
    p_scores, q_scores : array_like, shape (n,) and (m,)
        n, m >= 2; equal sizes, or those of :func:`best_allocation`, give the most power.
    false_alarm_rate : float
        In (0, 1).
    training : float
        In (0, 1): the part of either side's scores that is used to choose the event.
    with_bound : bool
        Whether to compute the lower bound on epsilon that belongs to the event, which takes about
        twenty more p-values. Its statistic is tuned on the training part and not to the claim, so
        in close cases the verdict and the bound may differ; each keeps its guarantee.

    Raises
    ------
    ArithmeticError
        If a score is NaN.
    ValueError
        If an argument is outside of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from rdpkit.verification.estimators.privacy_claims import DpClaim
    >>> rng = np.random.default_rng(1)
    >>> p, q = rng.normal(2.0, 1.0, 4000), rng.normal(0.0, 1.0, 4000)
    >>> found = event_test(DpClaim(epsilon=1.0, delta=1e-2), p, q, false_alarm_rate=0.05)
    >>> found.rejected, found.p_value <= 0.05
    (True, True)
    """
    checked: PrivacyClaim = _validate.one_of_a_kind("claim", claim, PrivacyClaim)
    p = check_scores("p_scores", p_scores, minimum=2)
    q = check_scores("q_scores", q_scores, minimum=2)
    rate = _validate.open_probability("false_alarm_rate", false_alarm_rate)
    part = _validate.open_probability("training", training)
    cuts = [min(max(1, math.ceil(part * side.size)), side.size - 1) for side in (p, q)]
    rest = (p[cuts[0] :], q[cuts[1] :])
    ratio = rest[0].size / rest[1].size
    chosen = best_events(checked, p[: cuts[0]], q[: cuts[1]], ratio=ratio)[0]
    counts = _counts(chosen.event, *rest)
    found = p_value(counts, slope=math.exp(chosen.epsilon), intercept=chosen.delta, level=rate)
    rejected = found <= rate
    bound = None
    if with_bound:
        seen = _counts(chosen.event, p[: cuts[0]], q[: cuts[1]])
        tuned = _promising_slope(seen, counts.trials_p, counts.trials_q, chosen.delta)
        bound = _bound(counts, chosen, tuned, rate, (p.size, q.size))
    diagnostics: tuple[Diagnostic, ...] = ()
    if not rejected:
        diagnostics = diagnose(checked, *rest, threshold=math.sqrt(2.0 * math.log(1.0 / rate)))
    return Verdict(
        rejected=rejected,
        false_alarm_rate=rate,
        claim=checked.describe(),
        method="exact test of one event",
        samples=(p.size, q.size),
        stop=Stop.REJECTED if rejected else Stop.EXHAUSTED,
        p_value=found,
        witness=f"{chosen.event.describe()}, at epsilon {chosen.epsilon:.6g} and delta "
        f"{chosen.delta:.6g}",
        bound=bound,
        diagnostics=diagnostics,
    )


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
    p, q = check_scores("p_scores", p_scores), check_scores("q_scores", q_scores)
    count = _validate.integer("total", total, minimum=4)
    chosen = best_events(checked, p, q)[0]
    hits = _counts(chosen.event, p, q)
    # One hit and one miss are added, as in the choice of the event.
    first = (hits.hits_p + 1.0) / (hits.trials_p + 2.0)
    second = (hits.hits_q + 1.0) / (hits.trials_q + 2.0)
    unequal = math.sqrt(first * (1.0 - first) / (second * (1.0 - second)))
    unequal *= math.exp(-chosen.epsilon)
    unequal = min(max(unequal, 1.0 / _MOST_UNEQUAL), _MOST_UNEQUAL)
    if chosen.event.direction is Direction.Q_OVER_P:
        unequal = 1.0 / unequal
    from_p = min(max(2, round(count * unequal / (1.0 + unequal))), count - 2)
    return from_p, count - from_p


def _counts(event: ThresholdEvent, p_scores: Array, q_scores: Array) -> TwoCounts:
    """Counts on both sides, with the side first that is expected to have more."""
    forward = event.direction is Direction.P_OVER_Q
    first, second = (p_scores, q_scores) if forward else (q_scores, p_scores)
    return TwoCounts(
        hits_p=int(np.count_nonzero(event.contains(first))),
        trials_p=first.size,
        hits_q=int(np.count_nonzero(event.contains(second))),
        trials_q=second.size,
    )


def _promising_slope(seen: TwoCounts, n: int, m: int, delta: float) -> float:
    """A slope that samples of sizes n and m will probably refute, from the training part alone.

    The statistic is tuned to it. It allows for two standard deviations of both parts.
    """
    p = (seen.hits_p + 1.0) / (seen.trials_p + 2.0)
    q = (seen.hits_q + 1.0) / (seen.trials_q + 2.0)
    # Both the training counts and the counts to come are uncertain.
    first = p * (1.0 - p) * (1.0 / n + 1.0 / seen.trials_p)
    second = q * (1.0 - q) * (1.0 / m + 1.0 / seen.trials_q)
    low, high = 0.0, _LARGEST_EPSILON
    while high - low > _EPSILON_STEP:
        middle = 0.5 * (low + high)
        slope = math.exp(middle)
        spread = math.sqrt(first + slope * slope * second)
        low, high = (middle, high) if p - slope * q - delta > 2.0 * spread else (low, middle)
    return math.exp(low)


def _bound(
    counts: TwoCounts,
    chosen: Candidate,
    tuned: float,
    rate: float,
    samples: tuple[int, int],
) -> EpsilonLowerBound:
    """The largest epsilon that is rejected.

    All epsilons are tested with the same statistic, and the hypotheses grow with epsilon. So if one
    epsilon is rejected, all smaller ones are rejected, too.
    """

    def is_rejected(epsilon: float) -> bool:
        slope = math.exp(epsilon)
        value = p_value(counts, slope=slope, intercept=chosen.delta, tuned_slope=tuned, level=rate)
        return value <= rate

    low, high = 0.0, 0.0
    if is_rejected(0.0):
        step = 1.0
        while low + step <= _LARGEST_EPSILON and is_rejected(low + step):
            low += step
            step *= 2.0
        high = min(low + step, _LARGEST_EPSILON)
    while high - low > _EPSILON_STEP:
        middle = 0.5 * (low + high)
        if is_rejected(middle):
            low = middle
        else:
            high = middle
    return EpsilonLowerBound(
        epsilon=low,
        delta=chosen.delta,
        confidence=1.0 - rate,
        samples=samples,
        event=chosen.event,
    )
