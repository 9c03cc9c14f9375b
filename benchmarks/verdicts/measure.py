"""Run ``rdpkit verify`` on cases, as its user would, and count what it says."""

from __future__ import annotations

import contextlib
import io
import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.verdicts.collection import Case, Collection

KINDS = ("correct", "broken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run of the command said."""

    seed: int  # The seed it was given
    status: int  # Its exit status: 0 not rejected, 1 rejected, 2 an error
    verdict: str  # The verdict as printed, or the error
    named: tuple[str, ...]  # The kinds of mistakes that it named
    runs: int  # Runs of the mechanism
    seconds: float  # How long it took
    cpu_seconds: float  # How long this process computed, which a busy machine does not prolong
    score: str  # The score that spoke most clearly against the claim
    log_e_value: float  # The evidence against the claim, in nats


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the command said of one mechanism."""

    # The mechanism, its claim, and what is true of it.
    name: str
    claim: str
    truth: str
    outcomes: tuple[Outcome, ...]  # One for each repeat

    @property
    def refuted(self) -> int:
        """How often the claim was refuted."""
        return sum(one.status == 1 for one in self.outcomes)

    @property
    def errors(self) -> int:
        """How often there was no verdict."""
        return sum(one.status not in (0, 1) for one in self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "claim": self.claim,
            "truth": self.truth,
            "repeats": len(self.outcomes),
            "refuted": self.refuted,
            "errors": self.errors,
            "median_runs": _median(one.runs for one in self.outcomes),
            "median_seconds": _median(one.seconds for one in self.outcomes),
            "median_cpu_seconds": _median(one.cpu_seconds for one in self.outcomes),
            "score": _usual(one.score for one in self.outcomes),
            "outcomes": [asdict(one) for one in self.outcomes],
        }


def collection(kind: str) -> Collection:
    """The correct or the broken mechanisms."""
    if kind == "correct":
        from benchmarks.verdicts.correct import COLLECTION  # noqa: PLC0415 - they take time
    else:
        from benchmarks.verdicts.broken import COLLECTION  # noqa: PLC0415
    return COLLECTION


def run_command(case: Case, seed: int, options: Iterable[str] = ()) -> Outcome:
    """Run ``rdpkit verify`` on a case, in this process."""
    from rdpkit.verification.cli.verify import verify  # noqa: PLC0415 - it takes time

    words = [*case.arguments(), "--seed", str(seed), "--jobs", "1", "--format", "json", *options]
    printed, errors = io.StringIO(), io.StringIO()
    status = 0
    began, computed = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        try:
            verify.main(args=words, standalone_mode=False, prog_name="rdpkit verify")
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 2
        except Exception as error:
            status = 2
            print(f"{type(error).__name__}: {error}")
    seconds, computed = time.perf_counter() - began, time.process_time() - computed
    if status not in (0, 1):
        said = f"{errors.getvalue()} {printed.getvalue()}".strip()
        return Outcome(
            seed=seed,
            status=2,
            verdict=said[:300],
            named=(),
            runs=0,
            seconds=seconds,
            cpu_seconds=computed,
            score="",
            log_e_value=math.nan,
        )
    found = json.loads(printed.getvalue())
    evidence = found["test"]["log_e_value"]
    return Outcome(
        seed=seed,
        status=status,
        verdict=found["verdict"],
        named=tuple(one["kind"] for one in found.get("mistakes", [])),
        runs=found["runs"],
        seconds=seconds,
        cpu_seconds=computed,
        score=found["score"],
        log_e_value=math.nan if evidence is None else float(evidence),
    )


def _one(kind: str, name: str, seed: int, options: tuple[str, ...]) -> Outcome:
    return run_command(collection(kind)[name], seed, options)


def measure(
    kind: str,
    names: Iterable[str],
    *,
    repeats: int,
    first_seed: int,
    jobs: int,
    options: tuple[str, ...],
    done: Callable[[Row], None],
) -> list[Row]:
    """Run the command on each mechanism, ``repeats`` times; ``done`` is called for each row."""
    cases = [collection(kind)[name] for name in names]
    rows = {}
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        waiting = {
            pool.submit(_one, kind, case.name, first_seed + index, options): case
            for case in cases
            for index in range(repeats)
        }
        found: dict[str, list[Outcome]] = {case.name: [] for case in cases}
        for future in as_completed(waiting):
            case = waiting[future]
            found[case.name].append(future.result())
            if len(found[case.name]) == repeats:
                rows[case.name] = Row(
                    name=case.name,
                    claim=case.claim,
                    truth=case.truth,
                    outcomes=tuple(sorted(found[case.name], key=lambda one: one.seed)),
                )
                done(rows[case.name])
    return [rows[case.name] for case in cases]


def table(rows: Iterable[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = [
        "| mechanism | claim | true | refuted | no verdict | median runs | seconds | CPU | score |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        one = row.as_dict()
        named = _usual(name for outcome in row.outcomes for name in outcome.named)
        score = one["score"] + (f" (`{named}`)" if named else "")
        lines.append(
            f"| `{row.name}` | {row.claim} | {row.truth} | {row.refuted} of {one['repeats']} | "
            f"{row.errors or ''} | {one['median_runs']:,.0f} | {one['median_seconds']:.2g} | "
            f"{one['median_cpu_seconds']:.2g} | {score} |"
        )
    return "\n".join(lines)


def _median(values: Iterable[float]) -> float:
    return float(statistics.median(values))


def _usual(values: Iterable[str]) -> str:
    """The most frequent of some words; empty if there are none."""
    counted = Counter(value for value in values if value)
    return counted.most_common(1)[0][0] if counted else ""
