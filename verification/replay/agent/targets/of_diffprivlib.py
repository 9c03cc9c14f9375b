"""Mechanisms, tools and models of diffprivlib.

Its tools of means, variances and sums set their noise for records that are replaced (the range,
over a number of records that they use), its histograms for records that come or go; each is
examined under that relation. Release notes of version 0.3 say that tools and models clip to the
bounds that they are given, so that tools are examined on any value. Models refuse missing ones.

Public reports: issues 104 and 105 of IBM/differential-privacy-library (linear regression: the
sensitivity of squares, one share of the budget for two means), issue 80 (missing values in
quantiles), and arXiv 2602.17454 (classes that are read from the data; missing values that pass the
clipping of means).
"""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
from diffprivlib import mechanisms, models, tools
from scipy.optimize import minimize

from . import CLAIMED, CLASSES, NUMBERS, REMOVE, REPLACE, target

_ISSUES = "https://github.com/IBM/differential-privacy-library/issues/"
_PAPER = ("https://arxiv.org/abs/2602.17454",)
_OF_REGRESSION = (_ISSUES + "104", _ISSUES + "105")
_OF_QUANTILES = (_ISSUES + "80", *_PAPER)
_BOUNDS = (0.0, 1.0)
_BOX = (np.zeros(2), np.ones(2))
_DELTA = 0.1
_AROUND_ZERO: Dict[str, Any] = {"x": [-1.0, 1.0], "y": [-1.0, 1.0]}
_ANSWERS: Dict[str, Any] = {**NUMBERS, "answered": ["no", "yes"]}
_NODES = (
    "whether a leaf holds records decides whether the exponential mechanism or a fair draw names "
    "its class, and both have probabilities within the claim"
)


def _column(data: Any) -> Any:
    return data.features[:, 0]


def _sum(data: Any) -> float:
    """A sum that one record moves by one, whatever its value."""
    return float(np.clip(np.nan_to_num(_column(data)), 0.0, 1.0).sum())


def _count(data: Any) -> int:
    return int((_column(data) > 0.5).sum())


def _counts(data: Any) -> List[int]:
    return [int((data.labels == one).sum()) for one in (0, 1, 2)]


def _names(data: Any) -> List[str]:
    return ["abc"[int(one)] if one in (0, 1, 2) else "a" for one in data.labels]


# Mechanisms.


@target(REMOVE, any_values=True)
def laplace(data: Any, rng: Any) -> Any:
    return mechanisms.Laplace(epsilon=CLAIMED, sensitivity=1).randomise(_sum(data))


@target(REMOVE, any_values=True, delta=_DELTA)
def laplace_with_delta(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.Laplace(epsilon=CLAIMED, delta=_DELTA, sensitivity=1)
    return mechanism.randomise(_sum(data))


@target(REMOVE, any_values=True)
def laplace_truncated(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.LaplaceTruncated(epsilon=CLAIMED, sensitivity=1, lower=0, upper=50)
    return mechanism.randomise(_sum(data))


@target(REMOVE, any_values=True)
def laplace_folded(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.LaplaceFolded(epsilon=CLAIMED, sensitivity=1, lower=0, upper=50)
    return mechanism.randomise(_sum(data))


@target(REMOVE, any_values=True)
def laplace_bounded_domain(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.LaplaceBoundedDomain(epsilon=CLAIMED, sensitivity=1, lower=0, upper=50)
    return mechanism.randomise(_sum(data))


@target(REMOVE, any_values=True, delta=_DELTA)
def laplace_bounded_noise(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.LaplaceBoundedNoise(epsilon=CLAIMED, delta=_DELTA, sensitivity=1)
    return mechanism.randomise(_sum(data))


@target(REMOVE, any_values=True)
def snapping(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.Snapping(epsilon=CLAIMED, sensitivity=1, lower=0, upper=50)
    return mechanism.randomise(_sum(data))


@target(REMOVE, any_values=True)
def staircase(data: Any, rng: Any) -> Any:
    return mechanisms.Staircase(epsilon=CLAIMED, sensitivity=1).randomise(_sum(data))


@target(REMOVE, any_values=True, epsilon=0.0, delta=_DELTA)
def uniform(data: Any, rng: Any) -> Any:
    return mechanisms.Uniform(delta=_DELTA, sensitivity=1).randomise(_sum(data))


@target(REMOVE, any_values=True, delta=_DELTA)
def gaussian(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.Gaussian(epsilon=CLAIMED, delta=_DELTA, sensitivity=1)
    return mechanism.randomise(_sum(data))


@target(REMOVE, any_values=True, delta=_DELTA)
def gaussian_analytic(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.GaussianAnalytic(epsilon=CLAIMED, delta=_DELTA, sensitivity=1)
    return mechanism.randomise(_sum(data))


@target(REMOVE, any_values=True, delta=_DELTA)
def gaussian_discrete(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.GaussianDiscrete(epsilon=CLAIMED, delta=_DELTA, sensitivity=1)
    return mechanism.randomise(_count(data))


@target(REMOVE, any_values=True)
def geometric(data: Any, rng: Any) -> Any:
    return mechanisms.Geometric(epsilon=CLAIMED, sensitivity=1).randomise(_count(data))


@target(REMOVE, any_values=True)
def geometric_truncated(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.GeometricTruncated(epsilon=CLAIMED, sensitivity=1, lower=0, upper=50)
    return mechanism.randomise(_count(data))


@target(REMOVE, any_values=True)
def geometric_folded(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.GeometricFolded(epsilon=CLAIMED, sensitivity=1, lower=0, upper=50)
    return mechanism.randomise(_count(data))


@target(REMOVE, CLASSES)
def exponential(data: Any, rng: Any) -> Any:
    utility = [float(one) for one in _counts(data)]
    return mechanisms.Exponential(epsilon=CLAIMED, sensitivity=1, utility=utility).randomise()


@target(REMOVE, CLASSES)
def exponential_monotonic(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.Exponential(
        epsilon=CLAIMED, sensitivity=1, utility=_counts(data), monotonic=True, candidates=[0, 1, 2]
    )
    return mechanism.randomise()


@target(REMOVE, CLASSES)
def permute_and_flip(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.PermuteAndFlip(
        epsilon=CLAIMED, sensitivity=1, utility=_counts(data), monotonic=True
    )
    return mechanism.randomise()


@target(REPLACE, CLASSES)
def exponential_categorical(data: Any, rng: Any) -> Any:
    utilities = [("a", "b", 1.0), ("a", "c", 2.0), ("b", "c", 1.0)]
    mechanism = mechanisms.ExponentialCategorical(epsilon=CLAIMED, utility_list=utilities)
    return [mechanism.randomise(one) for one in _names(data)]


@target(REPLACE, CLASSES)
def exponential_hierarchical(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.ExponentialHierarchical(epsilon=CLAIMED, hierarchy=[["a", "b"], ["c"]])
    return [mechanism.randomise(one) for one in _names(data)]


@target(REPLACE, any_values=True)
def binary(data: Any, rng: Any) -> Any:
    mechanism = mechanisms.Binary(epsilon=CLAIMED, value0="no", value1="yes")
    return [mechanism.randomise("yes" if one > 0.5 else "no") for one in _column(data)]


@target(REMOVE, any_values=True)
def bingham(data: Any, rng: Any) -> Any:
    rows = np.clip(np.nan_to_num(data.features), 0.0, 1.0) / np.sqrt(2.0)
    return mechanisms.Bingham(epsilon=CLAIMED, sensitivity=1.0).randomise(rows.T @ rows)


@target(REPLACE, any_values=True)
def vector(data: Any, rng: Any) -> Any:
    rows = np.clip(np.nan_to_num(data.features), 0.0, 1.0) / np.sqrt(2.0)
    mechanism = mechanisms.Vector(
        epsilon=CLAIMED, function_sensitivity=0.25, dimension=2, alpha=1.0, n=len(rows)
    )

    def objective(weights: Any) -> float:
        losses = np.logaddexp(0.0, -rows @ weights)
        return float(losses.mean() + 0.5 * (weights @ weights) / len(rows))

    return minimize(mechanism.randomise(objective), np.zeros(2)).x


# Tools.


@target(REPLACE, any_values=True)
def count_nonzero(data: Any, rng: Any) -> Any:
    return tools.count_nonzero(_column(data) > 0.5, epsilon=CLAIMED)


@target(REPLACE, any_values=True, reported=_PAPER)
def mean(data: Any, rng: Any) -> Any:
    return tools.mean(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, reported=_PAPER)
def mean_of_columns(data: Any, rng: Any) -> Any:
    return tools.mean(data.features, epsilon=CLAIMED, bounds=_BOX, axis=0)


@target(REPLACE, any_values=True)
def nanmean(data: Any, rng: Any) -> Any:
    return tools.nanmean(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, _ANSWERS)
def nanmean_of_those_who_answered(data: Any, rng: Any) -> Any:
    return tools.nanmean(_answers(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, any_values=True, reported=_PAPER)
def var(data: Any, rng: Any) -> Any:
    return tools.var(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, any_values=True)
def nanvar(data: Any, rng: Any) -> Any:
    return tools.nanvar(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, any_values=True, reported=_PAPER)
def std(data: Any, rng: Any) -> Any:
    return tools.std(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, any_values=True)
def nanstd(data: Any, rng: Any) -> Any:
    return tools.nanstd(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, any_values=True, reported=_PAPER)
def sum_(data: Any, rng: Any) -> Any:
    return tools.sum(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, any_values=True)
def nansum(data: Any, rng: Any) -> Any:
    return tools.nansum(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REMOVE, any_values=True)
def histogram(data: Any, rng: Any) -> Any:
    return tools.histogram(_column(data), epsilon=CLAIMED, bins=4, range=_BOUNDS)


@target(REMOVE, any_values=True)
def histogram_of_densities(data: Any, rng: Any) -> Any:
    return tools.histogram(_column(data), epsilon=CLAIMED, bins=4, range=_BOUNDS, density=True)


@target(REMOVE, any_values=True)
def histogram_2d(data: Any, rng: Any) -> Any:
    box = [_BOUNDS, _BOUNDS]
    return tools.histogram2d(*data.features.T, epsilon=CLAIMED, bins=3, range=box)


@target(REMOVE, any_values=True)
def histogramdd(data: Any, rng: Any) -> Any:
    return tools.histogramdd(data.features, epsilon=CLAIMED, bins=3, range=[_BOUNDS, _BOUNDS])


@target(REPLACE, any_values=True, reported=_OF_QUANTILES)
def quantile(data: Any, rng: Any) -> Any:
    return tools.quantile(_column(data), 0.3, epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, any_values=True, reported=_OF_QUANTILES)
def median(data: Any, rng: Any) -> Any:
    return tools.median(_column(data), epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, any_values=True, reported=_OF_QUANTILES)
def percentile(data: Any, rng: Any) -> Any:
    return tools.percentile(_column(data), [25, 75], epsilon=CLAIMED, bounds=_BOUNDS)


# Models: first as they are fitted, with all public attributes.


@target(REPLACE, CLASSES, records=10, reported=_PAPER)
def gaussian_nb(data: Any, rng: Any) -> Any:
    return models.GaussianNB(epsilon=CLAIMED, bounds=_BOX).fit(data.features, data.labels)


@target(REPLACE, CLASSES, records=10, summary=lambda model: [model.theta_, model.var_])
def gaussian_nb_of_named_classes(data: Any, rng: Any) -> Any:
    model = models.GaussianNB(epsilon=CLAIMED, bounds=_BOX)
    return model.partial_fit(data.features, data.labels, classes=[0, 1, 2])


@target(REPLACE, CLASSES, records=10, summary=lambda model: [model.theta_, model.var_])
def gaussian_nb_with_a_public_record_of_each_class(data: Any, rng: Any) -> Any:
    features, labels = _with_public_records(data)
    return models.GaussianNB(epsilon=CLAIMED, bounds=_BOX).fit(features, labels)


@target(REPLACE, CLASSES, records=10, reported=_PAPER)
def logistic_regression(data: Any, rng: Any) -> Any:
    return _logistic(data.features, data.labels)


@target(REPLACE, CLASSES, records=10, summary=lambda model: [model.coef_, model.intercept_])
def logistic_regression_with_a_public_record_of_each_class(data: Any, rng: Any) -> Any:
    return _logistic(*_with_public_records(data))


@target(REPLACE, records=2, reported=_OF_REGRESSION)
def linear_regression(data: Any, rng: Any) -> Any:
    return _linear(data, _BOUNDS, fit_intercept=True)


@target(REPLACE, records=2, reported=_OF_REGRESSION)
def linear_regression_without_intercept(data: Any, rng: Any) -> Any:
    return _linear(data, _BOUNDS)


@target(REPLACE, _AROUND_ZERO, records=2)
def linear_regression_around_zero(data: Any, rng: Any) -> Any:
    return _linear(data, (-1.0, 1.0))


@target(REPLACE, records=8)
def k_means(data: Any, rng: Any) -> Any:
    return models.KMeans(n_clusters=2, epsilon=CLAIMED, bounds=_BOX).fit(data.features)


@target(REPLACE, records=8, summary=lambda model: model.cluster_centers_)
def k_means_centers(data: Any, rng: Any) -> Any:
    return models.KMeans(n_clusters=2, epsilon=CLAIMED, bounds=_BOX).fit(data.features)


@target(REPLACE, records=10)
def pca(data: Any, rng: Any) -> Any:
    model = models.PCA(n_components=1, epsilon=CLAIMED, bounds=_BOX, data_norm=1.5)
    return model.fit(data.features)


@target(REPLACE, _AROUND_ZERO, records=10)
def pca_of_centered_data(data: Any, rng: Any) -> Any:
    model = models.PCA(epsilon=CLAIMED, centered=True, data_norm=1.5)
    return model.fit(data.features)


@target(REPLACE)
def standard_scaler(data: Any, rng: Any) -> Any:
    return models.StandardScaler(epsilon=CLAIMED, bounds=_BOX).fit(data.features)


@target(REPLACE)
def standard_scaler_of_means(data: Any, rng: Any) -> Any:
    return models.StandardScaler(epsilon=CLAIMED, bounds=_BOX, with_std=False).fit(data.features)


@target(REMOVE, CLASSES, records=10, because=_NODES)
def tree(data: Any, rng: Any) -> Any:
    return _forest(data, 1)


@target(REPLACE, CLASSES, records=10, because=_NODES)
def random_forest(data: Any, rng: Any) -> Any:
    return _forest(data, 2)


def _answers(data: Any) -> np.ndarray:
    """The numbers of those who answered, and missing values for the others."""
    answered = np.array([one == "yes" for one in data.table["answered"]], dtype=bool)
    return np.where(answered, _column(data), np.nan)


def _with_public_records(data: Any) -> Any:
    """One record of each class before those that are private, so that all classes are there."""
    features = np.vstack([np.full((3, 2), 0.5), data.features])
    return features, np.concatenate([[0, 1, 2], data.labels])


def _logistic(features: Any, labels: Any) -> Any:
    model = models.LogisticRegression(epsilon=CLAIMED, data_norm=1.5, max_iter=20)
    return model.fit(features, labels)


def _linear(data: Any, bounds: Any, *, fit_intercept: bool = False) -> Any:
    """A regression on the records and two that are public, so that it always has a solution."""
    model = models.LinearRegression(
        epsilon=CLAIMED, bounds_X=bounds, bounds_y=bounds, fit_intercept=fit_intercept
    )
    low, high = bounds
    public = np.array([[low, low], [0.9 * low + 0.1 * high] * 2])
    rows = np.vstack([public, data.features])
    return model.fit(rows[:, :1], rows[:, 1])


def _forest(data: Any, trees: int) -> Any:
    model = models.RandomForestClassifier(
        n_estimators=trees, epsilon=CLAIMED, bounds=_BOX, classes=[0, 1, 2], max_depth=2
    )
    return model.fit(data.features, data.labels)
