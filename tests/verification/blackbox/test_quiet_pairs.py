"""Pairs along the directions in which a release has the least noise."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.adversarial_pairs import DataDomain, adversarial_neighbours
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.quiet_pairs import quiet_pairs
from rdpkit.verification.blackbox.tested_claim import dp_claim
from rdpkit.verification.blackbox.verify import verify

ADD, REPLACE = "add_or_remove_one", "replace_one"
RUNS = 4000


def like(dimension, adjacency=ADD, **domain):
    (pair,) = adversarial_neighbours(
        DataDomain(dimension=dimension, **domain), adjacency=adjacency, count=1, seed=1
    )
    return pair


def changed(pair):
    return pair.first.features[-1]


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_a_quiet_coordinate(adjacency):
    rng = np.random.default_rng(3)
    scale = np.ones(30)
    scale[11] = 0.6
    (pair,) = quiet_pairs(rng.normal(0.0, scale, (RUNS, 30)), like=like(30, adjacency))
    assert np.flatnonzero(changed(pair)).tolist() == [11]
    assert 1.0 - 1e-9 < np.linalg.norm(changed(pair)) <= 1.0
    assert "in the coordinate with the least noise" in pair.description[0]
    assert (len(pair.first), len(pair.second)) == ((8, 7) if adjacency == ADD else (8, 8))


def test_a_quiet_direction():
    rng = np.random.default_rng(3)
    quiet = np.ones(10) / np.sqrt(10.0)
    noise = rng.standard_normal((RUNS, 10))
    noise -= 0.5 * np.outer(noise @ quiet, quiet)
    (pair,) = quiet_pairs(noise, like=like(10, record_norm=0.25))
    assert abs(changed(pair) @ quiet) == pytest.approx(0.25, rel=0.05)


@pytest.mark.parametrize("dimension", [2, 10, 100, 600])
def test_even_noise_has_none(dimension):
    """By chance one appears much less often than once in a hundred times; the seed is fixed."""
    noise = np.random.default_rng(3).standard_normal((RUNS, dimension))
    assert quiet_pairs(noise, like=like(dimension)) == []


@pytest.mark.parametrize(("columns", "features"), [(3, 4), (1, 1)])
def test_outputs_without_directions_have_none(columns, features):
    noise = np.random.default_rng(3).normal(0.0, [0.01] + [1.0] * (columns - 1), (RUNS, columns))
    assert quiet_pairs(noise, like=like(features)) == []
    assert quiet_pairs(noise[:3], like=like(columns)) == []


class Sum:
    """A clipped sum, with noise of its own in each coordinate."""

    def __init__(self, scale):
        self.scale = np.array(scale)

    def __call__(self, dataset, rng):
        return self.many(dataset, rng, 1)[0]

    def many(self, dataset, rng, count):
        norms = np.linalg.norm(dataset.features, axis=1, keepdims=True)
        total = (dataset.features / np.maximum(1.0, norms)).sum(axis=0)
        return total + rng.normal(0.0, self.scale, (count, dataset.dimension))


@pytest.mark.thorough
def test_a_quiet_coordinate_is_what_a_test_looks_at():
    """Elsewhere the noise is more than the claim needs: 2.2 for (1, 0.01)."""
    scale = np.full(20, 4.0)
    scale[13] = 0.9
    options = VerificationOptions(samples=40_000, seed=2, dimension=20, scores=("linear",))
    claim = dp_claim(epsilon=1.0, delta=0.01, adjacency=ADD)
    found = verify(Sum(scale), claim=claim, options=options, jobs=1)
    assert found.rejected
    assert any("the coordinate with the least noise" in line for line in found.pair)
    scale[13] = 2.3
    assert not verify(Sum(scale), claim=claim, options=options, jobs=1).rejected
