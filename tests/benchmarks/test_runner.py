import gc

import pytest

from benchmarks import judge, libraries, report, runner
from benchmarks.libraries import LIBRARIES, Library
from benchmarks.timing import Effort
from tests.benchmarks import fakes

EFFORT = Effort(rounds=2, least=1, seconds=1e9, limit=1e9, turn=0.0)


def measured(work, **options):
    (case,) = runner.cases_of(work, quick=False)
    return {row.library: row for row in runner.measure(work, case, EFFORT, **options)}


def test_a_missing_library_is_a_row_that_says_so(monkeypatch):
    missing = Library(name="no-such-library", module="no_such_library")
    monkeypatch.setitem(LIBRARIES, missing.name, missing)

    absent = fakes.Adapter(library=missing.name, prepare=lambda case: missing.load())
    rows = measured(fakes.work(fakes.adapter("rdpkit"), absent))
    row = rows["no-such-library"]
    assert row.verdict == judge.FAILED
    assert row.failure == "ModuleNotFoundError: No module named 'no_such_library'"
    assert (row.version, row.seconds) == ("", None)
    assert rows["rdpkit"].verdict == judge.RIGHT
    assert "**fails**: ModuleNotFoundError" in report.verdict(row)


@pytest.mark.thorough
def test_numbers_are_judged_and_kept():
    work = fakes.work(
        fakes.adapter("rdpkit"),
        fakes.adapter("autodp", (1.0, 1.5)),
        fakes.adapter("opacus", (1.0,)),
    )
    rows = measured(work)
    assert (rows["rdpkit"].verdict, rows["rdpkit"].checked) == (judge.RIGHT, 2)
    assert (rows["autodp"].verdict, rows["autodp"].below) == (judge.TOO_SMALL, 0.25)
    assert rows["autodp"].values == [1.0, 1.5]
    assert rows["opacus"].failure == "ValueError: Expected 2 values, got 1."


def test_a_quick_run_leaves_out_what_is_slow():
    work = fakes.work(fakes.adapter("rdpkit"), fakes.adapter("autodp", slow=True))
    assert set(measured(work, quick=True)) == {"rdpkit"}
    assert measured(work, quick=True)["rdpkit"].first is None
    assert set(measured(work)) == {"rdpkit", "autodp"}


def test_caches_of_a_library_are_found():
    import rdpkit.numerics.sampled_gaussian as module

    gc.unfreeze()  # What was there when tests were collected is looked for, too.
    found = libraries.cached_functions(LIBRARIES["rdpkit"])
    names = {function.__name__ for function in found}
    kept = {
        name
        for name, value in vars(module).items()
        if hasattr(value, "cache_clear") and value.__module__ == module.__name__
    }
    assert kept <= names
