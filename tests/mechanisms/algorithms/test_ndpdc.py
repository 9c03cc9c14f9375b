import shutil
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.mechanisms.algorithms import ndpdc
from rdpkit.mechanisms.parts.augmentation import draw_augmentation
from rdpkit.mechanisms.parts.networks import random_convnet
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.computation import Checkpoint
from tests.mechanisms.flat import synthesize

SHAPE = (1, 8, 8)
EXTRACTOR = random_convnet(0, shape=SHAPE, width=8, depth=2)


def _records(n, seed):
    return np.random.default_rng(seed).uniform(-1, 1, (n, *SHAPE)).astype(np.float32)


def _data(n=30, classes=3, seed=0):
    labels = np.arange(n) % classes
    return _records(n, seed), labels


_synthesize = partial(
    synthesize, ndpdc, classes=3, group_size=4.0, iterations=3, noise_std=0.9, clip_norm=1.0,
    delta=1e-5, adjacency="add_or_remove_one", noise=1, counts="public", seed=2,
    samples_per_class=5, extractor_width=4, extractor_depth=2,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(0, 20),
    seed=st.integers(0, 1000),
    clip=st.sampled_from([1e-3, 1.0, 50.0]),
    augmented=st.booleans(),
)
def test_one_record_moves_the_sum_by_at_most_its_sensitivity(n, seed, clip, augmented):
    augmentation = draw_augmentation(torch.Generator().manual_seed(seed)) if augmented else None

    def total(images):
        return ndpdc.clipped_sum(
            images, extractor=EXTRACTOR, augmentation=augmentation, clip_norm=clip
        )

    rest, one, other = _records(n, seed), _records(1, seed + 1), _records(1, seed + 2)
    with_one = total(np.concatenate((rest, one)))
    assert np.linalg.norm(with_one - total(rest)) <= clip
    # A record in the middle changes what stands where in the batch.
    middle = total(np.concatenate((rest[: n // 2], one, rest[n // 2 :])))
    assert np.linalg.norm(middle - total(rest)) <= clip
    assert np.linalg.norm(with_one - total(np.concatenate((rest, other)))) <= 2 * clip


def test_the_bound_on_the_sum_is_nearly_attained():
    # Otherwise a sum that is far too small would pass the test above.
    one = ndpdc.clipped_sum(_records(1, 0), extractor=EXTRACTOR, augmentation=None, clip_norm=1e-3)
    assert 0.999e-3 < np.linalg.norm(one) <= 1e-3


def test_clipping_leaves_short_rows_and_their_gradients_alone():
    rows = torch.tensor([[0.3, 0.4], [0.0, 0.0], [30.0, 40.0]], requires_grad=True)
    clipped = ndpdc.clip_representations(rows, clip_norm=1.0)
    # 1e-4 of the norm is kept free for rounding.
    expected = torch.tensor([[0.3, 0.4], [0.0, 0.0], [0.6, 0.8]], dtype=torch.float64)
    torch.testing.assert_close(clipped, expected, rtol=2e-4, atol=0)
    clipped[:, 0].sum().backward()
    assert torch.isfinite(rows.grad).all()
    assert rows.grad[0].tolist() == [1.0, 0.0]
    # Lengthening a clipped row changes nothing: the gradient is across it.
    assert abs(float(rows.grad[2] @ rows[2].detach())) < 1e-6


def test_a_representation_that_is_no_number_is_an_error():
    with pytest.raises(ArithmeticError, match="not a finite number"):
        ndpdc.clip_representations(torch.tensor([[np.inf, 0.0]]), clip_norm=1.0)


def test_the_noise_has_the_stated_standard_deviation():
    images = _records(4, 0)
    options = {"extractor": EXTRACTOR, "augmentation": None, "clip_norm": 1.0}
    exact = ndpdc.clipped_sum(images, **options)
    noise = NoiseSource.seeded(3)
    residuals = np.array(
        [ndpdc.noisy_sum(images, noise_std=0.7, noise=noise, **options) - exact for _ in range(200)]
    )
    # 200 x 72 numbers: the estimate is off by 0.6 % (one standard deviation).
    assert residuals.size == 14400
    assert abs(residuals.std() / 0.7 - 1.0) < 0.03
    assert abs(residuals.mean()) < 5 * 0.7 / 120


def test_the_data_are_seen_through_noisy_sums_only(monkeypatch):
    calls = []

    def blind(images, **options):
        calls.append(options["noise_std"])
        return np.ones(options["extractor"].embedding_size)

    monkeypatch.setattr(ndpdc, "noisy_sum", blind)
    one = _synthesize(*_data(seed=0))
    two = _synthesize(*_data(seed=9))
    assert one.manifest.arrays == two.manifest.arrays
    # One release per class and iteration, each with the noise that is accounted for.
    assert calls == [0.9] * (2 * 3 * 3)


@pytest.fixture
def seen(monkeypatch):
    """The sizes of the samples that noisy sums are taken of."""
    found = []

    def watched(images, **options):
        found.append(len(images))
        return np.zeros(options["extractor"].embedding_size)

    monkeypatch.setattr(ndpdc, "noisy_sum", watched)
    return found


@pytest.mark.thorough
def test_samples_are_poisson_with_the_accounted_probability(seen):
    _synthesize(*_data(60), iterations=60, operations=(), noise=NoiseSource.seeded(5))
    # 180 samples of 20 records at q = 1/5: 720 expected, standard deviation 24.
    assert abs(sum(seen) - 720) < 5 * 24
    assert len(set(seen)) > 3


def test_public_class_sizes_decide_the_probabilities_and_may_not_be_those_of_the_data(seen):
    features, labels = _data(40, classes=2)
    found = _synthesize(features, labels, counts=[4, 8, 16], iterations=20)
    # Class 0 joins surely, class 1 with 1/2, and class 2 has no records at all.
    assert set(seen[0::3]) == {20}
    assert abs(sum(seen[1::3]) - 200) < 5 * 10
    assert set(seen[2::3]) == {0}
    assert found.manifest.event.class_sizes == (4, 8, 16)
    assert "public, as the user stated" in found.manifest.notes[0]
    with pytest.raises(ValueError, match="counts to be as many integers as classes"):
        _synthesize(features, labels, counts=[4, 8])


def test_seeds_decide_everything_and_the_global_generator_is_left_alone():
    features, labels = _data()
    torch.manual_seed(11)
    before = torch.get_rng_state()
    one, two = _synthesize(features, labels), _synthesize(features, labels)
    assert one.manifest.arrays == two.manifest.arrays
    assert torch.equal(before, torch.get_rng_state())
    third = _synthesize(features, labels, noise=NoiseSource.seeded(2))
    assert third.manifest.arrays != one.manifest.arrays


class KillError(Exception):
    pass


def _kill_at(iteration):
    def progress(done, total):
        if done == iteration:
            raise KillError

    return progress


def _every_time(path):
    return Checkpoint(path, every=0.0)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_a_killed_run_goes_on_to_the_same_release(tmp_path, momentum):
    path, steps = tmp_path / "new" / "state.npz", []
    run = partial(_synthesize, *_data(), iterations=7, momentum=momentum)
    whole = run()
    for kill in (2, 5):
        with pytest.raises(KillError):
            run(checkpoint=_every_time(path), progress=_kill_at(kill))
    resumed = run(checkpoint=_every_time(path), progress=lambda done, total: steps.append(done))
    assert steps == [6, 7]
    assert resumed.manifest.as_dict() == whole.manifest.as_dict()
    again = run(checkpoint=_every_time(path), progress=_kill_at(7))
    assert again.manifest.arrays == whole.manifest.arrays  # nothing was left to do


def test_secret_noise_is_drawn_afresh_and_never_kept(tmp_path):
    features, labels = _data()
    path = tmp_path / "state.npz"
    made = []
    for _ in range(2):
        with pytest.raises(KillError):
            _synthesize(
                features, labels, noise=NoiseSource.system(), checkpoint=_every_time(path),
                progress=_kill_at(2),
            )  # fmt: skip
        with np.load(path) as saved:
            assert set(saved.files) == {"identity", "iteration", "generator", "synthetic"}
        shutil.copy(path, tmp_path / "copy.npz")
        for name in ("state.npz", "copy.npz"):
            kept = _every_time(tmp_path / name)
            made.append(_synthesize(features, labels, noise=NoiseSource.system(), checkpoint=kept))
        path.unlink()
    hashes = {release.manifest.arrays["features"]["sha256"] for release in made}
    assert len(hashes) == 4
    assert not any(release.manifest.reproducible_noise for release in made)


def test_a_run_goes_on_with_the_noisy_counts_with_which_it_began(tmp_path, monkeypatch):
    """Counts that were drawn again would be a second release of them, which nothing pays for."""
    features, labels = _data()
    path = tmp_path / "state.npz"
    secret = {"counts": "noisy", "iterations": 3}
    with pytest.raises(KillError):
        _synthesize(
            features, labels, **secret, noise=NoiseSource.system(), checkpoint=_every_time(path),
            progress=_kill_at(2),
        )  # fmt: skip
    begun = _every_time(path).parameter("counts")

    def drawn_again(*arguments, **named):
        raise AssertionError

    monkeypatch.setattr("rdpkit.mechanisms.parts.counts.with_noise", drawn_again)
    made = _synthesize(
        features, labels, **secret, noise=NoiseSource.system(), checkpoint=_every_time(path)
    )
    assert made.manifest.parameters["counts"] == begun
    assert made.manifest.private


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    features, labels = _data()
    path = tmp_path / "state.npz"
    with pytest.raises(KillError):
        _synthesize(features, labels, checkpoint=_every_time(path), progress=_kill_at(1))
    for changes in (
        {"seed": 3},
        {"noise_std": 1.0},
        {"learning_rate": 0.5},
        {"noise": NoiseSource.system()},
    ):
        with pytest.raises(ValueError, match=r"state\.npz: the checkpoint is of a run with other"):
            _synthesize(features, labels, checkpoint=_every_time(path), **changes)


def _without(path, *names, **others):
    with np.load(path) as saved:
        arrays = {name: saved[name] for name in saved.files if name not in names}
    np.savez(path, **(arrays | others))


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-400]),
        lambda path: path.write_text("not an archive"),
        lambda path: path.write_bytes(b""),
        lambda path: _without(path, "identity"),
        lambda path: _without(path, "position"),
        lambda path: _without(path, generator=np.zeros(3, np.uint8)),
        lambda path: _without(path, synthetic=np.zeros((3, 5))),
        lambda path: _without(path, iteration=np.array("many")),
        lambda path: _without(path, iteration=np.array([-5])),
        lambda path: _without(path, iteration=np.array([4])),
        lambda path: _without(path, "momentum"),
        lambda path: _without(path, identity=np.array([object()])),
    ],
)
def test_a_damaged_checkpoint_is_one_error_that_says_what_to_do(tmp_path, damage):
    features, labels = _data()
    path = tmp_path / "state.npz"
    with pytest.raises(KillError):
        _synthesize(
            features, labels, momentum=0.5, checkpoint=_every_time(path), progress=_kill_at(1)
        )
    damage(path)
    with pytest.raises(ValueError, match=r"state\.npz: the checkpoint .*; remove it to begin anew"):
        _synthesize(features, labels, momentum=0.5, checkpoint=_every_time(path))


@pytest.mark.thorough
def test_synthetic_records_come_to_look_like_their_class():
    # Class 0 is dark on the left, class 1 on the right: condensing must tell them apart.
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    features = rng.uniform(-0.1, 0.1, (60, *SHAPE)).astype(np.float32)
    features[labels == 0, :, :, :4] += 0.9
    features[labels == 1, :, :, 4:] += 0.9
    found = _synthesize(
        features, labels, classes=2, group_size=20, iterations=60, noise_std=0.05, operations=(),
        extractor_width=16,
    )  # fmt: skip
    contrast = found.features[..., :4].mean(axis=(1, 2, 3)) - found.features[..., 4:].mean(
        axis=(1, 2, 3)
    )
    assert contrast[found.labels == 0].mean() > 0.1 + contrast[found.labels == 1].mean()


def test_steps_that_blow_up_are_an_error():
    with pytest.raises(ArithmeticError, match=r"learning_rate|not a finite number"):
        _synthesize(*_data(), learning_rate=1e38, iterations=4)
