"""Privacy loss distributions: against a peer, against exact profiles, and from both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

import rdpkit
from rdpkit import pld
from rdpkit.analysis import check_sandwich
from rdpkit.loss import NoLossDistributionError, Step
from tests.bounds.strategies import log_uniform

ADD = "add_or_remove_one"


def releases(kind, z, q=1.0, count=1):
    return ((Step(kind=kind, noise_multiplier=z, sampling_probability=q), count),)


def profile(z, eps):
    """The Gaussian mechanism's exact delta."""
    return float(ndtr(0.5 / z - eps * z) - math.exp(eps + log_ndtr(-0.5 / z - eps * z)))


def gaussian_epsilon(z, delta):
    return brentq(lambda eps: profile(z, eps) - delta, 0.0, 200.0, xtol=1e-13)


@pytest.mark.parametrize(
    ("z", "count", "delta"),
    [(1.0, 1, 1e-5), (4.0, 16, 1e-6), (30.0, 1000, 1e-5), (100.0, 20, 1e-3)],
)
def test_composed_gaussians_against_their_exact_profile(z, count, delta):
    exact = gaussian_epsilon(z / math.sqrt(count), delta)
    above = pld.epsilon_above(releases("replaced", z, count=count), delta=delta, scale=exact)
    below = pld.epsilon_below(releases("replaced", z, count=count), delta=delta, scale=exact)
    # 1e-9: the float sums.
    assert below.value <= exact * (1.0 + 1e-9)
    assert above.value >= exact * (1.0 - 1e-9)
    assert_allclose([below.value, above.value], exact, rtol=1e-3)


def test_a_large_loss_of_one_release():
    """Bins grow by 2 % of the loss there: the lower bound is coarser, and still one."""
    exact = gaussian_epsilon(0.3, 1e-8)
    below = pld.epsilon_below(releases("replaced", 0.3), delta=1e-8, scale=exact, refinements=2)
    assert 0.99 * exact < below.value <= exact


@pytest.mark.parametrize(("z", "count", "eps"), [(1.0, 1, 1.0), (4.0, 16, 2.0), (30.0, 900, 0.0)])
def test_composed_gaussians_delta(z, count, eps):
    exact = profile(z / math.sqrt(count), eps)
    above = pld.delta_above(releases("replaced", z, count=count), epsilon=eps, scale=eps or 1.0)
    below = pld.delta_below(releases("replaced", z, count=count), epsilon=eps, scale=eps or 1.0)
    assert below.value <= exact * (1.0 + 1e-9)
    assert above.value >= exact * (1.0 - 1e-9)
    assert_allclose([below.value, above.value], exact, rtol=2e-3)


@pytest.mark.parametrize(
    ("z", "q", "count"), [(1.0, 0.01, 200), (0.8, 0.1, 10), (5.0, 0.5, 50), (2.0, 1e-3, 5000)]
)
def test_the_peer_agrees(z, q, count):
    """dp-accounting's own construction of the sampled Gaussian, both directions, at 1e-5."""
    theirs = peer.from_gaussian_mechanism(
        standard_deviation=z,
        sampling_prob=q,
        use_connect_dots=True,
        value_discretization_interval=min(1e-3, q / 10.0),
    ).self_compose(count)
    exact = theirs.get_epsilon_for_delta(1e-5)
    ours = max(
        pld.epsilon_above(releases(kind, z, q, count), delta=1e-5, scale=exact).value
        for kind in ("removed", "added")
    )
    below = max(
        pld.epsilon_below(releases(kind, z, q, count), delta=1e-5, scale=exact).value
        for kind in ("removed", "added")
    )
    # Either is an upper bound within 1e-3 (relative) and a grid step of theirs of the truth.
    assert_allclose(ours, exact, rtol=2e-3, atol=1e-3)
    assert below <= min(ours, exact) * (1.0 + 1e-9)


def removed_exactly(z, q, eps):
    """Hockey-stick divergence of (1-q) N(0) + q N(1) against N(0), at 60 digits."""
    with mp.workdps(60):
        growth = mp.exp(mpf(eps))
        level = (growth - 1 + mpf(q)) / q
        if level <= 0:
            return float(1 - growth)
        x = z * (mp.log(level) + 1 / (2 * mpf(z) ** 2))
        upper = mp.ncdf(-x), mp.ncdf(1 / mpf(z) - x)
        return float((1 - mpf(q)) * upper[0] + q * upper[1] - growth * upper[0])


def added_exactly(z, q, eps):
    """The same with the two exchanged."""
    with mp.workdps(60):
        growth = mp.exp(mpf(eps))
        level = (1 / growth - 1 + mpf(q)) / q
        if level <= 0:
            return 0.0
        x = z * (mp.log(level) + 1 / (2 * mpf(z) ** 2))
        lower = mp.ncdf(x), mp.ncdf(x - 1 / mpf(z))
        return float(lower[0] - growth * ((1 - mpf(q)) * lower[0] + q * lower[1]))


@pytest.mark.parametrize("q", [1e-6, 0.01, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("z", [0.3, 1.0, 20.0])
@pytest.mark.parametrize(
    ("kind", "exactly"), [("removed", removed_exactly), ("added", added_exactly)]
)
def test_hockey_sticks_of_one_step(kind, exactly, z, q):
    """To 1e-10 in absolute terms, which is the resolution, and the removal side relatively too."""
    eps = np.concatenate([-np.geomspace(6.0, 1e-6, 15), [0.0], np.geomspace(1e-6, 6.0, 15)])
    found = pld.hockey_stick(releases(kind, z, q)[0][0], eps)
    exact = np.array([exactly(z, q, float(e)) for e in eps])
    assert_allclose(found, exact, rtol=1e-9, atol=1e-12)


def test_an_addition_with_a_probability_close_to_one():
    """Losses up to -log(1-q) = 20.7: the difference of two numbers of size e^20 has few digits."""
    one = releases("added", 0.3, 1.0 - 1e-9)
    eps = np.array([10.0, 15.0, 18.0, 20.0, 20.5])
    exact = [added_exactly(0.3, one[0][0].sampling_probability, float(e)) for e in eps]
    assert_allclose(pld.hockey_stick(one[0][0], eps), exact, rtol=1e-9, atol=1e-12)


def test_a_replaced_step_bounds_both_directions_and_is_symmetric():
    eps = np.linspace(-4.0, 4.0, 81)
    profile_step = releases("replaced", 0.8, 0.2)[0][0]
    found = pld.hockey_stick(profile_step, eps)
    for kind in ("removed", "added"):
        pair = releases(kind, 0.8, 0.2)[0][0]
        assert (pld.hockey_stick(pair, eps) <= found + 1e-15).all()
    # E_eps(P||Q) = 1 - e^eps + e^eps E_{-eps}(Q||P), with both directions alike.
    mirrored = -np.expm1(eps) + np.exp(eps) * found[::-1]
    assert_allclose(found, mirrored, rtol=1e-12, atol=1e-14)


KINDS = st.sampled_from(["removed", "added", "opposed"])


@settings(max_examples=10)
@given(
    st.lists(
        st.tuples(KINDS, log_uniform(0.4, 20.0), log_uniform(0.01, 0.999), st.integers(1, 40)),
        min_size=1,
        max_size=2,
    ),
    log_uniform(1e-8, 0.1),
)
def test_lower_is_below_upper_for_random_steps(steps, delta):
    """An opposed pair has no hockey stick of its own here; its profile at twice the distance does.

    The two members are one swap of distance 2 apart, so "replaced" at half of the noise multiplier
    bounds it.
    """
    lower, upper = [], []
    for kind, z, q, count in steps:
        lower += releases(kind, z, q, count)
        upper += (
            releases("replaced", z / 2.0, q, count)
            if kind == "opposed"
            else releases(kind, z, q, count)
        )
    above = pld.epsilon_above(tuple(upper), delta=delta, scale=1.0, refinements=0).value
    below = pld.epsilon_below(tuple(lower), delta=delta, scale=1.0, refinements=0).value
    assert below <= above * (1.0 + 1e-9) + 1e-12
    again = pld.delta_above(tuple(upper), epsilon=0.5, scale=0.5, refinements=0).value
    least = pld.delta_below(tuple(lower), epsilon=0.5, scale=0.5, refinements=0).value
    assert least <= again * (1.0 + 1e-9)
    # Every order: what is given away at epsilon 0.5 is consistent with epsilon at that delta.
    assert 0.0 <= least <= 1.0


@pytest.mark.parametrize("kind", ["removed", "added"])
def test_refining_tightens(kind):
    one = releases(kind, 1.0, 0.05, 100)
    options = {"delta": 1e-5, "scale": 20.0, "accuracy": 1e-12}
    above = [pld.epsilon_above(one, refinements=n, **options).value for n in range(4)]
    below = [pld.epsilon_below(one, refinements=n, **options).value for n in range(4)]
    assert above == sorted(above, reverse=True)
    assert below == sorted(below)
    assert above[-1] - below[-1] < above[0] - below[0]
    assert below[-1] <= above[-1]


@pytest.mark.parametrize("kind", ["removed", "opposed"])
@pytest.mark.parametrize(("z", "q"), [(1.0, 0.1), (0.5, 0.9), (10.0, 0.01)])
def test_bins_are_a_partition_with_the_loss_that_they_say(kind, z, q):
    """Masses sum to one under both members, and each bin's ratio is a multiple of the step."""
    size = -math.log1p(-q) / 8.0
    bins, ends = pld._bins(releases(kind, z, q)[0][0], size)
    first = sum(mass for _, mass, _ in bins) + sum(mass for mass, _ in ends)
    second = sum(mass for _, _, mass in bins) + sum(mass for _, mass in ends)
    assert_allclose([first, second], 1.0, rtol=1e-12)
    assert len(bins) > 3
    for multiple, one, two in bins:
        if min(one, two) > 1e-12:
            assert math.log(one / two) == pytest.approx(multiple * size, rel=1e-6, abs=1e-9)
    assert [multiple for multiple, _, _ in bins] == sorted({multiple for multiple, _, _ in bins})


def test_the_resolution_is_a_limit():
    with pytest.raises(NoLossDistributionError, match="1e-10"):
        pld.epsilon_above(releases("removed", 1.0, 0.1), delta=1e-11, scale=1.0)
    with pytest.raises(NoLossDistributionError, match="1e-10"):
        pld.epsilon_below(releases("removed", 1.0, 0.1), delta=1e-11, scale=1.0)
    # Above: what is not resolved is rounded up. Below: down.
    far = releases("removed", 5.0, 0.1)
    assert pld.delta_above(far, epsilon=30.0, scale=30.0).value == pld._RESOLUTION
    assert pld.delta_below(far, epsilon=30.0, scale=30.0).value == 0.0
    event = rdpkit.PoissonSampledGaussian(noise_std=1.0, record_norm=1.0, sampling_probability=0.1)
    assert rdpkit.epsilon(event, delta=1e-12, adjacency=ADD).enclosure.rigorous


@pytest.mark.parametrize(
    ("q", "z", "count", "delta"),
    [(4.0802e-5, 0.614, 10**5, 1.1e-10), (1e-4, 0.7, 10**6, 1.1e-10), (0.999, 1e5, 10**10, 1e-5)],
)
def test_the_resolution_grows_with_the_count(q, z, count, delta):
    """An upper bound of 1.701 stood where 1.7106 is true, and one of 1.859 where 1.93 is."""
    for ask in (pld.epsilon_above, pld.epsilon_below):
        with pytest.raises(NoLossDistributionError, match=r"floating-point sums|points"):
            ask(releases("removed", z, q, count), delta=delta, scale=1.0)
    step = rdpkit.PoissonSampledGaussian(noise_std=z, record_norm=1.0, sampling_probability=q)
    many = rdpkit.Repeated(event=step, count=count)
    assert rdpkit.epsilon(many, delta=delta, adjacency=ADD).enclosure.rigorous


def test_a_lower_bound_above_an_upper_bound_raises():
    event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)
    upper = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD, bound="best-rdp")
    lower = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD, bound="pair-lower")
    check_sandwich([upper], [lower])
    with pytest.raises(ArithmeticError, match="one of them is false"):
        check_sandwich([lower], [upper])


def test_nothing_released_leaks_nothing():
    for ask in (pld.epsilon_above, pld.epsilon_below):
        assert ask((), delta=1e-5, scale=1.0).value == 0.0
    for ask in (pld.delta_above, pld.delta_below):
        assert ask((), epsilon=1.0, scale=1.0).value == 0.0


@pytest.mark.parametrize(
    ("z", "q", "count", "scale"),
    [
        (1e6, 1.0, 1, 1e-6),
        (1e4, 1.0, 10**6, 0.5),
        (1e3, 1e-4, 10**6, 1e-3),
        (1.0, 1e-7, 10**8, 0.01),
        (0.05, 1.0, 1, 250.0),
        (0.1, 1e-5, 1, 1e-6),
    ],
)
def test_large_and_tiny_parameters(z, q, count, scale):
    """An answer, or a refusal that says why; in seconds, and without much memory."""
    for kind, ask in (("removed", pld.epsilon_above), ("removed", pld.epsilon_below)):
        one = releases("replaced" if q == 1.0 else kind, z, q, count)
        try:
            found = ask(one, delta=1e-5, scale=scale, refinements=1)
        except NoLossDistributionError as error:
            assert "points" in str(error) or "sums" in str(error)  # noqa: PT017
        else:
            assert 0.0 <= found.value < math.inf


def test_the_theorem_of_dpcda_is_refuted():
    """Theorem 1 with p = l/N claims epsilon 10; an explicit pair of one class exceeds 11.5."""
    event = rdpkit.DPCDA(
        class_sizes=[6000] * 10,
        samples_per_class=1000,
        order_of_mixture=128,
        clip_norm=1.0,
        feature_noise=0.01022,
        label_noise=0.01022,
    )
    claimed = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound="dpcda-theorem1")
    assert claimed.kind is rdpkit.Kind.PUBLISHED
    assert claimed.epsilon == pytest.approx(10.0, rel=5e-3)
    lower = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound="pair-lower")
    assert lower.kind is rdpkit.Kind.LOWER
    assert lower.epsilon > 11.5
    delta = rdpkit.delta(event, epsilon=10.0, adjacency="replace_one", bound="pair-lower").delta
    assert delta > 9e-5


def test_a_hundred_million_gaussians_are_one():
    """At once, and by the exact profile: 1e-3 is the accuracy asked for."""
    many = rdpkit.Repeated(event=rdpkit.Gaussian(noise_std=2e5, record_norm=1.0), count=100_000_000)
    one = rdpkit.Gaussian(noise_std=20.0, record_norm=1.0)
    found, same = (
        rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one", bound="pld-upper").epsilon
        for event in (many, one)
    )
    assert_allclose(found, same, rtol=1e-3)
