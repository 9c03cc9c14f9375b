"""What a line is computed from: the lines that assign the names that it reads.

A difference is named where it shows. The mistake is often a line or two before: where a bound, a
scale or a part of a budget was assigned. This is one step of a backward slice of the source.
"""

from __future__ import annotations

import ast
import functools
import linecache
from typing import Any, Dict, List, Set

from .tape import Place

_DEEPEST = 2


@functools.lru_cache(maxsize=None)
def assigned_before(file: str, line: int, depth: int = _DEEPEST) -> List[Place]:
    """The lines of the same function that assign what a line reads, the nearest first.

    A name of a function of the same file stands for the line that it returns at.
    """
    found: List[Place] = []
    names, statements = _function_at(file, line)
    wanted: Set[int] = {line}
    seen: Set[int] = set()
    for _ in range(depth):
        more: Set[int] = set()
        for one in sorted(wanted):
            for name in _read_at(statements, one):
                before = [at for at in names.get(name, []) if at < one]
                before = before or _returns_of(file, name)
                if before and max(before) not in seen:
                    more.add(max(before))
        seen |= more
        found += [Place(file, one, "") for one in sorted(more, reverse=True)]
        wanted = more
    return found


def shown(place: Place) -> str:
    """A line with its text."""
    return "%s:%d  %s" % (place.file, place.line, place.code())


@functools.lru_cache(maxsize=None)
def _returns_of(file: str, name: str) -> List[int]:
    return [
        inner.lineno
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.FunctionDef) and node.name == name
        for inner in ast.walk(node)
        if isinstance(inner, ast.Return)
    ]


@functools.lru_cache(maxsize=None)
def _tree(file: str) -> Any:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.parse("")


@functools.lru_cache(maxsize=None)
def _function_at(file: str, line: int) -> Any:
    """Where every name of the innermost function at a line is assigned, and its statements."""
    tree = _tree(file)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.lineno <= line <= (node.end_lineno or 0)
    ]
    assigned: Dict[str, List[int]] = {}
    statements = []
    for node in ast.walk(around[-1] if around else tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            statements.append(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.setdefault(node.id, []).append(node.lineno)
    return assigned, statements


def _read_at(statements: List[Any], line: int) -> Set[str]:
    return {
        node.id
        for one in statements
        if one.lineno <= line <= (one.end_lineno or one.lineno)
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
