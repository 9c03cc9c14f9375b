"""Taps of SmartNoise SQL: the noise on exact answers, group by group, and inferred bounds."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any, Callable

from ..tape import tap_method

_FAMILIES = {"Laplace": "laplace", "Gaussian": "normal"}
_ROW_FUNCTION, _MOST_FRAMES = "randomize_row_values", 5


def tap(stack: ExitStack) -> None:
    """Tap the noise of its mechanisms."""
    from snsql.sql._mechanisms import base  # noqa: PLC0415 - only where it is installed

    bounds = sys.modules.get("snsql.sql._mechanisms.approx_bounds")
    if bounds is not None:
        tap_method(stack, bounds, "make_laplace", _measurement)
    for kind in base.AdditiveNoiseMechanism.__subclasses__():
        tap_method(stack, kind, "release", _released)


def _measurement(
    tape: Any, make: Callable[..., Any], domain: Any, metric: Any, scale: float
) -> Callable[[float], Any]:
    """Noise on a count, which may be zero."""
    measure = make(domain, metric, scale)
    return lambda value: tape.call(
        "Laplace noise",
        lambda: measure(value),
        parameters={"scale": scale},
        value=value,
        family="laplace",
        scale=scale,
    )


def _released(tape: Any, draw: Callable[..., Any], self: Any, vals: Any) -> Any:
    bound = max(abs(float(self.lower)), abs(float(self.upper)))
    name = type(self).__name__
    return tape.call(
        "%s noise%s" % (name, _group()),
        lambda: draw(self, vals),
        parameters={"scale": self.scale, "epsilon": self.epsilon, "bound": bound},
        value=[float(one) for one in vals],
        sensitivity=bound * self.max_contrib,
        family=_FAMILIES.get(name, ""),
        scale=self.scale,
    )


def _group() -> str:
    """Of which group the answer is that gets noise: groups are matched by what they are called."""
    frame: Any = sys._getframe(2)
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        if frame.f_code.co_name == _ROW_FUNCTION:
            mechanisms, row = frame.f_locals.get("mechs", ()), frame.f_locals.get("row_in", ())
            keys = [one for mechanism, one in zip(mechanisms, row) if mechanism is None]
            return " of group %r" % (tuple(map(str, keys)),) if keys else ""
        frame = frame.f_back
    return ""
