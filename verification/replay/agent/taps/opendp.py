"""Taps of OpenDP: measurements. Their noise is drawn in compiled code."""

from __future__ import annotations

import functools
from contextlib import ExitStack
from typing import Any, Callable, Dict, Optional, Tuple

from ..noise import noise
from ..tape import tap_method

# Metrics that count a record that is replaced as two, and those that count it as one.
_COUNT_BOTH = ("SymmetricDistance", "InsertDeleteDistance")
_COUNT_ONE = ("ChangeOneDistance", "HammingDistance")


def tap(stack: ExitStack) -> None:
    """Tap its measurements."""
    from opendp.mod import Measurement  # noqa: PLC0415 - only where it is installed

    # What a measurement says of its privacy, asked once: an error of the library takes long. It is
    # kept with the measurement, lest another one gets its place in memory.
    said: Dict[int, Tuple[Any, Dict[str, Any]]] = {}
    for name in ("__call__", "invoke"):
        tap_method(stack, Measurement, name, functools.partial(_called, said), inside=True)


def _called(
    said: Dict[int, Tuple[Any, Dict[str, Any]]],
    tape: Any,
    draw: Callable[..., Any],
    self: Any,
    value: Any,
) -> Any:
    metric = str(self.input_metric)
    alone = _noise_alone(self, value, metric)
    if alone is not None:
        return noise(tape.call("noise of a measurement", lambda: draw(self, value)), *alone)
    if id(self) not in said:
        said[id(self)] = self, _parameters(self, metric)
    return tape.call(
        "measurement",
        lambda: draw(self, value),
        parameters=said[id(self)][1],
        value=_hidden(value),
        declared=_declared(self, metric, tape.distance),
    )


def _spent(self: Any, distance: Any) -> Any:
    """What is spent at a distance; its error where it is of another type, or not covered."""
    try:
        return self.map(distance)
    except Exception as error:  # whatever the library raises
        return error


def _noise_alone(self: Any, value: Any, metric: str) -> Optional[Tuple[str, float]]:
    """The family and scale of noise that code draws on a zero, to add it to a value itself."""
    if not metric.startswith("AbsoluteDistance") or type(value) not in (int, float) or value:
        return None
    spent = _spent(self, type(value)(1))
    if not isinstance(spent, (int, float)):
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
        spent = _spent(self, distance)
        is_error = isinstance(spent, Exception)
        found["spent at %r" % distance] = type(spent).__name__ if is_error else repr(spent)
    return found


def _declared(self: Any, metric: str, records: int) -> Optional[Tuple[float, float]]:
    """What one record spends, where the metric counts records and the measure is epsilon."""
    if not metric.startswith((*_COUNT_BOTH, *_COUNT_ONE)):
        return None
    found = _spent(self, 1 if metric.startswith(_COUNT_ONE) else records)
    if isinstance(found, tuple) and len(found) == 2:
        return float(found[0]), float(found[1])
    is_epsilon = "MaxDivergence" in str(self.output_measure)
    return (float(found), 0.0) if is_epsilon and isinstance(found, (int, float)) else None
