"""Outputs: the known ones, one of another package, and the files that ``rdpkit audit`` writes."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from rdpkit import extensions
from rdpkit.verification.auditing.rules import DEFAULT
from rdpkit.verification.outputs import (
    GROUP,
    OUTPUTS,
    AuditResult,
    Output,
    known_outputs,
    output_for,
)
from tests.cli import commands
from tests.verification.claim_files import PARAMETERS, text
from tests.verification.finding_examples import one_of_each

TOY = """
def write(result):
    return "".join(f"{finding.claim.id} {finding.soundness}\\n" for finding in result.findings)
"""


@pytest.fixture
def toy(tmp_path):
    """A folder with an installed package that adds two outputs, one of which is broken."""
    folder = tmp_path / "site"
    installed = folder / "toy_outputs-1.0.dist-info"
    installed.mkdir(parents=True)
    (folder / "toy_outputs.py").write_text(TOY)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-outputs\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        f"[{GROUP}]\ntoy = toy_outputs:write\ntoy-broken = toy_outputs:nothing\n"
    )
    return folder


def test_every_output_makes_text_of_any_result():
    result = AuditResult(one_of_each(), DEFAULT)
    for output in OUTPUTS:
        assert output.load()(result).endswith("\n")


def test_an_output_is_chosen_by_how_the_file_ends():
    known = known_outputs()
    assert output_for("badge", Path("b.svg"), known["badge"]).suffix == ".svg"
    assert output_for("badge", Path("b.json"), known["badge"]).suffix == ".json"
    assert output_for("junit", Path("anything"), known["junit"]).name == "junit"
    with pytest.raises(ValueError, match=r"Expected --badge to end in .svg or .json, got 'b.png'"):
        output_for("badge", Path("b.png"), known["badge"])


def test_another_package_adds_an_output_and_nothing_of_it_is_imported(toy, monkeypatch):
    monkeypatch.syspath_prepend(str(toy))
    importlib.invalidate_caches()
    monkeypatch.setattr(extensions, "_declared", extensions._declared.__wrapped__)
    (output,) = known_outputs()["toy"]
    assert output.help == "Write what toy-outputs makes of the findings to this file."
    assert "toy_outputs" not in sys.modules


def test_an_output_that_cannot_be_loaded_is_one_clear_error():
    output = Output(name="toy", function="no_such_module:write", help="")
    with pytest.raises(ValueError, match=r"--toy cannot be loaded from 'no_such_module:write': No"):
        output.load()


@pytest.mark.thorough
def test_the_command_line_has_an_option_for_it(toy, tmp_path):
    (tmp_path / "a.toml").write_text(text(epsilon="0.80"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(toy), os.getcwd()])}

    def run(*options):
        command = [sys.executable, "-m", "rdpkit", "audit", "a.toml", "--bounds", "rdp", *options]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )

    done = run("--toy", "toy.txt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "toy.txt").read_text() == "a sound\n"
    broken = run("--toy-broken", "x.txt", "--toy", "y.txt")
    assert broken.returncode == 2
    assert broken.stderr.startswith("Error: The output --toy-broken cannot be loaded from ")
    assert broken.stdout == ""
    assert not (tmp_path / "y.txt").exists()


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
