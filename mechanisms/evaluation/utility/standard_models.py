"""The models that are trained on a release: well-known ones, with settings that are never tuned."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.evaluation.utility.samples import Image

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardModel:
    """A model by its name."""

    # For programs, and for people.
    name: str
    title: str
    classifier: Callable[[int], Any]  # From a seed to a classifier as scikit-learn has them
    regressor: Callable[[int], Any] | None = None
    """The same for a column of numbers; None if there is none."""


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    return LogisticRegression(max_iter=300, random_state=seed)


def _ridge(seed: int) -> Any:
    from sklearn.linear_model import Ridge  # noqa: PLC0415

    return Ridge(random_state=seed)


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

    return HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=seed)


def _boosted_numbers(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415

    return HistGradientBoostingRegressor(max_iter=40, early_stopping=False, random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415

    return RandomForestClassifier(40, min_samples_leaf=3, random_state=seed, n_jobs=1)


def _forest_of_numbers(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415

    return RandomForestRegressor(40, min_samples_leaf=3, random_state=seed, n_jobs=1)


def _nearest(seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier  # noqa: PLC0415

    return KNeighborsClassifier(15)


def _nearest_numbers(seed: int) -> Any:
    from sklearn.neighbors import KNeighborsRegressor  # noqa: PLC0415

    return KNeighborsRegressor(15)


def _perceptron(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415

    return MLPClassifier((128,), max_iter=30, random_state=seed)


def _perceptron_of_numbers(seed: int) -> Any:
    from sklearn.neural_network import MLPRegressor  # noqa: PLC0415

    return MLPRegressor((128,), max_iter=30, random_state=seed)


MODELS = (
    StandardModel(name="logistic", title="linear model", classifier=_logistic, regressor=_ridge),
    StandardModel(
        name="boosting",
        title="gradient boosting",
        classifier=_boosting,
        regressor=_boosted_numbers,
    ),
    StandardModel(
        name="forest",
        title="random forest",
        classifier=_forest,
        regressor=_forest_of_numbers,
    ),
    StandardModel(
        name="nearest",
        title="nearest neighbours",
        classifier=_nearest,
        regressor=_nearest_numbers,
    ),
    StandardModel(
        name="perceptron",
        title="small neural network",
        classifier=_perceptron,
        regressor=_perceptron_of_numbers,
    ),
    StandardModel(name="qda", title="Gaussian classes", classifier=lambda _: GaussianClasses()),
)
"""All of them; :data:`CONVNET` is another one, for images."""

CONVNET = "convnet"
NAMES = (*(model.name for model in MODELS), CONVNET)
FOR_TABLES = ("logistic", "boosting", "forest", "nearest")
FOR_IMAGES = ("logistic", "perceptron", "qda", "nearest")
_TITLES = {model.name: model.title for model in MODELS} | {CONVNET: "small convolutional network"}


def title_of(name: str) -> str:
    """What a model is called for people."""
    return _TITLES[name]


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
    found = next(model for model in MODELS if model.name == name)
    if not numbers:
        # Labels become plain numbers, because models disagree about texts.
        values = sorted(set(answers))
        places = {value: i for i, value in enumerate(values)}
        codes = np.fromiter((places[a] for a in answers), np.int64, len(answers))
        said = _fitted(found.classifier(seed), rows, codes).predict(tests)
        return np.array(values, dtype=object)[np.asarray(said, np.int64)]
    if found.regressor is None:
        raise ValueError(f"Expected a column of categories for the model {name!r}, got numbers.")
    return np.asarray(_fitted(found.regressor(seed), rows, answers).predict(tests), np.float64)


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

    from rdpkit.mechanisms.evaluation.training import Training, seeded, train  # noqa: PLC0415
    from rdpkit.mechanisms.models import build_model  # noqa: PLC0415

    values = sorted(set(answers))
    places = {value: i for i, value in enumerate(values)}
    codes = np.fromiter((places[a] for a in answers), np.int64, len(answers))
    shape = (len(rows), *image)
    with seeded(seed):
        model = build_model(CONVNET, image[0], image[1:], len(values))
        train(
            model,
            rows.astype(np.float32).reshape(shape),
            codes,
            settings=Training(epochs=8, batch_size=64),
            classes=len(values),
            seed=seed,
        )
    model.eval()
    inputs = torch.from_numpy(tests.astype(np.float32).reshape(len(tests), *image))
    with torch.no_grad():
        said = torch.cat([model(part) for part in torch.split(inputs, 500)])
    return np.asarray(np.array(values, dtype=object)[said.argmax(dim=1).numpy()])
