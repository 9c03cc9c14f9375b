"""Clipping never exceeds its norm, and private statistics are refused, named or paid for."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rdpkit import Adjacency
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import (
    Records,
    clip_factors,
    clip_rows,
    exact_z_score,
    left_out,
    noisy_statistics,
    public_scaling,
)

numbers = st.floats(-1e300, 1e300, allow_subnormal=True)


@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=numbers))
@settings(max_examples=100, deadline=None)
def test_no_clipped_row_is_longer_than_its_norm(rows):
    clipped = clip_rows(rows, 0.7)
    for before, after in zip(rows.tolist(), clipped.tolist(), strict=True):
        # math.hypot is correct to the last bit, and independent of the code.
        assert math.hypot(*after) <= 0.7
        if math.hypot(*before) <= 0.69:
            assert after == before


def test_zero_stays_zero_and_directions_stay():
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(clip_factors(rows, 1.0)[:1], [1.0])
    # 2^-40 relative is given away on purpose.
    np.testing.assert_allclose(clip_rows(rows, 1.0)[1], [0.6, 0.8], rtol=1e-11)


def test_public_scaling_is_affine():
    rows = np.array([[0, 255], [51, 0]], dtype=np.uint8)
    scaling = public_scaling(factor=[1 / 255, 2.0], shift=-1.0)
    np.testing.assert_allclose(scaling.apply(rows), [[-1.0, 509.0], [-0.8, -1.0]], rtol=1e-15)
    assert scaling.event is None
    assert scaling.as_dict() == {"origin": "public", "factor": [1 / 255, 2.0], "shift": -1.0}


@pytest.mark.parametrize("value", [math.nan, math.inf, [[1.0]], "1"])
def test_bad_constants_are_refused(value):
    with pytest.raises(ValueError, match="Expected factor"):
        public_scaling(factor=value)


@pytest.mark.parametrize("allowed", [False, None, 1, "yes"])
def test_private_statistics_are_refused_unless_asked_for_by_name(allowed):
    with pytest.raises(ValueError, match="allow_private_statistics=True"):
        exact_z_score(np.ones((3, 2)), allow_private_statistics=allowed)


def test_the_z_score_is_numpys():
    features = np.random.default_rng(0).normal(1e6, 2.0, (500, 3))
    features[:, 2] = 5.0
    scaling = exact_z_score(features, allow_private_statistics=True)
    expected = (features - features.mean(axis=0)) / np.where(
        features.std(axis=0) > 0.0, features.std(axis=0), 1.0
    )
    # A mean of 1e6 with 16 digits leaves 10 for numbers of size 1.
    np.testing.assert_allclose(scaling.apply(features), expected, atol=1e-8)
    # The constants are private: a manifest must not show them.
    assert scaling.as_dict() == {"origin": "exact-z-score"}


def test_noisy_statistics_are_near_the_true_ones_and_paid_for():
    features = np.random.default_rng(1).uniform(2.0, 4.0, (4000, 3))
    scaling = noisy_statistics(
        features,
        lower=0.0,
        upper=8.0,
        records=4000,
        noise_std=1.0,
        smallest_deviation=0.01,
        noise=NoiseSource.seeded(1),
    )
    scaled = scaling.apply(features)
    # Noise of size 1 on sums over 4000 records with deviation 0.144 in units of half the range.
    assert np.abs(scaled.mean(axis=0)).max() < 0.05
    assert np.abs(scaled.std(axis=0) - 1.0).max() < 0.2
    assert scaling.event.noise_std == 1.0
    # A record adds (u, u^2) with three numbers u in [-1, 1]: squares do not move with the sign.
    assert scaling.event.sensitivity(Adjacency.ADD_OR_REMOVE_ONE) == math.sqrt(6.0)
    replaced = scaling.event.sensitivity(Adjacency.REPLACE_ONE)
    assert replaced == pytest.approx(2.0 * math.sqrt(3.0), rel=1e-15)


def test_the_noise_on_statistics_has_the_stated_size():
    """Seeded; with another seed it fails in 6 of 10 million cases."""
    # All records at the centre: the sums are 0, and the mean is what noise made of them.
    features = np.zeros((1, 4000))
    scaling = noisy_statistics(
        features,
        lower=-1.0,
        upper=1.0,
        records=100,
        noise_std=5.0,
        smallest_deviation=1.0,
        noise=NoiseSource.seeded(2),
    )
    found = -scaling.shift / scaling.factor * 100
    assert abs(np.mean(found**2) / 25.0 - 1.0) < 5.0 * math.sqrt(2.0 / 4000)


def records(features, labels, **changes):
    given_all = {"classes": 2, "scaling": public_scaling(), **changes}
    return Records(features=features, labels=labels, **given_all)


def test_records_are_scaled_cut_and_clipped_in_this_order():
    made = records(
        np.array([[[10, 0], [0, 2]]]),
        np.array([1]),
        scaling=public_scaling(shift=-1.0),
        box=(-1.0, 3.0),
        norm=1.0,
    )
    expected = np.array([3.0, -1.0, -1.0, 1.0]) / math.sqrt(12.0)
    np.testing.assert_allclose(made.rows(slice(None))[0], expected, rtol=1e-11)
    assert (made.shape, made.dimension, made.class_sizes) == ((2, 2), 4, (0, 1))


@pytest.mark.parametrize(
    ("features", "labels", "changes", "message"),
    [
        (np.zeros((2, 2)), np.array([0, 2]), {}, r"Expected labels in \[0, 2\)"),
        (np.zeros((2, 2)), np.array([0, -1]), {}, r"Expected labels in \[0, 2\)"),
        (np.zeros((2, 2)), np.array([0.0, 1.0]), {}, "array of integers"),
        (np.zeros((2, 2)), np.array([0]), {}, r"of shape \(2,\)"),
        (np.zeros(2), np.array([0, 1]), {}, "Expected features"),
        (np.array([[np.nan]]), np.array([0]), {}, "finite, got NaN"),
        (np.array([["a"]]), np.array([0]), {}, "Expected features"),
        (
            np.zeros((2, 2)),
            np.array([0, 1]),
            {"scaling": public_scaling(factor=[1.0, 1.0, 1.0])},
            "one number or 2",
        ),
    ],
)
def test_data_that_do_not_fit_are_refused(features, labels, changes, message):
    with pytest.raises(ValueError, match=message):
        records(features, labels, **changes)


def test_classes_can_be_left_out_and_there_may_be_no_record():
    made = records(np.zeros((5, 1)), np.array([0, 0, 0, 1, 1]))
    assert left_out(made, ()) is made
    assert left_out(made, (0,)).class_sizes == (0, 2)
    assert made.class_sizes == (3, 2)
    assert records(np.zeros((0, 3)), np.zeros(0, dtype=int)).class_sizes == (0, 0)
