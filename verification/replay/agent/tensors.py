"""Taps of torch's draws, and tensors of noise that remember what they are.

A tensor of centred noise is followed as an array is (:mod:`noise`): views, multiples and sums of
noise are noise, and a tensor with noise added to it is the call of a primitive. Whatever else is
done with it is remembered as escaped. Draws of jax need no tap: they follow from their key, and a
key comes from a generator that is tapped, or from nowhere.
"""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from .noise import again, amount_of, given_value, noisy_value
from .tape import Tape, current, escapes, replaced, seeding, taped

_FUNCTIONS = ("randn", "rand", "randn_like", "rand_like", "randperm", "randint", "normal",
              "bernoulli", "multinomial", "poisson")  # fmt: skip
_IN_PLACE = ("normal_", "uniform_", "exponential_", "bernoulli_", "random_")
# Operations that give noise of the same scale in another shape, on another device or type.
_VIEWS = ("view", "view_as", "reshape", "flatten", "squeeze", "unsqueeze", "expand", "expand_as",
          "clone", "detach", "contiguous", "to", "float", "double", "half", "cpu", "cuda",
          "__getitem__", "transpose", "permute", "t", "type", "type_as", "alias")  # fmt: skip
_SUMS = ("add", "__add__", "__radd__", "add_", "__iadd__", "sub", "__sub__", "sub_", "__isub__",
         "__rsub__", "rsub", "subtract")  # fmt: skip
_MULTIPLES = ("mul", "__mul__", "__rmul__", "mul_", "__imul__", "multiply", "div", "__truediv__",
              "true_divide", "div_", "__itruediv__", "neg", "__neg__")  # fmt: skip
_CLASSES: List[Any] = []


def tap_torch(stack: ExitStack) -> None:
    """Draws of torch go to the tape that is current."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    of_laplace = torch.distributions.Laplace
    for owner, names, answer in (
        (torch, _FUNCTIONS, _drawn),
        (torch.Tensor, _IN_PLACE, _drawn_in_place),
        (of_laplace, ("rsample",), _laplace),
    ):
        for name in names:
            draw = taped(getattr(owner, name), functools.partial(answer, name), inside=True)
            replaced(stack, owner, name, draw)
    replaced(stack, torch, "manual_seed", seeding(torch.manual_seed))


def _tensor_class() -> Any:
    """The class of tensors of noise; torch is only there where the examined code imports it."""
    if not _CLASSES:
        torch = sys.modules["torch"]

        class NoisyTensor(torch.Tensor):  # type: ignore[name-defined, misc]
            """A tensor of noise."""

            family = ""
            scale: Any = 1.0
            origin: Any = ()

            def plain(self) -> Any:
                """The tensor without its memory."""
                return _plain(self)

            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                """What an operation of torch gives."""
                return _operated(func, args, kwargs or {})

        _CLASSES.append(NoisyTensor)
    return _CLASSES[0]


def _noise(drawn: Any, family: str, scale: Any, origin: Any = ()) -> Any:
    tape = current()
    if tape is None:
        return drawn
    found = drawn.as_subclass(_tensor_class())
    found.family, found.scale = family, scale
    found.origin = origin or (tape.drawn(),)
    return found


def _plain(value: Any) -> Any:
    """The same without memory, also within lists."""
    if _CLASSES and isinstance(value, _CLASSES[0]):
        return value.as_subclass(sys.modules["torch"].Tensor)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value


def _operated(func: Any, args: Tuple[Any, ...], given: Dict[str, Any]) -> Any:
    """The result of an operation with tensors of noise in it."""
    values = tuple(map(_plain, args))
    named = {key: _plain(one) for key, one in given.items()}
    compute = functools.partial(func, *values, **named)
    name = getattr(func, "__name__", "")
    if name == "__get__":
        # An attribute, such as the shape.
        return compute()
    noisy = [one for one in args if _CLASSES and isinstance(one, _CLASSES[0])]
    if current() is not None and noisy:
        first = noisy[0]
        if name in _VIEWS and args[0] is first:
            drawn, is_tensor = compute(), sys.modules["torch"].is_tensor
            return (
                _noise(drawn, first.family, first.scale, first.origin)
                if is_tensor(drawn)
                else drawn
            )
        if name in _MULTIPLES and len(noisy) == 1:
            found = _multiple(name, args, first, compute)
            if found is not None:
                return found
        if name in _SUMS and len(args) == 2:
            found = _sum(name, args, noisy, given, compute)
            if found is not None:
                return found
    if name not in ("size", "dim", "numel", "__len__", "is_floating_point"):
        escapes()
    return compute()


def _multiple(name: str, args: Any, noisy: Any, compute: Callable[[], Any]) -> Any:
    """Noise times, or divided by, a number."""
    if name in ("neg", "__neg__"):
        return _noise(compute(), noisy.family, noisy.scale, noisy.origin)
    other = args[1] if args[0] is noisy else args[0]
    divided = name in ("div", "__truediv__", "true_divide", "div_", "__itruediv__")
    if np.size(_numbers(other)) != 1 or (divided and args[0] is not noisy):
        return None
    by = abs(float(_numbers(other)))
    if by == 0.0:
        return None
    found = compute()
    return _noise(found, noisy.family, noisy.scale * (1.0 / by if divided else by), noisy.origin)


def _sum(name: str, args: Any, noisy: Any, given: Any, compute: Callable[[], Any]) -> Any:
    """Noise on noise, or noise on a value, which is the call of a primitive."""
    torch = sys.modules["torch"]
    drawn = noisy[0]
    alpha = float(given.get("alpha", 1.0))
    if len(noisy) == 2:
        one, other = noisy
        if one.family != "normal" or other.family != "normal":
            return None
        scale = float(np.hypot(one.scale, alpha * other.scale))
        return _noise(compute(), "normal", scale, one.origin + other.origin)
    value = args[0] if args[1] is drawn else args[1]
    if alpha != 1.0:
        if args[1] is not drawn:
            return None
        drawn = _noise(alpha * _plain(drawn), drawn.family, alpha * drawn.scale, drawn.origin)
    in_place = name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))
    hidden = _numbers(value)
    result = compute()
    numbers = noisy_value(hidden, drawn, lambda: _numbers(result), numbers=_numbers(drawn))
    with torch.no_grad():
        back = torch.as_tensor(np.asarray(numbers), dtype=result.dtype, device=result.device)
        if in_place:
            _plain(args[0]).copy_(back)
            return args[0]
    return back.reshape(result.shape)


def _numbers(value: Any) -> Any:
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        return _plain(value).detach().cpu().numpy().copy()
    return np.asarray(value, dtype=float)


def _drawn(name: str, tape: Tape, draw: Callable[..., Any], *args: Any, **given: Any) -> Any:
    if name in ("randn", "randn_like"):
        return _noise(_again(tape, name, draw, args, given), "normal", 1.0)
    if name == "normal" and not given.get("out"):
        mean = given.get("mean", args[0] if args else 0.0)
        scale = _numbers(given.get("std", args[1] if len(args) > 1 else 1.0))
        if np.size(scale) and np.all(scale == np.ravel(scale)[0]):
            scale = float(np.ravel(scale)[0])
        whole = functools.partial(draw, *args, **given)
        return _value_drawn(tape, _numbers(mean), "normal", scale, whole)
    tape.escapes()
    return _again(tape, name, draw, args, given)


def _drawn_in_place(
    name: str, tape: Tape, draw: Callable[..., Any], self: Any, *args: Any, **given: Any
) -> Any:
    tape.escapes()
    parameters = [float(one) for one in args if isinstance(one, (int, float))]
    found = _again(tape, name, draw, (self, *args), given, scale=parameters)
    with sys.modules["torch"].no_grad():
        self.copy_(found)
    return self


def _laplace(
    name: str, tape: Tape, draw: Callable[..., Any], self: Any, *args: Any, **given: Any
) -> Any:
    scale = _numbers(self.scale)
    scale = float(scale) if scale.ndim == 0 else scale
    whole = functools.partial(draw, self, *args, **given)
    return _value_drawn(tape, _numbers(self.loc), "laplace", scale, whole)


def _value_drawn(tape: Tape, value: Any, family: str, scale: Any, draw: Callable[[], Any]) -> Any:
    """A value with noise on it that one call of torch draws."""
    torch = sys.modules["torch"]
    like: List[Any] = []

    def compute() -> Any:
        like.append(_plain(draw()))
        return _numbers(like[0])

    found = torch.as_tensor(np.asarray(given_value(tape, value, family, scale, compute)))
    found = found.to(like[0].dtype) if like else found
    # A location of 0 may be a value, or none: then what is drawn may be put on one later.
    return found if np.any(value) else _noise(found, family, scale)


def _again(
    tape: Tape, name: str, draw: Callable[..., Any], args: Any, given: Any, *, scale: Any = None
) -> Any:
    """A drawn tensor, or the one of the earlier run."""
    torch = sys.modules["torch"]
    drawn: List[Any] = []

    def compute() -> Any:
        drawn.append(_plain(draw(*map(_plain, args), **given)))
        return _numbers(drawn[0])

    amount = [amount_of(one) for one in args if not hasattr(one, "requires_grad")]
    found = again(tape, "torch." + name, compute, parameters={"scale": scale}, amount=amount)
    found = torch.as_tensor(np.asarray(found))
    return found.to(drawn[0].device, drawn[0].dtype) if drawn else found
