"""How long an import takes, in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence

from benchmarks import timing
from benchmarks.libraries import LIBRARIES, version_of
from benchmarks.model import OURS, Outcome, Row

WORK = "import"
YARDSTICK = "scipy.special"
MOST = 1.3

# Name, what is run, and the library it belongs to.
STATEMENTS: tuple[tuple[str, str, str], ...] = (
    (OURS, "import rdpkit", "rdpkit"),
    ("rdpkit (every name)", "from rdpkit import *", "rdpkit"),
    (
        "rdpkit (and one epsilon)",
        "import rdpkit; rdpkit.epsilon(rdpkit.Gaussian(noise_std=5.0, record_norm=1.0), "
        "delta=1e-5, adjacency='add_or_remove_one', bound='best-rdp')",
        "rdpkit",
    ),
    (YARDSTICK, "import scipy.special", "scipy"),
    ("dp-accounting", "import dp_accounting", "dp-accounting"),
    ("opacus", "import opacus.accountants", "opacus"),
    ("autodp", "import autodp.mechanism_zoo", "autodp"),
    ("prv-accountant", "import prv_accountant", "prv-accountant"),
    ("opake-accounting", "import opake.accounting", "opake-accounting"),
    ("dp-accelerator", "import dp_accelerator", "dp-accelerator"),
)

_TIMED = "import time\nstart = time.perf_counter()\n{statement}\nprint(time.perf_counter() - start)"


def seconds(statement: str) -> float:
    """Seconds of a statement in a fresh interpreter; its own start is not counted.

    Raises
    ------
    RuntimeError
        If it fails; the message is the last line of its errors.
    """
    done = subprocess.run(  # noqa: S603  (our own statements)
        [sys.executable, "-W", "ignore", "-c", _TIMED.format(statement=statement)],
        capture_output=True,
        text=True,
        cwd=timing.ROOT,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return float(done.stdout.split()[-1])


def measure(*, rounds: int, quick: bool, on_step: Callable[[], None] = lambda: None) -> list[Row]:
    """One row for every statement; each round runs all of them once."""
    statements = STATEMENTS[:5] if quick else STATEMENTS
    found: dict[str, list[float]] = {name: [] for name, _, _ in statements}
    failures: dict[str, str] = {}
    for index in range(rounds + 1):
        for name, statement, _ in statements:
            if name in failures:
                continue
            try:
                took = seconds(statement)
            except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
                failures[name] = timing.reason(error)
                continue
            if index > 0:  # the first one may read from the disk and compile
                found[name].append(took)
        on_step()
    rows = []
    for name, statement, library in statements:
        row = Row(work=WORK, case="fresh interpreter", library=name, note=f"`{statement}`")
        row.version = _version(library)
        if name in failures:
            row.failure, row.verdict = failures[name], "failed"
        else:
            row.seconds = timing.quartiles(found[name])[1]
            row.fastest, row.slowest = min(found[name]), max(found[name])
            row.rounds, row.inner = len(found[name]), 1
            if found[OURS]:
                ratios = [a / b for a, b in zip(found[name], found[OURS], strict=False)]
                row.ratio_low, row.ratio, row.ratio_high = timing.quartiles(ratios)
        rows.append(row)
    return rows


def _version(library: str) -> str:
    if library in LIBRARIES:
        return LIBRARIES[library].version
    return version_of(library)


def outcomes(rows: Sequence[Row]) -> list[Outcome]:
    """Whether ``import rdpkit`` takes at most 1.3 of the yardstick's time."""
    took = {row.library: row.seconds for row in rows if row.work == WORK}
    ours, yardstick = took.get(OURS), took.get(YARDSTICK)
    if ours is None or yardstick is None:
        return []
    return [
        Outcome(
            work=WORK,
            name=f"rdpkit / {YARDSTICK}",
            limit=f"at most {MOST:g}",
            measured=ours / yardstick,
            met=ours / yardstick <= MOST,
            case="fresh interpreter",
        )
    ]
