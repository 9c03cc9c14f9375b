"""Agents: what examines code, in this process or in one of another environment."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from rdpkit.verification.replay.agent import __main__ as local
from rdpkit.verification.replay.agent.runs import Taps

_FOLDER = Path(__file__).parent / "agent"
# The agent is a package of its own wherever it runs, under a name that no library has.
_START = """
import importlib.util, sys
path = sys.argv[1]
spec = importlib.util.spec_from_file_location(
    "rdpkit_replay_agent", path + "/__init__.py", submodule_search_locations=[path])
sys.modules["rdpkit_replay_agent"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["rdpkit_replay_agent"])
from rdpkit_replay_agent.__main__ import main
main()
"""


class AgentError(ValueError):
    """The target cannot be imported, or its process ends or takes too long."""


class LocalAgent:
    """Examines a callable in this process; its time is not limited."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def ask(self, request: Mapping[str, Any], *, seconds: float) -> Any:
        """The answer to a request."""
        return local.answer(dict(request), self._target)

    def close(self) -> None:
        """Take the taps away."""
        Taps.close()


_running: set[subprocess.Popen[str]] = set()


def end_agents() -> None:
    """End the processes of all agents; whoever waits for an answer of one is told so."""
    for process in tuple(_running):
        process.kill()


class ProcessAgent(AbstractContextManager["ProcessAgent"]):
    """Examines ``module:callable`` in a process, in whatever environment."""

    def __init__(
        self,
        target: str,  # The module and the callable. Their code is imported and run there.
        *,
        python: str = "",  # The interpreter; this one by default
        directory: str | None = None,  # A folder in which modules are looked for first
    ) -> None:
        self.target = target
        self._python = python or sys.executable
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()
        self._unread = 0
        self.began = 0.0  # When its process was started, on the clock of time.perf_counter

    def begin(self) -> ProcessAgent:
        """Start the process and import the target there, while something else is done here."""
        if self._process is None:
            self._tell(self._start(), {"do": "describe"})
            self._unread = 1
        return self

    def fresh(self) -> ProcessAgent:
        """An agent for the same target in a process of its own."""
        return ProcessAgent(self.target, python=self._python, directory=self._directory)

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, request: Mapping[str, Any], *, seconds: float) -> Any:
        """The answer to a request. Raises AgentError if there is none within some seconds."""
        process = self._process or self._start()
        until = time.perf_counter() + seconds
        try:
            self._tell(process, request)
            for _ in range(self._unread + 1):
                line = self._lines.get(timeout=max(0.1, until - time.perf_counter()))
            self._unread = 0
        except queue.Empty:
            self.close()
            raise AgentError(f"{self.target} gave no answer within {seconds:.0f} s.") from None
        except OSError:
            line = ""
        if not line:
            self.close()
            raise AgentError(f"The process of {self.target} ended.")
        found = json.loads(line)
        if "error" in found:
            raise AgentError(f"{self.target}: {found['error']}")
        return found["answer"]

    def _tell(self, process: subprocess.Popen[str], request: Mapping[str, Any]) -> None:
        assert process.stdin is not None
        full = {**request, "target": self.target, "directory": self._directory}
        process.stdin.write(json.dumps(full) + "\n")
        process.stdin.flush()

    def _start(self) -> subprocess.Popen[str]:
        self.began = time.perf_counter()
        self._unread = 0
        lines: queue.Queue[str] = queue.Queue()
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # The agent, and later the target that the user asked to run.
        process = subprocess.Popen(  # noqa: S603 - that command, and no shell
            [self._python, "-c", _START, str(_FOLDER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **threads, "PYTHONHASHSEED": "0"},
        )

        def listen() -> None:
            assert process.stdout is not None
            with process.stdout:
                for line in process.stdout:
                    lines.put(line)
            lines.put("")

        threading.Thread(target=listen, daemon=True).start()
        self._process, self._lines = process, lines
        _running.add(process)
        return process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            _running.discard(process)
            if process.stdin is not None:
                # What was not sent is lost with the process.
                with suppress(OSError):
                    process.stdin.close()


Agent = LocalAgent | ProcessAgent
"""What answers requests about one target."""


def agents_of(target: str) -> list[ProcessAgent]:
    """Two agents that begin to import ``module:callable``; none of a target that is none."""
    if ":" not in target:
        return []
    return [ProcessAgent(target, directory=os.getcwd()).begin() for _ in range(2)]


class Crew:
    """Agents of one target that work at once, each in a process of its own; or one in this."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents = tuple(agents)
        # A thread for each of several, which waits for its answers.
        self._pools = [ThreadPoolExecutor(max_workers=1) for _ in agents if len(agents) > 1]

    def begin(self, request: Mapping[str, Any], *, seconds: float, place: int) -> Future[Any]:
        """What will be the answer to a request; the number of the request names the agent."""
        agent = self.agents[place % len(self.agents)]
        if self._pools:
            return self._pools[place % len(self.agents)].submit(agent.ask, request, seconds=seconds)
        found: Future[Any] = Future()
        try:
            found.set_result(agent.ask(request, seconds=seconds))
        except AgentError as error:
            found.set_exception(error)
        return found

    def in_order(
        self, requests: Iterable[tuple[int, Mapping[str, Any]]], *, seconds: float
    ) -> Iterator[Future[Any]]:
        """The answers in the order of numbered requests, some of them computed at once."""
        waiting: deque[Future[Any]] = deque()
        for place, request in requests:
            waiting.append(self.begin(request, seconds=seconds, place=place))
            if len(waiting) == len(self.agents):
                yield waiting.popleft()
        yield from waiting

    def close(self) -> None:
        """Begin nothing more; what the agents still do ends with them."""
        for one in self._pools:
            one.shutdown(wait=False, cancel_futures=True)
