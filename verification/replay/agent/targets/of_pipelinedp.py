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
_OF, _SELECTION = dp.Metrics, dp.PartitionSelectionStrategy


def _rows(data: Any, missing: bool = False) -> Any:
    """Triples of a user, a partition and a value."""
    values = data.features[:, 0]
    numbers = values if missing else np.nan_to_num(values)
    return list(zip(data.table["user"], data.table["label"], numbers.tolist()))


def _aggregated(
    metrics: List[Any],
    partitions: Optional[List[int]] = None,
    noise: Any = _LAPLACE,
    *,
    epsilon: float = CLAIMED,
    missing: bool = False,
    **given: Any,
) -> Any:
    """A target: metrics of partitions, of those that are selected by default."""
    asked = given if "max_contributions" in given else {**_EACH, **given}
    if "min_sum_per_partition" not in given:
        asked = {**_NUMBERS, **asked}

    def aggregated(data: Any, rng: Any) -> Any:
        parameters = dp.AggregateParams(metrics=metrics, noise_kind=noise, **asked)
        found = _found("aggregate", _rows(data, missing), parameters, partitions, epsilon=epsilon)
        return sorted((key, tuple(numbers)) for key, numbers in found)

    return aggregated


def _selected(strategy: Any) -> Any:
    """A target: the partitions that are selected."""

    def selected(data: Any, rng: Any) -> Any:
        parameters = dp.SelectPartitionsParams(
            max_partitions_contributed=2, partition_selection_strategy=strategy
        )
        return sorted(_found("select_partitions", _rows(data), parameters, epsilon=_MORE))

    return selected


def _found(asked: str, rows: Any, parameters: Any, *more: Any, epsilon: float) -> Any:
    """What an engine answers."""
    budget = dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=_DELTA)
    engine = dp.DPEngine(budget, dp.LocalBackend())
    extractors = dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    found = getattr(engine, asked)(rows, parameters, extractors, *more)
    budget.compute_budgets()
    return found


_users = target(REMOVE, CLASSES, delta=_DELTA, user="user")
_more_users = target(REMOVE, CLASSES, epsilon=_MORE, delta=_DELTA, user="user", records=40)

counts = _users(_aggregated([_OF.COUNT], _PUBLIC))
counts_with_gaussian_noise = _users(_aggregated([_OF.COUNT], _PUBLIC, _GAUSSIAN))
counts_of_few_records_of_a_user = _users(_aggregated([_OF.COUNT], _PUBLIC, max_contributions=3))
counts_of_users = _users(_aggregated([_OF.PRIVACY_ID_COUNT], _PUBLIC))
sums = _users(_aggregated([_OF.SUM], _PUBLIC))
sums_with_missing_values = _users(_aggregated([_OF.SUM], _PUBLIC, missing=True))
sums_with_gaussian_noise = _users(_aggregated([_OF.SUM], _PUBLIC, _GAUSSIAN))
sums_that_are_bounded = _users(
    _aggregated([_OF.SUM], _PUBLIC, min_sum_per_partition=0.0, max_sum_per_partition=1.5)
)
counts_and_sums = _users(_aggregated([_OF.COUNT, _OF.SUM], _PUBLIC))
means = _users(_aggregated([_OF.MEAN], _PUBLIC))
variances = _users(_aggregated([_OF.VARIANCE], _PUBLIC))
percentiles = _users(_aggregated([_OF.PERCENTILE(25), _OF.PERCENTILE(75)], _PUBLIC))
counts_of_selected_partitions = _more_users(_aggregated([_OF.COUNT], epsilon=_MORE))
counts_of_partitions_over_a_threshold = _more_users(
    _aggregated(
        [_OF.SUM], epsilon=_MORE, partition_selection_strategy=_SELECTION.LAPLACE_THRESHOLDING
    )
)
users_of_partitions_over_a_threshold = _more_users(
    _aggregated([_OF.PRIVACY_ID_COUNT], epsilon=_MORE, post_aggregation_thresholding=True)
)
selected_partitions = _more_users(_selected(_SELECTION.TRUNCATED_GEOMETRIC))
selected_partitions_over_a_threshold = _more_users(_selected(_SELECTION.GAUSSIAN_THRESHOLDING))
selected_partitions_by_weights = _more_users(_selected(_SELECTION.WEIGHTED_GAUSSIAN_THRESHOLDING))
