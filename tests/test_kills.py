"""Kills at random moments of every long command: what is lost, and what is left behind.

Each command is started again and again in one folder and killed after a random time, in turn by
SIGTERM, SIGINT and SIGKILL, which reach its first process or, as from a terminal, all of them.
Afterwards no process of it is left, no temporary file and no traceback, and what was finished
before is still there.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rdpkit.formats.journal import Journal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes in /proc"),
]

KILLS = 12
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)

EXPERIMENT = """
title = "Killed"
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
[dataset]
name = "digits"
[mechanism]
name = "dpcda"
samples_per_class = 30
order_of_mixture = 16
clip_norm = 1.0
[privacy]
adjacency = "replace_one"
delta = 1e-5
target_epsilon = 10.0
noise = "seeded"
[model]
name = "mlp"
inputs = "standardised"
[training]
epochs = 30
batch_size = 32
"""

LONG_RELEASE = """
title = "Killed"
seeds = [0]
[dataset]
name = "digits"
[mechanism]
name = "ndpdc"
samples_per_class = 2
group_size = 20.0
iterations = 4000
noise_std = 1.0
clip_norm = 1.0
extractor_width = 8
[privacy]
adjacency = "add_or_remove_one"
delta = 1e-5
noise = "seeded"
[model]
name = "mlp"
inputs = "standardised"
[training]
epochs = 1
batch_size = 32
"""


def findings(folder: Path) -> int:
    return len(Journal(folder / "cache", mark="rdpkit-audit-2", kind="claim"))


def sweep_rows(folder: Path) -> int:
    return len(Journal(folder / "sweep.csv.unfinished", mark="rdpkit-sweep-1", kind="row"))


def evaluated(folder: Path) -> int:
    return len(list((folder / "results").glob("**/*.json")))


@dataclass(frozen=True)
class LongCommand:
    """A command, what it may leave in its folder, and how many items of it are finished."""

    words: tuple[str, ...]
    leaves: tuple[str, ...] = ()
    finished: Callable[[Path], int] = lambda _: 0


_SAMPLED = (
    "poisson-sampled-gaussian", "--record-norm", "1", "--count", "1000", "--delta", "1e-5",
    "--adjacency", "replace-one",
)  # fmt: skip
_TRAINING = (
    "--sampling", "fixed-size", "--batch-size", "256", "--dataset-size", "60000", "--epochs", "60",
)  # fmt: skip

COMMANDS: Mapping[str, LongCommand] = {
    "audit": LongCommand(
        ("audit", "--papers", "--recompute", "--cache", "cache", "--jobs", "2",
         "--fail-on", "nothing"),
        ("cache",),
        findings,
    ),
    "audit of the register": LongCommand(
        ("audit", "--register", "--recompute", "--fail-on", "nothing")
    ),
    "audit and its pages": LongCommand(
        ("audit", "--papers", "--recompute", "--regions", "--explorer", "pages",
         "--fail-on", "nothing"),
        ("pages",),
    ),
    "sweep": LongCommand(
        ("sweep", *_SAMPLED, "--noise-std", "0.8:2:12", "--sampling-probability",
         "0.001:0.1:10:log", "--bound", "best", "--jobs", "2", "--output", "sweep.csv"),
        ("sweep.csv", "sweep.csv.unfinished"),
        sweep_rows,
    ),
    "compare": LongCommand(
        ("compare", *_SAMPLED, "--noise-std", "0.9", "--sampling-probability", "0.01")
    ),
    "certify": LongCommand(
        ("certify", *_SAMPLED, "--noise-std", "0.9", "--sampling-probability", "0.01",
         "-o", "proof.json"),
        ("proof.json",),
    ),
    "calibrate": LongCommand(
        ("calibrate", "fixed-size-sampled-gaussian", "--target-epsilon", "3", "--delta", "1e-5",
         "--adjacency", "replace-one", "--record-norm", "1", "--sample-size", "256",
         "--population-size", "60000", "--count", "10000", "--release", "sum")
    ),
    "dpsgd": LongCommand(("dpsgd", *_TRAINING, "--noise-multiplier", "0.7")),
    "dpsgd beside others": LongCommand(
        ("dpsgd", *_TRAINING, "--target-epsilon", "3", "--compare-accountants",
         "--compare-sampling")
    ),
    "evaluate": LongCommand(
        ("evaluate", "experiment.toml", "--results", "results", "--threads", "1"),
        ("results",),
        evaluated,
    ),
    "synthesize": LongCommand(
        ("synthesize", "long.toml", "--output", "made.npz", "--threads", "1"),
        ("made.npz", "made.json", "made.unfinished.npz"),
    ),
    "verify": LongCommand(
        ("verify", "clip-after-averaging-fixed", "--samples", "200000", "--jobs", "2")
    ),
    "verify by a replay": LongCommand(("verify", "clip-after-averaging-fixed", "--replay")),
    "verify-training": LongCommand(("verify-training", "unclipped-biases", "--steps", "2000")),
}  # fmt: skip


def processes_marked(mark: str) -> list[int]:
    """Processes whose environment holds the mark: the command's own and its workers."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.parametrize("name", list(COMMANDS))
def test_kills_lose_and_leave_nothing(name, tmp_path):
    command = COMMANDS[name]
    inputs = {"experiment.toml": EXPERIMENT, "long.toml": LONG_RELEASE}
    for file, content in inputs.items():
        (tmp_path / file).write_text(content)
    allowed = {*inputs, *command.leaves}
    rng = random.Random(name)
    before = 0
    for number in range(KILLS):
        mark = f"RDPKIT_KILL_TEST={os.getpid()}-{name}-{number}"
        process = subprocess.Popen(
            [sys.executable, "-m", "rdpkit", *command.words],
            cwd=tmp_path,
            env={**os.environ, **dict([mark.split("=")])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        time.sleep(rng.uniform(0.5, 8.0))
        by = SIGNALS[number % len(SIGNALS)]
        over = process.poll() is not None
        if not over:
            (os.killpg if number % 2 else os.kill)(process.pid, by)
        _, errors = process.communicate(timeout=60)
        if over or process.returncode == 0:
            # A usage error would be over at once, and no kill would ever reach the command.
            assert process.returncode in (0, 1), errors
            before = 0
            continue  # It was finished before the kill.
        expected = -by if by is signal.SIGKILL else 128 + by
        # A signal may come before the program listens for it.
        assert process.returncode in (expected, -by), errors
        assert "Traceback" not in errors
        limit = time.monotonic() + 10
        while processes_marked(mark) and time.monotonic() < limit:
            time.sleep(0.1)
        assert processes_marked(mark) == []
        left = {path.name for path in tmp_path.iterdir()} - allowed
        assert left == set(), f"after {by!r}"
        finished = command.finished(tmp_path)
        assert finished >= before
        before = finished
