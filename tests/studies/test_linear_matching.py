import math

import linear_matching
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy

ADD_REMOVE = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
REPLACE = rdpkit.Adjacency.REPLACE_ONE


def _data(n=40, seed=0):
    features = np.random.default_rng(seed).uniform(-1, 1, (n, 1, 2, 3))
    return features, np.arange(n) % 2


def _synthesize(**changes):
    privacy = {"delta": 1e-5, "adjacency": REPLACE, "noise": NoiseSource.seeded(0)}
    privacy |= {name: changes.pop(name) for name in list(changes) if name in privacy}
    settings = {"classes": 2, "privacy": Privacy(**privacy), "samples_per_class": 4}
    return linear_matching.synthesize(*_data(), **(settings | changes))


@pytest.mark.parametrize("n", [1, 3, 6, 20])
def test_the_basis_is_orthogonal_and_its_first_vectors_span_the_records(n):
    records = np.random.default_rng(n).normal(size=(n, 6))
    q = linear_matching.spanning_basis(records)
    np.testing.assert_allclose(q.T @ q, np.eye(6), atol=1e-12)
    # In the basis, the records have nothing beyond the first min(n, d) coordinates.
    assert abs((records @ q)[:, min(n, 6) :]).max(initial=0.0) < 1e-12


def test_records_are_the_mean_plus_turned_initial_records():
    initial = np.random.default_rng(5).normal(size=(2, 4, 6))
    found = _synthesize(initial=initial)
    features, labels = _data()
    for label in range(2):
        records = features[labels == label].reshape(-1, 6)
        expected = initial[label] @ linear_matching.spanning_basis(records).T
        difference = found.features[found.labels == label].reshape(4, 6) - records.mean(axis=0)
        # Releases are in single precision.
        np.testing.assert_allclose(difference, expected, atol=1e-5)


def test_known_initial_records_are_not_private():
    found = _synthesize(initial=np.zeros((2, 4, 6)), noise=NoiseSource.system())
    assert found.guarantee is None
    assert not found.manifest.private
    assert "initial records" in found.manifest.notes[0]
    features, labels = _data()
    np.testing.assert_allclose(found.features[0], features[labels == 0].mean(axis=0), atol=1e-6)


def test_fresh_ones_are_noise_of_standard_deviation_one_around_the_mean():
    found = _synthesize(samples_per_class=3000)
    features, labels = _data()
    for label in range(2):
        mean = features[labels == label].reshape(-1, 6).mean(axis=0)
        noise = found.features[found.labels == label].reshape(-1, 6) - mean
        # 3000 rows: an entry of the covariance is off by 0.026 or less (one standard deviation).
        np.testing.assert_allclose(noise.T @ noise / 3000, np.eye(6), atol=0.13)


def test_the_manifest_holds_the_event_and_its_guarantee():
    found = _synthesize()
    assert found.guarantee == rdpkit.epsilon(found.manifest.event, delta=1e-5, adjacency=REPLACE)
    part = found.manifest.event.events[0]
    assert part.count == 4
    assert part.event.noise_std == 1.0
    assert part.event.sensitivity(REPLACE) == pytest.approx(2 * math.sqrt(6) / 20, rel=1e-14)
    assert part.event.sensitivity(ADD_REMOVE) == part.event.sensitivity(REPLACE)


@settings(max_examples=100, deadline=None)
@given(n=st.integers(1, 6), seed=st.integers(0, 1000), corners=st.booleans())
def test_one_record_moves_a_mean_by_at_most_the_sensitivity(n, seed, corners):
    rng = np.random.default_rng(seed)

    def draw(count):
        return rng.choice([-1.0, 1.0], (count, 6)) if corners else rng.uniform(-1, 1, (count, 6))

    rest, one, other = draw(n), draw(1), draw(1)
    event = linear_matching.mean_event([n + 1], samples_per_class=1, dimension=6)
    with_one = np.concatenate((rest, one)).mean(axis=0)
    removed = np.linalg.norm(with_one - rest.mean(axis=0))
    replaced = np.linalg.norm(with_one - np.concatenate((rest, other)).mean(axis=0))
    # A mean of seven numbers is rounded.
    assert removed <= event.event.sensitivity(ADD_REMOVE) + 1e-15
    assert replaced <= event.event.sensitivity(REPLACE) + 1e-15
