"""The Python files and notebooks of a repository, as text."""

from __future__ import annotations

import ast
import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SKIPPED = {
    *("__pycache__", "node_modules", "site-packages", "dist-packages", "venv", "env", "virtualenv"),
    *("build", "dist", "_build", "wandb", "mlruns"),
}
_TESTS = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.(py|ipynb)$")
_LARGEST = {".py": 2_000_000, ".ipynb": 50_000_000}
MOST_FILES = 100_000
"""So many Python files and notebooks are looked at; a repository with more is read in part."""

# A line of a cell that IPython reads, and Python does not.
_MAGIC = re.compile(r"^\s*[%!?]|^\s*\w+\s*\?\??\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCode:
    """The code of one file."""

    path: str  # Relative to the repository, with slashes
    text: bytes | str  # The code; of a notebook the code of all cells
    cells: tuple[tuple[int, int], ...] = ()
    """Of a notebook, the cell (from 1) and of which line of the text it is the first one, in turn;
    else empty.
    """

    def place(self, line: int) -> str:
        """A line of the text in words: "train.py, line 4", "a.ipynb, cell 2, line 1"."""
        for cell, first in reversed(self.cells):
            if first <= line:
                return f"{self.path}, cell {cell}, line {line - first + 1}"
        return f"{self.path}, line {line}"


@dataclass(slots=True)
class Repository:
    """A folder, and what was left out of it."""

    root: Path  # The folder
    tests: bool = False  # Whether files of tests are read, too
    read: int = 0
    left_out: int = 0
    problems: list[str] | None = None

    def files(self, words: tuple[bytes, ...]) -> Iterator[SourceCode]:
        """The files in which one of some words stands, sorted by name."""
        self.problems = []
        for path in self._paths():
            name = path.relative_to(self.root).as_posix()
            if not self.tests and _TESTS.search(name):
                self.left_out += 1
                continue
            if self.read >= MOST_FILES:
                self.problems.append(f"more than {MOST_FILES:,} files: the others were not read")
                return
            self.read += 1
            try:
                if path.stat().st_size > _LARGEST[path.suffix]:
                    self.problems.append(f"{name}: too large to be read")
                    continue
                content = path.read_bytes()
                if any(word in content for word in words):
                    yield (
                        _notebook(name, content, self.problems)
                        if path.suffix == ".ipynb"
                        else SourceCode(path=name, text=content)
                    )
            except (OSError, ValueError, RecursionError) as error:
                self.problems.append(f"{name}: cannot be read: {error}")

    def _paths(self) -> Iterator[Path]:
        for folder, inside, names in os.walk(self.root):
            inside[:] = sorted(
                name
                for name in inside
                if not name.startswith(".")
                and name not in _SKIPPED
                and not name.endswith(".egg-info")
                and not Path(folder, name, "pyvenv.cfg").exists()
            )
            for name in sorted(names):
                path = Path(folder, name)
                if path.suffix in _LARGEST and path.is_file():
                    yield path


def _notebook(name: str, content: bytes, problems: list[str]) -> SourceCode:
    """The code cells of a notebook, one after the other; those that are no Python are named."""
    document = json.loads(content)
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it is no notebook of version 4")
    lines: list[str] = []
    starts = []
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if text.lstrip().startswith("%%"):  # a cell in another language
            continue
        plain = "\n".join(map(_without_magic, text.split("\n")))
        found = next((one for one in (text, plain) if _is_python(one)), None)
        if found is None:
            problems.append(f"{name}, cell {number}: not Python")
            continue
        starts.append((number, len(lines) + 1))
        lines += found.split("\n")
    return SourceCode(path=name, text="\n".join(lines) + "\n", cells=tuple(starts))


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_magic(line: str) -> str:
    """The line, or one that does nothing in its place, so that line numbers stay."""
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}pass" if _MAGIC.match(line) else line
