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


def test_a_library_that_crashes_is_a_row_too():
    work = fakes.work(
        fakes.adapter("rdpkit"), fakes.adapter("opacus", error=ZeroDivisionError("one over nil"))
    )
    assert measured(work)["opacus"].failure == "ZeroDivisionError: one over nil"


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


@pytest.mark.thorough
def test_a_sample_is_scaled_to_the_whole_and_says_so():
    work = fakes.work(
        fakes.adapter("rdpkit"),
        fakes.adapter("dp-accounting", variant="sample", scale=1e6, note="a millionth"),
    )
    row = measured(work)["dp-accounting (sample)"]
    plain = measured(fakes.work(fakes.adapter("rdpkit")))["rdpkit"]
    assert (row.scale, row.note) == (1e6, "a millionth")
    assert None not in {row.seconds, row.ratio, plain.seconds}
    assert plain.scale == 1.0


def test_without_a_reference_nothing_is_judged():
    row = measured(fakes.work(fakes.adapter("rdpkit"), reference=None))["rdpkit"]
    assert (row.verdict, row.checked) == ("not checked", None)


def test_a_quick_run_leaves_out_what_is_slow():
    work = fakes.work(fakes.adapter("rdpkit"), fakes.adapter("autodp", slow=True))
    assert set(measured(work, quick=True)) == {"rdpkit"}
    assert measured(work, quick=True)["rdpkit"].first is None
    assert set(measured(work)) == {"rdpkit", "autodp"}


def test_a_quick_case_changes_its_parameters():
    case = fakes.Case(id="a", parameters={"n": 100, "m": 1}, quick={"n": 4})
    assert case.quickly().parameters == {"n": 4, "m": 1}
    work = fakes.work(fakes.adapter("rdpkit"))
    plain = fakes.Case(id="b", parameters={})
    both = fakes.Work(
        **{name: getattr(work, name) for name in work.__slots__ if name != "cases"},
        cases=[case, plain],
    )
    assert [c.parameters for c in runner.cases_of(both, quick=True)] == [{"n": 4, "m": 1}]
    assert runner.cases_of(both, quick=False) == [case, plain]


def test_the_checked_numbers_may_come_from_elsewhere():
    work = fakes.work(fakes.adapter("rdpkit", (9.0,), values=lambda: (1.0, 2.0)))
    assert measured(work)["rdpkit"].verdict == judge.RIGHT


def test_caches_of_a_library_are_found():
    import rdpkit.numerics.sampled_gaussian as module

    found = libraries.cached_functions(LIBRARIES["rdpkit"])
    names = {function.__name__ for function in found}
    kept = {
        name
        for name, value in vars(module).items()
        if hasattr(value, "cache_clear") and value.__module__ == module.__name__
    }
    assert kept <= names


def test_the_mended_dataclasses_are_put_back():
    import dataclasses

    before = getattr(dataclasses, "_get_slots", None)
    with pytest.raises(RuntimeError), libraries._weak_references_in_slots():
        raise RuntimeError
    assert getattr(dataclasses, "_get_slots", None) is before
