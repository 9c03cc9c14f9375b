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
_RANGE = {"lower": 0, "upper": 50}
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


def _private(name: str, value: Any, **given: Any) -> Any:
    """A target: what a mechanism answers, on a value that one record moves by one at most."""
    return lambda data, rng: _mechanism(name, **given).randomise(value(data))


def _mechanism(name: str, **given: Any) -> Any:
    return getattr(mechanisms, name)(epsilon=CLAIMED, sensitivity=1, **given)


def _each(values: Any, name: str, **given: Any) -> Any:
    """A target: what a mechanism answers on every record."""

    def answers(data: Any, rng: Any) -> Any:
        mechanism = getattr(mechanisms, name)(epsilon=CLAIMED, **given)
        return [mechanism.randomise(one) for one in values(data)]

    return answers


def _in_a_ball(data: Any) -> Any:
    """Records that are no longer than one."""
    return np.clip(np.nan_to_num(data.features), 0.0, 1.0) / np.sqrt(2.0)


def _tool(name: str, values: Any, *more: Any, **given: Any) -> Any:
    """A target: what a tool answers."""
    stated = {"epsilon": CLAIMED, "bounds": _BOUNDS, **given}
    return lambda data, rng: getattr(tools, name)(values(data), *more, **stated)


def _bins(name: str, values: Any, bins: int, ranges: Any, **given: Any) -> Any:
    """A target: a histogram, of one array or of several."""
    stated = {"epsilon": CLAIMED, "bins": bins, "range": ranges, **given}
    return lambda data, rng: getattr(tools, name)(*values(data), **stated)


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


def _bayes() -> Any:
    return models.GaussianNB(epsilon=CLAIMED, bounds=_BOX)


def _fitted(name: str, **given: Any) -> Any:
    """A target: a model that is fitted to features."""
    return lambda data, rng: getattr(models, name)(epsilon=CLAIMED, **given).fit(data.features)


def _features(data: Any) -> Any:
    return data.features


def _yes_or_no(data: Any) -> List[str]:
    return ["yes" if one > 0.5 else "no" for one in _column(data)]


# Mechanisms.

_removed = target(REMOVE, any_values=True)
_removed_with_delta = target(REMOVE, any_values=True, delta=_DELTA)
_replaced = target(REPLACE, any_values=True)
_groups = target(REMOVE, CLASSES)
_names_replaced = target(REPLACE, CLASSES)

laplace = _removed(_private("Laplace", _sum))
laplace_with_delta = _removed_with_delta(_private("Laplace", _sum, delta=_DELTA))
laplace_truncated = _removed(_private("LaplaceTruncated", _sum, **_RANGE))
laplace_folded = _removed(_private("LaplaceFolded", _sum, **_RANGE))
laplace_bounded_domain = _removed(_private("LaplaceBoundedDomain", _sum, **_RANGE))
laplace_bounded_noise = _removed_with_delta(_private("LaplaceBoundedNoise", _sum, delta=_DELTA))
snapping = _removed(_private("Snapping", _sum, **_RANGE))
staircase = _removed(_private("Staircase", _sum))
uniform = target(REMOVE, any_values=True, epsilon=0.0, delta=_DELTA)(
    lambda data, rng: mechanisms.Uniform(delta=_DELTA, sensitivity=1).randomise(_sum(data))
)
gaussian = _removed_with_delta(_private("Gaussian", _sum, delta=_DELTA))
gaussian_analytic = _removed_with_delta(_private("GaussianAnalytic", _sum, delta=_DELTA))
gaussian_discrete = _removed_with_delta(_private("GaussianDiscrete", _count, delta=_DELTA))
geometric = _removed(_private("Geometric", _count))
geometric_truncated = _removed(_private("GeometricTruncated", _count, **_RANGE))
geometric_folded = _removed(_private("GeometricFolded", _count, **_RANGE))
exponential = _groups(
    lambda data, rng: _mechanism("Exponential", utility=list(map(float, _counts(data)))).randomise()
)
exponential_monotonic = _groups(
    lambda data, rng: _mechanism(
        "Exponential", utility=_counts(data), monotonic=True, candidates=[0, 1, 2]
    ).randomise()
)
permute_and_flip = _groups(
    lambda data, rng: _mechanism(
        "PermuteAndFlip", utility=_counts(data), monotonic=True
    ).randomise()
)
_UTILITIES = [("a", "b", 1.0), ("a", "c", 2.0), ("b", "c", 1.0)]
exponential_categorical = _names_replaced(
    _each(_names, "ExponentialCategorical", utility_list=_UTILITIES)
)
exponential_hierarchical = _names_replaced(
    _each(_names, "ExponentialHierarchical", hierarchy=[["a", "b"], ["c"]])
)
binary = _replaced(_each(_yes_or_no, "Binary", value0="no", value1="yes"))
bingham = _removed(_private("Bingham", lambda data: _in_a_ball(data).T @ _in_a_ball(data)))


@target(REPLACE, any_values=True)
def vector(data: Any, rng: Any) -> Any:
    rows = _in_a_ball(data)
    mechanism = mechanisms.Vector(
        epsilon=CLAIMED, function_sensitivity=0.25, dimension=2, alpha=1.0, n=len(rows)
    )

    def objective(weights: Any) -> float:
        losses = np.logaddexp(0.0, -rows @ weights)
        return float(losses.mean() + 0.5 * (weights @ weights) / len(rows))

    return minimize(mechanism.randomise(objective), np.zeros(2)).x


# Tools.

_of_paper = target(REPLACE, any_values=True, reported=_PAPER)
_of_quantiles = target(REPLACE, any_values=True, reported=_OF_QUANTILES)

count_nonzero = _replaced(
    lambda data, rng: tools.count_nonzero(_column(data) > 0.5, epsilon=CLAIMED)
)
mean = _of_paper(_tool("mean", _column))
mean_of_columns = target(REPLACE, reported=_PAPER)(_tool("mean", _features, bounds=_BOX, axis=0))
nanmean = _replaced(_tool("nanmean", _column))
nanmean_of_those_who_answered = target(REPLACE, _ANSWERS)(_tool("nanmean", _answers))
var = _of_paper(_tool("var", _column))
nanvar = _replaced(_tool("nanvar", _column))
std = _of_paper(_tool("std", _column))
nanstd = _replaced(_tool("nanstd", _column))
sum_ = _of_paper(_tool("sum", _column))
nansum = _replaced(_tool("nansum", _column))
histogram = _removed(_bins("histogram", lambda data: [_column(data)], 4, _BOUNDS))
histogram_of_densities = _removed(
    _bins("histogram", lambda data: [_column(data)], 4, _BOUNDS, density=True)
)
histogram_2d = _removed(_bins("histogram2d", lambda data: data.features.T, 3, [_BOUNDS] * 2))
histogramdd = _removed(_bins("histogramdd", lambda data: [data.features], 3, [_BOUNDS] * 2))
quantile = _of_quantiles(_tool("quantile", _column, 0.3))
median = _of_quantiles(_tool("median", _column))
percentile = _of_quantiles(_tool("percentile", _column, [25, 75]))

# Models: those without a summary as they are fitted, with all public attributes.

_of_ten = target(REPLACE, CLASSES, records=10, reported=_PAPER)
_of_moments = target(REPLACE, CLASSES, records=10, summary=lambda model: [model.theta_, model.var_])
_of_regression = target(REPLACE, records=2, reported=_OF_REGRESSION)

gaussian_nb = _of_ten(lambda data, rng: _bayes().fit(data.features, data.labels))
gaussian_nb_of_named_classes = _of_moments(
    lambda data, rng: _bayes().partial_fit(data.features, data.labels, classes=[0, 1, 2])
)
gaussian_nb_with_a_public_record_of_each_class = _of_moments(
    lambda data, rng: _bayes().fit(*_with_public_records(data))
)
logistic_regression = _of_ten(lambda data, rng: _logistic(data.features, data.labels))
logistic_regression_with_a_public_record_of_each_class = target(
    REPLACE, CLASSES, records=10, summary=lambda model: [model.coef_, model.intercept_]
)(lambda data, rng: _logistic(*_with_public_records(data)))
linear_regression = _of_regression(lambda data, rng: _linear(data, _BOUNDS, fit_intercept=True))
linear_regression_without_intercept = _of_regression(lambda data, rng: _linear(data, _BOUNDS))
linear_regression_around_zero = target(REPLACE, _AROUND_ZERO, records=2)(
    lambda data, rng: _linear(data, (-1.0, 1.0))
)
k_means = target(REPLACE, records=8)(_fitted("KMeans", n_clusters=2, bounds=_BOX))
k_means_centers = target(REPLACE, records=8, summary=lambda model: model.cluster_centers_)(
    _fitted("KMeans", n_clusters=2, bounds=_BOX)
)
pca = target(REPLACE, records=10)(_fitted("PCA", n_components=1, bounds=_BOX, data_norm=1.5))
pca_of_centered_data = target(REPLACE, _AROUND_ZERO, records=10)(
    _fitted("PCA", centered=True, data_norm=1.5)
)
standard_scaler = target(REPLACE)(_fitted("StandardScaler", bounds=_BOX))
standard_scaler_of_means = target(REPLACE)(_fitted("StandardScaler", bounds=_BOX, with_std=False))
tree = target(REMOVE, CLASSES, records=10, because=_NODES)(lambda data, rng: _forest(data, 1))
random_forest = target(REPLACE, CLASSES, records=10, because=_NODES)(
    lambda data, rng: _forest(data, 2)
)
