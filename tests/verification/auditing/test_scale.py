"""Many claims: the same findings from other processes, from a cluster, and after being killed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.driver import audit
from rdpkit.verification.claims.reading import loads
from tests.verification.many_claims import many_claims

ROOT = Path(__file__).parents[3]

KILLED = """
import json, sys
sys.path.insert(0, {root!r})
from tests.verification.many_claims import many_claims
from rdpkit.verification.auditing.driver import audit
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
