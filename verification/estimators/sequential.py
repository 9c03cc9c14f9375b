"""A test of a privacy claim that may stop at any time.

It learns from past scores which event speaks most clearly against the claim (or which divergence,
if the claim is an RDP curve), bets on it with the next scores, learns again, and so on. Every score
is first bet on, and then used to learn the next bet. If the claim is true, the capital reaches
1/alpha with probability at most alpha, however often one looks. Diagnostics of a test that did not
reject say why a claim may have survived although it is wrong.

A claim is cleared by an upper confidence bound on the excess of all threshold events of the score.
For each of K ranks, the probability above the order statistic of that rank has a beta distribution,
whatever the distribution of the scores. So Clopper-Pearson bounds hold for each rank, and for all
ranks together if each has a K-th part of the error. Between ranks probabilities are monotone. The
logarithms of the ranks are equally spaced, so the relative width of the bounds is similar in the
tail and in the middle.
"""

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
    Stop,
    Verdict,
    check_scores,
)
from rdpkit.verification.estimators.bets import (
    BOLDNESS,
    Bet,
    Cells,
    Witness,
    best_bet,
    event_witness,
)
from rdpkit.verification.estimators.event_search import best_event
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim, RdpClaim
from rdpkit.verification.estimators.renyi_witness import best_renyi_witness

_FIRST = 250
GROWTH = 1.3
"""The witness is learnt again whenever the scores have grown by this factor."""
# How often the capital is looked at before the witness is learnt again.
_LOOKS = 4
_CLEARING_FAILURE = 0.01
_RANKS = 400
# A claim cannot be cleared with fewer scores than this.
_FIRST_CLEARING = 2000
# With small batches, the bet is computed again after this many scores.
_BET_AGAIN = 32


class SequentialTest:
    """A test that gets scores batch by batch until it stops.

    Guarantee
    ---------
    If the claim is true, it is ever rejected with probability at most ``false_alarm_rate``, for any
    sequence of batches and any rule for stopping.

    If a threshold event of the score violates the claim, the test ends with ``Stop.CLEARED`` with
    probability at most 0.01. "Cleared" refers to this score and these two distributions only.

    Assumes
    -------
    Scores are independent, those of ``p_scores`` with one distribution, those of ``q_scores`` with
    another. The score function, and the sizes of a batch, do not depend on that batch's outputs.

    Parameters
    ----------
    claim : PrivacyClaim
        What is claimed.
    false_alarm_rate : float
        In (0, 1).

    Attributes
    ----------
    log_e_value : float
        The logarithm of the capital, which began as 1.
    clarity : float
        How clearly the past scores speak against the claim, for one score of either side: the
        estimated excess of the witness over its standard deviation. It is negative as long as
        nothing speaks against the claim, and -inf before the first lesson.
    stop : Stop or None
        ``REJECTED`` or ``CLEARED`` once that is certain.
    caution : float
        A witness that is clear by so many standard deviations gets half of the usual bet, one that
        is less clear gets less. It may be changed between updates.

    Examples
    --------
    >>> import numpy as np
    >>> from rdpkit.verification.estimators.privacy_claims import DpClaim
    >>> rng = np.random.default_rng(1)
    >>> test = SequentialTest(DpClaim(epsilon=1.0, delta=1e-3), false_alarm_rate=0.01)
    >>> while test.update(rng.normal(3.0, 1.0, 500), rng.normal(0.0, 1.0, 500)) is None:
    ...     pass
    >>> test.outcome().rejected, sum(test.outcome().samples) <= 2000
    (True, True)
    """

    def __init__(self, claim: PrivacyClaim, *, false_alarm_rate: float) -> None:
        self._claim: PrivacyClaim = _validate.one_of_a_kind("claim", claim, PrivacyClaim)
        self._rate = _validate.open_probability("false_alarm_rate", false_alarm_rate)
        self.caution = 0.0
        # All scores from either side so far, in the order in which they came.
        self._p = self._q = np.empty(0)
        self.log_e_value = 0.0
        self._most_capital = 0.0
        self._needed = math.log(1.0 / self._rate)
        self._witness: Witness | None = None
        self.clarity = -math.inf
        # How many scores so far are in each cell of the witness.
        self._counts: tuple[Cells, Cells] | None = None
        self._bet: Bet | None = None
        self._next_bet = 0
        self._next_lesson = 0
        self._clearing_looks = 0
        self.stop: Stop | None = None

    @property
    def samples(self) -> tuple[int, int]:
        """How many scores from either side have been looked at."""
        return self._p.size, self._q.size

    @property
    def scores(self) -> tuple[Array, Array]:
        """All scores from both sides so far, in the order in which they came."""
        return self._p, self._q

    def aim(self, log_e_value: float) -> None:
        """Stop betting as soon as the logarithm of the capital reaches this.

        A test that is a part of a larger one aims at what makes the whole capital large enough. The
        guarantee of this test alone is void then, and that of the larger one holds: a capital that
        stays as it is remains a supermartingale.
        """
        self._needed = float(log_e_value)

    def prime(
        self,
        # At least one each, before any call of :meth:`update`; shape (n,) and (m,)
        p_scores: ArrayLike,
        q_scores: ArrayLike,
    ) -> None:
        """Learn the first bet from scores that are not bet on, because they were seen before.

        The score function must not have been fitted to these outputs, or else the bets are too bold
        (which costs power, and never validity). Raises ArithmeticError if a score is NaN.
        """
        self._p = check_scores("p_scores", p_scores)
        self._q = check_scores("q_scores", q_scores)
        self._learn()

    def update(self, p_scores: ArrayLike, q_scores: ArrayLike) -> Stop | None:
        """Look at new scores from both sides, in the order in which they were drawn.

        Parameters
        ----------
        p_scores, q_scores : array_like, shape (n,) and (m,)
            At least one each. Equal sizes, or those of
            :func:`~rdpkit.verification.estimators.event_search.best_allocation`, give the most
            power.

        Returns
        -------
        Stop or None
            ``REJECTED`` or ``CLEARED`` once that is certain; None if more scores may help. Scores
            that come after a stop change nothing.

        Raises
        ------
        ArithmeticError
            If a score is NaN.
        """
        p, q = check_scores("p_scores", p_scores), check_scores("q_scores", q_scores)
        # Both batches are cut into pieces in the same proportion.
        done = 0.0
        while self.stop is None and done < 1.0:
            size = min(self.samples)
            # How many scores of the longer side are used before the next look.
            piece = max(64, math.ceil(size * (GROWTH - 1.0) / _LOOKS))
            piece = max(1, _FIRST - size) if self._witness is None else piece
            part = min(1.0, done + piece / max(p.size, q.size))
            if (1.0 - part) * min(p.size, q.size) < 1.0:
                part = 1.0
            starts = [round(done * side.size) for side in (p, q)]
            ends = [round(part * side.size) for side in (p, q)]
            if any(start == end for start, end in zip(starts, ends, strict=True)):
                # The piece would have none of the shorter side: it is all that is left.
                part, ends = 1.0, [p.size, q.size]
            done = part
            self._look_at(p[starts[0] : ends[0]], q[starts[1] : ends[1]])
        return self.stop

    def outcome(self) -> Verdict:
        """The verdict so far."""
        stop = self.stop or Stop.EXHAUSTED
        diagnostics: tuple[Diagnostic, ...] = ()
        if stop is Stop.EXHAUSTED:
            threshold = math.sqrt(2.0 * math.log(1.0 / self._rate))
            diagnostics = _diagnostics(self._claim, *self.scores, threshold=threshold)
        return Verdict(
            rejected=stop is Stop.REJECTED,
            false_alarm_rate=self._rate,
            claim=self._claim.describe(),
            method="sequential bets",
            samples=self.samples,
            stop=stop,
            log_e_value=self._most_capital,
            witness="" if self._witness is None else self._witness.description,
            diagnostics=diagnostics,
        )

    def _look_at(self, p: Array, q: Array) -> None:
        if self._witness is not None:
            assert self._counts is not None
            size, ratio = min(self.samples), p.size / q.size
            # A bet may be kept, because it was made before any of these scores, and is fair only
            # for the ratio of sizes that it was made for.
            if self._bet is None or size >= self._next_bet or self._bet.ratio != ratio:
                boldness = BOLDNESS
                # Less where the witness may owe its clarity to chance: it is the clearest of many.
                squared = max(0.0, self.clarity) ** 2 * size
                if squared and self.caution:
                    boldness = BOLDNESS * squared / (squared + self.caution**2)
                self._bet = best_bet(self._witness, *self._counts, ratio=ratio, boldness=boldness)
                self._next_bet = size + _BET_AGAIN
            p_counts, q_counts = self._witness.counts(p), self._witness.counts(q)
            if self._bet.share > 0.0:
                self.log_e_value += self._bet.log_factor(self._witness, p_counts, q_counts)
                self._most_capital = max(self._most_capital, self.log_e_value)
            self._counts = (self._counts[0] + p_counts, self._counts[1] + q_counts)
        self._p, self._q = np.concatenate([self._p, p]), np.concatenate([self._q, q])
        if self.log_e_value >= self._needed:
            self.stop = Stop.REJECTED
            return
        if min(self.samples) >= max(_FIRST, self._next_lesson):
            self._learn()

    def _learn(self) -> None:
        (p, q), size = self.scores, min(self.samples)
        ratio = p.size / q.size
        event = best_event(self._claim, p, q, ratio=ratio)
        self.clarity = event.clarity
        self._witness = event_witness(event.event, epsilon=event.epsilon, delta=event.delta)
        if isinstance(self._claim, RdpClaim):
            divergence = best_renyi_witness(self._claim, p, q, ratio=ratio)
            if divergence is not None and divergence[1] > self.clarity:
                self._witness, self.clarity = divergence
        self._counts = self._witness.counts(p), self._witness.counts(q)
        self._bet = None
        self._next_lesson = math.ceil(GROWTH * size)
        if size >= _FIRST_CLEARING:
            self._clear()

    def _clear(self) -> None:
        """Stop if no threshold event of the scores so far can still violate the claim."""
        self._clearing_looks += 1
        # The failure probabilities of all looks add up to the stated one: 6/pi^2 sum 1/k^2 = 1.
        failure = _CLEARING_FAILURE * 6.0 / (math.pi * self._clearing_looks) ** 2
        if largest_excess(self._claim, *self.scores, confidence=1.0 - failure) < 0.0:
            self.stop = Stop.CLEARED


# The power that diagnostics refer to, and its standard normal quantile.
_POWER, _QUANTILE = 0.95, 1.645
# A test should notice a true epsilon of this many times the claimed one.
_NOTICEABLE = 1.5
# For two equal distributions, Kolmogorov's statistic exceeds this in one of a hundred cases.
_KOLMOGOROV = 1.63


def _diagnostics(
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
    deviations = threshold + _QUANTILE
    claimed, noticed = _noticeable_epsilon(claim, p_scores, q_scores, deviations=deviations)
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
    both = np.concatenate([p_scores, q_scores])
    one, two = (
        np.searchsorted(np.sort(side), both, side="right") / side.size
        for side in (p_scores, q_scores)
    )
    distance = float(np.abs(one - two).max())
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


def _noticeable_epsilon(
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


def largest_excess(
    claim: PrivacyClaim,
    # Independent scores from either side; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    *,
    confidence: float,  # In (0, 1)
) -> float:
    """A bound on P(E) - e^epsilon Q(E) - delta, in both directions, for all threshold events E.

    Raises ArithmeticError if a score is NaN.

    Guarantee
    ---------
    With probability at least ``confidence``, no event {score > t} or {score < t} exceeds any of
    the claim's supporting lines by more than the returned value.
    """
    level = _validate.open_probability("confidence", confidence)
    p, q = check_scores("p_scores", p_scores), check_scores("q_scores", q_scores)
    epsilons, deltas = claim.supporting_lines()
    slopes = np.exp(epsilons)[:, None]
    found = -np.inf
    # There are eight bands: an upper and a lower one for each distribution and each side.
    failure = (1.0 - level) / 8.0
    for sign in (1.0, -1.0):
        sides = (np.sort(sign * p), np.sort(sign * q))
        for first, second in (sides, sides[::-1]):
            ranks, points = _ranked(first)
            # These bound P(X > t) where t is the order statistic with rank - 1 scores above it.
            bounds = clopper_pearson.upper_bound(ranks - 1.0, first.size, failure / ranks.size)
            # For t from each point on.
            starts, above = np.append(-np.inf, points), np.append(1.0, bounds)
            ranks, ends = _ranked(second)
            # For t below each point.
            below = clopper_pearson.lower_bound(ranks, second.size, failure / ranks.size)
            # On [starts_i, starts_{i+1}) the first band is constant, and the second band is
            # smallest just before the end.
            limits = np.append(starts[1:], np.inf)
            place = np.searchsorted(ends, limits, side="left")
            least = np.append(below, 0.0)[place]
            excess = above[None, :] - slopes * least[None, :] - deltas[:, None]
            found = max(found, float(excess.max()))
    return found


def _ranked(ordered: Array) -> tuple[Array, Array]:
    """Ranks from the largest score, the largest rank first, and the order statistics."""
    ranks = np.unique(np.round(np.geomspace(1.0, ordered.size, min(ordered.size, _RANKS))))[::-1]
    return ranks, ordered[(ordered.size - ranks).astype(np.int64)]
