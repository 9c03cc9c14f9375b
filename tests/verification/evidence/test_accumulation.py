"""Evidence that adds up: ``verify``, ``audit`` and the store together."""

import json
import math
import shlex
from pathlib import Path

import pytest

from rdpkit.verification.evidence.requests import VerificationRequest
from tests.cli import commands
from tests.verification.claim_files import text
from tests.verification.conftest import DESCRIBED

MODULE = (
    DESCRIBED
    + """
import {}

good, weak, slight = Described(2.0), Described(0.8), Described(1.6)
"""
)
FILE = ".rdpkit/evidence.jsonl"
QUICK = ["--evidence", FILE, "--jobs", "1", "--score", "linear", "--neighbours", "worst"]
QUICK += ["--dimension", "1"]
SHORT = ["--samples", "3000"]


@pytest.fixture
def module(own_module, one_process):
    return own_module(MODULE.format(own_module("x = 1\n", "helper")))


@pytest.fixture
def runs(monkeypatch):
    """How many tests are made."""
    found, run = [], VerificationRequest.run

    def counted(request, **options):
        found.append(request)
        return run(request, **options)

    monkeypatch.setattr(VerificationRequest, "run", counted)
    return found


invoke = commands.run


def as_json(*arguments):
    done = invoke("verify", *arguments, *QUICK, "--format", "json")
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout), done.exit_code


@pytest.mark.thorough
def test_tests_of_the_same_code_add_up(module):
    total = 0.0
    for number in (1, 2, 3):
        found, _ = as_json(f"{module}:good", *SHORT)
        total += found["final_log_e_value"]
        on_record = found["evidence"]
        assert (on_record["claim"], on_record["version"], on_record["tests"]) == (1, 1, number)
        assert on_record["log_e_value"] == pytest.approx(total, abs=1e-12)


@pytest.mark.thorough
def test_short_tests_reject_together_what_none_rejects_alone(module):
    """Seeded: the exit status is that of all the evidence."""
    verdicts, totals = [], []
    for seed in range(20, 60):
        found, status = as_json(f"{module}:slight", "--samples", "2400", "--seed", seed)
        evidence = found["evidence"]
        assert status == (evidence["verdict"] == "rejected")
        verdicts.append(evidence["verdict"])
        totals.append(evidence["log_e_value"])
        if status:
            break
    assert verdicts[-1] == "rejected"
    assert len(verdicts) > 1
    assert totals[-1] >= evidence["needed"]


@pytest.mark.thorough
def test_changed_code_begins_again(module, tmp_path, monkeypatch):
    as_json(f"{module}:good", *SHORT)
    helper = tmp_path / f"helper_of_{tmp_path.name}.py"
    helper.write_text("x = 2\n")
    changed, _ = as_json(f"{module}:good", *SHORT)
    assert (changed["evidence"]["version"], changed["evidence"]["tests"]) == (2, 1)
    helper.write_text("x = 1\n")
    back, _ = as_json(f"{module}:good", *SHORT)
    assert (back["evidence"]["version"], back["evidence"]["tests"]) == (1, 2)


@pytest.mark.thorough
def test_what_is_rejected_is_not_run_again_unless_asked(module, runs):
    _, status = as_json(f"{module}:weak", "--samples", "9000")
    assert (status, len(runs)) == (1, 1)
    found, status = as_json(f"{module}:weak")
    assert (status, len(runs)) == (1, 1)
    assert found["skipped"].startswith("rejected before")
    assert found["evidence"]["verdict"] == "rejected"
    done = invoke("verify", f"{module}:weak", *QUICK, *SHORT)
    assert done.exit_code == 1
    assert "rejected before, and the code has not changed since; --again" in done.stdout
    found, status = as_json(f"{module}:weak", "--again", "--samples", "9000")
    assert (status, len(runs), found["evidence"]["tests"]) == (1, 2, 2)


@pytest.mark.thorough
def test_unchanged_code_may_be_left_out(module, runs, tmp_path):
    assert invoke("verify", f"{module}:good", *QUICK, *SHORT, "--skip-unchanged").exit_code == 0
    done = invoke(
        "verify", f"{module}:good", *QUICK, *SHORT, "--skip-unchanged", "--junit", "j.xml"
    )
    assert (done.exit_code, len(runs)) == (0, 1)
    assert "the code has not changed since it was tested" in done.stdout
    assert "<skipped" in (tmp_path / "j.xml").read_text()
    (tmp_path / f"helper_of_{tmp_path.name}.py").write_text("x = 2\n")
    invoke("verify", f"{module}:good", *QUICK, *SHORT, "--skip-unchanged")
    assert len(runs) == 2


@pytest.mark.thorough
def test_a_replay_adds_nothing_and_gives_the_identical_result(module):
    as_json(f"{module}:good", *SHORT)
    first, _ = as_json(f"{module}:good", *SHORT)
    words = shlex.split(first["replay"])
    content = Path(FILE).read_bytes()
    alone = invoke(*words[1:], "--jobs", "1", "--format", "json")
    evidence = first.pop("evidence")
    assert json.loads(alone.stdout) == first
    again, _ = as_json(f"{module}:good", *SHORT, "--seed", first["seed"])
    assert {k: v for k, v in again.items() if k != "evidence"} == first
    assert again["evidence"] == evidence
    assert Path(FILE).read_bytes() == content


@pytest.mark.thorough
def test_the_rate_is_that_of_the_file(module):
    found, _ = as_json(f"{module}:good", *SHORT, "--alpha", "0.01", "--error-control", "fdr")
    evidence = found["evidence"]
    assert (evidence["false_alarm_rate"], evidence["error_control"]) == (0.01, "fdr")
    assert evidence["needed"] == pytest.approx(-math.log(0.01 * (6 / math.pi**2) ** 2))
    assert as_json(f"{module}:good", *SHORT)[0]["evidence"]["false_alarm_rate"] == 0.01
    done = invoke("verify", f"{module}:good", *QUICK, "--alpha", "0.05")
    assert done.exit_code == 2
    assert "Expected --alpha to be 0.01" in done.stderr


@pytest.mark.thorough
def test_several_targets_use_one_file(module):
    done = invoke(
        "verify", f"{module}:good", f"{module}:slight", *QUICK, *SHORT, "--format", "json"
    )
    found = json.loads(done.stdout)["targets"]
    assert [one["evidence"]["claim"] for one in found] == [1, 2]


@pytest.mark.thorough
def test_what_is_claimed_decides_and_how_it_is_tested_does_not(module):
    as_json(f"{module}:good", *SHORT)
    other = [f"{module}:good", *SHORT, "--score", "logistic", "--records", "3"]
    assert as_json(*other)[0]["evidence"]["tests"] == 2
    assert as_json(f"{module}:good", *SHORT, "--delta", "0.01")[0]["evidence"]["claim"] == 2


CODE = (
    "[claim.code]\ncallable = '{}'\ndimension = 1\nsamples = 3000\nneighbours = 'worst'\n"
    "scores = ['linear']\n"
)
PARAMETERS = {"noise_std": "2.0", "record_norm": "1.0"}


def claims(tmp_path, name):
    content = text(epsilon="2.5", parameters=PARAMETERS, after=CODE.format(name))
    (tmp_path / "a.claims.toml").write_text(content)


def audit(*options):
    done = invoke(
        "audit", "a.claims.toml", "--allow-code", "--jobs", "1", "--format", "json", *options
    )
    assert done.exit_code in (0, 1), done.output
    (entry,) = json.loads(done.stdout)["claims"]
    return entry


@pytest.mark.thorough
def test_an_audit_adds_to_the_same_claim_as_verify(module, tmp_path):
    claims(tmp_path, f"{module}:good")
    entry = audit("--evidence", FILE)
    assert any("evidence on record: " in note and "in 1 test" in note for note in entry["notes"])
    found, _ = as_json(f"{module}:good", *SHORT)
    assert (found["evidence"]["claim"], found["evidence"]["tests"]) == (1, 2)
    assert any("in 3 tests" in note for note in audit("--evidence", FILE)["notes"])


@pytest.mark.thorough
def test_an_audit_refutes_by_the_evidence_on_record(module, tmp_path, runs):
    claims(tmp_path, f"{module}:weak")
    first = audit("--evidence", FILE)
    assert first["soundness"] == "refuted"
    made = len(runs)
    again = audit("--evidence", FILE)
    assert (again["soundness"], len(runs)) == ("refuted", made)
    assert "rejected by the evidence on record" in again["refutation"][-1]
    assert not any(note.startswith("to repeat it") for note in again["notes"])


@pytest.mark.thorough
def test_an_audit_may_leave_unchanged_code_out(module, tmp_path, runs):
    claims(tmp_path, f"{module}:good")
    for _ in range(2):
        entry = audit("--evidence", FILE, "--skip-unchanged")
    assert len(runs) == 1
    assert any("the code has not changed since it was tested" in note for note in entry["notes"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "half-sensitivity", "--again"], "Expected --evidence FILE with --again"),
        (
            ["audit", "--papers", "--skip-unchanged"],
            "Expected --evidence FILE with --skip-unchanged",
        ),
        (["audit", "--papers", "--evidence", FILE], "Expected --allow-code with --evidence"),
        (["verify", "--zoo", "--evidence", FILE], "Expected no --evidence with --zoo"),
        (["verify", "half-sensitivity", "--evidence", "text"], "text, line 1: not a line of evid"),
    ],
)
def test_mistakes(module, tmp_path, arguments, message):
    (tmp_path / "text").write_text("some text\n")
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.statistical
@pytest.mark.slow
def test_a_correct_mechanism_is_seldom_rejected_however_often_it_is_tested(module, tmp_path):
    """12 histories of up to 4 tests at the rate 0.3 for one claim: its share is 0.37 * 0.3.

    More than 6 rejections happen with probability below 1e-3 (binomial, 12 and 0.111).
    """
    rejected = 0
    for history in range(12):
        path = tmp_path / f"{history}.jsonl"
        for test in range(4):
            done = invoke(
                *("verify", f"{module}:good", *QUICK, *SHORT, "--evidence", path),
                *("--alpha", "0.3", "--seed", 1000 * history + test),
            )
            if done.exit_code:
                rejected += 1
                break
    assert rejected <= 6
