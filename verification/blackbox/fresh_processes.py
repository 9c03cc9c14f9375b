"""Releases of new processes, as evidence against a claim.

Within one process, a generator that is seeded when a module is imported looks like any other: it
makes the same noise in every new process. So some releases are made in processes of their own, each
of which imports the module of the target anew. They are outputs like others, and bets are placed on
them: the event that an output equals the first one that was made on D is bounded by the claim as
every event is, and it is chosen before the outputs that are bet on are made.

``python -m rdpkit.verification.blackbox.fresh_processes`` reads requests, one JSON object a line,
and answers them. Where the system has ``fork``, it imports everything but the target once, and each
request has a child of it. Elsewhere it answers one request and ends.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import queue
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from rdpkit import _validate
from rdpkit.verification.blackbox.encoding import ReleaseLayout, points_of
from rdpkit.verification.blackbox.mistakes import MistakeKind, mistake_of
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.runs import Part, digests_of
from rdpkit.verification.blackbox.targets import TargetReference
from rdpkit.verification.estimators.base import Array, Direction, ThresholdEvent
from rdpkit.verification.estimators.bets import best_bet, event_witness
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim

Digests = tuple[str, ...]
"""Hashes of one release: of the whole, and then of each of its parts."""

# How often the first output may come again on its own side: each has a part of the capital.
_ALTERNATIVES = (0.99, 0.5, 0.2)
# On the other side it is then expected this many times less often than the claim would need.
_RARER = 0.1
_WHOLE = 1_000_000
# The most parts of a release, besides the whole, that are bet on.
_MOST_PARTS = 6
# After this many outputs on each side, nothing is expected of an event that was never seen again.
_PATIENCE = 5
ENOUGH = math.log(1e6)
"""No more outputs are needed once the logarithm of the capital reaches this."""


@dataclass(slots=True)
class RepeatedEvent:
    """The event that a part of an output equals the first one on one side."""

    side: int
    place: int
    reference: str
    log_share: float
    log_factors: Array
    log_capitals: Array
    repeats: tuple[int, int] = (0, 0)

    def look_at(self, pair: tuple[Digests, Digests]) -> None:
        """Bet on one more output on each side."""
        p, q = (self.contains(one) for one in pair)
        self.log_capitals += self.log_factors[:, int(p), int(q)]
        self.repeats = (self.repeats[0] + p, self.repeats[1] + q)

    def contains(self, output: Digests) -> bool:
        """Whether that part of an output is the one that was seen first."""
        return len(output) > self.place and output[self.place] == self.reference

    @property
    def log_capital(self) -> float:
        """The logarithm of its part of the capital."""
        together = float(np.logaddexp.reduce(self.log_capitals))
        return self.log_share + together - math.log(len(self.log_capitals))

    @property
    def promising(self) -> bool:
        """Whether the output came again on its own side, and more often than on the other."""
        return self.repeats[self.side] > self.repeats[1 - self.side]


class RepeatBets:
    """Bets on outputs of new processes, one on each side at a time.

    Guarantee
    ---------
    If the claim is true, ``log_e_value`` is the logarithm of a nonnegative supermartingale that
    begins at 1, whatever the distribution of the outputs: constant, discrete or continuous.

    Assumes
    -------
    Outputs of new processes are independent.
    """

    def __init__(self, claim: PrivacyClaim) -> None:
        self._log_factors = [_log_factors(claim, direction) for direction in Direction]
        self._events: list[RepeatedEvent] = []
        self.pairs = 0
        """How many outputs were seen on each side."""

    @property
    def log_e_value(self) -> float:
        """The logarithm of the capital, which began as 1."""
        if not self._events:
            return 0.0
        return float(np.logaddexp.reduce([event.log_capital for event in self._events]))

    @property
    def done(self) -> bool:
        """Whether more outputs would hardly change anything."""
        if self.log_e_value >= ENOUGH:
            return True
        return self.pairs >= _PATIENCE and not any(event.promising for event in self._events)

    def update(self, p: Digests, q: Digests) -> None:
        """Look at one more output on each side."""
        if self.pairs:
            for event in self._events:
                event.look_at((p, q))
        else:
            self._begin(p, q)
        self.pairs += 1

    @property
    def clearest(self) -> RepeatedEvent:
        """The event that speaks most clearly against the claim."""
        return max(self._events, key=lambda event: event.log_capital)

    def describe(self) -> str:
        """What was seen, in words."""
        if self.pairs < 2:
            made = "1 release was" if self.pairs == 1 else f"{self.pairs} releases were"
            return f"{made} made in new processes on each data set."
        event = self.clearest
        side, other = ("D", "D'") if event.side == 0 else ("D'", "D")
        what = "a part of the first release" if event.place else "the first release"
        again = self.pairs - 1
        return (
            f"{event.repeats[event.side]} of {again} further new processes on {side} gave {what} "
            f"on {side} again, and {event.repeats[1 - event.side]} of {again} on {other} gave it."
        )

    def always_repeated(self, side: int) -> bool:
        """Whether all releases on this side were equal."""
        return any(
            event.side == side and event.place == 0 and event.repeats[side] == self.pairs - 1
            for event in self._events
        )

    def _begin(self, p: Digests, q: Digests) -> None:
        parts = min(len(p), len(q), 1 + _MOST_PARTS)
        shares = [1.0] if parts == 1 else [0.5] + [0.5 / (parts - 1)] * (parts - 1)
        self._events = [
            RepeatedEvent(
                side=side,
                place=place,
                reference=first[place],
                log_share=math.log(0.5 * share),
                log_factors=self._log_factors[side],
                log_capitals=np.zeros(len(_ALTERNATIVES)),
            )
            for side, first in enumerate((p, q))
            for place, share in enumerate(shares)
        ]


def _log_factors(claim: PrivacyClaim, direction: Direction) -> Array:
    """What a bet makes of the capital, by whether the event came on D and whether it came on D'.

    There is one bet for each alternative, on the point of the claim that it speaks most clearly
    against. Shape (alternatives, 2, 2).
    """
    event = ThresholdEvent(threshold=0.5, above=True, direction=direction)
    forward = direction is Direction.P_OVER_Q
    found = []
    for often in _ALTERNATIVES:
        candidates = []
        for epsilon, delta in zip(*claim.supporting_lines(), strict=True):
            witness = event_witness(event, epsilon=float(epsilon), delta=float(delta))
            rare = _RARER * often * math.exp(-float(epsilon))
            one, other = (_counts(probability) for probability in (often, rare))
            p, q = (one, other) if forward else (other, one)
            bet = best_bet(witness, p, q, ratio=1.0, boldness=1.0)
            candidates.append((bet.log_factor(witness, p, q), witness, bet))
        _, witness, bet = max(candidates, key=lambda candidate: candidate[0])
        cells = np.eye(2, dtype=np.int64)
        found.append([[bet.log_factor(witness, p, q) for q in cells] for p in cells])
    return np.array(found)


def _counts(probability: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How often an event does not come, and comes, of many times."""
    inside = round(probability * _WHOLE)
    return np.array([_WHOLE - inside, inside], dtype=np.int64)


# The key of runs in new processes, far from those of other runs.
_KEY = 2**16 + 2
# If releases repeat, one more process makes this many, which shows whether they vary within it.
_WITHIN = 3
# So many further processes, and as many later releases of one of them, say whether what repeats is
# the beginning of a process.
_COMPARED = 10
# Fewer new processes than this raise no suspicion when all of them repeat a release.
_SUSPICIOUS = 5
_SECONDS_BETWEEN_LOOKS = 0.2
# Packages that take long to import, and whose global generators a copy seeds anew. They are
# imported once, before the copies are made, if the target imports them.
_SLOW_PACKAGES = ("pandas", "scipy", "sklearn", "torch")
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshEvidence:
    """What releases of new processes say about a claim.

    Guarantee
    ---------
    If the claim is true, exp(``log_e_value``) is at most 1 in expectation: it is the capital of a
    bettor who began with 1, and who stopped by a rule that did not look ahead.
    """

    log_e_value: float  # The logarithm of the evidence against the claim
    processes: int  # New processes on each data set
    message: str  # What was seen
    note: str = ""  # A suspicion that is no evidence against the claim, if there is one
    seeded: float = 1.0
    """A p-value: how likely what repeats between processes would repeat so much less within one
    process if new processes began as old ones go on.
    """
    constant: bool = False
    """Whether what repeats between processes repeats always, within a process as well."""


Releases = Callable[[int, int, int], list[Digests] | None]
"""Of the side, the number of the process and how many releases it makes; None at the deadline."""


def fresh_evidence(
    target: TargetReference,  # A target with a name; nothing can be said of others
    pair: Neighbours,  # The data sets
    claim: PrivacyClaim,  # What is claimed
    *,
    seed: int,  # The generators that are passed to the mechanism are made from it
    count: int,  # The most new processes on each data set. Fewer are made if nothing repeats.
    deadline: float,  # When to stop, on the clock of ``time.perf_counter``
) -> FreshEvidence | None:
    """Make releases in new processes on both data sets, and bet on them.

    Raises MechanismError if the mechanism fails in a new process. Returns None if the target has no
    name, or there was no time for two processes on each data set.
    """
    if target.handed_in is not None:
        return None
    with NewProcesses(target, pair, seed=seed, deadline=deadline) as processes:
        return evidence_of(processes.releases, claim, count=count)


def evidence_of(releases: Releases, claim: PrivacyClaim, *, count: int) -> FreshEvidence | None:
    """Bet on releases of new processes, one on each data set at a time."""
    bets = RepeatBets(claim)
    while bets.pairs < count and not bets.done:
        both = [releases(side, bets.pairs, 1) for side in (0, 1)]
        if both[0] is None or both[1] is None:
            break
        bets.update(both[0][0], both[1][0])
    if bets.pairs < 2:
        return None
    repeated = []
    for side, name in enumerate(("D", "D'")):
        if bets.pairs >= _SUSPICIOUS and bets.always_repeated(side):
            within = releases(side, bets.pairs, _WITHIN)
            if within is not None and len(set(within)) == _WITHIN:
                repeated.append(name)
    seeded, constant = 1.0, False
    if bets.log_e_value > 0.0:
        seeded, constant = _between_and_within(releases, bets.clearest, bets.pairs)
    return FreshEvidence(
        seeded=seeded,
        constant=constant,
        log_e_value=bets.log_e_value,
        processes=bets.pairs,
        message=bets.describe(),
        note=f"all {bets.pairs} new processes on {' and on '.join(repeated)} began with the same "
        "release, although releases vary within a process: the noise of every new process may be "
        f"the same. {mistake_of(MistakeKind.SEED_AT_IMPORT, seen='').advice}"
        if repeated
        else "",
    )


def _between_and_within(
    releases: Releases, event: RepeatedEvent, number: int
) -> tuple[float, bool]:
    """How likely the event is, in new processes, by chance so much more likely than within one.

    The releases are other ones than those that were bet on. The p-value is that of Fisher's exact
    test. The second value is whether all of these releases are in the event.
    """
    between = [releases(event.side, number + place, 1) for place in range(_COMPARED)]
    within = releases(event.side, number + _COMPARED, _COMPARED + 1)
    if within is None or any(one is None for one in between):
        return 1.0, False
    one, other = (
        sum(map(event.contains, found))
        for found in ([one[0] for one in between if one], within[1:])
    )
    p_value = float(hypergeom.sf(one - 1, 2 * _COMPARED, one + other, _COMPARED))
    return p_value, one + other == 2 * _COMPARED


class NewProcesses(AbstractContextManager["NewProcesses"]):
    """Processes that import the target anew for each release."""

    def __init__(
        self,
        target: TargetReference,  # A target with a name
        pair: Neighbours,  # The data sets
        *,
        seed: int,  # The generators that are passed to the mechanism are made from it
        deadline: float,  # When to stop, on the clock of ``time.perf_counter``
    ) -> None:
        self._target = target
        self._deadline = deadline
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        self._errors = folder / "errors.txt"
        np.savez(
            folder / "data.npz",
            points=points_of(pair),
            features_0=pair.first.features,
            features_1=pair.second.features,
            labels_0=pair.first.labels,
            labels_1=pair.second.labels,
        )
        self._common = {
            "name": target.name,
            "directory": target.directory,
            "data": str(folder / "data.npz"),
            "seed": seed,
        }

    def __exit__(self, *error: object) -> None:
        self._stop()
        self._folder.cleanup()

    def releases(self, side: int, number: int, count: int) -> list[Digests] | None:
        """The first releases of a new process; None if the deadline comes before them.

        Raises MechanismError if the mechanism, or the process, fails.
        """
        if time.perf_counter() >= self._deadline:
            return None
        process = self._process or self._start()
        assert process.stdin is not None
        request = {**self._common, "side": side, "number": number, "count": count}
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except OSError:
            raise self._failed() from None
        left = self._deadline - time.perf_counter()
        try:
            answer = self._answers.get(timeout=max(0.0, min(left, threading.TIMEOUT_MAX)))
        except queue.Empty:
            answer = None
        if answer == "":
            raise self._failed()
        if not can_fork():
            self._stop()
        if answer is None:
            return None
        found = json.loads(answer)
        if "error" in found:
            raise MechanismError(f"In a new process, {found['error']}")
        return [tuple(one) for one in found["digests"]]

    def _failed(self) -> MechanismError:
        self._stop()
        last = self._errors.read_text(errors="replace").strip().splitlines()[-1:]
        return MechanismError(f"{self._target.name} failed in a new process: {' '.join(last)}")

    def _start(self) -> subprocess.Popen[str]:
        answers: queue.Queue[str] = queue.Queue()
        with open(self._errors, "w", encoding="utf-8") as errors:
            # Python itself, this module, and later the target that the user asked to run.
            process = subprocess.Popen(
                [sys.executable, "-m", "rdpkit.verification.blackbox.fresh_processes"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=os.environ
                | _THREADS
                | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                # Its children end with it.
                start_new_session=True,
            )

        def listen() -> None:
            assert process.stdout is not None
            with process.stdout:
                for line in process.stdout:
                    answers.put(line)
            answers.put("")

        threading.Thread(target=listen, daemon=True).start()
        self._process, self._answers = process, answers
        return process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()


def can_fork() -> bool:
    """Whether a process can be copied."""
    return hasattr(os, "fork")


def answer_of(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request: hashes of releases, or an error."""
    # Each process has these seeds from the system; a copy would share them with its siblings.
    np.random.seed(None)  # noqa: NPY002 - the mechanism may use the old global generator
    random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.seed()
    try:
        with np.load(request["data"], allow_pickle=False) as file:
            side = request["side"]
            dataset = LabelledData(features=file[f"features_{side}"], labels=file[f"labels_{side}"])
            points = file["points"]
        part = Part(
            target=TargetReference(name=request["name"], directory=request["directory"]),
            dataset=dataset,
            side=side,
            seed=request["seed"],
            # A process and its number are the purpose of its runs.
            key=(_KEY, request["number"]),
            start=0,
            count=request["count"],
            layout=ReleaseLayout(fields=(), points=points),
            at_once=False,
            scores=None,
        )
        found = digests_of(part)
        # In the order of their import.
        slow = [name for name in sys.modules if name.partition(".")[0] in _SLOW_PACKAGES]
        return {"digests": found, "modules": slow}
    except Exception as error:
        return {"error": _validate.words_of(error) or type(error).__name__}


def main() -> None:
    """Answer requests until there are no more, each in a process of its own."""
    parent = os.getppid()
    # What the mechanism prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        found = _in_a_copy(request, parent) if can_fork() else json.dumps(answer_of(request))
        if found is None:
            return
        for name in json.loads(found).get("modules", ()) if can_fork() else ():
            with suppress(Exception):
                importlib.import_module(name)
        answers.write(found + "\n")
        answers.flush()
        if not can_fork():
            return


def _in_a_copy(request: dict[str, Any], parent: int) -> str | None:
    """The answer of a copy of this process; None if the parent of this process has ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        # The mechanism must not read the requests.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - until it ends
        status = 1
        try:
            with os.fdopen(writing, "w", encoding="utf-8") as answer:
                answer.write(json.dumps(answer_of(request)))
            status = 0
        finally:
            # Nothing that this process inherited, such as the input, is cleaned up twice.
            os._exit(status)
    os.close(writing)
    parts = []
    with os.fdopen(reading, "rb") as answer:
        while True:
            ready = select.select([answer], [], [], _SECONDS_BETWEEN_LOOKS)[0]
            if ready:
                part = os.read(answer.fileno(), 2**16)
                if not part:
                    break
                parts.append(part)
            elif os.getppid() != parent:
                os.kill(child, signal.SIGKILL)
                return None
    status = os.waitpid(child, 0)[1]
    if not parts:
        return json.dumps({"error": f"it ended with status {os.waitstatus_to_exitcode(status)}."})
    return b"".join(parts).decode()


if __name__ == "__main__":
    main()
