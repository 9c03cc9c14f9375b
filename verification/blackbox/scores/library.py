"""The scores to test, from outputs of past runs.

Each family sees one kind of leak. Those that suit most mechanisms are always tested: a given score,
linear scores, the difference of the records, exact structure, sums of rows, learnt classifiers and
the distance to the record. The others enter if they separate outputs that they were not learnt
from, the clearest first. A score that sees nothing costs its share of the bettor's capital, and the
time to compute it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.scores.atoms import atom_scores
from rdpkit.verification.blackbox.scores.column_pairs import pair_scores
from rdpkit.verification.blackbox.scores.counts import count_scores
from rdpkit.verification.blackbox.scores.covariance import covariance_scores
from rdpkit.verification.blackbox.scores.difference import difference_scores
from rdpkit.verification.blackbox.scores.last_bits import last_bits_scores
from rdpkit.verification.blackbox.scores.learned import learned_scores
from rdpkit.verification.blackbox.scores.linear import linear_scores
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.record import record_scores
from rdpkit.verification.blackbox.scores.rows import row_scores
from rdpkit.verification.blackbox.scores.separation import clearness, same_order
from rdpkit.verification.blackbox.scores.structure import structure_scores
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs
from rdpkit.verification.estimators.base import Array

MOST_SCORES = 12
"""A list holds about this many scores at most."""

Family = Callable[[TrainingOutputs], list[NamedScore]]

# Families that are always tested, and how many scores of each.
_ALWAYS: tuple[tuple[Family, int], ...] = (
    (structure_scores, 2),
    (linear_scores, 1),
    (difference_scores, 2),
    (record_scores, 1),
    (last_bits_scores, 2),
)
# Families whose scores must separate outputs that they were not learnt from, and how many of them.
_SCREENED: tuple[tuple[Family, int], ...] = (
    (linear_scores, 2),
    (atom_scores, 3),
    (covariance_scores, 3),
    (pair_scores, 2),
    (count_scores, 3),
    (record_scores, 2),
)
# Scores are screened on at most this many values of each side.
_MOST_SCREENED = 2**22
# A score enters if its clearness is at least this.
_LEAST_CLEAR = 1.5
# A score explains a rejection only if it is this much clearer than those that see any shift of the
# mean, which would otherwise reject as well and mean another mistake, and if it is at least half as
# clear as the clearest.
_CLEARER, _BY = 1.2, 1.0
_OF_CLEAREST = 0.5
_PLAIN = ("given", "linear", "difference", "rows", "learned")
_EXACT = ("noiseless", "grid")
# The order of scores is compared on this many outputs of each side.
_COMPARED = 200


def candidate_scores(
    training: TrainingOutputs,
    *,
    own: NamedScore | None,
    models: tuple[str, ...],
    rng: np.random.Generator,
) -> list[NamedScore]:
    """The scores to test, from outputs of past runs; at least one, and about 12 at most.

    Their shares sum to 1. The same training outputs and the same generator give the same scores.

    Parameters
    ----------
    training : TrainingOutputs
        The outputs to learn from. They must not be tested with these scores.
    own : NamedScore or None
        A score that was given, which comes first.
    models : tuple of str
        Classifiers to train: "logistic" and "boosting".
    rng : numpy.random.Generator
        All randomness of the training.
    """
    with _one_thread():
        found = [] if own is None else [own]
        learnt: dict[Family, list[NamedScore]] = {}
        for family, most in _ALWAYS:
            learnt[family] = family(training)
            found += learnt[family][:most]
        if own is None:
            found += row_scores(training)
        found += learned_scores(training, models=models, rng=rng)
        found = _different(found, training)
        screened = _screened(training, found, learnt)
        found = _explained(_different([*found, *screened], training)[:MOST_SCORES], training)
    if not found:
        found = [NamedScore(name="nothing varies", score=_Nothing(), family="linear")]
    total = math.fsum(one.share for one in found)
    return [dataclasses.replace(one, share=one.share / total) for one in found]


@dataclasses.dataclass(frozen=True, slots=True)
class _Nothing:
    """A score that is always 0, for outputs of which nothing can be said."""

    def __call__(self, outputs: Array, /) -> Array:
        return np.zeros(len(outputs))


def _screened(
    training: TrainingOutputs, found: list[NamedScore], learnt: dict[Family, list[NamedScore]]
) -> list[NamedScore]:
    """Scores that separate the second half of the outputs after learning from the first.

    They are then learnt from all outputs, unless that was done already.
    """
    room = MOST_SCORES - len(found)
    learn, test = training.half(0), training.half(1)
    if room <= 0 or test.runs == 0:
        return []
    test = test.within(_MOST_SCREENED)
    known = {one.name for one in found}
    clear: list[tuple[float, Family, str]] = []
    for family, most in _SCREENED:
        measured = [
            (clearness(one.of(test.p), one.of(test.q)), family, one.name)
            for one in family(learn)
            if one.name not in known
        ]
        clear += sorted(measured, key=lambda entry: -entry[0])[:most]
    chosen = [entry for entry in clear if entry[0] >= _LEAST_CLEAR]
    chosen = sorted(chosen, key=lambda entry: -entry[0])[:room]
    for _, family, _ in chosen:
        if family not in learnt:
            learnt[family] = family(training)
    whole = {family: {one.name: one for one in scores} for family, scores in learnt.items()}
    return [whole[family][name] for _, family, name in chosen if name in whole[family]]


def _explained(scores: list[NamedScore], training: TrainingOutputs) -> list[NamedScore]:
    """The scores without the explanations of those that may only see a shift of the mean."""
    test = training.half(1).within(_MOST_SCREENED)
    if not test.runs or not scores:
        return scores
    # A grid explains what the last bits show as well.
    on_grid = any(one.family == "grid" for one in scores)
    clear = [clearness(one.of(test.p), one.of(test.q)) for one in scores]
    plain = max(
        [0.0, *(seen for one, seen in zip(scores, clear, strict=True) if one.family in _PLAIN)]
    )
    least = max(_CLEARER * plain + _BY, _OF_CLEAREST * max(clear))
    kept = []
    for one, seen in zip(scores, clear, strict=True):
        explains = one.family in _EXACT or (
            seen >= least and not (on_grid and one.family == "last-bits")
        )
        kept.append(one if explains else dataclasses.replace(one, explanation=None))
    return kept


def _different(scores: list[NamedScore], training: TrainingOutputs) -> list[NamedScore]:
    """The scores without those that order outputs as an earlier one does."""
    some = training.thinned(_COMPARED)
    outputs = np.concatenate([some.p, some.q])
    kept: list[tuple[NamedScore, NDArray[np.float64]]] = []
    for one in scores:
        values = one.of(outputs)
        if one.family == "given" or not any(same_order(values, other) for _, other in kept):
            kept.append((one, values))
    return [one for one, _ in kept]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread, so that sums have one order on any number of cores."""
    if find_spec("threadpoolctl") is None:
        yield
        return
    with import_module("threadpoolctl").threadpool_limits(1):
        yield


__all__ = ["MOST_SCORES", "candidate_scores"]
