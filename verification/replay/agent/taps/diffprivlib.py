"""Taps of diffprivlib: its mechanisms, outermost calls only, and what is private as a whole."""

from __future__ import annotations

import functools
import inspect
import sys
from contextlib import ExitStack
from typing import Any, Callable, Dict, Iterator, List, Optional

import numpy as np

from ..generators import replace_everywhere
from ..slices import line_of_argument
from ..tape import Place, is_of_the_agent, places_here, tap_method, taped

# Attributes of a mechanism that hold what it hides, and no parameter of its noise.
_HIDDEN = ("utility",)
# Mechanisms whose loss is at most epsilon times what moves over the sensitivity.
_PROPORTIONAL = (
    "Laplace", "LaplaceTruncated", "LaplaceFolded", "LaplaceBoundedDomain", "Snapping",
    "Geometric", "GeometricTruncated", "GeometricFolded",
)  # fmt: skip
_NORMAL = ("Gaussian", "GaussianAnalytic")
# What the sensitivity of a mechanism bounds, where that is not a single number.
_LENGTHS = {"Exponential": "largest", "PermuteAndFlip": "largest", "Bingham": "spectral"}
# Where the utility of an interval between records is looked at, as parts of the range.
_GRID = (np.arange(200) + 0.382) / 200
_BUILT: List[Any] = []
"""The mechanisms that were constructed since the list was emptied."""


def tap(stack: ExitStack) -> None:
    """Tap its mechanisms, and what is private as a whole."""
    import diffprivlib.mechanisms  # noqa: PLC0415 - only where it is installed
    import diffprivlib.models.logistic_regression  # noqa: PLC0415
    import diffprivlib.tools.quantiles  # noqa: PLC0415

    base = sys.modules["diffprivlib.mechanisms.base"].DPMechanism
    tap_method(stack, base, "__init__", _built, inside=True)
    for kind in _kinds(base):
        tap_method(stack, kind, "randomise", _randomised)
    quantile = sys.modules["diffprivlib.tools.quantiles"].quantile
    path = sys.modules["diffprivlib.models.logistic_regression"]._logistic_regression_path
    pairs = [(quantile, _as_a_whole(quantile, _quantile))]
    pairs += [(path, _as_a_whole(path, _logistic_path))]
    replace_everywhere(stack, pairs, prefix="diffprivlib")


def _kinds(base: Any) -> Iterator[Any]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


def _built(tape: Any, construct: Callable[..., None], self: Any, *args: Any, **given: Any) -> None:
    """Remember of a mechanism which lines led to it, and which line states its sensitivity."""
    construct(self, *args, **given)
    self._built = places_here()
    self._stated_at = _stating_line("sensitivity")
    self._monotonic_at = _stating_line("monotonic")
    _BUILT.append(self)


def _stating_line(name: str) -> Optional[Place]:
    """The line of the library that states an argument of the mechanism that it makes."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_of_the_agent(file) and "mechanisms" not in file.replace("\\", "/").split("/"):
            return Place(file, line_of_argument(file, frame.f_lineno, name))
        frame = frame.f_back
    return None


def _parameters(mechanism: Any) -> Dict[str, Any]:
    """The public attributes of a mechanism: all that its noise depends on."""
    return {
        key: one
        for key, one in vars(mechanism).items()
        if not key.startswith("_") and key != "random_state"
    }


def _randomised(tape: Any, draw: Callable[..., Any], self: Any, value: Any = None) -> Any:
    compute = functools.partial(draw, self, *(() if value is None else (value,)))
    stated = _parameters(self)
    for key in _HIDDEN:
        value = stated.pop(key, value)
    kind = type(self).__name__
    return tape.call(
        kind,
        compute,
        parameters=stated,
        value=_as_number(self, value),
        sensitivity=stated.get("sensitivity"),
        length=_length(stated, _LENGTHS.get(kind, "euclidean")),
        stated_at=_stated_at(self),
        built=getattr(self, "_built", ()),
        **_loss(self, kind),
    )


def _length(stated: Dict[str, Any], usual: str) -> str:
    """How a move is measured: of a monotonic utility, no candidate may rise while another falls."""
    return "spread" if stated.get("monotonic") else usual


def _stated_at(mechanism: Any) -> Optional[Place]:
    """The line that states the sensitivity, or that the utility is monotonic."""
    name = "_monotonic_at" if getattr(mechanism, "monotonic", False) else "_stated_at"
    found: Optional[Place] = getattr(mechanism, name, None)
    return found


def _as_number(mechanism: Any, value: Any) -> Any:
    """A value that is not a number, as its place among all that it could be."""
    if not isinstance(value, str):
        return value
    among = getattr(mechanism, "_domain_values", None)
    if among is None:
        among = [getattr(mechanism, name, None) for name in ("value0", "value1")]
    return list(among).index(value) if value in among else value


def _loss(mechanism: Any, kind: str) -> Dict[str, Any]:
    """From what accounting takes what a call spent."""
    epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
    sensitivity = getattr(mechanism, "sensitivity", None)
    if sensitivity and kind in _PROPORTIONAL and not delta and epsilon:
        return {"family": "discrete laplace", "scale": float(sensitivity) / epsilon}
    if kind in _NORMAL and getattr(mechanism, "_scale", None):
        return {"family": "normal", "scale": float(mechanism._scale)}
    return {"declared": (epsilon, delta)}


def _as_a_whole(function: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is private as a whole: ``answer(tape, compute, arguments)``.

    ``compute`` calls it; the mechanisms that it makes are in ``_BUILT`` afterwards.
    """
    signature = inspect.signature(function)

    def call(tape: Any, function: Callable[..., Any], *args: Any, **given: Any) -> Any:
        bound = signature.bind(*args, **given)
        bound.apply_defaults()
        _BUILT.clear()
        return answer(tape, lambda: function(*args, **given), dict(bound.arguments))

    return taped(function, call)


def _quantile(tape: Any, compute: Callable[[], Any], stated: Dict[str, Any]) -> Any:
    """The quantile, which draws an interval between records, and then a number within it.

    Both follow from the records, and are private as a whole: the density of what comes out is that
    of the exponential mechanism. So its utility is compared at numbers of the whole range.
    """
    if np.size(stated["quant"]) != 1 or stated["axis"] is not None or stated["keepdims"]:
        return compute()
    with tape.quiet():
        found = compute()
    lost = bool(np.isnan(found))
    known: Dict[str, Any] = {}
    if _BUILT and getattr(_BUILT[-1], "measure", None) is not None and not lost:
        known = _over_the_range(_BUILT[-1], stated["bounds"])
    return tape.call(
        "quantile", lambda: found, fits=lambda answer: bool(np.isnan(answer)) == lost, **known
    )


def _over_the_range(mechanism: Any, bounds: Any) -> Dict[str, Any]:
    """The utility of the exponential mechanism at numbers of the range, and its parameters."""
    stated = _parameters(mechanism)
    utility, measure = np.asarray(stated.pop("utility")), np.asarray(stated.pop("measure"))
    ends = np.cumsum(measure)
    places = np.searchsorted(ends, _GRID * ends[-1]).clip(0, len(utility) - 1)
    return {
        "parameters": {**stated, "bounds": None if bounds is None else list(bounds)},
        "value": utility[places],
        "sensitivity": stated["sensitivity"],
        "length": _length(stated, "largest"),
        "declared": (float(mechanism.epsilon), 0.0),
        "stated_at": _stated_at(mechanism),
    }


def _logistic_path(tape: Any, compute: Callable[[], Any], data: Dict[str, Any]) -> Any:
    """A logistic regression: the solution of a perturbed objective is private, and not the noise.

    What its noise hides is the gradient of the sum of losses. That of one record is no longer than
    the record, so that the sum of records with their signs stands for it.
    """
    with tape.quiet():
        found = compute()
    if not _BUILT:
        # No noise, so that the solution is compared as it is.
        return found
    mechanism = _BUILT[-1]
    rows = np.asarray(data["X"], dtype=float)
    if data["fit_intercept"]:
        rows = np.column_stack([rows, np.ones(len(rows))])
    # The class that counts as one.
    positive = np.max(data["y"]) if data["pos_class"] is None else data["pos_class"]
    signs = np.where(np.asarray(data["y"]) == positive, 1.0, -1.0)
    coefficients, strengths, iterations = found
    solved = np.column_stack([coefficients, iterations])
    answer = tape.call(
        "logistic regression",
        lambda: solved,
        fits=lambda before: np.shape(before) == np.shape(solved),
        parameters=_parameters(mechanism),
        value=signs @ rows,
        sensitivity=2.0 * mechanism.data_sensitivity,
        declared=(float(mechanism.epsilon), 0.0),
        stated_at=getattr(mechanism, "_stated_at", None),
    )
    return answer[:, :-1], strengths, answer[:, -1].astype(iterations.dtype)
