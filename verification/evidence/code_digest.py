"""A digest of the code that a test runs: it changes whenever the code might behave differently.

Nothing is executed for it. The target's module was imported when the target was looked up; what it
imports from files of the project is found by reading its source, and the source of that, and so on.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path

from rdpkit.verification.blackbox.targets import TargetReference
from rdpkit.verification.evidence.callables import contents_of

# Folders of installed packages, which count with their versions and not with their files.
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_OWN = "rdpkit"
_ALWAYS = ("numpy",)
_IMPORTS_BY_NAME = frozenset({"import_module", "__import__", "exec", "eval", "run_path"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeDigest:
    """What a test of code depends on."""

    digest: str  # Of all of it, in hexadecimal digits
    modules: tuple[str, ...]  # The modules of the project that the target is made of
    versions: tuple[str, ...]  # The packages that these import, each with its version


def code_digest(subject: TargetReference) -> CodeDigest:
    """The digest of the code behind a target.

    It covers the source of the target's module and of every module that it imports, directly or
    not, from the current directory or from the target's own package; the versions of the other
    packages that these import; the sources of rdpkit; and the version of Python. If a module may
    import others by names that it computes, every module of the project that is loaded counts. Of a
    callable that was handed in, it covers the modules of its functions and classes, and the values
    that it holds (:func:`rdpkit.verification.evidence.callables.contents_of`).

    Assumes
    -------
    Data files that the code reads do not decide what it releases.

    Raises
    ------
    ValueError
        If the target holds values that cannot be recognised, or its code cannot be read.
    """
    subject.mechanism()
    sources: dict[str, Path] = {}
    packages = set(_ALWAYS)
    modules: Iterable[str] = ()
    values = []
    if subject.handed_in is not None:
        contents = contents_of(subject.handed_in)
        modules, values = sorted(contents.modules), [f"values {contents.digest}"]
    elif ":" in subject.name:
        modules = [subject.name.partition(":")[0]]
    for module in modules:
        found, others = _of_project(module)
        sources |= found
        packages |= others
    # A module that is another one's helper counts as a source, and not as a package.
    packages -= {name.partition(".")[0] for name in sources}
    versions = tuple(_versions(packages))
    total = hashlib.sha256()
    for name, path in sorted(sources.items()):
        total.update(f"{name} {_digest_of(path)}\n".encode())
    for text in (
        *versions,
        *values,
        f"{_OWN} {_own_digest()}",
        f"python {platform.python_version()}",
    ):
        total.update(f"{text}\n".encode())
    return CodeDigest(
        digest=total.hexdigest()[:32], modules=tuple(sorted(sources)), versions=versions
    )


def _of_project(module: str) -> tuple[dict[str, Path], set[str]]:
    """The files of the project that a module is made of, and the other packages that they import.

    Both by the names of modules.
    """
    roots = _roots(module)
    found: dict[str, Path] = {}
    others: set[str] = set()
    waiting = _with_parents(module)
    by_name = False
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = _file_of(name, roots)
        if path is None:
            others.add(name.partition(".")[0])
            continue
        found[name] = path
        if path.suffix == ".py":
            imported, computed = _imports(path, name)
            waiting += [one for full in imported for one in _with_parents(full)]
            if computed and not by_name:
                by_name = True
                waiting += [one for one in sys.modules if _file_of(one, roots) is not None]
    own = {name.partition(".")[0] for name in found}
    return found, others - own - set(sys.stdlib_module_names) - {_OWN}


def _roots(module: str) -> list[Path]:
    """Folders whose modules are the project's: the current one, and that of the package."""
    here = Path.cwd().resolve()
    file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None)
    if file is None:
        return [here]
    path = Path(file).resolve()
    package = path.parent.parent if path.name == "__init__.py" else path.parent
    return [here] if package == here else [here, package]


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _file_of(name: str, roots: list[Path]) -> Path | None:
    """The file of a module of the project; None for a module that is none of it."""
    if name.partition(".")[0] == _OWN:
        return None
    file = getattr(sys.modules.get(name), "__file__", None)
    candidates: Iterable[Path] = [Path(file)] if isinstance(file, str) else ()
    if not candidates:
        inside = os.path.join(*name.split("."))
        candidates = [
            root / end for root in roots for end in (f"{inside}.py", f"{inside}/__init__.py")
        ]
    for path in candidates:
        whole = path.resolve()
        for root in roots:
            if whole.is_relative_to(root) and whole.is_file():
                inner = whole.relative_to(root).parts
                # A virtual environment inside of the project is none of it.
                if not _INSTALLED & set(inner):
                    return whole
    return None


def _imports(path: Path, name: str) -> tuple[list[str], bool]:
    """The modules that a file may import, and whether it may import others by computed names."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path}: the code cannot be read: {error}") from None
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found, computed = [], False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            # What is imported from a package may be a module of it.
            found += [base, *(f"{base}.{alias.name}" for alias in node.names if alias.name != "*")]
        elif isinstance(node, ast.Name | ast.Attribute):
            word = node.id if isinstance(node, ast.Name) else node.attr
            computed = computed or word in _IMPORTS_BY_NAME
    return [one for one in found if one and not one.startswith(".")], computed


def _digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ValueError(f"{path}: the code cannot be read: {error}") from None


def _versions(packages: set[str]) -> Iterator[str]:
    """Each package with the version of what was installed for it."""
    # The names of these folders hold the versions of all that is installed.
    folders = (path for folder in sys.path for path in sorted(Path(folder).glob("*-info")))
    installed = _packages(tuple(map(str, folders)))
    for package in sorted(packages):
        for distribution in sorted(set(installed.get(package, ()))):
            yield f"{distribution} {metadata.version(distribution)}"


@functools.lru_cache(maxsize=1)
def _packages(_folders: tuple[str, ...]) -> Mapping[str, list[str]]:
    """The distributions of each package; to read the lists of their files takes a second."""
    return metadata.packages_distributions()


@functools.cache
def _own_digest() -> str:
    """Of the sources of rdpkit and of its mechanisms, which code of a user may call.

    How code is tested decides nothing about what it releases, so this package's tests, commands
    and reports are left out; the zoo, whose mechanisms are targets, is not.
    """
    total = hashlib.sha256()
    pending: list[tuple[str, Traversable]] = [(_OWN, resources.files(_OWN))]
    pending += [("mechanisms", resources.files("rdpkit.mechanisms"))]
    pending += [("zoo", resources.files("rdpkit.verification.blackbox.zoo"))]
    files = []
    while pending:
        name, folder = pending.pop()
        for item in folder.iterdir():
            inside = f"{name}/{item.name}"
            if item.is_dir() and item.name not in ("cli", "mechanisms", "verification"):
                pending.append((inside, item))
            elif item.name.endswith(".py"):
                files.append((inside, item))
    for name, item in sorted(files, key=lambda one: one[0]):
        content = item.read_bytes()
        total.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()
