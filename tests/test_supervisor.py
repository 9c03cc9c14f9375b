"""Long work: results one by one, signals, workers that outlive nobody."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from joblib import parallel_config, register_parallel_backend
from joblib.parallel import ThreadingBackend

from rdpkit import supervisor

PROGRAM = """
import os, sys, time
from pathlib import Path
from rdpkit import supervisor
from rdpkit.formats.files import whole_file

folder = Path(sys.argv[1])

def work(seconds):
    (folder / f"worker-{os.getpid()}").touch()
    time.sleep(seconds)
    return seconds

def main():
    try:
        with supervisor.interruptible(), whole_file(folder / "result.txt") as temporary:
            for place, _ in supervisor.as_finished(work, [0.0, 600.0, 600.0], jobs=2):
                temporary.write_text("begun")
                print(place, flush=True)
    except supervisor.Interrupted as stop:
        sys.exit(stop.status)

if __name__ == "__main__":
    main()
"""


def double(number):
    return 2 * number


def fail_at_three(number):
    if number == 3:
        raise ValueError("three")
    return number


@pytest.mark.parametrize("jobs", [None, 1, 2])
def test_every_result_comes_with_its_place(jobs):
    found = dict(supervisor.as_finished(double, [5, 6, 7], jobs=jobs))
    assert found == {0: 10, 1: 12, 2: 14}
    assert list(supervisor.in_order(double, range(20), jobs=jobs)) == list(range(0, 40, 2))


def test_no_items():
    assert list(supervisor.as_finished(double, [], jobs=2)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_function_raises_is_raised(jobs):
    with pytest.raises(ValueError, match="three"):
        list(supervisor.in_order(fail_at_three, range(10), jobs=jobs))


def test_what_is_finished_first_comes_first():
    found = supervisor.as_finished(time.sleep, [0.5, 0.0], jobs=2, backend="threading")
    assert [place for place, _ in found] == [1, 0]


def test_threads_are_not_taken_for_orphans():
    """A worker that has another parent than this process ends itself; a thread must not."""
    with parallel_config(backend="threading", n_jobs=2):
        assert list(supervisor.in_order(double, [1, 2, 3], jobs=None)) == [2, 4, 6]


def test_workers_of_a_registered_backend_get_no_initializer():
    """Workers of a cluster have another parent; they would end themselves before any work."""
    seen = []

    class Cluster(ThreadingBackend):
        def configure(self, n_jobs=1, parallel=None, **options):
            seen.append(options)
            return super().configure(n_jobs=n_jobs, parallel=parallel, **options)

    register_parallel_backend("a-cluster", Cluster)
    found = supervisor.in_order(double, [1, 2, 3], jobs=2, backend="a-cluster")
    assert list(found) == [2, 4, 6]
    assert seen
    assert not any("initializer" in options for options in seen)


def alive(process):
    """Whether a process is there and is no zombie."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def running(tmp_path):
    """The program above, with both workers at work, and the numbers of their processes."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    folder = tmp_path / "out"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    while len(workers := list(folder.glob("worker-*"))) < 2:
        time.sleep(0.02)
    yield process, [int(path.name.removeprefix("worker-")) for path in workers], folder
    process.kill()
    process.stdout.close()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_everything(running, number, status):
    process, workers, folder = running
    process.send_signal(number)
    assert process.wait(timeout=20) == status
    wait_for(lambda: not any(map(alive, workers)))
    assert not [path.name for path in folder.iterdir() if not path.name.startswith("worker-")]


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks at processes in /proc")
def test_workers_end_when_their_parent_is_killed(running):
    process, workers, _ = running
    process.kill()
    process.wait()
    wait_for(lambda: not any(map(alive, workers)))


@pytest.mark.parametrize("seconds", [0.4, 0.8, 1.2])
def test_workers_that_are_only_starting_end_when_their_parent_is_killed(tmp_path, seconds):
    """They hold the pipe to their parent's reader open for as long as they are there."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(seconds)
    process.kill()
    process.communicate(timeout=20)


def wait_for(condition):
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.fixture
def threads_as_before():
    """Libraries have as many threads after the test as before it."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else None
    # Leaving this context gives every library the number that it had on entering.
    limits = find_spec("threadpoolctl") and import_module("threadpoolctl").threadpool_limits()
    with limits or nullcontext():
        yield
    if torch is not None:
        torch.set_num_threads(before)


def test_threads_are_limited_and_wait_asleep(monkeypatch, threads_as_before):
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "7")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "7")
    monkeypatch.setenv("VECLIB_MAXIMUM_THREADS", "7")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    supervisor.limit_threads(None)
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
    supervisor.limit_threads(2)
    assert os.environ["OMP_NUM_THREADS"] == "2"
    with pytest.raises(ValueError, match="threads"):
        supervisor.limit_threads(0)


def _blocked(_):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs masks of signals")
def test_workers_never_see_an_interrupt_not_even_while_they_start():
    assert [found for _, found in supervisor.as_finished(_blocked, [1, 2, 3], jobs=2)] == [True] * 3
    assert not _blocked(None)


def test_workers_are_stopped_although_their_kind_knows_no_kill(monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    child = SimpleNamespace(pid=process.pid)
    monkeypatch.setattr(
        "multiprocessing.active_children", lambda: [child, SimpleNamespace(pid=None)]
    )
    supervisor.stop_workers()
    assert process.wait(20) == -signal.SIGKILL
