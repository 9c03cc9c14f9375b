"""Python files and notebooks of a repository, and the calls of privacy libraries in them."""

from __future__ import annotations

import ast
import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rdpkit.verification.claims.scanning.literals import Literal, Values, dotted_name

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


LIBRARIES = {
    "opacus": "Opacus",
    "tensorflow_privacy": "TensorFlow Privacy",
    "jax_privacy": "jax-privacy",
    "diffprivlib": "diffprivlib",
    "dp_accounting": "dp-accounting",
}
"""The libraries that are known, by the names that code imports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a call."""

    text: str  # The expression as it stands in the code
    literal: Literal | None  # What it stands for; None if the file does not say
    node: ast.expr | None = field(default=None, compare=False, repr=False)  # The expression


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCall:
    """A call of a privacy library."""

    library: str  # The name that code imports, a key of :data:`LIBRARIES`
    function: str  # What is called, without the module: "make_private", "models.GaussianNB"
    path: str  # The file, relative to the repository
    line: int  # The line of the code at which the call begins
    place: str  # File, cell and line in words
    arguments: dict[str, Argument]  # By name; those without one by their place, "0", "1"
    file: CodeFile = field(compare=False, repr=False)  # The file, for what stands beside the call

    def get(self, *names: str) -> Argument | None:
        """The argument of the first of some names that is given."""
        return next((self.arguments[name] for name in names if name in self.arguments), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFile:
    """A file that was read as code."""

    source: SourceCode  # Its text
    tree: ast.Module  # What it says
    values: Values  # What its names stand for
    names: dict[str, str]  # The names that it imports, with what they are in full

    def argument(self, node: ast.expr) -> Argument:
        """An expression as an argument."""
        text = " ".join(ast.unparse(node).split())
        return Argument(text=text[:60], literal=self.values.of(node), node=node)

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Every call, with the full name of what is called as far as imports say."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                name = dotted_name(node.func)
                if name is None and isinstance(node.func, ast.Attribute):
                    name = f"?.{node.func.attr}"
                if name is not None:
                    yield self.full_name(name), node

    def full_name(self, name: str) -> str:
        """A name with the module that its first part was imported from."""
        first, dot, rest = name.partition(".")
        return f"{self.names.get(first, first)}{dot}{rest}"

    def keyword_beside(self, function: str, *names: str) -> Literal | None:
        """The one value of an argument in all calls of a function or method in the file."""
        found = {}
        for name, call in self.calls():
            if name.rpartition(".")[2] != function:
                continue
            for keyword in call.keywords:
                literal = self.values.of(keyword.value) if keyword.arg in names else None
                if literal is not None:
                    found[literal.value] = Literal(literal.value, f"{keyword.arg} of {function}")
        return next(iter(found.values())) if len(found) == 1 else None


def parsed(source: SourceCode) -> CodeFile:
    """A file as code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ValueError(f"{source.path}{line}: not Python: {words}") from None
    return CodeFile(source=source, tree=tree, values=Values(tree), names=_imported(tree))


def found_calls(file: CodeFile) -> list[FoundCall]:
    """The calls of privacy libraries in a file, in its order; parts of others are left out."""
    found = []
    inner: set[ast.Call] = set()
    for name, node in file.calls():
        known = _known(name, file)
        if known is None or node in inner:
            continue
        inner |= {one for one in ast.walk(node) if isinstance(one, ast.Call) and one is not node}
        arguments = {str(i): file.argument(one) for i, one in enumerate(node.args)}
        arguments |= {one.arg: file.argument(one.value) for one in node.keywords if one.arg}
        library, function = known
        found.append(
            FoundCall(
                library=library,
                function=function,
                path=file.source.path,
                line=node.lineno,
                place=file.source.place(node.lineno),
                arguments=arguments,
                file=file,
            )
        )
    return sorted(found, key=lambda call: call.line)


def _imported(tree: ast.Module) -> dict[str, str]:
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name.partition(".")[0]] = (
                    one.name if one.asname else one.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                names[one.asname or one.name] = f"{node.module}.{one.name}"
    return names


_TF_OPTIMIZERS = (
    *("DPGradientDescentGaussianOptimizer", "DPAdamGaussianOptimizer"),
    *("DPAdagradGaussianOptimizer", "DPRMSPropGaussianOptimizer", "DPFTRLTreeAggregationOptimizer"),
    *("DPSequential", "DPModel"),
)
_BY_NAME = {
    "compute_dp_sgd_privacy": "tensorflow_privacy",
    "compute_dp_sgd_privacy_statement": "tensorflow_privacy",
    "DPKerasConfig": "jax_privacy",
    "calibrate_noise_multiplier": "jax_privacy",
}
_EVENTS = (
    *("GaussianDpEvent", "LaplaceDpEvent", "PoissonSampledDpEvent", "SelfComposedDpEvent"),
    "ComposedDpEvent",
)
_DIFFPRIVLIB = {
    "models": "GaussianNB KMeans LinearRegression LogisticRegression PCA StandardScaler "
    "RandomForestClassifier DecisionTreeClassifier",
    "tools": "histogram histogramdd histogram2d quantile median percentile count_nonzero mean std "
    "sum var nanmean nanstd nansum nanvar",
    "mechanisms": "Binary Bingham Exponential ExponentialCategorical ExponentialHierarchical "
    "PermuteAndFlip Gaussian GaussianAnalytic GaussianDiscrete Geometric GeometricFolded "
    "GeometricTruncated Laplace LaplaceBoundedDomain LaplaceBoundedNoise LaplaceFolded "
    "LaplaceTruncated Snapping Staircase Uniform Vector",
}


def _known(name: str, file: CodeFile) -> tuple[str, str] | None:
    """The library and the function of a call, if it says something of privacy."""
    last = name.rpartition(".")[2]
    imported = {full.partition(".")[0] for full in file.names.values()}
    if last in ("make_private", "make_private_with_epsilon"):
        # The method of an object: the file must import the library.
        return ("opacus", last) if "opacus" in imported else None
    keras = "DPKeras" in last and last.endswith("Optimizer")
    if (last in _TF_OPTIMIZERS or keras) and "tensorflow_privacy" in imported:
        return "tensorflow_privacy", last
    library = _BY_NAME.get(last)
    if library is not None and library in imported:
        return library, last
    if name.endswith("BandMFConfig.default") and "jax_privacy" in imported:
        return "jax_privacy", "BandMFConfig.default"
    if last == "dpsgd_event" and "jax_privacy" in imported:
        return "jax_privacy", last
    if last in _EVENTS and "dp_accounting" in imported:
        return "dp_accounting", last
    first, _, rest = name.partition(".")
    kind = rest.partition(".")[0]
    if first == "diffprivlib" and last in _DIFFPRIVLIB.get(kind, "").split():
        return "diffprivlib", f"{kind}.{last}"
    return None
