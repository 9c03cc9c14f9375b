from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.algorithms import original, scattering_dpsgd
from rdpkit.mechanisms.algorithms.scattering_dpsgd import Gradients, ScatteringDPSGDOptions
from rdpkit.mechanisms.parts.noise import NoiseSource
from tests.mechanisms.flat import synthesize

SMALL = {"scales": 1, "angles": 2, "group_channels": 1}
OPTIONS = ScatteringDPSGDOptions(steps=1, batch_size=4, noise_multiplier=1.0, **SMALL)


def _rows(n, seed, width=12):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


def _data(n=300, seed=0):
    """Stripes of two directions and dots, with noise of their own."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    y, x = np.mgrid[:8, :8]
    shapes = np.stack([y % 4 < 2, x % 4 < 2, (x + y) % 2 == 0]).astype(float)
    pixels = 0.5 * shapes[labels] + 0.3 * rng.random((n, 8, 8))
    return pixels.reshape(n, 1, 8, 8).astype(np.float32), labels


_synthesize = partial(
    synthesize, scattering_dpsgd, classes=3, steps=30, batch_size=60, noise_multiplier=2.0,
    step_noise=0.2, delta=1e-5, adjacency="add_or_remove_one", noise=1, counts=[300], **SMALL,
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(0, 300),
    seed=st.integers(0, 1000),
    clip=st.sampled_from([1e-3, 1.0, 50.0]),
    size=st.sampled_from([0.0, 1.0, 1e3, 1e300]),
)
def test_one_record_moves_the_sum_by_at_most_its_sensitivity(n, seed, clip, size):
    weights = size * torch.randn(4, 13, generator=torch.Generator().manual_seed(seed)).double()
    labels = np.random.default_rng(seed).integers(0, 4, n + 2)

    def total(rows, labels):
        gradients = Gradients(rows, labels, clip_norm=clip)
        return gradients.clipped_sum(np.arange(len(rows)), weights)

    rest, one, other = _rows(n, seed), 9 * _rows(1, seed + 1), 9 * _rows(1, seed + 2)
    without = total(rest, labels[:n])
    # In front, it moves every other record to another place.
    first = total(np.concatenate((one, rest)), np.concatenate((labels[n : n + 1], labels[:n])))
    assert float((first - without).norm()) <= clip
    second = total(np.concatenate((other, rest)), np.concatenate((labels[n + 1 :], labels[:n])))
    assert float((first - second).norm()) <= 2 * clip


def test_the_bound_is_nearly_attained_and_short_gradients_are_as_autograd_has_them():
    rows, labels = _rows(5, 0), np.array([0, 1, 2, 3, 0])
    weights = torch.randn(4, 13, generator=torch.Generator().manual_seed(0)).double()
    one = Gradients(rows, labels, clip_norm=1e-3).clipped_sum(np.array([2]), weights)
    assert 0.99999e-3 < float(one.norm()) <= 1e-3
    found = Gradients(rows, labels, clip_norm=1e6).clipped_sum(np.arange(5), weights)
    leaf = weights.clone().requires_grad_()
    x = torch.from_numpy(rows).double()
    scores = x @ leaf[:, :-1].T + leaf[:, -1]
    torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels), reduction="sum").backward()
    torch.testing.assert_close(found, leaf.grad, rtol=1e-12, atol=1e-12)


def test_clipping_is_by_record():
    rows, labels = _rows(300, 1), np.arange(300) % 4
    weights = torch.zeros(4, 13, dtype=torch.float64)
    gradients = Gradients(rows, labels, clip_norm=0.7)
    each = [gradients.clipped_sum(np.array([i]), weights) for i in range(300)]
    together = gradients.clipped_sum(np.arange(300), weights)
    torch.testing.assert_close(together, torch.stack(each).sum(dim=0), rtol=1e-12, atol=1e-12)
    assert max(float(one.norm()) for one in each) <= 0.7


def test_the_noise_has_the_stated_standard_deviation_and_samples_are_poisson():
    event = ScatteringDPSGDOptions(steps=1, batch_size=30, noise_multiplier=1.5).event(100)
    gradients = Gradients(np.zeros((100, 50), np.float32), np.zeros(100, int), clip_norm=0.2)
    noise = NoiseSource.seeded(3)
    weights = torch.zeros(2, 51, dtype=torch.float64)
    found = torch.stack(
        [
            scattering_dpsgd.noisy_gradient(
                gradients, weights, event=event, records=100, clip_norm=0.2, noise=noise
            )
            for _ in range(200)
        ]
    )
    # Features are 0, so that only the constants have a gradient: 20,000 numbers are noise alone.
    assert float(found[:, :, :-1].std()) == pytest.approx(0.3, rel=0.03)
    # Each record's gradient is (-1/2, 1/2), of norm 0.707, clipped to 0.2.
    sizes = -found[:, 0, -1] / (0.2 / np.sqrt(2.0))
    assert float(sizes.mean()) == pytest.approx(30.0, abs=1.0)
    assert float(sizes.var()) == pytest.approx(21.0 + 2 * 1.5**2, rel=0.4)


def test_it_learns_and_the_manifest_says_what_was_done():
    made = _synthesize(*_data(), group_channels=3)
    tested, labels = _data(200, seed=5)
    predicted = scattering_dpsgd.read(made, tested.reshape(200, -1))
    assert np.mean(predicted == labels) > 0.9
    assert made.features.shape == (3, 3 * 16 + 1)
    manifest = made.manifest
    assert manifest.event == rdpkit.DPSGD(
        noise_multiplier=2.0, dataset_size=300, batch_size=60, steps=30
    )
    own = rdpkit.epsilon(manifest.event, delta=1e-5, adjacency="add_or_remove_one")
    assert manifest.guarantee.epsilon == own.epsilon
    assert "a classifier, not synthetic records" in " ".join(manifest.notes)
    # The noise is seeded here; nothing else speaks against it.
    assert {c.name for c in manifest.checks if c.status == "fails"} == {"secret_noise"}


def test_without_privacy_the_records_themselves_say_more():
    features, labels = _data(n=120)
    tested, wanted = _data(200, seed=5)
    made = original.synthesize(
        features.reshape(120, -1), labels, noise=NoiseSource.seeded(0), image_shape=(1, 8, 8)
    )
    predicted = original.read(made, tested.reshape(200, -1))
    assert np.mean(predicted == wanted) > 0.95
    flat = original.synthesize(features.reshape(120, -1), labels, noise=NoiseSource.seeded(0))
    with pytest.raises(ValueError, match="image_shape"):
        original.read(flat, tested.reshape(200, -1))


def test_the_same_seed_gives_the_same_classifier_and_the_data_are_seen_through_sums(monkeypatch):
    features, labels = _data()
    first = _synthesize(features, labels, steps=3)
    again = _synthesize(features, labels, steps=3)
    np.testing.assert_array_equal(first.features, again.features)
    monkeypatch.setattr(
        Gradients, "clipped_sum", lambda self, chosen, weights: torch.zeros_like(weights)
    )
    blind = _synthesize(features, labels, steps=3)
    other = _synthesize(1 - features, labels[::-1].copy(), steps=3)
    np.testing.assert_array_equal(blind.features, other.features)


def test_features_are_kept_by_what_the_images_are_and_not_by_which_array():
    images = _data(20)[0]
    first = scattering_dpsgd.kept_rows(images, OPTIONS)
    assert scattering_dpsgd.kept_rows(images.copy(), OPTIONS) is first
    images[3] += 0.5
    changed = scattering_dpsgd.kept_rows(images, OPTIONS)
    np.testing.assert_array_equal(changed, scattering_dpsgd.scattering_rows(images, OPTIONS))
    assert not np.array_equal(changed[3], first[3])
    assert np.array_equal(changed[4], first[4])


def test_much_noise_lowers_the_learning_rate():
    given = {"steps": 1, "batch_size": 4096, "learning_rate": 8.0, "step_noise": 0.005}
    assert ScatteringDPSGDOptions(**given, noise_multiplier=1.0).rate() == 8.0
    assert ScatteringDPSGDOptions(**given, noise_multiplier=10.24).rate() == pytest.approx(2.0)
