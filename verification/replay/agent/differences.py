"""In what two runs with the same noise differ, and how far values are apart."""

from __future__ import annotations

import functools
import inspect
import math
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .noise import plain
from .releases import same
from .runs import Run
from .tape import Call, Place, Tape

# Values and sensitivities are computed in floats; a difference within this part is rounding.
_ROUNDING = 1e-9
_MOST_THROUGH = 12


def moved(first: Any, second: Any) -> Optional[List[float]]:
    """The L1, the L2 and the largest difference of two values; None if they are no numbers."""
    if first is None or second is None:
        return None
    try:
        one, other = (numbers_of(value) for value in (first, second))
    except (TypeError, ValueError, RuntimeError):
        return None
    if one.shape != other.shape:
        return None if one.ndim else [math.inf] * 3
    with np.errstate(all="ignore"):
        by = np.abs(one - other)
    by = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, by)
    by = np.where(np.isnan(by), np.inf, by)
    return [*_lengths(by), float(by.max(initial=0.0))]


def _length_of_move(before: Call, after: Call, by: List[float]) -> float:
    """How far a value moved, measured as its sensitivity is."""
    if after.length in ("spectral", "spread") and by[2] < math.inf:
        difference = np.asarray(before.value) - np.asarray(after.value)
        return float(
            np.linalg.norm(difference, 2) if after.length == "spectral" else np.ptp(difference)
        )
    return by[1] if after.length == "euclidean" else by[2]


def relative(before: Call, after: Call) -> Optional[List[float]]:
    """How far the values moved in units of the noise: the L1 and the L2 length.

    For draws among probabilities, the sum of the largest logarithms of their ratios, twice.
    """
    first, second = (np.asarray(one.value, dtype=float) for one in (before, after))
    if first.shape != second.shape or not equal(before.scale, after.scale):
        return None
    answer = plain(before.answer)
    with np.errstate(all="ignore"):
        if before.family == "categorical":
            by = np.abs(np.log(first) - np.log(second))
        else:
            by = np.abs(first - second) / np.asarray(before.scale, dtype=float)
    by = np.where(first == second, 0.0, by)
    if before.family == "categorical":
        return [by.max(initial=0.0) * np.size(answer)] * 2
    if by.size < np.size(answer):
        # One value under many draws, each of which shows it.
        by = np.broadcast_to(by, np.shape(answer))
    return _lengths(by)


def _lengths(by: np.ndarray) -> List[float]:
    return [float(by.sum()), float(np.sqrt(np.square(by).sum()))]


def _size_of(first: Any, second: Any) -> float:
    """The logarithm of the ratio of two numbers; infinite for anything else."""
    try:
        with np.errstate(all="ignore"):
            one, other = (np.log(np.abs(np.asarray(v, dtype=float))) for v in (first, second))
            largest = float(np.max(np.abs(one - other), initial=0.0))
    except (TypeError, ValueError):
        return math.inf
    return math.inf if math.isnan(largest) else largest


def numbers_of(value: Any) -> Any:
    """An array of floats; also of a tensor, whose gradient nobody needs."""
    detached = value.detach().cpu() if hasattr(value, "detach") else value
    return np.asarray(detached, dtype=float)


def equal(first: Any, second: Any) -> bool:
    """Whether two values are the same but for rounding; functions are not compared."""
    try:
        if callable(first) and callable(second):
            return True
        one, other = np.asarray(first), np.asarray(second)
        if one.shape != other.shape:
            return False
        if one.dtype.kind == "f" and other.dtype.kind in "fiu":
            return bool(np.allclose(one, other, rtol=_ROUNDING, atol=0.0, equal_nan=True))
        return bool(np.all(one == other))
    except Exception:  # objects of the examined library may refuse to be compared
        return repr(first) == repr(second)


def _short(value: Any) -> str:
    """A value in a few words."""
    value = plain(value)
    if isinstance(value, np.generic):
        value = value.item()
    shown = value if isinstance(value, str) else repr(value)
    return shown if len(shown) <= 120 else shown[:117] + "..."


@dataclass
class SeenDifference:
    """Something that one record changes although all noise is the same."""

    kind: str
    """``error``, ``structure``, ``value``, ``sensitivity``, ``parameter``, ``calls`` or
    ``message``, and ``seed`` or ``reused noise``, which two runs show otherwise.
    """
    what: str
    """The part of the release, or the primitive and its parameter."""
    first: str
    """What it is on D."""
    second: str
    """What it is on D'."""
    place: Optional[Place] = None
    stack: Tuple[Place, ...] = ()
    """The lines that led to the call, the innermost first."""
    size: float = 0.0
    """How large it is: the logarithm of the ratio of two numbers, infinite for others."""
    source: Optional[Place] = None
    """The line at which the two values were computed, where that is another one."""
    branch: Optional[Place] = None
    """The line at which the two runs part."""
    declared: Optional[float] = None
    """The sensitivity that the call declares."""
    reads: Optional[Place] = None
    """The nearest line that computes what these lines read, and differs between the runs."""
    origins: List[Place] = field(default_factory=list)
    """The lines that assign what these lines read, the nearest first."""
    values: Tuple[List[Any], List[Any]] = field(default_factory=lambda: ([], []))
    """What the source is looked for by, on D and on D'."""

    def plain(self) -> Dict[str, Any]:
        """What is said of it, for JSON."""
        return {
            **{name: getattr(self, name) for name in ("kind", "what", "first", "second", "size")},
            "place": self.place.at if self.place else "",
            "code": self.place.code if self.place else "",
            "through": [one.at for one in reversed(self.stack[:_MOST_THROUGH])],
            **{
                name: line.shown if line else ""
                for name in ("source", "branch", "reads")
                for line in [getattr(self, name)]
            },
            "origins": [one.shown for one in dict.fromkeys(self.origins)],
        }


def differences(one: Run, other: Run) -> List[SeenDifference]:
    """In what two runs differ, what weighs most first."""
    return [
        *_of_errors(one, other),
        *_of_calls(other.tape),
        *([] if one.error or other.error else _of_releases(one, other)),
        *_of_messages(one, other),
    ]


def at_call(kind: str, call: Call, what: str, first: str, second: str) -> SeenDifference:
    """A difference that a call of noise shows."""
    found = SeenDifference(kind, what, first, second, call.place, call.places)
    if kind in ("parameter", "sensitivity"):
        found.source = call.stated_at
    return found


def reused(tape: Tape) -> List[SeenDifference]:
    """Draws of noise that hide several values, which one record moves by different amounts."""
    moves: Dict[Any, List[Tuple[float, Call]]] = {}
    for _, before, after in tape.matched():
        if before is None or after is None or before.noise is None:
            continue
        shape = np.shape(before.answer)
        try:
            noise, one, other = (
                np.broadcast_to(np.asarray(part, dtype=float), shape).ravel()
                for part in (before.noise, before.value, after.value)
            )
        except ValueError:
            continue
        with np.errstate(invalid="ignore"):
            by = one - other
        for draw, amount in zip(noise.tolist(), by.tolist()):
            moves.setdefault((before.origin, draw), []).append((amount, after))
    found = []
    for several in moves.values():
        least, most = min(amount for amount, _ in several), max(amount for amount, _ in several)
        if most - least > 1e-9 * (1.0 + abs(most)):
            _, call = several[-1]
            values = ("one value moves by %.6g" % least, "another one by %.6g" % most)
            found.append(at_call("reused noise", call, call.primitive, *values))
            drawn = [tape.draws[one].place for one in call.origin if one < len(tape.draws)]
            if drawn and drawn[0] != call.place:
                found[-1].source = drawn[0]
    return _first_of_each(found)


def _of_errors(one: Run, other: Run) -> List[SeenDifference]:
    if one.error == other.error:
        return []
    place = one.error_place or other.error_place
    values = one.error or "none", other.error or "none"
    return [SeenDifference("error", "exception", *values, place)]


def _of_messages(one: Run, other: Run) -> List[SeenDifference]:
    only = [line for line in one.messages if line not in other.messages]
    more = [line for line in other.messages if line not in one.messages]
    if not only and not more:
        return []
    place = {**one.messages, **other.messages}[(only or more)[0]]
    texts = "; ".join(only), "; ".join(more)
    return [SeenDifference("message", "warnings, logs and print", *texts, place)]


def _of_calls(tape: Tape) -> List[SeenDifference]:
    found, uneven = [], tape.uneven()
    for call, before, after in tape.matched():
        if before is None or after is None:
            if not call.alone:
                said = ("called", "not called") if after is None else ("not called", "called")
                found.append(at_call("calls", call, call.primitive, *said))
            continue
        if after.key in uneven:
            continue
        for key in sorted(set(before.parameters) | set(after.parameters)):
            values = (before.parameters.get(key), after.parameters.get(key))
            if not equal(*values):
                what = "%s of %s" % (key, after.primitive)
                found.append(at_call("parameter", after, what, *map(_short, values)))
                found[-1].size = _size_of(*values)
                found[-1].values = ([values[0]], [values[1]])
        found += _of_values(before, after)
    return _first_of_each(found)


def _of_values(before: Call, after: Call) -> List[SeenDifference]:
    """A value that moves by more than its noise hides."""
    by = moved(before.value, after.value)
    if by is None:
        return []
    sensitivity, length = after.sensitivity, _length_of_move(before, after, by)
    what = "value given to %s" % after.primitive
    if sensitivity is None:
        # No noise of any scale hides a value that is missing, or infinite, on one side alone.
        if by[1] < math.inf:
            return []
    elif length <= sensitivity * (1.0 + _ROUNDING) + 1e-12:
        return []
    else:
        what += ", of sensitivity %.6g" % sensitivity
    # The score of a candidate that is ruled out is infinite, as is that of an empty interval.
    kind = "parameter" if after.family == "gumbel" else "sensitivity"
    found = at_call(kind, after, what, _short(before.value), _short(after.value))
    found.values = ([before.value], [after.value])
    found.size = math.inf if not sensitivity else _size_of(length, sensitivity)
    found.declared = sensitivity
    if by[1] == math.inf:
        # No sensitivity would be large enough.
        found.source = None
    return [found]


def _first_of_each(found: List[SeenDifference]) -> List[SeenDifference]:
    """One difference of each kind at each line."""
    kept: Dict[Any, SeenDifference] = {}
    for one in found:
        kept.setdefault((one.kind, one.what, one.place), one)
    return list(kept.values())


def _of_releases(one: Run, other: Run) -> List[SeenDifference]:
    found = []
    for path in dict.fromkeys([*one.parts, *other.parts]):
        values = (one.parts.get(path, "not there"), other.parts.get(path, "not there"))
        if same(*values):
            continue
        whole = path.endswith("(kind)") or path not in one.parts or path not in other.parts
        difference = SeenDifference(
            "structure" if whole else "value",
            path or "release",
            _short(values[0]),
            _short(values[1]),
            place=_setting_line(one.origin, path),
        )
        difference.size = _size_of(*values)
        difference.values = (_looked_for(one, path), _looked_for(other, path))
        found.append(difference)
    return found


def _looked_for(run: Run, path: str) -> List[Any]:
    """What the line that computed a part of the release is found by: itself, and what holds it."""
    found = [] if path.endswith("(kind)") else [run.parts.get(path)]
    holder = path[: -len(" (kind)")] if path.endswith(" (kind)") else path.rpartition("[")[0]
    return [*found, run.wholes[holder]] if holder in run.wholes else found


def _setting_line(released: Any, path: str) -> Optional[Place]:
    """The line of the library that sets the attribute of a released object."""
    name = re.match(r"\.(\w+)", path)
    if name is None:
        return None
    found = (_setting_lines(kind).get(name.group(1)) for kind in type(released).__mro__)
    return next((one for one in found if one is not None), None)


@functools.lru_cache(maxsize=None)
def _setting_lines(kind: type) -> Dict[str, Place]:
    """For every attribute that a class sets, the first line; to read a class takes long."""
    try:
        lines, start = inspect.getsourcelines(kind)
        file = inspect.getsourcefile(kind)
    except (OSError, TypeError):
        return {}
    found: Dict[str, Place] = {}
    for place, line in enumerate(lines):
        for one in re.finditer(r"\bself\.(\w+)\b[^=\n]*=[^=]", line):
            found.setdefault(one.group(1), Place(file or "", start + place))
    return found
