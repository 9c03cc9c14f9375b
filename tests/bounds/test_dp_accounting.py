"""dp-accounting 0.6.0: agreement where it is right, and a number of its that is too small.

Its functions are internal, so each is looked up inside of a test; a change of theirs shows as a
failure here, not as an error at import.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rdpkit


@pytest.fixture(scope="module")
def peer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting.rdp import rdp_privacy_accountant
    return rdp_privacy_accountant


def poisson(peer, q, z, orders):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(peer._compute_rdp_poisson_subsampled_gaussian(q, z, orders))


def fixed_size(peer, q, z, orders):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(peer._compute_rdp_sample_wor_gaussian(q, z, orders))


def ours(q, z, orders):
    return rdpkit.sampled_gaussian_rdp(orders, noise_multiplier=z, sampling_probability=q)


def wang(q, z, orders, theorem="wang2019"):
    return rdpkit.fixed_size_gaussian_rdp(
        orders,
        noise_multiplier=z,
        sample_size=round(q * 1000),
        population_size=1000,
        adjacency="replace_one",
        theorem=theorem,
    )


@pytest.mark.parametrize("q", [1e-3, 0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("z", [0.7, 1.0, 4.0])
def test_poisson_at_integer_orders(peer, q, z):
    """Its sum is of log A, not of A - 1, and so loses 1e-16 / (A - 1): 1e-10 for these."""
    orders = [2.0, 3.0, 8.0, 64.0, 256.0]
    assert_allclose(ours(q, z, orders), poisson(peer, q, z, orders), rtol=1e-10)


@pytest.mark.parametrize("order", [1.25, 2.5, 9.9])
@pytest.mark.parametrize("q", [1e-3, 0.01])
def test_poisson_at_fractional_orders_and_small_q(peer, q, order):
    """With small q and z = 1 its unsigned series is off by up to 7%, and never below."""
    found, theirs = ours(q, 1.0, [order]), poisson(peer, q, 1.0, [order])
    assert theirs[0] >= found[0] * (1.0 - 1e-10)
    assert_allclose(theirs, found, rtol=0.07)


@pytest.mark.parametrize("q", [0.01, 0.05])
def test_fixed_size_at_moderate_noise(peer, q):
    """There its differences keep their digits, and its per-term minimum is ours."""
    for z, orders in ((0.7, [2, 8, 32]), (1.0, [2, 3, 16, 64])):
        assert_allclose(wang(q, z, orders), fixed_size(peer, q, z, orders), rtol=1e-10)


def test_fixed_size_at_low_orders_and_high_noise(peer):
    orders = [2, 3, 8, 16]
    assert_allclose(wang(0.1, 10.0, orders), fixed_size(peer, 0.1, 10.0, orders), rtol=1e-9)


def test_defect_fixed_size_cancels_downwards(peer):
    """And below Theorem 27 itself, by 1.4e-5: a number that is too small."""
    theirs = fixed_size(peer, 0.5, 6.54, [58])[0]
    assert theirs < wang(0.5, 6.54, [58])[0] * (1.0 - 1e-5)


def test_conversion_agrees(peer):
    """Theorem 21 of Balle et al. on the same curve."""
    orders = [1.5, 2.0, 8.0, 32.0, 64.0]
    values = rdpkit.gaussian_rdp(orders, noise_multiplier=3.0)
    theirs, order = peer.compute_epsilon(orders, values, 1e-6)
    found = rdpkit.rdp_to_epsilon(orders, values, delta=1e-6, conversion="balle2020")
    assert_allclose(found, (theirs, order), rtol=1e-13)


def test_a_gaussian_event_means_something_else_there(peer):
    """Its noise multiplier is relative to the clip norm: under replace-one our event, told the norm
    of a record, counts twice the distance, and so four times the divergence."""
    event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    found = rdpkit.RdpCurve.of(event, orders=[2.0], adjacency="replace_one").values[0]
    assert found == pytest.approx(4.0 * 2.0 / (2.0 * 25.0), rel=1e-15)
