"""``rdpkit verify-training``: the command around the checks of a training."""

import html
import json
from functools import partial
from xml.etree import ElementTree

import pytest

from rdpkit.verification.training.options import TrainingOptions, replay_of
from tests.cli import commands

pytest.importorskip("opacus")
# The fastest check: it counts, and looks at delta.
FAST = ["--check", "accountant", "--seed", "7"]
BROKEN, MENDED = "delta-above-one-in-n", "delta-above-one-in-n-fixed"


run = partial(commands.run, "verify-training")


@pytest.mark.thorough
def test_a_broken_training_ends_with_status_one(tmp_path):
    files = {name: tmp_path / name for name in ("junit", "sarif", "summary")}
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    found = run(BROKEN, *FAST, *words)
    assert found.exit_code == 1
    assert "FAILED  accountant" in found.output
    assert "delta_too_large" in found.output
    assert f"rdpkit verify-training {BROKEN} --check accountant --seed 7" in found.output
    (case,) = ElementTree.parse(files["junit"]).getroot().iter("testcase")
    assert case.find("failure") is not None
    (result,) = json.loads(files["sarif"].read_text())["runs"][0]["results"]
    assert result["ruleId"] == "code-rejected"
    assert "delta_too_large" in html.unescape(files["summary"].read_text())


@pytest.mark.thorough
def test_a_mended_training_passes_and_repeats_itself():
    first, again = (run(MENDED, *FAST, "--format", "json") for _ in "12")
    assert first.exit_code == 0
    assert first.output == again.output
    said = json.loads(first.output)
    assert said["verdict"] == "not rejected"
    (check,) = said["checks"]
    assert check["check"] == "accountant"
    assert check["lower_bounds"][0]["kind"] == "lower"


def test_the_zoo_is_listed():
    found = run("--list")
    assert found.exit_code == 0
    assert found.output.startswith("batch-clipping ")
    listed = json.loads(run("--list", "--format", "json").output)["zoo"]
    assert {"name", "mistake", "correction", "seen_in", "check", "kinds"} <= set(listed[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "exactly one of TARGET and --list"),
        (("--list", BROKEN), "exactly one of TARGET and --list"),
        (("batch-clippin",), "Did you mean 'batch-clipping'?"),
        (("no_such_module:make",), "the module 'no_such_module' could not be imported"),
        ((BROKEN, "--alpha", "2"), "false_alarm_rate in (0, 1), got 2.0"),
        ((BROKEN, "--canaries", "1"), "canaries"),
        ((BROKEN, "--check", "steps"), "step"),
        ((BROKEN, "--junit", "/no/such/folder/x.xml"), "--junit to be in a folder"),
    ],
)
def test_bad_input_is_one_line_and_status_two(arguments, message):
    found = run(*arguments)
    assert found.exit_code == 2
    assert message in found.output


def test_a_training_that_fails_is_no_verdict(tmp_path, monkeypatch):
    (tmp_path / "trainer_that_fails.py").write_text(
        "def make():\n    raise RuntimeError('no GPU')\n"
    )
    monkeypatch.chdir(tmp_path)
    found = run("trainer_that_fails:make", "--junit", "out.xml")
    assert found.exit_code == 2
    assert "trainer_that_fails:make raised RuntimeError: no GPU" in found.output
    assert "no GPU" in (tmp_path / "out.xml").read_text()


def test_the_command_that_repeats_it():
    options = TrainingOptions(checks=("step", "run"), canaries=200, seed=3)
    assert replay_of("train:make", options) == (
        "rdpkit verify-training train:make --check step --check run --canaries 200 --seed 3"
    )
