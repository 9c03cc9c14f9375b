r"""What bets are worth when they end: lower bounds, and what would have been rejected.

For k hits in n trials the mixture

    M_n(p) = B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) / (p^k (1-p)^(n-k))

of likelihood ratios is a nonnegative martingale that begins at 1 if p is the true probability. So
M_n(p) ever reaches 1/failure with probability at most ``failure`` (Ville's inequality), and the
probabilities at which it has not reached it form an interval that holds whenever one looks.

For lower bounds on epsilon and on mu, an event is chosen from past outputs, and its hits are
counted in the outputs that follow. Whenever scores are chosen again, so are the events; each choice
gets a part of the failure probability.

How large a violation has to be to be rejected nearly always is found by simulating the bets of a
test on one event of which the test knows that it is the right one, with as many runs as were made.
An event E violates (epsilon, delta)-DP by x if P(E) = e^epsilon Q(E) + delta + x.

Source
------
Ville 1939; Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of
Mathematical Statistics 1970; the prior is that of Jeffreys.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import norm

from rdpkit.formats.records import as_plain
from rdpkit.verification.estimators.base import Array, Direction, ThresholdEvent
from rdpkit.verification.estimators.bets import BOLDNESS, KEPT, UNSEEN
from rdpkit.verification.estimators.clopper_pearson import lower_bound
from rdpkit.verification.estimators.event_search import thresholds_of
from rdpkit.verification.estimators.sequential import GROWTH

_HALVINGS = 60


def lowest_rate(
    hits: Array,  # In [0, trials]; need not be whole
    trials: float,  # At least 0
    failure: float,  # In (0, 1)
) -> Array:
    """A lower bound on the probability of a hit, which holds at all times together.

    Guarantee
    ---------
    It is ever above the true probability with probability at most ``failure``, however often and
    whenever one looks.
    """
    misses, level = trials - hits, math.log(1.0 / failure)
    prior = betaln(hits + 0.5, misses + 0.5) - betaln(0.5, 0.5)
    low, high = np.zeros_like(hits), hits / max(trials, 1.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        outside = prior - (xlogy(hits, middle) + xlog1py(misses, -middle)) >= level
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return low


def highest_rate(hits: Array, trials: float, failure: float) -> Array:
    """An upper bound on the probability of a hit: see :func:`lowest_rate`."""
    return np.asarray(1.0 - lowest_rate(trials - hits, trials, failure))


# Events are planned for bounds that fail with a probability of about exp(-9).
_PLANNED_NATS = 9.0
Bound = Callable[[Array, Array], Array]
"""A bound from a lower bound on P(E) and an upper bound on Q(E)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MuLowerBound:
    """A lower bound on the mu of Gaussian differential privacy, from samples."""

    mu: float
    """At least 0. Unless the bound failed, the mechanism is not mu'-GDP for any smaller mu'."""
    confidence: float  #: ``mu`` is a lower bound with at least this probability
    samples: tuple[int, int]  #: How many outputs on D and on D' its event was counted in
    event: ThresholdEvent | None = None  #: The event; None if none showed a mu above 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": "lower", **as_plain(self)}


@dataclass(slots=True)
class CountedEvent:
    """An event of one score, and its hits since it was chosen."""

    column: int  # The score's place
    event: ThresholdEvent
    choice: int  # Which choice of events on its pair it belongs to, from 1
    hits: list[int] = field(default_factory=lambda: [0, 0])  # On D and on D'
    trials: int = 0  # Outputs on each data set

    def count(self, p_scores: Array, q_scores: Array) -> None:
        """Count the hits among new scores, of shape (n, k), with a column for each score."""
        for side, scores in enumerate((p_scores, q_scores)):
            self.hits[side] += int(self.event.contains(scores[:, self.column]).sum())
        self.trials += len(p_scores)

    def bound(self, of: Bound, failure: float) -> float:
        """The bound, if the failure probability of all choices on the pair is ``failure``."""
        if self.trials == 0:
            return 0.0
        # The parts of all choices add up: sum 1 / (k (k + 1)) = 1. Half is for either side.
        part = failure / (2.0 * self.choice * (self.choice + 1.0))
        first, second = self.hits if self.event.direction is Direction.P_OVER_Q else self.hits[::-1]
        low = lowest_rate(np.array([float(first)]), self.trials, part)
        high = highest_rate(np.array([float(second)]), self.trials, part)
        return max(0.0, float(of(low, high)[0]))


def epsilon_of(delta: float, low: Array, high: Array, /) -> Array:
    """The bound log((P(E) - delta) / Q(E)) on epsilon."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low - delta, 0.0)) - np.log(high))


def mu_of(low: Array, high: Array) -> Array:
    """The bound on mu: a mu-GDP mechanism has norm.ppf(P(E)) - norm.ppf(Q(E)) <= mu."""
    return np.asarray(norm.ppf(low) - norm.ppf(high))


def best_event(
    # Past scores; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    *,
    of: Bound,
) -> tuple[float, ThresholdEvent]:
    """The event whose bound is about the largest on past scores."""
    found: list[tuple[float, ThresholdEvent]] = []
    # The widths of Bernstein's inequality stand for those of the bounds.
    size = min(p_scores.size, q_scores.size)
    width = (_PLANNED_NATS + 0.5 * math.log(size)) / size
    for above in (True, False):
        sign = 1.0 if above else -1.0
        ordered = [np.sort(sign * side) for side in (p_scores, q_scores)]
        cuts = thresholds_of(ordered[0], ordered[1])
        shares = [1.0 - np.searchsorted(side, cuts, side="right") / side.size for side in ordered]
        for direction in Direction:
            one, other = shares if direction is Direction.P_OVER_Q else shares[::-1]
            low = one - np.sqrt(2.0 * one * (1.0 - one) * width) - width
            high = other + np.sqrt(2.0 * other * (1.0 - other) * width) + width
            bounds = of(np.clip(low, 0.0, 1.0), np.clip(high, 1e-300, 1.0))
            place = int(np.nan_to_num(bounds, nan=-np.inf).argmax())
            event = ThresholdEvent(
                threshold=sign * float(cuts[place]), above=above, direction=direction
            )
            found.append((float(bounds[place]), event))
    return max(found, key=operator.itemgetter(0))


def largest_bound(
    counted: list[CountedEvent],  # On one pair of data sets
    of: Bound,  # ``mu_of``, or a part of ``epsilon_of``
    *,
    failure: float,  # In (0, 1)
    pairs: int = 1,  # How many pairs of data sets this one was chosen from
) -> tuple[float, tuple[int, int], ThresholdEvent | None]:
    """The largest lower bound of all events, the samples on D and on D', and its event.

    Guarantee
    ---------
    The mechanism is mu-GDP for a mu below it, or (epsilon, delta)-DP for an epsilon below it, with
    probability at most ``failure``, whenever the counting stopped, on whichever of the pairs.
    """
    bounds = [one.bound(of, failure / pairs) for one in counted]
    best = max(bounds, default=0.0)
    if best == 0.0:
        return 0.0, (0, 0), None
    found = counted[bounds.index(best)]
    return best, (found.trials, found.trials), found.event


_POWER = 0.95
_TENFOLD = 10.0
_REPEATS = 400
_SEED = 20_261_122
# The power of the simulated test is at least the stated one with this confidence.
_CONFIDENCE = 0.95
_HALVINGS_OF_EXCESS = 6
_HALVINGS_OF_THE_NEAREST = 20
# How likely an event may be on the data set where it is likelier; the hardest to see is simulated.
_LIKELY = np.linspace(0.05, 0.95, 19)
# The excess is looked for between these multiples of its standard deviation.
_FEWEST_DEVIATIONS, _MOST_DEVIATIONS = 0.5, 64.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectableViolation:
    """The smallest violation that would have been rejected with a stated probability.

    The numbers are estimates from a simulation of the test. They hold for a violation that shows
    in a threshold event of a score that was tested, on the pair that most runs were made on.
    """

    # What is claimed.
    epsilon: float
    delta: float
    excess: float | None
    """x, for the kind of event that is hardest to see; None if no violation would have been."""
    rare_excess: float | None  #: x, for an event that never happens on one of the data sets
    power: float  #: The probability of a rejection
    runs: int  #: On each data set of the pair

    @property
    def notices_tenfold(self) -> bool:
        """Whether code with ten times the epsilon would have been noticed.

        Its clearest event is that of randomised response at ten times the epsilon, which is on
        one data set as likely as it is unlikely on the other; with an epsilon of 0, an event that
        is on one data set ten times delta more likely than on the other.
        """
        likely = 1.0 / (1.0 + math.exp(-min(_TENFOLD * self.epsilon, 700.0)))
        excess = likely - math.exp(min(self.epsilon, 350.0)) * (1.0 - likely) - self.delta
        excess = max(excess, _TENFOLD * self.delta)
        return self.excess is not None and self.excess <= excess

    def describe(self) -> str:
        """In words."""
        at = f"P(E) <= e^{self.epsilon:.4g} P'(E) + {self.delta:.4g}"
        if self.excess is None and self.rare_excess is None:
            return f"no violation of {at} would have been rejected with probability {self.power:g}"
        parts = [
            f"by {found:.2g} {which}"
            for found, which in (
                (self.excess, "for any event E of a tested score"),
                (self.rare_excess, "for one that never happens on the other data set"),
            )
            if found is not None
        ]
        return (
            f"a violation of {at} {', or '.join(parts)} would have been rejected with probability "
            f"{self.power:g} (estimate)"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": "estimate", **as_plain(self)}


@functools.lru_cache(maxsize=256)
def detectable_violation(
    *,
    # A pair that the claim implies.
    epsilon: float,
    delta: float,
    runs: int,  # Runs on each data set
    first: int,  # How many of them came before the first bet
    log_needed: float,  # The logarithm of the factor by which the bets on one score have to grow
    # How many standard deviations clear an event has to be for half of the usual bet.
    caution: float,
) -> DetectableViolation:
    """The smallest violation that the bets of a test would have rejected with probability 0.95."""
    slope = math.exp(min(epsilon, 350.0))
    simulated = _SimulatedTest(slope, delta, runs, first, log_needed, caution)
    likely = _LIKELY[delta < _LIKELY]
    q = (likely - delta) / slope
    variances = likely * (1.0 - likely) + slope**2 * q * (1.0 - q)
    hardest = float(likely[variances.argmax()]) if likely.size else None
    return DetectableViolation(
        epsilon=epsilon,
        delta=delta,
        excess=None
        if hardest is None
        else simulated.smallest(hardest, math.sqrt(float(variances.max()) / runs)),
        rare_excess=simulated.smallest(None, math.sqrt(delta * runs + 1.0) / runs),
        power=_POWER,
        runs=runs,
    )


@dataclass(frozen=True, slots=True)
class _SimulatedTest:
    """Bets on one event, as :func:`detectable_violation` has them."""

    slope: float  # exp(epsilon)
    delta: float
    runs: int
    first: int
    log_needed: float
    caution: float

    def smallest(self, likely: float | None, deviation: float) -> float | None:
        """The smallest excess at which the test rejects often enough, by halving its logarithm."""
        counts = np.arange(_REPEATS + 1.0)
        passed = counts[lower_bound(counts, _REPEATS, 1.0 - _CONFIDENCE) >= _POWER]
        enough = float(passed.min()) / _REPEATS

        def often(excess: float) -> bool:
            q = 0.0 if likely is None else max(0.0, (likely - self.delta - excess) / self.slope)
            return self.rejected(min(1.0, self.slope * q + self.delta + excess), q) >= enough

        most = (1.0 if likely is None else likely) - self.delta
        if most <= 0.0 or not often(most):
            return None
        low = math.log(min(most, _FEWEST_DEVIATIONS * deviation))
        high = math.log(min(most, _MOST_DEVIATIONS * deviation))
        if not often(math.exp(high)):
            low, high = high, math.log(most)
        for _ in range(_HALVINGS_OF_EXCESS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if often(math.exp(middle)) else (middle, high)
        return math.exp(high)

    def rejected(self, *probabilities: float) -> float:
        """The share of tests that reject, for an event with these probabilities."""
        rng = np.random.default_rng(_SEED)

        def drawn(size: int) -> Array:
            sides = [rng.binomial(size, side, _REPEATS) for side in probabilities]
            return np.stack(sides, axis=1).astype(float)

        hits, seen = drawn(self.first), self.first
        capital = np.zeros(_REPEATS)
        rejected = np.zeros(_REPEATS, dtype=np.bool_)
        # A test that has rejected stops, so its simulation may stop as well.
        while seen < self.runs:
            size = min(max(64, math.ceil((GROWTH - 1.0) * seen)), self.runs - seen)
            terms = _bets(hits, float(seen), self.slope, self.delta, self.caution)
            new = drawn(size)
            for side, of_side in enumerate(terms):
                count, logs = new[:, side], np.log1p(of_side)
                capital += count * logs[:, 1] + (size - count) * logs[:, 0]
            rejected |= capital >= self.log_needed
            hits += new
            seen += size
        return float(rejected.mean())


def _bets(
    hits: Array, seen: float, slope: float, delta: float, caution: float
) -> tuple[Array, Array]:
    """What the capital is multiplied by, less 1: for P and Q, outside and inside of the event.

    These are the bets of :func:`rdpkit.verification.estimators.bets.best_bet`, for many tests at
    once. For one event the best bet is the likelihood ratio of the shares so far to the nearest
    probabilities that the claim allows.
    """
    p, q = hits[:, 0] / (seen + UNSEEN), (hits[:, 1] + UNSEEN) / (seen + UNSEEN)
    # The nearest pair is on the line p0 = slope q0 + delta, between q and (p - delta) / slope.
    low, high = q.copy(), np.maximum((p - delta) / slope, q)
    for _ in range(_HALVINGS_OF_THE_NEAREST):
        q0 = 0.5 * (low + high)
        p0 = slope * q0 + delta
        with np.errstate(divide="ignore", invalid="ignore"):
            rises = slope * ((1.0 - p) / (1.0 - p0) - p / p0) + (1.0 - q) / (1.0 - q0) - q / q0 > 0
        low, high = np.where(rises, low, q0), np.where(rises, q0, high)
    q0 = 0.5 * (low + high)
    p0 = np.minimum(slope * q0 + delta, 1.0 - 1e-15)
    terms = np.stack([(1.0 - p) / (1.0 - p0), p / p0, (1.0 - q) / (1.0 - q0), q / q0], axis=1)
    terms = np.where((p > slope * q + delta)[:, None], terms - 1.0, 0.0)
    lowest = np.maximum(-terms.min(axis=1), 1e-300)
    boldness = np.full(len(hits), BOLDNESS)
    if caution > 0.0:
        deviation = np.sqrt(p * (1.0 - p) + slope**2 * q * (1.0 - q))
        squared = np.maximum(0.0, (p - slope * q - delta) / deviation) ** 2 * seen
        boldness = BOLDNESS * squared / (squared + caution**2)
    terms *= np.minimum(boldness, (1.0 - KEPT) / lowest)[:, None]
    return terms[:, :2], terms[:, 2:]
