"""Test a privacy claim against the code that makes the releases.

The mechanism is run on two neighbouring data sets. The claim is rejected if its outputs could not
come from a mechanism for which the claim is true, except with a stated probability of a false
alarm. A claim that is not rejected is not proven: the pair of data sets, the scores or the number
of runs may not show what is wrong. Diagnostics say so where that can be recognised.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from rdpkit import _validate
from rdpkit.verification.blackbox.combined_test import CombinedTest
from rdpkit.verification.blackbox.mistakes import Mistake
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.options import LEAST_TRAINING, MODELS, VerificationOptions
from rdpkit.verification.blackbox.repeated_noise import find_repeated_noise
from rdpkit.verification.blackbox.runs import MechanismRunner, generator
from rdpkit.verification.blackbox.scores import (
    NamedScore,
    TrainingOutputs,
    candidate_scores,
    has_classifiers,
    linear,
    structure_of,
)
from rdpkit.verification.blackbox.scores.structure import named_mistakes
from rdpkit.verification.blackbox.targets import Mechanism, TargetReference
from rdpkit.verification.blackbox.targets import target as find_target
from rdpkit.verification.blackbox.tested_claim import ClaimUnderTest, event_claim
from rdpkit.verification.blackbox.verification_result import (
    Progress,
    VerificationResult,
    VerificationStep,
)
from rdpkit.verification.estimators.base import OutputScore, Stop
from rdpkit.verification.estimators.diagnostics import largest_difference

# Each stage has random generators of its own, numbered by these.
_PROBE, _SEARCH, _TRAINING, _TEST, _LEARNING = range(5)
_FIRST_CHUNK, _LARGEST_CHUNK = 256, 16384
_MOST_TRAINING = 2000
_SEARCH_RUNS = 400
_PROBE_RUNS = 4

Report = Callable[..., None]


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
    whenever the test stops. The same ``seed``, ``samples`` and ``training`` give the same result,
    whatever the number of processes, if the mechanism draws all its randomness from ``rng``.

    Assumes
    -------
    Runs of the mechanism are independent of each other.

    Parameters
    ----------
    target : str, callable or TargetReference
        A name of the zoo or of a mechanism, ``module:callable``, or a callable. It is called as
        ``mechanism(dataset, rng)`` with a
        :class:`rdpkit.verification.blackbox.neighbours.LabelledData` and a
        :class:`numpy.random.Generator`, and returns an array of real numbers, or a tuple of arrays,
        always of the same shape. If it has a method ``many(dataset, rng, count)``, that is called
        instead and returns ``count`` independent releases along the first axis.
    claim : ClaimUnderTest, optional
        From :func:`rdpkit.verification.blackbox.tested_claim.dp_claim` or ``event_claim``. By
        default the target's own (:class:`rdpkit.verification.blackbox.targets.TargetDescription`),
        which every mechanism of the zoo has.
    neighbours : Neighbours or sequence of Neighbours, optional
        The data sets. If there are several pairs, some runs are made to find the one on which the
        outputs differ most, and only that pair is tested. By default the target's own.
    options : VerificationOptions, optional
        The error rate, the seed, and how many runs to make. The options about data sets have no
        effect here: :func:`rdpkit.verification.blackbox.candidate_pairs.pairs_to_test` reads them.
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
        If the mechanism raises, or returns NaN, infinities or releases of different shapes (a
        ``ValueError``).
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
    tested, pairs, own_score = _of_target(subject, claim, neighbours, score)
    runner = MechanismRunner(subject, seed=chosen.seed, jobs=jobs)
    most, deadline = chosen.samples, math.inf
    needed = math.log(1.0 / chosen.false_alarm_rate)

    def report(stage: str, evidence: float = 0.0) -> None:
        if progress is not None:
            progress(
                VerificationStep(
                    stage=stage, runs=runner.runs, of=most, log_e_value=evidence, needed=needed
                )
            )

    report("probing")
    notes = _probe(runner, pairs[0], batched=hasattr(subject.mechanism(), "many"))
    repeated = None
    if fresh_processes or (fresh_processes is None and subject.entry is None and subject.has_name):
        repeated = find_repeated_noise(subject, pairs[0].first, seed=chosen.seed)
    runner.runs = 0
    if chosen.time_budget is not None:
        deadline = began + chosen.time_budget
        most = min(most, runner.affordable(deadline - time.perf_counter()))
    training = _training_runs(chosen.training, most, len(pairs))
    pair = _clearest(runner, pairs, min(_SEARCH_RUNS, training), report)
    report("learning")
    scores, named, more = _learn(runner, pair, training, own=own_score, models=chosen.scores)
    names = tuple(one.name for one in scores)
    test = CombinedTest(tested.part, names=names, false_alarm_rate=chosen.false_alarm_rate)
    _run_test(test, runner, pair, scores, most=most, deadline=deadline, report=report)
    assert runner.shape is not None
    return VerificationResult(
        target=subject.name,
        claim=tested,
        outcome=test.outcome(tested.describe()),
        mistakes=named if repeated is None else (repeated, *named),
        notes=(*notes, *more),
        pair=pair.describe(),
        shape=runner.shape.describe(),
        scores=names,
        score=test.leading,
        runs=runner.runs,
        training=training,
        seed=chosen.seed,
        seconds=time.perf_counter() - began,
    )


def _of_target(
    subject: TargetReference,
    claim: ClaimUnderTest | None,
    neighbours: Neighbours | Sequence[Neighbours] | None,
    score: OutputScore | None,
) -> tuple[ClaimUnderTest, list[Neighbours], NamedScore | None]:
    """The claim, the pairs and the score, from the arguments or from the target itself."""
    own = subject.own
    if claim is None:
        if own is None:
            raise ValueError("Expected a claim: the target has none of its own.")
        claim = event_claim(own.event, adjacency=own.adjacency)
    _validate.one_of_a_kind("claim", claim, ClaimUnderTest)
    if neighbours is None:
        if own is None:
            raise ValueError("Expected neighbours: the target has none of its own.")
        neighbours = own.neighbours()
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


def _probe(runner: MechanismRunner, pair: Neighbours, *, batched: bool) -> list[str]:
    """A few runs show that the mechanism works, how long it takes, and whether it repeats."""
    count = _FIRST_CHUNK if batched else _PROBE_RUNS
    first, again = (runner.draw(pair, key=(_PROBE,), start=0, count=count) for _ in range(2))
    if all(np.array_equal(one, two) for one, two in zip(first, again, strict=True)):
        return []
    return [
        "the same generator gave another output: the mechanism draws randomness that does not come "
        "from rng, so a replay with the same seed will differ"
    ]


def _training_runs(training: int | None, most: int, pairs: int) -> int:
    """How many runs on each data set to learn scores from."""
    count = training or max(LEAST_TRAINING, min(_MOST_TRAINING, most // 20))
    search = min(_SEARCH_RUNS, count) * (pairs if pairs > 1 else 0)
    least = 2 * (search + count + 1)
    if most < least:
        raise ValueError(
            f"Expected at least {least} runs, which learning and searching take, got {most} "
            "(samples, or what the time budget pays for)."
        )
    return count


def _clearest(
    runner: MechanismRunner, pairs: list[Neighbours], runs: int, report: Report
) -> Neighbours:
    """The pair on which the outputs differ most, along the best linear score."""
    if len(pairs) == 1:
        return pairs[0]
    best, most = pairs[0], -math.inf
    half = runs // 2
    for index, pair in enumerate(pairs):
        report("searching")
        p, q = runner.draw(pair, key=(_SEARCH, index), start=0, count=runs)
        structure = structure_of(p, q)
        line = linear(p[:half], q[:half])
        found = largest_difference(line(p[half:]), line(q[half:]))
        if structure.noiseless is not None or structure.grid is not None:
            found += 1.0
        if found > most:
            best, most = pair, found
    return best


def _learn(
    runner: MechanismRunner,
    pair: Neighbours,
    runs: int,
    *,
    own: NamedScore | None,
    models: tuple[str, ...],
) -> tuple[list[NamedScore], tuple[Mistake, ...], list[str]]:
    """The scores, the mistakes that the outputs show, and notes, from training runs."""
    p, q = runner.draw(pair, key=(_TRAINING,), start=0, count=runs)
    assert runner.shape is not None
    notes = []
    chosen = tuple(model for model in models if model != "linear")
    if not models and p.shape[1] > 1 and own is None and runner.target.entry is None:
        chosen = MODELS if has_classifiers() else ()
        if not chosen:
            notes.append("scikit-learn is not installed, so no score was learnt by a classifier")
    training = TrainingOutputs(
        p=p,
        q=q,
        is_number=np.ones(p.shape[1], dtype=np.bool_),
        shapes=runner.shape.parts,
        pair=pair,
    )
    scores = candidate_scores(
        training, own=own, models=chosen, rng=generator(runner.seed, _LEARNING)
    )
    return scores, named_mistakes(p, q, structure_of(p, q)), notes


def _run_test(
    test: CombinedTest,
    runner: MechanismRunner,
    pair: Neighbours,
    scores: list[NamedScore],
    *,
    most: int,
    deadline: float,
    report: Report,
) -> None:
    """Feed growing portions of fresh runs to the test until it stops, or runs or time are spent."""
    done, chunk = 0, _FIRST_CHUNK
    stop: Stop | None = None
    while stop is None:
        count = min(chunk, (most - runner.runs) // 2)
        if count <= 0:
            break
        if time.perf_counter() + runner.seconds_for(2 * count) > deadline:
            if done:
                break
            # A replay asks for a number of runs and not for a time, and it needs at least one run
            # on each side.
            count = 1
        report("testing", test.log_e_value)
        p, q = runner.draw(pair, key=(_TEST,), start=done, count=count, scores=scores)
        stop = test.update(p, q)
        done += count
        chunk = min(2 * chunk, _LARGEST_CHUNK)
    report("testing", test.log_e_value)


__all__ = ["verify"]
