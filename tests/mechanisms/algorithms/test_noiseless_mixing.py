from functools import partial

import numpy as np
import pytest

from rdpkit.mechanisms.algorithms import noiseless_mixing
from rdpkit.mechanisms.parts.records import exact_z_score, public_scaling
from tests.mechanisms.flat import synthesize

RNG = np.random.default_rng(0)
FEATURES = RNG.random((60, 5)).astype(np.float32)
LABELS = np.arange(60) % 3


mixed = partial(
    synthesize, noiseless_mixing, FEATURES, LABELS, classes=3, samples_per_class=50,
    order_of_mixture=1, seed=0, scaling=public_scaling(), noise=0,
)  # fmt: skip


def test_one_record_a_mean_is_a_record_of_its_class():
    made = mixed()
    np.testing.assert_array_equal(made.labels, np.repeat([0, 1, 2], 50))
    for row, label in zip(made.features, made.labels, strict=True):
        assert (np.abs(FEATURES[label == LABELS] - row).max(axis=1) == 0.0).any()


def test_a_mean_of_the_whole_class_is_its_mean():
    made = mixed(order_of_mixture=20)
    for label in range(3):
        expected = FEATURES[label == LABELS].mean(axis=0)
        # float32 sums of 20 numbers below 1, in another order.
        np.testing.assert_allclose(
            made.features[made.labels == label], np.tile(expected, (50, 1)), rtol=1e-5
        )


def test_records_are_scaled_then_clipped():
    scaling = exact_z_score(FEATURES, allow_private_statistics=True)
    made = mixed(scaling=scaling, clip_norm=0.5)
    # float32 rounding of a norm.
    assert np.linalg.norm(made.features, axis=1).max() <= 0.5 * (1 + 1e-6)
    assert made.features.min() < 0.0


def test_the_seed_decides_and_too_small_classes_are_errors():
    np.testing.assert_array_equal(mixed(seed=4).features, mixed(seed=4).features)
    assert not np.array_equal(mixed(seed=4).features, mixed(seed=5).features)
    with pytest.raises(ValueError, match=r"to be at most 20 \(the records of class 0\)"):
        mixed(order_of_mixture=21)
