"""Checks on arguments: one clear error that names the argument, the value and what is accepted.

Every public function and every event goes through these helpers, so that the wording is the same
everywhere: ``Expected NAME CONDITION, got VALUE.``
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import sys
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from rdpkit.formats import records

Array = NDArray[np.float64]
P = ParamSpec("P")
R = TypeVar("R")

LARGEST_INTEGER = 10**15
did_you_mean = records.did_you_mean
_SMALLEST_NOISE, _LARGEST_NOISE = 1e-100, 1e100
# The floats next to the ends of open intervals
_ABOVE_ZERO, _BELOW_ONE, _LARGEST = math.ulp(0.0), math.nextafter(1.0, 0.0), sys.float_info.max


def fail(name: str, condition: str, value: Any) -> ValueError:
    """The error that every check raises: the argument, what is accepted, and what was given."""
    shown = repr(value)
    if len(shown) > 200:
        shown = shown[:197] + "..."
    return ValueError(f"Expected {name} {condition}, got {shown}.")


def words_of(error: BaseException) -> str:
    """What an error says, or that it cannot be said: its ``__str__`` is somebody's code as well."""
    try:
        return str(error)
    except Exception as another:
        return f"(its message raised {type(another).__name__})"


class ErrorsOf:
    """Turns an error of somebody's code into a ValueError that says which code raised it."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            said = f"{self.code} raised {type(error).__name__}: {words_of(error)}"
            raise ValueError(said) from error


def _number(
    name: str, value: Any, condition: str, least: float = -math.inf, most: float = math.inf
) -> float:
    """A real number from ``least`` to ``most``, both of them accepted."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, Decimal)):
        raise fail(name, condition, value)
    try:
        number = float(value)
    except OverflowError:
        raise fail(name, condition, value) from None
    if not least <= number <= most:
        raise fail(name, condition, value)
    return number


def positive(name: str, value: Any) -> float:
    """A finite real number above zero."""
    return _number(name, value, "to be a finite number > 0", _ABOVE_ZERO, _LARGEST)


def finite(name: str, value: Any) -> float:
    """A finite real number."""
    return _number(name, value, "to be a finite number", -_LARGEST, _LARGEST)


def noise_multiplier(name: str, value: Any) -> float:
    """Noise over sensitivity, in the range in which its square is a float."""
    positive(name, value)
    condition = f"(noise over sensitivity) in [{_SMALLEST_NOISE:g}, {_LARGEST_NOISE:g}]"
    return _number(name, value, condition, _SMALLEST_NOISE, _LARGEST_NOISE)


def non_negative(name: str, value: Any, *, finite: bool = True) -> float:
    """A real number that is at least zero."""
    if finite:
        return _number(name, value, "to be a finite number >= 0", 0.0, _LARGEST)
    return _number(name, value, "to be a number >= 0", 0.0)


def above(name: str, value: Any, bound: float) -> float:
    """A real number above a bound; it may be inf."""
    condition = f"to be a number > {bound:g}, or inf"
    return _number(name, value, condition, math.nextafter(bound, math.inf))


def probability(name: str, value: Any) -> float:
    """A number in [0, 1]."""
    return _number(name, value, "in [0, 1]", 0.0, 1.0)


def target_delta(name: str, value: Any) -> float:
    """A delta at which epsilon is asked for: in [0, 1); 0 asks for pure differential privacy."""
    return _number(name, value, "in [0, 1)", 0.0, _BELOW_ONE)


def open_probability(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    return _number(name, value, "in (0, 1)", _ABOVE_ZERO, _BELOW_ONE)


def order(name: str, value: Any) -> float:
    """One finite Renyi order above 1."""
    least = math.nextafter(1.0, 2.0)
    return _number(name, value, "to be a finite Renyi order > 1", least, _LARGEST)


def integer(name: str, value: Any, *, minimum: int = 1, maximum: int | None = None) -> int:
    """An integer in [minimum, maximum]; integral floats are not accepted as integers.

    Without a maximum the largest is 10^15, which floats still hold exactly.
    """
    condition = f"to be an integer >= {minimum}"
    if maximum is not None:
        condition = f"to be an integer in [{minimum}, {maximum}]"
    elif isinstance(value, numbers.Integral) and int(value) > LARGEST_INTEGER:
        condition = f"to be an integer in [{minimum}, 10^15]"
        maximum = LARGEST_INTEGER
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise fail(name, condition, value)
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        raise fail(name, condition, value)
    return number


def integers(name: str, value: Any, *, minimum: int = 1) -> tuple[int, ...]:
    """A non-empty sequence of integers, each at least ``minimum``."""
    condition = f"to be a non-empty sequence of integers >= {minimum}"
    unordered = isinstance(value, (str, bytes, set, frozenset, Mapping))
    if unordered or not isinstance(value, (Iterable, np.ndarray)):
        raise fail(name, condition, value)
    items = list(value)
    if not items:
        raise fail(name, condition, value)
    return tuple(integer(f"{name}[{i}]", item, minimum=minimum) for i, item in enumerate(items))


def no_such(name: str, value: Any, options: Iterable[str]) -> ValueError:
    """The error for a name that is none of those accepted; it suggests the nearest."""
    accepted = tuple(options)
    error = fail(name, "to be one of " + ", ".join(repr(o) for o in accepted), value)
    return ValueError(f"{error}{did_you_mean(value, accepted)}")


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """One of a few names."""
    accepted = tuple(options)
    if not isinstance(value, str) or value not in accepted:
        raise no_such(name, value, accepted)
    return value


def real_array(name: str, value: Any, condition: str) -> Array:
    """An array of real numbers, as float64, with no NaN in it."""
    try:
        raw = np.asarray(value)
    except ValueError:
        raise fail(name, condition, value) from None
    if raw.dtype == object:
        try:
            raw = np.array([_number(name, v, condition) for v in raw.ravel()]).reshape(raw.shape)
        except TypeError:
            raise fail(name, condition, value) from None
    if raw.dtype.kind not in "iuf":
        raise fail(name, condition, value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, (bool, np.bool_)) for v in value):
        raise fail(name, condition, value)
    array = raw.astype(np.float64)
    if np.isnan(array).any():
        raise fail(name, condition, value)
    return array


def orders(name: str, value: Any) -> Array:
    """Renyi orders: array-like of shape (k,) (a single number counts as k = 1), each > 1."""
    condition = "to be finite Renyi orders > 1, of shape (k,) with k >= 1"
    array = np.atleast_1d(real_array(name, value, condition))
    if array.ndim != 1 or array.size == 0:
        raise fail(name, condition, value)
    if not (np.isfinite(array).all() and (array > 1.0).all()):
        raise fail(name, condition, value)
    return array


def divergences(name: str, value: Any, *, like: Array) -> Array:
    """Renyi divergences: as many as there are orders, none negative, none NaN; inf is allowed."""
    condition = f"to be divergences >= 0, of shape ({like.size},) as orders has"
    array = np.atleast_1d(real_array(name, value, condition))
    if array.shape != like.shape or (array < 0.0).any():
        raise fail(name, condition, value)
    return array


def one_of_a_kind(name: str, value: Any, kind: type[Any] | tuple[type[Any], ...]) -> Any:
    """An instance of a class."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds):
        raise fail(name, "to be " + " or ".join(k.__name__ for k in kinds), value)
    return value


def by_name(
    **about: str,  # What else to say where the argument of that name is missing
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for public functions: a call with the wrong arguments is one line that helps."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                signature.bind(*args, **kwargs)
            except TypeError:
                raise wrong_call(function.__name__, signature, args, kwargs, about) from None
            return function(*args, **kwargs)

        return wrapped

    return decorate


def wrong_call(
    name: str,  # What is called
    signature: inspect.Signature,  # Of what is called, without ``self``
    # The call.
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    # What else to say where the argument of that name is missing.
    about: Mapping[str, str] = MappingProxyType({}),
) -> TypeError:
    """The error about a call whose arguments do not fit a signature: one line that names them."""
    parameters = signature.parameters.values()
    first = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    required = [p.name for p in parameters if p.default is p.empty]
    optional = [p.name for p in parameters if p.default is not p.empty]
    shown = ", ".join(one if one in first else f"{one}=..." for one in required)
    usage = f"{name}({shown})" + (f"; optional: {', '.join(optional)}" if optional else "")
    if len(args) > len(first):
        which = "all arguments but the first" if first else "its arguments"
        return TypeError(f"{name}() takes {which} by name: {usage}.")
    for key in kwargs:
        if key not in signature.parameters:
            hint = did_you_mean(key, signature.parameters)
            return TypeError(f"{name}() has no argument {key!r}.{hint} It is called as {usage}.")
    missing = [one for one in required if one not in kwargs and one not in first[: len(args)]]
    if not missing:
        return TypeError(f"{name}() got {first[0]!r} twice; it is called as {usage}.")
    words = [about[one] for one in missing if one in about]
    if len(missing) > len(words):
        words.insert(0, f"it is called as {usage}")
    needed = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
    return TypeError(f"{name}() needs {needed}: {'. '.join(words)}.")
