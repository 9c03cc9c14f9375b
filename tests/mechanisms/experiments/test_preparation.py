from types import SimpleNamespace

import numpy as np
import pytest

from rdpkit.mechanisms.experiments.preparation import spread


def means(noise: float, mixed: int = 16, releases: int = 3000):
    """Noisy means of records whose variance is 1 in two directions and 0 in the other eight."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], releases)
    features = np.zeros((2 * releases, 10))
    features[:, :2] = rng.normal(size=(2 * releases, 2)) / np.sqrt(mixed)
    features[:, 5] = labels
    features += rng.normal(size=features.shape) * noise
    manifest = SimpleNamespace(
        parameters={"order_of_mixture": mixed, "feature_noise": noise}, mechanism="dpcda"
    )
    return features.astype(np.float32), labels, manifest


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_records_vary_as_they_did_before_mixing(noise):
    features, labels, manifest = means(noise)
    out = spread(features, labels, manifest)
    for label in (0, 1):
        rows = out[labels == label]
        # 3000 draws of variance 1: a relative standard error of 2.6 percent.
        np.testing.assert_allclose(rows[:, :2].var(axis=0), 1.0, rtol=0.15)
        np.testing.assert_allclose(rows[:, 5].mean(), label, atol=0.02)
    if noise:
        # Directions with nothing but noise lose it.
        assert out[:, 6:].var() < 0.1 * features[:, 6:].var() + 1e-3


def test_class_means_stay_where_they_are():
    features, labels, manifest = means(0.05)
    out = spread(features, labels, manifest)
    for label in (0, 1):
        # float32 sums of 3000 numbers.
        np.testing.assert_allclose(
            out[labels == label].mean(axis=0), features[labels == label].mean(axis=0), atol=1e-4
        )


def test_only_means_of_one_class_can_be_spread():
    features, labels, manifest = means(0.1, releases=2)
    with pytest.raises(ValueError, match="'spread' only for means of records of one class"):
        spread(features, labels, SimpleNamespace(parameters={}, mechanism="ldpdc"))
    with pytest.raises(ValueError, match="'spread' only for means"):
        spread(features, np.eye(2)[labels], manifest)
    with pytest.raises(ValueError, match="Expected releases to be at least 2 of each class"):
        spread(features[1:], np.array([0, 1, 1]), manifest)
