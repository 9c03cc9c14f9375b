"""What comes out of a run, in parts that can be compared and written as JSON."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .noise import plain

MORE_PARTS, CLOSED = "(more parts)", " (closed)"
"""A part that says that there are more, and the end of the path of one that is not known."""
_MOST_PARTS = 5_000
_DEEPEST = 8
# Attributes of a released model that hold no answer: what it was asked, and its generators.
_NOT_RELEASED = ("random_state", "accountant", "rng", "logger")
_MODULES_LEFT_OUT = ("random", "logging", "threading")


def parts_of(release: Any, wholes: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """A release as plain values under paths, such as ``.classes_[2]`` or ``['age']``.

    Every array, frame and object also has a part that says its kind, so that another type, shape or
    order of keys is a difference. Each is kept in ``wholes``, if that is given.
    """
    found: Dict[str, Any] = {}
    _take(release, "", found, [], wholes)
    return found


def _take(
    value: Any, path: str, found: Dict[str, Any], above: List[int], wholes: Optional[Dict[str, Any]]
) -> None:
    value = plain(value)
    if len(found) >= _MOST_PARTS:
        found[MORE_PARTS] = True
        return
    if value is None or isinstance(value, (bool, str)):
        found[path] = value
    elif isinstance(value, (int, np.integer)):
        found[path] = int(value)
    elif isinstance(value, (float, np.floating)):
        found[path] = float(value)
    elif isinstance(value, bytes):
        found[path] = value.hex()
    elif len(above) >= _DEEPEST or id(value) in above:
        found[path + " (kind)"] = type(value).__name__
    else:
        members, kind = _members(value)
        found[path + " (kind)"] = kind
        if not members and (callable(value) or kind == type(value).__name__):
            found[path + CLOSED] = True
        if wholes is not None:
            wholes[path] = value
        for key, one in members:
            _take(one, path + key, found, [*above, id(value)], wholes)


def _members(value: Any) -> Tuple[List[Tuple[str, Any]], str]:
    """The members of a value, each with what its path ends in, and the kind of the value."""
    name = type(value).__name__
    array = _as_array(value)
    if array is not None:
        if array.dtype.names:
            columns = [("[%r]" % key, array[key]) for key in array.dtype.names]
            return columns, "records %s" % (array.dtype,)
        kind = "%s of %s, shape %s" % (name, array.dtype, list(array.shape))
        if array.ndim == 0:
            return [("", array.item())], kind
        if array.ndim == 1:
            return [("[%d]" % place, one) for place, one in enumerate(array.tolist())], kind
        flat = [("[%s]" % ", ".join(map(str, place)), one) for place, one in np.ndenumerate(array)]
        return flat, kind
    if isinstance(value, dict):
        keys = list(value)
        return [("[%r]" % (key,), value[key]) for key in keys], "%s with keys %r" % (name, keys)
    if isinstance(value, (list, tuple, set, frozenset)):
        has_order = isinstance(value, (list, tuple))
        form, members = ("[%d]", value) if has_order else ("{%d}", sorted(value, key=repr))
        found = [(form % place, one) for place, one in enumerate(members)]
        return found, "%s of %d" % (name, len(value))
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        columns = [("[%r]" % (key,), np.asarray(value[key])) for key in value.columns]
        index = getattr(value, "index", None)
        return [*columns, (".index", None if index is None else np.asarray(index))], (
            "%s with columns %r" % (name, list(map(str, value.columns)))
        )
    return _attributes(value), name


def _as_array(value: Any) -> Optional[np.ndarray]:
    if isinstance(value, np.ndarray):
        return value
    module = type(value).__module__.partition(".")[0]
    if module == "torch" and hasattr(value, "detach"):
        return np.asarray(value.detach().cpu().numpy())
    like_an_array = hasattr(value, "__array__") and hasattr(value, "shape")
    if (module in ("jaxlib", "jax") or like_an_array) and not hasattr(value, "columns"):
        return np.asarray(value)
    return None


def _attributes(value: Any) -> List[Tuple[str, Any]]:
    """The public attributes of an object, such as a fitted model, in alphabetical order."""
    if callable(getattr(value, "state_dict", None)):
        return [(".state_dict()", dict(value.state_dict()))]
    found = []
    slots = {key for kind in type(value).__mro__ for key in getattr(kind, "__slots__", ())}
    for key in sorted({*getattr(value, "__dict__", {}), *slots}):
        if not hasattr(value, key):
            continue
        one = getattr(value, key)
        module = type(one).__module__.partition(".")[0]
        if key.startswith("_") or key in _NOT_RELEASED or callable(one):
            continue
        if module in _MODULES_LEFT_OUT or isinstance(
            one, (np.random.Generator, np.random.RandomState)
        ):
            continue
        found.append(("." + key, one))
    return found


def same(first: Any, second: Any) -> bool:
    """Whether two plain values are the same; NaN is NaN, and -0.0 is not 0.0."""
    if isinstance(first, float) and isinstance(second, float):
        if math.isnan(first) or math.isnan(second):
            return math.isnan(first) and math.isnan(second)
        return first == second and math.copysign(1.0, first) == math.copysign(1.0, second)
    return type(first) is type(second) and bool(first == second)
