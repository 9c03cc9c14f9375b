"""Taps of generators: numpy's, those of Python's ``random`` and ``secrets``, and torch's."""

from __future__ import annotations

import functools
import inspect
import random
import secrets
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, List

import numpy as np

from .noise import again, amount_of, drawn_around, given_value, noise, plain
from .tape import current
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


def _drawn(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a numpy generator whose calls go to the tape."""

    @functools.wraps(draw)
    def method(*args: Any, **given: Any) -> Any:
        tape = current()
        if tape is None:
            return draw(*args, **given)
        args = tuple(map(plain, args))
        given = {key: plain(one) for key, one in given.items()}
        if name == "shuffle":
            return _shuffled(args[0], draw)
        if name in _NOISE:
            return _noise(name, draw, args, given)
        parameters = _parameters(_DRAWS[name], args, given)
        probabilities = parameters.pop("p", None) if name == "choice" else None
        if probabilities is not None:
            return _chosen_with(tape, probabilities, parameters["a"], lambda: draw(*args, **given))
        return _again(name, lambda: draw(*args, **given), parameters)

    return method


def _chosen_with(tape: Any, probabilities: Any, among: Any, draw: Callable[[], Any]) -> Any:
    """A choice with probabilities; an earlier answer counts where it is one of the candidates."""

    def allowed(answer: Any) -> bool:
        candidates = np.arange(among) if np.ndim(among) == 0 else np.asarray(among)
        return bool(candidates.ndim > 1 or np.all(np.isin(answer, candidates)))

    return given_value(tape, probabilities, "categorical", 1.0, draw, allowed=allowed)


def _noise(name: str, draw: Callable[..., Any], args: Any, given: Dict[str, Any]) -> Any:
    family, location, scale_name = _NOISE[name]
    tape = current()
    assert tape is not None
    names = [one for one in (location, scale_name) if one]
    said = dict(zip(names, args))
    said.update({key: one for key, one in given.items() if key in names})
    centre = said.get(location, 0.0) if location else 0.0
    scale = said.get(scale_name, 1.0 if family != "geometric" else None)
    if location in said and given.get("out") is None:
        return drawn_around(tape, centre, family, scale, lambda: draw(*args, **given))
    found = _again(family, lambda: draw(*args, **given), {"scale": scale}, followed=True)
    if given.get("out") is not None:
        tape.escapes()
        return found
    if family == "geometric":
        scale = -1.0 / np.log1p(-np.asarray(scale, dtype=float))
    return noise(found, family, scale)


def _again(
    name: str, draw: Callable[[], Any], parameters: Dict[str, Any], *, followed: bool = False
) -> Any:
    """A draw that hides nothing, or the answer of the earlier run.

    Unless it is noise that is followed, it may hide something later: in a randomised response, say.
    """
    tape = current()
    assert tape is not None
    if not followed:
        tape.escapes()
    stated = {key: one for key, one in parameters.items() if key not in _AMOUNTS}
    amount = [amount_of(one) for one in parameters.values()]
    return again(tape, name, draw, parameters=stated, amount=amount)


def _shuffled(x: Any, draw: Callable[..., Any]) -> None:
    """Shuffle a list or an array in place, in an order that is on the tape."""

    def order() -> Any:
        places = np.arange(len(x))
        draw(places)
        return places

    places = _again("permutation", order, {})
    if isinstance(x, np.ndarray):
        x[...] = x[np.asarray(places)]
    else:
        x[:] = [x[int(place)] for place in places]


def _parameters(names: Any, args: Any, given: Dict[str, Any]) -> Any:
    said = dict(zip(names, args))
    said.update(given)
    return {key: one for key, one in said.items() if one is not None}


class _LikeItsBase(type):
    """Instances of the generator that is replaced count as instances of its replacement."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])


def _with_taps(base: type) -> type:
    """The class of a numpy generator whose draws go to the tape."""
    names = [*_NOISE, *_DRAWS, "shuffle"]

    def tapped(name: str) -> Callable[..., Any]:
        def method(self: Any, *args: Any, **given: Any) -> Any:
            draw = functools.partial(getattr(base, name), self)
            return _drawn(name, draw)(*args, **given)

        method.__name__ = name
        return method

    body: Dict[str, Any] = {name: tapped(name) for name in names if hasattr(base, name)}

    def made(self: Any, *args: Any, **given: Any) -> None:
        base.__init__(self, *args, **given)  # type: ignore[misc]
        _remember_seed(args[0] if args else given.get("seed"))

    if issubclass(base, np.random.RandomState):
        body["__init__"] = made
        body["seed"] = _seeding(base.seed)
    return _LikeItsBase(base.__name__, (base,), body)


def _remember_seed(seed: Any) -> None:
    tape = current()
    if tape is not None and isinstance(seed, (int, np.integer)):
        tape.seeds()
        # One that follows from the data makes noise that does.
        tape.call("generator", lambda: None, parameters={"seed": int(seed)}, alone=True)


def _seeding(seed: Callable[..., Any]) -> Callable[..., Any]:
    """A function that sets a seed, which is remembered."""

    @functools.wraps(seed)
    def seeding(*args: Any, **given: Any) -> Any:
        for one in (*args, *given.values()):
            _remember_seed(one)
        return seed(*args, **given)

    return seeding


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
    _remember_seed(seed)
    bits = seed if isinstance(seed, np.random.BitGenerator) else np.random.PCG64(seed)
    return RecordedGenerator(bits)


# Methods of random.Random. Those of the first kind are noise of a family.
_OF_PYTHON = (
    "random", "gauss", "normalvariate", "uniform", "expovariate", "getrandbits", "choice",
    "choices", "sample", "shuffle", "randint", "randrange", "betavariate", "gammavariate",
    "lognormvariate", "triangular", "vonmisesvariate", "paretovariate", "weibullvariate",
    "binomialvariate",
)  # fmt: skip


def _of_python(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(draw)

    @functools.wraps(draw)
    def method(self: Any, *args: Any, **given: Any) -> Any:
        tape = current()
        if tape is None:
            return draw(self, *args, **given)
        args = tuple(map(plain, args))
        if name == "shuffle":
            return _shuffled(args[0], lambda places: draw(self, places))
        compute = functools.partial(draw, self, *args, **given)
        if name in ("gauss", "normalvariate"):
            mu, sigma = (list(args) + [0.0, 1.0][len(args) :])[:2]
            mu, sigma = given.get("mu", mu), given.get("sigma", sigma)
            return drawn_around(tape, mu, "normal", sigma, compute)
        if name == "expovariate":
            rate = given.get("lambd", args[0] if args else 1.0)
            found = _again("exponential", compute, {"rate": rate}, followed=True)
            return noise(found, "exponential", 1.0 / rate)
        said = {
            key: one
            for key, one in signature.bind(self, *args, **given).arguments.items()
            if key not in ("self", "population", "seq", "k")
        }
        if name in ("choice", "choices", "sample"):
            return _chosen(name, functools.partial(draw, self), args, given, said)
        return _again(name, compute, said)

    return method


def _chosen(
    name: str, draw: Callable[..., Any], args: Any, given: Any, said: Dict[str, Any]
) -> Any:
    """Members of a population: their places answer again, and not the members themselves."""
    population = list(args[0] if args else next(iter(given.values())))
    places = range(len(population))
    rest = {key: one for key, one in given.items() if key not in ("population", "seq")}
    said = {**said, "population": len(population)}
    found = _again(name, lambda: np.array(draw(places, *args[1:], **rest)), said)
    if name == "choice":
        return population[min(int(found), len(population) - 1)]
    return [population[min(int(one), len(population) - 1)] for one in found]


def replaced(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Replace an attribute until the stack is closed."""
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, value)

    def back() -> None:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)

    stack.callback(back)


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


@contextmanager
def tapped_generators() -> Iterator[None]:
    """Draws of all generators go to the tape that is current."""
    with ExitStack() as stack:
        state = np.random.mtrand._rand
        recorded = RecordedState(np.random.MT19937())
        recorded.set_state(state.get_state())
        replaced(stack, np.random.mtrand, "_rand", recorded)
        pairs = [
            (np.random.default_rng, _default_rng),
            (np.random.Generator, RecordedGenerator),
            (np.random.RandomState, RecordedState),
        ]
        names = [name for name in [*_NOISE, *_DRAWS, "shuffle"] if hasattr(np.random, name)]
        pairs += [(getattr(np.random, name), getattr(recorded, name)) for name in names]
        for kind in (random.Random, random.SystemRandom):
            for name in _OF_PYTHON:
                if name in vars(kind) or (kind is random.Random and hasattr(kind, name)):
                    replaced(stack, kind, name, _of_python(name, getattr(kind, name)))
        pairs += [
            (getattr(random, name), functools.partial(getattr(random.Random, name), random._inst))
            for name in _OF_PYTHON
            if hasattr(random, name)
        ]
        replaced(stack, random.Random, "seed", _seeding(random.Random.seed))
        pairs += [(random.seed, _seeding(random.seed))]
        # ``secrets`` keeps methods of a generator, as they were when it was imported. numpy, which
        # makes seeds with one of them, keeps it as it is.
        system = secrets.SystemRandom()
        replaced(stack, secrets, "randbits", system.getrandbits)
        replaced(stack, secrets, "choice", system.choice)
        replace_everywhere(stack, pairs)
        tap_torch(stack, replaced, _seeding)
        yield
