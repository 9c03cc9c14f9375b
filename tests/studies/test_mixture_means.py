"""The means of classes from mixtures of all: right on average, refused if they are hidden."""

import numpy as np
import pytest
from mixture_means import mixture_means

from rdpkit import DPMix
from rdpkit.mechanisms.algorithms import dpmix
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import public_scaling
from tests.mechanisms.flat import synthesize

SHARES = np.array([0.5, 0.3, 0.2])
CENTRES = np.array([[0.2, 0.8, 0.5, 0.5], [0.8, 0.2, 0.5, 0.4], [0.5, 0.5, 0.1, 0.9]])


def event(**changes):
    given = {
        "population_size": 1_000,
        "releases": 20_000,
        "order_of_mixture": 20,
        "feature_dimension": 4,
        "label_dimension": 3,
        "feature_noise": 0.02,
        "label_noise": 0.05,
    }
    return DPMix(**(given | changes))


def records(count=1_000):
    labels = np.repeat(np.arange(3), (SHARES * count).astype(int))
    rng = np.random.default_rng(8)
    return np.clip(CENTRES[labels] + rng.normal(size=(count, 4)) * 0.05, 0.0, 1.0), labels


def released(features, labels, how, *, seed=1):
    return synthesize(
        dpmix,
        features,
        labels,
        classes=3,
        releases=how.releases,
        order_of_mixture=how.order_of_mixture,
        feature_noise=how.feature_noise,
        label_noise=how.label_noise,
        scaling=public_scaling(),
        delta=1e-5,
        adjacency="replace_one",
        noise=NoiseSource.seeded(seed),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("order", [1, 20, 900])
def test_means_come_back(order):
    """Within five standard errors, which the delta method gives for 20,000 releases.

    At l = 900 of 1000 a mixture hardly differs from the next one: without the factor for drawing
    without replacement the means would be ten times as far from their centre.
    """
    how = event(order_of_mixture=order, feature_noise=0.002, label_noise=0.004)
    features, labels = records()
    made = released(features, labels, how)
    found = mixture_means(made.features, made.labels, event=how)
    true = np.array([features[labels == k].mean(axis=0) for k in range(3)])
    narrowed = (1_000 - order) / (order * 999)
    spread = np.sqrt(narrowed * features.var(axis=0) + 0.002**2)
    for k, share in enumerate(SHARES):
        wobble = np.sqrt(narrowed * share * (1 - share) + 0.004**2)
        # The covariance of two numbers whose correlation is at most 1, and so its variance.
        error = np.sqrt(2.0) * spread * wobble / (narrowed * share * np.sqrt(how.releases))
        assert (np.abs(found[k] - true[k]) < 5.0 * error).all()
        assert (5.0 * error < 0.2).all()  # or the test could not fail


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros(10)}, "features to be finite"),
        ({"features": np.full((10, 4), np.inf)}, "features to be finite"),
        ({"features": np.zeros((1, 4)), "labels": np.zeros((1, 3))}, "features to be finite"),
        ({"labels": np.zeros((10, 2))}, r"labels to be finite, of shape \(10, 3\)"),
        ({"labels": np.full((10, 3), np.nan)}, "labels to be finite"),
        ({"event": event(order_of_mixture=1_000)}, "event to mix fewer records"),
        ({"event": None}, "event"),
        (
            {"labels": np.random.default_rng(0).normal(size=(10, 3)) * 9.0},
            "labels to show that every class exists",
        ),
    ],
)
def test_bad_input(change, message):
    given = {
        "features": np.zeros((10, 4)),
        "labels": np.tile(SHARES, (10, 1)),
        "event": event(),
    } | change
    with pytest.raises(ValueError, match=message):
        mixture_means(given.pop("features"), given.pop("labels"), **given)
