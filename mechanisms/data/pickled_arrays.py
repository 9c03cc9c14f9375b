"""A reader of pickles of dictionaries, lists, bytes and arrays that never calls anything.

CIFAR-10's Python version is a pickle. Its instructions are listed by :mod:`pickletools`, which
executes none of them, and the few that describe plain data are followed here. A name of a class or
function other than numpy's array and dtype is an error.

A short file can describe much, because a pickle may refer to one object any number of times. So
the depth, the number of instructions and the number of items are limited, shared objects stay
shared, and only strings, bytes and integers are keys.
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
# A published file of CIFAR-10 has 31 million bytes, 60,000 instructions and 20,000 items.
_LARGEST_FILE = 1 << 30
_MOST_INSTRUCTIONS = 500_000
_MOST_ITEMS = 1_000_000
_DEEPEST = 50
_MOST_AXES = 32


class _Name:
    """The name of a function that the file wants to be called. It is never called."""

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
        If the file is truncated or corrupted, holds anything else, or describes more than the
        limits of this module allow; nothing of it was executed.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    if path.stat().st_size > _LARGEST_FILE:
        raise ValueError(f"{path}: refused: the file has more than {_LARGEST_FILE} bytes.")
    content = path.read_bytes()
    machine = _Machine(len(content))
    try:
        for number, (instruction, argument, _) in enumerate(pickletools.genops(content)):
            if number >= _MOST_INSTRUCTIONS:
                raise _RefusedError(
                    f"refused: the pickle has more than {_MOST_INSTRUCTIONS} instructions."
                )
            machine.follow(instruction.name, argument)
        return _Finisher().finish(machine.result())
    except _RefusedError as error:
        raise ValueError(f"{path}: {error}") from None
    except (ValueError, IndexError, KeyError, TypeError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: the file is truncated or corrupted ({error}).") from None


class _RefusedError(Exception):
    """The file asks for something that plain data does not need."""


class _Machine:
    """The stack and the memory of a pickle, for those instructions that describe plain data.

    Parameters
    ----------
    size : int
        Bytes of the file. Strings that are encoded may not have more bytes together.
    """

    def __init__(self, size: int) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}
        self.stopped = False
        self.encodable = size

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
            made = _described(function, arguments)
            if isinstance(made, bytes):
                self.encodable -= len(made)
                if self.encodable < 0:
                    raise _RefusedError("refused: the pickle encodes one string again and again.")
            stack.append(made)
        elif name == "BUILD":
            state = stack.pop()
            _complete(stack[-1], state)
        else:
            self._collect(name)

    def _name(self, instruction: str, argument: Any) -> _Name:
        if instruction == "STACK_GLOBAL":
            function, module = self.stack.pop(), self.stack.pop()
            if not isinstance(function, str) or not isinstance(module, str):
                raise ValueError("a name is no string")
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
            pairs = zip(map(_key, items[::2]), items[1::2], strict=True)
            _container(stack[-1], dict).update(pairs)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            _container(stack[-1], dict)[_key(key)] = value
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


def _key(value: Any) -> Any:
    # A nested tuple may take exponential time to hash, or more stack than there is.
    if not isinstance(value, (str, bytes, int)):
        raise _RefusedError("refused: the pickle has a key that is no string, bytes or integer.")
    return value


def _described(function: Any, arguments: Any) -> Any:
    """The result that a call would have had, made from the description of the call."""
    if not isinstance(function, _Name) or not isinstance(arguments, tuple):
        raise _RefusedError("refused: the pickle calls something that it does not name.")
    if function.what == "array":
        return _ArrayInProgress()
    first = arguments[0] if arguments else None
    if function.what == "encode" and isinstance(first, str) and arguments[1:] == ("latin1",):
        return first.encode("latin-1")
    if function.what == "dtype" and isinstance(first, (str, bytes)):
        code = first.decode() if isinstance(first, bytes) else first
        if code not in _ITEM_TYPES:
            raise _RefusedError(f"refused: an array of {code[:80]!r}; only numbers are read.")
        return _Dtype(code)
    raise _RefusedError(f"refused: the pickle calls {function.what!r} in an unknown way.")


def _complete(target: Any, state: Any) -> None:
    """Set the state of an array or a dtype to what the file says."""
    if isinstance(target, _Dtype):
        order = state[1].decode() if isinstance(state[1], bytes) else state[1]
        if order not in ("|", "<", ">", "="):
            raise ValueError("an unknown byte order")
        target.order = order
    elif isinstance(target, _ArrayInProgress):
        _, shape, kind, fortran, content = state
        if not isinstance(kind, _Dtype) or not isinstance(content, bytes):
            raise ValueError("an array without its type or its bytes")
        if (
            not isinstance(shape, tuple)
            or len(shape) > _MOST_AXES
            or not all(isinstance(n, int) and 0 <= n < _LARGEST_FILE for n in shape)
        ):
            raise ValueError("an array of no possible shape")
        item = np.dtype(kind.code if kind.order == "|" else kind.order + kind.code)
        if math.prod(shape) * item.itemsize != len(content):
            raise ValueError(f"an array of shape {shape} has {len(content)} bytes")
        target.value = np.frombuffer(content, item).reshape(shape, order="F" if fortran else "C")
    else:
        raise _RefusedError("refused: the pickle sets the state of something that is no array.")


class _Finisher:
    """Puts every array in its place; what is shared in the file stays shared."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, int]] = {}
        self._unfinished: set[int] = set()

    def finish(self, value: Any) -> Any:
        """The value with every array in its place.

        Raises
        ------
        ValueError
            If an array has no content.
        _RefusedError
            If the value holds a name or itself, is too deep, or has too many items where each
            shared object is counted as often as it is referred to.
        """
        return self._finish(value, 0)[0]

    def _finish(self, value: Any, depth: int) -> tuple[Any, int]:
        """The finished value, and how many items it has."""
        if isinstance(value, _ArrayInProgress):
            if value.value is None:
                raise ValueError("an array without content")
            return value.value, 1
        if isinstance(value, (_Name, _Dtype)):
            raise _RefusedError("refused: the pickle holds a name where data were expected.")
        if not isinstance(value, (dict, list, tuple)):
            return value, 1
        if id(value) in self._done:
            return self._done[id(value)]
        if depth >= _DEEPEST or id(value) in self._unfinished:
            raise _RefusedError(f"refused: the pickle is nested more than {_DEEPEST} levels deep.")
        self._unfinished.add(id(value))
        parts = value.values() if isinstance(value, dict) else value
        finished, count = [], 1
        for part in parts:
            item, items = self._finish(part, depth + 1)
            finished.append(item)
            count += items
            if count > _MOST_ITEMS:
                raise _RefusedError(f"refused: the pickle has more than {_MOST_ITEMS} items.")
        whole: Any = finished
        if isinstance(value, dict):
            whole = dict(zip(value, finished, strict=True))
        elif isinstance(value, tuple):
            whole = tuple(finished)
        self._unfinished.remove(id(value))
        self._done[id(value)] = whole, count
        return whole, count
