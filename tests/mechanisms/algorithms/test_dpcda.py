"""DP-CDA: what it releases, what it says of it, and how far one record can move it."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.algorithms import dpcda
from rdpkit.mechanisms.parts.mixing import Mixer
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Records, noisy_statistics, public_scaling
from rdpkit.mechanisms.releases.release import load_release
from tests.events import of_papers
from tests.mechanisms.flat import synthesize
from tests.mechanisms.small_data import BYTES, images

made = partial(
    synthesize, dpcda, *images(), classes=3, samples_per_class=5, order_of_mixture=4, clip_norm=1.0,
    feature_noise=0.5, label_noise=0.0, scaling=BYTES, delta=1e-5, adjacency="replace_one", noise=1,
    counts="public",
)  # fmt: skip


@pytest.mark.thorough
def test_each_class_has_its_own_number_of_samples():
    one = made(samples_per_class=[1, 2, 3])
    assert one.labels.tolist() == [0, 1, 1, 2, 2, 2]
    assert (one.features.shape, one.features.dtype) == ((6, 4, 4), np.float32)


def test_means_are_of_clipped_records_of_the_class():
    """With all records and next to no noise, the release is the mean of the class."""
    features, labels = images(kind=np.float64)
    one = made(order_of_mixture=20, feature_noise=1e-12, dtype=np.float64, samples_per_class=1)
    rows = features.reshape(60, -1) / 255
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    expected = [rows[labels == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(one.features.reshape(3, -1), expected, atol=1e-10)


def test_every_release_draws_its_own_subset():
    features, labels = images()
    records = Records(features=features, labels=labels, classes=3, scaling=BYTES, norm=1.0)
    event = of_papers.dpcda((20, 20, 20), 20, 2, noise=1e-9)
    first, _ = next(dpcda.batches(records, event=event, noise=NoiseSource.seeded(1)))
    # Of 190 subsets, 20 draws take 18 different ones or more in all but 1 of 100 cases; seeded.
    assert len(np.unique(np.round(first, 5), axis=0)) > 10


def test_the_noise_has_the_stated_size():
    """Seeded; with another seed it fails in 6 of 10 million cases."""
    one = synthesize(
        dpcda, np.zeros((10, 1000)), np.zeros(10, dtype=int), classes=1, samples_per_class=20,
        order_of_mixture=3, clip_norm=1.0, feature_noise=0.3, label_noise=0.0,
        scaling=public_scaling(), delta=1e-5, adjacency="replace_one", noise=4, counts=[10],
        dtype=np.float64,
    )  # fmt: skip
    # The variance of n squares is 2/n: five standard errors.
    assert abs(np.mean(one.features**2) / 0.09 - 1.0) < 5.0 * math.sqrt(2.0 / 20_000)


def test_noisy_labels_are_drawn_as_the_algorithm_says():
    """Seeded; with another seed it fails in 6 of 10 million cases."""
    one = made(label_noise=1.0, samples_per_class=3000)
    kept = np.mean(one.labels == np.repeat(np.arange(3), 3000))
    # P(1 + n0 > max(n1, n2)): by quadrature over n0's normal density.
    grid = np.linspace(-9, 10, 20_001)
    density = np.exp(-((grid - 1) ** 2) / 2) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in grid])
    expected = np.sum(density * below**2) * (grid[1] - grid[0])
    assert abs(kept - expected) < 5 * math.sqrt(0.25 / 9000)


def test_noisy_statistics_are_composed():
    features, _ = images()
    noise = NoiseSource.seeded(3)
    scaling = noisy_statistics(
        features, lower=0.0, upper=255.0, records=60, noise_std=20.0, smallest_deviation=0.1,
        noise=noise,
    )  # fmt: skip
    one = made(scaling=scaling, noise=noise)
    first, second = one.manifest.event.events
    assert first == scaling.event
    assert second == made().manifest.event
    assert one.guarantee > made().guarantee
    assert "pays for" in one.manifest.notes[-1]


def test_a_seed_gives_the_same_release_out_of_core_or_not(tmp_path):
    one = made()
    streamed = made(out=tmp_path / "features.npy")
    assert isinstance(streamed.features, np.memmap)
    np.testing.assert_array_equal(streamed.features, one.features)
    assert streamed.manifest.arrays == one.manifest.arrays
    streamed.save(tmp_path / "release.npz")
    assert load_release(tmp_path / "release.json").manifest == one.manifest


def test_progress_is_told():
    seen = []
    made(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(5, 15), (10, 15), (15, 15)]


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_swapping_a_record_moves_a_mean_by_what_the_event_says(seed):
    rng = np.random.default_rng(seed)
    kind = rng.choice([np.uint8, np.float32, np.float64])
    features = rng.integers(0, 256, (6, 5)).astype(kind)
    changed = features.copy()
    changed[2] = rng.integers(0, 256, 5).astype(kind)
    scaling = public_scaling(factor=2 / 255, shift=-1.0)
    norm = float(rng.uniform(0.1, 3.0))
    means = [
        Mixer(
            Records(
                features=data,
                labels=np.zeros(6, dtype=int),
                classes=1,
                scaling=scaling,
                norm=norm,
            )
        ).means(np.array([[0, 2, 5]]))[0]
        for data in (features, changed)
    ]
    event = rdpkit.FixedSizeSampledGaussian(
        noise_std=1.0, record_norm=norm, sample_size=3, population_size=6, release="mean"
    )
    # No tolerance: clipping gives away more than rounding takes.
    assert np.linalg.norm(means[0] - means[1]) <= event.swap_distance


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order_of_mixture": 21}, "Expected order_of_mixture"),
        ({"clip_norm": None}, "Expected clip_norm"),
        ({"classes": 2}, r"Expected labels in \[0, 2\)"),
        ({"classes": 4}, "every class to have a record"),
        ({"samples_per_class": [1, 2]}, "Expected samples_per_class"),
        ({"adjacency": "either"}, "Expected adjacency"),
        ({"delta": 0.0}, "Expected delta"),
        ({"dtype": np.int8}, "Expected dtype"),
        ({"out": "x.bin"}, "Expected out"),
        ({"scaling": 1.0}, "Expected scaling"),
        ({"noise": np.random.default_rng(0)}, "Expected noise"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        made(**changes)
