"""Where values were computed: the first line after which a variable holds them.

A difference is found where it comes out: in a release, or in a parameter of noise. The line that is
at fault is where the number was computed. Both runs are made once more, line by line, and the first
line at which a variable, or a returned value, holds the one number on D and the other one on D' is
named.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from itertools import groupby
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import numpy as np

from .noise import plain
from .releases import same
from .slices import changed_at
from .tape import Place

_HERE = os.path.dirname(os.path.abspath(__file__))
_STANDARD = sysconfig.get_paths()["stdlib"]
# Packages whose lines are never at fault, and whose loops are long.
_LARGE = ("numpy", "pandas", "scipy", "sklearn", "torch", "jax", "jaxlib", "joblib", "sqlalchemy",
          "antlr4", "networkx")  # fmt: skip
_SECONDS = 2.0
_FEW_MEMBERS, _MOST_MEMBERS, _MOST_LINES, _MOST_HELD = 8, 2_000, 200_000, 64

# How deep in lists and tuples values are looked for.
_DEEPEST = 2
_SINGLE = (bool, int, float, str, type(None))


class Watch:
    """The lines of a run after which variables hold values that are looked for, by keys."""

    def __init__(self, values: Dict[Any, Any]) -> None:
        plain_values = {key: _plain(value) for key, value in values.items()}
        # What is looked for by its only number or text, and by its members.
        self._singles: Dict[Any, List[Any]] = {}
        self._several: Dict[Any, List[Any]] = {}
        for key, value in plain_values.items():
            if isinstance(value, _SINGLE):
                self._singles.setdefault(_hashed(value), []).append(key)
            else:
                members = _members(value)
                self._several.update({} if members is None else {key: members})
        self._lengths = set(map(len, self._several.values()))
        self._fractions = {one for one in self._singles if isinstance(one, float)}
        self.found: Dict[Any, List[Place]] = {key: [] for key in values}
        self.weak: Dict[Any, List[Place]] = {key: [] for key in values}
        """Where it is one of the numbers of an array."""
        self.made: Dict[Place, str] = {}
        """Where objects of dataclasses are made, with their names and those of their fields."""
        self.when: Dict[Tuple[Any, Place], int] = {}
        """After how many lines a value was first held after a line."""
        self.steps: Dict[Tuple[Place, Place], None] = {}
        """From which line to which one the run went, in the order of the first time."""
        self.way: List[Place] = []
        """All lines, in their order."""
        self.assigned: Dict[Place, Set[Any]] = {}
        """What variables held after a line, as far as it can be compared."""
        self.answers: Dict[Place, Set[bool]] = {}
        """Truth values that were returned at a line."""
        self._frames: Dict[int, Tuple[int, Dict[str, int], Set[Optional[float]]]] = {}
        self._watched: Dict[str, bool] = {}
        self._until = 0.0
        self.is_whole = True
        """Whether the run was watched to its end."""
        self._run_lines: Set[Place] = set()

    def run_lines(self) -> Set[Place]:
        """The lines that were run."""
        if not self._run_lines:
            self._run_lines = {line for step in self.steps for line in step}
        return self._run_lines

    def __enter__(self) -> Watch:
        self._until = time.perf_counter() + _SECONDS
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.settrace(None)

    def _is_watched(self, file: str) -> bool:
        if file not in self._watched:
            self._watched[file] = is_examined(file)
        return self._watched[file]

    def _called(self, frame: Any, event: str, arg: Any) -> Optional[Callable[..., Any]]:
        known, caller = frame.f_locals, frame.f_back
        # What a function is given, the constructor of a dataclass too, was computed before: in the
        # line that calls it, if nothing held it there.
        if caller is not None and self._is_watched(caller.f_code.co_filename):
            line = Place(caller.f_code.co_filename, caller.f_lineno)
            for one in known.values():
                self._look_at(one, line, anew=True)
            if frame.f_code.co_filename == "<string>" and "self" in known:
                self.made[line] = " ".join([type(known["self"]).__name__, *known]).lower()
        if not self._is_watched(frame.f_code.co_filename):
            return None
        given = {_fraction(one) for one in known.values()} - {None}
        ids = {name: id(one) for name, one in known.items()}
        self._frames[id(frame)] = (frame.f_lineno, ids, given)
        return self._line

    def _line(self, frame: Any, event: str, arg: Any) -> Optional[Callable[..., Any]]:
        if time.perf_counter() > self._until:
            self.is_whole = False
            sys.settrace(None)
            return None
        line, known, given = self._frames.get(id(frame), (frame.f_lineno, {}, set()))
        file, now = frame.f_code.co_filename, frame.f_locals
        at, reached = Place(file, line), Place(file, frame.f_lineno)
        new = [one for name, one in now.items() if known.get(name) != id(one)]
        known.update((name, id(one)) for name, one in now.items())
        for name, attribute in changed_at(file, line):
            held = now.get(name)
            one = getattr(held, "__dict__", {}).get(attribute) if attribute else held
            new += [] if one is None else [one]
        for one in new:
            self._keep(one, at)
            # What another number is made of that was given is that number.
            if _fraction(one) not in given:
                self._look_at(one, at)
        if event == "return":
            self._frames.pop(id(frame), None)
            if _fraction(arg) not in given:
                self._look_at(arg, reached)
            self._keep(arg, reached)
            if isinstance(arg, (bool, np.bool_)):
                self.answers.setdefault(reached, set()).add(bool(arg))
            return None
        self.steps[at, reached] = None
        if len(self.way) < _MOST_LINES:
            self.way.append(reached)
        self._frames[id(frame)] = (frame.f_lineno, known, given)
        return self._line

    def _keep(self, value: Any, line: Place) -> None:
        held = self.assigned.setdefault(line, set())
        if len(held) < _MOST_HELD:
            whole = not isinstance(value, _SINGLE)
            members = _members(value) if whole else None
            held.add(repr(value if members is None and not whole else members))

    def _look_at(
        self, value: Any, line: Place, *, inside: int = _DEEPEST, anew: bool = False
    ) -> None:
        """Keep the line if a value is looked for; only if none held it before, if ``anew``."""
        value = _plain(value)
        if isinstance(value, _SINGLE):
            for key in self._singles.get(_hashed(value), ()):
                self._found(key, line, anew)
            return
        members = _members(value)
        if members is not None and len(members) in self._lengths:
            for key, wanted in self._several.items():
                if len(wanted) == len(members) and all(map(same, members, wanted)):
                    self._found(key, line, anew)
        if self._fractions and members and not anew:
            for one in self._fractions.intersection(filter(_fraction, members)):
                for key in self._singles[one]:
                    self.weak[key].append(line)
        if inside and isinstance(value, (tuple, list)) and len(value) <= _FEW_MEMBERS:
            for one in value:
                self._look_at(one, line, inside=inside - 1, anew=anew)

    def _found(self, key: Any, line: Place, anew: bool) -> None:
        if anew and self.found[key]:
            return
        self.found[key].append(line)
        self.when.setdefault((key, line), len(self.way))


def _plain(value: Any) -> Any:
    """A value without memory, and a number of numpy as one of Python."""
    value = plain(value)
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value


def _hashed(value: Any) -> Any:
    """What single values are told from others by: NaN is NaN, and -0.0 is not 0.0."""
    if isinstance(value, float):
        return value if value % 1.0 > 0.0 else repr(value)
    return type(value), value


def _fraction(value: Any) -> Optional[float]:
    """A number with a fraction, of whatever type; None for anything else."""
    value = plain(value)
    return float(value) if isinstance(value, (float, np.floating)) and value % 1.0 > 0.0 else None


def _members(value: Any) -> Optional[List[Any]]:
    """The members of a list, a set or an array, or the keys of a dictionary, in plain values."""
    value = plain(value)
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray) or type(value).__name__ in ("Index", "Series"):
        value = np.asarray(value)
        return value.ravel().tolist() if value.size <= _MOST_MEMBERS else None
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    if not isinstance(value, (list, tuple, dict)) or len(value) > _MOST_MEMBERS:
        return None
    return [one.item() if isinstance(one, np.generic) else one for one in map(plain, value)]


def is_examined(file: str) -> bool:
    """Whether lines of a file may be at fault: those of a library, or of a target of one's own."""
    if file.startswith((_HERE + os.sep, "<")):
        return False
    for mark in ("site-packages", "dist-packages"):
        folder = os.sep + mark + os.sep
        if folder in file:
            return file.split(folder, 1)[1].split(os.sep, maxsplit=1)[0] not in _LARGE
    return not file.startswith(_STANDARD)


def first_common(one: List[Place], other: List[Place], not_at: List[Place]) -> Optional[Place]:
    """The first line of the one run that is among the lines of the other; no loop's head."""
    among = set(other) - set(not_at)
    return next((line for line in one if line in among and _decides(line)), None)


def was_run(line: Place, *sides: Watch) -> bool:
    """Whether a line was run in one of the runs, as far as they were watched."""
    return any(not side.is_whole or line in side.run_lines() for side in sides)


def differs(line: Place, one: Watch, other: Watch) -> bool:
    """Whether variables held something else after a line in one run than in the other."""
    return one.assigned.get(line) != other.assigned.get(line)


def partings(one: Watch, other: Watch) -> List[Place]:
    """The lines at which two runs part.

    Steps of one alone, functions that answered yes in one run alone, such as a filter, and where
    the ways through a file first differ.
    """
    found: List[Place] = []
    both = ((one, other), (other, one))
    for side, opposite in both:
        reached = opposite.run_lines()
        found += [at for at, to in side.steps if at in reached and (at, to) not in opposite.steps]
    found = list(filter(_decides, found))
    for side, opposite in both:
        found += [at for at, said in side.answers.items() if said - opposite.answers.get(at, said)]
    for file in dict.fromkeys(at.file for at in one.way):
        # What differs in another file, such as the number of records that are read, comes before.
        way, opposite_way = (
            # A list that is made in one line takes one line, however many it has.
            [at for at, _ in groupby(line for line in side.way if line.file == file)]
            for side in (one, other)
        )
        ways = zip(way, zip(way[1:], opposite_way[1:]))
        parted = next((at for at, (first, second) in ways if first != second), None)
        found += [parted] if parted is not None and _decides(parted) else []
    return found


def parting_before(places: List[Place], at: Optional[Place]) -> Optional[Place]:
    """Of lines at which two runs part, the first one of a line's file, or of its folder."""
    if at is not None:
        folder = os.path.dirname(at.file)
        near = [one for one in places if one.file == at.file]
        near += [one for one in places if os.path.dirname(one.file) == folder]
        places = near + places
    return places[0] if places else None


def _decides(line: Place) -> bool:
    """Whether a line begins no function and no loop: that over records is longer in any case."""
    return not line.code.startswith(("for ", "async ", "def ", "@"))
