"""The shape of the code: small rooms, small functions, one meaning for each name."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("rdpkit", "mechanisms", "verification")
SOURCES = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
MOST_MODULES = 20
MOST_LINES = 60
MOST_PARAMETERS = 12
# What a reader sees on opening a layer: modules and folders.
ROOMS = {"rdpkit": 21, "mechanisms": 9, "verification": 10}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def functions(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def lines_of_code(path: Path) -> set[int]:
    """The lines that hold code, without comments and blank lines."""
    no_code = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    with open(path, encoding="utf-8") as file:
        tokens = tokenize.generate_tokens(io.StringIO(file.read()).readline)
        spans = [range(t.start[0], t.end[0] + 1) for t in tokens if t.type not in no_code]
    return {line for span in spans for line in span}


def span(function: Function) -> int:
    """All lines of a function, with its docstring, comments and blank lines."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def length(function: Function, code: set[int]) -> int:
    """Lines of code of a function, without its docstring."""
    document: set[int] = set()
    if ast.get_docstring(function) is not None:
        first = function.body[0]
        document = set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    assert function.end_lineno is not None
    return len((code & set(range(function.lineno, function.end_lineno + 1))) - document)


def parameters(function: Function) -> int:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    bound = bool(named) and named[0].arg in ("self", "cls")
    return len(named) + (given.vararg is not None) + (given.kwarg is not None) - bound


def test_no_folder_has_too_many_modules():
    modules = Counter(path.parent.relative_to(ROOT).as_posix() for path in SOURCES)
    assert {name: count for name, count in modules.items() if count > MOST_MODULES} == {}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_seen_at_a_glance(layer):
    seen = [path.name for path in (ROOT / layer).iterdir() if path.name not in UNSEEN]
    assert len(seen) <= ROOMS[layer], sorted(seen)


UNSEEN = ("__pycache__", "py.typed")


def test_no_function_is_long_or_takes_much(trees):
    found = {}
    for path, tree in trees.items():
        # Tokens are counted only in files where a function spans more lines than it may have.
        spanned = max((span(function) for function in functions(tree)), default=0)
        code = lines_of_code(path) if spanned > MOST_LINES else set()
        for function in functions(tree):
            size, taken = length(function, code), parameters(function)
            if size > MOST_LINES or taken > MOST_PARAMETERS:
                found[f"{path.relative_to(ROOT)}:{function.name}"] = (size, taken)
    assert found == {}


def test_no_class_name_means_two_things(trees):
    places = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_only_commands_import_the_command_line(trees):
    found = []
    for path, tree in trees.items():
        if "cli" in path.parts or path.name == "__main__.py":
            continue
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            found += [f"{path}: {name}" for name in names if name.startswith("rdpkit.cli")]
    assert found == []


def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCES:
        first, *rest = path.relative_to(ROOT).with_suffix("").parts
        names = [*([] if first == "rdpkit" else ["rdpkit"]), first, *rest]
        found[".".join(names[:-1] if names[-1] == "__init__" else names)] = path
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """Modules that are imported at any time, in functions too, but not those for types alone."""
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in for_types:
            yield from (f"{node.module}.{name.name}" for name in node.names)
            yield node.module or ""


def test_no_modules_import_each_other(trees):
    known = modules()
    graph = {
        name: {other for other in imported(trees[path]) if other in known and other != name}
        # A package shows what its modules have, and is imported before each of them.
        - ({other for other in known if name.startswith(f"{other}.")})
        for name, path in known.items()
    }
    while free := {name for name, others in graph.items() if not others}:
        graph = {name: others - free for name, others in graph.items() if name not in free}
    assert {name: sorted(others) for name, others in graph.items()} == {}
