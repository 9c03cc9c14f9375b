"""Measurements of OpenDP, each of which also says itself what it spends.

Those that take any number of their type say so by their domain, so that they are examined on any
value that is not missing; missing ones are refused by that domain and are left out by the targets.
"""

from __future__ import annotations

from typing import Any, Callable, Dict

import numpy as np
import opendp.prelude as dp

from . import CLAIMED, CLASSES, REMOVE, REPLACE, target

dp.enable_features("contrib", "honest-but-curious")
_BOUNDS = (0.0, 1.0)
_DELTA = 1e-6
_SCALES: Dict[Any, float] = {}
_FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False))
_SPACE = (_FLOATS, dp.symmetric_distance())
_WHOLE_SPACE = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
_SUM = _SPACE >> dp.t.then_clamp(_BOUNDS) >> dp.t.then_sum()
_COUNTS_OF_LABELS = _WHOLE_SPACE >> dp.t.then_count_by_categories(
    categories=[0, 1, 2], null_category=True
)
_BINS = (
    _SPACE
    >> dp.t.then_find_bin(edges=[0.0, 0.25, 0.5, 0.75, 1.0])
    >> dp.t.then_count_by_categories(categories=list(range(6)), null_category=False)
)
# Counts of labels that nobody names, and the scores of candidates for the median.
_COUNTS = _WHOLE_SPACE >> dp.t.then_count_by(TV=int)
_SCORES = _SPACE >> dp.t.then_quantile_score_candidates([place / 10 for place in range(11)], 0.5)


def _numbers(data: Any) -> Any:
    return [float(one) for one in data.features[:, 0]]


def _clamped_numbers(data: Any) -> Any:
    return [min(1.0, max(0.0, one)) for one in _numbers(data)]


def _labels(data: Any) -> Any:
    return [int(one) for one in data.labels]


def _spending(build: Any, distance: Any = 1, *, of: Any = None, spent: Any = CLAIMED) -> Any:
    """The measurement whose noise spends what is claimed.

    Its scale is searched once for each line that builds one, and whatever public it is of.
    """
    key = (build.__code__, distance, of, spent)
    if key not in _SCALES:
        _SCALES[key] = dp.binary_search_param(build, d_in=distance, d_out=spent)
    return build(_SCALES[key])


def _measured(build: Any, values: Callable[[Any], Any] = _numbers, **given: Any) -> Any:
    """A target that answers with such a measurement."""
    return lambda data, rng: _spending(build, **given)(values(data))


def _of_known_size(data: Any, then: Any) -> Any:
    """A noisy statistic of numbers whose number is public."""
    domain = dp.vector_domain(dp.atom_domain(bounds=_BOUNDS), size=len(data))
    chain = (domain, dp.symmetric_distance()) >> then()
    of = then, len(data)
    return _spending(lambda b: chain >> dp.m.then_laplace(b), 2, of=of)(_clamped_numbers(data))


def _scored(numbers: Any) -> Any:
    """A noisy score, and a candidate that follows from it."""
    clamped = sum(min(1.0, max(0.0, one)) for one in numbers)
    score = clamped + float(np.random.laplace(scale=2.0 / CLAIMED))
    return score, "many" if score > 10.0 else "few"


_removed = target(REMOVE)
_replaced = target(REPLACE)

count = _removed(_measured(lambda b: _SPACE >> dp.t.then_count() >> dp.m.then_laplace(b)))
clamped_sum = _removed(_measured(lambda b: _SUM >> dp.m.then_laplace(b)))
mean_of_known_size = _replaced(lambda data, rng: _of_known_size(data, dp.t.then_mean))
variance_of_known_size = _replaced(lambda data, rng: _of_known_size(data, dp.t.then_variance))
counts_by_categories = target(REMOVE, CLASSES)(
    _measured(lambda b: _COUNTS_OF_LABELS >> dp.m.then_laplace(b), _labels)
)
histogram = _removed(_measured(lambda b: _BINS >> dp.m.then_laplace(b)))
integer_sum = _removed(
    _measured(
        lambda b: (
            _WHOLE_SPACE >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum() >> dp.m.then_geometric(b)
        ),
        lambda data: [int(10 * one) for one in _clamped_numbers(data)],
    )
)
median_of_candidates = _removed(
    _measured(lambda b: _SCORES >> dp.m.then_noisy_max(dp.max_divergence(), b, negate=True))
)


@target(REPLACE, CLASSES)
def randomized_response(data: Any, rng: Any) -> Any:
    share = dp.m.make_randomized_response([0, 1, 2], prob=2.718281828459045 / 4.718281828459045)
    return [share(int(one) if int(one) in (0, 1, 2) else 0) for one in data.labels]


def _approximate(scale: float) -> Any:
    measured = dp.c.make_zCDP_to_approxDP(_SUM >> dp.m.then_gaussian(scale))
    return dp.c.make_fix_delta(measured, _DELTA)


gaussian_sum = target(REMOVE, delta=_DELTA)(_measured(_approximate, spent=(CLAIMED, _DELTA)))


@target(REMOVE)
def two_queries_at_once(data: Any, rng: Any) -> Any:
    half = _spending(lambda b: _SUM >> dp.m.then_laplace(b), spent=CLAIMED / 2)
    return dp.c.make_composition([half, half])(_numbers(data))


@target(REMOVE, CLASSES, delta=_DELTA, records=60)
def counts_of_labels_above_a_threshold(data: Any, rng: Any) -> Any:
    measured = _COUNTS >> dp.m.then_laplace_threshold(scale=1.001 / CLAIMED, threshold=18)
    assert measured.map(1)[0] <= CLAIMED
    assert measured.map(1)[1] <= _DELTA
    return measured(_labels(data))


median_by_gumbel_noise = _removed(
    _measured(lambda b: _SCORES >> dp.m.then_report_noisy_max_gumbel(scale=b, optimize="min"))
)
three_best_candidates = _removed(
    _measured(lambda b: _SCORES >> dp.m.then_noisy_top_k(dp.max_divergence(), 3, b, negate=True))
)
# Whole candidates, because a number with a fraction that comes twice looks like fixed noise.
private_quantile = _removed(
    _measured(
        lambda b: (
            _SPACE
            >> dp.m.then_private_quantile(dp.max_divergence(), list(map(float, range(11))), 0.3, b)
        ),
        lambda data: [10.0 * one for one in _numbers(data)],
    )
)
sum_with_canonical_noise = target(REMOVE, delta=_DELTA)(
    lambda data, rng: (_SUM >> dp.m.then_canonical_noise(_SUM.map(1), (CLAIMED, _DELTA)))(
        _numbers(data)
    )
)
sum_with_noise_of_a_measure = _removed(
    _measured(lambda b: _SUM >> dp.m.then_noise(dp.max_divergence(), b))
)


@target(REMOVE, CLASSES)
def sparse_counts(data: Any, rng: Any) -> Any:
    answers = (_COUNTS >> dp.m.then_alp_queryable(1.0 / CLAIMED, 50, 25))(_labels(data))
    return [answers(one) for one in (0, 1, 2, 3)]


@target(REPLACE)
def randomized_response_of_booleans(data: Any, rng: Any) -> Any:
    share = dp.m.make_randomized_response_bool(prob=np.e / (1.0 + np.e))
    return [share(one > 0.5) for one in _numbers(data)]


@target(REPLACE)
def randomized_response_of_bits(data: Any, rng: Any) -> Any:
    space = dp.bitvector_domain(max_weight=1), dp.discrete_distance()
    share = space >> dp.m.then_randomized_response_bitvec(f=2.0 / (1.0 + np.exp(CLAIMED / 2.0)))
    bits = [[one <= 0.5, one > 0.5, *[False] * 6] for one in _numbers(data)]
    return [share(np.packbits(one).tobytes()) for one in bits]


@target(REMOVE)
def a_candidate_above_a_threshold(data: Any, rng: Any) -> Any:
    noisy = _SPACE >> dp.m.then_user_measurement(
        dp.max_divergence(), _scored, lambda distance: distance * CLAIMED / 2.0,
        TO="(f64, ExtrinsicObject)",
    )  # fmt: skip
    return dp.c.make_select_private_candidate(noisy, threshold=5.0, stop_probability=0.1)(
        _numbers(data)
    )


@target(REMOVE)
def queries_one_after_the_other(data: Any, rng: Any) -> Any:
    asked = dp.c.make_adaptive_composition(
        *_SPACE, dp.max_divergence(), d_in=1, d_mids=[CLAIMED / 2.0] * 2
    )(_numbers(data))
    half = CLAIMED / 2.0
    count = _SPACE >> dp.t.then_count()
    first = asked(_spending(lambda b: count >> dp.m.then_laplace(b), spent=half))
    kept = _SPACE if first > 12 else _SPACE >> dp.t.then_clamp((0.0, 0.5))
    total = kept >> dp.t.then_clamp(_BOUNDS) >> dp.t.then_sum()
    return first, asked(_spending(lambda b: total >> dp.m.then_laplace(b), spent=half))


@target(REMOVE)
def queries_of_a_context(data: Any, rng: Any) -> Any:
    context = dp.Context.compositor(
        data=_numbers(data),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=CLAIMED),
        split_evenly_over=2,
        domain=_FLOATS,
    )
    count = context.query().count().laplace().release()
    return count, context.query().clamp(_BOUNDS).sum().laplace().release()
