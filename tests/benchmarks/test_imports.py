import pytest

from benchmarks import imports
from benchmarks.model import Row


def test_a_library_that_is_missing_is_a_row(monkeypatch):
    monkeypatch.setattr(
        imports,
        "STATEMENTS",
        (
            ("rdpkit", "import json", "rdpkit"),
            ("scipy.special", "import json", "scipy"),
            ("absent", "import no_such_library", "no-such-library"),
        ),
    )
    rows = imports.measure(rounds=1, quick=False)
    ours, yardstick, absent = rows
    assert ours.ratio == 1.0
    assert yardstick.version != ""
    assert absent.failure == "RuntimeError: ModuleNotFoundError: No module named 'no_such_library'"
    assert (absent.version, absent.verdict) == ("", "failed")


def rows(ours, yardstick):
    return [
        Row(work=imports.WORK, case="", library=name, seconds=seconds)
        for name, seconds in (("rdpkit", ours), (imports.YARDSTICK, yardstick))
    ]


@pytest.mark.parametrize(("ours", "met"), [(1.29, True), (1.31, False)])
def test_the_goal(ours, met):
    (outcome,) = imports.outcomes(rows(ours, 1.0))
    assert outcome.met is met


def test_no_goal_without_a_yardstick():
    assert imports.outcomes(rows(1.0, None)) == []
