"""Hypothesis strategies for the parameters that the bounds take."""

import math

import numpy as np
from hypothesis import strategies as st


def log_uniform(low: float, high: float):
    """Floats in [low, high], spread evenly in their logarithm."""
    found = st.floats(math.log(low), math.log(high)).map(math.exp)
    return found.map(lambda value: min(max(value, low), high))


ORDERS = log_uniform(0.01, 255.0).map(lambda gap: 1.0 + gap)
NOISE = log_uniform(0.3, 100.0)
PROBABILITIES = st.one_of(log_uniform(1e-7, 1.0), st.sampled_from([0.5, 0.9, 0.999, 1.0]))
SAMPLES = st.tuples(st.integers(1, 400), st.integers(0, 10**5)).map(lambda t: (t[0], sum(t)))
"""Pairs (sample_size, population_size)."""

PROPER_SAMPLES = SAMPLES.map(lambda t: (t[0], max(t[1], t[0] + 1)))
"""The same, with a smaller neighbour that can be sampled too."""


def envelope_at(nodes, epsilon):
    """An envelope of a privacy profile at real epsilons: chords in e^epsilon, and their mirror."""
    given, values = np.array(nodes.epsilons), np.array(nodes.values)
    size = np.abs(epsilon)
    if given.size == 1:
        right = np.full(size.shape, values[0])
    else:
        left = np.minimum(np.searchsorted(given, size, side="right") - 1, given.size - 2)
        low, high = given[left], given[left + 1]
        inside = np.minimum(size, high)
        span = np.expm1(low - high)
        weight = np.exp(inside - high) * np.expm1(low - inside) / span
        right = (np.expm1(inside - high) / span) * values[left] + weight * values[left + 1]
    mirrored = -np.expm1(-size) + np.exp(-size) * right
    return np.asarray(np.where(epsilon >= 0.0, right, mirrored))
