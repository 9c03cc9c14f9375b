"""Laws of outputs that are no mixtures of Gaussians: a few answers, and sums with Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np


@dataclass(frozen=True)
class Answers:
    """Finitely many answers with their probabilities."""

    probabilities: np.ndarray

    def sample(self, rng, n):
        return rng.choice(len(self.probabilities), size=n, p=self.probabilities)[:, None]

    def log_density(self, x):
        return np.log(self.probabilities)[x[:, 0]]


@dataclass(frozen=True)
class LaplaceNoise:
    """A vector plus Laplace noise in each coordinate."""

    centre: np.ndarray
    scale: float

    def sample(self, rng, n):
        return self.centre + rng.laplace(scale=self.scale, size=(n, self.centre.size))

    def log_density(self, x):
        distance = np.abs(x - self.centre).sum(axis=1) / self.scale
        return -distance - self.centre.size * math.log(2.0 * self.scale)


def on_integers(weight, centre, reach):
    """An integer plus noise with these weights; what lies beyond the reach is left out."""
    found = np.array([weight(k - centre) for k in range(-reach, reach + 1)])
    return Answers(found / found.sum())


def softmax(scores, scale):
    """The exponential mechanism: probabilities in e^(score / scale)."""
    found = np.exp((scores - scores.max()) / scale)
    return Answers(found / found.sum())


def permute_and_flip(scores, scale):
    """Over all orders of the options: the first whose coin shows heads."""
    heads = np.exp((scores - scores.max()) / scale)
    found = np.zeros(scores.size)
    orders = list(permutations(range(scores.size)))
    for order in orders:
        left = 1.0
        for option in order:
            found[option] += left * heads[option] / len(orders)
            left *= 1.0 - heads[option]
    return Answers(found / found.sum())


def noisy_maximum(scores, scale):
    """The largest score with Laplace noise, integrated on a fine grid."""
    x = np.linspace(scores.min() - 40.0 * scale, scores.max() + 40.0 * scale, 40_001)
    shifted = (x[None, :] - scores[:, None]) / scale
    below = np.where(
        shifted < 0.0,
        0.5 * np.exp(np.minimum(shifted, 0.0)),
        1.0 - 0.5 * np.exp(-np.maximum(shifted, 0.0)),
    )
    density = np.exp(-np.abs(shifted))
    found = np.array(
        [
            (density[i] * np.prod(np.delete(below, i, axis=0), axis=0)).sum()
            for i in range(scores.size)
        ]
    )
    return Answers(found / found.sum())


def sparse_vector(queries, threshold_scale, query_scale):
    """Which query is the first above the threshold 0, or none, integrated on a fine grid."""
    t = np.linspace(-40.0 * threshold_scale, 40.0 * threshold_scale, 40_001)
    density = np.exp(-np.abs(t) / threshold_scale)
    found, left = [], np.ones_like(t)
    for query in queries:
        shifted = (t - query) / query_scale
        above = np.where(
            shifted < 0.0,
            1.0 - 0.5 * np.exp(np.minimum(shifted, 0.0)),
            0.5 * np.exp(-np.maximum(shifted, 0.0)),
        )
        found.append((density * left * above).sum())
        left = left * (1.0 - above)
    probabilities = np.array([*found, (density * left).sum()])
    return Answers(probabilities / probabilities.sum())
