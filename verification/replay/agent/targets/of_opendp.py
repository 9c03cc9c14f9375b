"""Measurements of OpenDP, each of which also says itself what it spends."""

from __future__ import annotations

from typing import Any

import opendp.prelude as dp

from . import CLAIMED, CLASSES, REMOVE, REPLACE, target

dp.enable_features("contrib", "honest-but-curious")
_BOUNDS = (0.0, 1.0)
_FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False))
_SPACE = (_FLOATS, dp.symmetric_distance())


def _numbers(data: Any) -> Any:
    return [float(one) for one in data.features[:, 0]]


def _spending(build: Any, distance: Any = 1) -> Any:
    """The measurement whose noise spends what is claimed."""
    return dp.binary_search_chain(build, d_in=distance, d_out=CLAIMED)


@target(REMOVE)
def count(data: Any, rng: Any) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    return _spending(lambda b: space >> dp.t.then_count() >> dp.m.then_laplace(b))(_numbers(data))


@target(REMOVE)
def clamped_sum(data: Any, rng: Any) -> Any:
    chain = _SPACE >> dp.t.then_clamp(_BOUNDS) >> dp.t.then_sum()
    return _spending(lambda b: chain >> dp.m.then_laplace(b))(_numbers(data))


@target(REPLACE)
def mean_of_known_size(data: Any, rng: Any) -> Any:
    size = len(data)
    chain = (
        dp.vector_domain(dp.atom_domain(bounds=_BOUNDS), size=size),
        dp.symmetric_distance(),
    ) >> dp.t.then_mean()
    clamped = [min(1.0, max(0.0, one)) for one in _numbers(data)]
    return _spending(lambda b: chain >> dp.m.then_laplace(b), 2)(clamped)


@target(REPLACE)
def variance_of_known_size(data: Any, rng: Any) -> Any:
    chain = (
        dp.vector_domain(dp.atom_domain(bounds=_BOUNDS), size=len(data)),
        dp.symmetric_distance(),
    ) >> dp.t.then_variance()
    clamped = [min(1.0, max(0.0, one)) for one in _numbers(data)]
    return _spending(lambda b: chain >> dp.m.then_laplace(b), 2)(clamped)


@target(REMOVE, CLASSES)
def counts_by_categories(data: Any, rng: Any) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    chain = space >> dp.t.then_count_by_categories(categories=[0, 1, 2], null_category=True)
    labels = [int(one) for one in data.labels]
    return _spending(lambda b: chain >> dp.m.then_laplace(b))(labels)


@target(REMOVE)
def histogram(data: Any, rng: Any) -> Any:
    chain = (
        _SPACE
        >> dp.t.then_find_bin(edges=[0.0, 0.25, 0.5, 0.75, 1.0])
        >> dp.t.then_count_by_categories(categories=list(range(6)), null_category=False)
    )
    return _spending(lambda b: chain >> dp.m.then_laplace(b))(_numbers(data))


@target(REMOVE)
def integer_sum(data: Any, rng: Any) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    chain = space >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum()
    numbers = [int(10 * min(9.0, max(0.0, one))) for one in _numbers(data)]
    return _spending(lambda b: chain >> dp.m.then_geometric(b))(numbers)


@target(REMOVE)
def median_of_candidates(data: Any, rng: Any) -> Any:
    candidates = [place / 10 for place in range(11)]
    chain = _SPACE >> dp.t.then_quantile_score_candidates(candidates, 0.5)
    return _spending(lambda b: chain >> dp.m.then_noisy_max(dp.max_divergence(), b, negate=True))(
        _numbers(data)
    )


@target(REPLACE, CLASSES)
def randomized_response(data: Any, rng: Any) -> Any:
    share = dp.m.make_randomized_response([0, 1, 2], prob=2.718281828459045 / 4.718281828459045)
    return [share(int(one) if int(one) in (0, 1, 2) else 0) for one in data.labels]


@target(REMOVE, delta=1e-6)
def gaussian_sum(data: Any, rng: Any) -> Any:
    chain = _SPACE >> dp.t.then_clamp(_BOUNDS) >> dp.t.then_sum()

    def build(scale: float) -> Any:
        measured = dp.c.make_zCDP_to_approxDP(chain >> dp.m.then_gaussian(scale))
        return dp.c.make_fix_delta(measured, 1e-6)

    return dp.binary_search_chain(build, d_in=1, d_out=(CLAIMED, 1e-6))(_numbers(data))


@target(REMOVE)
def two_queries_at_once(data: Any, rng: Any) -> Any:
    chain = _SPACE >> dp.t.then_clamp(_BOUNDS) >> dp.t.then_sum()
    half = dp.binary_search_chain(
        lambda b: chain >> dp.m.then_laplace(b), d_in=1, d_out=CLAIMED / 2
    )
    return dp.c.make_composition([half, half])(_numbers(data))
