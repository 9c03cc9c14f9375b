import math

import pytest

from benchmarks import judge, report
from benchmarks.model import Curve, Outcome, Row
from benchmarks.results import Results

MACHINE = {
    "command": "python -m benchmarks",
    "date": "2000-01-01",
    "processor": "a processor",
    "cores": 2,
    "memory_gib": 4.0,
    "load": [0.0],
    "system": "Linux",
    "python": "3.11.0",
    "versions": {"rdpkit": "1", "opacus": ""},
}


def results():
    ours = Row(work="w", case="a", library="rdpkit", verdict=judge.RIGHT, seconds=1e-3)
    ours.ratio = ours.ratio_low = ours.ratio_high = 1.0
    ours.below, ours.above, ours.off, ours.checked = 0.0, 2e-14, 0, 156
    theirs = Row(work="w", case="a", library="opacus", verdict=judge.TOO_SMALL, seconds=0.25)
    theirs.ratio, theirs.ratio_low, theirs.ratio_high = 250.0, 240.0, 260.0
    theirs.below, theirs.above, theirs.off, theirs.checked = 0.023, math.inf, 3, 156
    theirs.note, theirs.peak_bytes = "cut off early", 3 * 2**20
    broken = Row(work="w", case="a", library="autodp", verdict=judge.FAILED, failure="No | way")
    curve = Curve(id="c", title="cost", size="orders", library="rdpkit")
    curve.sizes, curve.seconds, curve.slope = [1, 10], [1.0, 10.0], 1.0
    return Results(
        machine=MACHINE,
        works=[{"id": "w", "title": "Work", "about": "About it."}],
        rows=[ours, theirs, broken],
        curves=[curve],
        outcomes=[
            Outcome(work="w", name="ratio", limit="at least 3", measured=2.0, met=False, case="a"),
            Outcome(work="w", name="other", limit="at least 3", measured=None, met=None),
        ],
    )


def test_the_whole_report():
    text = report.render(results())
    assert "| rdpkit | 1.00 ms | 1 | - | right, within 2e-14 |" in text
    assert (
        "| opacus | 250 ms | 250 (240 to 260) | 3.00 MiB | **too small** by 2.30 % (3 of 156) |"
        in text
    )
    assert "| autodp | - | - | - | **fails**: No \\| way |" in text
    assert "* opacus: cut off early." in text
    assert "Fastest other library whose numbers are right: a: none." in text
    assert "| w | ratio | at least 3 | 2.00 | a | **no** |" in text
    assert "| w | other | at least 3 | - | - | not measured |" in text
    assert "Not installed: opacus." in text
    assert "| cost | rdpkit | 1 to 10 orders | 1.00 s to 10.0 s | 1.00 |" in text
    assert "caches empty" not in text


def test_a_page_is_replaced_between_its_marks_only():
    page = f"head\n{report.BEGIN}\nold\n{report.END}\ntail\n"
    once = report.into_page(page, "new\n")
    assert once == f"head\n{report.BEGIN}\n\nnew\n\n{report.END}\ntail\n"
    assert report.into_page(once, "new") == once


@pytest.mark.parametrize(
    "page", ["", report.BEGIN, f"{report.END}{report.BEGIN}", f"{report.BEGIN * 2}{report.END}"]
)
def test_a_page_without_marks_is_left_alone(page):
    with pytest.raises(ValueError, match="Expected the page to hold"):
        report.into_page(page, "new")


def test_results_survive_json():
    before = results()
    before.rows[0].values = [1.0, math.inf, -math.inf]
    after = Results.from_json(before.as_json())
    assert after == before
    before.rows[0].values = [math.nan]
    assert math.isnan(Results.from_json(before.as_json()).rows[0].values[0])


@pytest.mark.parametrize("text", ["{}", "[]", "not JSON", '{"version": 0}'])
def test_other_files_are_refused(text):
    with pytest.raises(ValueError, match="Expected results of version 1"):
        Results.from_json(text)
