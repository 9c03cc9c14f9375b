"""Scores of the record in which the data sets differ."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.scores.named_score import TrainingOutputs
from rdpkit.verification.blackbox.scores.record import (
    difference_scores,
    differing_records,
    directions,
    places_of_records,
    record_scores,
)

ONE, TWO = np.array([0.5, -0.25, 1.0]), np.array([0.125, -0.25, 0.0])


def pair(first=ONE, second=TWO):
    common = np.arange(6.0).reshape(2, 3)
    rows = [common if record is None else np.vstack([common, record]) for record in (first, second)]
    return Neighbours(
        first=LabelledData(features=rows[0]),
        second=LabelledData(features=rows[1]),
        adjacency="replace_one" if len(rows[0]) == len(rows[1]) else "add_or_remove_one",
    )


def training(p, q, *, shapes=None, data=None):
    return TrainingOutputs(p=p, q=q, shapes=shapes or ((p.shape[1],),), pair=data or pair())


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def test_the_records_that_differ():
    first, second = differing_records(pair())
    assert first.tolist() == ONE.tolist()
    assert second.tolist() == TWO.tolist()
    first, second = differing_records(pair(None, TWO))
    assert first is None
    assert second.tolist() == TWO.tolist()


def test_where_a_release_has_the_dimension_of_a_record():
    def places(*shapes):
        return [one.tolist() for one in places_of_records(shapes, features=3)]

    assert places((3,)) == [[[0, 1, 2]]]
    assert places((2,), (2, 3)) == [[[2, 3, 4], [5, 6, 7]]]
    assert places((2, 1, 3, 1)) == [[[0, 1, 2], [3, 4, 5]]]
    assert places((3, 2), ()) == []


def test_directions_along_the_difference():
    found = dict(directions(training(noise(1, 50, 6), noise(2, 50, 6), shapes=((2, 3),))))
    along = found["the difference of the records"]
    difference = (ONE - TWO) / np.abs(ONE - TWO).max()
    assert along.reshape(2, 3).tolist() == [difference.tolist()] * 2
    # A pair that is not known, and releases of another dimension, have none.
    assert directions(training(noise(1, 50, 4), noise(2, 50, 4))) == []


def test_products_of_the_record_in_a_matrix():
    found = dict(directions(training(noise(1, 50, 9), noise(2, 50, 9), shapes=((3, 3),))))
    matrix = found["the products of the records"].reshape(3, 3)
    expected = np.outer(ONE, ONE) - np.outer(TWO, TWO)
    assert matrix == pytest.approx(expected / np.abs(expected).max(), rel=1e-12)


def test_the_difference_is_the_best_score_of_a_noisy_sum():
    difference = 0.5 * (ONE - TWO) / np.linalg.norm(ONE - TWO)
    p, q = noise(1, 60, 3) + difference, noise(2, 60, 3)
    score = difference_scores(training(p, q))[0]
    fresh = [noise(3, 20_000, 3) + difference, noise(4, 20_000, 3)]
    values = [score.of(side) for side in fresh]
    assert (values[0].mean() - values[1].mean()) / values[1].std() > 0.45


def test_coordinates_of_another_scale_are_weighted():
    scale = np.array([1.0, 1.0, 100.0])
    p, q = noise(1, 400, 3) * scale + ONE - TWO, noise(2, 400, 3) * scale
    score = difference_scores(training(p, q))[0]
    assert score.name.endswith("scaled")


@pytest.mark.parametrize("factor", [1.0, 0.01, 1e6])
def test_a_clipped_record_has_the_same_direction(factor):
    p, q = noise(1, 400, 3), noise(2, 400, 3)
    p[::50] = ONE * factor
    found = {one.name: one for one in record_scores(training(p, q))}
    values = found["angle to the record"].of(p)
    assert values[::50].min() > np.delete(values, np.s_[::50]).max()


def test_the_record_in_any_row():
    p, q = noise(1, 400, 12), noise(2, 400, 12)
    p[::50, 6:9], q[::40, 3:6] = ONE, TWO
    found = {one.name: one for one in record_scores(training(p, q, shapes=((4, 3),)))}
    distance = found["distance to the record"]
    assert distance.of(p)[::50].min() > 10.0
    assert distance.of(q)[::40].max() < -10.0
    count = found["coordinates of the record"]
    # The second coordinate is the same in both records.
    assert set(count.of(p)[::50]) == {2.0}
    assert set(count.of(q)[::40]) == {-1.0}
    assert set(np.delete(count.of(p), np.s_[::50])) == {0.0}


def test_single_coordinates_in_a_release_of_another_dimension():
    p, q = noise(1, 400, 2), noise(2, 400, 2)
    p[::50, 1] = ONE[0]
    (score,) = record_scores(training(p, q))
    assert np.flatnonzero(score.of(p)).tolist() == list(range(0, 400, 50))
    assert not score.of(q).any()


def test_a_record_in_single_precision_is_recognised():
    record = np.array([0.1, 0.2, 0.3])
    p, q = noise(1, 400, 3), noise(2, 400, 3)
    p[3] = record.astype(np.float32)
    found = record_scores(training(p, q, data=pair(record, None)))
    assert {int(np.argmax(one.of(p))) for one in found} == {3}


def test_records_of_zeros():
    p, q = noise(1, 100, 3), noise(2, 100, 3)
    for data in (pair(np.zeros(3), None), pair(np.zeros(3), ONE)):
        for one in record_scores(training(p, q, data=data)):
            assert np.isfinite(one.of(p)).all()
        assert all(np.isfinite(one.of(p)).all() for one in difference_scores(training(p, q)))
