"""Trade-off curves: certified from both sides, against closed forms and slow oracles."""

import math
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import rdpkit
from rdpkit.accountants.profiles import Profile
from tests.events import unit
from tests.events.unit import training

RATES = (1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99)


def contains(found: rdpkit.Enclosure, value: float, slack: float = 1e-13) -> bool:
    """The slack is that of the oracle, which is computed in floats."""
    return found.lower <= value * (1 + slack) + slack and value <= found.upper * (1 + slack) + slack


class TestAgainstClosedForms:
    @pytest.mark.parametrize("mu", [1e-3, 0.5, 1.0, 6.0])
    def test_gaussian(self, mu):
        event = unit.gaussian(1.0 / mu)
        curve = rdpkit.tradeoff(event, adjacency="add_or_remove_one")
        assert contains(curve.advantage, 2 * norm.cdf(mu / 2) - 1)
        assert curve.advantage.upper - curve.advantage.lower < 1e-12
        for rate in RATES:
            assert contains(curve.tpr(rate), norm.sf(norm.isf(rate) - mu))
            assert contains(curve.fnr(rate), norm.cdf(norm.isf(rate) - mu))
            assert curve.tpr(rate).upper - curve.tpr(rate).lower < 1e-12

    def test_gaussians_that_compose(self):
        parts = [unit.gaussian(z) for z in (1.0, 2.0, 2.0)]
        curve = rdpkit.tradeoff(rdpkit.Composed(events=parts), adjacency="add_or_remove_one")
        assert curve.gaussian is not None
        assert contains(curve.tpr(0.05), norm.sf(norm.isf(0.05) - math.sqrt(1.5)))

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
    def test_pure_differential_privacy_is_randomised_response(self, epsilon):
        event = rdpkit.CustomProfile(
            epsilons=[epsilon], deltas=[0.0], adjacency="add_or_remove_one"
        )
        curve = rdpkit.tradeoff(event, adjacency="add_or_remove_one")
        grown = math.exp(epsilon)
        assert curve.advantage.upper == pytest.approx(math.tanh(epsilon / 2), rel=1e-12)
        for rate in RATES:
            fnr = max(0.0, 1 - grown * rate, (1 - rate) / grown)
            assert curve.fnr(rate).lower == pytest.approx(fnr, rel=1e-9, abs=1e-12)
            assert curve.fnr(rate).lower <= fnr * (1 + 1e-12)

    @pytest.mark.thorough
    @pytest.mark.parametrize(("q", "z"), [(0.01, 1.0), (0.3, 0.5), (0.9, 3.0)])
    def test_one_sampled_gaussian(self, q, z):
        """The tests "x > c" and "x < c" of the mixture against the Gaussian, in both orders."""
        curve = rdpkit.tradeoff(training(q, z), adjacency="add_or_remove_one")
        places = np.linspace(-6.0, 6.0 + 1.0 / z, 200)
        null = norm.sf(places)
        mixture = (1 - q) * null + q * norm.sf(places - 1.0 / z)
        for a, b in zip(null, mixture, strict=True):
            # Mixture against Gaussian: FPR a, TPR b. Exchanged: FPR 1 - b, TPR 1 - a.
            assert curve.tpr(a).upper >= b * (1 - 1e-12)
            assert curve.tpr(1 - b).upper >= (1 - a) * (1 - 1e-12)
        for rate in (1e-6, 1e-3, 0.1):
            forward = (1 - q) * rate + q * norm.sf(norm.isf(rate) - 1.0 / z)
            inside = curve.tpr(rate)
            assert inside.upper >= forward * (1 - 1e-12)
            assert inside.upper - inside.lower <= 0.01 * inside.upper

    @pytest.mark.thorough
    def test_advantage_is_delta_at_zero(self):
        event = training(0.01, 1.0, 1000)
        curve = rdpkit.tradeoff(event, adjacency="add_or_remove_one")
        upper = rdpkit.delta(event, epsilon=0.0, adjacency="add_or_remove_one").delta
        lower = rdpkit.lower_bound(event, epsilon=0.0, adjacency="add_or_remove_one")[0].delta
        assert curve.advantage.upper >= lower
        assert curve.advantage.lower <= upper
        assert curve.advantage.upper == pytest.approx(upper, rel=1e-3)


class TestShape:
    @pytest.mark.thorough
    def test_ends(self):
        curve = rdpkit.tradeoff(training(0.01, 1.0, 100), adjacency="add_or_remove_one")
        assert curve.tpr(0.0).upper <= 1.1e-10
        assert curve.tpr(1.0).upper == 1.0
        assert curve.fnr(1.0).lower == 0.0
        assert curve.fnr(0.0).lower >= 1 - 1.1e-10

    @pytest.mark.thorough
    def test_fnr_is_what_tpr_leaves(self):
        curve = rdpkit.tradeoff(training(0.05, 1.0, 100), adjacency="replace_one")
        for rate in RATES:
            tpr, fnr = curve.tpr(rate), curve.fnr(rate)
            assert fnr.lower == pytest.approx(1 - tpr.upper, abs=1e-15)
            assert fnr.upper == pytest.approx(1 - tpr.lower, abs=1e-15)

    @pytest.mark.thorough
    def test_symmetric_and_convex(self):
        curve = rdpkit.tradeoff(training(0.05, 1.0, 100), adjacency="add_or_remove_one")
        rates = np.linspace(0.0, 1.0, 41)
        misses = np.array([curve.fnr(rate).lower for rate in rates])
        assert (np.diff(misses) <= 0).all()
        assert (np.diff(misses, 2) >= -1e-14).all()
        for rate in (0.05, 0.2, 0.4):
            # f(f(a)) = a for a symmetric curve.
            assert curve.fnr(curve.fnr(rate).lower).lower == pytest.approx(rate, rel=1e-9)

    def test_a_finite_part_of_infinite_losses(self):
        event = rdpkit.CustomProfile(epsilons=[1.0], deltas=[0.01], adjacency="replace_one")
        curve = rdpkit.tradeoff(event, adjacency="replace_one")
        assert curve.tpr(0.0).upper == pytest.approx(0.01)
        assert curve.tpr(0.1).upper == pytest.approx(0.01 + math.e * 0.1)

    @pytest.mark.thorough
    def test_without_a_pair_guessing_is_what_is_attained(self):
        event = rdpkit.CustomRdp(orders=[2.0, 8.0], values=[0.1, 0.4], adjacency="replace_one")
        curve = rdpkit.tradeoff(event, adjacency="replace_one")
        assert curve.attained == ()
        assert curve.tpr(0.1).lower == 0.1
        assert 0.1 < curve.tpr(0.1).upper < 0.25
        assert curve.advantage.lower == 0.0

    def test_nothing_is_known_of_a_divergence_that_is_infinite(self):
        event = rdpkit.CustomRdp(orders=[2.0], values=[math.inf], adjacency="replace_one")
        curve = rdpkit.tradeoff(event, adjacency="replace_one")
        assert curve.tpr(0.0).upper == 1.0
        assert rdpkit.gdp(event, adjacency="replace_one").mu == math.inf

    def test_arguments(self):
        event = unit.gaussian(1.0)
        curve = rdpkit.tradeoff(event, adjacency="replace_one")
        with pytest.raises(ValueError, match="Expected fpr in"):
            curve.tpr(1.5)
        with pytest.raises(ValueError, match="Expected fpr in"):
            curve.fnr(math.nan)
        with pytest.raises(ValueError, match="Expected smallest_delta in"):
            rdpkit.tradeoff(event, adjacency="replace_one", smallest_delta=0.0)
        with pytest.raises(ValueError, match="Expected event to be Event"):
            rdpkit.tradeoff(1.0, adjacency="replace_one")

    def test_as_dict(self):
        event = unit.gaussian(1.0)
        found = rdpkit.tradeoff(event, adjacency="add_or_remove_one").as_dict([0.1])
        assert found["curve"][0]["fpr"] == 0.1
        assert (
            found["curve"][0]["tpr"][0] <= norm.sf(norm.isf(0.1) - 1) <= found["curve"][0]["tpr"][1]
        )


def chord(profile: Profile, epsilon: float) -> float:
    """The straight line in e^epsilon between two points; the last delta beyond."""
    points = profile.points()
    for (left, high), (right, low) in pairwise(points):
        if left <= epsilon <= right:
            share = math.expm1(epsilon - left) / math.expm1(right - left)
            return high + share * (low - high)
    return points[-1][1]


@pytest.mark.thorough
@settings(max_examples=6)
@given(
    q=st.floats(1e-4, 1.0),
    z=st.floats(0.4, 20.0),
    steps=st.integers(1, 3000),
    share=st.floats(0.01, 0.95),
    adjacency=st.sampled_from(["add_or_remove_one", "replace_one"]),
)
def test_the_profile_agrees_with_single_questions(q, z, steps, share, adjacency):
    event = training(q, z, steps)
    curve = rdpkit.tradeoff(event, adjacency=adjacency)
    epsilon = share * curve.profile.epsilons[-1]
    above = rdpkit.delta(event, epsilon=epsilon, adjacency=adjacency).delta
    below = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=adjacency)[0].delta
    assert chord(curve.profile, epsilon) >= below
    for one in curve.attained:
        assert chord(one.forward, epsilon) <= above * (1 + 1e-12)
        assert chord(one.backward, epsilon) <= above * (1 + 1e-12)
    for rate in (1e-6, 0.01, 0.3):
        # Every (epsilon, delta) is a limit on every attack.
        inside = curve.tpr(rate)
        assert rate <= inside.lower <= inside.upper
        assert inside.lower <= above + math.exp(epsilon) * rate * (1 + 1e-12)


class TestExtremes:
    @pytest.mark.thorough
    def test_a_delta_of_1e_100(self):
        event = training(0.01, 1.0, 1000)
        curve = rdpkit.tradeoff(event, adjacency="add_or_remove_one", smallest_delta=1e-100)
        assert curve.profile.deltas[-1] <= 1e-100
        assert curve.tpr(1e-60).upper < 1e-45
        assert curve.tpr(1e-60).lower > 1e-60


class TestPlot:
    @pytest.mark.thorough
    @pytest.mark.parametrize("logarithmic", [False, True])
    def test_lines(self, logarithmic):
        with mpl.rc_context({"backend": "agg"}):
            curve = rdpkit.tradeoff(training(0.05, 1.0, 100), adjacency="add_or_remove_one")
            axes = curve.plot(logarithmic=logarithmic)
            labels = [line.get_label() for line in axes.get_lines()]
            assert labels[:2] == ["an attack attains", "proven for every attack"]
            attained, proven = (np.asarray(line.get_ydata()) for line in axes.get_lines()[:2])
            assert ((attained <= proven) if logarithmic else (attained >= proven)).all()
            import matplotlib.pyplot as plt

            plt.close(axes.figure)


def test_a_curve_shows_itself_in_one_line():
    curve = rdpkit.tradeoff(unit.gaussian(2.0), adjacency="add_or_remove_one")
    assert str(curve).startswith("advantage <= 0.1975, true positive rate <= 0.03")
    assert "add-or-remove-one; certified" in str(curve)
