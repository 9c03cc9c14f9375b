"""``rdpkit audit``: the files that it writes, baselines, and rules."""

import json
import re
from xml.etree import ElementTree as Xml

import pytest

from tests.cli import commands
from tests.verification.claim_files import PARAMETERS, text

RIGHT = text(epsilon="0.80")
WRONG = text(epsilon="0.5", bound='"gaussian"')


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def go(content, *options):
        (tmp_path / "a.claims.toml").write_text(content)
        return commands.run("audit", "a.claims.toml", "--jobs", "1", "--no-notes", *options)

    return go


def test_every_file_that_is_asked_for_is_written(run, tmp_path):
    done = run(
        *(WRONG, "--junit", "j.xml", "--sarif", "s.sarif", "--summary", "s.md"),
        *("--badge", "b.svg", "--badge", "b.json", "--write-baseline", "base.json"),
    )
    assert done.exit_code == 1
    assert Xml.parse(tmp_path / "j.xml").getroot().get("failures") == "1"
    (log,) = json.loads((tmp_path / "s.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in log["results"]] == ["claim-refuted", "claim-differs"]
    assert "**1 of 1 fails.**" in (tmp_path / "s.md").read_text()
    assert (tmp_path / "b.svg").read_text().startswith("<svg")
    assert json.loads((tmp_path / "b.json").read_text())["color"] == "red"
    assert json.loads((tmp_path / "base.json").read_text())["claims"]["a"]["claimed"] == 0.5
    names = {"a.claims.toml", "j.xml", "s.sarif", "s.md", "b.svg", "b.json", "base.json"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_with_a_baseline_only_what_got_worse_fails(run):
    assert run(WRONG, "--write-baseline", "base.json").exit_code == 1
    done = run(WRONG, "--baseline", "base.json")
    assert done.exit_code == 0
    assert done.stdout.endswith("Since base.json:\nnothing moved\n")
    noisier = text(epsilon="0.5", parameters={**PARAMETERS, "noise_std": "6.0"})
    assert run(noisier, "--baseline", "base.json").exit_code == 0
    quieter = text(epsilon="0.5", parameters={**PARAMETERS, "noise_std": "4.0"})
    done = run(quieter, "--baseline", "base.json")
    assert done.exit_code == 1
    assert "a is worse:\n" in done.stdout
    assert "  - upper 0.7255218\n  + upper 0.9263415   (worse)\n" in done.stdout


def test_json_says_where_a_claim_is_and_what_it_breaks(run):
    (entry,) = json.loads(run("\n\n" + WRONG, "--format", "json").stdout)["claims"]
    assert (entry["file"], entry["line"]) == ("a.claims.toml", 3)
    assert entry["fails"] == ["refuted", "differs"]
    (entry,) = json.loads(run(RIGHT, "--format", "json").stdout)["claims"]
    assert entry["fails"] == []


def test_the_diff_in_json(run):
    run(RIGHT, "--write-baseline", "base.json")
    assert "baseline" not in json.loads(run(RIGHT, "--format", "json").stdout)
    done = run(WRONG, "--baseline", "base.json", "--format", "json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)["baseline"]
    assert found["worse"]
    moved = {one["what"]: (one["before"], one["now"]) for one in found["changes"][0]["moved"]}
    assert moved["soundness"] == ("sound", "refuted")
    assert moved["claimed"] == ("0.8", "0.5")


def test_a_baseline_may_be_read_and_written_in_one_run(run, tmp_path):
    run(RIGHT, "--write-baseline", "base.json")
    done = run(WRONG, "--baseline", "base.json", "--write-baseline", "base.json")
    assert done.exit_code == 1
    assert run(WRONG, "--baseline", "base.json").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--badge", "b.png"], "Expected --badge to end in .svg or .json, got 'b.png'"),
        (["--baseline", "none.json"], "none.json"),
        (["--baseline", "a.claims.toml"], "a.claims.toml: not a baseline in JSON"),
        (["--sarif", "no/folder/s.json"], "no/folder"),
        (["--cache", "a.claims.toml"], "to be a file that rdpkit wrote for its claims"),
        (["--bounds", "some"], "'some' is not one of"),
    ],
)
def test_mistakes_are_one_line(run, options, message):
    done = run(RIGHT, *options)
    assert done.exit_code == 2
    assert message in done.stderr.splitlines()[0]
    assert "Traceback" not in done.output


def test_bounds_and_the_cache(run, tmp_path):
    one = json.loads(run(RIGHT, "--bounds", "needed", "--format", "json").stdout)["claims"][0]
    assert (one["soundness"], one["lower"]) == ("sound", None)
    first = run(RIGHT, "--cache", "c").stdout
    assert (tmp_path / "c").stat().st_size > 0
    again = run(RIGHT, "--cache", "c")
    assert again.stdout == first
    lines = (tmp_path / "c").read_bytes()
    (tmp_path / "c").write_bytes(lines[:-20] + b"x" + lines[-19:])
    done = run(RIGHT, "--cache", "c")
    assert (done.exit_code, done.stdout) == (0, first)
    assert done.stderr.startswith("Warning: c, line 1")


def test_one_claim_is_never_called_claims(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(text(epsilon="0.5"))
    outputs = ["--summary", "s.md", "--badge", "b.svg", "--junit", "j.xml", "--sarif", "s.sarif"]
    done = [
        commands.run("audit", "a.toml", *outputs),
        commands.run("audit", "a.toml", "--no-curves", "-o", "r.html"),
    ]
    texts = [one.output for one in done]
    texts += [(tmp_path / name).read_text() for name in ("s.md", "b.svg", "r.html")]
    for one in texts:
        assert one
        assert not re.search(
            r"(?<! of )\b1 (claims|theorems|files|tests|records) |\b1 of 1 fail\b", one
        )
