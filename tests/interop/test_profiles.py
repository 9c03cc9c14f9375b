"""Profiles of mechanisms without an event of their own, against sums and integrals of their own."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.bounds.stated import envelope
from rdpkit.events import CustomProfile
from rdpkit.interop import profiles
from tests.bounds.strategies import envelope_at, log_uniform

ADD, REPLACE = rdpkit.Adjacency.ADD_OR_REMOVE_ONE, rdpkit.Adjacency.REPLACE_ONE
MANY = np.linspace(-3.0, 3.0, 61)


def at(event, epsilons):
    return envelope_at(envelope(event), np.asarray(epsilons, dtype=np.float64))


def divergence(p, q, epsilon):
    """E_eps(P||Q) of two vectors."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize("largest", [1e-6, 0.1, 1.0, 30.0])
def test_laplace_noise_on_a_line(largest):
    """1 - e^{(eps - eps_0)/2}, and 0 from eps_0 on; chords cost 1e-5 of the value at 0."""
    epsilons = largest * np.array([0.0, 0.01, 0.3, 0.777, 0.999])
    exact = -np.expm1(0.5 * (epsilons - largest))
    found = at(profiles.laplace(largest, ADD), epsilons)
    assert (found >= exact).all()
    assert_allclose(found, exact, rtol=0, atol=2e-5 * exact[0])
    assert at(profiles.laplace(largest, ADD), [largest * (1.0 + 1e-12)])[0] == 0.0


@pytest.mark.parametrize(
    ("rate", "sensitivity"), [(0.1, 1), (0.1, 4), (1.0, 3), (1e-3, 50), (5, 2)]
)
def test_discrete_laplace_noise(rate, sensitivity):
    """The sum over the integers in 40 digits, at every epsilon: the profile is exact."""
    epsilons = [0.0, 0.3 * rate, rate, 0.9 * rate * sensitivity, rate * sensitivity, 1.0]
    with mpmath.workdps(40):
        a = mpmath.mpf(rate)
        mass = {x: mpmath.tanh(a / 2) * mpmath.exp(-a * abs(x)) for x in range(-80, 81)}
        # Beyond: losses are constant, masses geometric.
        tail = mpmath.tanh(a / 2) * mpmath.exp(-81 * a) / (1 - mpmath.exp(-a))
        exact = [
            sum(
                max(
                    mass[x]
                    - mpmath.exp(e) * mpmath.tanh(a / 2) * mpmath.exp(-a * abs(x - sensitivity)),
                    0,
                )
                for x in mass
            )
            + max(tail * (1 - mpmath.exp(e - a * sensitivity)), 0)
            for e in epsilons
        ]
    found = at(profiles.discrete_laplace(rate, sensitivity, ADD), epsilons)
    assert_allclose(found, [float(v) for v in exact], rtol=1e-11, atol=1e-13)


def test_a_large_sensitivity_has_fewer_points_and_not_less_to_say():
    found = profiles.discrete_laplace(1e-5, 100_000, ADD)
    assert len(found.epsilons) <= 20_000
    # In the limit it is Laplace noise with eps_0 = 1.
    assert_allclose(at(found, [0.0, 0.5]), at(profiles.laplace(1.0, ADD), [0.0, 0.5]), rtol=1e-4)


@pytest.mark.parametrize(("noise", "buckets"), [(0.9, 4), (0.01, 2), (0.5, 1000)])
def test_randomised_response(noise, buckets):
    p = np.full(buckets, noise / buckets)
    q = p.copy()
    p[0] += 1.0 - noise
    q[1] += 1.0 - noise
    epsilons = np.linspace(-8.0, 12.0, 41)
    exact = [divergence(p, q, e) for e in epsilons]
    assert_allclose(
        at(profiles.randomized_response(noise, buckets, REPLACE), epsilons), exact, atol=1e-14
    )


WEIGHTS = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3).map(
    lambda found: np.array(found) / sum(found)
)


def profile_of(*pairs):
    """The largest divergence of some pairs, in both directions, at many epsilons."""
    epsilons = np.linspace(0.0, 5.0, 26)
    deltas = [
        max(divergence(a, b, e) for p, q in pairs for a, b in ((p, q), (q, p))) for e in epsilons
    ]
    deltas = np.minimum.accumulate(np.minimum(np.array(deltas) * (1.0 + 1e-12), 1.0))
    return CustomProfile(epsilons=tuple(epsilons), deltas=tuple(deltas), adjacency=ADD)


@settings(max_examples=60)
@given(WEIGHTS, WEIGHTS, log_uniform(1e-6, 1.0))
def test_a_poisson_sample(absent, present, q):
    """(1-q) absent + q present against absent, in both directions."""
    found = at(profiles.sampled(profile_of((absent, present)), q), MANY)
    mixed = (1.0 - q) * absent + q * present
    for one, two in ((mixed, absent), (absent, mixed)):
        exact = np.array([divergence(one, two, e) for e in MANY])
        assert (found >= exact * (1.0 - 1e-9) - 1e-14).all()


@settings(max_examples=60)
@given(WEIGHTS, WEIGHTS, WEIGHTS, log_uniform(1e-6, 1.0))
def test_a_sample_of_fixed_size(without, before, after, q):
    """Under replace-one: either record, or neither is drawn; all three are one swap apart."""
    profile = profile_of((without, before), (without, after), (before, after))
    found = at(profiles.sampled(profile, q), MANY)
    one = (1.0 - q) * without + q * before
    two = (1.0 - q) * without + q * after
    exact = np.array([divergence(one, two, e) for e in MANY])
    assert (found >= exact * (1.0 - 1e-9) - 1e-14).all()


@pytest.mark.parametrize("q", [1e-300, 1e-12, 0.5, 1.0])
@pytest.mark.parametrize("largest", [1e-12, 1.0, 500.0])
def test_extreme_samples_stay_profiles(q, largest):
    """Points whose epsilons rounding has made equal are dropped; nothing overflows."""
    found = profiles.sampled(profiles.laplace(largest, ADD), q)
    assert found.deltas[-1] == 0.0
    assert found.epsilons[-1] >= math.log1p(q * math.expm1(min(largest, 500.0))) * (1.0 - 1e-15)
    for one, two in product(found.epsilons[:2], found.epsilons[-2:]):
        assert one <= two
