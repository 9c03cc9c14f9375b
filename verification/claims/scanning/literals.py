"""What names and expressions stand for, where the code says so in numbers; nothing is run."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

Plain = float | int | str | bool | None
_LARGEST = 10**18
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that stands in the code."""

    value: Plain
    origin: str = ""
    """Where it comes from, if it does not stand in the call: "the default of --sigma"."""


class Values:
    """The literals that names of a file stand for.

    A name that is given two different values stands for none. Scopes are not told apart, so that
    a value is a proposal that somebody has to confirm.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._known: dict[str, list[tuple[ast.expr, str]]] = {}
        for node in ast.walk(tree):
            for name, expression, origin in _assigned(node):
                self._known.setdefault(name, []).append((expression, origin))

    def of(self, node: ast.expr | None, depth: int = 0) -> Literal | None:
        """What an expression stands for; None if the file does not say."""
        if node is None or depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return _plain(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self.of(node.operand, depth + 1)
            number = _number(inner)
            if inner is None or number is None:
                return None
            return Literal(-number if isinstance(node.op, ast.USub) else number, inner.origin)
        if isinstance(node, ast.BinOp):
            return self._operation(node, depth)
        if isinstance(node, ast.Call) and dotted_name(node.func) in ("int", "float"):
            return self._converted(node, depth)
        name = dotted_name(node)
        return None if name is None else self._named(name, depth)

    def values_of(self, names: tuple[str, ...]) -> Literal | None:
        """The one value of whichever of some names the file uses."""
        found = [self._named(name, 0) for name in self._known if _last(name).lower() in names]
        known = {one.value: one for one in found if one is not None}
        return next(iter(known.values())) if len(known) == 1 else None

    def _named(self, name: str, depth: int) -> Literal | None:
        every = []
        for expression, origin in self._known.get(name, ()):
            found = self.of(expression, depth + 1)
            if found is None:
                return None
            every.append(Literal(found.value, origin or found.origin or name))
        return every[0] if every and len({one.value for one in every}) == 1 else None

    def _operation(self, node: ast.BinOp, depth: int) -> Literal | None:
        left, right = self.of(node.left, depth + 1), self.of(node.right, depth + 1)
        a, b = _number(left), _number(right)
        if a is None or b is None or left is None or right is None:
            return None
        found = _computed(node.op, a, b)
        if found is None or not math.isfinite(found) or abs(found) > _LARGEST:
            return None
        origin = " and ".join(dict.fromkeys(one for one in (left.origin, right.origin) if one))
        return Literal(found, origin)

    def _converted(self, node: ast.Call, depth: int) -> Literal | None:
        inner = self.of(node.args[0], depth + 1) if len(node.args) == 1 else None
        number = _number(inner)
        if inner is None or number is None:
            return None
        kind = int if dotted_name(node.func) == "int" else float
        return Literal(kind(number), inner.origin)


def _computed(operator: ast.operator, a: float, b: float) -> float | None:
    try:
        match operator:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.Div():
                return a / b
            case ast.FloorDiv():
                return a // b
            case ast.Pow() if abs(a) <= 1e6 and abs(b) <= 64:
                found = a**b
                return found if isinstance(found, int | float) else None
    except (ArithmeticError, ValueError):
        return None
    return None


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    """The names that a piece of code gives a value, with the value and where it comes from."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node.value)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from _targets(node.target, node.value)
    elif isinstance(node, ast.AugAssign):
        name = dotted_name(node.target)
        if name:
            # What it becomes is not known; an expression of no value says so.
            yield name, ast.Tuple(elts=[], ctx=ast.Load()), ""
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _defaults(node.args)
    elif isinstance(node, ast.Call):
        yield from _options(node)


def _targets(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr, str]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=False):
            yield from _targets(one, its)
        return
    name = dotted_name(target)
    if name is None:
        return
    yield name, value, ""
    if isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield f"{name}[{key.value!r}]", item, ""


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr, str]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    start = len(positional) - len(arguments.defaults)
    for argument, default in zip(positional[start:], arguments.defaults, strict=True):
        yield argument.arg, default, f"the default of the parameter {argument.arg}"
    for argument, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if given is not None:
            yield argument.arg, given, f"the default of the parameter {argument.arg}"


def _options(call: ast.Call) -> Iterator[tuple[str, ast.expr, str]]:
    """The options of argparse, click and absl, which have defaults."""
    function = _last(dotted_name(call.func) or "")
    default = next((one.value for one in call.keywords if one.arg == "default"), None)
    names = [
        one.value
        for one in call.args
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    if function.startswith("DEFINE_") and names and len(call.args) > 1:
        yield f"FLAGS.{names[0]}", call.args[1], f"the default of --{names[0]}"
    elif function in ("add_argument", "option") and default is not None:
        for flag in names:
            if flag.startswith("--"):
                name = flag.lstrip("-").replace("-", "_")
                for owner in ("args.", "opt.", "opts.", "options.", "hparams.", "config.", ""):
                    yield f"{owner}{name}", default, f"the default of {flag}"


def dotted_name(node: ast.expr) -> str | None:
    """A name with dots, or an entry of a dictionary: ``args.sigma``, ``CONFIG['SIGMA']``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted_name(node.value)
        return None if inner is None else f"{inner}.{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        inner = dotted_name(node.value)
        return None if inner is None else f"{inner}[{node.slice.value!r}]"
    return None


def _last(name: str) -> str:
    return name.rpartition(".")[2].rpartition("[")[2].strip("[]'\"")


def _number(literal: Literal | None) -> float | int | None:
    if literal is None or isinstance(literal.value, bool):
        return None
    return literal.value if isinstance(literal.value, int | float) else None


def _plain(value: object) -> Literal | None:
    """A constant of the code; None if it is none that a claim could hold."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return None
    return Literal(value) if value is None or isinstance(value, float | int | str | bool) else None
