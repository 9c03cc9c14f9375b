import math

import pytest

from benchmarks import judge
from benchmarks.model import Reference, Row
from tests.benchmarks import fakes


def reference(low, high=None, tolerance=1e-10):
    ends = {"low": low, "high": low if high is None else high}
    return Reference(**ends, tolerance=tolerance, about="")


def test_what_is_within_the_tolerance_is_right():
    found = judge.judge([1.0, 2.0 * (1.0 + 5e-11)], reference(["1", "2"]))
    assert (found.verdict, found.off) == (judge.RIGHT, 0)
    # 2 (1 + 5e-11) is rounded to a multiple of 2^-51.
    assert found.above == pytest.approx(5e-11, rel=1e-4)
    assert found.below == 0.0


def test_digits_beyond_those_of_a_float_are_seen():
    """A third is not a float: the nearest one is 5.6e-17 below, relatively."""
    found = judge.judge([1.0 / 3.0], reference(["0." + "3" * 40], tolerance=0.0))
    assert found.verdict == judge.TOO_SMALL
    assert found.below == pytest.approx(2.0**-54, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "verdict", "off"),
    [
        ([1.0, 2.1], judge.TOO_LARGE, 1),
        ([0.9, 2.1], judge.TOO_SMALL, 2),
        ([1.0, math.inf], judge.TOO_LARGE, 1),
        ([-math.inf, 2.0], judge.TOO_SMALL, 1),
        ([1.0, math.nan], judge.FAILED, 2),
        ([1.0, 0.0], judge.TOO_SMALL, 1),
    ],
)
def test_too_small_is_worse_than_too_large(values, verdict, off):
    found = judge.judge(values, reference(["1", "2"]))
    assert (found.verdict, found.off) == (verdict, off)


def test_the_number_of_values_must_agree():
    with pytest.raises(ValueError, match="Expected 2 values, got 1"):
        judge.judge([1.0], reference(["1", "2"]))


def row(library, ratio=None, *, case="a", verdict=judge.RIGHT, seconds=1.0):
    return Row(
        work="fake", case=case, library=library, ratio=ratio, verdict=verdict, seconds=seconds
    )


def test_a_goal_stands_as_in_its_worst_case():
    work = fakes.work(goals=[fakes.goal("slow", 30.0)])
    rows = [row("rdpkit", 1.0), row("slow", 50.0), row("slow", 29.0, case="b")]
    ratio, numbers = judge.outcomes(work, rows)
    assert (ratio.measured, ratio.case, ratio.met) == (29.0, "b", False)
    assert (numbers.measured, numbers.met) == (1.0, True)
    assert judge.outcomes(work, rows[:2])[0].met


def test_a_goal_that_was_not_measured_is_neither_met_nor_missed():
    work = fakes.work(goals=[fakes.goal("absent", 1.0)])
    (outcome,) = judge.outcomes(work, [row("other", 3.0)])
    assert (outcome.measured, outcome.met) == (None, None)


def test_our_own_wrong_numbers_are_an_outcome():
    rows = [row("rdpkit"), row("rdpkit", case="b", verdict=judge.TOO_SMALL)]
    (outcome,) = judge.outcomes(fakes.work(), rows)
    assert (outcome.met, outcome.case) == (False, "b")


def test_the_best_peer_is_the_fastest_that_is_right():
    rows = [
        row("rdpkit", seconds=0.1),
        row("rdpkit (other)", seconds=0.1),
        row("wrong", seconds=0.2, verdict=judge.TOO_LARGE),
        row("slow", seconds=3.0),
        row("quick", seconds=2.0),
        row("elsewhere", seconds=0.3, case="b"),
    ]
    best = judge.best_right_peer(rows, "fake", "a")
    assert best is not None
    assert best.library == "quick"
    assert judge.best_right_peer(rows[:3], "fake", "a") is None
