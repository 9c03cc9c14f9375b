"""Test a privacy claim against the code that makes the releases.

The mechanism is run on two neighbouring data sets, and the claim is rejected if what comes out
cannot be had from a mechanism for which it is true, but with a stated probability of a false alarm.
Not being rejected proves nothing: the pair, the scores or the number of runs may not show what is
wrong. Where that can be said, diagnostics do.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rdpkit.verification.blackbox.combined_test import SideBySideTest
from rdpkit.verification.blackbox.mistakes import Mistake, named_mistakes
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.repeated_noise import same_in_fresh_processes
from rdpkit.verification.blackbox.runs import Runner, generator
from rdpkit.verification.blackbox.scores import (
    MODELS,
    NamedScore,
    candidates,
    has_classifiers,
    linear,
)
from rdpkit.verification.blackbox.structure import structure_of
from rdpkit.verification.blackbox.targets import Mechanism, Target
from rdpkit.verification.blackbox.targets import target as find_target
from rdpkit.verification.blackbox.tested_claim import TestedClaim, event_claim
from rdpkit.verification.estimators.base import Array, Outcome, Score

from rdpkit import _validate

SAMPLES = 200_000
"""Runs in all, on both data sets, unless another number is asked for."""

# What generators are for.
_PROBE, _SEARCH, _TRAINING, _TEST, _LEARNING = range(5)
_FIRST_CHUNK, _LARGEST_CHUNK = 256, 16384
_MOST_TRAINING, _LEAST_TRAINING = 2000, 20
_SEARCH_RUNS = 400
_PROBE_RUNS = 4

Progress = Callable[["Step"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How far a verification is.

    Parameters
    ----------
    stage : str
        "probing", "searching", "learning" or "testing".
    runs : int
        Runs so far, on both data sets.
    of : int
        The most that there will be.
    log_e_value : float
        Evidence against the claim so far, as the logarithm of the bettor's capital.
    needed : float
        The claim is rejected once the evidence comes to this.
    """

    stage: str
    runs: int
    of: int
    log_e_value: float
    needed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """What came out.

    Guarantee
    ---------
    If the claim is true, ``outcome.rejected`` is True with probability at most the outcome's
    ``false_alarm_rate``, over the randomness of the mechanism. Named mistakes are apart from that.

    Parameters
    ----------
    target : str
        What was verified.
    claim : TestedClaim
        What was claimed.
    outcome : Outcome
        The verdict of the test, with its diagnostics.
    mistakes : tuple of Mistake
        Mistakes that the outputs name by themselves.
    notes : tuple of str
        What else a reader should know.
    pair : tuple of str
        The pair of data sets in words.
    shape : str
        The shape of a release.
    scores : tuple of str
        Names of the scores that were tested side by side.
    score : str
        The one that spoke most clearly against the claim.
    runs : int
        Runs of the mechanism on both data sets, all stages together.
    training : int
        How many of them, on each data set, scores were learnt from.
    seed : int
        All randomness comes from it.
    seconds : float
        How long it took.
    """

    target: str
    claim: TestedClaim
    outcome: Outcome
    mistakes: tuple[Mistake, ...]
    notes: tuple[str, ...]
    pair: tuple[str, ...]
    shape: str
    scores: tuple[str, ...]
    score: str
    runs: int
    training: int
    seed: int
    seconds: float

    @property
    def rejected(self) -> bool:
        """Whether the claim was refuted."""
        return self.outcome.rejected

    @property
    def failed(self) -> bool:
        """Whether the claim was refuted or a mistake was named."""
        return self.rejected or bool(self.mistakes)

    @property
    def verdict(self) -> str:
        """``rejected`` or ``not rejected``."""
        return "rejected" if self.rejected else "not rejected"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the same for the same seed."""
        found = self.outcome.as_dict()
        return {
            "target": self.target,
            "verdict": self.verdict,
            "claim": self.claim.statement,
            "adjacency": self.claim.adjacency.value,
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
            "diagnostics": found.pop("diagnostics"),
            "notes": list(self.notes),
            "score": self.score,
            "scores": list(self.scores),
            "test": found,
            "pair": list(self.pair),
            "release_shape": self.shape,
            "runs": self.runs,
            "training": self.training,
            "seed": self.seed,
        }


def verify(
    target: str | Mechanism | Target,
    *,
    claim: TestedClaim | None = None,
    neighbours: Neighbours | Sequence[Neighbours] | None = None,
    false_alarm_rate: float = 0.05,
    samples: int = SAMPLES,
    training: int | None = None,
    time_budget: float | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    score: Score | None = None,
    models: Sequence[str] | None = None,
    fresh_processes: bool | None = None,
    progress: Progress | None = None,
) -> VerificationResult:
    """Test a claim against an implementation.

    Guarantee
    ---------
    If the claim is true, it is rejected with probability at most ``false_alarm_rate``, whenever the
    test stops. With the same seed, ``samples`` and ``training`` the result is the same, whatever
    the number of processes, if the mechanism draws all its randomness from ``rng``.

    Assumes
    -------
    Runs of the mechanism are independent of each other.

    Parameters
    ----------
    target : str, callable or Target
        A name of the zoo, ``module:callable``, or a callable. It is called as
        ``mechanism(dataset, rng)`` with a
        :class:`rdpkit.verification.blackbox.neighbours.LabelledData` and a
        :class:`numpy.random.Generator`, and returns an array of real numbers, or a tuple of arrays,
        always of the same shape. If it has a method ``many(dataset, rng, count)``, that is called
        instead and returns ``count`` independent releases along the first axis.
    claim : TestedClaim, optional
        From :func:`rdpkit.verification.blackbox.tested_claim.dp_claim` or ``event_claim``. By
        default the target's own (:class:`rdpkit.verification.blackbox.targets.Own`), which every
        mechanism of the zoo has.
    neighbours : Neighbours or sequence of Neighbours, optional
        The data sets. Of several pairs the one on which the mechanism differs most, in runs that
        are made for that, is tested. By default the target's own.
    false_alarm_rate : float
        In (0, 1).
    samples : int
        The most runs to make, on both data sets and in all stages; at least 42, or what learning
        and searching take and one run more on each.
    training : int, optional
        Runs on each data set to learn scores from. By default a tenth of what there is, at most
        2000.
    time_budget : float, optional
        Seconds: fewer runs are made if they take longer. How many were made is in the result, and
        asking for that many replays it.
    jobs : int, optional
        Processes, as in joblib: -1 for all cores. By default what joblib's context says
        (``joblib.parallel_config``, with which a Dask or Ray cluster takes over), and without one a
        single process.
    seed : int, optional
        By default drawn from the operating system; it is in the result.
    score : callable, optional
        Turns outputs, shape (n, d), into scores, shape (n,). Tested besides a linear one and what
        exact structure suggests; sums of rows are not tried then. By default the target's own, if
        it has one.
    models : sequence of {"logistic", "boosting"}, optional
        Classifiers to learn a score with (they need scikit-learn). By default both for releases of
        more than one number, and none for an entry of the zoo or with a score.
    fresh_processes : bool, optional
        Whether to run the target in two new processes, to find a generator that is seeded at
        import. By default for targets of the form ``module:callable``.
    progress : callable, optional
        Called with a :class:`Step` from time to time.

    Returns
    -------
    VerificationResult

    Raises
    ------
    MechanismError
        If the mechanism raises, or returns NaN, infinities or releases of different shapes (a
        ``ValueError``).
    ValueError
        If an argument is outside of its range.

    Examples
    --------
    >>> result = verify("half-sensitivity", seed=1)
    >>> result.verdict, result.runs < 20_000
    ('rejected', True)
    """
    began = time.perf_counter()
    subject = find_target(what=target)
    tested, pairs, own = _of_target(subject, claim, neighbours, score)
    rate = _validate.open_probability("false_alarm_rate", false_alarm_rate)
    most = _validate.integer("samples", samples, minimum=2 * (_LEAST_TRAINING + 1))
    if time_budget is not None:
        _validate.positive("time_budget", time_budget)
    entropy = secrets.randbits(48) if seed is None else _validate.integer("seed", seed, minimum=0)
    runner = Runner(subject, seed=entropy, jobs=jobs)
    needed = math.log(1.0 / rate)

    def report(stage: str, evidence: float = 0.0) -> None:
        if progress is not None:
            progress(
                Step(stage=stage, runs=runner.runs, of=most, log_e_value=evidence, needed=needed)
            )

    report("probing")
    notes = _probe(runner, pairs[0], batched=hasattr(subject.mechanism(), "many"))
    mistakes: list[Mistake] = []
    if fresh_processes or (fresh_processes is None and subject.entry is None and subject.has_name):
        found = same_in_fresh_processes(subject, pairs[0].first, seed=entropy)
        mistakes += [] if found is None else [found]
    runner.runs = 0
    if time_budget is not None:
        left = time_budget - (time.perf_counter() - began)
        most = min(most, runner.affordable(left))
    learnt = _training_runs(training, most, len(pairs))

    pair = pairs[0]
    if len(pairs) > 1:
        pair = _clearest(runner, pairs, min(_SEARCH_RUNS, learnt), lambda: report("searching"))
    report("learning")
    scores, named, more = _learn(runner, pair, learnt, own=own, models=models)
    mistakes += named
    notes += more
    deadline = math.inf if time_budget is None else began + time_budget
    test = SideBySideTest(tested.part, names=[one.name for one in scores], false_alarm_rate=rate)
    done, chunk, stop = 0, _FIRST_CHUNK, None
    while stop is None:
        count = min(chunk, (most - runner.runs) // 2)
        if count <= 0:
            break
        if time.perf_counter() + runner.seconds_for(2 * count) > deadline:
            if done:
                break
            count = 1  # the least that a replay, which counts runs and not seconds, can ask for
        report("testing", test.log_e_value)
        p, q = runner.draw(pair, key=(_TEST,), start=done, count=count, scores=scores)
        stop = test.update(p, q)
        done += count
        chunk = min(2 * chunk, _LARGEST_CHUNK)
    report("testing", test.log_e_value)
    assert runner.shape is not None
    return VerificationResult(
        target=subject.name,
        claim=tested,
        outcome=test.outcome(tested.describe()),
        mistakes=tuple(mistakes),
        notes=tuple(notes),
        pair=pair.describe(),
        shape=runner.shape.describe(),
        scores=tuple(one.name for one in scores),
        score=test.leading,
        runs=runner.runs,
        training=learnt,
        seed=entropy,
        seconds=time.perf_counter() - began,
    )


def _of_target(
    subject: Target,
    claim: TestedClaim | None,
    neighbours: Neighbours | Sequence[Neighbours] | None,
    score: Score | None,
) -> tuple[TestedClaim, list[Neighbours], NamedScore | None]:
    """The claim, the pairs and the score, from the arguments or from the target itself."""
    own = subject.own
    if claim is None:
        if own is None:
            raise ValueError("Expected a claim: the target has none of its own.")
        claim = event_claim(own.event, adjacency=own.adjacency)
    _validate.one_of_a_kind("claim", claim, TestedClaim)
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


def _probe(runner: Runner, pair: Neighbours, *, batched: bool) -> list[str]:
    """A few runs: that it works, how long it takes, and whether it is reproducible."""
    count = _FIRST_CHUNK if batched else _PROBE_RUNS
    first, again = (runner.draw(pair, key=(_PROBE,), start=0, count=count) for _ in range(2))
    if all(np.array_equal(one, two) for one, two in zip(first, again, strict=True)):
        return []
    return [
        "the same generator gave another output: the mechanism draws randomness that does not come "
        "from rng, so a replay with the same seed will differ"
    ]


def _training_runs(training: int | None, most: int, pairs: int) -> int:
    if training is not None:
        count = _validate.integer("training", training, minimum=_LEAST_TRAINING)
    else:
        count = max(_LEAST_TRAINING, min(_MOST_TRAINING, most // 20))
    search = min(_SEARCH_RUNS, count) * (pairs if pairs > 1 else 0)
    least = 2 * (search + count + 1)
    if most < least:
        raise ValueError(
            f"Expected at least {least} runs, which learning and searching take, got {most} "
            "(samples, or what the time budget pays for)."
        )
    return count


def _clearest(
    runner: Runner, pairs: list[Neighbours], runs: int, report: Callable[[], None]
) -> Neighbours:
    """The pair on which outputs differ most, along the best line."""
    best, most = pairs[0], -math.inf
    half = runs // 2
    for index, pair in enumerate(pairs):
        report()
        p, q = runner.draw(pair, key=(_SEARCH, index), start=0, count=runs)
        structure = structure_of(p, q)
        line = linear(p[:half], q[:half])
        found = _separation(line(p[half:]), line(q[half:]))
        if structure.noiseless is not None or structure.grid is not None:
            found += 1.0
        if found > most:
            best, most = pair, found
    return best


def _learn(
    runner: Runner,
    pair: Neighbours,
    runs: int,
    *,
    own: NamedScore | None,
    models: Sequence[str] | None,
) -> tuple[list[NamedScore], tuple[Mistake, ...], list[str]]:
    """Scores, mistakes that have a name, and notes, from training runs."""
    p, q = runner.draw(pair, key=(_TRAINING,), start=0, count=runs)
    assert runner.shape is not None
    structure, notes = structure_of(p, q), []
    if models is not None:
        chosen = tuple(_validate.choice("models", model, MODELS) for model in models)
    elif p.shape[1] == 1 or own is not None or runner.target.entry is not None:
        chosen = ()
    else:
        chosen = MODELS if has_classifiers() else ()
        if not chosen:
            notes.append("scikit-learn is not installed, so no score was learnt by a classifier")
    scores = candidates(
        p,
        q,
        structure=structure,
        shapes=runner.shape.parts,
        own=own,
        models=chosen,
        rng=generator(runner.seed, _LEARNING),
    )
    return scores, named_mistakes(p, q, structure), notes


def _separation(p: Array, q: Array) -> float:
    """The largest difference of empirical distribution functions."""
    both = np.sort(np.concatenate([p, q]))
    one = np.searchsorted(np.sort(p), both, side="right") / p.size
    two = np.searchsorted(np.sort(q), both, side="right") / q.size
    return float(np.abs(one - two).max())


__all__ = ["SAMPLES", "Step", "VerificationResult", "verify"]
