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
        # What is looked at: where it is, how to read it and how to put another value there.
        self._holders: list[tuple[str, Callable[[], Any], Callable[[Any], Any] | None]] = []
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
        for owner, get, put in self._holders:
            for path, value, setter in _entries(get(), put):
                if id(value) not in self._released:
                    kept = value.detach().clone() if hasattr(value, "detach") else value
                    kept = value.copy() if isinstance(value, np.ndarray) else kept
                    found[f"{owner}{path}"] = Held(value=kept, setter=setter)
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
        states = [one.state() for one in (*_global_generators(), *self._generators)]
        parts = [one.numpy().tobytes() if hasattr(one, "numpy") else one for one in states]
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
            self._put_back.append(_module_kept(thing))
        elif torch is not None and isinstance(thing, torch.optim.Optimizer):
            self._put_back.append(_optimizer_kept(thing))
            self._keep_attributes(thing, depth)
        elif depth < _DEEPEST:
            self._keep_attributes(thing, depth)

    def _keep_variables(self, function: Any) -> None:
        """Keep what a function counts in variables outside of it, by nonlocal or global."""
        code, scope = function.__code__, function.__globals__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            get = functools.partial(getattr, cell, "cell_contents")
            with contextlib.suppress(ValueError):
                if _is_plain(get()):
                    self._keep_variable(
                        name, get, functools.partial(setattr, cell, "cell_contents")
                    )
        stored = (one for one in dis.get_instructions(code) if one.opname == "STORE_GLOBAL")
        for name in dict.fromkeys(one.argval for one in stored):
            if name in scope:
                get = functools.partial(scope.get, name)
                self._keep_variable(name, get, functools.partial(scope.__setitem__, name))

    def _keep_variable(self, name: str, get: Callable[[], Any], put: Callable[[Any], Any]) -> None:
        """Keep a plain value; what is changed in place is also put back in place."""
        if _is_plain(get()):
            keeper = _kept(get())
            self._put_back.append(lambda: put(keeper()))
        self._holders.append((name, get, put))

    def _keep_attributes(self, thing: Any, depth: int) -> None:
        # Classes, modules and functions are code, and what they hold is no state of one training.
        if (
            isinstance(thing, type | types.ModuleType)
            or not hasattr(thing, "__dict__")
            or hasattr(thing, "__code__")
            or type(thing).__module__ in ("builtins", "functools", "types")
        ):
            return
        held = vars(thing)
        kept = {name: _kept(value) for name, value in held.items() if _is_plain(value)}
        before = set(held)

        def put_back() -> None:
            for name, keeper in kept.items():
                held[name] = keeper()
            # An attribute that the step made hides one of the class, or one that it asks for.
            for name in [one for one, value in held.items() if _is_plain(value)]:
                if name not in before:
                    del held[name]

        self._put_back.append(put_back)
        # Attributes that a step makes only later are looked at as well.
        self._holders.append((type(thing).__name__, lambda: held, None))
        for name, value in held.items():
            if name not in kept:
                for part in value if isinstance(value, list | tuple) else (value,):
                    self._keep(part, depth + 1)


class _Generator(NamedTuple):
    """How to read, set and seed a random generator."""

    state: Callable[[], Any]
    put: Callable[[Any], Any]
    seed: Callable[[int], Any]


def _global_generators() -> list[_Generator]:
    """Those of Python, numpy and torch that every training may draw from."""
    legacy: Any = np.random
    found = [
        _Generator(random.getstate, random.setstate, random.seed),
        _Generator(legacy.get_state, legacy.set_state, lambda seed: legacy.seed(seed % 2**32)),
    ]
    torch = _torch()
    if torch is not None:
        found.append(_Generator(torch.get_rng_state, torch.set_rng_state, torch.manual_seed))
    return found


def seed_everything(seed: int) -> None:
    """Seed the global generators of Python, numpy and torch."""
    for generator in _global_generators():
        generator.seed(seed)


@contextlib.contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Put the global generators back to where they were, when the block ends."""
    states = [(generator, generator.state()) for generator in _global_generators()]
    try:
        yield
    finally:
        for generator, state in states:
            generator.put(state)


def _things(training: PrivateTraining) -> Iterator[Any]:
    yield from (training.model, training.optimizer, training.accountant, *training.objects)
    for function in _functions(training):
        named = (function.__globals__.get(name) for name in function.__code__.co_names)
        # Of what a script holds in its global variables, its own objects and these of libraries.
        for one in named:
            whose = type(one).__module__
            if whose == function.__module__ or whose.partition(".")[0] in _LIBRARIES:
                yield one
    for function in (training.step, training.parameters, training.train, training.noisy_sum):
        if function is None:
            continue
        yield getattr(function, "__self__", None)
        for found in _closed_over(function):
            yield found
            # A bound method, such as a scheduler's step, changes the object that it belongs to.
            yield getattr(found, "__self__", None)
            yield from found.values() if isinstance(found, dict) else ()
            yield from found if isinstance(found, list | tuple) else ()
        if not hasattr(function, "__code__") and not hasattr(function, "__self__"):
            yield function


def _closed_over(function: Any) -> Iterator[Any]:
    """What the variables of a function hold that are of functions around it."""
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            yield cell.cell_contents


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
        called = (function.__globals__.get(name) for name in function.__code__.co_names)
        waiting += _closed_over(function)
        waiting += [one for one in called if isinstance(one, types.FunctionType)]


def _is_plain(value: Any) -> bool:
    if isinstance(value, _PLAIN) or type(value).__module__.startswith("jax"):
        return True
    torch = _torch()
    if torch is not None and isinstance(value, torch.Tensor):
        return bool(value.is_leaf)
    parts = (*value.keys(), *value.values()) if isinstance(value, dict) else value
    plain = isinstance(parts, list | tuple | set | frozenset)
    return plain and all(_is_plain(part) for part in parts)


def _kept(value: Any) -> Callable[[], Any]:
    """A function that returns a plain value as it is now.

    Arrays and containers are put back in place, because others may hold them as well.
    """
    torch = _torch()
    if isinstance(value, set):
        members = set(value)
        return lambda: set(members)
    if isinstance(value, dict | list | tuple):
        entries = dict(value if isinstance(value, dict) else enumerate(value))
        parts = {key: _kept(part) for key, part in entries.items()}

        def again() -> Any:
            put_back = {key: part() for key, part in parts.items()}
            if isinstance(value, dict):
                value.clear()
                value.update(put_back)
            elif isinstance(value, list):
                value[:] = put_back.values()
            return value

        return again
    array = isinstance(value, np.ndarray) and value.dtype != object and value.size <= _LARGEST
    if array or (torch is not None and torch.is_tensor(value) and value.numel() <= _LARGEST):
        kept = value.copy() if array else value.detach().clone()

        def filled() -> Any:
            if array and not value.flags.writeable:
                return kept.copy()
            (value if array else value.detach())[...] = kept
            return value

        return filled
    # Numbers and words do not change; neither does data that is too large to be a state.
    return lambda: value


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A value that a training holds."""

    value: Any  # A copy of it
    setter: Callable[[Any], Any] | None  # Puts another one in its place, if that can be done

    def differs(self, other: Held) -> bool:
        """Whether another value is different."""
        one, two = array_of(self.value), array_of(other.value)
        return one.shape != two.shape or not np.array_equal(one, two, equal_nan=True)

    def put(self, value: Any) -> bool:
        """Put a value here; whether it can be."""
        if self.setter is not None:
            with contextlib.suppress(TypeError, ValueError, RuntimeError):
                self.setter(value)
                return True
        return False


def _entries(value: Any, put: Callable[[Any], Any] | None) -> Iterator[tuple[str, Any, Any]]:
    """The numbers and arrays in what is plain of a value, each with its path and what sets it."""
    if isinstance(value, dict):
        for key, part in [one for one in value.items() if _is_plain(one[1])]:
            for path, found, setter in _entries(part, functools.partial(value.__setitem__, key)):
                yield f"[{key!r}]{path}", found, setter
    elif isinstance(value, list | tuple):
        for key, part in enumerate(value[:_MOST_ENTRIES]):
            own = functools.partial(value.__setitem__, key) if isinstance(value, list) else None
            for path, found, setter in _entries(part, own):
                yield f"[{key}]{path}", found, setter if own else None
    elif hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        array = array_of(value)
        if array.dtype.kind in "fiu" and array.size <= _LARGEST:
            # Others may hold the same array, so it is filled if that can be done.
            kept = value.detach() if hasattr(value, "detach") else value
            changes = kept is not value or isinstance(value, np.ndarray)
            yield "", value, functools.partial(kept.__setitem__, ...) if changes else put
    elif isinstance(value, int | float | np.generic) and not isinstance(value, bool):
        yield "", value, put


def _module_kept(thing: Any) -> Callable[[], None]:
    kept = [(one, one.detach().clone()) for one in (*thing.parameters(), *thing.buffers())]
    training = thing.training

    def put_back() -> None:
        for tensor, value in kept:
            tensor.detach().copy_(value)
            tensor.grad = None
        thing.train(training)

    return put_back


def _optimizer_kept(thing: Any) -> Callable[[], None]:
    kept = copy.deepcopy(thing.state_dict())

    def put_back() -> None:
        thing.load_state_dict(copy.deepcopy(kept))
        thing.zero_grad()

    return put_back


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
    own = torch is not None and isinstance(thing, torch.Generator)
    return _Generator(thing.get_state, thing.set_state, thing.manual_seed) if own else None


def _torch() -> Any:
    """The module torch, or None where it is not installed."""
    try:
        import torch  # noqa: PLC0415 - trainings without torch are verified, too
    except ModuleNotFoundError:
        return None
    return torch
