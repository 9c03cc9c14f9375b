"""Everything that a step changes, kept and put back, so that the same step can be made twice.

Two trials that begin in the same state and with the same random seeds differ by their batches
alone. So the noise cancels, and what one record changes is seen exactly, without statistics.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import functools
import hashlib
import random
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rdpkit.verification.training.batches import array_of
from rdpkit.verification.training.trainer import PrivateTraining

_DEEPEST = 3
_MOST_FUNCTIONS = 50
_LARGEST = 2**22
_MOST_ENTRIES = 100
_LIBRARIES = ("torch", "numpy", "random", "opacus")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ndarray)


class TrainingState:
    """The state of a training at the moment when this is made.

    Kept are parameters and buffers of the model, the optimiser, the accountant's history, random
    generators, and plain attributes of the objects that the training names and of what its step
    closes over.
    """

    def __init__(self, training: PrivateTraining) -> None:
        self._put_back: list[Callable[[], None]] = []
        self._generators: list[_Generator] = []
        self._seen: set[int] = set()
        self._holders: list[tuple[str, Callable[[], Iterator[tuple[str, Any, Any]]]]] = []
        model = training.model
        self._released = set() if model is None else {id(one) for one in model.parameters()}
        self._own = training.reseed
        for function in _functions(training):
            self._keep_variables(function)
        for thing in _things(training):
            self._keep(thing, 0)

    def restore(self) -> None:
        """Put everything back."""
        for action in self._put_back:
            action()

    def held(self) -> dict[str, Held]:
        """The arrays and numbers that the training holds at present, each with where it is.

        Parameters of a model are left out: they are what is released.
        """
        found: dict[str, Held] = {}
        for owner, entries in self._holders:
            for path, value, setter in entries():
                if id(value) not in self._released:
                    found[f"{owner}{path}"] = Held(value=_copied(value), setter=setter)
        return found

    def reseed(self, seed: int) -> None:
        """Seed the global generators and those that were found, each in its own way."""
        seed_everything(seed)
        for place, generator in enumerate(self._generators):
            generator.seed(seed + 1 + place)
        if self._own is not None:
            self._own(seed)

    def random_digest(self) -> str:
        """The present state of all random generators, in short."""
        parts: list[Any] = [random.getstate(), np.random.get_state()]  # noqa: NPY002 - as above
        torch = _torch()
        if torch is not None:
            parts.append(torch.get_rng_state().numpy().tobytes())
        states = (generator.state() for generator in self._generators)
        parts += [one.numpy().tobytes() if hasattr(one, "numpy") else one for one in states]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _keep(self, thing: Any, depth: int) -> None:
        if id(thing) in self._seen or isinstance(thing, _PLAIN):
            return
        self._seen.add(id(thing))
        generator, torch = _generator(thing), _torch()
        if generator is not None:
            state = copy.deepcopy(generator.state())
            self._generators.append(generator)
            self._put_back.append(lambda: generator.put(copy.deepcopy(state)))
        elif torch is not None and isinstance(thing, torch.nn.Module):
            self._put_back.append(_module_kept(torch, thing))
        elif torch is not None and isinstance(thing, torch.optim.Optimizer):
            self._put_back.append(_optimizer_kept(thing))
            self._keep_attributes(thing, depth)
        elif depth < _DEEPEST:
            self._keep_attributes(thing, depth)

    def _keep_variables(self, function: Any) -> None:
        """Keep what a function counts in variables outside of it, by nonlocal or global."""
        code, scope = getattr(function, "__code__", None), getattr(function, "__globals__", {})
        closure = getattr(function, "__closure__", None) or ()
        for name, cell in zip(getattr(code, "co_freevars", ()), closure, strict=False):
            get = functools.partial(getattr, cell, "cell_contents")
            put = functools.partial(setattr, cell, "cell_contents")
            with contextlib.suppress(ValueError):
                if _is_plain(get()):
                    self._keep_variable(name, get, put)
        for name in _assigned(code):
            if name in scope:
                get = functools.partial(scope.get, name)
                self._keep_variable(name, get, functools.partial(scope.__setitem__, name))

    def _keep_variable(self, name: str, get: Callable[[], Any], put: Callable[[Any], Any]) -> None:
        """Keep a plain value; what is changed in place is also put back in place."""
        if _is_plain(get()):
            keeper = _kept(get())
            self._put_back.append(lambda: put(keeper()))
        self._holders.append((name, lambda: _entries(get(), put)))

    def _keep_attributes(self, thing: Any, depth: int) -> None:
        # Classes, modules and functions are code, and what they hold is no state of one training.
        if not _has_state(thing):
            return
        held = vars(thing)
        plain = {name: value for name, value in held.items() if _is_plain(value)}
        kept = {name: _kept(value) for name, value in plain.items()}

        before = set(held)

        def put_back() -> None:
            for name, keeper in kept.items():
                held[name] = keeper()
            # An attribute that the step made hides one of the class, or one that it asks for.
            for name in [one for one, value in held.items() if _is_plain(value)]:
                if name not in before:
                    del held[name]

        def entries() -> Iterator[tuple[str, Any, Any]]:
            # Attributes that a step makes only later are looked at as well.
            for name, value in [one for one in held.items() if _is_plain(one[1])]:
                put = functools.partial(held.__setitem__, name)
                for path, found, setter in _entries(value, put):
                    yield f"[{name!r}]{path}", found, setter

        self._put_back.append(put_back)
        self._holders.append((type(thing).__name__, entries))
        for name, value in held.items():
            if name not in plain:
                for part in value if isinstance(value, list | tuple) else (value,):
                    self._keep(part, depth + 1)


@contextlib.contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Put the global generators back to where they were, when the block ends."""
    torch = _torch()
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - trainings use it
    tensor = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002 - as above
        if torch is not None:
            torch.set_rng_state(tensor)


def seed_everything(seed: int) -> None:
    """Seed the global generators of Python, numpy and torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - trainings of others draw from it
    torch = _torch()
    if torch is not None:
        torch.manual_seed(seed)


def _things(training: PrivateTraining) -> Iterator[Any]:
    yield from (training.model, training.optimizer, training.accountant, *training.objects)
    for function in _functions(training):
        named = (function.__globals__.get(name) for name in function.__code__.co_names)
        # Of what a script holds in its global variables, its own objects and these of libraries.
        yield from (one for one in named if _of_training(one, function.__module__))
    for function in (training.step, training.parameters, training.train, training.noisy_sum):
        if function is None:
            continue
        yield getattr(function, "__self__", None)
        for cell in getattr(function, "__closure__", None) or ():
            try:
                found = cell.cell_contents
            except ValueError:
                continue
            yield found
            # A bound method, such as a scheduler's step, changes the object that it belongs to.
            yield getattr(found, "__self__", None)
            yield from found.values() if isinstance(found, dict) else ()
            yield from found if isinstance(found, list | tuple) else ()
        if not hasattr(function, "__code__") and not hasattr(function, "__self__"):
            yield function


def _of_training(thing: Any, module: str) -> bool:
    """Whether something is of a library for training, or of a class of a module."""
    whose = type(thing).__module__
    return whose == module or whose.partition(".")[0] in _LIBRARIES


def _functions(training: PrivateTraining) -> Iterator[Any]:
    """The functions of a training, and those that they call from outside of them."""
    waiting: list[Any] = [training.step, training.parameters, training.train, training.noisy_sum]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_FUNCTIONS:
        function = getattr(waiting[0], "__func__", waiting[0])
        waiting = waiting[1:]
        if not hasattr(function, "__code__") or id(function) in seen:
            continue
        seen.add(id(function))
        yield function
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):
                waiting.append(cell.cell_contents)
        called = (function.__globals__.get(name) for name in function.__code__.co_names)
        waiting += [one for one in called if isinstance(one, types.FunctionType)]


def _assigned(code: Any) -> set[str]:
    """Names of global variables that code assigns to."""
    if code is None:
        return set()
    return {one.argval for one in dis.get_instructions(code) if one.opname == "STORE_GLOBAL"}


def _has_state(thing: Any) -> bool:
    """Whether something is an instance of a class of somebody's own."""
    return (
        not isinstance(thing, type | types.ModuleType)
        and hasattr(thing, "__dict__")
        and not hasattr(thing, "__code__")
        and type(thing).__module__ not in ("builtins", "functools", "types")
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, _PLAIN):
        return True
    if type(value).__module__.startswith("jax"):
        return True
    torch = _torch()
    if torch is not None and isinstance(value, torch.Tensor):
        return bool(value.is_leaf)
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_plain(part) for part in value)
    if isinstance(value, dict):
        return all(_is_plain(part) for part in (*value.keys(), *value.values()))
    return False


def _kept(value: Any) -> Callable[[], Any]:
    """A function that returns a plain value as it is now.

    Arrays and containers are put back in place, because others may hold them as well.
    """
    if isinstance(value, np.ndarray) and value.dtype != object and value.size <= _LARGEST:
        array = value.copy()
        return lambda: _filled(value, array) if value.flags.writeable else array.copy()
    if isinstance(value, dict):
        entries = {key: _kept(part) for key, part in value.items()}
        return lambda: _refilled(value, {key: part() for key, part in entries.items()})
    if isinstance(value, list | tuple):
        parts = [_kept(part) for part in value]
        return lambda: _relisted(value, [part() for part in parts])
    torch = _torch()
    if torch is not None and isinstance(value, torch.Tensor) and value.numel() <= _LARGEST:
        tensor = value.detach().clone()
        return lambda: _filled(value.detach(), tensor, value)
    if isinstance(value, set):
        members = set(value)
        return lambda: copy.copy(members)
    # Numbers and words do not change; neither does data that is too large to be a state.
    return lambda: value


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A value that a training holds."""

    value: Any  # A copy of it
    setter: Callable[[Any], Any]  # Puts another one in its place

    def differs(self, other: Held) -> bool:
        """Whether another value is different."""
        one, two = array_of(self.value), array_of(other.value)
        return one.shape != two.shape or not np.array_equal(one, two, equal_nan=True)

    def put(self, value: Any) -> bool:
        """Put a value here; whether it can be."""
        try:
            self.setter(value)
        except (TypeError, ValueError, RuntimeError):
            return False
        return True


def _entries(value: Any, put: Callable[[Any], Any]) -> Iterator[tuple[str, Any, Any]]:
    """The numbers and arrays in a plain value, each with its path and what sets it."""
    if isinstance(value, dict):
        for key, part in list(value.items()):
            for path, found, setter in _entries(part, functools.partial(value.__setitem__, key)):
                yield f"[{key!r}]{path}", found, setter
    elif isinstance(value, list | tuple):
        change = None if isinstance(value, tuple) else value.__setitem__
        for key, part in enumerate(value[:_MOST_ENTRIES]):
            own = _cannot_be_set if change is None else functools.partial(change, key)
            for path, found, setter in _entries(part, own):
                yield f"[{key}]{path}", found, _cannot_be_set if change is None else setter
    elif _is_array(value):
        yield "", value, functools.partial(_set_array, value, put)
    elif isinstance(value, int | float | np.generic) and not isinstance(value, bool):
        yield "", value, put


def _is_array(value: Any) -> bool:
    if not (hasattr(value, "shape") and hasattr(value, "dtype")) or isinstance(value, np.generic):
        return False
    return bool(array_of(value).dtype.kind in "fiu") and array_of(value).size <= _LARGEST


def _set_array(value: Any, put: Callable[[Any], Any], other: Any) -> None:
    if hasattr(value, "detach"):
        value.detach()[...] = other
    elif isinstance(value, np.ndarray):
        value[...] = other
    else:
        put(other)


def _cannot_be_set(_: Any) -> None:
    raise TypeError


def _copied(value: Any) -> Any:
    if hasattr(value, "detach"):
        return value.detach().clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def _filled(array: Any, kept: Any, owner: Any = None) -> Any:
    array[...] = kept
    return array if owner is None else owner


def _refilled(held: dict[Any, Any], kept: dict[Any, Any]) -> dict[Any, Any]:
    held.clear()
    held.update(kept)
    return held


def _relisted(held: Any, kept: list[Any]) -> Any:
    if isinstance(held, list):
        held[:] = kept
    return held


def _module_kept(torch: Any, thing: Any) -> Callable[[], None]:
    tensors = [*thing.parameters(), *thing.buffers()]
    kept = [tensor.detach().clone() for tensor in tensors]
    training = thing.training

    def put_back() -> None:
        with torch.no_grad():
            for tensor, value in zip(tensors, kept, strict=True):
                tensor.copy_(value)
                tensor.grad = None
        thing.train(training)

    return put_back


def _optimizer_kept(thing: Any) -> Callable[[], None]:
    kept = copy.deepcopy(thing.state_dict())

    def put_back() -> None:
        thing.load_state_dict(copy.deepcopy(kept))
        thing.zero_grad()

    return put_back


class _Generator(NamedTuple):
    """How to read, set and seed a random generator."""

    state: Callable[[], Any]
    put: Callable[[Any], Any]
    seed: Callable[[int], Any]


def _generator(thing: Any) -> _Generator | None:  # None if it is none, or cannot be set
    if isinstance(thing, np.random.Generator):
        bits: Any = thing.bit_generator
        put = functools.partial(setattr, bits, "state")
        return _Generator(lambda: bits.state, put, lambda seed: put(type(bits)(seed).state))
    if isinstance(thing, np.random.RandomState):
        seed_of = lambda seed: thing.seed(seed % 2**32)  # noqa: E731
        return _Generator(thing.get_state, thing.set_state, seed_of)
    if isinstance(thing, random.Random) and not isinstance(thing, random.SystemRandom):
        return _Generator(thing.getstate, thing.setstate, thing.seed)
    torch = _torch()
    if torch is not None and isinstance(thing, torch.Generator):
        return _Generator(thing.get_state, thing.set_state, thing.manual_seed)
    return None


def _torch() -> Any:
    """The module torch, or None where it is not installed."""
    try:
        import torch  # noqa: PLC0415 - trainings without torch are verified, too
    except ModuleNotFoundError:
        return None
    return torch
