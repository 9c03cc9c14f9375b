"""mu-GDP: enclosures of mu and of its regret."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import rdpkit
from rdpkit.accountants.profiles import AttainedProfile, Profile
from rdpkit.tradeoffs.gaussian import regret, smallest_mu
from tests.events import unit
from tests.events.unit import training


def gaussian_delta(epsilon, mu):
    """The profile of two Gaussians, in floats."""
    x = epsilon / mu - mu / 2
    return norm.sf(x) - np.exp(epsilon + norm.logsf(x + mu))


class TestGaussians:
    @pytest.mark.parametrize("z", [1e-60, 0.5, 3.0, 1e90])
    def test_a_gaussian_is_its_own_curve(self, z):
        event = unit.gaussian(z)
        found = rdpkit.gdp(event, adjacency="add_or_remove_one")
        assert found.lower <= 1 / z <= found.mu
        assert found.mu == pytest.approx(1 / z, rel=1e-13)
        assert found.everywhere == found.mu
        assert found.regret.lower == 0.0

    def test_squares_add_up(self):
        event = rdpkit.Composed(events=[unit.gaussian(z) for z in (1.0, 2.0)])
        assert float(rdpkit.gdp(event, adjacency="replace_one")) == pytest.approx(math.sqrt(5.0))

    def test_nothing_released(self):
        event = training(0.0, 1.0, 10)
        found = rdpkit.gdp(event, adjacency="add_or_remove_one")
        assert found.mu == found.everywhere == 0.0


class TestSampled:
    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("q", "z", "steps"), [(0.01, 1.0, 1000), (0.04, 1.5, 2249), (256 / 60000, 1.0, 10_000)]
    )
    def test_it_holds_at_every_delta_of_the_range(self, q, z, steps):
        event = training(q, z, steps)
        found = rdpkit.gdp(event, adjacency="add_or_remove_one")
        assert found.lower <= found.mu <= found.lower * 1.002
        assert found.regret.upper - found.regret.lower < 5e-4
        for delta in (0.1, 1e-3, 1e-5, 1e-10):
            # No pair has a larger epsilon than the two Gaussians have.
            attained = rdpkit.lower_bound(event, delta=delta, adjacency="add_or_remove_one")[0]
            assert gaussian_delta(attained.epsilon, found.mu) >= delta

    @pytest.mark.thorough
    def test_a_wider_range_of_deltas_needs_a_larger_mu(self):
        event = training(0.01, 1.0, 100)
        mus = [
            rdpkit.gdp(event, adjacency="add_or_remove_one", smallest_delta=d)
            for d in (1e-4, 1e-8, 1e-30)
        ]
        assert mus[0].mu < mus[1].lower
        assert mus[1].mu < mus[2].lower
        # Without a range, sampling is worth nothing.
        assert mus[2].everywhere == pytest.approx(10.0)

    def test_events_that_leak_next_to_nothing(self):
        found = rdpkit.gdp(training(1e-9, 1.0), adjacency="add_or_remove_one")
        assert found.smallest_delta < 1e-18
        assert 1e-8 < found.lower / 10 < found.mu < 1.3e-7


class TestOtherEvents:
    def test_pure_differential_privacy(self):
        event = rdpkit.CustomProfile(epsilons=[1.0], deltas=[0.0], adjacency="replace_one")
        found = rdpkit.gdp(event, adjacency="replace_one")
        # The curve's corner is at FPR = FNR = 1 / (1 + e).
        assert found.everywhere == pytest.approx(2 * norm.isf(1 / (1 + math.e)), rel=1e-8)
        assert found.mu <= found.everywhere

    def test_infinite_losses_have_no_mu(self):
        event = rdpkit.CustomProfile(epsilons=[1.0], deltas=[1e-6], adjacency="replace_one")
        assert rdpkit.gdp(event, adjacency="replace_one").mu == math.inf
        found = rdpkit.gdp(event, adjacency="replace_one", smallest_delta=1e-5)
        assert found.mu == pytest.approx(1.2320370, rel=1e-5)
        assert found.everywhere == math.inf


class TestParts:
    def test_the_mu_of_the_chords_of_a_gaussian(self):
        epsilons = np.linspace(0.0, 5.0, 200)
        profile = Profile(
            epsilons=tuple(epsilons), deltas=tuple(gaussian_delta(epsilons, 1.0) * (1 + 1e-12))
        )
        assert 1.0 < smallest_mu(profile) < 1.0005

    def test_a_chord_is_what_has_to_be_below(self):
        """Both ends suit mu = 1, and the chord between them does not."""
        epsilons = (0.0, 3.0)
        profile = Profile(epsilons=epsilons, deltas=tuple(gaussian_delta(e, 1.0) for e in epsilons))
        mu = smallest_mu(profile)
        assert mu > 1.1
        x = np.linspace(0.0, 3.0, 500)
        chord = profile.deltas[0] + np.expm1(x) / np.expm1(3.0) * (
            profile.deltas[1] - profile.deltas[0]
        )
        assert (gaussian_delta(x, mu) >= chord).all()
        assert not (gaussian_delta(x, mu * 0.97) >= chord).all()

    @pytest.mark.thorough
    @given(low=st.floats(0.1, 2.0), more=st.floats(1.0, 2.0))
    @settings(max_examples=20)
    def test_regret_by_its_definition(self, low, more):
        """f(a + k) - k <= G_mu(a) on a grid of rates; f is that of Gaussians at a distance low."""
        mu = low * more
        epsilons = np.linspace(0.0, 12.0 * low, 400)
        deltas = np.maximum(gaussian_delta(epsilons, low), 0.0)
        profile = Profile(epsilons=tuple(epsilons), deltas=tuple(deltas))
        pair = AttainedProfile(forward=profile, backward=profile)
        found = regret(mu, profile, (pair,))
        rates = np.linspace(0.0, 1.0, 2001)

        def holds(k: float) -> bool:
            moved = np.clip(rates + k, 0.0, 1.0)
            return bool(
                (norm.cdf(norm.isf(moved) - low) - k <= norm.cdf(norm.isf(rates) - mu)).all()
            )

        assert holds(found.upper + 1e-5)
        if found.lower > 1e-4:
            assert not holds(found.lower - 1e-4)

    def test_a_contradiction_is_not_returned(self):
        with pytest.raises(ArithmeticError, match="one of the two is false"):
            rdpkit.GaussianDP(
                mu=1.0,
                lower=1.1,
                regret=rdpkit.Enclosure(lower=0.0, upper=0.0),
                smallest_delta=1e-10,
                largest_epsilon=1.0,
                everywhere=1.0,
                adjacency=rdpkit.Adjacency.REPLACE_ONE,
            )


@pytest.mark.thorough
def test_as_dict():
    found = rdpkit.gdp(training(0.01, 1.0, 100), adjacency="add_or_remove_one").as_dict()
    assert found["enclosure"][1] == found["mu"]
    assert found["adjacency"] == "add_or_remove_one"


def test_one_line_says_it_all_and_two_names_take_it_apart():
    found = rdpkit.gdp(unit.gaussian(2.0), adjacency="add_or_remove_one")
    mu, regret = found
    assert (mu, regret) == (found.mu, found.regret)
    # Upper ends are rounded up and lower ends down.
    assert str(found).startswith("mu <= 0.5000 for delta >= 1e-10 (add-or-remove-one; certified;")
