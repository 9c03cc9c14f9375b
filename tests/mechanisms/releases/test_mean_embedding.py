import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.parts.labelled_images import LabelledImages, labelled_images
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.mean_embedding import (
    EmbeddingOptions,
    Fit,
    class_counts,
    class_sums,
)

CLASSES = 3
SHAPE = (1, 2, 2)


def _unit(images):
    """Rows of norm 1: the largest that is allowed; opposite images have opposite features."""
    flat = images.flatten(1)
    return flat / flat.norm(dim=1, keepdim=True)


def _records(n, seed) -> LabelledImages:
    rng = np.random.default_rng(seed)
    return labelled_images(
        rng.uniform(-1, 1, (n, *SHAPE)), rng.integers(0, CLASSES, n), classes=CLASSES
    )


def _joined(first, second):
    return labelled_images(
        np.concatenate((first.images, second.images)),
        np.concatenate((first.labels, second.labels)),
        classes=CLASSES,
    )


def _sums(data, feature_map=_unit):
    return class_sums(data, feature_map, device="cpu")


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 1200), seed=st.integers(0, 1000))
def test_one_record_moves_sums_by_at_most_their_sensitivity(n, seed):
    rest, one, other = _records(n, seed), _records(1, seed + 1), _records(1, seed + 2)
    first = _sums(_joined(one, rest))
    assert np.linalg.norm(first - _sums(rest)) <= 1.0
    change = np.linalg.norm(first - _sums(_joined(other, rest)))
    assert change <= (2.0 if one.labels[0] == other.labels[0] else math.sqrt(2.0))


def test_the_sensitivities_are_attained():
    rest = _records(5, 0)
    one = labelled_images(np.full((1, *SHAPE), 0.5), [1], classes=CLASSES)
    opposite = labelled_images(np.full((1, *SHAPE), -0.5), [1], classes=CLASSES)
    moved = labelled_images(np.full((1, *SHAPE), 0.5), [2], classes=CLASSES)
    start = _sums(_joined(rest, one))
    # 1e-6 of the norm is kept free for rounding.
    assert np.linalg.norm(start - _sums(rest)) == pytest.approx(1.0, rel=1e-5)
    assert np.linalg.norm(start - _sums(_joined(rest, opposite))) == pytest.approx(2.0, rel=1e-5)
    assert np.linalg.norm(start - _sums(_joined(rest, moved))) == pytest.approx(
        math.sqrt(2.0), rel=1e-5
    )


def test_features_that_are_too_long_are_cut():
    sums = _sums(_records(1, 0), lambda images: 100.0 * _unit(images))
    assert np.linalg.norm(sums) <= 1.0


def test_features_that_are_no_numbers_are_an_error():
    with pytest.raises(ArithmeticError, match="not a finite number"):
        _sums(_records(1, 0), lambda images: images.flatten(1) * math.nan)


@pytest.mark.parametrize(
    ("adjacency", "sensitivity", "count_sensitivity"),
    [
        (rdpkit.Adjacency.ADD_OR_REMOVE_ONE, 1.0, 1.0),
        (rdpkit.Adjacency.REPLACE_ONE, 2.0, math.sqrt(2.0)),
    ],
)
def test_the_event_has_the_derived_sensitivities(adjacency, sensitivity, count_sensitivity):
    sums, counts = EmbeddingOptions(noise_std=4.0, count_noise_std=3.0).event(CLASSES).events
    assert sums.sensitivity(adjacency) == sensitivity
    assert (sums.noise_std, counts.noise_std) == (4.0, 3.0)
    # Never below the real number, and by one unit in the last place at most above.
    assert counts.sensitivity(adjacency) == pytest.approx(count_sensitivity, rel=1e-15)
    assert counts.sensitivity(adjacency) ** 2 >= round(count_sensitivity**2)


def test_public_counts_cost_nothing():
    options = EmbeddingOptions(noise_std=4.0, public_counts=[1, 2, 3])
    assert options.event(CLASSES) == rdpkit.Gaussian(noise_std=4.0, record_norm=1.0)
    found = class_counts(_records(9, 0), options, NoiseSource.seeded(0))
    assert found.tolist() == [1.0, 2.0, 3.0]


def test_noisy_counts_have_the_stated_noise_and_are_at_least_one():
    data = _records(3000, 0)
    exact = np.bincount(data.labels)
    noise = NoiseSource.seeded(1)
    options = EmbeddingOptions(noise_std=1.0, count_noise_std=20.0)
    residuals = np.array([class_counts(data, options, noise) - exact for _ in range(500)])
    # 1500 numbers: one standard deviation of the estimate is 1.8 %.
    assert abs(residuals.std() / 20.0 - 1.0) < 0.09
    wild = EmbeddingOptions(noise_std=1.0, count_noise_std=1e6)
    assert min(class_counts(data, wild, noise).min() for _ in range(20)) == 1.0


@pytest.mark.parametrize(
    ("public", "noise_std", "message"),
    [
        ([1, 2, 3], 1.0, "one of them and not the other"),
        ([1, 2], None, "public_counts to be 3 integers"),
        ([1, 2, 0], None, r"public_counts\[2\]"),
        (None, 0.0, "count_noise_std to be a finite number > 0"),
    ],
)
def test_counts_are_public_or_noisy(public, noise_std, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingOptions(noise_std=1.0, public_counts=public, count_noise_std=noise_std).event(
            CLASSES
        )


@pytest.mark.parametrize("name", ["iterations", "batch_size", "decay_every", "code_size"])
def test_fits_are_checked(name):
    values = {
        "iterations": 1,
        "batch_size": 1,
        "learning_rate": 0.1,
        "decay": 1.0,
        "decay_every": 1,
        "code_size": 1,
    }
    Fit(**values)
    with pytest.raises(ValueError, match=f"{name} to be an integer >= 1"):
        Fit(**values | {name: 0})
