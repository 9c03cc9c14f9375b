"""Figures as data: what the papers print, what is true beside it, and how it is drawn."""

import functools
import math

import pytest
from paper_figures import dpcda_mixture
from paper_figures.catalogue import FIGURES
from paper_figures.dpcda import LOWER_UP_TO
from paper_figures.model import Point

import rdpkit
from rdpkit.formats.text import as_json
from tests.events import of_papers

DPCDA, NDPDC = FIGURES["dpcda-figure3"], FIGURES["ndpdc-figure1"]
SYNTHESIS = FIGURES["synthesis-figure3"]


@pytest.fixture(scope="module")
def divergences():
    return SYNTHESIS.compute(records=(10**4, 10**6), orders=(2.0, 8.0), points=3)


@pytest.fixture(scope="module")
def budgets():
    return DPCDA.compute(orders_of_mixture=(64, 256), points=2, noise=(0.02, 0.1))


def at(figure, panel, curve, x):
    found = [p for p in figure.panels[panel].curves[curve].points if p.x == x]
    assert len(found) == 1
    return found[0]


def points_of(figure):
    return [p for panel in figure.panels for curve in panel.curves for p in curve.points]


def test_synthesis_has_the_numbers_of_the_papers_table_1(divergences):
    # Table 1 at order 4, of n outputs: 3535.17 and 5.8064 unbounded, - and 23.3577 bounded. The
    # tolerance is half a unit of the last printed digit.
    assert at(divergences, 0, 0, 4.0).published == pytest.approx(3535.17, abs=5e-3)
    assert at(divergences, 0, 1, 4.0).published == pytest.approx(5.8064, abs=5e-5)
    assert at(divergences, 1, 0, 4.0).published is None
    assert at(divergences, 1, 1, 4.0).published == pytest.approx(23.3577, abs=5e-5)


def test_synthesis_curves_end_near_the_limits_that_the_paper_prints(divergences):
    # 4.1679 and 2.3680 are the limits that section 5.2 prints for n = 10^4.
    for panel, limit in ((0, 4.1679), (1, 2.3680)):
        points = divergences.panels[panel].curves[0].points
        last = max(p.x for p in points if p.published is not None)
        assert 1.0 + 0.99 * (limit - 1.0) < last < limit


def test_synthesis_is_infinite_beyond_and_never_out_of_order(divergences):
    assert at(divergences, 0, 0, 8.0) == Point(
        x=8.0, published=None, upper=math.inf, lower=math.inf
    )
    for point in points_of(divergences):
        assert point.lower <= point.upper
        # The pair of the lower bound has n - 1 and n records where the theorem has n and n + 1.
        assert point.published is None or point.lower < point.published


@pytest.mark.thorough
def test_dpcda_is_refuted_where_noise_is_small_and_loose_where_it_is_large(budgets):
    small, large = budgets.panels[0].curves[0].points
    assert small.refuted
    assert small.published < small.lower <= small.upper
    assert large.lower <= large.upper < large.published / 5.0
    assert [point.x for _, _, point in budgets.refuted()] == [0.02]


@pytest.mark.thorough
def test_dpcda_numbers_are_those_of_the_library(budgets):
    event = of_papers.dpcda([6000] * 10, 1000, 256, noise=0.1, label_noise=0.1)
    point = at(budgets, 1, 0, 0.1)
    for value, bound in (
        (point.published, "dpcda-theorem1"),
        (point.upper, "best"),
        (point.lower, "pair-lower"),
    ):
        asked = rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one", bound=bound)
        # Certified or not, the same number up to the error of floats in a search over orders.
        assert value == pytest.approx(asked.epsilon, rel=1e-5)


def test_dpcda_has_no_lower_bound_where_the_upper_one_promises_nothing():
    figure = DPCDA.compute(orders_of_mixture=(64,), points=2, noise=(0.01, 0.5))
    first, last = figure.panels[0].curves[0].points
    assert first.upper > LOWER_UP_TO
    assert first.lower is None
    assert last.lower is not None


@pytest.mark.thorough
def test_ndpdc_has_the_budgets_that_the_paper_prints():
    figure = NDPDC.compute(points=2)
    # Table 8 at sigma = 2 (2.16, 1.93, 2.36) and Table 1 at the defaults (6.12, 5.45, 6.72), both
    # rounded up to two digits, as the last points of the first and the third panel.
    printed = {(0, 2.0): (2.16, 1.93, 2.36), (2, 10000.0): (6.12, 5.45, 6.72)}
    for (panel, x), budgets in printed.items():
        for curve, budget in enumerate(budgets):
            point = at(figure, panel, curve, x)
            assert budget - 0.01 <= point.published <= budget
            assert point.lower <= point.upper < point.published
    assert [curve.label for curve in figure.panels[0].curves] == ["MNIST", "FMNIST", "CIFAR10"]
    assert figure.refuted() == []
    assert "noise_std" not in figure.panels[0].curves[0].parameters
    assert figure.panels[1].curves[0].parameters["noise_std"] == 1.0


@pytest.mark.parametrize(
    ("entry", "parameters", "message"),
    [
        (DPCDA, {"points": 1}, "Expected points to be an integer in"),
        (DPCDA, {"noise": (0.5, 0.1)}, "Expected noise to be two numbers, LOW < HIGH"),
        (DPCDA, {"releases": 15}, "Expected releases to be a multiple of 10"),
        (DPCDA, {"orders_of_mixture": (4, 4)}, "at most 8 different integers"),
        (NDPDC, {"group_size": 5001}, "Expected group_size to be at most 5000"),
        (SYNTHESIS, {"orders": (1.0, 2.0)}, "Expected orders to be a finite Renyi order"),
        (SYNTHESIS, {"records": (1,)}, r"Expected records\[0\] to be an integer >= 2"),
    ],
)
def test_bad_parameters_are_one_error_before_any_work(entry, parameters, message):
    def no_work(tasks):
        raise AssertionError("began")

    with pytest.raises(ValueError, match=message):
        entry.compute(**parameters, track=no_work)


def _drawn_with_any_numbers(entry):
    """A figure with the axes that its defaults have, without the work."""

    def easy(tasks):
        return (
            functools.partial(Point, x=place, published=3.0, upper=2.0, lower=1.0)
            for place in map(_place, tasks)
        )

    return entry.compute(track=easy)


def _place(task):
    if "x" in task.keywords:
        return task.keywords["x"]
    event = task.args[0]
    return float(getattr(event, "order_of_mixture", task.args[-1]))


@pytest.mark.parametrize("entry", FIGURES.values(), ids=lambda entry: entry.id)
def test_a_figure_has_as_many_points_as_the_catalogue_says(entry):
    assert len(points_of(_drawn_with_any_numbers(entry))) in (entry.points, 2 * entry.points)


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
