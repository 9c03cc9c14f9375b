"""The files that ``rdpkit verify`` writes, and several targets on one command line."""

import json
import shlex
from xml.etree import ElementTree as Xml

import pytest

from rdpkit.verification.blackbox import zoo
from tests.cli import commands
from tests.verification.conftest import DESCRIBED

MODULE = (
    DESCRIBED
    + """

def breaks(dataset, rng):
    raise RuntimeError("<b>no & such]]> luck {0} ](x)")


breaks.event = Described.event
breaks.adjacency = "add_or_remove_one"
breaks.dimension = 1
good, weak = Described(2.0), Described(0.8)
"""
)
QUICK = ["--samples", "9000", "--seed", "1", "--jobs", "1", "--score", "linear"]
FILES = ["--junit", "j.xml", "--sarif", "s.sarif", "--summary", "s.md"]


@pytest.fixture
def module(own_module, one_process):
    return own_module(MODULE)


def invoke(*arguments):
    return commands.run("verify", *arguments, *QUICK)


def files(folder):
    root = Xml.parse(folder / "j.xml").getroot()
    (log,) = json.loads((folder / "s.sarif").read_text())["runs"]
    return root, log, (folder / "s.md").read_text()


@pytest.mark.thorough
def test_a_target_that_passes(module, tmp_path):
    done = invoke(f"{module}:good", *FILES)
    assert done.exit_code == 0, done.output
    root, log, page = files(tmp_path)
    assert (root.get("tests"), root.get("failures")) == ("1", "0")
    (case,) = root.iter("testcase")
    assert (case.get("name"), case.get("classname")) == (f"{module}:good", "rdpkit verify")
    assert (case.get("file"), case.get("line")) == (f"{module}.py", "6")
    assert float(case.get("time")) > 0.0
    assert case.find("failure") is None
    assert "not rejected" in case.find("system-out").text
    assert log["results"] == []
    assert log["tool"]["driver"]["name"] == "rdpkit verify"
    assert "All pass." in page


@pytest.mark.thorough
def test_a_target_that_is_rejected(module, tmp_path):
    done = invoke(f"{module}:weak", *FILES, "--format", "json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    root, log, page = files(tmp_path)
    (failure,) = root.iter("failure")
    assert failure.get("type") == "code-rejected"
    assert f"{module}:weak is rejected: " in failure.get("message")
    assert found["replay"] in failure.text
    (result,) = log["results"]
    assert (result["ruleId"], result["level"]) == ("code-rejected", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": f"{module}.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 6}
    rule = log["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], rule["name"]) == ("code-rejected", "CodeRejected")
    assert result["properties"]["seed"] == 1
    assert "**1 of 1 fails.**" in page


@pytest.mark.thorough
def test_a_finding_keeps_its_fingerprint_when_numbers_move(module, tmp_path):
    prints = []
    for seed in ("2", "3"):
        invoke(f"{module}:weak", "--seed", seed, *FILES)
        _, log, _ = files(tmp_path)
        prints.append([result["partialFingerprints"] for result in log["results"]])
    assert prints[0] == prints[1] != []


def test_doubts_are_a_broken_rule_for_a_strict_reader(module, tmp_path):
    few = ["--samples", "400", "--strict"]
    done = commands.run("verify", f"{module}:good", *QUICK, *FILES, *few)
    assert done.exit_code == 1
    root, log, _ = files(tmp_path)
    assert [result["ruleId"] for result in log["results"]] == ["code-doubtful"]
    assert root.get("failures") == "1"


@pytest.mark.thorough
def test_several_targets_share_one_rate(module, tmp_path):
    done = invoke(f"{module}:good", f"{module}:weak", *FILES, "--alpha", "0.02")
    assert done.exit_code == 1
    assert done.stdout.count("(false-alarm rate 0.01)") == 2
    last = done.stdout.splitlines()[-1]
    assert last == "2 targets: 1 not rejected, 1 rejected (false-alarm rate 0.02 for all together)"
    root, log, page = files(tmp_path)
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert len(log["results"]) == 1
    assert "**1 of 2 fails.**" in page


@pytest.mark.thorough
def test_each_of_several_targets_can_be_repeated_by_itself(module):
    done = invoke(f"{module}:good", f"{module}:weak", "--format", "json")
    for found in json.loads(done.stdout)["targets"]:
        assert found["test"]["false_alarm_rate"] == 0.025
        words = shlex.split(found["replay"])
        again = commands.run("verify", *words[2:], "--format", "json", "--jobs", "1")
        assert json.loads(again.stdout) == found


@pytest.mark.thorough
def test_a_target_that_cannot_be_tested_does_not_end_the_others(module, tmp_path):
    done = invoke(f"{module}:breaks", f"{module}:weak", f"{module}:none", *FILES)
    assert done.exit_code == 2
    assert [line[:7] for line in done.stderr.splitlines()] == ["Error: "] * 2
    assert "2 error, 1 rejected" in done.stdout
    root, log, page = files(tmp_path)
    assert root.find("testsuite").get("errors") == "2"
    error = next(root.iter("error"))
    assert "no & such]]> luck {0} ](x)" in error.get("message")
    rules = [result["ruleId"] for result in log["results"]]
    assert rules == ["code-error", "code-rejected", "code-error"]
    message = log["results"][0]["message"]["text"]
    assert "{{0}}" in message
    assert "](" not in message
    assert "<b>" not in page


def test_one_target_that_cannot_be_tested_is_written_down_too(module, tmp_path):
    done = invoke(f"{module}:breaks", *FILES)
    assert done.exit_code == 2
    root, _, _ = files(tmp_path)
    assert root.find("testsuite").get("errors") == "1"


@pytest.mark.thorough
def test_the_zoo_is_written_down(module, tmp_path, monkeypatch):
    monkeypatch.setattr(zoo, "NAMES", ("subset-once", "half-sensitivity"))
    options = ["--zoo", "--repeats", "2", "--seed", "1", "--samples", "20000", "--jobs", "1"]
    done = commands.run("verify", *options, *FILES)
    assert done.exit_code == 0, done.output
    root, log, _ = files(tmp_path)
    assert [case.get("name") for case in root.iter("testcase")] == [
        "subset-once",
        "half-sensitivity",
    ]
    assert (root.get("failures"), log["results"]) == ("0", [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--junit", "no/folder/j.xml"], "Expected --junit to be in a folder"),
        (["half-sensitivity", "half-sensitivity"], "Expected every TARGET once, got 'half-sens"),
    ],
)
def test_mistakes_are_noticed_before_anything_is_run(module, options, message):
    done = invoke("half-sensitivity-fixed", *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
