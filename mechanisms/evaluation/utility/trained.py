"""Train on the release, test on real records; beside it what real training records would give."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Guarantee
from rdpkit.mechanisms.evaluation.utility.design import encoder_of
from rdpkit.mechanisms.evaluation.utility.private_ceiling import private_inputs, private_linear
from rdpkit.mechanisms.evaluation.utility.samples import Sample, SampleColumn
from rdpkit.mechanisms.evaluation.utility.standard_models import (
    CONVNET,
    FOR_IMAGES,
    FOR_TABLES,
    predicted,
    title_of,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.computation import Progress

PROGRESS: ContextVar[Progress | None] = ContextVar("progress of models", default=None)
"""Called with the models that are trained and all of them, for each column that is predicted."""

MOST_TARGETS = 3
_MOST_CLASSES = 50  # Of a column that is predicted by default
_LARGEST_SHARE = 0.98  # Of its commonest value


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScore:
    """What one model reaches on real test records."""

    model: str
    """Its name, one of :data:`rdpkit.mechanisms.evaluation.utility.standard_models.NAMES`."""
    synthetic: float  # Trained on the release alone
    real: float | None
    """The same model trained on real records; None if they may not be used for that."""

    @property
    def title(self) -> str:
        """The model's name for people."""
        return title_of(self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetScores:
    """How well one column is predicted from the others."""

    target: str  # The column
    measure: str
    """Share of right answers for categories; for numbers 1 less the mean squared error over the
    variance, so that 0 is what the mean reaches and 1 is best; one of {"accuracy", "R2"}.
    """
    floor: float  # What is reached without a model: always the commonest category, or the mean
    private: float | None
    """What a linear model reaches that is trained on real records with noise, at the release's
    epsilon; None if there is no guarantee, or the target is a number.
    """
    # How many of the release a model was trained on at most, and how many real ones it saw.
    train_records: int
    test_records: int
    models: tuple[ModelScore, ...]  # One for each model

    @property
    def best(self) -> ModelScore:
        """The model that does best when trained on the release."""
        return max(self.models, key=lambda one: one.synthetic)

    @property
    def ceiling(self) -> float | None:
        """What the best model trained on real records reaches."""
        found = [one.real for one in self.models if one.real is not None]
        return max(found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What is trained."""

    targets: tuple[str, ...] = ()  # Columns to predict; none for a choice by the release
    models: tuple[str, ...] = ()  # Models; none for a choice by the kind of the records
    seed: int = 0  # Of everything random


def chosen_targets(synthetic: Sample, named: Sequence[str]) -> tuple[str, ...]:
    """The columns to predict: those named, or the last that are worth predicting.

    Without a name these are columns of 2 to 50 categories of which none fills nearly all of the
    release, at most three; where there are none, the last column. Images have their
    labels.
    """
    if named and len(synthetic.columns) > 1:
        return tuple(synthetic.column(name).name for name in named)
    if len(synthetic.columns) < 2:
        # There is nothing to predict a column from.
        return ()
    if synthetic.image is not None:
        return (synthetic.columns[-1].name,)
    found = [c.name for c in synthetic.columns if _is_worth_it(c)]
    return tuple(found[-MOST_TARGETS:]) or (synthetic.columns[-1].name,)


def _is_worth_it(column: SampleColumn) -> bool:
    if column.kind != "category":
        return False
    values, counts = np.unique(column.values[~column.missing].astype(str), return_counts=True)
    return 2 <= values.size <= _MOST_CLASSES and counts.max() <= _LARGEST_SHARE * counts.sum()


def chosen_models(synthetic: Sample, named: Sequence[str], target: str) -> tuple[str, ...]:
    """The models for a target: those named, or the usual ones for tables or for images."""
    if named:
        return tuple(named)
    numbers_only = all(c.kind == "number" for c in synthetic.without(target).columns)
    arrays = synthetic.image is not None or (numbers_only and len(synthetic.columns) > 40)
    wanted = FOR_IMAGES if arrays else FOR_TABLES
    if synthetic.column(target).kind == "number":
        return tuple(name for name in wanted if name != "qda")
    return wanted


def target_scores(
    synthetic: Sample,  # The release
    train: Sample | None,  # Real records for the ceilings
    test: Sample,  # Real records that none of the models has seen
    *,
    target: str,  # The column to predict. Records without a value in it are left out.
    plan: TrainingPlan,  # Models and seed
    guarantee: Guarantee | None = None,  # Of the release; asks for the private ceiling
    # All real training records, on which the private ceiling is trained: it is the better the more
    # there are. By default ``train``.
    everybody: Sample | None = None,
    # Whether test records without a value in the target count as wrong answers, rather than being
    # left out: then every accuracy is a mean over all test records.
    missing_is_wrong: bool = False,
) -> TargetScores:
    """Train every model on the release and, where they are given, on real records; then test."""
    made = _with_answers(synthetic, target)
    judged = test if missing_is_wrong else _with_answers(test, target)
    true = None if train is None else _with_answers(train, target)
    answers = judged.column(target).values
    models: list[ModelScore] = []
    chosen = chosen_models(synthetic, plan.models, target)
    for name in chosen:
        if (report := PROGRESS.get()) is not None:
            report(len(models), len(chosen))
        ours = _said(name, made, judged, target, plan.seed)
        theirs = None if true is None else _said(name, true, judged, target, plan.seed)
        real = None if theirs is None else score(answers, theirs)
        models.append(ModelScore(model=name, synthetic=score(answers, ours), real=real))
    private = None
    if true is not None and guarantee is not None:
        crowd = true if everybody is None else _with_answers(everybody, target)
        private = _private_score(
            made, crowd, judged, target=target, guarantee=guarantee, seed=plan.seed
        )
    return TargetScores(
        target=target,
        measure="accuracy" if answers.dtype.kind == "O" else "R2",
        floor=_floor(true if true is not None else made, judged, target),
        private=private,
        train_records=made.rows,
        test_records=judged.rows,
        models=tuple(models),
    )


def score(answers: NDArray[Any], said: NDArray[Any]) -> float:
    """The share of right answers, or R2 for numbers."""
    if answers.dtype.kind == "O":
        return float(np.mean(answers == said))
    spread = float(np.var(answers))
    return 1.0 - float(np.mean((answers - said) ** 2)) / spread if spread > 0.0 else 0.0


def _with_answers(sample: Sample, target: str) -> Sample:
    kept = np.flatnonzero(~sample.column(target).missing)
    if not kept.size:
        raise ValueError(f"Expected values in the column {target!r}, got none but missing ones.")
    return sample.taken(kept)


def _said(name: str, train: Sample, test: Sample, target: str, seed: int) -> NDArray[Any]:
    inputs, asked = train.without(target), test.without(target)
    image = train.image
    if name == CONVNET or image is not None:
        # Pixels have one unit already.
        rows, tests = inputs.pixels(), asked.pixels()
    else:
        encoder = encoder_of(inputs)
        rows, tests = encoder.rows(inputs), encoder.rows(asked)
    answers = train.column(target).values
    return predicted(name, rows, answers, tests, seed=seed, image=image)


def _floor(train: Sample, test: Sample, target: str) -> float:
    answers, asked = train.column(target).values, test.column(target).values
    if answers.dtype.kind != "O":
        return score(asked, np.full(len(asked), answers.mean()))
    values, counts = np.unique(answers.astype(str), return_counts=True)
    return float(np.mean(asked == values[counts.argmax()]))


def _private_score(
    made: Sample, true: Sample, test: Sample, *, target: str, guarantee: Guarantee, seed: int
) -> float | None:
    """The private ceiling, in the units of the release, which cost nothing more."""
    classes = tuple(sorted(set(made.column(target).values)))
    usable = np.isfinite(guarantee.epsilon) and guarantee.epsilon > 0.0 and guarantee.delta > 0.0
    if made.column(target).kind != "category" or len(classes) < 2 or not usable:
        return None
    ours, theirs, asked = (private_inputs(one.without(target)) for one in (made, true, test))
    encoder = encoder_of(ours)
    found = private_linear(
        encoder.rows(theirs),
        true.column(target).values,
        classes=classes,
        target=guarantee,
        noise=NoiseSource.seeded(seed),
    )
    return score(test.column(target).values, found.predicted(encoder.rows(asked)))
