"""Replay the targets of a library, each in processes of its own, and keep what came of it.

The register of implementations is data beside the code, written by ``scripts/examine-libraries``. A
difference that nobody has reported in public is not in it: maintainers are told first, and the row
is left out until then.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rdpkit.formats.files import write_whole
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.targets import dp_claim
from rdpkit.verification.replay.agents import AgentError, ProcessAgent, end_agents
from rdpkit.verification.replay.findings import ReplayResult, ReplayVerdict, not_examined
from rdpkit.verification.replay.libraries import Library, agents_of, environment
from rdpkit.verification.replay.pairs import DataSpace
from rdpkit.verification.replay.replay import SECONDS, Progress, replay

_IMPORT_SECONDS = 1_800.0
_SECONDS_BETWEEN_ENDS = 0.1


def replay_library(
    library: Library,  # From :func:`library_of`
    *,
    names: Sequence[str] = (),  # Some of its targets; all by default
    # Targets among these that an earlier run has finished: they have their part of the rate.
    finished: Collection[str] = (),
    # ``false_alarm_rate``, ``seed``, ``records`` and ``time_budget`` (of one target) count.
    options: VerificationOptions,
    jobs: int = 1,  # Processes: so many targets at once, or half as many where these are few
    # An interpreter that has the library; by default an environment is made.
    python: Path | None = None,
    # Agents that were begun before, of the targets that they are named for.
    begun: Mapping[str, Sequence[ProcessAgent]] | None = None,
    progress: Progress | None = None,  # Called after each target
    # Called with the name of each target and its result as soon as it is finished, by one thread at
    # a time.
    keep: Callable[[str, ReplayResult], None] | None = None,
) -> dict[str, ReplayResult]:
    """Replay mechanisms of a library, each at an equal part of the false-alarm rate."""
    chosen = library.chosen(names)
    where = python or environment(library)
    shared = replace(options, false_alarm_rate=options.false_alarm_rate / len(chosen))
    rest = [name for name in chosen if name not in finished]
    found: dict[str, ReplayResult] = {}

    def replayed(name: str) -> ReplayResult:
        # Generators that a library seeds when it is imported are the same for all of its targets.
        several = name == chosen[0] or jobs >= 2 * len(rest)
        agents = (begun or {}).get(name) or agents_of(library, name, where, several=several)
        result = _replayed(library, name, agents, shared)
        # What was ended has found nothing.
        if keep is not None and not ended.is_set():
            with keeping:
                keep(name, result)
        return result

    keeping, ended = threading.Lock(), threading.Event()
    pool = ThreadPoolExecutor(max_workers=jobs)
    work = {pool.submit(replayed, name): name for name in rest}
    try:
        for done in as_completed(work):
            name = work[done]
            found[name] = done.result()
            if progress is not None:
                progress(len(chosen) - len(rest) + len(found), len(chosen), name)
    except BaseException:
        # What is not begun is not begun after an error, or after Ctrl-C, and what runs is ended.
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(one.done() for one in work):
            end_agents()
            time.sleep(_SECONDS_BETWEEN_ENDS)
        raise
    finally:
        pool.shutdown()
    return {name: found[name] for name in rest}


def _replayed(
    library: Library, name: str, agents: Sequence[ProcessAgent], options: VerificationOptions
) -> ReplayResult:
    """Replay what a target says of itself."""
    assert options.seed is not None
    called = f"{library.requirement} {name}"
    command = f"rdpkit verify --library {called} --seed {options.seed}"
    with contextlib.ExitStack() as stack:
        for one in agents:
            stack.enter_context(one)
        try:
            said: dict[str, Any] = agents[0].ask({"do": "describe"}, seconds=_IMPORT_SECONDS)
            claim = dp_claim(
                epsilon=said["epsilon"], delta=said.get("delta", 0.0), adjacency=said["adjacency"]
            )
            return replay(
                agents,
                DataSpace.of(
                    said["columns"],
                    records=options.records or said.get("records"),
                    any_values=said.get("any_values", False),
                    user=said.get("user", ""),
                ),
                claim,
                name=called,
                seed=options.seed,
                seconds=options.time_budget or SECONDS,
                false_alarm_rate=options.false_alarm_rate,
                because=said.get("because", ""),
                reported=said.get("reported", ()),
                command=command,
            )
        except AgentError as error:
            # A release may lack what another one has; the other targets are examined all the same.
            return not_examined(called, str(error), seed=options.seed, command=command)


REGISTER = Path(__file__).parent / "register.json"
"""The file that is shipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplementationRecord:
    """What came of replaying one mechanism of one release of a library."""

    library: str
    version: str
    target: str
    claim: str
    verdict: str
    finding: str  # The gravest difference; empty where there is none
    reported: tuple[str, ...]  # Where the difference was reported in public
    because: str  # Why it may be all that can be said
    pairs: int
    seconds: float
    examined: str  # The date
    command: str

    @classmethod
    def of(
        cls, result: ReplayResult, *, library: str, version: str, date: str
    ) -> ImplementationRecord:
        """The entry that a result makes."""
        shown = result.shown
        return cls(
            library=library,
            version=version,
            target=result.target.split()[-1],
            claim=result.claim,
            verdict=result.verdict.value,
            finding="" if shown is None else result.summary,
            reported=result.reported,
            because=result.because,
            pairs=result.pairs,
            seconds=round(result.seconds, 1),
            examined=date,
            command=result.command,
        )

    @property
    def is_public(self) -> bool:
        """Whether it may be published: nothing was found, or it is known, or explained."""
        if self.verdict == ReplayVerdict.REFUTED.value:
            return bool(self.reported)
        return not self.finding or bool(self.reported or self.because)


def read_register(path: Path = REGISTER) -> list[ImplementationRecord]:
    """All entries, in the order of the file."""
    if not path.exists():
        return []
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [ImplementationRecord(**{**row, "reported": tuple(row["reported"])}) for row in rows]


def write_register(entries: Iterable[ImplementationRecord], path: Path = REGISTER) -> None:
    """Write what may be published, a line for each entry."""
    rows = [json.dumps(asdict(one), ensure_ascii=False) for one in entries if one.is_public]
    write_whole(path, "[\n" + ",\n".join(rows) + "\n]\n")


def on_record(entries: Sequence[ImplementationRecord], library: str) -> str:
    """What is on record of a library, in a few words; empty if nothing is."""
    own = [one for one in entries if one.library == library]
    if not own:
        return ""
    counts = Counter(one.verdict for one in own)
    found = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return f"{own[0].version}, {max(one.examined for one in own)}: {found}"
