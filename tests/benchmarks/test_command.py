import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks import report, timing
from benchmarks.libraries import LIBRARIES
from tests.benchmarks import fakes

FAST = timing.Effort(rounds=2, least=1, seconds=1e9, limit=1e9, turn=0.0)


@pytest.fixture
def run(monkeypatch):
    """The command, about a fake work."""
    fake = fakes.work(
        fakes.adapter("rdpkit"),
        fakes.adapter("opacus", (1.0, 1.0)),
        fakes.adapter("autodp", error=ImportError("not here")),
        goals=[fakes.goal("opacus", 1e12)],
    )
    monkeypatch.setattr(command, "all_works", lambda: [fake])
    monkeypatch.setattr(timing, "QUICK", FAST)

    def invoke(*arguments):
        return CliRunner().invoke(command.main, [*arguments])

    return invoke


def test_an_unknown_work_is_refused(run):
    found = run("--only", "nothing")
    assert found.exit_code == 2
    assert "Expected --only to be one of fake, import, scaling, got 'nothing'." in found.stderr


@pytest.mark.thorough
def test_a_run_writes_tables_plots_and_json(run, tmp_path):
    found = run("--quick", "--only", "fake", "--output", str(tmp_path), "--format", "json")
    assert found.exit_code == 0, found.output
    printed = json.loads(found.stdout)
    assert printed == json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [row["library"] for row in printed["rows"]] == ["rdpkit", "opacus", "autodp"]
    assert printed["rows"][2]["failure"] == "ImportError: not here"
    assert printed["machine"]["versions"]["dp-accounting"]
    assert "**too small** by 50.0 %" in (tmp_path / "results.md").read_text(encoding="utf-8")
    drawn = (tmp_path / "ratios.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    assert not (tmp_path / "scaling.svg").exists()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.thorough
def test_earlier_results_are_drawn_alike(run, tmp_path):
    run("--quick", "--only", "fake", "--output", str(tmp_path / "a"))
    arguments = ["--render", str(tmp_path / "a" / "results.json"), "--output", str(tmp_path / "b")]
    assert run(*arguments).exit_code == 0
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {"results.json", "results.md", "ratios.svg"}
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.thorough
def test_a_missed_goal_is_an_exit_status_when_asked_for(run, tmp_path):
    arguments = ["--quick", "--only", "fake", "--output", str(tmp_path)]
    assert run(*arguments).exit_code == 0
    assert run(*arguments, "--check").exit_code == 1


@pytest.mark.thorough
def test_only_a_whole_run_rewrites_the_documentation(run, monkeypatch, tmp_path):
    page = tmp_path / "docs" / "reference" / "benchmarks.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"{report.BEGIN}\n{report.END}\n", encoding="utf-8")
    monkeypatch.setattr(command, "PAGE", page)
    monkeypatch.setattr(command, "DOCS", tmp_path / "docs" / "benchmarks")
    monkeypatch.setattr(command, "ELSEWHERE", tmp_path / "build")
    before = page.read_bytes()
    assert run("--quick", "--only", "fake").exit_code == 0
    assert page.read_bytes() == before
    results = tmp_path / "build" / "results.json"
    assert run("--render", str(results)).exit_code == 0
    assert "A fake | work" in page.read_text(encoding="utf-8")
    assert {path.name for path in (tmp_path / "docs" / "benchmarks").iterdir()} == {
        "results.json",
        "ratios.svg",
    }


def test_the_page_has_its_marks():
    page = command.PAGE.read_text(encoding="utf-8")
    assert report.into_page(page, "x") != page
    for name in re.findall(r"\]\((benchmarks/[^)]*)\)", page):
        assert (command.PAGE.parent / name).exists()


def test_every_library_is_pinned():
    path = Path(command.__file__).parent / "requirements.txt"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", pin) for pin in pins)
    pinned = {pin.partition("==")[0] for pin in pins}
    assert set(LIBRARIES) - {"rdpkit"} <= pinned
    assert "torch==2.13.0" in pins
