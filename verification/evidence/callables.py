"""What a callable is made of that was handed in: its modules, and the values that it holds.

A function of a module is known by the module's source. A closure, a partial function or an object
holds values besides, which may come from anywhere: a parameter of a test, say. They are walked
through and hashed, so that another value is other code.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pickle
import sys
import types
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np

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
