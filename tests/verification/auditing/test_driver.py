"""One audit for every caller: what it yields, and that it loads no more than it uses."""

import json
import subprocess
import sys

import pytest

import rdpkit.verification
from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.driver import NOT_RUN, findings_about
from rdpkit.verification.auditing.findings import Soundness
from rdpkit.verification.claims.reading import loads
from tests.verification.claim_files import text

CODE = '[claim.code]\ncallable = "no_such_module:release"\ndimension = 1\n'

# Prints what was loaded besides the accounting layer after a command that went well.
LOADED = """
import json, sys
from rdpkit.cli import main
sys.argv = ["rdpkit", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
rooms = ("rdpkit.verification.", "rdpkit.mechanisms.")
others = {"joblib", "jinja2", "sklearn", "torch", "matplotlib", "pytest"}
found = [n for n in sys.modules if n.startswith(rooms) or n in others]
print(json.dumps(found), file=sys.stderr)
"""
# Rooms of which a plain audit uses nothing, but for the names of the options of a test of code.
UNUSED = {"blackbox", "estimators", "mechanisms", "html"}
OPTIONS = {"rdpkit.verification.blackbox", "rdpkit.verification.blackbox.options"}


def loaded_by(*arguments):
    command = [sys.executable, "-c", LOADED, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.thorough
def test_a_plain_audit_loads_nothing_that_it_does_not_use(tmp_path):
    path = tmp_path / "a.claims.toml"
    path.write_text(text(epsilon="0.80", after=CODE))
    loaded = loaded_by("audit", str(path))
    assert {name for name in loaded if set(name.split(".")) & UNUSED} <= OPTIONS
    assert not loaded & {"joblib", "jinja2", "sklearn", "torch", "matplotlib", "pytest"}
    outputs = {name for name in loaded if name.startswith("rdpkit.verification.outputs.")}
    assert outputs == {
        "rdpkit.verification.outputs.news",
        "rdpkit.verification.outputs.terminal",
        "rdpkit.verification.outputs.words",
    }
    audits = {n.rpartition(".")[2] for n in loaded if n.startswith("rdpkit.verification.auditing.")}
    assert audits == {
        *("driver", "findings", "remedies", "rules", "verdict"),
        "baseline",  # what an option of the command is read with
        *("regions", "region", "sentences"),  # the words of a region, and none of its search
    }


def test_code_that_may_not_run_is_a_note():
    (finding,) = findings_about(loads(text(epsilon="0.80", after=CODE)))
    assert finding.soundness is Soundness.SOUND
    assert finding.notes[-1] == NOT_RUN.format("no_such_module:release")


def test_all_theorems_are_in_the_cache_before_code_runs(tmp_path):
    claims = loads(
        text(epsilon="0.80", after=CODE) + text(id='"b"', epsilon="0.81") + text(id='"c"')
    )
    cache = tmp_path / "cache"
    message = "<claims>: claim 'a': .*the module 'no_such_module' could not be imported"
    with pytest.raises(ValueError, match=message):
        list(findings_about(claims, bounds="rdp", cache=cache, allow_code=True))
    assert len(AuditCache(cache)) == 3


def test_findings_come_one_by_one_and_each_is_kept_at_once(tmp_path):
    claims = loads("".join(text(id=f'"c{k}"', epsilon=f"0.{k + 3}0") for k in range(4)))
    cache = tmp_path / "cache"
    findings = findings_about(claims, bounds="rdp", cache=cache)
    for count in range(1, 5):
        next(findings)
        assert len(AuditCache(cache)) == count


def test_an_audit_is_one_call(tmp_path):
    path = tmp_path / "one.claims.toml"
    path.write_text(text(id='"mine"', epsilon="0.70"))
    found = rdpkit.verification.audit_files(path)
    assert [one.soundness.value for one in found] == ["refuted"]
    assert found.refuted == found
    lines = str(found).splitlines()
    assert lines[0].startswith("mine: refuted, unnamed: epsilon = 0.70 (add-or-remove-one, publis")
    assert lines[1] == "1 claim: 1 refuted"
    assert found.as_dicts()[0]["id"] == "mine"
    assert "refuted" in found._repr_html_()
    with pytest.raises(AttributeError, match="no attribute 'audit_file'"):
        _ = rdpkit.verification.audit_file


@pytest.mark.parametrize(("delta", "warned"), [("1e-2", True), ("1e-3", False)])
def test_a_delta_that_says_little_about_so_few_records_is_noted(tmp_path, delta, warned):
    path = tmp_path / "one.claims.toml"
    steps = "{noise_multiplier = 5.0, dataset_size = 500, batch_size = 10, steps = 1}"
    path.write_text(text(mechanism='"dpsgd"', delta=delta, epsilon="9", parameters=steps))
    (found,) = rdpkit.verification.audit_files(path)
    assert any("is not below 1/500" in note for note in found.notes) is warned
