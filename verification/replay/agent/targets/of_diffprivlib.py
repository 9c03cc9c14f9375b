"""Tools and models of diffprivlib.

Its tools of means and variances set their noise for records that are replaced (the range over n),
its counts and histograms for records that come or go; each is examined under that relation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from diffprivlib import models, tools

from . import CLAIMED, CLASSES, REMOVE, REPLACE, target

_BOUNDS = (0.0, 1.0)
_BOX = (np.zeros(2), np.ones(2))
_NODES = (
    "whether a leaf holds records decides whether the exponential mechanism or a fair draw names "
    "its class, and both have probabilities within the claim"
)


@target(REMOVE)
def count_nonzero(data: Any, rng: Any) -> Any:
    return tools.count_nonzero(data.features[:, 0] > 0.5, epsilon=CLAIMED)


@target(REPLACE)
def mean(data: Any, rng: Any) -> Any:
    return tools.mean(data.features[:, 0], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE)
def nanmean(data: Any, rng: Any) -> Any:
    return tools.nanmean(data.features[:, 0], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE)
def var(data: Any, rng: Any) -> Any:
    return tools.var(data.features[:, 0], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE)
def nanvar(data: Any, rng: Any) -> Any:
    return tools.nanvar(data.features[:, 0], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE)
def std(data: Any, rng: Any) -> Any:
    return tools.std(data.features[:, 0], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REMOVE)
def sum_(data: Any, rng: Any) -> Any:
    return tools.sum(data.features[:, 0], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REMOVE)
def nansum(data: Any, rng: Any) -> Any:
    return tools.nansum(data.features[:, 0], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REMOVE)
def histogram(data: Any, rng: Any) -> Any:
    return tools.histogram(data.features[:, 0], epsilon=CLAIMED, bins=4, range=_BOUNDS)


@target(REMOVE)
def histogram_2d(data: Any, rng: Any) -> Any:
    box = [_BOUNDS, _BOUNDS]
    return tools.histogram2d(*data.features.T, epsilon=CLAIMED, bins=3, range=box)


@target(REMOVE)
def quantile(data: Any, rng: Any) -> Any:
    return tools.quantile(data.features[:, 0], 0.3, epsilon=CLAIMED, bounds=_BOUNDS)


@target(REMOVE)
def median(data: Any, rng: Any) -> Any:
    return tools.median(data.features[:, 0], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REMOVE)
def percentile(data: Any, rng: Any) -> Any:
    return tools.percentile(data.features[:, 0], [25, 75], epsilon=CLAIMED, bounds=_BOUNDS)


@target(REPLACE, CLASSES)
def gaussian_nb(data: Any, rng: Any) -> Any:
    return models.GaussianNB(epsilon=CLAIMED, bounds=_BOX).fit(data.features, data.labels)


@target(REPLACE, CLASSES)
def logistic_regression(data: Any, rng: Any) -> Any:
    model = models.LogisticRegression(epsilon=CLAIMED, data_norm=1.5, max_iter=20)
    return model.fit(data.features, data.labels)


@target(REPLACE)
def linear_regression(data: Any, rng: Any) -> Any:
    model = models.LinearRegression(epsilon=CLAIMED, bounds_X=_BOUNDS, bounds_y=_BOUNDS)
    return model.fit(data.features[:, :1], data.features[:, 1])


@target(REMOVE)
def k_means(data: Any, rng: Any) -> Any:
    return models.KMeans(n_clusters=2, epsilon=CLAIMED, bounds=_BOX).fit(data.features)


@target(REPLACE)
def pca(data: Any, rng: Any) -> Any:
    model = models.PCA(n_components=1, epsilon=CLAIMED, bounds=_BOX, data_norm=1.5)
    return model.fit(data.features)


@target(REPLACE)
def standard_scaler(data: Any, rng: Any) -> Any:
    return models.StandardScaler(epsilon=CLAIMED, bounds=_BOX).fit(data.features)


@target(REPLACE, CLASSES, because=_NODES)
def random_forest(data: Any, rng: Any) -> Any:
    model = models.RandomForestClassifier(n_estimators=2, epsilon=CLAIMED, bounds=_BOX, max_depth=2)
    return model.fit(data.features, data.labels)


@target(REPLACE, CLASSES, because=_NODES)
def random_forest_of_named_classes(data: Any, rng: Any) -> Any:
    model = models.RandomForestClassifier(
        n_estimators=2, epsilon=CLAIMED, bounds=_BOX, classes=[0, 1, 2], max_depth=2
    )
    return model.fit(data.features, data.labels)
