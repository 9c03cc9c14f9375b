"""Logistic regression in plain numpy, for the entries of the zoo that use no torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rdpkit import DPSGD
from rdpkit.adjacency import Adjacency
from rdpkit.verification.training.trainer import PrivateTraining

Vector = NDArray[np.float64]


class NumpyTraining:
    """DP-SGD for logistic regression, written out.

    Attributes
    ----------
    features, labels : numpy.ndarray
        The training records.
    weights, bias : numpy.ndarray
        What is trained.
    """

    batch_size, epochs, norm, noise_multiplier = 64, 2, 1.0, 1.0

    def __init__(self) -> None:
        made = np.random.default_rng(3)
        self.labels = made.integers(0, 2, 512).astype(np.float64)
        self.features = made.normal(size=(512, 20)) + 0.5 * self.labels[:, None]
        self.weights = np.zeros(20)
        self.bias = np.zeros(1)
        self.generator = np.random.default_rng()

    def batches(self) -> Iterator[tuple[Vector, Vector]]:
        """The batches of an epoch: Poisson samples."""
        for places in self.places():
            yield self.features[places], self.labels[places]

    def places(self) -> Iterator[NDArray[np.intp]]:
        """The positions of the records of each batch of an epoch."""
        count = len(self.labels)
        for _ in range(count // self.batch_size):
            yield np.flatnonzero(self.generator.random(count) < self.batch_size / count)

    def step(self, batch: tuple[Vector, Vector]) -> None:
        """One noisy update."""
        features, labels = batch
        error = 1.0 / (1.0 + np.exp(-(features @ self.weights + self.bias[0]))) - labels
        rows = np.concatenate([error[:, None] * features, error[:, None]], axis=1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        total = (rows * np.minimum(1.0, self.norm / np.maximum(lengths, 1e-12))).sum(axis=0)
        mean = (total + self.noise(total.shape)) / self.batch_size
        self.weights = self.weights - 0.5 * mean[:-1]
        self.bias = self.bias - 0.5 * mean[-1:]

    def noise(self, shape: tuple[int, ...]) -> Vector:
        """Noise for the sum of clipped gradients."""
        return np.asarray(self.generator.normal(0.0, self.noise_multiplier * self.norm, shape))

    def parameters(self) -> dict[str, Vector]:
        """What has been learnt."""
        return {"weights": self.weights, "bias": self.bias}

    def losses(self, batch: tuple[Vector, Vector]) -> Vector:
        """The loss of each record."""
        features, labels = batch
        signs = np.where(labels > 0.5, -1.0, 1.0)
        return np.asarray(np.logaddexp(0.0, signs * (features @ self.weights + self.bias[0])))

    def training(self) -> PrivateTraining:
        """The training, with what the accountant is told."""
        return PrivateTraining(
            step=self.step,
            loader=_Epochs(self),
            event=DPSGD(
                noise_multiplier=self.noise_multiplier,
                dataset_size=len(self.labels),
                batch_size=self.batch_size,
                epochs=self.epochs,
            ),
            adjacency=Adjacency.ADD_OR_REMOVE_ONE,
            delta=1e-5,
            parameters=self.parameters,
            records=(self.features, self.labels),
            indices=self.places,
            losses=self.losses,
            max_grad_norm=self.norm,
            objects=(self,),
            name=type(self).__name__,
        )


class _Epochs:
    """Batches anew for each epoch."""

    def __init__(self, made: NumpyTraining) -> None:
        self.made = made

    def __iter__(self) -> Iterator[tuple[Vector, Vector]]:
        return self.made.batches()
