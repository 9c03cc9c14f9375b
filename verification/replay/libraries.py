"""Libraries whose mechanisms are replayed: what installs them, and what they are claimed to keep.

The targets of a library are in ``agent/targets``: they run where the library is installed, and say
which data they take, what they claim, and under which relation.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rdpkit import _validate
from rdpkit.formats.files import write_whole
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.tested_claim import dp_claim
from rdpkit.verification.replay.agents import ProcessAgent
from rdpkit.verification.replay.findings import ReplayResult
from rdpkit.verification.replay.pairs import DataSpace
from rdpkit.verification.replay.replay import SECONDS, Progress, replay

_TARGETS = Path(__file__).parent / "agent" / "targets"
_INSTALLED = "installed.json"
_INSTALL_SECONDS = 1_800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library, and what its environment needs."""

    name: str  # Its name on the package index
    version: str  # The version that is examined unless another one is named
    what: str  # What is replayed of it
    module: str  # The module of its targets, in agent/targets
    needs: tuple[str, ...] = ()  # What else is installed, because newer releases break it

    @property
    def requirement(self) -> str:
        """The name with the version."""
        return f"{self.name}=={self.version}"

    def targets(self) -> list[str]:
        """The names of its targets, without importing them: the library is not installed here."""
        tree = ast.parse((_TARGETS / f"{self.module}.py").read_text(encoding="utf-8"))
        return [
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.decorator_list
        ]


_ALL = (
    Library(
        name="diffprivlib",
        version="0.6.6",
        what="IBM's tools and models",
        module="of_diffprivlib",
        needs=("scikit-learn<1.6", "numpy<2.3", "pandas"),
    ),
    Library(
        name="opendp",
        version="0.14.1",
        what="measurements of the OpenDP library",
        module="of_opendp",
        needs=("numpy", "pandas"),
    ),
    Library(
        name="python-dp",
        version="1.1.4",
        what="PyDP, Google's library in Python",
        module="of_pydp",
        needs=("numpy", "pandas"),
    ),
    Library(
        name="dpmm",
        version="0.1.9",
        what="pipelines and models of dpmm",
        module="of_dpmm",
    ),
    Library(
        name="smartnoise-sql",
        version="1.0.10",
        what="queries of SmartNoise",
        module="of_smartnoise_sql",
    ),
    Library(
        name="smartnoise-synth",
        version="1.0.8",
        what="synthesizers of SmartNoise",
        module="of_smartnoise_synth",
        needs=("torch==2.13.0", "scikit-learn"),
    ),
)
LIBRARIES = {one.name: one for one in _ALL}
"""The libraries by their names."""


def library_of(word: str) -> Library:
    """The library that ``NAME`` or ``NAME==VERSION`` names.

    Raises
    ------
    ValueError
        If it is not known.
    """
    name, separator, version = word.partition("==")
    found = LIBRARIES.get(name)
    if found is None or (separator and not version):
        raise _validate.fail(
            "library (--library)", f"to be one of {', '.join(LIBRARIES)}, or 'list'", word
        )
    return replace(found, version=version) if version else found


def environment(library: Library) -> Path:
    """The interpreter of an environment with this release, which is made if there is none.

    It is kept in ``RDPKIT_ENVIRONMENTS``, or in the cache folder of the user.

    Raises
    ------
    ValueError
        If it cannot be installed; the message is the installer's last line.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(os.environ.get("RDPKIT_ENVIRONMENTS") or Path(cache) / "rdpkit" / "environments")
    wanted = [library.requirement, *library.needs]
    mark = hashlib.sha256(json.dumps([wanted, sys.version]).encode()).hexdigest()[:12]
    folder = root / f"{library.name}-{library.version}-{mark}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (folder / _INSTALLED).exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    _install(library, python, wanted)
    write_whole(folder / _INSTALLED, json.dumps(wanted) + "\n")
    return python


def _install(library: Library, python: Path, wanted: Sequence[str]) -> None:
    """Install packages into the environment of a library."""
    try:
        found = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", *wanted],
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{library.requirement} was not installed within half an hour.") from None
    if found.returncode:
        last = (found.stderr.strip().splitlines() or ["no message"])[-1]
        raise ValueError(f"{library.requirement} cannot be installed: {last}")


def replay_library(
    library: Library,
    *,
    names: Sequence[str] = (),
    options: VerificationOptions,
    jobs: int = 1,
    progress: Progress | None = None,
    python: Path | None = None,
) -> list[ReplayResult]:
    """Replay mechanisms of a library, each at an equal part of the false-alarm rate.

    Parameters
    ----------
    library : Library
        From :func:`library_of`.
    names : sequence of str
        Some of its targets; all by default.
    options : VerificationOptions
        ``false_alarm_rate``, ``seed``, ``records`` and ``time_budget`` (of one target) count.
    jobs : int
        How many targets are replayed at once.
    progress : callable, optional
        Called after each target.
    python : Path, optional
        An interpreter that has the library; by default an environment is made.

    Raises
    ------
    ValueError
        If a target is not known, or the library cannot be installed.
    """
    known = library.targets()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise _validate.fail(
            "TARGET", f"to be a target of {library.name}: {', '.join(known)}", unknown[0]
        )
    chosen = list(names) or known
    if progress is not None:
        progress(0, len(chosen), f"installing {library.requirement}")
    where = python or environment(library)
    shared = replace(options, false_alarm_rate=options.false_alarm_rate / len(chosen))
    found: dict[str, ReplayResult] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        work = {pool.submit(_replayed, library, name, where, shared): name for name in chosen}
        for done in as_completed(work):
            found[work[done]] = done.result()
            if progress is not None:
                progress(len(found), len(chosen), work[done])
    return [found[name] for name in chosen]


def _replayed(
    library: Library, name: str, python: Path, options: VerificationOptions
) -> ReplayResult:
    target = f"rdpkit_replay_agent.targets.{library.module}:{name}"
    assert options.seed is not None
    with ProcessAgent(target, python=str(python)) as agent:
        said: dict[str, Any] = agent.ask({"do": "describe"}, seconds=_INSTALL_SECONDS)
        claim = dp_claim(
            epsilon=said["epsilon"], delta=said.get("delta", 0.0), adjacency=said["adjacency"]
        )
        return replay(
            agent,
            DataSpace.of(
                said["columns"],
                records=options.records or said.get("records"),
                any_values=said.get("any_values", False),
                user=said.get("user", ""),
            ),
            claim,
            name=f"{library.requirement} {name}",
            seed=options.seed,
            seconds=options.time_budget or SECONDS,
            false_alarm_rate=options.false_alarm_rate,
            because=said.get("because", ""),
            command=f"rdpkit verify --library {library.requirement} {name} --seed {options.seed}",
        )
