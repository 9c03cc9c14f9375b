"""Libraries whose mechanisms are replayed: what installs them, and what they are claimed to keep.

The targets of a library are in ``agent/targets``: they run where the library is installed, and say
which data they take, what they claim, and under which relation. This module imports nothing heavy,
so that they begin early.
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
from dataclasses import dataclass, replace
from pathlib import Path

from rdpkit import _validate
from rdpkit.formats.files import write_whole
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.replay.agents import ProcessAgent

_TARGETS = Path(__file__).parent / "agent" / "targets"
_INSTALLED = "installed.json"
_INSTALL_SECONDS = 1_800.0


@dataclass(frozen=True, slots=True)
class Library:
    """A library, and what its environment needs."""

    name: str  # Its name on the package index
    version: str  # The version that is examined unless another one is named
    what: str  # What is replayed of it
    module: str  # The module of its targets, in agent/targets
    needs: tuple[str, ...] = ()  # What else is installed, because newer releases break it
    # Whether it is installed without what it asks for, most of which its mechanisms do not use
    alone: bool = False

    @property
    def requirement(self) -> str:
        """The name with the version."""
        return f"{self.name}=={self.version}"

    def targets(self) -> list[str]:
        """The names of its targets, without importing them: the library is not installed here."""
        tree = ast.parse((_TARGETS / f"{self.module}.py").read_text(encoding="utf-8"))
        names = [
            node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node.targets[0])
            for node in tree.body
            if (isinstance(node, ast.FunctionDef) and node.decorator_list)
            or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
        ]
        # Others are helpers, and what the library has that is replaced.
        return [name for name in names if name.isidentifier() and name[0].islower()]

    def chosen(self, names: Sequence[str] = ()) -> list[str]:
        """These targets; all of them without names."""
        known = self.targets()
        for name in names:
            if name not in known:
                accepted = f"to be a target of {self.name}: {', '.join(known)}"
                raise _validate.fail("TARGET", accepted, name)
        return list(names) or known


_USUAL, _TORCH = ("numpy", "pandas"), "torch==2.13.0"
_ALL = (
    Library(
        "diffprivlib", "0.6.6", "IBM's mechanisms, tools and models", "of_diffprivlib",
        needs=("scikit-learn<1.6", "numpy<2.3", "pandas"),
    ),
    Library("opendp", "0.14.1", "measurements of the OpenDP library", "of_opendp", _USUAL),
    Library(
        "jax-privacy", "2.0.0", "steps of training with JAX Privacy", "of_jax_privacy", _USUAL
    ),
    Library(
        "opacus", "1.6.0", "steps of training with Opacus", "of_opacus", needs=(_TORCH, *_USUAL)
    ),
    Library(
        "pipeline-dp", "0.3.1", "aggregations of PipelineDP, on its local backend",
        "of_pipelinedp", _USUAL,
    ),
    Library("python-dp", "1.1.4", "PyDP, Google's library in Python", "of_pydp", _USUAL),
    Library("dpmm", "0.1.9", "pipelines and models of dpmm", "of_dpmm"),
    Library("smartnoise-sql", "1.0.10", "queries of SmartNoise", "of_smartnoise_sql"),
    Library(
        "smartnoise-synth", "1.0.8", "synthesizers of SmartNoise", "of_smartnoise_synth",
        needs=(_TORCH, "scikit-learn"),
    ),
    Library(
        "synthcity", "0.2.12", "private generators of synthcity", "of_synthcity",
        needs=(
            _TORCH, "numpy<2", "pandas>=2.1,<3", "scikit-learn<1.6", "pgmpy<1.0",
            "networkx<3.0", "opacus", "pydantic>=2.0", "loguru", "cloudpickle", "optuna>=3.1",
            "pillow",
        ),
        alone=True,
    ),
)  # fmt: skip
LIBRARIES = {one.name: one for one in _ALL}
"""The libraries by their names."""


def library_of(word: str) -> Library:
    """The library that ``NAME`` or ``NAME==VERSION`` names."""
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
    if library.alone:
        _install(library, python, ["--no-deps", library.requirement])
    _install(library, python, library.needs if library.alone else wanted)
    write_whole(folder / _INSTALLED, json.dumps(wanted) + "\n")
    return python


def _install(library: Library, python: Path, wanted: Sequence[str]) -> None:
    """Install packages into the environment of a library; options of the installer may be first."""
    try:
        found = subprocess.run(  # noqa: S603 - the installer of the new environment
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


def agents_of(
    library: Library,  # From :func:`library_of`
    name: str,  # One of its targets
    python: Path,  # An interpreter that has the library
    *,
    several: bool = True,  # Whether there are two, each in a process of its own
) -> list[ProcessAgent]:
    """Agents of a target, which begin to import it while something else is done here."""
    target = f"rdpkit_replay_agent.targets.{library.module}:{name}"
    return [ProcessAgent(target, python=str(python)).begin() for _ in range(1 + several)]


def state_of(library: Library, python: Path, options: VerificationOptions) -> str:
    """A digest of all that results depend on: the installed files, the options, and this package.

    Files count by their names, sizes and times, so that code that was changed is replayed again.
    """
    folders = (python.parents[1], Path(__file__).parent)
    files = sorted(one for folder in folders for one in folder.rglob("*.py"))
    state = [
        library.requirement,
        repr(options),
        *(f"{one} {one.stat().st_size} {one.stat().st_mtime_ns}" for one in files),
    ]
    return hashlib.sha256("\n".join(state).encode()).hexdigest()
