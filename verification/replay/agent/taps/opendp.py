"""Taps of OpenDP: measurements. Their noise is drawn in compiled code."""

from __future__ import annotations

import functools
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from ..generators import replaced
from ..noise import noise
from ..tape import current

# Metrics that count a record that is replaced as two, and those that count it as one.
_COUNT_BOTH = ("SymmetricDistance", "InsertDeleteDistance")
_COUNT_ONE = ("ChangeOneDistance", "HammingDistance")


@contextmanager
def tapped() -> Iterator[None]:
    """Calls of its measurements go to the current tape."""
    from opendp.mod import Measurement  # noqa: PLC0415 - only where it is installed

    # What a measurement says of its privacy, asked once: an error of the library takes long.
    said: Dict[int, Tuple[Any, Dict[str, Any]]] = {}
    with ExitStack() as stack:
        for name in ("__call__", "invoke"):
            if name in vars(Measurement):
                replaced(stack, Measurement, name, _called(vars(Measurement)[name], said))
        yield


def _called(
    draw: Callable[..., Any], said: Dict[int, Tuple[Any, Dict[str, Any]]]
) -> Callable[..., Any]:
    @functools.wraps(draw)
    def call(self: Any, value: Any) -> Any:
        tape = current()
        if tape is None:
            return draw(self, value)
        metric = str(self.input_metric)
        alone = _noise_alone(self, value, metric)
        if alone is not None:
            found = tape.call("noise of a measurement", lambda: draw(self, value))
            return noise(found, *alone)
        # Kept with the measurement, lest another one gets its place in memory.
        if id(self) not in said:
            said[id(self)] = self, _parameters(self, metric)
        return tape.call(
            "measurement",
            lambda: draw(self, value),
            parameters=said[id(self)][1],
            value=_hidden(value),
            declared=_declared(self, metric, tape.distance),
        )

    return call


def _noise_alone(self: Any, value: Any, metric: str) -> Optional[Tuple[str, float]]:
    """The family and scale of noise that code draws on a zero, to add it to a value itself."""
    if (
        not metric.startswith("AbsoluteDistance")
        or isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value
    ):
        return None
    try:
        spent = float(self.map(1.0 if isinstance(value, float) else 1))
    except Exception:  # a distance of another type, or one that is not covered
        return None
    if "MaxDivergence" in str(self.output_measure):
        return "laplace", 1.0 / spent
    if "ZeroConcentrated" in str(self.output_measure):
        return "normal", (2.0 * spent) ** -0.5
    return None


def _hidden(value: Any) -> Any:
    """The value, or nothing where it is an object of OpenDP that cannot be compared."""
    return None if type(value).__module__.startswith("opendp") else value


def _parameters(self: Any, metric: str) -> Dict[str, Any]:
    """What the noise depends on: the metrics, and what is spent at a few distances."""
    found: Dict[str, Any] = {"metric": metric, "measure": str(self.output_measure)}
    for distance in (1, 2, 1.0, 2.0):
        try:
            spent = repr(self.map(distance))
        except Exception as error:  # a distance of another type, or one that is not covered
            spent = type(error).__name__
        found["spent at %r" % distance] = spent
    return found


def _declared(self: Any, metric: str, records: int) -> Optional[Tuple[float, float]]:
    """What one record spends, where the metric counts records and the measure is epsilon."""
    if not metric.startswith((*_COUNT_BOTH, *_COUNT_ONE)):
        return None
    try:
        found = self.map(1 if metric.startswith(_COUNT_ONE) else records)
    except Exception:  # as above
        return None
    if isinstance(found, tuple) and len(found) == 2:
        return float(found[0]), float(found[1])
    is_epsilon = "MaxDivergence" in str(self.output_measure)
    return (float(found), 0.0) if is_epsilon and isinstance(found, (int, float)) else None
