"""The registry of outputs: what is known, and an output that another package adds."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

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
from tests.verification.claim_files import text
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
