"""Bets on the outputs of a mechanism on one pair of data sets, with scores that are chosen again.

Outputs are first bet on and then kept. Whenever the number of kept outputs has doubled, scores are
chosen again from them: the older part teaches the scores, and the newer part, which the scores have
not seen, teaches what to bet on. So every bet depends on earlier outputs alone.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial

import numpy as np
from scipy.special import logsumexp
from scipy.stats import rankdata

from rdpkit.verification.blackbox.betting.bounds import CountedEvent, best_event, epsilon_of, mu_of
from rdpkit.verification.blackbox.mistakes import NamingLevels
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.runs import MechanismRunner, generator
from rdpkit.verification.blackbox.scores.library import candidate_scores
from rdpkit.verification.blackbox.scores.named_score import NamedScore, TrainingOutputs
from rdpkit.verification.estimators.base import Array, Diagnostic, DiagnosticKind
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim
from rdpkit.verification.estimators.sequential import SequentialTest

# Runs for the tests, and randomness for learning scores, have generators of their own.
_TEST, _LEARNING = 3, 4
FIRST_LESSON = 256
"""Scores are chosen for the first time, and bets begin, after this many runs on each data set."""
# The part of the kept outputs that teaches the scores; the rest teaches the bets.
_TAUGHT = 2.0 / 3.0
# This part of the capital goes to new scores as long as nothing was won on the pair.
_SPREAD_AGAIN = 0.5
# How many bets go on as they are when scores are chosen again. A score that orders some outputs
# nearly as one of theirs does is not new.
_CARRIED = 3
_COMPARED = 2000
_ALIKE = 0.9995
# Classifiers are trained on this many outputs for the first time, and again when there are this
# many times as many.
_FIRST_FIT = 1024
_FIT_AGAIN = 4
# The largest number of values that are kept of the outputs on one data set.
_MOST_KEPT = 2**25
# Events for lower bounds are looked for among this many of the clearest scores.
_SCORES_FOR_BOUNDS = 3
# The pair (epsilon, delta) of a claim whose delta is nearest to this one is spoken of.
_USUAL_DELTA = 1e-2


def main_line(claim: PrivacyClaim) -> tuple[float, float]:
    """The pair (epsilon, delta) of a claim at which lower bounds and power are stated."""
    epsilons, deltas = claim.supporting_lines()
    distance = np.abs(np.log(np.maximum(deltas, 1e-300)) - math.log(_USUAL_DELTA))
    place = int(distance.argmin())
    return float(epsilons[place]), float(deltas[place])


@dataclass(slots=True)
class ScoreBets:
    """A score, the test that bets on it, and the part of the capital that the test has."""

    score: NamedScore  # The score
    test: SequentialTest  # Its bets
    log_weight: float  # The logarithm of its part of the capital
    log_prior: float  # The logarithm of its part before anything was bet
    log_gain: float = 0.0  # The logarithm of what a unit of capital that was bet on it has become
    log_to_name: float = -math.inf
    """Its mistake is named once ``log_gain`` reaches this; -inf if it explains none."""


@dataclass(slots=True, eq=False)
class PairTest:
    """The bets on one pair of data sets.

    Guarantee
    ---------
    If the claim is true, the factors that :meth:`bet` returns multiply to a nonnegative
    supermartingale that begins at 1, however the numbers of runs are chosen from what was seen.

    Assumes
    -------
    Runs are independent.
    """

    pair: Neighbours  # The data sets
    place: int  # The number of the pair, from which its random generators are made
    _: KW_ONLY
    runner: MechanismRunner  # Makes the runs
    claim: PrivacyClaim  # What is claimed
    own: NamedScore | None  # A score that was given
    models: tuple[str, ...]  # Classifiers to learn scores with
    levels: NamingLevels  # The error rates of names, which all pairs of a test share
    first_lesson: int = FIRST_LESSON  # Bets begin after this many runs on each data set
    runs: int = field(default=0, init=False)
    slots: list[ScoreBets] = field(default_factory=list, init=False)
    epsilon_events: list[CountedEvent] = field(default_factory=list, init=False)
    mu_events: list[CountedEvent] = field(default_factory=list, init=False)
    _kept: list[tuple[Array, Array]] = field(default_factory=list, init=False)
    _kept_rows: int = field(default=0, init=False)
    _taught_rows: int = field(default=0, init=False)
    _fitted_rows: int = field(default=0, init=False)
    _log_gain: float = field(default=0.0, init=False)
    _next_lesson: float = field(default=0.0, init=False)

    def on(self, pair: Neighbours, place: int) -> PairTest:
        """The same test on another pair, of which no runs have been made."""
        return replace(self, pair=pair, place=place)

    def noise(self) -> Array | None:
        """The kept outputs, less their means on either data set; None if they are no numbers."""
        if not self._kept or not self.runner.layout_for(self.pair).is_number.all():
            return None
        p, q = (np.concatenate(side) for side in zip(*self._kept, strict=True))
        return np.concatenate([p - p.mean(axis=0), q - q.mean(axis=0)])

    @property
    def until_lesson(self) -> int:
        """Runs on each data set until scores are chosen again; a large number if they stay."""
        return int(min(max(self._next_lesson, self.first_lesson) - self._kept_rows, _MOST_KEPT))

    @property
    def leading(self) -> ScoreBets | None:
        """The bets with the largest capital."""
        return max(self.slots, key=lambda slot: slot.log_weight, default=None)

    def bet(
        self,
        count: int,  # Runs on each data set
        *,
        log_needed: float,  # The logarithm of the factor with which the claim would be rejected
        # How many standard deviations clear a score has to be for half of the usual bet.
        caution: float,
    ) -> float:
        """Make runs on both data sets, bet on them, and return the logarithm of the factor."""
        for slot in self.slots:
            slot.test.caution = caution
        learning = self._next_lesson < math.inf
        scores = None if learning else [slot.score for slot in self.slots]
        p, q = self.runner.draw(
            self.pair, key=(_TEST, self.place), start=self.runs, count=count, scores=scores
        )
        self.runs += count
        factor = 0.0
        # What is learnt in the search from fewer runs decides where to look, and not what to bet.
        if self.slots and self._next_lesson > self.first_lesson:
            p_scores, q_scores = (
                np.stack([slot.score.of(side) for slot in self.slots], axis=1)
                if scores is None
                else side
                for side in (p, q)
            )
            for counted in (self.epsilon_events, self.mu_events):
                counted[-1].count(p_scores, q_scores)
            gains = []
            for column, slot in enumerate(self.slots):
                before = slot.test.log_e_value
                # A score that may name a mistake goes on until the evidence is enough for that.
                slot.test.aim(max(before + log_needed - slot.log_weight, slot.log_to_name))
                slot.test.update(p_scores[:, column], q_scores[:, column])
                gains.append(slot.test.log_e_value - before)
                slot.log_gain += gains[-1]
            weights = np.array([slot.log_weight for slot in self.slots]) + np.array(gains)
            factor = float(logsumexp(weights))
            self._log_gain += factor
            for slot, weight in zip(self.slots, weights, strict=True):
                slot.log_weight = float(weight) - factor
        if learning:
            self._kept.append((p, q))
            self._kept_rows += count
            if factor < log_needed and self.until_lesson <= 0:
                self.learn()
        return factor

    def learn(self) -> None:
        """Choose the scores, and share the capital between them, if there are new outputs."""
        if not self._kept or self._kept_rows == self._taught_rows:
            return
        self._taught_rows = self._kept_rows
        p, q = (np.concatenate(side) for side in zip(*self._kept, strict=True))
        self._kept = [(p, q)]
        cut = max(1, math.ceil(_TAUGHT * len(p)))
        if cut == len(p):
            return
        layout = self.runner.layout_for(self.pair)
        training = TrainingOutputs(
            p=p[:cut],
            q=q[:cut],
            is_number=layout.is_number,
            shapes=layout.parts,
            pair=self.pair,
            name=layout.name,
        )
        rng = generator(self.runner.seed, _LEARNING, self.place, len(p))
        fitted = self._kept_rows >= max(_FIRST_FIT, _FIT_AGAIN * self._fitted_rows)
        # A single number is its own score, or its distance from something; the others see that.
        models = self.models if fitted and p.shape[1] > 1 else ()
        scores = candidate_scores(
            training, own=self.own, models=models, rng=rng, kinds=layout.kinds
        )
        if fitted:
            self._fitted_rows = self._kept_rows
        self.slots = self._shared(scores, p[cut:], q[cut:])
        self._choose_events(p[cut:], q[cut:])
        self._next_lesson = max(self.first_lesson, 2 * self._kept_rows)
        if self._next_lesson * p.shape[1] > _MOST_KEPT:
            self._next_lesson = math.inf
            self._kept = []

    def _shared(self, scores: list[NamedScore], p: Array, q: Array) -> list[ScoreBets]:
        """The capital, shared between bets that go on and bets on scores that are new.

        Outputs p and q, which taught neither, teach the first bets on the new ones.
        """
        # The bets that go on as they are: those with the most capital, which have begun.
        going = [slot for slot in self.slots if slot.test.stop is None]
        if self._next_lesson <= self.first_lesson:
            going = []
        carried = sorted(going, key=lambda slot: -slot.log_weight)[:_CARRIED]
        # Scores are new that do not order outputs nearly as one does that is carried on.
        rows = np.concatenate([p, q])
        some = rows[:: max(1, len(rows) // _COMPARED)]
        known = [rankdata(slot.score.of(some)) for slot in carried]
        fresh = []
        for score in scores:
            ranks = rankdata(score.of(some))
            if not any(_correlation(ranks, one) > _ALIKE for one in known):
                fresh.append(score)
        # The more was won on this pair, the more is kept by the bets that won it.
        spread = _SPREAD_AGAIN * math.exp(-max(0.0, self._log_gain))
        spread = spread if carried and fresh else float(not carried)
        total = logsumexp([slot.log_weight for slot in carried]) if carried else 0.0
        for slot in carried:
            slot.log_weight += math.log1p(-spread) - float(total)
        shares = np.array([score.share for score in fresh])
        for score, prior in zip(fresh, np.log(shares / shares.sum()), strict=True):
            test = SequentialTest(self.claim, false_alarm_rate=0.5)
            test.prime(score.of(p), score.of(q))
            carried.append(
                ScoreBets(
                    score=score,
                    test=test,
                    log_weight=float(prior) + math.log(spread),
                    log_prior=float(prior),
                    log_to_name=-math.inf
                    if score.explanation is None
                    else -math.log(self.levels.next()),
                )
            )
        return carried

    def _choose_events(self, p: Array, q: Array) -> None:
        """Choose the events whose hits in the outputs to come give the lower bounds."""
        clearest = sorted(self.slots, key=lambda slot: -slot.test.clarity)[:_SCORES_FOR_BOUNDS]
        scores = [[slot.score.of(side) for side in (p, q)] for slot in clearest]
        choice = len(self.epsilon_events) + 1
        for counted, bound in (
            (self.epsilon_events, partial(epsilon_of, main_line(self.claim)[1])),
            (self.mu_events, mu_of),
        ):
            found = [best_event(*sides, of=bound) for sides in scores]
            best = max(range(len(found)), key=lambda place: found[place][0])
            column = self.slots.index(clearest[best])
            counted.append(CountedEvent(column=column, event=found[best][1], choice=choice))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of the leading score; that nothing is seen must be so of all scores."""
        if self.leading is None:
            return ()
        unseen = DiagnosticKind.NO_SEPARATION
        blind = all(
            unseen in {one.kind for one in slot.test.outcome().diagnostics} for slot in self.slots
        )
        found = self.leading.test.outcome().diagnostics
        return tuple(one for one in found if blind or one.kind is not unseen)


def _correlation(one: Array, other: Array) -> float:
    """The absolute correlation of ranks; 0 if one of them is constant."""
    if np.ptp(one) == 0.0 or np.ptp(other) == 0.0:
        return 0.0
    return abs(float(np.corrcoef(one, other)[0, 1]))
