"""Algorithms of PyDP. Each is compiled as a whole, so that a replay sees what goes in and out."""

from __future__ import annotations

from typing import Any

from pydp.algorithms import laplacian, partition_selection

from . import CLAIMED, CLASSES, REMOVE, target

_BOUNDS = {"lower_bound": 0.0, "upper_bound": 1.0}


def _result(name: str, **given: Any) -> Any:
    """A target: what an algorithm answers."""
    return lambda data, rng: getattr(laplacian, name)(
        epsilon=CLAIMED, **given, dtype="float"
    ).quick_result([float(one) for one in data.features[:, 0]])


_removed = target(REMOVE)

count = _removed(_result("Count"))
bounded_sum = _removed(_result("BoundedSum", **_BOUNDS))
bounded_mean = _removed(_result("BoundedMean", **_BOUNDS))
bounded_variance = _removed(_result("BoundedVariance", **_BOUNDS))
bounded_standard_deviation = _removed(_result("BoundedStandardDeviation", **_BOUNDS))
median = _removed(_result("Median", **_BOUNDS))


@target(REMOVE, CLASSES, delta=1e-3)
def selected_partitions(data: Any, rng: Any) -> Any:
    strategy = partition_selection.create_laplace_partition_strategy(CLAIMED, 1e-3, 1)
    return {one: bool(strategy.should_keep(int((data.labels == one).sum()))) for one in (0, 1, 2)}
