"""Noise that remembers what it is until it meets a value.

Code of one's own calls a generator, and adds what it draws to a value somewhere else. So a draw of
centred noise is given out as a number, or an array, that knows its distribution. Multiplied by a
constant it is noise of another scale; added to a value it makes a noisy value, and this sum is the
call of a primitive: what it hides is the value. Whatever else is done with it gives plain numbers,
and the tape remembers that noise escaped.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from .tape import Tape, current, escapes

# Noise of a family less independent noise of the same family and scale.
_DIFFERENCE = {"geometric": "discrete laplace", "exponential": "laplace"}
_SCALED = ("normal", "laplace", "exponential", "gumbel")
_CENTRED = ("normal", "laplace", "gumbel", "discrete laplace")


def noise(drawn: Any, family: str, scale: Any, origin: Any = ()) -> Any:
    """A draw that knows its family, its scale, and which draws it is made of."""
    if not origin:
        tape = current()
        origin = () if tape is None else (tape.drawn(),)
    if isinstance(drawn, (float, int, np.floating, np.integer)) and np.ndim(scale) == 0:
        found: Any = NoisyNumber(drawn)
    else:
        found = np.asarray(drawn).view(NoisyArray)
    found.family, found.scale, found.origin = family, scale, origin
    return found


def plain(value: Any) -> Any:
    """The same numbers without their memory."""
    if isinstance(value, NoisyNumber):
        return float(value)
    if isinstance(value, NoisyArray):
        return np.asarray(value)
    if type(value).__name__ == "NoisyTensor":
        return value.plain()
    if isinstance(value, (list, tuple)) and any(
        isinstance(one, (NoisyNumber, NoisyArray)) for one in value
    ):
        return type(value)(map(plain, value))
    return value


def _combined(ufunc: Any, method: str, inputs: Tuple[Any, ...], given: Any) -> Any:
    """The result of an operation with noise in it."""
    values = [plain(one) for one in inputs]
    compute = functools.partial(getattr(ufunc, method), *values, **given)
    if method == "__call__" and not given.get("out"):
        kinds = [getattr(one, "family", "") for one in inputs]
        if len(inputs) == 1 and ufunc is np.negative and kinds[0] in _CENTRED:
            return noise(compute(), kinds[0], inputs[0].scale, inputs[0].origin)
        if len(inputs) == 2:
            found = _of_two(ufunc, inputs, values, kinds, compute)
            if found is not None:
                return found
    escapes()
    return compute()


def _of_two(
    ufunc: Any, inputs: Any, values: Any, kinds: Any, compute: Callable[[], Any]
) -> Optional[Any]:
    """The result where it is noise or a noisy value; None where it is not followed."""
    first, second = kinds
    if first and second:
        return _of_noises(ufunc, inputs, kinds, compute)
    place = 0 if first else 1
    family, scale, other = kinds[place], inputs[place].scale, values[1 - place]
    if not _numbers(other):
        return None
    if ufunc in (np.multiply, np.true_divide) and family in _SCALED:
        if ufunc is np.true_divide and place == 1:
            return None
        by = np.abs(other) if ufunc is np.multiply else 1.0 / np.abs(other)
        if np.any(np.asarray(by) == 0.0) or not np.all(np.isfinite(by)):
            return None
        if family == "exponential" and np.any(np.asarray(other) < 0.0):
            return None
        return noise(compute(), family, scale * by, inputs[place].origin)
    if ufunc in (np.add, np.subtract) and family in _CENTRED:
        return noisy_value(other, inputs[place], compute)
    return None


def _of_noises(ufunc: Any, inputs: Any, kinds: Any, compute: Callable[[], Any]) -> Optional[Any]:
    first, second = kinds
    scale, other = inputs[0].scale, inputs[1].scale
    origin = inputs[0].origin + inputs[1].origin
    if first != second:
        return None
    if ufunc is np.subtract and first in _DIFFERENCE and np.array_equal(scale, other):
        return noise(compute(), _DIFFERENCE[first], scale, origin)
    if ufunc in (np.add, np.subtract) and first == "normal":
        return noise(compute(), first, np.sqrt(np.square(scale) + np.square(other)), origin)
    return None


def _numbers(value: Any) -> bool:
    if not isinstance(value, (int, float, np.number, np.ndarray, list)):
        return False
    return np.asarray(value).dtype.kind in ("b", "i", "u", "f")


def noisy_value(
    value: Any,  # What the noise hides
    drawn: Any,  # The noise
    compute: Callable[[], Any],  # Puts the two together
    *,
    numbers: Any = None,  # Those of the noise, where it is a tensor
) -> Any:
    """A value with noise on it, which is the call of a primitive."""
    tape = current()
    if tape is None:
        return compute()
    for one in drawn.origin:
        one.followed = True
    origin = tuple(one.number for one in drawn.origin)
    # An integer may come twice by chance; a number with a fraction does not.
    known = (
        {"noise": plain(drawn) if numbers is None else numbers, "origin": origin}
        if drawn.family in _SCALED
        else {}
    )
    return given_value(tape, value, drawn.family, drawn.scale, compute, **known)


def given_value(
    tape: Tape,
    value: Any,
    family: str,
    scale: Any,
    compute: Callable[[], Any],
    **known: Any,
) -> Any:
    """The call of a primitive that hides a value with noise of a family and a scale."""
    return again(
        tape,
        family + (" draw" if family == "categorical" else " noise"),
        compute,
        parameters={"scale": scale, "shape": list(np.shape(value))},
        value=value,
        family=family,
        scale=scale,
        **known,
    )


def drawn_around(
    tape: Tape, centre: Any, family: str, scale: Any, compute: Callable[[], Any]
) -> Any:
    """Noise that is drawn around a location, which is the value that it hides.

    A location of 0 may be such a value as well, or none: then what is drawn is noise, which may be
    put on another value later.
    """
    found = given_value(tape, centre, family, scale, compute)
    return found if np.any(centre) else noise(found, family, scale)


def amount_of(given: Any) -> Any:
    """What an argument of a draw says of its size: the shape of an array, or a number itself."""
    return given if isinstance(given, (int, np.integer)) else list(np.shape(given))


def again(
    tape: Tape,
    name: str,
    compute: Callable[[], Any],
    *,
    allowed: Callable[[Any], bool] = lambda answer: True,
    **stated: Any,
) -> Any:
    """The answer of a call of the earlier run, or as much of it as has its place in this one.

    Where noise is drawn for every record, one record more or less is an entry at the end; all
    others are answered as before.
    """
    fresh: List[Any] = []
    earlier: List[Any] = []

    def draw() -> Any:
        if not fresh:
            fresh.append(compute())
        return fresh[0]

    def fits(answer: Any) -> bool:
        earlier.append(answer)
        return bool(np.shape(answer) == np.shape(draw())) and allowed(answer)

    found = tape.call(name, draw, fits=fits, **stated)
    if not earlier or np.ndim(found) == 0 or np.shape(earlier[0]) == np.shape(found):
        return found
    if not isinstance(found, np.ndarray) or np.shape(earlier[0])[1:] != np.shape(found)[1:]:
        return found
    if name == "permutation":
        # One of as many numbers as are wanted that agrees with the earlier one.
        kept = [one for one in np.asarray(earlier[0]).tolist() if one < len(found)]
        rest = sorted(set(range(len(found))).difference(kept))
        return np.array(kept + rest, dtype=int)
    common = min(len(earlier[0]), len(found))
    found[:common] = earlier[0][:common]
    return found


class NoisyArray(np.ndarray):
    """An array of noise."""

    family = ""
    scale: Any = 1.0
    origin: Any = ()

    def __array_finalize__(self, obj: Any) -> None:
        """Keep the family and the scale where every entry has the same."""
        scale = getattr(obj, "scale", 1.0)
        if np.ndim(scale) == 0 or np.shape(scale) == self.shape:
            self.family, self.scale = getattr(obj, "family", ""), scale
            self.origin = getattr(obj, "origin", ())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **given: Any) -> Any:
        """What an operation of numpy gives."""
        given = {key: plain(one) if key != "out" else one for key, one in given.items()}
        out = given.get("out")
        if out is not None and any(isinstance(one, NoisyArray) for one in out):
            return self._in_place(ufunc, method, inputs, out[0])
        if out is not None and method == "__call__":
            # value += noise: the noisy value is written where the value was.
            found = _combined(ufunc, method, inputs, {})
            out[0][...] = plain(found)
            return out[0]
        return _combined(ufunc, method, inputs, given)

    def _in_place(self, ufunc: Any, method: str, inputs: Any, out: NoisyArray) -> Any:
        found = _combined(ufunc, method, inputs, {})
        np.asarray(out)[...] = plain(found)
        out.family, out.scale = getattr(found, "family", ""), getattr(found, "scale", 1.0)
        out.origin = getattr(found, "origin", ())
        return out if out.family else np.asarray(out)

    def __getitem__(self, key: Any) -> Any:
        """Some of the entries, with their scales."""
        drawn = np.asarray(self)[key]
        scale = self.scale if np.ndim(self.scale) == 0 else np.asarray(self.scale)[key]
        if not self.family:
            return drawn
        if np.ndim(drawn) == 0:
            drawn = drawn.item()
        return noise(drawn, self.family, scale, self.origin)

    def __iter__(self) -> Any:
        """The entries, one after the other."""
        return (self[place] for place in range(len(self)))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """What a function of numpy gives: plain numbers."""
        if self.family:
            escapes()
        return function(*map(plain, args), **{key: plain(one) for key, one in kwargs.items()})

    def item(self, *args: Any) -> Any:
        """One entry, with its memory."""
        drawn = np.asarray(self).item(*args)
        scale = self.scale if np.ndim(self.scale) == 0 else np.asarray(self.scale).item(*args)
        return noise(drawn, self.family, scale, self.origin) if self.family else drawn

    def __float__(self) -> float:
        """The number, without its memory."""
        if self.family:
            escapes()
        return float(np.asarray(self))

    def __reduce__(self) -> Any:
        """Copies and files hold plain numbers."""
        return np.asarray(self).__reduce__()

    def __deepcopy__(self, memory: Any) -> Any:
        """A copy remembers what it is."""
        return noise(np.array(np.asarray(self)), self.family, self.scale, self.origin)


class NoisyNumber(float):
    """A number of noise."""

    family = ""
    scale: Any = 1.0
    origin: Any = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **given: Any) -> Any:
        """What an operation with arrays gives."""
        out = given.pop("out", None)
        found = _combined(ufunc, method, inputs, given)
        if out is None:
            return found
        out[0][...] = plain(found)
        return out[0]

    def __reduce__(self) -> Any:
        """Copies and files hold plain numbers."""
        return float, (float(self),)

    def __deepcopy__(self, memory: Any) -> NoisyNumber:
        """A copy remembers what it is."""
        return self

    def __hash__(self) -> int:
        """As that of the number."""
        return float.__hash__(self)

    def __array__(self, *args: Any, **given: Any) -> Any:
        """A plain array."""
        return np.array(float(self), *args, **given)


def _operator(ufunc: Any, swapped: bool) -> Callable[[Any, Any], Any]:
    def operate(self: NoisyNumber, other: Any) -> Any:
        if not isinstance(other, (int, float, np.number, np.ndarray)):
            return NotImplemented
        inputs = (other, self) if swapped else (self, other)
        found = _combined(ufunc, "__call__", inputs, {})
        return found.item() if isinstance(found, np.generic) else found

    return operate


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "pow": np.power,
    "mod": np.remainder,
    "floordiv": np.floor_divide,
}.items():
    setattr(NoisyNumber, "__%s__" % _name, _operator(_ufunc, False))
    if _name not in ("lt", "le", "gt", "ge"):
        setattr(NoisyNumber, "__r%s__" % _name, _operator(_ufunc, True))
NoisyNumber.__neg__ = lambda self: noise(-float(self), self.family, self.scale, self.origin)  # type: ignore
NoisyNumber.__abs__ = lambda self: _combined(np.absolute, "__call__", (self,), {})  # type: ignore
for _name in ("__int__", "__round__", "__trunc__", "__floor__", "__ceil__"):

    def _escaping(self: Any, *args: Any, _of: str = _name) -> Any:
        escapes()
        number = float(self)
        if _of in ("__floor__", "__ceil__"):
            return getattr(math, _of.strip("_"))(number)
        return getattr(number, _of)(*args)

    setattr(NoisyNumber, _name, _escaping)
