from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms.algorithms import moments
from rdpkit.mechanisms.algorithms.moments import MomentsOptions
from rdpkit.mechanisms.parts.moments.basis import Basis
from rdpkit.mechanisms.parts.moments.rounds import (
    MomentShares,
    RoundView,
    add_symmetric,
    noisy_moments,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.release import load_release
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.verify import verify

REPLACE = "replace_one"


def _data(count=600, side=8):
    """Two classes of stripes, across and down, with noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, count)
    stripes = 0.5 + 0.4 * np.sin(np.arange(side) * math.pi / 2)
    rows = np.where(labels[:, None, None] == 0, stripes[:, None], stripes[None, :])
    rows = np.clip(rows + rng.normal(0, 0.1, (count, side, side)), 0, 1)
    return rows[:, None].astype(np.float32), labels


def _made(basis, *, std=0.02, seed=1, outputs=5, **options):
    features, labels = _data()
    given = MomentsOptions(noise_std=std, basis=basis, outputs_per_class=outputs, **options)
    privacy = Privacy(delta=1e-5, adjacency=REPLACE, noise=NoiseSource.seeded(seed))
    return moments.synthesize(features, labels, classes=2, options=given, privacy=privacy)


@pytest.mark.parametrize("basis", ["scattering", "cosines", "columns"])
def test_a_release_is_read_and_has_records_in_their_shape(basis, tmp_path):
    made = _made(basis, frequencies=0 if basis == "columns" else 2, class_directions=4)
    made.save(tmp_path / "made.npz")
    back = load_release(tmp_path / "made.json")
    features, labels = _data()
    rows = features.reshape(len(features), -1)
    found = moments.read(back, rows)
    np.testing.assert_array_equal(found, moments.read(made, rows))
    if basis != "cosines":  # two frequencies do not see the stripes
        assert np.mean(found == labels) > 0.9
    if basis != "scattering":
        assert made.features.shape == (10, 1, 8, 8)
        assert made.features.min() >= 0
        assert made.features.max() <= 1
    assert made.labels.tolist() == [0] * 5 + [1] * 5
    assert made.manifest.parameters["counts"]["origin"] == "noisy"


def test_draws_look_like_their_class():
    made = _made("columns", class_directions=64, outputs=100)
    features, labels = _data()
    for label in (0, 1):
        own = made.features[made.labels == label].mean(axis=0)
        distances = [np.abs(own - features[labels == k].mean(axis=0)).mean() for k in (0, 1)]
        assert 2 * distances[label] < distances[1 - label]


def test_the_guarantee_is_that_of_one_gaussian_release():
    options = MomentsOptions(noise_std=5.0)
    event = options.event()
    assert event.record_norm == 1.0
    assert 1.45 < event.record_diameter < 1.47
    with_less = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon
    assert with_less < rdpkit.epsilon(event, delta=1e-5, adjacency=REPLACE).epsilon


def test_all_rounds_together_use_the_budget():
    """Their Gaussian means, in the worst case of one record more, have the norm 1 / std."""
    plan = MomentShares(rounds=2)
    squares = plan.location + 2 * plan.length
    for number in range(2):
        sums, pooled, by_class = plan.noise(number, 3.0)
        parts = [9.0 / std**2 for std in (sums, pooled, by_class) if std]
        squares += sum(parts)
        assert sum(parts) == pytest.approx(plan.share)
    assert squares == pytest.approx(1.0)


def test_the_noise_on_products_is_the_same_for_each_number():
    drawn = np.random.default_rng(0).normal(size=(4000, 6))
    found = np.zeros((4000, 3, 3))
    for matrix, numbers in zip(found, drawn, strict=True):
        add_symmetric(matrix, numbers)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))
    assert found.var(axis=0)[np.diag_indices(3)] == pytest.approx(1.0, abs=0.1)
    assert found.var(axis=0)[np.triu_indices(3, 1)] == pytest.approx(0.5, abs=0.05)


def test_one_record_moves_a_round_by_no_more_than_its_norm():
    """Without noise, and far away: sums, products once, and those of the class, with weights."""
    rows = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
    rows[-1] = 1e30
    labels = np.arange(50) % 3
    plan = MomentShares(rounds=1)
    view = RoundView(offset=np.zeros(4), matrix=np.eye(4), radius=2.0)
    given = {"classes": 3, "block": 2, "plan": plan, "number": 0, "std": 0.0}
    given["noise"] = NoiseSource.seeded(0)
    more = noisy_moments(rows, labels, view, **given)
    less = noisy_moments(rows[:-1], labels[:-1], view, **given)
    a, b, c = plan.weights(0)
    square = a * np.sum((more.sums - less.sums) ** 2)
    square += b * np.sum((more.pooled - less.pooled) ** 2)
    square += c * np.sum((more.by_class - less.by_class) ** 2)
    assert 0.6 < square <= 1.0


@pytest.mark.parametrize("name", ["scattering", "cosines", "columns"])
def test_an_image_alone_decides_its_features(name):
    images = np.random.default_rng(2).random((20, 2, 12, 9)).astype(np.float32)
    basis = Basis(name=name, frequencies=2, shape=(2, 12, 9))
    together = basis.rows(images)
    changed = images.copy()
    changed[3] = 0
    other = basis.rows(changed)
    assert together.shape == (20, basis.dimension)
    np.testing.assert_array_equal(np.delete(together, 3, 0), np.delete(other, 3, 0))
    assert (together[3] != other[3]).any()
    assert basis.kept_rows(images) is basis.kept_rows(images.copy())
    if name == "scattering":
        assert np.linalg.norm(together, axis=1).max() <= 1.0


@pytest.mark.parametrize("name", ["cosines", "columns"])
def test_an_invertible_basis_is_inverted(name):
    images = np.random.default_rng(2).random((5, 1, 6, 6)).astype(np.float32)
    basis = Basis(name=name, frequencies=6, shape=(1, 6, 6))
    back = basis.images(basis.rows(images).astype(np.float64))
    np.testing.assert_allclose(back, images, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [("noise_std", 0.0), ("basis", "pixels"), ("frequencies", -1), ("rounds", 0),
     ("class_directions", -1), ("outputs_per_class", 0)],
)  # fmt: skip
def test_options_that_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        MomentsOptions(**{"noise_std": 1.0, name: value})


def test_more_frequencies_than_there_are():
    with pytest.raises(ValueError, match="at most 2"):
        Basis(name="scattering", frequencies=3, shape=(1, 8, 8))


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_verify_rejects_half_the_noise_and_not_the_whole(factor):
    """Seeded; a true claim is rejected with probability 0.05 with another seed."""
    target = moments.verify_target
    std = factor * target.event.noise_std
    tested = replace(target, run=partial(moments._all_rounds, std=std))
    options = VerificationOptions(samples=8000, seed=1, training=400, scores=("linear",))
    assert verify(tested, options=options).rejected is (factor < 1)
