"""Figures as data: what the papers print, what is true beside it, and how it is drawn."""

import csv
import functools
import io
import itertools
import json
import math

import pytest
from paper_figures import drawing
from paper_figures.catalogue import FIGURES
from paper_figures.dpcda import LOWER_UP_TO
from paper_figures.model import Point

import rdpkit
from rdpkit.formats.text import as_json

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


def test_dpcda_numbers_are_those_of_the_library(budgets):
    event = rdpkit.DPCDA(
        class_sizes=[6000] * 10,
        samples_per_class=1000,
        order_of_mixture=256,
        clip_norm=1.0,
        feature_noise=0.1,
        label_noise=0.1,
    )
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


def test_the_default_axes_of_ndpdc_hold_the_papers_values():
    wanted = {"noise_std": [0.75, 1, 1.25, 1.5, 2], "group_size": [25, 50, 75, 100]}
    seen = {}

    def only_count(tasks):
        seen["x"] = {task.keywords["x"] for task in tasks}
        raise StopIteration

    with pytest.raises(StopIteration):
        NDPDC.compute(track=only_count)
    assert {x for values in wanted.values() for x in values} <= seen["x"]
    assert {2000.0, 5000.0, 10000.0} <= seen["x"]


@pytest.mark.parametrize(
    ("entry", "parameters", "message"),
    [
        (DPCDA, {"points": 1}, "Expected points to be an integer in"),
        (DPCDA, {"points": 10**6}, "Expected points to be an integer in"),
        (DPCDA, {"noise": (0.5, 0.1)}, "Expected noise to be two numbers, LOW < HIGH"),
        (DPCDA, {"noise": (0.0, 0.1)}, "Expected noise to be a finite number > 0"),
        (DPCDA, {"noise": (0.1, math.nan)}, "Expected noise to be a finite number > 0"),
        (DPCDA, {"releases": 15}, "Expected releases to be a multiple of 10"),
        (DPCDA, {"delta": 1.0}, "Expected delta in"),
        (DPCDA, {"clip_norm": -1.0}, "Expected clip_norm to be"),
        (DPCDA, {"orders_of_mixture": (4, 4)}, "at most 8 different integers"),
        (DPCDA, {"orders_of_mixture": range(1, 10)}, "at most 8 different integers"),
        (DPCDA, {"orders_of_mixture": (6001,)}, "Expected order_of_mixture to be"),
        (NDPDC, {"noise_std": 0.0}, "Expected noise_std to be"),
        (NDPDC, {"group_size": 5001}, "Expected group_size to be at most 5000"),
        (NDPDC, {"iterations": 0}, "Expected iterations to be"),
        (NDPDC, {"delta": 0.0}, "Expected delta in"),
        (SYNTHESIS, {"orders": (1.0, 2.0)}, "Expected orders to be a finite Renyi order"),
        (SYNTHESIS, {"records": (1,)}, r"Expected records\[0\] to be an integer >= 2"),
        (SYNTHESIS, {"min_eigenvalue": 2.0}, "Expected min_eigenvalue"),
        (SYNTHESIS, {"dimension": 0}, "Expected dimension to be"),
    ],
)
def test_bad_parameters_are_one_error_before_any_work(entry, parameters, message):
    def no_work(tasks):
        raise AssertionError("began")

    with pytest.raises(ValueError, match=message):
        entry.compute(**parameters, track=no_work)


def test_synthesis_of_too_few_records_for_a_pair_has_no_lower_curve():
    points = (
        SYNTHESIS.compute(records=(2,), min_eigenvalue=1.0, points=2).panels[0].curves[0].points
    )
    assert {point.lower for point in points} == {None}


def test_csv_is_one_row_a_point_with_every_parameter(divergences):
    rows = list(csv.DictReader(io.StringIO(divergences.as_csv())))
    assert list(rows[0]) == [
        *("panel", "n", "d", "sigma", "outputs"),
        *("x", "published", "upper", "lower"),
    ]
    assert len(rows) == len(points_of(divergences))
    last = next(row for row in rows if row["n"] == "10000" and row["x"] == "8.0")
    assert (last["published"], last["upper"], last["lower"]) == ("", "inf", "inf")
    for row, point in zip(rows, points_of(divergences), strict=True):
        assert float(row["x"]) == point.x
        assert float(row["upper"]) == point.upper


def test_json_is_strict_and_says_what_is_fixed(budgets, divergences):
    data = json.loads(as_json(budgets.as_dict()))
    assert data["parameters"]["T"] == 10000
    assert data["parameters"]["delta"] == 1e-5
    assert data["parameters"]["c"] == 1.0
    assert data["panels"][0]["curves"][0]["parameters"] == {"l": 64}
    assert "T = 10000, delta = 1e-05, c = 1" in budgets.caption()[0]
    data = json.loads(as_json(divergences.as_dict()))
    last = data["panels"][0]["curves"][0]["points"][-1]
    assert last == {"x": 8.0, "published": None, "upper": "inf", "lower": "inf"}


@pytest.mark.thorough
@pytest.mark.parametrize(("file_format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_drawing_is_the_same_every_time(divergences, file_format, start):
    first = drawing.draw(divergences, file_format)
    assert first.startswith(start)
    assert drawing.draw(divergences, file_format) == first
    assert b"<dc:date>" not in first


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


def _boxes_below(canvas):
    """The numbers that are seen below each axis, and the labels of all axes."""
    canvas.draw_without_rendering()
    numbers, labels = [], []
    for axes in canvas.axes:
        left, right = sorted(axes.get_xlim())
        numbers.append(
            [
                tick.label1.get_window_extent()
                for tick in axes.xaxis.get_major_ticks()
                if tick.label1.get_visible() and left <= tick.get_loc() <= right
                if tick.label1.get_text()
            ]
        )
        labels += [axes.xaxis.label.get_window_extent()] if axes.get_xlabel() else []
    return numbers, labels


@pytest.mark.thorough
@pytest.mark.parametrize("entry", FIGURES.values(), ids=lambda entry: entry.id)
def test_labels_below_the_axes_do_not_collide(entry):
    import matplotlib

    with matplotlib.rc_context():
        canvas = drawing.drawn(_drawn_with_any_numbers(entry))
        numbers, labels = _boxes_below(canvas)
    assert any(len(below) >= 3 for below in numbers)
    for boxes in (*numbers, [box for below in numbers for box in below], labels):
        for box, other in itertools.combinations(boxes, 2):
            assert not box.overlaps(other)
    # Neighbours are told apart by a gap of three points at least.
    gap = 3.0 / 72.0 * canvas.dpi
    for below in numbers:
        below.sort(key=lambda box: box.x0)
        assert all(b.x0 - a.x1 >= gap for a, b in itertools.pairwise(below))


@pytest.mark.parametrize("entry", FIGURES.values(), ids=lambda entry: entry.id)
def test_a_figure_has_as_many_points_as_the_catalogue_says(entry):
    assert len(points_of(_drawn_with_any_numbers(entry))) in (entry.points, 2 * entry.points)
