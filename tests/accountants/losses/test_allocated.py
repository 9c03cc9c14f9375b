"""Random allocation its laws, and the events that it lies between."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rdpkit
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.kinds.allocation.laws import law, statistic
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import AllocatedPair
from rdpkit.numerics import fourier

ADD = "add_or_remove_one"


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(("noise", "batches"), [(0.3, 50), (1.0, 7), (20.0, 100_000)])
def test_nothing_is_lost_from_a_law(first, noise, batches):
    found = law(noise, batches, first=first)
    # Under the second member the rare sums with several large nodes are counted more than once.
    assert 1.0 <= math.fsum(found.masses) + found.rest < 1.0 + (1e-6 if first else 1e-3)
    # Without extended digits a little more is uncertain.
    assert found.rest < (1e-7 if fourier.extended() else 1e-6)
    # The mean of the ratio is 1 under the second member; with little noise it comes from rare ones.
    if not first and noise >= 1.0:
        assert math.fsum(found.masses * found.ratios) / batches == pytest.approx(1.0, abs=1e-3)


def test_tails_of_the_statistic_fall_and_enclose():
    found = statistic(1.0, 100)
    for low, high in (found.first, found.second):
        assert (low <= high).all()
        assert (np.diff(high) <= 1e-12).all()
    # The first member's tail is the larger one.
    assert (found.first[1] >= found.second[0]).all()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("noise", "batches", "epochs", "delta"),
    [(1.0, 234, 60, 1e-5), (0.6, 50, 3, 1e-6), (5.0, 10, 200, 1e-10), (1.0, 1000, 1, 1e-8)],
)
def test_compositions_are_below_those_of_poisson_samples(noise, batches, epochs, delta):
    one = rdpkit.RandomAllocationGaussian(noise_std=noise, record_norm=1.0, batches=batches)
    event = rdpkit.Repeated(event=one, count=epochs)
    upper = rdpkit.epsilon(event, delta=delta, adjacency=ADD).epsilon
    lower = rdpkit.lower_bound(event, delta=delta, adjacency=ADD)[0].epsilon
    assert lower <= upper <= lower * 1.03
    poisson = rdpkit.Repeated(
        event=rdpkit.PoissonSampledGaussian(
            noise_std=noise, record_norm=1.0, sampling_probability=1.0 / batches
        ),
        count=epochs * batches,
    )
    # Observed at every setting tried, and what the literature reports at small delta.
    assert upper < rdpkit.epsilon(poisson, delta=delta, adjacency=ADD).epsilon


def test_one_batch_is_a_gaussian():
    one = rdpkit.RandomAllocationGaussian(noise_std=2.0, record_norm=1.0, batches=1)
    plain = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
    for adjacency in rdpkit.Adjacency:
        found, expected = (
            rdpkit.epsilon(e, delta=1e-5, adjacency=adjacency).epsilon for e in (one, plain)
        )
        assert found == pytest.approx(expected, rel=1e-12)


def test_noise_that_is_too_small_is_an_error_that_says_so():
    pair = AllocatedPair(kind="removed", noise_multiplier=0.1, batches=10)
    with pytest.raises(NoLossDistributionError, match=r"at least 0\.17"):
        kind_of(pair).curve(pair, True)
    one = rdpkit.RandomAllocationGaussian(noise_std=0.1, record_norm=1.0, batches=10)
    found = rdpkit.epsilon(one, delta=1e-5, adjacency=ADD)
    assert found.bound == "allocation-known"


@pytest.mark.parametrize("noise", [1e16, 1e90])
def test_noise_that_is_too_large_leaves_the_known_batch(noise):
    with pytest.raises(NoLossDistributionError, match=r"at most 1e\+12"):
        law(noise, 10, first=True)
    one = rdpkit.RandomAllocationGaussian(noise_std=noise, record_norm=1.0, batches=10)
    found = rdpkit.epsilon(one, delta=1e-5, adjacency=ADD)
    assert (found.epsilon, found.bound) == (0.0, "allocation-known")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("noise", "epochs", "delta"), [(1.1, 60, 1e-30), (50.0, 10**5, 1e-12), (0.2, 1, 1e-5)]
)
def test_a_known_batch_is_the_bound_where_floats_do_not_suffice(noise, epochs, delta):
    one = rdpkit.RandomAllocationGaussian(noise_std=noise, record_norm=1.0, batches=100)
    event = rdpkit.Repeated(event=one, count=epochs)
    best, known = (
        rdpkit.epsilon(event, delta=delta, adjacency=ADD, bound=name).epsilon
        for name in ("best", "allocation-known")
    )
    assert 0.0 < best <= known < math.inf
    assert rdpkit.lower_bound(event, delta=delta, adjacency=ADD)[0].epsilon <= best
