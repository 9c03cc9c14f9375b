"""Algorithms of PyDP. Each is compiled as a whole, so that a replay sees what goes in and out."""

from __future__ import annotations

from typing import Any

from pydp.algorithms import laplacian, partition_selection

from . import CLAIMED, CLASSES, REMOVE, target

_BOUNDS = {"lower_bound": 0.0, "upper_bound": 1.0}


def _numbers(data: Any) -> Any:
    return [float(one) for one in data.features[:, 0]]


@target(REMOVE)
def count(data: Any, rng: Any) -> Any:
    return laplacian.Count(epsilon=CLAIMED, dtype="float").quick_result(_numbers(data))


@target(REMOVE)
def bounded_sum(data: Any, rng: Any) -> Any:
    found = laplacian.BoundedSum(epsilon=CLAIMED, **_BOUNDS, dtype="float")
    return found.quick_result(_numbers(data))


@target(REMOVE)
def bounded_mean(data: Any, rng: Any) -> Any:
    found = laplacian.BoundedMean(epsilon=CLAIMED, **_BOUNDS, dtype="float")
    return found.quick_result(_numbers(data))


@target(REMOVE)
def bounded_variance(data: Any, rng: Any) -> Any:
    found = laplacian.BoundedVariance(epsilon=CLAIMED, **_BOUNDS, dtype="float")
    return found.quick_result(_numbers(data))


@target(REMOVE)
def bounded_standard_deviation(data: Any, rng: Any) -> Any:
    found = laplacian.BoundedStandardDeviation(epsilon=CLAIMED, **_BOUNDS, dtype="float")
    return found.quick_result(_numbers(data))


@target(REMOVE)
def median(data: Any, rng: Any) -> Any:
    found = laplacian.Median(epsilon=CLAIMED, **_BOUNDS, dtype="float")
    return found.quick_result(_numbers(data))


@target(REMOVE, CLASSES, delta=1e-3)
def selected_partitions(data: Any, rng: Any) -> Any:
    strategy = partition_selection.create_laplace_partition_strategy(CLAIMED, 1e-3, 1)
    return {
        one: bool(strategy.should_keep(int((data.labels == one).sum()))) for one in (0, 1, 2)
    }
