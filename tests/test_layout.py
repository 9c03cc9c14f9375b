"""The shape of the code: small rooms, few parameters, one meaning for each name."""

import ast
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("rdpkit", "mechanisms", "verification")
SOURCES = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
MOST_MODULES = 20
MOST_PARAMETERS = 12
# What a reader sees on opening a layer: modules and folders.
ROOMS = {"rdpkit": 21, "mechanisms": 9, "verification": 11}

BUDGET = tomllib.loads((ROOT / "tests" / "budget.toml").read_text(encoding="utf-8"))
# A budget with more than this unused, as a share of it and in lines, has to be lowered.
MOST_UNUSED, FEW_LINES = 0.02, 20

Function = ast.FunctionDef | ast.AsyncFunctionDef


LOOKED_AT = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.If,
)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """What the tests look at. Such statements are in bodies alone, never in an expression."""
    if isinstance(node, LOOKED_AT):
        yield node
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inside = getattr(node, part, ())
        for child in inside if isinstance(inside, list) else ():
            yield from statements(child)


@pytest.fixture(scope="module")
def trees() -> dict[Path, list[ast.AST]]:
    """The statements of every file."""
    return {path: list(statements(ast.parse(path.read_text(encoding="utf-8")))) for path in SOURCES}


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


def lines_of_rooms(layer: str) -> Counter[str]:
    """Lines of the folders of a layer, and of the modules that lie in the layer itself."""
    found: Counter[str] = Counter()
    for path in (ROOT / layer).rglob("*.py"):
        room, *inner = path.relative_to(ROOT / layer).parts
        found[room if inner else "modules"] += len(path.read_bytes().splitlines())
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_rooms_keep_to_their_budget_of_lines(layer):
    lines, budget = lines_of_rooms(layer), BUDGET[layer]
    assert lines.keys() == budget.keys()
    exceeded = {room: count for room, count in lines.items() if count > budget[room]}
    assert not exceeded, f"more lines than tests/budget.toml allows: {exceeded}"
    unused = {
        room: count
        for room, count in lines.items()
        if budget[room] - count > max(MOST_UNUSED * budget[room], FEW_LINES)
    }
    assert not unused, f"lower the numbers in tests/budget.toml to about these: {unused}"


def test_no_function_takes_much(trees):
    found = {
        f"{path.relative_to(ROOT)}:{function.name}": parameters(function)
        for path, nodes in trees.items()
        for function in nodes
        if isinstance(function, Function) and parameters(function) > MOST_PARAMETERS
    }
    assert found == {}


def test_no_class_name_means_two_things(trees):
    places = defaultdict(list)
    for path, nodes in trees.items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_only_commands_import_the_command_line(trees):
    found = []
    for path, nodes in trees.items():
        if "cli" in path.parts or path.name == "__main__.py":
            continue
        for node in nodes:
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


def imported(nodes: list[ast.AST]) -> Iterator[str]:
    """Modules that are imported at any time, in functions too, but not those for types alone."""
    for_types = {
        inner
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in nodes:
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


def test_every_statement_is_looked_at(trees):
    seen = 0
    for path in SOURCES[::20]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        everything = [node for node in ast.walk(tree) if isinstance(node, LOOKED_AT)]
        assert len(trees[path]) == len(everything), path
        seen += len(everything)
    assert seen > 100
