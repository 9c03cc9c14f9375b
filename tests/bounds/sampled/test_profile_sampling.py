"""Profile sampling: the oracle's integral, the Gaussian at gamma = 1, and no pair above it.

Reference values: tests/oracles/profile_sampling.py (mp.dps = 60).
"""

import math

import numpy as np
import pytest
from flint import arb, ctx
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.sampled import profile_sampling
from rdpkit.numerics.sampled_profile import rdp_ball
from tests.bounds.pairs import exact_divergence
from tests.events import of_papers, unit
from tests.oracles import profile_sampling as oracle
from tests.oracles.table import digits, load

ENTRIES = load("profile_sampling")
# tests/oracles/birrell2024.py: exact divergences of pairs in the plane, to 15 digits.
PAIRS = [entry for entry in load("birrell2024") if "divergence" in entry]


def name(entry):
    return "-".join(str(entry[key]) for key in ("gamma", "z", "order"))


def value(order, z, gamma):
    return float(profile_sampling.rdp(np.array([order], dtype=float), z, gamma)[0])


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_stored_values(entry):
    found = value(entry["order"], entry["z"], entry["gamma"])
    # Roundings of exponents of size (order/z)^2 over the size of the result.
    assert_allclose(found, float(entry["rdp"]), rtol=1e-13)


CERTIFIED = [entry for entry in ENTRIES if entry["gamma"] < 1.0]


@pytest.mark.parametrize("entry", CERTIFIED[::3], ids=name)
def test_rounded_inputs_are_enclosed(entry):
    """One unit in the last place in either argument stays inside the ball."""
    z, gamma = entry["z"], entry["gamma"]
    ball = profile_sampling.ball(entry["order"], z, gamma)
    with ctx.workprec(200):
        for near_z in (math.nextafter(z, 0.0), math.nextafter(z, math.inf)):
            for near in (math.nextafter(gamma, 0.0), math.nextafter(gamma, 1.0)):
                assert ball.contains(rdp_ball(entry["order"], near_z, arb(near)))


@pytest.mark.parametrize("entry", PAIRS, ids=lambda e: f"{e['geometry']}-{e['z']}-{e['order']}")
def test_never_below_the_stored_divergence_of_a_pair(entry):
    gamma = entry["sample"] / entry["population"]
    found = value(entry["order"], entry["z"], gamma)
    assert found >= float(entry["divergence"]) * (1.0 + 1e-12)


def test_poisson_takes_the_larger_of_norm_and_diameter():
    def event(norm, diameter):
        return rdpkit.PoissonSampledGaussian(
            noise_std=2.0, record_norm=norm, record_diameter=diameter, sampling_probability=0.1
        )

    for norm, diameter in ((1.0, 2.0), (1.0, 1.0), (1.0, 0.2)):
        z = 2.0 / max(norm, diameter)
        found = profile_sampling.POISSON.values(
            event(norm, diameter), np.array([2.0, 5.0]), Adjacency.REPLACE_ONE
        )
        assert_allclose(found, profile_sampling.rdp(np.array([2.0, 5.0]), z, 0.1), rtol=1e-15)
        # x against x', both as long as a record may be and as far apart, up to a scale.
        half = diameter / 2.0
        height = math.sqrt(norm**2 - half**2)
        for order in (1.5, 2.0, 8.0):
            truth = exact_divergence(order, 2.0, 0.1, (height, half), (height, -half))
            alone = exact_divergence(order, 2.0, 0.1, (norm, 0.0), (0.0, 0.0))
            bound = value(order, z, 0.1) * (1.0 + 1e-8)
            assert truth <= bound
            # A record whose vector is 0 is within both limits only if the diameter is the norm.
            assert diameter < norm or alone <= bound


@pytest.mark.parametrize("z", [1e-2, 0.1, 1e3, 1e6])
@pytest.mark.parametrize("gamma", [1e-12, 1e-3, 0.5, 1.0 - 1e-12])
def test_extreme_parameters_give_finite_numbers(z, gamma):
    orders = np.array([1.0 + 1e-6, 1.5, 30.0, 1000.0])
    found = profile_sampling.rdp(orders, z, gamma)
    assert np.isfinite(found).all()
    assert (found > 0.0).all()
    assert (found <= orders / (2.0 * z * z) * (1.0 + 1e-8)).all()


def test_nothing_is_claimed_where_nothing_is_drawn():
    event = unit.poisson(1.0, 0.0)
    found = profile_sampling.POISSON.values(event, np.array([2.0]), Adjacency.REPLACE_ONE)
    assert found[0] == math.inf


# Upper ends read off once and rounded up; the claims are the published epsilons of the settings.
REFERENCES = [
    (
        {"population_size": 60000, "releases": 10000, "order_of_mixture": 256},
        (0.0711, 1 / 60000, 9.54, 8.64),
    ),
    (
        {"population_size": 6000, "releases": 12000, "order_of_mixture": 128},
        (0.7, 1 / 6000, 3.29, 2.98),
    ),
]


@pytest.mark.parametrize(("setting", "numbers"), REFERENCES, ids=["n60000", "n6000"])
def test_dpmix_reference_points(setting, numbers):
    noise, delta, by_rdp, by_loss = numbers
    event = rdpkit.DPMix(
        feature_dimension=784,
        label_dimension=10,
        feature_noise=noise,
        label_noise=noise,
        **setting,
    )
    options = {"delta": delta, "adjacency": "replace_one"}
    certified = rdpkit.epsilon(event, bound="best-rdp", **options)
    # At high noise and low order FS-RDP is a little smaller.
    assert certified.bound in ("profile-sampling", "birrell2024-ro")
    assert certified.enclosure.rigorous
    assert 0.9 * by_rdp < certified.epsilon <= by_rdp
    distribution = rdpkit.epsilon(event, bound="pld-upper", **options)
    assert 0.95 * by_loss < distribution.epsilon <= by_loss
    lower = rdpkit.epsilon(event, bound="pair-lower", **options)
    assert 0.6 * by_loss < lower.epsilon < distribution.epsilon


@pytest.mark.thorough
def test_dpdc_reference_points():
    """Privacy loss distributions of two published settings, to the digits stated."""
    linear = of_papers.ldpdc([5421], 50, 50, noise=28.0, dimension=784)
    options = {"delta": 1e-5, "adjacency": "add_or_remove_one", "bound": "pld-upper"}
    assert rdpkit.epsilon(linear, **options).epsilon == pytest.approx(0.5366, abs=6e-4)
    nonlinear = of_papers.ndpdc([68261, 94509], 10000, 50, noise=1.0)
    assert rdpkit.epsilon(nonlinear, **options).epsilon == pytest.approx(0.339, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("row", [0, 5, 13, 22, 40])
def test_the_oracle_still_gives_the_stored_values(row):
    entry = ENTRIES[row]
    assert digits(oracle.rdp(entry["gamma"], entry["z"], entry["order"])) == entry["rdp"]
