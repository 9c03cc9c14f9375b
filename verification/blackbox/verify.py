"""Test a privacy claim against the code that makes the releases.

The mechanism is run on two neighbouring data sets. The claim is rejected if its outputs could not
come from a mechanism for which the claim is true, except with a stated probability of a false
alarm. A claim that is not rejected is not proven: the pair of data sets, the scores or the number
of runs may not show what is wrong. Diagnostics say so where that can be recognised.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from rdpkit import _validate
from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.adversarial_pairs import MOST_QUIET_PAIRS
from rdpkit.verification.blackbox.betting.bounds import (
    DetectableViolation,
    MuLowerBound,
    detectable_violation,
    epsilon_of,
    largest_bound,
    mu_of,
)
from rdpkit.verification.blackbox.betting.pair_test import FIRST_LESSON, PairTest, main_line
from rdpkit.verification.blackbox.betting.search import (
    OF_OTHERS,
    OF_THE_CLEAREST,
    RUNS_A_PAIR,
    Progress,
    Spending,
    search,
)
from rdpkit.verification.blackbox.checks import dependence
from rdpkit.verification.blackbox.fresh_processes import FreshEvidence, fresh_evidence
from rdpkit.verification.blackbox.mistakes import (
    Mistake,
    MistakeKind,
    NamingLevels,
    first_of_each_kind,
    mistake_of,
)
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.options import (
    LEAST_TRAINING,
    MODELS,
    MOST_PAIRS,
    VerificationOptions,
)
from rdpkit.verification.blackbox.pairs_of_target import pairs_of_target
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.runs import MechanismRunner
from rdpkit.verification.blackbox.scores.library import has_classifiers
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.targets import (
    ClaimUnderTest,
    Mechanism,
    TargetReference,
    event_claim,
)
from rdpkit.verification.blackbox.targets import target as find_target
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.estimators.base import (
    Diagnostic,
    EpsilonLowerBound,
    OutputScore,
    Stop,
    Verdict,
)

# Runs that only show how the mechanism behaves have random generators of their own.
_PROBE = 0
_PROBE_RUNS, _PROBE_BATCH = 4, 256
_SHORT_LESSON = 64
# The part of the capital that is bet on releases of new processes, and how long they may take.
_ASIDE = 0.1
_FRESH_SECONDS = 20.0


def verify(
    target: str | Mechanism | TargetReference,
    *,
    claim: ClaimUnderTest | None = None,
    neighbours: Neighbours | Sequence[Neighbours] | None = None,
    options: VerificationOptions | None = None,
    jobs: int | None = None,
    score: OutputScore | None = None,
    fresh_processes: bool | None = None,
    progress: Progress | None = None,
) -> VerificationResult:
    """Test a claim against an implementation.

    Guarantee
    ---------
    If the claim is true, it is rejected with probability at most ``options.false_alarm_rate``,
    whenever the test stops. Where runs are seen to depend on each other, nothing is rejected. The
    same ``seed``, ``samples``, ``training``, ``pairs`` and ``fresh_processes`` give the same
    result, whatever the number of ``jobs``, if the mechanism draws all its randomness from ``rng``.

    Assumes
    -------
    Runs of the mechanism are independent of each other.

    Parameters
    ----------
    target : str, callable or TargetReference
        A name of the zoo or of a mechanism, ``module:callable``, or a callable. It is called as
        ``mechanism(dataset, rng)`` with a
        :class:`rdpkit.verification.blackbox.neighbours.LabelledData` and a
        :class:`numpy.random.Generator`, and returns a release: numbers, arrays, categories, models,
        or containers of them (:mod:`rdpkit.verification.blackbox.encoding`). If it has a
        method ``many(dataset, rng, count)``, that is called instead and returns ``count``
        independent releases along the first axis, or a list of them.
    claim : ClaimUnderTest, optional
        From :func:`rdpkit.verification.blackbox.targets.dp_claim` or ``event_claim``. By
        default the target's own (:class:`rdpkit.verification.blackbox.targets.TargetDescription`),
        which every mechanism of the zoo has.
    neighbours : Neighbours or sequence of Neighbours, optional
        The data sets, the most important pair first. Most runs are made on the pair on which the
        outputs differ most. By default the pairs that the options ask for, as for ``rdpkit
        verify``: the target's own, or adversarial ones.
    options : VerificationOptions, optional
        The error rate, the seed, how many runs to make, and which data sets to make if none are
        handed in.
    jobs : int, optional
        Processes, as in joblib: -1 for all cores. By default what ``joblib.parallel_config`` says,
        with which a Dask or Ray cluster takes over, and otherwise a single process.
    score : callable, optional
        Turns outputs, shape (n, d), into scores, shape (n,). It is tested together with a linear
        score and with scores made from exact structure, but not with sums of rows. By default the
        target's own, if it has one.
    fresh_processes : bool, optional
        Whether to run the target in two new processes as well, which finds a generator that is
        seeded at import. By default for targets of the form ``module:callable``.
    progress : callable, optional
        Called with a ``VerificationStep`` before each portion of runs.

    Raises
    ------
    MechanismError
        If the mechanism raises in every run, or returns what is no release (a ``ValueError``). An
        error in some runs, NaN and infinities are outputs like any other.
    ValueError
        If an argument is outside of its range.

    Examples
    --------
    >>> result = verify("half-sensitivity", options=VerificationOptions(seed=1))
    >>> result.verdict, result.runs < 20_000
    ('rejected', True)
    """
    began = time.perf_counter()
    chosen = (options or VerificationOptions()).seeded()
    assert chosen.seed is not None
    subject = find_target(what=target)
    tested, pairs, own_score = _of_target(subject, claim, neighbours, score, chosen)
    runner = MechanismRunner(subject, seed=chosen.seed, jobs=jobs)
    spending = Spending(
        runner,
        most=chosen.samples,
        deadline=math.inf if chosen.time_budget is None else began + chosen.time_budget,
        log_needed=math.log(1.0 / chosen.false_alarm_rate),
        progress=progress,
    )
    pairs, probed, notes, checks = _probe(spending, pairs, chosen.pairs)
    fresh = _bet_on_new_processes(probed, tested, spending, chosen, fresh_processes)
    # First come pairs with another kind of release on one side.
    tells = {pair: _tells(runner, pair) for pair in pairs}
    pairs = sorted(pairs, key=lambda pair: not tells[pair])
    telling = sum(tells[pair] for pair in pairs)
    most_runs = spending.runs_in_time()
    # So many runs on each data set of a pair come before the first bet.
    lesson = chosen.training or max(LEAST_TRAINING, min(FIRST_LESSON, most_runs // 8))
    if most_runs < 2 * lesson:
        raise ValueError(
            f"Expected at least {2 * lesson} runs, which come before the first bet, got "
            f"{most_runs} (samples, or what the time budget pays for)."
        )
    make = functools.partial(
        PairTest,
        runner=runner,
        claim=tested.part,
        own=own_score,
        models=_models(chosen.scores, subject, own_score, notes),
        levels=NamingLevels(chosen.false_alarm_rate, processes=fresh is not None),
    )
    tests = [
        make(pair, place, first_lesson=min(lesson, _SHORT_LESSON) if place < telling else lesson)
        for place, pair in enumerate(pairs)
    ]
    # The search may add some to several pairs.
    most = len(tests) + MOST_QUIET_PAIRS if len(tests) > 1 else 1
    leader, errors = search(tests, spending, first=telling)
    mu, counted, event = largest_bound(
        leader.mu_events, mu_of, failure=chosen.false_alarm_rate, pairs=most
    )
    depend = None if leader.leading is None else dependence(*leader.leading.test.scores)
    result = VerificationResult(
        target=subject.name,
        claim=tested,
        outcome=_outcome(tested, leader, spending, rate=chosen.false_alarm_rate, pairs=most),
        checks=tuple(checks),
        mistakes=_named_mistakes(leader, spending, fresh),
        mu=MuLowerBound(
            mu=mu, confidence=1.0 - chosen.false_alarm_rate, samples=counted, event=event
        ),
        detectable=None
        if spending.stop is Stop.REJECTED
        else _detectable(tested, leader, spending, pairs=len(tests)),
        notes=(*notes, *_notes_on_runs(runner, errors, fresh)),
        pair=leader.pair.describe(),
        shape=runner.layout_for(leader.pair).describe(),
        scores=tuple(slot.score.name for slot in leader.slots),
        score="" if leader.leading is None else leader.leading.score.name,
        runs=runner.runs,
        pairs=len(pairs),
        training=lesson,
        processes=0 if fresh is None else fresh.processes,
        final_log_e_value=spending.log_capital,
        seed=chosen.seed,
        seconds=time.perf_counter() - began,
        neighbours=leader.pair,
    )
    return result if depend is None else result.without_rate(depend)


def _of_target(
    subject: TargetReference,
    claim: ClaimUnderTest | None,
    neighbours: Neighbours | Sequence[Neighbours] | None,
    score: OutputScore | None,
    options: VerificationOptions,
) -> tuple[ClaimUnderTest, list[Neighbours], NamedScore | None]:
    """The claim, the pairs and the score, from the arguments or from the target itself."""
    own = subject.own
    if claim is None:
        if own is None:
            raise ValueError("Expected a claim: the target has none of its own.")
        claim = event_claim(own.event, adjacency=own.adjacency)
    _validate.one_of_a_kind("claim", claim, ClaimUnderTest)
    if neighbours is None:
        neighbours = pairs_of_target(subject, claim=claim, options=options)
    pairs = [neighbours] if isinstance(neighbours, Neighbours) else list(neighbours)
    if not pairs:
        raise _validate.fail("neighbours", "to be at least one pair", neighbours)
    for pair in pairs:
        _validate.one_of_a_kind("neighbours", pair, Neighbours)
        if pair.adjacency is not claim.adjacency:
            raise ValueError(
                f"Expected neighbours under {claim.adjacency.value}, which the claim is for, got a "
                f"pair under {pair.adjacency.value}."
            )
    if score is not None:
        return claim, pairs, NamedScore(name="given", score=score)
    return claim, pairs, None if own is None else own.score


def _probe(
    spending: Spending, pairs: list[Neighbours], most_pairs: int | None
) -> tuple[list[Neighbours], Neighbours, list[str], list[Diagnostic]]:
    """A few runs show that the mechanism works, how long it takes, and whether it repeats.

    Returns the pairs to test, fewer if time is short, the first pair on which the mechanism runs,
    notes for the reader, and a diagnostic if the mechanism's method ``many`` is not what a single
    call is.
    """
    runner = spending.runner
    spending.report("probing")
    batched = runner.at_once
    count = _PROBE_BATCH if batched else _PROBE_RUNS
    for place, pair in enumerate(pairs):
        try:
            first, again = (runner.draw(pair, key=(_PROBE,), start=0, count=count) for _ in "12")
        except MechanismError:
            # The search says why pairs are left out. This one fails if there is no other.
            if place == len(pairs) - 1:
                raise
            continue
        break
    differs = runner.compare_many(pair)
    runner.runs = 0
    notes = []
    if not all(np.array_equal(one, two) for one, two in zip(first, again, strict=True)):
        notes.append(
            "the same generator gave another output: the mechanism draws randomness that does not "
            "come from rng, so a replay with the same seed will differ"
        )
    if most_pairs is None:
        # With the runs that time allows.
        affordable = spending.runs_in_time() // (2 * RUNS_A_PAIR)
        most_pairs = max(1, min(len(pairs), MOST_PAIRS, affordable))
    return pairs[:most_pairs], pair, notes, [] if differs is None else [differs]


def _tells(runner: MechanismRunner, pair: Neighbours) -> bool:
    """Whether one data set of a pair has another kind of release."""
    try:
        return bool(runner.layout_for(pair).kinds)
    except MechanismError:
        # The search says why pairs are left out.
        return False


def _outcome(
    claim: ClaimUnderTest, leader: PairTest, spending: Spending, *, rate: float, pairs: int
) -> Verdict:
    stop = spending.stop or Stop.EXHAUSTED
    leading = leader.leading
    delta = main_line(claim.part)[1]
    epsilon, counted, event = largest_bound(
        leader.epsilon_events, functools.partial(epsilon_of, delta), failure=rate, pairs=pairs
    )
    return Verdict(
        rejected=stop is Stop.REJECTED,
        false_alarm_rate=rate,
        claim=claim.describe(),
        method="sequential bets on scores that are chosen again",
        samples=(spending.runner.runs // 2, spending.runner.runs // 2),
        stop=stop,
        log_e_value=spending.log_highest,
        witness="" if leading is None else leading.test.outcome().witness,
        bound=EpsilonLowerBound(
            epsilon=epsilon, delta=delta, confidence=1.0 - rate, samples=counted, event=event
        ),
        diagnostics=leader.diagnostics() if stop is Stop.EXHAUSTED else (),
    )


def _detectable(
    claim: ClaimUnderTest, leader: PairTest, spending: Spending, *, pairs: int
) -> DetectableViolation:
    """What would have been rejected."""
    epsilon, delta = main_line(claim.part)
    share = min((slot.log_prior for slot in leader.slots), default=0.0)
    return detectable_violation(
        epsilon=epsilon,
        delta=delta,
        runs=leader.runs,
        first=min(leader.first_lesson, leader.runs),
        log_needed=spending.log_needed - spending.log_begun - share,
        # Most bets on the clearest of several pairs are bolder than those during the search.
        caution=OF_THE_CLEAREST if pairs == 1 else OF_OTHERS,
    )


def _bet_on_new_processes(
    pair: Neighbours,
    claim: ClaimUnderTest,
    spending: Spending,
    options: VerificationOptions,
    wanted: bool | None,
) -> FreshEvidence | None:
    """Bet a part of the capital on releases that new processes make."""
    runner = spending.runner
    usual = runner.target.entry is None if wanted is None else wanted
    if not (usual and runner.target.handed_in is None and options.fresh_processes):
        return None
    spending.report("probing")
    now = time.perf_counter()
    found = fresh_evidence(
        runner.target,
        pair,
        claim.part,
        seed=runner.seed,
        count=options.fresh_processes,
        deadline=min(0.5 * (spending.deadline + now), now + _FRESH_SECONDS),
    )
    if found is not None:
        spending.set_aside(_ASIDE, found.log_e_value)
    return found


def _models(
    given: tuple[str, ...], subject: TargetReference, own: NamedScore | None, notes: list[str]
) -> tuple[str, ...]:
    """The classifiers that scores are learnt with; a score of the target's own replaces them."""
    if given:
        return tuple(model for model in given if model != "linear")
    if own is not None or subject.entry is not None:
        return ()
    if not has_classifiers():
        notes.append("scikit-learn is not installed, so no score was learnt by a classifier")
        return ()
    return MODELS


def _notes_on_runs(
    runner: MechanismRunner, errors: list[MechanismError], fresh: FreshEvidence | None
) -> list[str]:
    """Notes on new processes, pairs that were left out, unexpected structures, and errors."""
    found = [fresh.note] if fresh is not None and fresh.note else []
    if errors:
        found.append(
            f"{how_many(len(errors), 'pair')} of data sets left out, because the code raised an "
            f"error there; the first error: {errors[0]} An error on one of two neighbours is an "
            "output that tells them apart."
        )
    if runner.unexpected:
        found.append(
            f"{how_many(runner.unexpected, 'release')} had another structure than the first ones, "
            "such as another shape or another key; that counts as a value far outside of all others"
        )
    one, two = runner.raised
    if one + two:
        found.append(
            f"the code raised an error in {how_many(one, 'run')} on one of two data sets and in "
            f"{two} on the other; who sees the output sees that, so it was bet on as on any "
            "category"
        )
    return found


def _named_mistakes(
    leader: PairTest, spending: Spending, fresh: FreshEvidence | None
) -> tuple[Mistake, ...]:
    """The mistakes that explain a rejection: those whose own evidence reaches their own level."""
    if spending.stop is not Stop.REJECTED:
        return ()
    found = []
    level = leader.levels.processes
    if fresh is not None and level * math.exp(min(fresh.log_e_value, 700.0)) >= 1.0:
        # What repeats in new processes: their beginnings, a part without noise, or a likely value.
        kind, way = MistakeKind.CATEGORIES_TOO_LIKELY, "processes"
        if fresh.seeded <= level:
            kind, way = MistakeKind.SEED_AT_IMPORT, ""
        elif fresh.constant:
            kind = MistakeKind.NO_NOISE
        of_processes = mistake_of(kind, way, seen=fresh.message)
        found.append(dataclasses.replace(of_processes, log_e_value=fresh.log_e_value))
    found += [
        dataclasses.replace(slot.score.explanation, log_e_value=slot.log_gain)
        for slot in sorted(leader.slots, key=attrgetter("log_weight"), reverse=True)
        if slot.score.explanation is not None and slot.log_gain >= slot.log_to_name
    ]
    # Several scores may see the same mistake; the clearest one speaks.
    return first_of_each_kind(found)
