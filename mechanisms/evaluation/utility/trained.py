"""Models trained on the release and tested on real records; beside it what real ones would give."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Guarantee, _validate
from rdpkit.mechanisms.evaluation.utility.private import private_inputs, private_linear
from rdpkit.mechanisms.evaluation.utility.samples import Image, Sample, SampleColumn, encoder_of
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.computation import Progress

_FLOOR = 1e-3  # Of variances, as a share of the mean one


class GaussianClasses:
    """Quadratic discriminant analysis whose covariances lean on that of all classes together.

    The covariance of a class of m records in d dimensions is (m S + d P) / (m + d), with its own
    covariance S and the pooled one P: a class with few records gets the pooled one, a class with
    many its own. A thousandth of the mean variance is added to each coordinate.
    """

    def fit(self, rows: NDArray[np.float64], codes: NDArray[np.int64]) -> GaussianClasses:
        """Estimate means and covariances; codes are 0, 1, ... without a gap."""
        n, d = rows.shape
        counts = np.bincount(codes)
        self._means = np.stack([rows[codes == c].mean(axis=0) for c in range(len(counts))])
        centred = rows - self._means[codes]
        pooled = centred.T @ centred / n
        floor = _FLOOR * max(float(np.trace(pooled)) / d, 1e-12)
        self._roots, self._offsets = [], []
        for c, m in enumerate(counts):
            own = centred[codes == c]
            covariance = (own.T @ own + d * pooled) / (m + d)
            covariance[np.diag_indices(d)] += floor
            values, vectors = np.linalg.eigh(covariance)
            values = np.maximum(values, floor)
            self._roots.append(vectors / np.sqrt(values))
            self._offsets.append(float(np.log(m / n) - 0.5 * np.log(values).sum()))
        return self

    def predict(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """The likeliest class of each row."""
        scores = [
            offset - 0.5 * np.square((rows - mean) @ root).sum(axis=1)
            for mean, root, offset in zip(self._means, self._roots, self._offsets, strict=True)
        ]
        return np.asarray(np.argmax(np.stack(scores), axis=0), np.int64)


Fitted = tuple[str, Mapping[str, Any]]
"""A class of scikit-learn, and its settings."""


@dataclass(frozen=True, slots=True)
class StandardModel:
    """A model for people, for categories and, if there is one, for a column of numbers."""

    title: str
    classifier: Fitted | None  # None for :class:`GaussianClasses`
    regressor: Fitted | None = None

    def made(self, numbers: bool, seed: int) -> Any:
        """The model, untrained, as scikit-learn has them."""
        if not numbers and self.classifier is None:
            return GaussianClasses()
        found = self.regressor if numbers else self.classifier
        assert found is not None
        (module, name), settings = found[0].split("."), found[1]
        model = getattr(import_module(f"sklearn.{module}"), name)(**settings)
        return model.set_params(random_state=seed) if hasattr(model, "random_state") else model


_BOOSTED = {"max_iter": 40, "early_stopping": False}
_TREES = {"n_estimators": 40, "min_samples_leaf": 3, "n_jobs": 1}
_NEIGHBOURS = {"n_neighbors": 15}
_LAYERS = {"hidden_layer_sizes": (128,), "max_iter": 30}
MODELS = {
    "logistic": StandardModel(
        "linear model",
        ("linear_model.LogisticRegression", {"max_iter": 300}),
        ("linear_model.Ridge", {}),
    ),
    "boosting": StandardModel(
        "gradient boosting",
        ("ensemble.HistGradientBoostingClassifier", _BOOSTED),
        ("ensemble.HistGradientBoostingRegressor", _BOOSTED),
    ),
    "forest": StandardModel(
        "random forest",
        ("ensemble.RandomForestClassifier", _TREES),
        ("ensemble.RandomForestRegressor", _TREES),
    ),
    "nearest": StandardModel(
        "nearest neighbours",
        ("neighbors.KNeighborsClassifier", _NEIGHBOURS),
        ("neighbors.KNeighborsRegressor", _NEIGHBOURS),
    ),
    "perceptron": StandardModel(
        "small neural network",
        ("neural_network.MLPClassifier", _LAYERS),
        ("neural_network.MLPRegressor", _LAYERS),
    ),
    "qda": StandardModel("Gaussian classes", None),
}
"""All of them, with settings that are never tuned; :data:`CONVNET` is another one, for images."""

CONVNET = "convnet"
NAMES = (*MODELS, CONVNET)
FOR_TABLES = ("logistic", "boosting", "forest", "nearest")
FOR_IMAGES = ("logistic", "perceptron", "qda", "nearest")


def predicted(
    name: str,  # One of :data:`NAMES`
    # Training records; answers are texts for a classifier and floats for regression.
    rows: NDArray[Any],
    answers: NDArray[Any],
    tests: NDArray[Any],  # Records whose answers are wanted
    *,
    seed: int,  # Of everything random in the model
    image: Image | None = None,  # The shape of an image, which "convnet" needs
) -> NDArray[Any]:
    """What a model that is trained on ``rows`` says of ``tests``."""
    _validate.choice("model", name, NAMES)
    numbers = answers.dtype.kind == "f"
    if not numbers and len(set(answers)) < 2:
        return np.full(len(tests), answers[0], dtype=object)
    if name == CONVNET:
        return _by_convnet(rows, answers, tests, seed=seed, image=image)
    model = MODELS[name]
    if not numbers:
        # Labels become plain numbers, because models disagree about texts.
        values, codes = _coded(answers)
        said = _fitted(model.made(numbers, seed), rows, codes).predict(tests)
        return values[np.asarray(said, np.int64)]
    if model.regressor is None:
        raise ValueError(f"Expected a column of categories for the model {name!r}, got numbers.")
    return np.asarray(_fitted(model.made(numbers, seed), rows, answers).predict(tests), np.float64)


def _coded(answers: NDArray[Any]) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """The different texts in order, and the place of each answer among them."""
    values = sorted(set(answers))
    places = {value: i for i, value in enumerate(values)}
    codes = np.fromiter((places[a] for a in answers), np.int64, len(answers))
    return np.array(values, dtype=object), codes


def _fitted(model: Any, rows: NDArray[Any], answers: NDArray[Any]) -> Any:
    if hasattr(model, "n_neighbors"):
        model.set_params(n_neighbors=min(model.n_neighbors, len(rows)))
    with warnings.catch_warnings():
        # Training that stops early and covariances of low rank are part of fixed settings.
        warnings.simplefilter("ignore")
        return model.fit(rows, answers)


def _by_convnet(
    rows: NDArray[Any],
    answers: NDArray[Any],
    tests: NDArray[Any],
    *,
    seed: int,
    image: Image | None,
) -> NDArray[Any]:
    if image is None or answers.dtype.kind == "f":
        raise ValueError(f"Expected images with labels for the model {CONVNET!r}, got a table.")
    import torch  # noqa: PLC0415

    from rdpkit.mechanisms.evaluation import training  # noqa: PLC0415
    from rdpkit.mechanisms.models import build_model  # noqa: PLC0415

    values, codes = _coded(answers)
    images, asked = (part.astype(np.float32).reshape(len(part), *image) for part in (rows, tests))
    with training.seeded(seed):
        model = build_model(CONVNET, image[0], image[1:], len(values))
        settings = training.Training(epochs=8, batch_size=64)
        training.train(model, images, codes, settings=settings, classes=len(values), seed=seed)
    return np.asarray(values[training.predicted(model, torch.from_numpy(asked)).numpy()])


# Train on the release, test on real records; beside it what real training records would give.

PROGRESS: ContextVar[Progress | None] = ContextVar("progress of models", default=None)
"""Called with the models that are trained and all of them, for each column that is predicted."""

ROWS = 10_000
MOST_TARGETS = 3
_MOST_CLASSES = 50  # Of a column that is predicted by default
_LARGEST_SHARE = 0.98  # Of its commonest value


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScore:
    """What one model reaches on real test records."""

    model: str
    """Its name, one of :data:`rdpkit.mechanisms.evaluation.utility.trained.NAMES`."""
    synthetic: float  # Trained on the release alone
    real: float | None
    """The same model trained on real records; None if they may not be used for that."""

    @property
    def title(self) -> str:
        """The model's name for people."""
        return MODELS[self.model].title if self.model in MODELS else "small convolutional network"


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
    rows: int = ROWS  # Records that a model is trained or tested on, at most


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
        encode = encoder_of(inputs)
        rows, tests = encode(inputs), encode(asked)
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
    encode = encoder_of(ours)
    said = private_linear(
        encode(theirs),
        true.column(target).values,
        encode(asked),
        classes=classes,
        target=guarantee,
        noise=NoiseSource.seeded(seed),
    )
    return score(test.column(target).values, said)
