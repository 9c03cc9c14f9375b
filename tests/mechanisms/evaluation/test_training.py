import numpy as np
import pytest
import torch

from rdpkit.mechanisms.evaluation.training import (
    Training,
    accuracy,
    best_device,
    seeded,
    soft_labels,
    train,
)
from rdpkit.mechanisms.models import build_model


def separable(n: int = 120, seed: int = 0):
    """Two classes of 2 x 2 images that differ in one pixel by far more than they vary."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    images = rng.normal(0, 0.1, (n, 1, 2, 2)).astype(np.float32)
    images[:, 0, 0, 0] += 2.0 * labels - 1.0
    return images, labels


def trained(images, labels, seed=0, augment=None, progress=None, **changes):
    settings = Training(**({"epochs": 5, "batch_size": 16, "learning_rate": 0.01} | changes))
    with seeded(seed):
        model = build_model("mlp", 1, 2, 2)
        done = train(
            model, images, labels, settings=settings, classes=2, seed=seed, augment=augment,
            progress=progress,
        )  # fmt: skip
    return model, done


@pytest.mark.thorough
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 5e-4},
        {"schedule": "cosine"},
        {"schedule": "step", "step_epochs": 2, "step_factor": 0.1},
        {"loss": "kl"},
        {"validation_fraction": 0.2, "patience": 3},
    ],
)
def test_every_way_of_training_learns_what_can_be_learnt(changes):
    images, labels = separable()
    model, done = trained(images, labels, **changes)
    assert accuracy(model, *separable(seed=1)) > 0.97
    assert done.losses[-1] < done.losses[0]


def test_without_signal_nothing_is_learnt():
    images, labels = separable()
    images[:, 0, 0, 0] = 0.0
    model, _ = trained(images, labels)
    # 1000 fair guesses stay within 0.5 +- 0.1 but with probability 3e-10; the seed is fixed.
    tested, expected = separable(1000, seed=1)
    tested[:, 0, 0, 0] = 0.0
    assert abs(accuracy(model, tested, expected) - 0.5) < 0.1


def test_the_seed_decides_everything():
    images, labels = separable()
    one, first = trained(images, labels, seed=3)
    two, second = trained(images, labels, seed=3)
    other, third = trained(images, labels, seed=4)
    assert first == second != third
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(next(one.parameters()), next(other.parameters()))


def test_a_seed_leaves_the_global_generator_alone():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    with seeded(99):
        torch.rand(5)
    assert torch.equal(torch.rand(1), expected)


def noise_alone():
    """No validation accuracy goes on rising here."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 1, 2, 2)).astype(np.float32), rng.integers(0, 2, 60)


def test_patience_ends_training():
    _, done = trained(*noise_alone(), epochs=200, validation_fraction=0.5, patience=4)
    assert done.epochs == done.best_epoch + 4 < 200


def test_the_best_epoch_on_records_held_back_is_kept_or_the_last_one():
    images, labels = noise_alone()
    held = torch.randperm(60, generator=torch.Generator().manual_seed(0))[:30].numpy()
    asked = {"validation_fraction": 0.5}
    best, chosen = trained(images, labels, epochs=12, **asked)
    runs = [trained(images, labels, keep="last", epochs=epochs, **asked) for epochs in range(1, 13)]
    right = [accuracy(model, images[held], labels[held]) for model, _ in runs]
    assert chosen.best_epoch == 1 + int(np.argmax(right)) < 12
    # Up to the best epoch the two are one run.
    (shorter, _), (last, done) = runs[chosen.best_epoch - 1], runs[-1]
    assert done.losses == chosen.losses
    assert (done.best_epoch, done.epochs) == (12, 12)
    for one, two, other in zip(*(m.parameters() for m in (best, shorter, last)), strict=True):
        assert torch.equal(one, two)
        assert not torch.equal(one, other)


def test_soft_labels_are_distributions():
    noisy = np.array([[0.5, -0.1, 1.5], [-1.0, -2.0, -0.5], [0.0, 2.0, 0.0]])
    rows = soft_labels(noisy, 3)
    # Exact in binary but for thirds: float32 rounding.
    np.testing.assert_allclose(rows, [[0.25, 0, 0.75], [1 / 3] * 3, [0, 1, 0]], rtol=1e-6)
    np.testing.assert_array_equal(soft_labels(np.array([1, 0]), 2), [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="Expected labels to be numbers of shape"):
        soft_labels(np.array([[np.nan, 1.0]]), 2)


def test_kl_loss_of_a_perfect_answer_is_zero_and_matches_the_formula():
    images, _ = separable(2)
    target = np.array([[0.25, 0.75], [0.5, 0.5]])
    with seeded(0):
        model = build_model("mlp", 1, 2, 2)
    with torch.no_grad():
        logs = torch.log_softmax(model(torch.from_numpy(images)), 1).double().numpy()
    _, done = trained(images, target, epochs=1, batch_size=2, loss="kl")
    expected = (target * (np.log(target) - logs)).sum() / 2
    # float32 arithmetic of numbers near 1.
    assert done.losses[0] == pytest.approx(expected, rel=1e-5)


def test_hard_labels_are_taken_from_soft_ones():
    images, labels = separable()
    soft = np.where(np.eye(2)[labels] > 0, 0.6, -0.4)
    model, _ = trained(images, soft)
    assert accuracy(model, images, labels) > 0.97


def test_the_augmentation_is_used_and_seeded():
    images, labels = separable(40)
    calls = []

    def augment(batch, generator):
        calls.append(float(torch.rand(1, generator=generator)))
        return batch + 0.0

    trained(images, labels, augmentation="dsa", augment=augment, epochs=2)
    first, calls = calls, []
    trained(images, labels, augmentation="dsa", augment=augment, epochs=2)
    assert calls == first
    assert len(first) == 2 * 3
    with pytest.raises(ValueError, match="Expected augment to do 'dsa'"):
        trained(images, labels, augmentation="dsa")


def test_one_record_left_over_joins_no_batch():
    """Batch normalisation has no variance of one record, and would raise."""
    images = np.random.default_rng(0).normal(size=(17, 1, 4, 4)).astype(np.float32)
    with seeded(0):
        model = build_model("dpcda-cnn", 1, 4, 2)
        settings = Training(epochs=1, batch_size=8)
        done = train(model, images, np.arange(17) % 2, settings=settings, classes=2, seed=0)
    assert done.epochs == 1


def test_nothing_that_is_no_number_passes():
    images, labels = separable()
    images[3, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="Expected images to be finite"):
        trained(images, labels)
    with pytest.raises(ValueError, match="Expected the model's logits to be numbers"):
        accuracy(build_model("mlp", 1, 2, 2), images, labels)
    images[3, 0, 0, 0] = 1e30
    with pytest.raises(ValueError, match="Expected the training loss to stay finite"):
        trained(images * 1e8, labels, optimizer="sgd", learning_rate=10.0, epochs=20)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "Expected epochs"),
        ({"optimizer": "lion"}, "Expected optimizer to be one of 'adam', 'sgd'"),
        ({"learning_rate": 0.0}, "Expected learning_rate"),
        ({"momentum": 1.0}, r"Expected momentum in \[0, 1\)"),
        ({"patience": 3}, "Expected patience only where validation_fraction"),
        ({"validation_fraction": 1.0}, "Expected validation_fraction"),
        ({"schedule": "linear"}, "Expected schedule"),
    ],
)
def test_bad_settings_are_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        Training(**({"epochs": 1, "batch_size": 1} | changes))


def test_records_and_labels_must_fit():
    images, labels = separable()
    with pytest.raises(ValueError, match="Expected images to be"):
        trained(images[:-1], labels)
    with pytest.raises(ValueError, match=r"Expected labels to be integers in \[0, 1\]"):
        trained(images, labels + 1)
    with pytest.raises(ValueError, match="to leave records on both sides"):
        trained(images[:3], labels[:3], validation_fraction=0.1)
    with pytest.raises(ValueError, match="Expected images"):
        accuracy(build_model("mlp", 1, 2, 2), images[:0], labels[:0])


def test_progress_is_told_and_a_device_is_found():
    images, labels = separable(20)
    seen = []
    trained(images, labels, epochs=3, progress=lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert best_device() == ("cuda" if torch.cuda.is_available() else "cpu")
