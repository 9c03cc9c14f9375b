"""Worst-case pairs and random pairs of data sets."""

import numpy as np
import pytest

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.candidate_pairs import (
    of_pair,
    random_neighbours,
    worst_neighbours,
)

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE


def test_a_worst_case_pair_filled_up():
    event = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
    pair = rdpkit.worst_pair(event, adjacency=ADD, delta=1e-5)
    found = of_pair(pair, dimension=3, records=5)
    assert (len(found.first), len(found.second)) == (5, 4)
    assert found.first.features.sum(axis=0).tolist() == [1.0, 0.0, 0.0]
    assert "filled up with 4 records" in found.description[-1]
    assert len(of_pair(pair, dimension=3).second) == 0


def test_a_pair_for_a_stated_number_of_records():
    event = rdpkit.FixedSizeSampledGaussian(
        noise_std=1.0, record_norm=1.0, sample_size=2, population_size=6, release="mean"
    )
    pair = rdpkit.worst_pair(event, adjacency=REPLACE, delta=1e-5)
    assert len(of_pair(pair, dimension=2).first) == 6
    with pytest.raises(ValueError, match="Expected records to be 0"):
        of_pair(pair, dimension=2, records=9)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("records", [1, 6])
def test_random_pairs(adjacency, dimension, records):
    if records == 1 and adjacency is REPLACE:
        records = 2
    found = random_neighbours(
        count=13,
        records=records,
        dimension=dimension,
        record_norm=0.5,
        classes=3,
        adjacency=adjacency,
        rng=np.random.default_rng(4),
    )
    assert len(found) == 13
    for pair in found:
        for side in (pair.first, pair.second):
            # Norms are computed with a few roundings.
            assert (np.linalg.norm(side.features, axis=1) <= 0.5 * (1 + 1e-12)).all()
            assert set(side.labels.tolist()) <= {0, 1, 2}


WHOLE = {
    "discrete Gaussian": rdpkit.DiscreteGaussian(sigma=2.0, record_norm=2),
    "two coordinates": rdpkit.DiscreteGaussian(sigma=2.0, record_norm=1.5, dimension=2),
    "an odd diameter": rdpkit.DiscreteGaussian(sigma=2.0, record_norm=2, record_diameter=3),
    "discrete Laplace": rdpkit.DiscreteLaplace(noise_scale=2.0, record_norm=3),
    "several": rdpkit.Repeated(event=rdpkit.DiscreteGaussian(sigma=2.0, record_norm=1), count=3),
    "a bucket": rdpkit.RandomizedResponse(noise_parameter=0.5, num_buckets=4),
}


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("event", WHOLE.values(), ids=WHOLE)
def test_noise_of_integers_is_for_records_of_integers(event, adjacency):
    if adjacency is ADD and isinstance(event, rdpkit.RandomizedResponse):
        pytest.skip("it hides the bucket of a record, and not that there is one")
    dimension = getattr(event, "dimension", 2)
    (pair,) = worst_neighbours(event, adjacency=adjacency, delta=1e-3, dimension=dimension)
    rows = np.concatenate([pair.first.features, pair.second.features])
    assert (rows == np.rint(rows)).all()
    norm = getattr(getattr(event, "event", event), "record_norm", 1)
    assert np.abs(rows).max() <= norm
