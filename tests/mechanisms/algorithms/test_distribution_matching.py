from functools import partial

import numpy as np
import pytest

from rdpkit.mechanisms.algorithms import distribution_matching
from tests.mechanisms.flat import synthesize

SHAPE = (1, 8, 8)


def _data():
    # Class 0 is dark on the left, class 1 on the right.
    labels = np.arange(40) % 2
    features = np.random.default_rng(0).uniform(-0.1, 0.1, (40, *SHAPE)).astype(np.float32)
    features[labels == 0, :, :, :4] += 0.9
    features[labels == 1, :, :, 4:] += 0.9
    return features, labels


_synthesize = partial(
    synthesize, distribution_matching, *_data(), classes=2, iterations=3, noise=0, seed=0,
    samples_per_class=4, batch_size=10, operations=(), extractor_width=16, extractor_depth=2,
)  # fmt: skip


@pytest.mark.thorough
def test_synthetic_records_come_to_look_like_their_class():
    found = _synthesize(iterations=60)
    left, right = found.features[..., :4], found.features[..., 4:]
    contrast = left.mean(axis=(1, 2, 3)) - right.mean(axis=(1, 2, 3))
    assert contrast[found.labels == 0].mean() > 0.1 + contrast[found.labels == 1].mean()


@pytest.mark.thorough
def test_the_seed_decides_everything():
    one, two, other = _synthesize(), _synthesize(), _synthesize(seed=1)
    assert one.manifest.arrays == two.manifest.arrays != other.manifest.arrays


def test_records_may_start_where_one_likes():
    initial = np.random.default_rng(0).normal(size=(2, 4, 64))
    found = _synthesize(initial=initial, learning_rate=1e-12)
    np.testing.assert_allclose(found.features.reshape(2, 4, 64), initial, atol=1e-6)
    with pytest.raises(ValueError, match="initial to be finite numbers of shape"):
        _synthesize(initial=initial[:1])


def test_batches_larger_than_a_class_are_the_class():
    assert _synthesize(batch_size=1000).features.shape == (8, *SHAPE)


def test_steps_that_blow_up_are_an_error():
    with pytest.raises(ArithmeticError, match="smaller learning_rate"):
        _synthesize(learning_rate=1e38, iterations=4)
