"""Trainings whose state is handed from step to step."""

import numpy as np
import pytest

import rdpkit
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.training.checks.step import check_step
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.trainer import functional_training
from rdpkit.verification.training.verify_training import training_maker

FEATURES = np.random.default_rng(0).normal(size=(128, 6))
TARGETS = FEATURES @ np.arange(6.0)


def step(params, state, batch):
    """Linear regression: gradients clipped to 1, noise from a key that is split at each step."""
    features, targets = batch
    rng = np.random.default_rng(state["key"])
    residual = features @ params["weight"] + params["bias"] - targets
    gradients = np.column_stack([features * residual[:, None], residual])
    norms = np.maximum(1.0, np.linalg.norm(gradients, axis=1, keepdims=True))
    total = (gradients / norms).sum(axis=0) + state["noise"] * rng.normal(size=7)
    new = {
        "weight": params["weight"] - 0.1 * total[:6] / 16,
        "bias": params["bias"] - 0.1 * total[6:] / 16,
    }
    return new, {**state, "key": int(rng.integers(2**62))}


def make(noise):
    def batches():
        for _ in range(8):
            chosen = np.random.random(128) < 16 / 128  # noqa: NPY002 - as trainings of others do
            yield FEATURES[chosen], TARGETS[chosen]

    class Loader:
        def __iter__(self):
            return batches()

    return functional_training(
        step,
        params={"weight": np.zeros(6), "bias": np.zeros(1)},
        state={"key": 1, "noise": noise},
        reseeded=lambda state, seed: {**state, "key": seed},
        loader=Loader(),
        event=rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=128, batch_size=16, steps=8),
        adjacency="add_or_remove_one",
        delta=1e-5,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [1.0, 0.5])
def test_the_step_is_checked(noise):
    maker = training_maker(lambda: make(noise))
    found = check_step(maker, TrainingOptions(seed=1, seconds=20.0))
    kinds = [mistake.kind for mistake in found.mistakes]
    assert kinds == ([] if noise == 1.0 else [MistakeKind.NOISE_TOO_SMALL])
    # The bound sees the noise multiplier to within the spread of its estimate.
    assert f"{noise:g}"[:3] in dict(found.measured)["noise multiplier"]
