"""DP-CDA's order of mixture: the numbers of the library, and a best one in between."""

import math

import pytest
from paper_figures import dpcda_mixture
from paper_figures.catalogue import FIGURES

import rdpkit
from rdpkit.formats.text import as_json
from tests.events import of_papers

FIGURE = FIGURES["dpcda-order-of-mixture"]
QUICK = {"epsilons": (10.0,), "orders_of_mixture": (4, 128, 4096), "releases": 10000}


@pytest.fixture
def quick(monkeypatch):
    """The figure without its lower curve, which takes seconds a point."""
    asked = []

    def refuted(event, epsilon, delta, *, start):
        asked.append((event.order_of_mixture, epsilon, start))
        return 0.8 * start

    monkeypatch.setattr(dpcda_mixture, "_refuted", refuted)
    return asked


@pytest.mark.thorough
def test_numbers_are_those_of_the_library(quick):
    figure = FIGURE.compute(**QUICK)
    noise, ratio = figure.panels
    assert [panel.name for panel in figure.panels] == ["noise", "noise-to-signal"]
    point = noise.curves[0].points[1]
    event = of_papers.dpcda(dpcda_mixture.CLASS_SIZES, 1000, 128, noise=0.1, label_noise=0.1)
    ask = {"target_epsilon": 10.0, "delta": 1e-5, "adjacency": "replace_one"}
    upper = rdpkit.calibrate(event, **ask, parameter="feature_noise", bound="best-rdp")
    assert point.upper == pytest.approx(upper.value, rel=1e-6)
    both = ("feature_noise", "label_noise")
    published = rdpkit.calibrate(event, **ask, parameter=both, bound="dpcda-theorem1")
    assert point.published == pytest.approx(published.value, rel=1e-6)
    # The published noise is below what the corrected accounting needs: the theorem is unsound.
    assert point.published < point.upper
    # The ratio is sigma^2 / (1/l - 1/N), N the smallest class.
    kept = 1.0 / 128 - 1.0 / 5421
    assert ratio.curves[0].points[1].upper == pytest.approx(point.upper**2 / kept, rel=1e-12)


@pytest.mark.thorough
def test_the_best_order_is_neither_the_smallest_nor_the_largest(quick):
    figure = FIGURE.compute(**QUICK)
    upper = [point.upper for point in figure.panels[1].curves[0].points]
    assert min(upper) == upper[1]
    assert "Best of the orders shown: l = 128 at epsilon 10." in figure.caption()
    noise = [point.upper for point in figure.panels[0].curves[0].points]
    assert noise == sorted(noise, reverse=True)
    # The search for the lower curve begins below the upper one.
    assert [order for order, _, _ in quick] == [4, 128, 4096]
    assert all(start < upper for (_, _, start), upper in zip(quick, noise))


def test_units_are_the_clip_norm(quick):
    one, two = (
        FIGURE.compute(**{**QUICK, "orders_of_mixture": (64,)}, clip_norm=c) for c in (1.0, 2.0)
    )
    for first, second in zip(one.panels, two.panels):
        (a,), (b,) = first.curves[0].points, second.curves[0].points
        assert a.upper == pytest.approx(b.upper, rel=1e-6)


@pytest.mark.thorough
def test_a_whole_class_has_no_ratio_and_no_noise(quick):
    figure = FIGURE.compute(**{**QUICK, "orders_of_mixture": (4, 5421)})
    noise, ratio = figure.panels
    assert noise.curves[0].points[1].upper == math.inf
    assert noise.curves[0].points[1].lower is None
    assert [point.x for point in ratio.curves[0].points] == [4.0]
    assert "inf" in as_json(figure.as_dict())


@pytest.mark.slow
def test_a_pair_of_data_sets_needs_less_noise_than_the_bound():
    figure = FIGURE.compute(epsilons=(2.0,), orders_of_mixture=(64,), releases=100)
    (point,) = figure.panels[0].curves[0].points
    assert 0.7 * point.upper < point.lower < point.upper
    event = of_papers.dpcda(dpcda_mixture.CLASS_SIZES, 10, 64, noise=point.lower)
    attained = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound="pair-lower")
    # With the noise of the lower curve the budget is exceeded, by the curve's tolerance at most.
    assert 2.0 < attained.epsilon < 2.1
