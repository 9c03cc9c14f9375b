"""Class moments: what one record changes, against random records and the worst data sets."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency, ClassMoments
from rdpkit.events.data_sets import orthogonal

ADD, REPLACE, ZERO = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT
CLASSES = 2
WEIGHTS = ("sum_weight", "pooled_weight", "class_weight", "count_weight")
weights = st.fixed_dictionaries({name: st.floats(0.0, 2.0) for name in WEIGHTS}).filter(
    lambda chosen: max(chosen.values()) > 0.1
)


def released(features, labels, event):
    """Everything without noise, from all records; entries beside the diagonal times sqrt(2)."""
    rows, columns = np.triu_indices(features.shape[1])
    twice = np.where(rows == columns, 1.0, math.sqrt(2.0))
    seconds = features[:, rows] * features[:, columns] * twice
    parts = [event.pooled_weight * seconds.sum(axis=0)]
    for label in range(CLASSES):
        mine = labels == label
        parts.append(event.sum_weight * features[mine].sum(axis=0))
        parts.append(event.class_weight * seconds[mine].sum(axis=0))
        parts.append(np.array([event.count_weight * mine.sum()]))
    return np.concatenate(parts)


def record(draw, dimension, *, nonnegative):
    """A record in the ball, often on its surface."""
    lowest = 0.0 if nonnegative else -1.0
    found = np.array(draw(st.lists(st.floats(lowest, 1.0), min_size=dimension, max_size=dimension)))
    norm = np.linalg.norm(found)
    if norm > 1.0 or (norm > 0.01 and draw(st.booleans())):
        found /= norm
    return found, draw(st.integers(0, CLASSES - 1))


@given(st.data(), weights, st.booleans(), st.integers(1, 4))
def test_no_two_records_are_farther_apart_than_the_sensitivity(data, chosen, nonnegative, d):
    event = ClassMoments(noise_std=1.0, nonnegative=nonnegative, **chosen)
    one, two = (record(data.draw, d, nonnegative=nonnegative) for _ in range(2))
    first, second = (released(x[None], np.array([label]), event) for x, label in (one, two))
    assert np.linalg.norm(first - second) <= event.sensitivity(REPLACE) * (1 + 1e-14)
    assert np.linalg.norm(first) <= event.sensitivity(ADD) * (1 + 1e-14)
    assert event.sensitivity(ZERO) == event.sensitivity(ADD)


@settings(max_examples=25)
@given(weights, st.booleans(), st.sampled_from([ADD, REPLACE, ZERO]), st.integers(2, 5))
def test_the_neighbours_of_the_worst_pair_attain_the_sensitivity(chosen, flag, adjacency, d):
    event = ClassMoments(noise_std=1.0, nonnegative=flag, **chosen)
    pair = rdpkit.worst_pair(event, adjacency=adjacency, delta=1e-3)
    first, second = (released(*side, event) for side in pair.datasets(d))
    assert np.linalg.norm(first - second) == pytest.approx(event.sensitivity(adjacency), rel=1e-12)
    if flag:
        assert all(np.all(features >= 0.0) for features, _ in pair.datasets(d))


@given(st.floats(0.0, 1e150), st.floats(0.0, 1e150), st.floats(5e-324, 1e150))
def test_the_sensitivity_is_the_least_float_that_is_not_below(sums, pooled, counts):
    event = ClassMoments(
        noise_std=1.0, sum_weight=sums, pooled_weight=pooled, count_weight=counts, nonnegative=True
    )
    square = sum(Fraction(weight) ** 2 for weight in (sums, pooled, counts))
    for adjacency, times in ((ADD, 1), (REPLACE, 2)):
        found = event.sensitivity(adjacency)
        assert Fraction(found) ** 2 >= times * square
        assert Fraction(math.nextafter(found, 0.0)) ** 2 < times * square


@given(st.floats(1e-140, 1e140), st.floats(1e-140, 1e140))
def test_the_square_of_the_distance_in_one_class_is_exact(sums, pooled):
    event = ClassMoments(noise_std=1.0, sum_weight=sums, pooled_weight=pooled)
    a, b = Fraction(sums) ** 2, Fraction(pooled) ** 2
    square = 4 * a if a > 2 * b else 2 * a + 2 * b + a * a / (2 * b)
    found = event.sensitivity(REPLACE)
    assert Fraction(found) ** 2 >= square > Fraction(math.nextafter(found, 0.0)) ** 2
    assert found <= 2.0 * event.sensitivity(ADD)


@given(st.data(), weights, st.booleans())
def test_parts_of_all_classes_together(data, chosen, everything):
    """Moments and counts may be of all classes, and sums if everything is."""
    event = ClassMoments(noise_std=1.0, **chosen)
    ends = []
    for _ in range(2):
        x, label = record(data.draw, 3, nonnegative=False)
        sums = np.zeros((CLASSES, 3))
        sums[0 if everything else label] = event.sum_weight * x
        moments = math.hypot(event.pooled_weight, event.class_weight) * np.outer(x, x)
        ends.append(np.concatenate([sums.ravel(), moments.ravel()]))
    assert np.linalg.norm(ends[0] - ends[1]) <= event.sensitivity(REPLACE) * (1 + 1e-14)


def test_sums_of_all_classes_beside_moments_by_class_are_another_release():
    """What the theory page warns of: opposite records in two classes are farther apart."""
    event = ClassMoments(noise_std=1.0, sum_weight=math.sqrt(0.3), class_weight=math.sqrt(0.7))
    distance = math.sqrt(4 * event.sum_weight**2 + 2 * event.class_weight**2)
    assert distance > 1.1 * event.sensitivity(REPLACE)


def test_it_is_a_gaussian_release():
    event = ClassMoments(noise_std=3.0, sum_weight=math.sqrt(0.3), pooled_weight=math.sqrt(0.7))
    inner = event.expand()
    assert inner == rdpkit.Gaussian(
        noise_std=3.0,
        record_norm=event.sensitivity(ADD),
        record_diameter=event.sensitivity(REPLACE),
    )
    assert event.sensitivity(REPLACE) == pytest.approx(math.sqrt(2.0 + 0.09 / 1.4), rel=1e-15)
    for adjacency in Adjacency:
        question = {"delta": 1e-100, "adjacency": adjacency}
        many, same = (rdpkit.epsilon(10**9 * one, **question) for one in (event, inner))
        assert many.epsilon == same.epsilon
        lower, _ = rdpkit.lower_bound(event, delta=1e-5, adjacency=adjacency)
        upper = rdpkit.epsilon(event, delta=1e-5, adjacency=adjacency)
        assert lower.epsilon == pytest.approx(upper.epsilon, rel=1e-6)


def test_assumptions_name_what_the_weights_rest_on():
    event = ClassMoments(noise_std=1.0, sum_weight=1.0)
    assert event.assumptions() == ("no record has an L2 norm above 1",)
    assert len(ClassMoments(noise_std=1.0, sum_weight=1.0, nonnegative=True).assumptions()) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sum_weight": 0.0}, r"Expected the weights not to be all 0, got \(0.0, 0.0, 0.0, 0.0\)"),
        ({"sum_weight": 1e308}, "Expected the weights to have a finite sum of squares"),
    ],
)
def test_bad_parameters(changes, message):
    with pytest.raises(ValueError, match=message):
        ClassMoments(**{"noise_std": 1.0, "sum_weight": 1.0, **changes})


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=6).filter(lambda x: max(map(abs, x)) > 1e-9)
)
def test_the_second_direction_is_orthogonal(entries):
    unit = np.array(entries) / np.linalg.norm(entries)
    second = orthogonal(unit)
    assert abs(second @ unit) < 1e-15 * len(unit)
    assert second @ second == pytest.approx(1.0, rel=1e-15)


def test_records_off_the_line_need_two_coordinates():
    event = ClassMoments(noise_std=1.0, sum_weight=0.0, pooled_weight=1.0)
    pair = rdpkit.worst_pair(event, adjacency="replace_one", delta=1e-3)
    assert "v another unit vector" in pair.describe()[0]
    with pytest.raises(ValueError, match="Expected at least 2 coordinates"):
        pair.datasets(1)
