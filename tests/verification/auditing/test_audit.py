"""One audit for every caller: what it yields and loads, other processes, and being killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rdpkit.verification
from rdpkit.verification.auditing.audit import NOT_RUN, audit, findings_about
from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.findings import Soundness
from rdpkit.verification.claims.reading import loads
from tests.verification.claim_files import text
from tests.verification.many_claims import many_claims

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
        *("audit", "findings", "remedies", "rules", "verdict"),
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


ROOT = Path(__file__).parents[3]

KILLED = """
import json, sys
sys.path.insert(0, {root!r})
from tests.verification.many_claims import many_claims
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.claims.reading import loads

if __name__ == "__main__":
    claims = loads(many_claims({count}))
    found = audit(claims, workers={workers}, bounds="rdp", cache={cache!r})
    print(json.dumps([finding.as_dict() for finding in found]))
"""


@pytest.fixture(scope="module")
def claims():
    return loads(many_claims(40))


@pytest.fixture(scope="module")
def findings(claims):
    return list(audit(claims, bounds="rdp"))


@pytest.mark.thorough
def test_renyi_bounds_alone_prove_and_never_refute(claims, findings):
    assert {finding.soundness.value for finding in findings} == {"sound", "unproven"}
    for finding in findings:
        assert finding.upper.rigorous
        assert finding.lower is None
        assert (finding.soundness == "sound") == (
            finding.upper.epsilon <= float(finding.claim.epsilon)
        )
        asked = any("only Renyi divergences" in note for note in finding.notes)
        assert asked == (finding.soundness == "unproven")


def test_needed_bounds_decide_as_all_bounds_do(claims):
    some = claims[:2]
    needed = list(audit(some, bounds="needed"))
    for one, other in zip(needed, audit(some), strict=True):
        assert one.soundness == other.soundness
        assert one.reproduction == other.reproduction
        # Where a Renyi bound proves the claim nothing else was computed.
        assert (one.lower is None) == (one.upper.rigorous)


@pytest.mark.thorough
def test_threads_give_the_same_findings_in_the_same_order(claims, findings):
    assert list(audit(claims, bounds="rdp", workers=2, backend="threading")) == findings


@pytest.mark.thorough
def test_the_backend_of_joblibs_context_is_used(claims, findings):
    from joblib import parallel_config

    with parallel_config(backend="threading", n_jobs=2):
        assert list(audit(claims, bounds="rdp", workers=None)) == findings


@pytest.mark.parametrize(
    ("options", "name"),
    [({"bounds": "pld"}, "bounds"), ({"workers": 0}, "workers"), ({"workers": True}, "workers")],
)
def test_arguments_are_checked_before_anything_is_computed(claims, options, name):
    with pytest.raises(ValueError, match=f"Expected {name} "):
        audit(claims, **options)


def test_an_error_in_another_process_names_the_claim(claims):
    wrong = loads(many_claims(1).replace("delta", 'bound = "mironov2019"\ndelta', 1))
    with pytest.raises(ValueError, match=r"claim 'gaussian-0': .*bound"):
        list(audit([*claims[1:20], *wrong], bounds="rdp", workers=2, backend="threading"))


@pytest.mark.slow
def test_processes_give_the_same_findings(claims, findings):
    assert list(audit(claims, bounds="rdp", workers=2)) == findings


@pytest.mark.slow
# Distributed's own: sockets and loops that are closed when they are collected.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_dask_cluster_of_two_workers_gives_the_same_findings(claims, findings):
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    from joblib import parallel_config

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        assert list(audit(claims, bounds="rdp", backend="dask")) == findings
        with parallel_config(backend="dask"):
            assert list(audit(claims, bounds="rdp", workers=None)) == findings


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_ten_times_the_result_is_the_same(tmp_path, workers):
    count = 300
    cache = tmp_path / "cache"
    script = KILLED.format(root=str(ROOT), count=count, workers=workers, cache=str(cache))
    command = [sys.executable, "-c", script]
    draw = random.Random(workers)
    kept = [0]
    while len(kept) <= 10:
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as process:
            # At a random moment after it has begun to write.
            until = time.monotonic() + 120.0
            goal = (cache.stat().st_size if cache.exists() else 0) + draw.randrange(1, 15_000)
            while time.monotonic() < until and process.poll() is None:
                if cache.exists() and cache.stat().st_size >= goal:
                    break
                time.sleep(0.001)
            assert process.poll() is None, "it came to its end before it could be killed"
            os.killpg(process.pid, signal.SIGKILL)
        kept.append(len(AuditCache(cache)))
        # Nothing that was written is lost.
        assert kept[-1] > kept[-2]
    assert kept[-1] < count
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    expected = [finding.as_dict() for finding in audit(loads(many_claims(count)), bounds="rdp")]
    assert json.loads(done.stdout) == json.loads(json.dumps(expected))
