"""Local perturbation, and random projection before it: one noisy row a record, replace-one only."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.algorithms import local_perturbation, random_projection
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Records
from tests.mechanisms.flat import synthesize
from tests.mechanisms.small_data import BYTES, images

COMMON = {
    "classes": 3, "clip_norm": 1.0, "feature_noise": 2.0, "label_noise": 1.5, "scaling": BYTES,
    "delta": 1e-5, "adjacency": "replace_one", "noise": 1,
}  # fmt: skip
made = partial(synthesize, local_perturbation, *images(), **COMMON)
projected = partial(
    synthesize, random_projection, *images(), **COMMON, dimension=5, projection_seed=11
)


def options(*, feature_noise):
    return local_perturbation.LocalPerturbationOptions(
        clip_norm=1.0, feature_noise=feature_noise, label_noise=1.0
    )


@given(
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.floats(0.1, 10.0),
    st.floats(0.1, 10.0),
)
@settings(deadline=None)
def test_no_two_records_are_farther_apart_than_stated(one, two, classes, noise, soft):
    vectors = []
    for features, label in zip((one, two), classes):
        clipped = np.array(features) / max(1.0, np.linalg.norm(features))
        vectors.append(np.concatenate([clipped / noise, np.eye(3)[label] / soft]))
    event = local_perturbation.record_event(clip_norm=1.0, feature_noise=noise, label_noise=soft)
    # One part in 1e12 for rounding.
    assert np.linalg.norm(vectors[0]) <= event.record_norm * (1 + 1e-12)
    moved = event.sensitivity(rdpkit.Adjacency.REPLACE_ONE)
    assert np.linalg.norm(vectors[0] - vectors[1]) <= moved * (1 + 1e-12)


def test_the_stated_distance_is_attained():
    event = local_perturbation.record_event(clip_norm=3.0, feature_noise=2.0, label_noise=1.0)
    vectors = np.array([[1.5, 1.0, 0.0], [-1.5, 0.0, 1.0]])
    assert event.record_diameter == pytest.approx(np.linalg.norm(vectors[0] - vectors[1]), 1e-15)


def test_rows_are_the_clipped_records_in_their_order():
    features, labels = images()
    one = made(feature_noise=1e-6, label_noise=1e-2, dtype=np.float64)
    rows = features.reshape(60, -1) / 255
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    np.testing.assert_allclose(one.features.reshape(60, -1), rows, atol=1e-5)  # the noise
    np.testing.assert_array_equal(one.labels, labels)


def test_the_noise_has_the_stated_size():
    """Seeded; with another seed it fails in 6 of 10 million cases."""
    features, labels = np.zeros((200, 50)), np.zeros(200, dtype=int)
    data = Records(features=features, labels=labels, classes=1, scaling=BYTES, norm=1.0)
    ((rows, _),) = local_perturbation.batches(
        data, options=options(feature_noise=3.0), noise=NoiseSource.seeded(5)
    )
    assert abs(np.mean(rows**2) / 9.0 - 1.0) < 5 * math.sqrt(2.0 / rows.size)


def test_records_without_a_bound_are_refused():
    features, labels = images()
    data = Records(features=features, labels=labels, classes=3, scaling=BYTES)
    with pytest.raises(ValueError, match="to be clipped"):
        next(
            local_perturbation.batches(
                data, options=options(feature_noise=1.0), noise=NoiseSource.seeded(0)
            )
        )


@pytest.mark.thorough
def test_rows_are_projected_and_then_clipped():
    features, _ = images()
    one = projected(feature_noise=1e-6, dtype=np.float64)
    matrix = random_projection.projection_matrix(16, 5, seed=11)
    rows = features.reshape(60, -1) / 255 @ matrix
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    assert (lengths > 1.0).any()
    np.testing.assert_allclose(one.features, rows / np.maximum(1.0, lengths), atol=1e-5)


def test_the_matrix_keeps_lengths_on_average():
    """Seeded; with another seed it fails in 6 of 10 million cases."""
    matrix = random_projection.projection_matrix(100, 400, seed=3)
    assert matrix.shape == (100, 400)
    # Mean squared length of the rows is 1, each with variance 2/400.
    assert abs((matrix**2).sum(axis=1).mean() - 1.0) < 5 * np.sqrt(2 / 400 / 100)
    np.testing.assert_array_equal(matrix, random_projection.projection_matrix(100, 400, seed=3))
