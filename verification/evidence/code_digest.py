"""A digest of the code that a test runs: it changes whenever the code might behave differently.

Nothing is executed for it. The target's module was imported when the target was looked up; what it
imports from files of the project is found by reading its source, and the source of that, and so on.
A function of a module is known by the module's source. A closure, a partial function or an object
that was handed in holds values besides, which may come from anywhere: a parameter of a test, say.
They are walked through and hashed, so that another value is other code.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import os
import pickle
import platform
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from rdpkit.verification.blackbox.targets import TargetReference

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), PurePath)
_UNBOUND = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CallableContents:
    """What a callable is made of."""

    modules: frozenset[str]  # The modules whose functions and classes it uses
    digest: str  # Of the names and values that it holds, in hexadecimal digits


def contents_of(function: Callable[..., Any]) -> CallableContents:
    """The modules of a callable, and a digest of the values that it holds.

    The digest covers, at any depth: names of functions and classes, closures, defaults, arguments
    of partial functions, attributes of objects, containers and arrays. It is the same in another
    process. What is no function, class or container of these is pickled.

    Assumes
    -------
    Objects are what their attributes say, or what their pickles say if they have none.
    """
    walk = _Walk()
    try:
        walk.add(function, "the callable")
    except RecursionError:
        raise ValueError(
            f"Expected code that can be recognised in the next run, for evidence, got "
            f"{function!r:.80}, whose values are nested too deeply to be walked through."
        ) from None
    return CallableContents(modules=frozenset(walk.modules), digest=walk.total.hexdigest()[:32])


class _Walk:
    """A walk through the values that a callable holds."""

    def __init__(self) -> None:
        self.total = hashlib.sha256()
        self.modules: set[str] = set()
        # By their addresses, with the values themselves, so that no address is used twice.
        self._seen: dict[int, tuple[int, Any]] = {}

    def add(self, value: Any, where: str) -> None:
        """Add a value; an error says where it was found."""
        if isinstance(value, Enum):
            self._note("member", value.name)
            self.add(type(value), where)
        elif isinstance(value, _PLAIN):
            self._note(type(value).__name__, repr(value))
        elif id(value) in self._seen:
            self._note("again", str(self._seen[id(value)][0]))
        else:
            self._seen[id(value)] = (len(self._seen), value)
            self._add_new(value, where)

    def _add_new(self, value: Any, where: str) -> None:
        if isinstance(value, types.ModuleType):
            self._note("module", value.__name__)
            self.modules.add(value.__name__)
        elif isinstance(value, type):
            self._named("class", value)
        elif isinstance(value, types.FunctionType):
            self._function(value, where)
        elif isinstance(value, types.MethodType):
            self._note("method", value.__name__)
            self.add(value.__self__, where)
            self.add(value.__func__, where)
        elif isinstance(value, _UNBOUND):
            self._note("builtin", value.__qualname__)
            self.add(getattr(value, "__self__", None), where)
        elif isinstance(value, functools.partial):
            self._note("partial", "")
            self._several([value.func, value.args, value.keywords], where)
        elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
            self._note("array", f"{value.dtype.str} {value.shape}")
            self.total.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, list | tuple):
            self._named("sequence", type(value))
            self._note("length", str(len(value)))
            self._several(value, where)
        elif isinstance(value, dict | types.MappingProxyType):
            self._named("dict", type(value))
            self._mapping(value, where)
        elif isinstance(value, set | frozenset):
            self._note("set", " ".join(sorted(self._apart(one, where) for one in value)))
        else:
            self._object(value, where)

    def _function(self, value: types.FunctionType, where: str) -> None:
        self._named("function", value)
        if not hasattr(sys.modules.get(value.__module__), "__file__"):
            # Nothing but its bytes says what it does.
            self._code(value.__code__)
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:  # a name that was never given a value
                content = None
            self.add(content, f"{name!r}, which {value.__qualname__} uses")
        self._several([value.__defaults__, value.__kwdefaults__, value.__dict__], where)

    def _code(self, code: types.CodeType) -> None:
        self._note("code", f"{code.co_code.hex()} {code.co_names} {code.co_varnames}")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            else:
                self.add(constant, "a constant")

    def _object(self, value: Any, where: str) -> None:
        """Anything else: its class, and its attributes or its pickle."""
        self._named("object", type(value))
        names = [
            name for kind in type(value).__mro__ for name in _slots_of(kind) if hasattr(value, name)
        ]
        state = {**{name: getattr(value, name) for name in names}, **getattr(value, "__dict__", {})}
        if state:
            self._mapping(state, where)
            return
        try:
            self.total.update(pickle.dumps(value, protocol=4))
        except Exception as error:
            raise ValueError(
                f"Expected code that can be recognised in the next run, for evidence, got {where}: "
                f"{value!r:.80} holds what cannot be pickled ({type(error).__name__}: {error}). "
                "Make it inside of the function that is tested."
            ) from None

    def _apart(self, value: Any, where: str) -> str:
        """The digest of a value by itself: a set has no order."""
        walk = _Walk()
        walk.add(value, where)
        self.modules |= walk.modules
        return walk.total.hexdigest()

    def _mapping(self, value: Mapping[Any, Any], where: str) -> None:
        self._note("mapping", str(len(value)))
        for key, one in value.items():
            self.add(key, where)
            self.add(one, f"{key!r} of {where}")

    def _several(self, values: Any, where: str) -> None:
        for one in values:
            self.add(one, where)

    def _named(self, kind: str, value: Any) -> None:
        module = getattr(value, "__module__", None) or ""
        self._note(kind, f"{module}.{value.__qualname__}")
        if module:
            self.modules.add(module)

    def _note(self, kind: str, text: str) -> None:
        content = text.encode(errors="surrogatepass")
        self.total.update(f"{kind} {len(content)} ".encode() + content + b"\n")


def _slots_of(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


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
    that it holds (:func:`rdpkit.verification.evidence.code_digest.contents_of`).

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
