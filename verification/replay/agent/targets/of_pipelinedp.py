"""Aggregations of PipelineDP on the local backend, which hold for users that come or go.

Missing values are read as 0, because it speaks of values between two bounds; a target whose name
says so has them as they are.
"""

from __future__ import annotations

from typing import Any, List, Optional

import numpy as np
import pipeline_dp as dp

from . import CLAIMED, CLASSES, REMOVE, target

_DELTA = 1e-6
_MORE = 5.0
"""An epsilon at which partitions of a few users are kept."""
_PUBLIC = [0, 1, 2]
_LAPLACE, _GAUSSIAN = dp.NoiseKind.LAPLACE, dp.NoiseKind.GAUSSIAN
_EACH = {"max_partitions_contributed": 2, "max_contributions_per_partition": 2}
_NUMBERS = {"min_value": 0.0, "max_value": 1.0}
_BY_COUNT = dp.PartitionSelectionStrategy


def _rows(data: Any, missing: bool = False) -> Any:
    """Triples of a user, a partition and a value."""
    values = data.features[:, 0]
    numbers = values if missing else np.nan_to_num(values)
    return list(zip(data.table["user"], data.table["label"], numbers.tolist()))


def _extractors() -> Any:
    return dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )


def _aggregated(
    data: Any,
    metrics: List[Any],
    partitions: Optional[List[int]] = None,
    noise: Any = _LAPLACE,
    *,
    epsilon: float = CLAIMED,
    missing: bool = False,
    **given: Any,
) -> Any:
    """Metrics of partitions, of those that are selected by default."""
    budget = dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=_DELTA)
    engine = dp.DPEngine(budget, dp.LocalBackend())
    asked = given if "max_contributions" in given else {**_EACH, **given}
    if "min_sum_per_partition" not in given:
        asked = {**_NUMBERS, **asked}
    parameters = dp.AggregateParams(metrics=metrics, noise_kind=noise, **asked)
    found = engine.aggregate(_rows(data, missing), parameters, _extractors(), partitions)
    budget.compute_budgets()
    return sorted((key, tuple(numbers)) for key, numbers in found)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def counts(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.COUNT], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def counts_with_gaussian_noise(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.COUNT], _PUBLIC, _GAUSSIAN)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def counts_of_few_records_of_a_user(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.COUNT], _PUBLIC, max_contributions=3)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def counts_of_users(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.PRIVACY_ID_COUNT], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def sums(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.SUM], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def sums_with_missing_values(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.SUM], _PUBLIC, missing=True)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def sums_with_gaussian_noise(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.SUM], _PUBLIC, _GAUSSIAN)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def sums_that_are_bounded(data: Any, rng: Any) -> Any:
    bounds: Any = {"min_sum_per_partition": 0.0, "max_sum_per_partition": 1.5}
    return _aggregated(data, [dp.Metrics.SUM], _PUBLIC, **bounds)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def counts_and_sums(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.COUNT, dp.Metrics.SUM], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def means(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.MEAN], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def variances(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.VARIANCE], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user")
def percentiles(data: Any, rng: Any) -> Any:
    metrics = [dp.Metrics.PERCENTILE(25), dp.Metrics.PERCENTILE(75)]
    return _aggregated(data, metrics, _PUBLIC)


@target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40)
def counts_of_selected_partitions(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.COUNT], epsilon=_MORE)


@target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40)
def counts_of_partitions_over_a_threshold(data: Any, rng: Any) -> Any:
    chosen = _BY_COUNT.LAPLACE_THRESHOLDING
    return _aggregated(data, [dp.Metrics.SUM], epsilon=_MORE, partition_selection_strategy=chosen)


@target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40)
def users_of_partitions_over_a_threshold(data: Any, rng: Any) -> Any:
    return _aggregated(
        data, [dp.Metrics.PRIVACY_ID_COUNT], epsilon=_MORE, post_aggregation_thresholding=True
    )


def _selected(data: Any, strategy: Any) -> Any:
    budget = dp.NaiveBudgetAccountant(total_epsilon=_MORE, total_delta=_DELTA)
    engine = dp.DPEngine(budget, dp.LocalBackend())
    parameters = dp.SelectPartitionsParams(
        max_partitions_contributed=2, partition_selection_strategy=strategy
    )
    found = engine.select_partitions(_rows(data), parameters, _extractors())
    budget.compute_budgets()
    return sorted(found)


@target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40)
def selected_partitions(data: Any, rng: Any) -> Any:
    return _selected(data, _BY_COUNT.TRUNCATED_GEOMETRIC)


@target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40)
def selected_partitions_over_a_threshold(data: Any, rng: Any) -> Any:
    return _selected(data, _BY_COUNT.GAUSSIAN_THRESHOLDING)


@target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40)
def selected_partitions_by_weights(data: Any, rng: Any) -> Any:
    return _selected(data, _BY_COUNT.WEIGHTED_GAUSSIAN_THRESHOLDING)
