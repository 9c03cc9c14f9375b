"""Taps of SmartNoise SQL: the noise on exact answers, group by group, and inferred bounds."""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator

from ..generators import replaced
from ..tape import current

_FAMILIES = {"Laplace": "laplace", "Gaussian": "normal"}
_ROW_FUNCTION = "randomize_row_values"


@contextmanager
def tapped() -> Iterator[None]:
    """The noise of its mechanisms goes to the current tape."""
    from snsql.sql._mechanisms import base  # noqa: PLC0415 - only where it is installed

    with ExitStack() as stack:
        bounds = sys.modules.get("snsql.sql._mechanisms.approx_bounds")
        if bounds is not None:
            replaced(stack, bounds, "make_laplace", _measurement)
        for kind in base.AdditiveNoiseMechanism.__subclasses__():
            if "release" in vars(kind):
                replaced(stack, kind, "release", _released(vars(kind)["release"]))
        yield


def _measurement(domain: Any, metric: Any, scale: float) -> Callable[[float], Any]:
    """Noise on a count, which may be zero."""
    from opendp.measurements import make_laplace  # noqa: PLC0415 - as above

    measure = make_laplace(domain, metric, scale)

    def measured(value: float) -> Any:
        tape = current()
        if tape is None:
            return measure(value)
        return tape.call(
            "Laplace noise",
            lambda: measure(value),
            parameters={"scale": scale},
            value=value,
            family="laplace",
            scale=scale,
        )

    return measured


def _released(draw: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(draw)
    def release(self: Any, vals: Any) -> Any:
        tape = current()
        if tape is None:
            return draw(self, vals)
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

    return release


def _group() -> str:
    """Of which group the answer is that gets noise: groups are matched by what they are called."""
    frame = sys._getframe(2)
    for _ in range(4):
        if frame is None:
            break
        if frame.f_code.co_name == _ROW_FUNCTION:
            mechanisms, row = frame.f_locals.get("mechs", ()), frame.f_locals.get("row_in", ())
            keys = [one for mechanism, one in zip(mechanisms, row) if mechanism is None]
            return " of group %r" % (tuple(map(str, keys)),) if keys else ""
        frame = frame.f_back  # type: ignore[assignment]
    return ""
