"""How the runs of a test are spent on several pairs of data sets, and how far it has come.

A few runs are made on every pair, more on those that promise most, and most of them on the clearest
pair. Every bet on every pair multiplies one capital, so no runs are lost to the search. What is
done next depends on the outputs so far and on the seed, and never on the time that it took: the
time only decides when to stop. So the same seed and the same number of runs repeat a test exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial

import numpy as np

from rdpkit.verification.blackbox.adversarial_pairs import quiet_pairs
from rdpkit.verification.blackbox.betting.pair_test import PairTest
from rdpkit.verification.blackbox.options import MOST_PAIRS
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.runs import MechanismRunner
from rdpkit.verification.estimators.base import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationStep:
    """How far a verification has come."""

    stage: str  # "probing", "searching" or "testing"
    runs: int  # Runs so far, on both data sets
    of: int  # The most runs that there will be
    log_e_value: float  # Evidence against the claim so far: the logarithm of the bettor's capital
    needed: float  # The claim is rejected once the evidence reaches this
    seconds_left: float
    """How long it takes at most, by the pace of the runs so far: it ends as soon as the answer is
    clear.
    """


Progress = Callable[[VerificationStep], None]


# Runs on each data set of a pair after each stage of the search, and how many of 24 pairs stay. Of
# fewer pairs fewer stay, because there are few runs where few pairs can be tried, and most of the
# runs are for the clearest pair.
_STAGES = ((64, 12), (256, 6), (1024, 4), (4096, 2))
_LARGEST_PORTION = 16384
# Pairs on which there are different kinds of releases, and the runs that show that this is so.
_MOST_FIRST, _RUNS_FIRST = 2, 400
# The capital is looked at this often while the runs on a pair double, and at no fewer new runs than
# this on each data set.
_LOOKS_A_DOUBLING, _FEWEST_TO_LOOK = 8, 256
# A pair is cleared no earlier, because scores that are chosen later may show more.
_FIRST_CLEARING = 8192
# How many runs of the clearest pair go with one run of another pair.
_LEADER_RUNS = 4
# A pair is worth another look as if its promise were larger by this, over the root of its runs.
_CURIOSITY = 1.0
# It becomes the clearest pair only if it would be with a promise that is smaller by this, because
# the promise is the largest of many estimates, each with a deviation of about 1.7 over the root.
_CAUTION = 6.0
# A pair with records beyond the claimed norm is preferred only if it promises this much more,
# because one within the norm says more about the code.
_BEYOND_NORM = 0.3
OF_THE_CLEAREST = 1.0
"""How many standard deviations clear a score of the clearest pair is for half of the usual bet."""
OF_OTHERS = 5.0
"""The same for other pairs. What is lost by betting on chance adds up, because there are many."""
RUNS_A_PAIR = 500
"""Runs on each data set that a pair can be tested with; fewer are tried if time is short."""


@dataclass(slots=True, eq=False)
class Spending:
    """The runs, the time and the capital of one test."""

    runner: MechanismRunner  # Makes the runs
    _: KW_ONLY
    most: int  # The most runs, on both data sets together
    deadline: float  # When to stop, on the clock of ``time.perf_counter``
    log_needed: float  # The claim is rejected once the logarithm of the capital reaches this
    progress: Progress | None  # Called before each portion of runs
    log_highest: float = field(default=0.0, init=False)  # The largest log_capital so far
    log_begun: float = field(default=0.0, init=False)
    stop: Stop | None = field(default=None, init=False)
    # A part of the capital may be bet elsewhere, on runs in new processes.
    _log_aside: float = field(default=-math.inf, init=False)
    _log_main: float = field(default=0.0, init=False)

    @property
    def log_capital(self) -> float:
        """The logarithm of the capital, which began as 1."""
        return float(np.logaddexp(self._log_main, self._log_aside))

    def set_aside(self, part: float, log_gain: float) -> None:
        """Bet a part of the capital elsewhere, where each unit of it has become exp(log_gain)."""
        self._log_aside = math.log(part) + log_gain
        self._log_main = self.log_begun = math.log1p(-part)
        self._look()

    def report(self, stage: str) -> None:
        """Tell how far the test has come."""
        if self.progress is not None:
            runs = self.runner.runs
            self.progress(
                VerificationStep(
                    stage=stage,
                    runs=runs,
                    of=min(self.most, runs + self.runs_in_time()),
                    log_e_value=self.log_capital,
                    needed=self.log_needed,
                    seconds_left=min(
                        self.deadline - time.perf_counter(),
                        self.runner.seconds_for(self.most - runs),
                    ),
                )
            )

    def portion(
        self,
        test: PairTest,
        count: int,
        stage: str,
        *,
        caution: float = OF_THE_CLEAREST,
        by_lessons: bool = False,  # Whether every lesson is followed by a bet
    ) -> None:
        """Make a number of runs on each data set of a pair, or fewer if runs or time end."""
        while self.stop is None and count > 0:
            # The capital is looked at often enough to stop soon after the answer is clear.
            part = min(count, max(_FEWEST_TO_LOOK, test.runs // _LOOKS_A_DOUBLING))
            part = min(part, test.until_lesson) if by_lessons else part
            count -= part
            self.report(stage)
            left = (self.most - self.runner.runs) // 2
            # A replay asks for a number of runs and not for a time, so at least one is made.
            in_time = max(self.runs_in_time() // 2, 0 if self.runner.runs else 1)
            possible = min(part, left, in_time)
            if possible > 0:
                # The factor with which the claim would be rejected.
                needed = math.log(-math.expm1(self._log_aside - self.log_needed)) + self.log_needed
                self._log_main += test.bet(
                    possible, log_needed=needed - self._log_main, caution=caution
                )
                self._look()
            if possible < part and self.stop is None:
                self.stop = Stop.EXHAUSTED
            self.report(stage)

    def runs_in_time(self) -> int:
        """How many runs can be made until the deadline, and no more than are allowed."""
        if self.deadline == math.inf:
            return self.most
        return min(self.most, self.runner.affordable(self.deadline - time.perf_counter()))

    def _look(self) -> None:
        self.log_highest = max(self.log_highest, self.log_capital)
        if self.log_capital >= self.log_needed:
            self.stop = Stop.REJECTED


def search(
    tests: list[PairTest],  # One for each pair, the most promising ones first
    spending: Spending,  # Runs, time and capital
    *,
    # On so many pairs, the first ones, bets are made before all others are looked at.
    first: int = 0,
) -> tuple[PairTest, list[MechanismError]]:
    """Spend the runs until the claim is rejected or cleared, or runs or time end.

    Raises MechanismError if the code raises on the first runs on every pair, or later on a pair on
    which it ran. Returns the clearest pair; why pairs were left out: the code raises on them.
    """
    alive = tests
    errors: list[MechanismError] = []
    for test in tests[: min(first, _MOST_FIRST)]:
        # A difference of kinds is often clear after a few runs, and a run may take long.
        caution = OF_OTHERS if len(tests) > 1 else OF_THE_CLEAREST
        spending.portion(test, _RUNS_FIRST, "searching", caution=caution, by_lessons=True)
        if spending.stop is not None:
            return test, errors
    for stage, (runs, kept) in enumerate(_STAGES if len(tests) > 1 else ()):
        for test in list(alive):
            try:
                spending.portion(test, runs - test.runs, "searching", caution=OF_OTHERS)
            except MechanismError as error:
                if stage > 0 or len(alive) == 1:
                    raise
                alive = [other for other in alive if other is not test]
                errors.append(error)
                continue
            if spending.stop is None:
                test.learn()
        if stage == 0:
            alive = alive + _where_noise_is_least(alive, spending, runs=runs, place=len(tests))
        # Ties are decided by the order in which the pairs were given.
        alive = sorted(alive, key=lambda test: -_preference(test))
        if stage == 0:
            others = alive
        alive = alive[: math.ceil(kept * min(1.0, len(tests) / MOST_PAIRS))]
    # A pair on which few runs were made may have its promise by chance.
    standing = partial(_preference, deviations=-_CAUTION)
    leader = max(alive, key=standing)
    if len(tests) == 1:
        others = alive
    behind = 0.0
    while spending.stop is None:
        portion = min(leader.until_lesson, _LARGEST_PORTION)
        spending.portion(leader, portion, "testing")
        # Whether no threshold of any score can still refute the claim.
        cleared = all(slot.test.stop is Stop.CLEARED for slot in leader.slots)
        if spending.stop is None and leader.runs >= _FIRST_CLEARING and cleared:
            spending.stop = Stop.CLEARED
        behind += portion / _LEADER_RUNS
        while spending.stop is None and len(others) > 1:
            rest = (test for test in others if test is not leader)
            other = max(rest, key=partial(_preference, deviations=_CURIOSITY))
            portion = min(other.until_lesson, _LARGEST_PORTION)
            if portion > behind:
                break
            behind -= portion
            spending.portion(other, portion, "testing", caution=OF_OTHERS)
        leader = max(
            (test for test in others if test.runs >= _STAGES[-1][0] or test is leader),
            key=standing,
        )
    return leader, errors


def _where_noise_is_least(
    tests: list[PairTest], spending: Spending, *, runs: int, place: int
) -> list[PairTest]:
    """Tests of pairs whose changed record lies where the outputs so far have the least noise."""
    rows = [noise for noise in (test.noise() for test in tests) if noise is not None]
    if spending.stop is not None or len({noise.shape[1] for noise in rows}) != 1:
        return []
    # Noise that depends on the data would otherwise count where there is most of it.
    scale = [float(np.median(noise.std(axis=0))) for noise in rows]
    even = [noise / size for noise, size in zip(rows, scale, strict=True) if size > 0.0]
    if not even:
        return []
    found = []
    for index, pair in enumerate(quiet_pairs(np.concatenate(even), like=tests[0].pair)):
        test = tests[0].on(pair, place + index)
        try:
            spending.portion(test, runs, "searching", caution=OF_OTHERS)
        except MechanismError:
            continue
        if spending.stop is None:
            test.learn()
        found.append(test)
    return found


def _preference(test: PairTest, *, deviations: float = 0.0) -> float:
    """How clearly the clearest score speaks against the claim, less for a pair beyond the norm.

    The deviations are added, each of them one over the root of the runs on the pair.
    """
    promise = max((slot.test.clarity for slot in test.slots), default=-math.inf)
    less = _BEYOND_NORM * abs(promise) if test.pair.beyond_norm else 0.0
    return promise - less + deviations / math.sqrt(max(1, test.runs))
