"""Aggregations of PipelineDP on the local backend, which hold for users that come or go."""

from __future__ import annotations

from typing import Any, List, Optional

import pipeline_dp as dp

from . import CLAIMED, CLASSES, REMOVE, target

_DELTA = 1e-6
_MORE = 5.0
"""An epsilon at which partitions of a few users are kept."""
_PUBLIC = [0, 1, 2]
_BOUNDED = (
    "of the records of a user who has too many some are drawn, which is done for that user alone, "
    "so that whether it happens changes no other user's part"
)


def _rows(data: Any) -> Any:
    """Triples of a user, a partition and a value."""
    return list(zip(data.table["user"], data.table["label"], data.table["x"]))


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
    noise: Any = dp.NoiseKind.LAPLACE,
    epsilon: float = CLAIMED,
) -> Any:
    budget = dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=_DELTA)
    engine = dp.DPEngine(budget, dp.LocalBackend())
    parameters = dp.AggregateParams(
        metrics=metrics,
        noise_kind=noise,
        max_partitions_contributed=2,
        max_contributions_per_partition=2,
        min_value=0.0,
        max_value=1.0,
    )
    found = engine.aggregate(_rows(data), parameters, _extractors(), partitions)
    budget.compute_budgets()
    return sorted((key, tuple(numbers)) for key, numbers in found)


@target(REMOVE, CLASSES, delta=_DELTA, user="user", because=_BOUNDED)
def counts(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.COUNT], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user", because=_BOUNDED)
def counts_of_users(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.PRIVACY_ID_COUNT], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user", because=_BOUNDED)
def sums(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.SUM], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user", because=_BOUNDED)
def sums_with_gaussian_noise(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.SUM], _PUBLIC, dp.NoiseKind.GAUSSIAN)


@target(REMOVE, CLASSES, delta=_DELTA, user="user", because=_BOUNDED)
def counts_and_sums(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.COUNT, dp.Metrics.SUM], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user", because=_BOUNDED)
def means(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.MEAN], _PUBLIC)


@target(REMOVE, CLASSES, delta=_DELTA, user="user", because=_BOUNDED)
def variances(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.VARIANCE], _PUBLIC)


@target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40, because=_BOUNDED)
def counts_of_selected_partitions(data: Any, rng: Any) -> Any:
    return _aggregated(data, [dp.Metrics.COUNT], epsilon=_MORE)


@target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40, because=_BOUNDED)
def selected_partitions(data: Any, rng: Any) -> Any:
    budget = dp.NaiveBudgetAccountant(total_epsilon=_MORE, total_delta=_DELTA)
    engine = dp.DPEngine(budget, dp.LocalBackend())
    parameters = dp.SelectPartitionsParams(max_partitions_contributed=2)
    found = engine.select_partitions(_rows(data), parameters, _extractors())
    budget.compute_budgets()
    return sorted(found)
