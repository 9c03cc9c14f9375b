"""Timing several libraries side by side, and memory in a process of its own."""

from __future__ import annotations

import gc
import itertools
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.libraries import quiet

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long to measure."""

    rounds: int  # At most; in a round every library has its turn
    least: int  # At least, unless the limit is reached
    seconds: float
    """After so long, and the least number of rounds, a library drops out of further ones."""
    limit: float  # After so long it drops out as soon as it has been measured once
    turn: float  # Calls are repeated within a turn until they take about so many seconds


QUICK = Effort(rounds=5, least=1, seconds=0.3, limit=1.0, turn=0.01)
FULL = Effort(rounds=25, least=4, seconds=8.0, limit=40.0, turn=0.02)


@dataclass(slots=True, kw_only=True)
class Timing:
    """Seconds of one call, round by round; a failure ends them."""

    inner: int = 1
    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def median(self) -> float | None:
        """Over the rounds; None if there is none."""
        return statistics.median(self.measured) if self.measured else None

    @property
    def measured(self) -> list[float]:
        """Without the rounds that were skipped."""
        return [value for value in self.seconds if not math.isnan(value)]


def reason(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


def side_by_side(
    calls: Mapping[str, Callable[[int], Any]],
    effort: Effort,
    *,
    on_round: Callable[[], None] = lambda: None,
) -> dict[str, Timing]:
    """Time all calls in rounds, each round starting with another one.

    Load on the machine that comes and goes hits all of them in the same round, so that ratios
    within a round suffer less than times do. The collector of garbage rests meanwhile.
    """
    counter = itertools.count(1)
    timings = {name: Timing() for name in calls}
    spent = dict.fromkeys(calls, 0.0)

    def turn(name: str) -> None:
        timing, call = timings[name], calls[name]
        start = time.perf_counter()
        for _ in range(timing.inner):
            call(next(counter))
        took = time.perf_counter() - start
        spent[name] += took
        timing.seconds.append(took / timing.inner)

    with quiet():
        for name in calls:  # the first calls warm up and say how many make a turn
            try:
                turn(name)
                if spent[name] < effort.seconds:
                    turn(name)
                fastest = min(timings[name].seconds)
                timings[name].inner = max(1, math.ceil(effort.turn / max(fastest, 1e-9)))
            except Exception as error:
                timings[name].failure = reason(error)
            timings[name].seconds.clear()
        names = list(calls)
        for index in range(effort.rounds):
            first = index % len(names) if names else 0
            gc.collect()
            gc.disable()
            try:
                for name in names[first:] + names[:first]:
                    if timings[name].failure:
                        continue
                    least = 1 if spent[name] > effort.limit else effort.least
                    if index >= least and spent[name] > effort.seconds:
                        # A round that was skipped has no ratio.
                        timings[name].seconds.append(math.nan)
                        continue
                    try:
                        turn(name)
                    except Exception as error:
                        timings[name].failure = reason(error)
            finally:
                gc.enable()
            on_round()
    return timings


def ratios(timing: Timing, ours: Timing, scale: float) -> list[float]:
    """A library's time over ours, in the rounds in which both were measured."""
    return [
        scale * theirs / own
        for theirs, own in zip(timing.seconds, ours.seconds, strict=False)
        if not math.isnan(theirs) and not math.isnan(own)
    ]


def cold(call: Callable[[int], Any], clear: Callable[[], None], *, repeats: int) -> float:
    """Median seconds of a call after its caches were cleared."""
    found = []
    with quiet():
        for index in range(repeats):
            clear()
            gc.collect()
            start = time.perf_counter()
            call(1_000_000 + index)
            found.append(time.perf_counter() - start)
    return statistics.median(found)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def peak_memory(call: Callable[[int], Any]) -> int | None:
    """Peak resident bytes of a call above what was resident before; None where Linux is not.

    For a fresh process: memory that was freed before and kept would be used again unseen.
    """
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return None
    gc.collect()
    try:
        reset.write_text("5", encoding="ascii")  # the peak starts anew
    except OSError:
        return None
    before = _status(status, "VmRSS")
    with quiet():
        call(0)
    return max(0, _status(status, "VmHWM") - before)


def _status(path: Path, name: str) -> int:
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise ArithmeticError(f"No {name} in {path}.")


def in_fresh_process(arguments: Sequence[str], *, timeout: float) -> Any:
    """What ``python -m benchmarks ARGUMENTS`` prints, read as JSON.

    Raises
    ------
    RuntimeError
        If it fails; the message is the last line of its errors.
    """
    done = subprocess.run(  # noqa: S603  (our own module)
        [sys.executable, "-m", "benchmarks", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(lines[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])
