"""Linear scores, and those of sums of rows."""

import pickle

import numpy as np
import pytest

from rdpkit.verification.blackbox.scores.linear import linear, row_scores
from rdpkit.verification.blackbox.scores.named_score import TrainingOutputs


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def separation(score, p, q):
    """The gap of the means in standard deviations; positive if p is where it should be."""
    return (score(p).mean() - score(q).mean()) / score(q).std()


def shifted(shift, runs, seeds=(1, 2, 3, 4)):
    """Training outputs on both sides, and as many to test."""
    sides = [noise(seed, runs, shift.size) for seed in seeds]
    return sides[0] + shift, sides[1], sides[2] + shift, sides[3]


def test_many_small_differences_add_up():
    # 0.06 of a deviation in each of 300 columns is nothing in any, and 1.04 along their sum.
    p, q, p_test, q_test = shifted(np.full(300, 0.06), 400)
    assert separation(linear(p, q), p_test, q_test) > 0.5


def test_one_large_difference_among_many_columns_is_not_drowned():
    shift = np.zeros(300)
    shift[17] = -1.0
    p, q, p_test, q_test = shifted(shift, 400)
    score = linear(p, q)
    assert np.flatnonzero(score.weights).tolist() == [17]
    assert separation(score, p_test, q_test) == pytest.approx(1.0, abs=0.2)


def test_few_columns_are_whitened():
    # The noise of the second column, which no record touches, is taken away from the first.
    common = noise(5, 2, 1000, 1)
    p, q = (common[side] + 0.1 * noise(side, 1000, 2) for side in (0, 1))
    p[:, 0] += 0.3
    assert separation(linear(p, q), p, q) > 1.5
    assert linear(p, q).weights == pytest.approx([1.0, -1.0], abs=0.1)


@pytest.mark.parametrize("width", [3, 200])
def test_a_constant_column_that_rounds_is_constant(width):
    # The mean of so many times 0.1 is not 0.1; a gap of rounding over no variance is no evidence.
    p, q, p_test, q_test = shifted(np.full(width, 0.5), 300)
    for side in (p, q, p_test, q_test):
        side[:, 1] = 0.1
    score = linear(p, q)
    assert score.weights[1] == 0.0
    assert separation(score, p_test, q_test) > 0.5


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e170, 1e300])
@pytest.mark.parametrize("width", [3, 200])
def test_columns_whose_variance_is_no_double_count_as_others_do(width, size):
    p, q, p_test, q_test = shifted(np.full(width, 0.5), 300)
    plain = separation(linear(p, q), p_test, q_test)
    for side in (p, q, p_test, q_test):
        side[:, 0] *= size / np.abs(side[:, 0]).max()
    score = linear(p, q)
    assert separation(score, p_test, q_test) == pytest.approx(plain, rel=0.3)
    assert np.isfinite(score(np.full((2, width), 1e300) * [[1.0], [-1.0]])).all()


@pytest.mark.parametrize("width", [3, 200])
def test_a_constant_that_differs_says_everything(width):
    p, q = noise(1, 300, width), noise(2, 300, width)
    p[:, 2], q[:, 2] = 0.1, 0.2
    score = linear(p, q)
    assert np.flatnonzero(score.weights).tolist() == [2]
    assert score(p).max() - score(q).min() == pytest.approx(0.01, rel=1e-12)


def synthetic(seed, runs, *, rows=60, shift=0.0):
    """Synthetic records of two classes, with labels: class 1 has three rows."""
    features = noise(seed, runs, rows, 2)
    labels = np.zeros((runs, rows, 1))
    labels[:, 7::20] = 1.0
    features[labels[..., 0] == 0] += shift
    return features, labels


def row_sums(p, q, *, shapes):
    found = row_scores(TrainingOutputs(p=p, q=q, shapes=shapes))
    return found[0].score if found else None


def side_by_side(seed, runs, **options):
    return np.concatenate(synthetic(seed, runs, **options), axis=2).reshape(runs, -1)


def apart(seed, runs, **options):
    """(X, y), flattened one after the other."""
    return np.concatenate(
        [part.reshape(runs, -1) for part in synthetic(seed, runs, **options)], axis=1
    )


@pytest.mark.parametrize(
    ("make", "shapes"), [(side_by_side, ((60, 3),)), (apart, ((60, 2), (60,)))]
)
def test_rows_are_added_up_by_their_labels(make, shapes):
    # A tenth of a deviation in each of 57 rows and two columns: 1.07 in all.
    p, q = make(1, 200, shift=0.1), make(2, 200)
    score = row_sums(p, q, shapes=shapes)
    assert score.args[0].args[0].shape == (60, 2)
    assert np.diff(np.append(score.args[0].args[1], 60)).tolist() == [57, 3]
    found = separation(score, make(3, 2000, shift=0.1), make(4, 2000))
    assert found == pytest.approx(0.1 * np.sqrt(2 * 57), abs=0.15)


def test_the_order_of_rows_in_a_class_says_nothing():
    p, q = side_by_side(1, 200, shift=0.1), side_by_side(2, 200)
    score = row_sums(p, q, shapes=((60, 3),))
    rows = side_by_side(3, 5).reshape(5, 60, 3)
    within, between = rows.copy(), rows.copy()
    within[:, [0, 1]] = rows[:, [1, 0]]
    between[:, [0, 7], :2] = rows[:, [7, 0], :2]
    before = score(rows.reshape(5, -1))
    assert score(within.reshape(5, -1)) == pytest.approx(before, abs=1e-12)
    assert (np.abs(score(between.reshape(5, -1)) - before) > 1e-3).all()


def test_a_score_of_row_sums_reaches_other_processes():
    p, q = side_by_side(1, 200, shift=0.1), side_by_side(2, 200)
    score = row_sums(p, q, shapes=((60, 3),))
    assert pickle.loads(pickle.dumps(score))(p).tolist() == score(p).tolist()


@pytest.mark.parametrize(
    ("shapes", "outputs"),
    [
        (((6,),), noise(1, 50, 6)),
        (((), ()), noise(1, 50, 2)),
        (((2, 2), (3, 1)), noise(1, 50, 7)),
        (((2, 2), ()), noise(1, 50, 5)),
        (((1, 6),), noise(1, 50, 6)),
        (((3, 2),), np.tile([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], (50, 1))),
    ],
    ids=["vector", "numbers", "other-rows", "a-number-besides", "one-row", "constant"],
)
def test_there_may_be_no_rows_to_add(shapes, outputs):
    assert row_sums(outputs, outputs[::-1], shapes=shapes) is None


def test_labels_that_differ_between_the_data_sets_do_not_sort_rows():
    p, q = side_by_side(1, 100), side_by_side(2, 100)
    q.reshape(100, 60, 3)[:, 0, 2] = 1.0
    score = row_sums(p, q, shapes=((60, 3),))
    assert score.args[0].args[1].tolist() == [0]
