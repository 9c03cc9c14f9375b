"""Taps of generators: numpy's, those of Python's ``random`` and ``secrets``, and torch's."""

from __future__ import annotations

import functools
import inspect
import random
import secrets
import sys
from contextlib import ExitStack
from typing import Any, Callable, Dict, List

import numpy as np

from .noise import again, amount_of, drawn_around, given_value, noise, plain
from .tape import Tape, current, replaced, seeding, taped
from .tensors import tap_torch

# Methods of numpy's generators: the family of their noise and the names of location and scale.
_NOISE = {
    "normal": ("normal", "loc", "scale"),
    "standard_normal": ("normal", "", ""),
    "laplace": ("laplace", "loc", "scale"),
    "gumbel": ("gumbel", "loc", "scale"),
    "exponential": ("exponential", "", "scale"),
    "standard_exponential": ("exponential", "", ""),
    "geometric": ("geometric", "", "p"),
}
# Draws whose parameters are compared, and whose answers are given again.
_DRAWS = {
    "choice": ("a", "size", "replace", "p"),
    "random": ("size",),
    "random_sample": ("size",),
    "uniform": ("low", "high", "size"),
    "integers": ("low", "high", "size"),
    "randint": ("low", "high", "size"),
    "permutation": ("x",),
    "binomial": ("n", "p", "size"),
    "poisson": ("lam", "size"),
    "gamma": ("shape", "scale", "size"),
    "chisquare": ("df", "size"),
    "beta": ("a", "b", "size"),
    "multinomial": ("n", "pvals", "size"),
    "multivariate_normal": ("mean", "cov", "size"),
    "dirichlet": ("alpha", "size"),
    "standard_t": ("df", "size"),
    "standard_cauchy": ("size",),
    "logistic": ("loc", "scale", "size"),
    "lognormal": ("mean", "sigma", "size"),
    "bytes": ("length",),
    "rand": (),
    "randn": (),
}
# Arguments that say how much is drawn, and not from what.
_AMOUNTS = ("size", "replace", "length", "shuffle", "dtype", "x", "a", "k", "n", "population")
_METHODS = (*_NOISE, *_DRAWS, "shuffle")
# Methods of random.Random.
_OF_PYTHON = (
    "random", "gauss", "normalvariate", "uniform", "expovariate", "getrandbits", "choice",
    "choices", "sample", "shuffle", "randint", "randrange", "betavariate", "gammavariate",
    "lognormvariate", "triangular", "vonmisesvariate", "paretovariate", "weibullvariate",
    "binomialvariate",
)  # fmt: skip


def _of_numpy(
    name: str, tape: Tape, method: Callable[..., Any], self: Any, *args: Any, **given: Any
) -> Any:
    """What a method of a numpy generator answers."""
    args = tuple(map(plain, args))
    given = {key: plain(one) for key, one in given.items()}
    if name == "shuffle":
        return _shuffled(tape, args[0], functools.partial(method, self))
    draw = functools.partial(method, self, *args, **given)
    if name in _NOISE:
        return _noise(name, tape, draw, args, given)
    parameters = {**dict(zip(_DRAWS[name], args)), **given}
    parameters = {key: one for key, one in parameters.items() if one is not None}
    probabilities = parameters.pop("p", None) if name == "choice" else None
    if probabilities is not None:
        return _chosen_with(tape, probabilities, parameters["a"], draw)
    return _again(tape, name, draw, parameters)


def _chosen_with(tape: Tape, probabilities: Any, among: Any, draw: Callable[[], Any]) -> Any:
    """A choice with probabilities; an earlier answer counts where it is one of the candidates."""

    def allowed(answer: Any) -> bool:
        candidates = np.arange(among) if np.ndim(among) == 0 else np.asarray(among)
        return bool(candidates.ndim > 1 or np.all(np.isin(answer, candidates)))

    return given_value(tape, probabilities, "categorical", 1.0, draw, allowed=allowed)


def _noise(name: str, tape: Tape, draw: Callable[[], Any], args: Any, given: Any) -> Any:
    family, *names = _NOISE[name]
    said = {**dict(zip(filter(None, names), args)), **given}
    location, scale_name = names
    scale = said.get(scale_name, 1.0 if family != "geometric" else None)
    if location and location in said and given.get("out") is None:
        return drawn_around(tape, said[location], family, scale, draw)
    found = _again(tape, family, draw, {"scale": scale}, followed=True)
    if given.get("out") is not None:
        tape.escapes()
        return found
    if family == "geometric":
        scale = -1.0 / np.log1p(-np.asarray(scale, dtype=float))
    return noise(found, family, scale)


def _again(
    tape: Tape,
    name: str,
    draw: Callable[[], Any],
    parameters: Dict[str, Any],
    *,
    followed: bool = False,
) -> Any:
    """A draw that hides nothing, or the answer of the earlier run.

    Unless it is noise that is followed, it may hide something later: in a randomised response, say.
    """
    if not followed:
        tape.escapes()
    stated = {key: one for key, one in parameters.items() if key not in _AMOUNTS}
    amount = [amount_of(one) for one in parameters.values()]
    return again(tape, name, draw, parameters=stated, amount=amount)


def _shuffled(tape: Tape, x: Any, shuffle: Callable[[Any], Any]) -> None:
    """Shuffle a list or an array in place, in an order that is on the tape."""

    def order() -> Any:
        places = np.arange(len(x))
        shuffle(places)
        return places

    places = _again(tape, "permutation", order, {})
    if isinstance(x, np.ndarray):
        x[...] = x[np.asarray(places)]
    else:
        x[:] = [x[int(place)] for place in places]


class _LikeItsBase(type):
    """Instances of the generator that is replaced count as instances of its replacement."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])


def _with_taps(base: type) -> type:
    """The class of a numpy generator whose draws go to the tape."""
    body: Dict[str, Any] = {
        name: taped(getattr(base, name), functools.partial(_of_numpy, name), inside=True)
        for name in _METHODS
        if hasattr(base, name)
    }

    def made(self: Any, *args: Any, **given: Any) -> None:
        base.__init__(self, *args, **given)  # type: ignore[misc]
        tape = current()
        if tape is not None:
            tape.seeds(args[0] if args else given.get("seed"))

    if issubclass(base, np.random.RandomState):
        body["__init__"] = made
        body["seed"] = seeding(base.seed)
    return _LikeItsBase(base.__name__, (base,), body)


RecordedGenerator = _with_taps(np.random.Generator)
RecordedState = _with_taps(np.random.RandomState)


# What takes the place of a generator: one with the same bits.
_GENERATORS: Dict[type, Callable[[Any], Any]] = {
    np.random.Generator: lambda one: RecordedGenerator(one.bit_generator),
    np.random.RandomState: lambda one: RecordedState(one._bit_generator),
}


def generator(seed: int) -> np.random.Generator:
    """The generator that a target is handed."""
    return RecordedGenerator(np.random.PCG64(seed))  # type: ignore[no-any-return]


def _default_rng(seed: Any = None) -> Any:
    if isinstance(seed, np.random.Generator):
        return seed
    tape = current()
    if tape is not None:
        tape.seeds(seed)
    bits = seed if isinstance(seed, np.random.BitGenerator) else np.random.PCG64(seed)
    return RecordedGenerator(bits)


_signature = functools.lru_cache(maxsize=None)(inspect.signature)


def _of_python(
    name: str, tape: Tape, method: Callable[..., Any], self: Any, *args: Any, **given: Any
) -> Any:
    """What a method of Python's generators answers."""
    args = tuple(map(plain, args))
    if name == "shuffle":
        return _shuffled(tape, args[0], functools.partial(method, self))
    draw = functools.partial(method, self, *args, **given)
    bound = _signature(method).bind(self, *args, **given)
    said = {key: one for key, one in bound.arguments.items() if key != "self"}
    if name in ("gauss", "normalvariate"):
        return drawn_around(tape, said.get("mu", 0.0), "normal", said.get("sigma", 1.0), draw)
    if name == "expovariate":
        rate = said.get("lambd", 1.0)
        found = _again(tape, "exponential", draw, {"rate": rate}, followed=True)
        return noise(found, "exponential", 1.0 / rate)
    if name in ("choice", "choices", "sample"):
        return _chosen(tape, name, functools.partial(method, self), said)
    return _again(tape, name, draw, {key: one for key, one in said.items() if key != "k"})


def _chosen(tape: Tape, name: str, draw: Callable[..., Any], said: Dict[str, Any]) -> Any:
    """Members of a population: their places answer again, and not the members themselves."""
    population = list(said.pop("seq" if name == "choice" else "population"))
    last, places = len(population) - 1, range(len(population))
    stated = {key: one for key, one in said.items() if key != "k"}
    stated["population"] = len(population)
    found = _again(tape, name, lambda: np.array(draw(places, **said)), stated)
    if name == "choice":
        return population[min(int(found), last)]
    return [population[min(int(one), last)] for one in found]


def replace_everywhere(stack: ExitStack, pairs: List[Any], prefix: str = "") -> None:
    """Replace objects, each by another, under every name that a module has for them."""
    wanted = {id(before): (before, value) for before, value in pairs}
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith(prefix) or name.startswith(__package__ or "-"):
            continue
        for key, one in list(getattr(module, "__dict__", {}).items()):
            found = wanted.get(id(one))
            if found is not None and found[0] is one:
                replaced(stack, module, key, found[1])
            elif type(one) in _GENERATORS:
                # A generator that was made when the module was imported.
                replaced(stack, module, key, _GENERATORS[type(one)](one))


def tap_generators(stack: ExitStack) -> None:
    """Draws of all generators go to the tape that is current."""
    state = np.random.mtrand._rand
    recorded = RecordedState(np.random.MT19937())
    recorded.set_state(state.get_state())
    replaced(stack, np.random.mtrand, "_rand", recorded)
    pairs = [
        (np.random.default_rng, _default_rng),
        (np.random.Generator, RecordedGenerator),
        (np.random.RandomState, RecordedState),
    ]
    names = [name for name in _METHODS if hasattr(np.random, name)]
    pairs += [(getattr(np.random, name), getattr(recorded, name)) for name in names]
    for kind in (random.Random, random.SystemRandom):
        for name in _OF_PYTHON:
            if name in vars(kind) or (kind is random.Random and hasattr(kind, name)):
                answer = functools.partial(_of_python, name)
                replaced(stack, kind, name, taped(getattr(kind, name), answer, inside=True))
    pairs += [
        (getattr(random, name), functools.partial(getattr(random.Random, name), random._inst))
        for name in _OF_PYTHON
        if hasattr(random, name)
    ]
    replaced(stack, random.Random, "seed", seeding(random.Random.seed))
    pairs += [(random.seed, seeding(random.seed))]
    # ``secrets`` keeps methods of a generator, as they were when it was imported. numpy, which
    # makes seeds with one of them, keeps it as it is.
    system = secrets.SystemRandom()
    replaced(stack, secrets, "randbits", system.getrandbits)
    replaced(stack, secrets, "choice", system.choice)
    replace_everywhere(stack, pairs)
    tap_torch(stack)
