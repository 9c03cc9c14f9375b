"""The scores to test, from outputs of past runs.

Each family sees one kind of leak. Those that suit most mechanisms are always tested: a given score,
linear scores, the difference of the records, exact structure, sums of rows, learnt classifiers, the
distance to the record, and repeated values where there are categories or rare coincidences. The
others enter if they separate outputs that they were not learnt from, beyond what a shift of the
mean shows; the clearest come first. A score that sees nothing costs its share of the bettor's
capital, and the time to compute it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.scores.atoms import atom_scores, kind_scores, last_bits_scores
from rdpkit.verification.blackbox.scores.covariance import covariance_scores, pair_scores
from rdpkit.verification.blackbox.scores.linear import Linear, linear_scores, row_scores
from rdpkit.verification.blackbox.scores.named_score import (
    NamedScore,
    TrainingOutputs,
    clearness,
    clearness_beyond,
    score_of,
    standard,
)
from rdpkit.verification.blackbox.scores.record import difference_scores, record_scores
from rdpkit.verification.blackbox.scores.structure import count_scores, structure_scores
from rdpkit.verification.estimators.learned_score import learned_score, one_thread

_LEAST_LEARNT = 200
# At most this many columns and outputs of each side, so that a classifier is learnt in two seconds.
_MOST_COLUMNS = {"boosting": 64, "logistic": 256}
_MOST_ROWS = 8000
# Columns, and scores, are screened on at most this many values of each side.
_MOST_SCREENED = 2**21
# Standard units are clipped here for the screening.
_FURTHEST = 5.0
_SHARE = 2.0


def has_classifiers() -> bool:
    """Whether scikit-learn, which has the classifiers, is installed."""
    return find_spec("sklearn") is not None


def learned_scores(
    training: TrainingOutputs, *, models: tuple[str, ...], rng: np.random.Generator
) -> list[NamedScore]:
    """A score from each classifier; none if there are too few outputs, or if they do not vary.

    Of many columns, those are used whose means or squares differ most.
    """
    if training.runs < _LEAST_LEARNT or not models:
        return []
    order = _clearest_columns(training)
    if not len(order):
        return []
    found = []
    for model in models:
        part = itemgetter((slice(None), np.sort(order[: _MOST_COLUMNS.get(model, len(order))])))
        some = training.thinned(_MOST_ROWS)
        learned = learned_score(part(some.p), part(some.q), model=model, rng=rng)
        score = partial(score_of, part, learned)
        found.append(NamedScore(f"learned ({model})", score, family="learned", share=_SHARE))
    return found


def _clearest_columns(training: TrainingOutputs) -> NDArray[np.intp]:
    """The columns of numbers that vary, those that differ most first."""
    some = training.within(_MOST_SCREENED)
    units = standard(some, furthest=_FURTHEST)
    p, q = units(some.p), units(some.q)
    clear = np.zeros(len(units.columns))
    for one, two in ((p, q), (p**2, q**2)):
        error = np.sqrt(one.var(axis=0) / len(one) + two.var(axis=0) / len(two))
        gap = np.abs(one.mean(axis=0) - two.mean(axis=0))
        clear = np.maximum(clear, gap / np.where(error > 0.0, error, np.inf))
    return units.columns[np.argsort(-clear, kind="stable")]


MOST_SCORES = 12
"""A list holds about this many scores at most."""

Family = Callable[[TrainingOutputs], list[NamedScore]]
"""Learns scores from outputs that are not tested with them; the most useful comes first."""

_Learnt = Callable[[Family], list[NamedScore]]
"""The scores of a family, learnt from some outputs."""

# Families that are always tested, and how many scores of each.
_ALWAYS: tuple[tuple[Family, int], ...] = (
    (structure_scores, 2),
    (linear_scores, 1),
    (difference_scores, 2),
    (record_scores, 1),
    (last_bits_scores, 1),
)
# Families whose scores must separate outputs that they were not learnt from, and how many of them.
_SCREENED: tuple[tuple[Family, int], ...] = (
    (linear_scores, 2),
    (atom_scores, 3),
    (covariance_scores, 2),
    (pair_scores, 2),
    (count_scores, 2),
    (record_scores, 2),
)
# A score enters if it is clear by this much beyond what the clearest shift of the mean says.
_LEAST_CLEAR = 1.5
# A score explains a rejection only if it is clear by this much beyond what others explain.
_EXPLAINING = 3.0
# Repeated values among numbers are tested if the outputs that they were learnt from differ by this.
_RARE_ATOMS = 2.0
# A record that is released is also a repeated value, and the record is the better explanation.
_PREFERRED = 1.25
# A score is clearer than another if it is by this factor.
_CLEARER = 1.2
_EXACT = ("noiseless", "grid")
# The order of scores is compared on this many outputs of each side.
_COMPARED = 200


def candidate_scores(
    # The outputs to learn from. They must not be tested with these scores.
    training: TrainingOutputs,
    *,
    own: NamedScore | None,  # A score that was given, which comes first
    models: tuple[str, ...],  # Classifiers to train: "logistic" and "boosting"
    rng: np.random.Generator,  # All randomness of the training
    # How the kinds of the first releases differ between the data sets, in words, if they do.
    kinds: str = "",
) -> list[NamedScore]:
    """The scores to test, from outputs of past runs; at least one, and about 12 at most.

    Their shares sum to 1. The same training outputs and the same generator give the same scores.
    """
    # With one thread, sums of linear algebra have one order on any number of cores.
    with one_thread():
        found = [] if own is None else [own]
        of_kinds = kind_scores(training, kinds) if kinds else []
        found += of_kinds
        # Each family is learnt once from the same outputs.
        learnt = cache(lambda family: family(training))
        for family, most in _ALWAYS:
            found += learnt(family)[:most]
        p, q = training.p, training.q
        # A value that comes again among numbers with noise is rare, so half of the outputs may not
        # show it often enough.
        found += [
            one
            for one in learnt(atom_scores)[:1]
            if not training.is_number.all() or clearness(one.of(p), one.of(q)) >= _RARE_ATOMS
        ]
        if own is None:
            found += row_scores(training)
        found += learned_scores(training, models=models, rng=rng)
        found = _different(found, training)
        test = training.half(1).within(_MOST_SCREENED)
        if test.runs:
            half = training.half(0)
            of_half = cache(lambda family: family(half))
            plain = [] if own is None else [own]
            for family in (linear_scores, difference_scores, row_scores):
                plain += of_half(family)[:2]
            clear = [clearness(one.of(test.p), one.of(test.q)) for one in plain]
            known = plain[clear.index(max(clear))] if plain else None
            screen = _Screen(test=test, known=known)
            found += _screened(found, learnt, of_half, screen)
            found = _explained(_different(found, training)[:MOST_SCORES], screen)
    if of_kinds:
        # What stands in the place of numbers that are missing has no noise, and explains nothing.
        rest = [replace(one, explanation=None) for one in found if one.name != of_kinds[0].name]
        found = [*of_kinds, *rest]
    if not found:
        nothing = Linear(np.zeros(training.p.shape[1]))
        found = [NamedScore("nothing varies", nothing, family="linear")]
    total = math.fsum(one.share for one in found)
    return [replace(one, share=one.share / total) for one in found]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Screen:
    """Outputs to compare scores on, and the clearest score of a shift of the mean for them."""

    test: TrainingOutputs
    known: NamedScore | None

    def clear(self, one: NamedScore) -> float:
        """How clearly a score differs beyond what is known, or more than what is known."""
        p, q = one.of(self.test.p), one.of(self.test.q)
        alone = clearness(p, q)
        if self.known is None:
            return alone
        p_known, q_known = self.known.of(self.test.p), self.known.of(self.test.q)
        more = alone - _CLEARER * max(0.0, clearness(p_known, q_known))
        return max(more, clearness_beyond(p, q, p_known, q_known))


def _screened(
    found: list[NamedScore], learnt: _Learnt, of_half: _Learnt, screen: _Screen
) -> list[NamedScore]:
    """Scores that separate the second half of the outputs after learning from the first.

    They are then learnt from all outputs, unless that was done already.
    """
    room = MOST_SCORES - len(found)
    known = [one.name for one in found]
    clear: list[tuple[float, Family, str]] = []
    for family, most in _SCREENED if room > 0 else ():
        measured = [
            (screen.clear(one), family, one.name)
            for one in of_half(family)
            if one.name not in known
        ]
        clear += sorted(measured, key=itemgetter(0), reverse=True)[:most]
    chosen = [entry for entry in clear if entry[0] >= _LEAST_CLEAR]
    chosen = sorted(chosen, key=itemgetter(0), reverse=True)[:room]
    return [one for _, family, name in chosen for one in learnt(family) if one.name == name]


def _explained(scores: list[NamedScore], screen: _Screen) -> list[NamedScore]:
    """The scores without the explanations of those that only see what another one explains.

    The clearest explanation is kept if it is clear enough, then the next one if it is clear beyond
    the first, and so on. Every kind of mistake is explained once.
    """
    exact = [one for one in scores if one.family in _EXACT]
    clear = {
        one.name: screen.clear(one) * (_PREFERRED if one.family == "record" else 1.0)
        for one in scores
        if one.explanation is not None and one.family not in _EXACT
    }
    # A grid explains what the last bits show as well.
    kinds = {MistakeKind.LOW_BITS} if any(one.family == "grid" for one in exact) else set()
    explaining = [one.name for one in exact]
    screens = [screen]
    for one in sorted(scores, key=lambda one: -clear.get(one.name, 0.0)):
        if one.name not in clear or one.explanation is None or one.explanation.kind in kinds:
            continue
        if min(other.clear(one) for other in screens) < _EXPLAINING:
            continue
        explaining.append(one.name)
        kinds.add(one.explanation.kind)
        screens.append(_Screen(test=screen.test, known=one))
    return [one if one.name in explaining else replace(one, explanation=None) for one in scores]


def _different(scores: list[NamedScore], training: TrainingOutputs) -> list[NamedScore]:
    """The scores without those that order outputs as an earlier one does, or the other way round.

    Outputs between which one of them makes no difference must be the same for both.
    """
    some = training.thinned(_COMPARED)
    outputs = np.concatenate([some.p, some.q])
    kept: list[NamedScore] = []
    orders: list[NDArray[np.intp]] = []
    for one in scores:
        order = np.unique(one.of(outputs), return_inverse=True)[1]
        if one.family == "given" or not any(np.array_equal(order, other) for other in orders):
            kept.append(one)
            orders += [order, order.max() - order]
    return kept
