"""Pickles of dictionaries, lists, bytes and arrays, read as data: nothing in a file is ever called.

CIFAR-10's Python version is a pickle. Its instructions are listed by :mod:`pickletools`, which
executes none of them, and the few that describe plain data are followed here. Whatever names a
class or a function other than numpy's array and dtype is an error.
"""

from __future__ import annotations

import math
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CONSTRUCTORS = {
    "numpy.core.multiarray _reconstruct": "array",
    "numpy._core.multiarray _reconstruct": "array",
    "numpy ndarray": "ndarray",
    "numpy dtype": "dtype",
    "_codecs encode": "encode",
}
_ITEM_TYPES = ("u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8")
# fmt: off
_PLAIN = (
    "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "INT", "LONG", "BINFLOAT", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
)
# fmt: on
_OLD_STRINGS = ("BINSTRING", "SHORT_BINSTRING")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_MARK = object()


class _Name:
    """The name of something that the file wants called; it never is."""

    def __init__(self, what: str) -> None:
        self.what = what


class _Dtype:
    """A dtype as far as the file has described it."""

    def __init__(self, code: str) -> None:
        self.code, self.order = code, "|"


class _ArrayInProgress:
    """An array whose state comes later in the file."""

    def __init__(self) -> None:
        self.value: NDArray[Any] | None = None


def read_pickled_arrays(path: str | Path) -> Any:
    """Read dictionaries, lists, tuples, numbers, strings, bytes and numeric arrays from a pickle.

    Parameters
    ----------
    path : str or Path
        A pickle of protocol 1 to 4, also one that Python 2 wrote: its strings become bytes.

    Returns
    -------
    object
        What the file holds.

    Raises
    ------
    ValueError
        If the file is truncated or corrupted, or holds anything else; nothing of it was executed.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    machine = _Machine()
    try:
        for instruction, argument, _ in pickletools.genops(path.read_bytes()):
            machine.follow(instruction.name, argument)
        return _finished(machine.result())
    except _RefusedError as error:
        raise ValueError(f"{path}: {error}") from None
    except (ValueError, IndexError, KeyError, TypeError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: the file is truncated or corrupted ({error}).") from None


class _RefusedError(Exception):
    """The file asks for something that plain data does not need."""


class _Machine:
    """The stack and the memory of a pickle, for those instructions that describe plain data."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}
        self.stopped = False

    def result(self) -> Any:
        """What is left when the file says stop."""
        if not self.stopped or len(self.stack) != 1:
            raise ValueError("it ends before its last instruction")
        return self.stack[0]

    def since_mark(self) -> list[Any]:
        """Everything above the last mark."""
        items: list[Any] = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    def follow(self, name: str, argument: Any) -> None:
        """Follow one instruction, or refuse."""
        stack = self.stack
        if name in ("PROTO", "FRAME"):
            return
        if name == "STOP":
            self.stopped = True
        elif name in _PLAIN:
            stack.append(argument)
        elif name in _OLD_STRINGS:
            stack.append(argument.encode("latin-1") if isinstance(argument, str) else argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memory[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            self.memory[len(self.memory)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memory[int(argument)])
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            stack.append(self._name(name, argument))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(_described(function, arguments))
        elif name == "BUILD":
            state = stack.pop()
            _complete(stack[-1], state)
        else:
            self._collect(name)

    def _name(self, instruction: str, argument: Any) -> _Name:
        if instruction == "STACK_GLOBAL":
            function, module = self.stack.pop(), self.stack.pop()
            argument = f"{module} {function}"
        if argument not in _CONSTRUCTORS:
            raise _RefusedError(
                "refused: the pickle names "
                f"{str(argument).replace(' ', '.')!r}; only numpy arrays, bytes, dictionaries and "
                "lists are read."
            )
        return _Name(_CONSTRUCTORS[argument])

    def _collect(self, name: str) -> None:
        stack = self.stack
        if name in ("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE"):
            stack.append({"EMPTY_DICT": {}, "EMPTY_LIST": [], "EMPTY_TUPLE": ()}[name])
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            if len(stack) < count:
                raise ValueError("a tuple lacks its items")
            stack[-count:] = [tuple(stack[-count:])]
        elif name in ("TUPLE", "LIST"):
            items = self.since_mark()
            stack.append(tuple(items) if name == "TUPLE" else items)
        elif name in ("DICT", "SETITEMS"):
            items = self.since_mark()
            if name == "DICT":
                stack.append({})
            _container(stack[-1], dict).update(zip(items[::2], items[1::2], strict=True))
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            _container(stack[-1], dict)[key] = value
        elif name == "APPENDS":
            items = self.since_mark()
            _container(stack[-1], list).extend(items)
        elif name == "APPEND":
            value = stack.pop()
            _container(stack[-1], list).append(value)
        else:
            raise _RefusedError(
                f"refused: the pickle has the instruction {name}; only numpy arrays, bytes, "
                "dictionaries and lists are read."
            )


def _container(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"a {kind.__name__} was expected")
    return value


def _described(function: Any, arguments: Any) -> Any:
    """What a call would have made, made here from its description."""
    if not isinstance(function, _Name) or not isinstance(arguments, tuple):
        raise _RefusedError("refused: the pickle calls something that it does not name.")
    if function.what == "array":
        return _ArrayInProgress()
    if function.what == "encode" and arguments[1:] == ("latin1",):
        return str(arguments[0]).encode("latin-1")
    if function.what == "dtype":
        code = arguments[0].decode() if isinstance(arguments[0], bytes) else arguments[0]
        if code not in _ITEM_TYPES:
            raise _RefusedError(f"refused: an array of {code!r}; only numbers are read.")
        return _Dtype(code)
    raise _RefusedError(f"refused: the pickle calls {function.what!r} in an unknown way.")


def _complete(target: Any, state: Any) -> None:
    """Give an array or a dtype the state that the file has for it."""
    if isinstance(target, _Dtype):
        order = state[1].decode() if isinstance(state[1], bytes) else state[1]
        if order not in ("|", "<", ">", "="):
            raise ValueError("an unknown byte order")
        target.order = order
    elif isinstance(target, _ArrayInProgress):
        _, shape, kind, fortran, content = state
        if not isinstance(kind, _Dtype) or not isinstance(content, bytes):
            raise ValueError("an array without its type or its bytes")
        if not all(isinstance(n, int) and n >= 0 for n in shape):
            raise ValueError("an array of no possible shape")
        item = np.dtype(kind.code if kind.order == "|" else kind.order + kind.code)
        if math.prod(shape) * item.itemsize != len(content):
            raise ValueError(f"an array of shape {shape} has {len(content)} bytes")
        target.value = np.frombuffer(content, item).reshape(shape, order="F" if fortran else "C")
    else:
        raise _RefusedError("refused: the pickle sets the state of something that is no array.")


def _finished(value: Any) -> Any:
    """The value with every array in its place."""
    if isinstance(value, _ArrayInProgress):
        if value.value is None:
            raise ValueError("an array without content")
        return value.value
    if isinstance(value, (_Name, _Dtype)):
        raise _RefusedError("refused: the pickle holds a name where data were expected.")
    if isinstance(value, dict):
        return {_finished(k): _finished(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_finished(item) for item in value)
    return value
