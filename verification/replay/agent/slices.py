"""What a line is computed from: the lines that assign the names that it reads.

A difference is named where it shows. The mistake is often a line or two before: where a bound, a
scale or a part of a budget was assigned. This is one step of a backward slice of the source.
"""

from __future__ import annotations

import ast
import functools
import linecache
from typing import Any, Dict, List, Optional, Set, Tuple

from .tape import Place

_DEEPEST = 2
# What tells how many records an index takes.
_COUNTS = ("len", "sum", "size", "any", "numel", "shape")
# What is given a seed, and draws what is seen.
_SEEDED = ("default_rng", "manual_seed", "seed", "RandomState", "PCG64", "Random")
# Methods that change what they belong to.
_CHANGES = ("append", "extend", "add", "insert", "update", "setdefault")
# Methods that draw places.
_PLACES = ("choice", "permutation", "randperm", "bernoulli")


@functools.lru_cache(maxsize=None)
def assigned_before(file: str, line: int, depth: int = _DEEPEST) -> List[Place]:
    """The lines of the same function that assign what a line reads, the nearest first.

    A name of a function of the same file stands for the line that it returns at, and an attribute
    of the object itself for where its class sets it.
    """
    found: List[Place] = []
    wanted: Set[int] = {line}
    seen: Set[int] = set()
    for _ in range(depth):
        more: Set[int] = set()
        for one in sorted(wanted):
            names, statements = _function_at(file, one)
            for name in _read_at(statements, one):
                before = [at for at in names.get(name, []) if at < one]
                before = before or _returns_of(file, name)
                if before and max(before) not in seen:
                    more.add(max(before))
        seen |= more
        found += [Place(file, one) for one in sorted(more, reverse=True)]
        wanted = more
    return found


@functools.lru_cache(maxsize=None)
def given_for(caller: Place, callee: Place, words: Tuple[str, ...]) -> List[Place]:
    """The lines that assign what a caller gives for parameters with one of these words."""
    function = _around(callee.file, callee.line)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return []
    parameters = [one.arg for one in function.args.args]
    parameters = parameters[1:] if parameters[:1] in (["self"], ["cls"]) else parameters
    names, statements = _function_at(caller.file, caller.line)
    found: Set[int] = set()
    for node in (node for one in statements for node in _all(ast.Call, one)):
        if not _is_at(node, caller.line) or function.name not in (_called(node), "__init__"):
            continue
        given = [
            *zip(parameters, node.args),
            *((one.arg or "", one.value) for one in node.keywords),
        ]
        for name in (
            one.id
            for parameter, value in given
            if any(word in parameter for word in words)
            for one in _all(ast.Name, value)
        ):
            before = [at for at in names.get(name, []) if at < caller.line]
            found.update([max(before)] if before else [])
    return [Place(caller.file, one) for one in sorted(found)]


@functools.lru_cache(maxsize=None)
def lines_that_set(file: str, name: str) -> Set[int]:
    """The lines that set an attribute, a key or a keyword of this name."""
    found: Set[int] = set()
    for node in ast.walk(_tree(file)):
        keys: List[Any] = node.keys if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys = [node.slice]
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.update([node.lineno] if node.attr == name else [])
        if isinstance(node, ast.keyword) and node.arg == name:
            found.add(node.lineno)
        found.update(one.lineno for one in keys if getattr(one, "value", None) == name)
    return found


@functools.lru_cache(maxsize=None)
def statement_at(file: str, line: int) -> Tuple[str, int]:
    """The statement that has a line, by its file and the line at which it begins."""
    _, statements = _function_at(file, line)
    begins = [one.lineno for one in statements if _is_at(one, line)]
    return file, max(begins, default=line)


@functools.lru_cache(maxsize=None)
def changed_at(file: str, line: int) -> List[Tuple[str, str]]:
    """What a line changes that keeps its name: parts of a variable, and attributes, by both names.

    The second name is empty for a variable itself.
    """
    return _changes_of(file).get(line, [])


@functools.lru_cache(maxsize=None)
def _changes_of(file: str) -> Dict[int, List[Tuple[str, str]]]:
    found: Dict[int, List[Tuple[str, str]]] = {}
    for node in ast.walk(_tree(file)):
        held: Optional[ast.AST] = _changed_by(node)
        attribute = ""
        if isinstance(node, ast.AugAssign):
            held = node.target
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            held, attribute = node.value, node.attr
        if isinstance(held, ast.Name):
            found.setdefault(held.lineno, []).append((held.id, attribute))
    return found


@functools.lru_cache(maxsize=None)
def line_of_argument(file: str, line: int, name: str) -> int:
    """The line of an argument of the call at a line, or of the variable that is given for it."""
    given = [
        argument.value
        for node in _all(ast.Call, _tree(file))
        if _is_at(node, line)
        for argument in node.keywords
        if argument.arg == name
    ]
    if not given:
        return line
    value = given[-1]
    lines: List[int] = [
        node.lineno
        for node in _all(ast.Assign, _around(file, line))
        if node.lineno <= line
        for one in node.targets
        if isinstance(one, ast.Name) and isinstance(value, ast.Name) and one.id == value.id
    ]
    return max(lines, default=int(value.lineno))


def _all(kind: Any, root: Any) -> List[Any]:
    """All nodes of a kind, or of several, in a tree."""
    return [node for node in ast.walk(root) if isinstance(node, kind)]


def _is_at(node: Any, line: int) -> bool:
    return bool(node.lineno <= line <= (node.end_lineno or 0))


def _called(node: ast.Call) -> str:
    """The name of what is called."""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


@functools.lru_cache(maxsize=None)
def _returns_of(file: str, name: str) -> List[int]:
    named = [node for node in _all(ast.FunctionDef, _tree(file)) if node.name == name]
    return [one.lineno for node in named for one in _all(ast.Return, node)]


@functools.lru_cache(maxsize=None)
def _tree(file: str) -> Any:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.parse("")


@functools.lru_cache(maxsize=None)
def _function_at(file: str, line: int) -> Any:
    """Where every name of the innermost function at a line is assigned, and its statements."""
    assigned: Dict[str, List[int]] = {}
    statements = []
    for node in ast.walk(_around(file, line)):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            statements.append(node)
        held = _changed_by(node)
        if held is not None:
            assigned.setdefault(held.id, []).append(held.lineno)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.setdefault(node.id, []).append(node.lineno)
        if isinstance(node, ast.Assign) and node.value.lineno != node.lineno:
            # Names on several lines, which are computed on the last one.
            for one in (one for part in node.targets for one in _all(ast.Name, part)):
                assigned.setdefault(one.id, []).append(node.value.lineno)
    for kind in _all(ast.ClassDef, _tree(file)):
        for one in _all(ast.Attribute, kind) if _is_at(kind, line) else ():
            name = _own_attribute(one, ast.Store)
            if name:
                assigned.setdefault(name, []).append(one.lineno)
    return assigned, statements


def _own_attribute(node: Any, context: type) -> str:
    """``self.name``, where a node reads it, or sets it; empty for any other node."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, context):
        return ""
    return "self." + node.attr if getattr(node.value, "id", "") == "self" else ""


def _changed_by(node: Any) -> Optional[ast.Name]:
    """The name of what a node changes: ``found`` of ``found[0] = one`` or ``found.append(one)``."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.value if isinstance(node.value, ast.Name) else None
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _CHANGES:
        changed = getattr(node.func, "value", None)
        return changed if isinstance(changed, ast.Name) else None
    return None


def _around(file: str, line: int) -> Any:
    """The innermost function at a line, or the file."""
    functions = _all((ast.FunctionDef, ast.AsyncFunctionDef), _tree(file))
    return [_tree(file), *(one for one in functions if _is_at(one, line))][-1]


def _read_at(statements: List[Any], line: int) -> Set[str]:
    nodes = [node for one in statements if _is_at(one, line) for node in ast.walk(one)]
    names = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    return names | ({_own_attribute(one, ast.Load) for one in nodes} - {""})


@functools.lru_cache(maxsize=None)
def picks_records(file: str, line: int, many: bool) -> bool:
    """Whether what a line draws only chooses records: it is an index, or decides what is listed.

    Such a draw hides no value, so that with the same draw again nothing else may differ. ``many``
    is whether it draws an array, such as a mask or the places of records.
    """
    nodes = list(ast.walk(_around(file, line)))
    if any(isinstance(node, ast.comprehension) and _lists(node, line) for node in nodes):
        return True
    for node in nodes if many else ():
        if isinstance(node, ast.Subscript) and _chooses(node.slice, line):
            return isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Assign) and _chooses(node.value, line):
            names = [one.id for one in node.targets if isinstance(one, ast.Name)]
            return len(names) == len(node.targets) == 1 and _is_index(names[0], nodes)
    return False


@functools.lru_cache(maxsize=None)
def makes_seed(file: str, line: int) -> bool:
    """Whether what a line draws is the seed of a generator whose draws are seen themselves."""
    root = _around(file, line)
    made = [node for node in _all(ast.Call, root) if _called(node) in _SEEDED]
    seeds = {one for node in made for given in node.args for one in ast.walk(given)}
    if any(isinstance(one, ast.Call) and one.lineno == line for one in seeds):
        return True
    assigned = [node for node in _all(ast.Assign, root) if node.lineno == line]
    targets = [one for node in assigned for one in node.targets]
    names = {one.id for one in targets if isinstance(one, ast.Name)}
    reads = {
        one for one in _all(ast.Name, root) if one.id in names and isinstance(one.ctx, ast.Load)
    }
    return bool(reads) and reads <= seeds


def _lists(node: ast.comprehension, line: int) -> bool:
    """Whether a draw at a line decides what is listed, whatever that is."""
    own = {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
    return any(
        _chooses(test, line)
        and not any(isinstance(one, ast.Name) and one.id in own for one in ast.walk(test))
        for test in node.ifs
    )


def _chooses(node: ast.expr, line: int) -> bool:
    """Whether an expression is a comparison with a draw at a line, or a draw of places."""
    inside = list(ast.walk(node))
    drawn = any(isinstance(one, ast.Call) and one.lineno == line for one in inside)
    return drawn and any(
        isinstance(one, ast.Compare) or getattr(one, "attr", "") in _PLACES for one in inside
    )


def _is_index(name: str, nodes: List[Any]) -> bool:
    """Whether a name is read only as an index of what is read itself, or to be counted.

    The same is asked of the name of a loop over it.
    """
    reads, indices, counts, loops = set(), set(), set(), {}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            reads.add(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            indices.add(node.slice)
        elif isinstance(node, ast.Attribute) and node.attr in _COUNTS:
            counts.add(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _COUNTS:
            counts.update(node.args)
        elif isinstance(node, (ast.comprehension, ast.For)) and isinstance(node.target, ast.Name):
            loops[node.iter] = node.target.id
    over = {one for one in reads & set(loops) if loops[one] != name}
    return (
        bool(reads & indices or over)
        and reads <= indices | counts | over
        and all(_is_index(loops[one], nodes) for one in over)
    )
