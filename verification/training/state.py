"""Everything that a step changes, kept and put back, so that the same step can be made twice.

Two trials that begin in the same state and with the same random seeds differ by their batches
alone. So the noise cancels, and what one record changes is seen exactly, without statistics.
"""

from __future__ import annotations

import copy
import hashlib
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rdpkit.verification.training.trainer import PrivateTraining

_DEEPEST = 3
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ndarray)


class TrainingState:
    """The state of a training at the moment when this is made.

    Kept are parameters and buffers of the model, the optimiser, the accountant's history, random
    generators, and plain attributes of the objects that the training names and of what its step
    closes over.

    Parameters
    ----------
    training : PrivateTraining
        Whose state is kept.
    """

    def __init__(self, training: PrivateTraining) -> None:
        self._put_back: list[Callable[[], None]] = []
        self._generators: list[Any] = []
        self._seen: set[int] = set()
        self._own = training.reseed
        for thing in _things(training):
            self._keep(thing, 0)

    def restore(self) -> None:
        """Put everything back."""
        for action in self._put_back:
            action()

    def reseed(self, seed: int) -> None:
        """Seed the global generators and those that were found, each in its own way."""
        seed_everything(seed)
        for place, generator in enumerate(self._generators):
            _seed_generator(generator, seed + 1 + place)
        if self._own is not None:
            self._own(seed)

    def random_digest(self) -> str:
        """The present state of all random generators, in short."""
        parts: list[Any] = [random.getstate(), np.random.get_state()]  # noqa: NPY002 - as above
        torch = _torch()
        if torch is not None:
            parts.append(torch.get_rng_state().numpy().tobytes())
        parts += [_generator_state(generator) for generator in self._generators]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _keep(self, thing: Any, depth: int) -> None:
        if id(thing) in self._seen or isinstance(thing, _PLAIN):
            return
        self._seen.add(id(thing))
        for keeper in (_keep_module, _keep_generator, _keep_optimizer):
            action = keeper(thing)
            if action is not None:
                self._put_back.append(action)
                if keeper is _keep_generator:
                    self._generators.append(thing)
                elif keeper is _keep_optimizer:
                    self._keep_attributes(thing, depth)
                return
        if depth < _DEEPEST:
            self._keep_attributes(thing, depth)

    def _keep_attributes(self, thing: Any, depth: int) -> None:
        # Classes, modules and functions are code, and what they hold is no state of one training.
        if not _has_state(thing):
            return
        held = vars(thing)
        plain = {name: value for name, value in held.items() if _is_plain(value)}
        kept = copy.deepcopy(plain)

        def put_back() -> None:
            for name, value in kept.items():
                held[name] = copy.deepcopy(value)

        self._put_back.append(put_back)
        for name, value in held.items():
            if name not in plain:
                for part in value if isinstance(value, list | tuple) else (value,):
                    self._keep(part, depth + 1)


def seed_everything(seed: int) -> None:
    """Seed the global generators of Python, numpy and torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - trainings of others draw from it
    torch = _torch()
    if torch is not None:
        torch.manual_seed(seed)


def _things(training: PrivateTraining) -> Iterator[Any]:
    yield from (training.model, training.optimizer, training.accountant, *training.objects)
    for function in (training.step, training.parameters, training.train):
        if function is None:
            continue
        yield getattr(function, "__self__", None)
        for cell in getattr(function, "__closure__", None) or ():
            try:
                yield cell.cell_contents
            except ValueError:
                continue
        if not hasattr(function, "__code__") and not hasattr(function, "__self__"):
            yield function


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
        return not isinstance(value, torch.nn.Parameter) and bool(value.is_leaf)
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_plain(part) for part in value)
    if isinstance(value, dict):
        return all(_is_plain(part) for part in (*value.keys(), *value.values()))
    return False


def _keep_module(thing: Any) -> Callable[[], None] | None:
    torch = _torch()
    if torch is None or not isinstance(thing, torch.nn.Module):
        return None
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


def _keep_generator(thing: Any) -> Callable[[], None] | None:
    if isinstance(thing, np.random.Generator):
        state = copy.deepcopy(thing.bit_generator.state)
        return lambda: setattr(thing.bit_generator, "state", copy.deepcopy(state))
    if isinstance(thing, np.random.RandomState):
        legacy = thing.get_state()
        return lambda: thing.set_state(legacy)
    if isinstance(thing, random.Random) and not isinstance(thing, random.SystemRandom):
        inner = thing.getstate()
        return lambda: thing.setstate(inner)
    torch = _torch()
    if torch is not None and isinstance(thing, torch.Generator):
        tensor = thing.get_state().clone()
        return lambda: _set_torch_state(thing, tensor)
    return None


def _set_torch_state(generator: Any, state: Any) -> None:
    generator.set_state(state)


def _seed_generator(generator: Any, seed: int) -> None:
    if isinstance(generator, np.random.Generator):
        fresh = type(generator.bit_generator)(seed)
        generator.bit_generator.state = fresh.state
    elif isinstance(generator, np.random.RandomState):
        generator.seed(seed % 2**32)
    elif isinstance(generator, random.Random):
        generator.seed(seed)
    else:
        generator.manual_seed(seed)


def _generator_state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state()
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.get_state().numpy().tobytes()


def _keep_optimizer(thing: Any) -> Callable[[], None] | None:
    torch = _torch()
    if torch is None or not isinstance(thing, torch.optim.Optimizer):
        return None
    kept = copy.deepcopy(thing.state_dict())

    def put_back() -> None:
        thing.load_state_dict(copy.deepcopy(kept))
        thing.zero_grad()

    return put_back


def _torch() -> Any:
    """The module torch, or None where it is not installed."""
    try:
        import torch  # noqa: PLC0415 - trainings without torch are verified, too
    except ModuleNotFoundError:
        return None
    return torch


__all__ = ["TrainingState", "seed_everything"]
