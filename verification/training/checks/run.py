"""The fourth check: one training run with canaries, and how much it leaks at least."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import rdpkit
from rdpkit import Event
from rdpkit.accountants import profiles
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.mistakes import MistakeKind, mistake_of
from rdpkit.verification.estimators.one_run.families import GAUSSIAN, ProfileCurve
from rdpkit.verification.estimators.one_run.guesses import one_run_audit
from rdpkit.verification.estimators.one_run.independent import RankTest
from rdpkit.verification.estimators.one_run.tradeoff import one_run_tradeoff_audit
from rdpkit.verification.training import events
from rdpkit.verification.training.checks.canaries import (
    CanaryRun,
    black_box_run,
    noisy_sum_run,
    white_box_run,
)
from rdpkit.verification.training.checks.checking import Checking
from rdpkit.verification.training.events import UNKNOWN, Told, of_updates, told, with_noise
from rdpkit.verification.training.opacus import takes_gradient_canaries
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CanaryScores, CheckResult, TrainingLowerBound
from rdpkit.verification.training.trainer import TrainingMaker
from rdpkit.verification.training.updates import Vector

# Of the time: until the training ends, and until bounds are no longer made sharper.
_TRAINED, _SHARPENED = 0.3, 0.45
_LARGEST_LEAK = 4.0
_LARGEST_MU = 40.0
_GUESSED = 0.2
_JOINING = (
    "canaries join updates as the accountant was told, not as the loader draws; that is what the "
    "check of the sampler is for"
)
_INDEPENDENT = (
    "given that canaries' scores are independent, as gradients at different coordinates with "
    "independent noise are"
)


def check_run(maker: TrainingMaker, options: TrainingOptions) -> CheckResult:
    """Train once with canaries, and bound what the training leaks from below.

    With Opacus, canaries are rows that are appended to the gradients of records: each is in by a
    fair coin, has a huge gradient at one random coordinate, goes through the training's own
    clipping and noise, and joins updates as the accountant was told that records do. What the
    training's records contribute is subtracted, as whoever knows the other records can. Elsewhere
    canaries are records with wrong labels or records that were held out, where the training can be
    made with more records.

    Guarantee
    ---------
    A training that leaks no more than its event and its claim say is rejected with probability at
    most ``options.rate_of_a_check``. Each lower bound is too large with probability at most
    1 - ``options.confidence``, if what it is given is true.
    """
    work = Checking("run", maker, options)
    training, until = maker.fresh(), work.until(_TRAINED)
    account = told(training.event)
    if account.sampling == UNKNOWN or account.updates is None or account.parts > 1:
        return work.result(
            skipped="the event does not say how each update is made; see the other checks"
        )
    white = None
    if takes_gradient_canaries(training):
        white = white_box_run(work, account, until=until)
    if white is None and training.noisy_sum is not None:
        white = noisy_sum_run(work, account, until=until)
    if white is not None:
        return _of_white_box(work, white, account)
    black = black_box_run(work, account, until=until)
    if isinstance(black, str):
        return work.result(skipped=black)
    training = black.training
    stricter = _by_guesses(black, 1.0 - work.rates.rate).epsilon
    proven = events.upper(training, of_updates(training.event, account, black.updates))
    upper = math.inf if proven is None else proven
    more = stricter > min(upper, math.inf if training.epsilon is None else training.epsilon)
    work.rates.equally("guesses of who is in")
    return _result(work, black, shown=stricter if more else None, accounted=upper)


def _of_white_box(work: Checking, run: CanaryRun, account: Told) -> CheckResult:
    training, options = run.training, work.options
    assert run.others is not None
    leaks = EventLeaks(of_updates(training.event, account, run.updates), training.adjacency)
    signed = training.adjacency is Adjacency.REPLACE_ONE
    rate = work.rates.equally("leak of the run")
    test = RankTest(
        run.inside,
        run.outside if signed else np.concatenate([run.others, run.outside]),
        seed=work.seed,
        weights=leaks,
        told=1.0,
        failure=rate,
    )
    failure = 1.0 - options.confidence
    until = work.began + _SHARPENED * options.seconds
    leak = test.lower_bound(leaks, failure=failure, most=_LARGEST_LEAK, until=until)
    made = f"{run.updates} updates"
    bound = TrainingLowerBound(
        epsilon=leaks.epsilon(leak, training.delta),
        delta=training.delta,
        adjacency=training.adjacency,
        confidence=options.confidence,
        given=f"{_INDEPENDENT}, and that {made} leak as the told event does with some noise",
        mu=test.lower_bound(GAUSSIAN, failure=failure, most=_LARGEST_MU),
    )
    as_told = leaks.epsilon(1.0, training.delta)
    claimed = math.inf if training.epsilon is None else training.epsilon
    more, shown = test.p_value(leaks, 1.0) <= rate, None
    # Nothing below the told leak is of interest, unless less was claimed.
    if more or claimed < as_told:
        leak = test.lower_bound(leaks, failure=rate, most=_LARGEST_LEAK, until=until)
        shown = leaks.epsilon(max(leak, 1.0) if more else leak, training.delta)
    return _result(
        work,
        run,
        shown=shown if shown is not None and (more or shown > claimed) else None,
        accounted=as_told,
        measured=(
            ("noise multiplier", f"{run.multiplier:.4g} (estimate, beside one canary)"),
            ("epsilon as told", f"{as_told:.4g} at {training.at}, for {made} (lower)"),
        ),
        bounds=(bound,),
        notes=(_JOINING,),
    )


def _result(
    work: Checking,
    run: CanaryRun,
    *,
    shown: float | None,  # The epsilon that is shown, if it is more than told or claimed
    accounted: float,
    measured: tuple[tuple[str, str], ...] = (),
    bounds: tuple[TrainingLowerBound, ...] = (),
    notes: tuple[str, ...] = (),
) -> CheckResult:
    """What every run with canaries shows, and what this one shows besides."""
    training, options, mistakes = run.training, work.options, []
    if shown is not None:
        said = training.epsilon
        more = mistake_of(
            MistakeKind.LEAKS_MORE,
            updates=run.updates,
            shown=shown,
            at=training.at,
            accounted=accounted,
            claimed="" if said is None else f" and {said:.4g} was claimed",
        )
        mistakes.append(more)
    # By right guesses, against whole trade-off curves of Gaussian differential privacy.
    guessed = one_run_tradeoff_audit(
        run.scores, run.coins, delta=training.delta, confidence=options.confidence
    )
    by_tradeoff = TrainingLowerBound(
        epsilon=guessed.epsilon,
        delta=training.delta,
        adjacency=training.adjacency,
        confidence=options.confidence,
        given=f"for {run.updates} updates, and nothing is assumed about scores",
        family="the training leaks as two Gaussians at some distance do",
        mu=guessed.leak,
    )
    return work.result(
        mistakes=mistakes,
        measured=(
            ("canaries", f"{run.coins.size}, of which {int(run.coins.sum())} were in; {run.kind}"),
            ("updates", str(run.updates)),
            *measured,
        ),
        bounds=(*bounds, by_tradeoff, _by_guesses(run, options.confidence)),
        notes=(*run.notes, *notes),
        scores=CanaryScores(
            inside=tuple(map(float, run.inside)), outside=tuple(map(float, run.outside))
        ),
    )


def _by_guesses(run: CanaryRun, confidence: float) -> TrainingLowerBound:
    """By right guesses of who is in, for a number of guesses that was fixed beforehand."""
    each = max(1, int(_GUESSED * run.coins.size))
    found = one_run_audit(
        run.scores,
        run.coins,
        guess_in=each,
        guess_out=min(each, run.coins.size - each),
        delta=run.training.delta,
        confidence=confidence,
    )
    return TrainingLowerBound(
        epsilon=found.epsilon,
        delta=run.training.delta,
        adjacency=run.training.adjacency,
        confidence=confidence,
        given=f"nothing is assumed about scores; for {run.updates} updates, by right guesses of "
        "who is in",
    )


_GRID = 50_000
_SLACK = 1e-12
_KEPT = 64
# Rates below this are not met among some thousands of scores.
_SMALLEST_DELTA = 1e-7


class EventLeaks:
    """The told event with its noise divided by a number, the leak; 1 is the event as told."""

    def __init__(self, event: Event, adjacency: Adjacency) -> None:
        self.event, self.adjacency = event, adjacency
        self._table = functools.lru_cache(_KEPT)(self._tabulated)

    def _member(self, leak: float) -> Event:
        return self.event if leak == 1.0 else with_noise(self.event, 1.0 / leak)

    def rates(self, leak: float, found: Vector) -> Vector:
        """The least false positive rate at each true positive rate, or less.

        Guarantee
        ---------
        No attack on two neighbours has a smaller false positive rate, if the event with this leak
        is what was released.
        """
        if leak <= 0.0:
            return np.asarray(found, dtype=np.float64)
        table = self._table(leak)
        if isinstance(table, float):
            return np.asarray(ndtr(ndtri(found) - table) * (1.0 - _SLACK))
        # The curve increases, so that the point of the table below is on the safe side.
        return np.asarray(table[np.floor(np.asarray(found) * _GRID).astype(np.int64)])

    def epsilon(self, leak: float, delta: float) -> float:
        """A lower bound on the epsilon of the event with this leak."""
        if leak <= 0.0:
            return 0.0
        found, _ = rdpkit.lower_bound(self._member(leak), adjacency=self.adjacency, delta=delta)
        return found.epsilon

    def _tabulated(self, leak: float) -> Any:
        event = self._member(leak)
        gaussian = profiles.gaussian_mu(event, self.adjacency)
        if gaussian is not None:
            return float(gaussian.upper)
        profile = profiles.proven(event, self.adjacency, smallest=_SMALLEST_DELTA)
        curve = ProfileCurve(np.array(profile.epsilons), np.array(profile.deltas))
        return curve.rates(np.arange(_GRID + 1) / _GRID)
