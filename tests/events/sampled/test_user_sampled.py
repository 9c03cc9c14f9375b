"""Users with several records: the mixtures of a binomial."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from tests.events import unit

ADD = "add_or_remove_one"


def event_of(noise=2.0, q=0.01, records=4):
    return rdpkit.UserSampledGaussian(
        noise_std=noise, record_norm=1.0, sampling_probability=q, records_per_user=records
    )


def epsilon(event, count=200, adjacency=ADD, **options):
    many = event * count
    return rdpkit.epsilon(many, delta=1e-5, adjacency=adjacency, **options).epsilon


@pytest.mark.thorough
@settings(max_examples=20)
@given(st.floats(1e-6, 1.0, exclude_max=True), st.integers(2, 1000))
def test_probabilities_lean_to_more_records_and_add_up(q, records):
    event = event_of(q=q, records=records)
    for more in (True, False):
        norms, shares = event._contributions(more=more)
        assert math.fsum(shares) == pytest.approx(1.0, abs=1e-9)
        mean = sum(norm * share for norm, share in zip(norms, shares))
        assert mean == pytest.approx(q * records, rel=1e-8)
        exact = [math.comb(records, j) * q**j * (1 - q) ** (records - j) for j in (records, 1)]
        with mpmath.workdps(60):
            at_least_one = float(1 - (1 - mpmath.mpf(q)) ** records)
        found = math.fsum(share for norm, share in zip(norms, shares) if norm > 0.0)
        if more:
            assert found >= min(at_least_one, 1.0) * (1 - 1e-15)
            assert shares[-1] >= exact[0]
            assert norms[-1] >= records or shares[-1] >= 1.0 - 1e-9
        else:
            assert found <= at_least_one
        assert list(norms) == sorted(norms)


def test_one_record_is_a_poisson_sample():
    plain = unit.poisson(2.0, 0.01)
    assert epsilon(event_of(records=1)) == epsilon(plain)


def test_training_for_users():
    settings_ = {"noise_multiplier": 2.0, "dataset_size": 6000, "batch_size": 60, "steps": 100}
    users = rdpkit.DPSGD(**settings_, examples_per_user=4)
    assert users.expand() == event_of() * 100
    assert any("user" in text for text in users.assumptions())
    with pytest.raises(ValueError, match="examples_per_user to be 1 without Poisson"):
        rdpkit.DPSGD(**settings_, examples_per_user=4, sampling="shuffle")
    with pytest.raises(ValueError, match="replace_one"):
        rdpkit.epsilon(users, delta=1e-5, adjacency="replace_one", bound="pld-upper")
