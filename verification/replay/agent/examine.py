"""Record a run on D, replay it on D', and say in what the two differ."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import itertools
import logging
import math
import operator
import re
import sys
import traceback
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import numpy as np

from .data import ExaminedData
from .generators import generator, replaced, tapped_generators
from .noise import plain
from .releases import CLOSED, MORE_PARTS, parts_of, same
from .slices import (
    assigned_before,
    given_for,
    lines_that_set,
    makes_seed,
    picks_records,
    shown,
    statement_at,
)
from .sources import (
    Watch,
    differs,
    first_common,
    is_examined,
    parting_before,
    partings,
    was_run,
)
from .tape import TIES, Call, Place, Recording, Tape, place_here
from .taps import tapped_libraries

_MOST_DIFFERENCES, _MOST_YIELDED = 40, 5_000
# How often whole numbers have to be the same before their noise counts as fixed.
_MORE_RUNS = 24
# The logarithm of how likely choices in all these runs may be the same and count as fixed.
_BY_CHANCE = math.log(1e-9)
# Runs with other noise, after which values that are the same follow from the data alone.
_FRESH_RUNS = 3
# Values and sensitivities are computed in floats; a difference within this part of one is rounding.
_ROUNDING = 1e-9
# What is looked for beside the values themselves: those of the other run, and how far one moved.
_OTHER, _MOVED, _STATED, _MOST_STATED = "other", "moved", "stated", 50
# Differences that come of a branch that one run took and the other one did not.
_OF_BRANCHES = ("structure", "value", "error", "calls", "message")
# What lines that have to do with a budget or a sensitivity have in common.
_OF_BUDGETS = ("eps", "sens", "scale", "sigma", "std", "rho", "delta", "budget")
_COMPUTES_BUDGET = re.compile(
    r"return [\w. */+-]+$|[\w., ()]*(%s)\w*([\w., ()]* = (?!\[\]|0\b|none)|\.append\()"
    % "|".join(_OF_BUDGETS)
)
_COMPUTES = re.compile(r"\w = .*[(*/]")
# What gives a number another name, or begins a loop.
_DECIDES_NOTHING = re.compile(r"[\w., ()]+ = [\w., ]+$|return [\w.]+$|for ")
_FRAMES_OF_BUDGETS, _STEPS_OF_BUDGETS, _CALLERS, _STEPS = 12, 4, 4, 3
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")

# The noise of runs that differed, by the target and the seed.
_MOST_KEPT, _MOST_KEPT_CALLS = 64, 5_000

Target = Callable[[ExaminedData, np.random.Generator], Any]
_kept: Dict[Tuple[Target, int], Tape] = {}


@dataclass
class Run:
    """One run: its calls, and all that came out."""

    tape: Tape
    parts: Dict[str, Any]
    error: str = ""
    error_place: Optional[Place] = None
    messages: Dict[str, Optional[Place]] = field(default_factory=dict)
    wholes: Dict[str, Any] = field(default_factory=dict)
    """The arrays, lists and objects of the release, by their paths."""
    origin: Any = None
    """The released object, in whose class the lines that set its attributes are looked up."""


@dataclass
class SeenDifference:
    """Something that one record changes although all noise is the same."""

    kind: str
    """``error``, ``structure``, ``value``, ``sensitivity``, ``parameter``, ``calls`` or
    ``message``.
    """
    what: str
    """The part of the release, or the primitive and its parameter."""
    first: str
    """What it is on D."""
    second: str
    """What it is on D'."""
    file: str = ""
    line: int = 0
    code: str = ""
    through: List[str] = field(default_factory=list)
    """The lines that led there, the outermost first."""
    size: float = 0.0
    """How large it is: the logarithm of the ratio of two numbers, infinite for others."""
    source: str = ""
    """The line at which the two values were computed, where that is another one."""
    branch: str = ""
    """The line at which the two runs part."""
    declared: Optional[float] = None
    """The sensitivity that the call declares."""
    reads: str = ""
    """The nearest line that computes what these lines read, and differs between the runs."""
    origins: List[str] = field(default_factory=list)
    """The lines that assign what these lines read, the nearest first."""
    values: Tuple[List[Any], List[Any]] = field(default_factory=lambda: ([], []))
    """What the source is looked for by, on D and on D'."""
    stack: Tuple[Place, ...] = ()
    """The lines that led to the call, the innermost first."""

    def plain(self) -> Dict[str, Any]:
        """All but the values and the stack, for JSON."""
        return {key: one for key, one in vars(self).items() if key not in ("values", "stack")}


def loaded(name: str, directory: Optional[str]) -> Target:
    """The target ``module:callable``; its code is imported."""
    module, _, path = name.partition(":")
    if directory is not None and directory not in sys.path:
        sys.path.insert(0, directory)
    found: Target = operator.attrgetter(path)(importlib.import_module(module))
    if not callable(found):
        raise TypeError("Expected a callable, got %r." % (found,))
    return found


class Taps:
    """Whether draws of noise go to the tape that is current; without a tape they only pass."""

    _open: Optional[ExitStack] = None
    _modules = 0

    @classmethod
    def open(cls) -> None:
        """Put them in place. To look through all modules takes longer than most runs do."""
        if cls._open is not None and cls._modules == len(sys.modules):
            return
        cls.close()
        cls._open = ExitStack()
        # The libraries keep references to generators, so that these are replaced first.
        cls._open.enter_context(tapped_generators())
        cls._open.enter_context(tapped_libraries())
        cls._modules = len(sys.modules)

    @classmethod
    def close(cls) -> None:
        """Take them away."""
        if cls._open is not None:
            cls._open.close()
            cls._open = None


def run_once(target: Target, data: ExaminedData, tape: Tape, seed: int) -> Run:
    """Run the target, with a tape, and keep everything that comes out."""
    found = None
    run = Run(tape=tape, parts={})
    with heard() as said:
        try:
            with Recording(tape):
                found = release_of(target, data, generator(seed))
                run.parts = parts_of(found, run.wholes)
        except (Exception, SystemExit) as error:
            run.error = "%s: %s" % (type(error).__name__, error)
            frame = traceback.extract_tb(error.__traceback__)[-1]
            run.error_place = Place(frame.filename, frame.lineno or 0, frame.name)
    run.origin = found
    run.messages = {_ADDRESS.sub("0x", text): place for text, place in said.items()}
    return run


def release_of(target: Target, data: ExaminedData, rng: np.random.Generator) -> Any:
    """What a target releases: all that a generator yields, or the part that it names itself."""
    found = target(data, rng)
    if inspect.isgenerator(found):
        # What it draws, it draws when it is asked.
        found = list(itertools.islice(found, _MOST_YIELDED))
    own = getattr(target, "summary", None)
    return own(found) if callable(own) else found


class _Output(io.StringIO):
    """What is printed, and where each line of it is begun."""

    def __init__(self) -> None:
        super().__init__()
        self.places: List[Optional[Place]] = [None]

    def write(self, text: str) -> int:
        """Keep a text, and the place of the lines that begin in it."""
        if text.strip() and self.places[-1] is None:
            self.places[-1] = place_here()
        self.places += [None] * text.count("\n")
        return super().write(text)


@contextlib.contextmanager
def heard() -> Iterator[Dict[str, Optional[Place]]]:
    """What is warned of, logged and printed, with its places; a terminal or a file gets none of it.

    All of it is there when the context is left.
    """
    output = _Output()
    said: Dict[str, Optional[Place]] = {}
    logged: Dict[str, Optional[Place]] = {}

    def keep(logger: logging.Logger, record: logging.LogRecord) -> None:
        if record.levelno >= logging.INFO:
            place = Place(record.pathname, record.lineno, record.funcName)
            logged.setdefault("%s: %s" % (record.levelname, record.getMessage()), place)

    with ExitStack() as stack:
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        stack.enter_context(contextlib.redirect_stdout(output))
        stack.enter_context(contextlib.redirect_stderr(output))
        # In place of the handlers, which hold the streams that they were made with.
        replaced(stack, logging.Logger, "callHandlers", keep)
        yield said
        for one in caught:
            text = "%s: %s" % (one.category.__name__, one.message)
            said.setdefault(text, Place(one.filename, one.lineno, ""))
        said.update(logged)
        said.update(zip(output.getvalue().split("\n"), output.places))
        said.pop("", None)


def examined(
    target: Target,
    first: ExaminedData,
    second: ExaminedData,
    *,
    seed: int,
    again: bool = True,
    traced: bool = False,
    kept: bool = False,
) -> Dict[str, Any]:
    """What one record changes when the noise of the run on D is replayed on D'.

    A replay on D itself comes first. What differs there is drawn from where no tap is, so that it
    says nothing about the record, and it is left out and named.

    Parameters
    ----------
    target : callable
        What is examined.
    first, second : ExaminedData
        D and D'.
    seed : int
        The generator that the target is handed comes from it.
    again : bool
        Whether another run on D, with another seed, shows if noise is drawn anew.
    traced : bool
        Whether the lines at which differing values were computed are looked for, in slower runs.
    kept : bool
        Whether the noise is that of :func:`parts_at`.

    Returns
    -------
    dict
        ``usable``: whether the target ran on at least one of the two; ``differences``; ``calls``:
        what every call of noise hid and how far the record moved that; ``unseen``: what could not
        be seen, in words.
    """
    Taps.open()
    distance = 2 if len(first) == len(second) else 1
    # No seed governs noise of the system: what was seen with it is looked at again with the same.
    before = _kept.get((target, seed)) if traced or kept else None
    recorded = run_once(target, first, Tape(earlier=before, distance=distance), seed)
    control = run_once(target, first, Tape(earlier=recorded.tape), seed)
    replayed = _replayed(target, second, recorded, seed)
    if recorded.error and replayed.error:
        return {"usable": False, "error": recorded.error}
    fixed: List[SeenDifference] = []
    parts: Set[str] = set()
    if again:
        fixed, parts = _fixed(target, first, second, recorded, seed + 1)
    noise = {(one.kind, one.what) for one in _differences(recorded, control)}
    found = [*fixed, *_reused(replayed.tape), *_differences(recorded, replayed)]
    found = [one for one in found if (one.kind, one.what) not in noise]
    if found and not traced:
        _keep(target, seed, recorded.tape)
    if traced:
        stated, sides = _with_sources(found, target, (first, second), (recorded, replayed), seed)
    picking, escaped = _picking_and_escaped(recorded.tape)
    origins = [line for one in escaped if traced for line in _lines_of_draw(one)]
    uneven = replayed.tape.uneven()
    calls = [_described(*pair, uneven) for pair in replayed.tape.matched()]
    if traced:
        for one, pair in zip(calls, replayed.tape.matched()):
            lines, one["computed"] = _budget_lines(pair[0] or pair[1], stated, sides)
            one["budget"] = one["budget"] or lines
    unseen = ["a draw at %s is put on nothing that was seen" % one for one in escaped]
    unseen += ["what a sample of records changes, which is drawn at %s" % one for one in picking]
    if noise:
        same_data = ", ".join(sorted({what or "the release" for _, what in noise})[:5])
        unseen.append("not the same again on the same data, with the same noise: %s" % same_data)
    closed = [path for path in recorded.parts if path.endswith(CLOSED)]
    unseen += ["what %s holds is not looked into" % (path or "the release") for path in closed]
    if MORE_PARTS in recorded.parts:
        unseen.append("the release has more parts than are compared")
    parts |= {one.what for one in found if one.kind in ("value", "structure")}
    # A sample that nobody has to draw tells nothing.
    found = [
        one for one in found if one.kind != "calls" or "%s:%d" % (one.file, one.line) not in picking
    ]
    # A number may differ by what such noise hides. Anything else may not.
    possible = [one for one in found if escaped and one.kind == "value"]
    found = [one for one in found if one not in possible]
    for difference in possible:
        difference.origins = list(dict.fromkeys([*difference.origins, *origins]))
    return {
        "usable": True,
        "differences": [one.plain() for one in found[:_MOST_DIFFERENCES]],
        "more": max(0, len(found) - _MOST_DIFFERENCES),
        "possible": [one.plain() for one in possible[:_MOST_DIFFERENCES]],
        "parts": sorted("" if one == "release" else one for one in parts)[:200],
        "calls": calls,
        "released": _released(recorded),
        "keeps_state": any(kind == "calls" for kind, _ in noise),
        "samples": bool(noise) or (again and _samples(target, second, replayed.tape, seed)),
        "unseen": unseen,
    }


def _keep(target: Target, seed: int, tape: Tape) -> None:
    if len(tape.calls) < _MOST_KEPT_CALLS:
        _kept[target, seed] = tape
        if len(_kept) > _MOST_KEPT:
            del _kept[next(iter(_kept))]


def parts_at(target: Target, chain: List[ExaminedData], seed: int) -> int:
    """The place in a chain of neighbours before which, with the same noise, nothing differs yet.

    The noise is kept. Values under noise move along a chain; nothing else does. It is 0 where both
    ends are the same.
    """
    Taps.open()
    recorded = run_once(target, chain[0], Tape(), seed)
    _kept.pop((target, seed), None)
    _keep(target, seed, recorded.tape)
    picking, escaped = _picking_and_escaped(recorded.tape)
    same_data: Set[Tuple[str, str]] = set()

    def parts(data: ExaminedData) -> bool:
        found = _differences(recorded, run_once(target, data, Tape(earlier=recorded.tape), seed))
        return any(
            (one.kind, one.what) not in same_data
            and one.kind in ("structure", "calls", "parameter", "value")[: 3 if escaped else 4]
            and (one.kind != "calls" or "%s:%d" % (one.file, one.line) not in picking)
            for one in found
        )

    low, high = 0, len(chain) - 1
    if recorded.error or not parts(chain[high]):
        return 0
    control = run_once(target, chain[0], Tape(earlier=recorded.tape), seed)
    same_data.update((one.kind, one.what) for one in _differences(recorded, control))
    if not parts(chain[high]):
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if parts(chain[middle]) else (middle, high)
    return low


def _replayed(target: Target, data: ExaminedData, recorded: Run, seed: int) -> Run:
    """The run with the noise of another one, drawn in the order in which less differs."""
    found = run_once(target, data, Tape(earlier=recorded.tape), seed)
    least = len(_differences(recorded, found))
    orders = map(found.tape.reordered, TIES if least else ())
    tried: List[Any] = [{}]
    for reordered in list(orders):
        order = {key: one for key, one in reordered.items() if key != one}
        if not least or order in tried:
            continue
        tried.append(order)
        other = run_once(target, data, Tape(earlier=recorded.tape, order=order), seed)
        if len(_differences(recorded, other)) < least:
            found, least = other, len(_differences(recorded, other))
    return found


def _fixed(
    target: Target, first: ExaminedData, second: ExaminedData, recorded: Run, seed: int
) -> Tuple[List[SeenDifference], Set[str]]:
    """Noise that is the same with another seed, and what of the release it leaves bare."""
    fresh = run_once(target, first, Tape(), seed)
    numbered = dict(fresh.tape.numbered())
    calls: Dict[Any, Call] = {}
    same_answers: Dict[Any, List[bool]] = {}
    whole: Set[Any] = set()
    chance: Dict[Any, float] = {}
    for key, call in recorded.tape.numbered():
        if call.family == "categorical":
            # What is chosen among candidates comes twice by chance: at most by this.
            likely = float(np.max(call.value, initial=0.0))
            chance[call.key] = chance.get(call.key, 0.0) + (math.log(likely) if likely > 0.0 else 0)
        elif _moved(call.value, call.answer) is None or _is_stated(call):
            continue
        other = numbered.get(key)
        calls.setdefault(call.key, call)
        equal = other is not None and _equal(call.answer, other.answer)
        same_answers.setdefault(call.key, []).append(equal)
        if not _has_fractions(call.answer):
            whole.add(call.key)
    fixed = [
        key
        for key, equal in same_answers.items()
        if all(equal) and (1 + _MORE_RUNS) * chance.get(key, -math.inf) < _BY_CHANCE
    ]
    if whole & set(fixed):
        # Whole numbers come twice by chance, but not in many runs.
        fixed = _still_fixed(target, first, recorded, fixed, seed)
    found = [
        _at_call("seed", calls[key], calls[key].primitive, "the same", "in every run")
        for key in fixed
    ]
    for one in found:
        one.origins = _seeding_lines(fresh.tape)
        one.source = one.origins[0] if one.origins else ""
    if not found:
        return [], set()
    other = run_once(target, second, Tape(), seed)
    bare = {
        path
        for path, one in recorded.parts.items()
        if same(one, fresh.parts.get(path)) and not same(one, other.parts.get(path))
    }
    return found, bare


def draws(name: str, directory: Optional[str], data: ExaminedData, seed: int) -> Dict[str, Any]:
    """The draws that hide values in the first run of a new process, and where it sets seeds.

    Returns
    -------
    dict
        ``draws``: for each the primitive, the line, its text and the answer; ``seeded``: the lines
        that made generators with a fixed seed, also those that only an import runs.
    """
    importing = Tape()
    Taps.open()
    with Recording(importing):
        target = loaded(name, directory)
    Taps.open()
    run = run_once(target, data, Tape(), seed)
    found = []
    for _, call in run.tape.numbered():
        if _moved(call.value, call.answer) is not None and _has_fractions(call.answer):
            place = call.places[0] if call.places else None
            line = "" if place is None else "%s:%d" % (place.file, place.line)
            code = "" if place is None else place.code()
            found.append([call.primitive, line, code, repr(np.ravel(call.answer)[:9])])
    return {"draws": found, "seeded": _seeding_lines(importing) + _seeding_lines(run.tape)}


def _samples(target: Target, data: ExaminedData, replayed: Tape, seed: int) -> bool:
    """Whether what noise hides is another value with other draws, as that of a sample is.

    It is asked of D', which may lack the record that differs: a sample of the records of one user
    alone makes nobody else more private.
    """
    if not replayed.escaped and all(one.followed for one in replayed.draws):
        return False
    runs = [
        {
            key: call.value
            for key, call in run_once(target, data, Tape(), seed + one).tape.numbered()
        }
        for one in range(_FRESH_RUNS)
    ]
    differs = any(not _equal(one[key], runs[0].get(key)) for one in runs[1:] for key in one)
    if not differs or len(data) < 2:
        return differs
    # Draws that sample records are more where there are more records. Others, such as the places at
    # which a search begins, sample none.
    half = run_once(target, data.first(len(data) // 2), Tape(earlier=replayed), seed)
    return bool(half.error) or _amounts(replayed) != _amounts(half.tape)


def _amounts(tape: Tape) -> List[str]:
    """Of how many records or numbers is drawn what is not seen to be put on a value."""
    lines = {*tape.escaped, *(one.place for one in tape.draws if not one.followed)}
    drawn = [one for one in tape.calls if one.places and one.places[0] in lines]
    of = ((one.key, one.amount, np.shape(one.value), np.shape(one.answer)) for one in drawn)
    return sorted(map(repr, of))


def _seeding_lines(tape: Tape) -> List[str]:
    found = [at for at in dict.fromkeys(tape.seeded) if is_examined(at.file)]
    # The line that states the seed, and not those that hand it on.
    return list(map(shown, sorted(found, key=lambda at: re.search(r"\b\d", at.code()) is None)))


def _still_fixed(
    target: Target, data: ExaminedData, recorded: Run, keys: List[Any], seed: int
) -> List[Any]:
    """The lines whose noise is the same in many more runs."""
    for number in range(1, _MORE_RUNS + 1):
        again = dict(run_once(target, data, Tape(), seed + number).tape.numbered())
        differ = {
            call.key
            for key, call in recorded.tape.numbered()
            if key not in again or not _equal(call.answer, again[key].answer)
        }
        keys = [key for key in keys if key not in differ]
        if not keys:
            break
    return keys


def _is_stated(call: Call) -> bool:
    """Whether an answer shows no noise: a parameter, such as the end of a range, or no number."""
    if not np.all(np.isfinite(_numbers_of(call.answer))):
        return True
    return any(_equal(call.answer, one) for one in call.parameters.values())


def _has_fractions(answer: Any) -> bool:
    """Whether numbers are not whole, so that they do not come twice by chance."""
    numbers = _numbers_of(answer)
    return bool(np.any(np.isfinite(numbers) & (np.mod(numbers, 1.0) != 0.0)))


def _reused(tape: Tape) -> List[SeenDifference]:
    """Draws of noise that hide several values, which one record moves by different amounts."""
    moves: Dict[Any, List[Tuple[float, Call]]] = {}
    for before, after in tape.matched():
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
        for draw, moved in zip(noise.tolist(), by.tolist()):
            moves.setdefault((before.origin, draw), []).append((moved, after))
    found = []
    for several in moves.values():
        least, most = min(moved for moved, _ in several), max(moved for moved, _ in several)
        if most - least > 1e-9 * (1.0 + abs(most)):
            _, call = several[-1]
            values = ("one value moves by %.6g" % least, "another one by %.6g" % most)
            found.append(_at_call("reused noise", call, call.primitive, *values))
            drawn = [tape.draws[one].place for one in call.origin if one < len(tape.draws)]
            if drawn and drawn[0] is not None and drawn[0] not in call.places[:1]:
                found[-1].source = shown(drawn[0])
    return _first_of_each(found)


def _with_sources(
    found: List[SeenDifference],
    target: Target,
    data: Tuple[ExaminedData, ExaminedData],
    runs: Tuple[Run, Run],
    seed: int,
) -> Tuple[Dict[Place, bool], List[Watch]]:
    """Add the lines at which values that differ were computed.

    Returns
    -------
    dict, list of Watch
        Where numbers were computed that calls say of their budgets and sensitivities, and whether
        these are whole; and the runs.
    """
    sides: List[Watch] = []
    stated = _stated_numbers(runs[0].tape)
    for side, one in enumerate(data):
        values: Dict[Any, Any] = {(_STATED, *one): one[1] for one in stated if not side}
        for place, difference in enumerate(found):
            for part, value in enumerate(difference.values[side]):
                values[place, part] = value
            for part, value in enumerate(difference.values[1 - side]):
                values[place, part, _OTHER] = value
            if difference.kind == "sensitivity" and not side and len(data[0]) > len(data[1]):
                by = _by_how_much(difference)
                values[place, _MOVED] = by
                if isinstance(by, float) and math.isfinite(by):
                    values[place, _MOVED, "rounded"] = round(by, 9)
        watch = Watch(values)
        # The noise of the first run comes back, so that all values are those that were seen.
        tape = Tape(earlier=runs[0].tape, order=runs[side].tape.order)
        with watch:
            run_once(target, one, tape, seed)
        sides.append(watch)
    branches = partings(*sides)
    for place, difference in enumerate(found):
        branch = parting_before(branches, difference.file)
        if branch is not None and difference.kind in _OF_BRANCHES:
            difference.branch = shown(branch)
        declared = difference.declared
        if difference.source and declared is not None and declared % 1.0:
            # Where the number comes from, and not where it is handed over.
            held = sides[0].found.get((_STATED, "float", declared), [])
            stated_in = statement_at(*_line_of(difference.source))
            if held and statement_at(*held[0]) != stated_in:
                difference.source = shown(Place(*held[0], ""))
        _add_source(difference, place, sides)
        if not difference.file:
            _add_setting_line(difference, sides)
        read = [(difference.file, difference.line)]
        read += [_line_of(difference.source)] if difference.source else []
        # A parameter that differs is none of the value that the same line hides.
        read = read[:: -1 if difference.kind == "parameter" else 1]
        lines = [one for at in read if at[0] for one in assigned_before(*at)]
        # What a function is given, its callers have computed.
        for at in difference.stack[1:_CALLERS]:
            lines += [Place(at.file, at.line, ""), *assigned_before(at.file, at.line, _STEPS)]
        # What one record changes comes first, and of it what that record alone contributes.
        lines.sort(key=lambda one: not differs((one.file, one.line), *sides))
        keys = [(place, _MOVED), (place, _MOVED, "rounded")]
        alone = [line for key in keys for line in sides[0].found.get(key, [])[:1]][:1]
        moved = [one for line in alone for one in (Place(*line, ""), *assigned_before(*line))]
        changed = [
            one
            for one in lines
            if differs((one.file, one.line), *sides) and not one.code().startswith("for ")
        ]
        difference.reads = shown(changed[0]) if changed else ""
        origins = [shown(one) for one in [*moved, *lines]]
        difference.origins = list(dict.fromkeys([*difference.origins, *origins]))
    # A number with a fraction is held by few lines, and a whole one by many.
    stated.sort(key=lambda one: float(one[1]).is_integer())
    whole = {
        line: float(one[1]).is_integer()
        for one in stated[::-1]
        for line in sides[0].found[(_STATED, *one)]
    }
    return {Place(*line, ""): one for line, one in list(whole.items())[::-1]}, sides


def _line_of(text: str) -> Tuple[str, int]:
    """The file and the line of a text that :func:`shown` made."""
    file, _, line = text.partition("  ")[0].rpartition(":")
    return file, int(line)


def _stated_numbers(tape: Tape) -> List[Tuple[str, Any]]:
    """What calls say of their budgets and sensitivities: names and numbers, whole ones twice."""
    found: Dict[Tuple[str, Any], None] = {}
    for call in tape.calls[:_MOST_STATED]:
        for name, one in call.parameters.items():
            if isinstance(one, (int, float)) and any(word in name for word in _OF_BUDGETS):
                kinds = (int, float) if float(one).is_integer() else (float,)
                found.update(dict.fromkeys((kind.__name__, kind(one)) for kind in kinds))
    return list(found)


def _by_how_much(difference: SeenDifference) -> Any:
    """What a record that only D has contributes to a number; None for whatever else."""
    first, second = (side[0] for side in difference.values)
    try:
        return float(first) - float(second)
    except (TypeError, ValueError):
        return None


def _add_source(difference: SeenDifference, place: int, sides: List[Watch]) -> None:
    """Add the first line that held the value itself or what holds it, or else an array with it."""
    for held in ("found", "weak"):
        sources: List[Tuple[int, Place]] = []
        for part in range(min(len(one) for one in difference.values)):
            # A line that holds both numbers in either run says nothing.
            first, second = (getattr(side, held).get((place, part), []) for side in sides)
            both = [at for side in sides for at in side.found.get((place, part, _OTHER), [])]
            source = first_common(first, second, both)
            if source is not None:
                line = source.file, source.line
                sources.append((sides[0].when.get(((place, part), line), part), source))
        if not sources:
            continue
        source = min(sources, key=lambda one: one[0])[1]
        if (source.file, source.line) == (difference.file, difference.line):
            return
        if not difference.file:
            difference.file, difference.line = source.file, source.line
            difference.code = source.code()
        elif difference.source:
            # The line that states a parameter stays; that of the value comes beside it.
            difference.origins.append(shown(source))
        else:
            difference.source = shown(source)
        return


def _add_setting_line(difference: SeenDifference, sides: List[Watch]) -> None:
    """Add the line that gives a part of the release its name: an attribute, a key or a keyword.

    The last line of all is that of the release itself, if both runs return there.
    """
    names = re.findall(r"\.(\w+)|\['([^']*)'\]", difference.what)
    name = "".join(names[-1]) if names else ""
    named = (at for at in sides[0].way if name and at[1] in lines_that_set(at[0], name))
    last = {side.way[-1] for side in sides if side.way and side.is_whole}
    of_release = len(last) == 1 and difference.kind in ("value", "structure")
    returns = [at for at in last if of_release and Place(*at, "").code().startswith("return ")]
    found = next(named, returns[0] if returns else None)
    if found is not None:
        difference.file, difference.line = found
        difference.code = Place(*found, "").code()


def _picking_and_escaped(*tapes: Tape) -> Tuple[List[str], List[str]]:
    """The lines whose draws were not seen to be put on a value.

    Those that choose which records are taken, which hides nothing, are told from the others.
    """
    places = [one.place for tape in tapes for one in tape.draws if not one.followed]
    places += [one for tape in tapes for one in tape.escaped]
    lines = {(one.file, one.line) for one in places if one is not None}
    arrays: Dict[Tuple[str, int], bool] = {}
    for tape in tapes:
        for call in tape.calls:
            one = call.places[0] if call.places else Place("", 0, "")
            line = one.file, one.line
            several = isinstance(call.answer, list) or getattr(call.answer, "ndim", 0) > 0
            arrays[line] = arrays.get(line, True) and several
    found: Tuple[List[str], List[str]] = ([], [])
    for line in sorted(lines):
        if not makes_seed(*line):
            picks = line in arrays and picks_records(*line, arrays[line])
            found[0 if picks else 1].append("%s:%d" % line)
    return found


def _lines_of_draw(line: str) -> List[str]:
    """A line that draws, and those that assign what it reads, such as the probability of a coin."""
    file, _, number = line.rpartition(":")
    before = assigned_before(file, int(number))
    return list(map(shown, [Place(file, int(number), ""), *before]))


def _released(run: Run) -> List[bool]:
    """For every call, whether all that it answered is in the release.

    Of an interval that was chosen among several, a point is released, and hides which it was.
    """
    shown = {one for one in run.parts.values() if isinstance(one, (int, float, str))}
    return [
        all(
            isinstance(one, (int, float, str)) and one in shown
            for one in np.ravel(np.asarray(plain(call.answer), dtype=object))
        )
        for call in run.tape.calls
    ]


def _differences(one: Run, other: Run) -> List[SeenDifference]:
    """In what two runs differ, what weighs most first."""
    return [
        *_of_errors(one, other),
        *_of_calls(other.tape),
        *([] if one.error or other.error else _of_releases(one, other)),
        *_of_messages(one, other),
    ]


def _of_errors(one: Run, other: Run) -> List[SeenDifference]:
    first, second = (_ADDRESS.sub("0x", run.error) for run in (one, other))
    if first == second:
        return []
    place = one.error_place or other.error_place
    return [_difference("error", "exception", first or "none", second or "none", place)]


def _of_messages(one: Run, other: Run) -> List[SeenDifference]:
    only = [line for line in one.messages if line not in other.messages]
    more = [line for line in other.messages if line not in one.messages]
    if not only and not more:
        return []
    place = {**one.messages, **other.messages}[(only or more)[0]]
    texts = "; ".join(only), "; ".join(more)
    return [_difference("message", "warnings, logs and print", *texts, place)]


def _of_calls(tape: Tape) -> List[SeenDifference]:
    found, uneven = [], tape.uneven()
    for before, after in tape.matched():
        if before is None or after is None:
            call = before or after
            assert call is not None
            if call.alone:
                continue
            said = ["called", "not called"]
            first, second = said if after is None else said[::-1]
            found.append(_at_call("calls", call, call.primitive, first, second))
            continue
        if after.key in uneven:
            continue
        for key in sorted(set(before.parameters) | set(after.parameters)):
            values = (before.parameters.get(key), after.parameters.get(key))
            if not _equal(*values):
                what = "%s of %s" % (key, after.primitive)
                found.append(_at_call("parameter", after, what, *map(_short, values)))
                found[-1].size = _size(*values)
                found[-1].values = ([values[0]], [values[1]])
        found += _of_values(before, after)
    return _first_of_each(found)


def _of_values(before: Call, after: Call) -> List[SeenDifference]:
    """A value that moves by more than its noise hides."""
    moved = _moved(before.value, after.value)
    if moved is None:
        return []
    shown = (_short(before.value), _short(after.value))
    sensitivity, by = after.sensitivity, _length_of_move(before, after, moved)
    if sensitivity is None:
        # No noise of any scale hides a value that is missing, or infinite, on one side alone.
        if moved[1] < math.inf:
            return []
        what = "value given to %s" % after.primitive
    elif by <= sensitivity * (1.0 + _ROUNDING) + 1e-12:
        return []
    else:
        what = "value given to %s, of sensitivity %.6g" % (after.primitive, sensitivity)
    # The score of a candidate that is ruled out is infinite, as is that of an empty interval.
    kind = "parameter" if after.family == "gumbel" else "sensitivity"
    found = _at_call(kind, after, what, *shown)
    found.values = ([before.value], [after.value])
    found.size = math.inf if not sensitivity else _size(by, sensitivity)
    found.declared = sensitivity
    if moved[1] == math.inf:
        # No sensitivity would be large enough.
        found.source = ""
    return [found]


def _length_of_move(before: Call, after: Call, moved: List[float]) -> float:
    """How far a value moved, measured as its sensitivity is."""
    if after.length == "spectral" and moved[2] < math.inf:
        return float(np.linalg.norm(np.asarray(before.value) - np.asarray(after.value), 2))
    if after.length == "spread" and moved[2] < math.inf:
        return float(np.ptp(np.asarray(before.value) - np.asarray(after.value)))
    return moved[1] if after.length == "euclidean" else moved[2]


def _size(first: Any, second: Any) -> float:
    """The logarithm of the ratio of two numbers; infinite for anything else."""
    try:
        with np.errstate(all="ignore"):
            ratio = np.abs(np.log(np.abs(np.asarray(first, dtype=float))) - np.log(
                np.abs(np.asarray(second, dtype=float))))  # fmt: skip
    except (TypeError, ValueError):
        return math.inf
    largest = float(np.max(ratio, initial=0.0))
    return math.inf if math.isnan(largest) else largest


def _first_of_each(found: List[SeenDifference]) -> List[SeenDifference]:
    """One difference of each kind at each line."""
    kept: Dict[Any, SeenDifference] = {}
    for one in found:
        kept.setdefault((one.kind, one.what, one.file, one.line), one)
    return list(kept.values())


def _of_releases(one: Run, other: Run) -> List[SeenDifference]:
    found = []
    for path in [*one.parts, *(path for path in other.parts if path not in one.parts)]:
        missing = "not there"
        values = (one.parts.get(path, missing), other.parts.get(path, missing))
        if same(*values):
            continue
        whole = path.endswith("(kind)") or path not in one.parts or path not in other.parts
        kind = "structure" if whole else "value"
        place = _setting_line(one.origin, path)
        what = path or "release"
        found.append(_difference(kind, what, _short(values[0]), _short(values[1]), place))
        found[-1].size = _size(*values)
        found[-1].values = (_looked_for(one, path), _looked_for(other, path))
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
            found.setdefault(one.group(1), Place(file or "", start + place, kind.__name__))
    return found


def _difference(
    kind: str, what: str, first: str, second: str, place: Optional[Place] = None
) -> SeenDifference:
    if place is None:
        return SeenDifference(kind, what, first, second)
    return SeenDifference(kind, what, first, second, place.file, place.line, place.code())


def _at_call(kind: str, call: Call, what: str, first: str, second: str) -> SeenDifference:
    found = _difference(kind, what, first, second, call.places[0] if call.places else None)
    found.stack = call.places
    found.through = ["%s:%d" % (one.file, one.line) for one in reversed(call.places[:12])]
    if call.stated_at is not None and kind in ("parameter", "sensitivity"):
        stated = call.stated_at
        found.source = "%s:%d  %s" % (stated.file, stated.line, stated.code())
    return found


def _described(before: Optional[Call], after: Optional[Call], uneven: Any) -> Dict[str, Any]:
    """What accounting needs of a call in both runs."""
    call = before or after
    assert call is not None
    asked = call.built[:1] if call.alone and (before is None or after is None) else ()
    moved = relative = None
    known = before is not None and after is not None and call.key not in uneven
    if before is not None and after is not None and known:
        moved = _moved(before.value, after.value)
        relative = _relative(before, after) if call.family else None
    return {
        "primitive": call.primitive,
        "family": call.family,
        "known": known,
        "hides": call.value is not None,
        "moved": moved,
        "relative": relative,
        "declared": call.declared,
        "line": "%s:%d" % (call.places[0].file, call.places[0].line) if call.places else "",
        "code": call.places[0].code() if call.places else "",
        "budget": list(map(shown, asked)),
        "computed": [],
    }


def _budget_lines(
    call: Optional[Call], stated: Dict[Place, bool], sides: List[Watch]
) -> Tuple[List[str], List[Tuple[str, bool]]]:
    """The lines that a call's noise and value are computed of, and those that name a budget.

    Those that compute a part of a budget or a sensitivity come first, the outermost before others,
    then what one record changes.

    Returns
    -------
    list of str, list
        The lines; and the one of them that most likely decides, with whether it is about the scale.
    """
    found: Dict[Place, int] = {}
    handed: List[Place] = []
    stacks = () if call is None else (call.built, call.places)
    for stack in stacks:
        for depth, at in reversed(list(enumerate(stack[:_FRAMES_OF_BUDGETS]))):
            if _rank_of_budget(at) is not None and _COMPUTES.search(at.code()):
                handed.append(Place(at.file, at.line, ""))
            near = assigned_before(at.file, at.line, _STEPS) if depth < _CALLERS else []
            bound = given_for(at, stack[depth - 1], _OF_BUDGETS) if depth else []
            found.update(dict.fromkeys(bound, 0))
            for line in [at, *near, *assigned_before(at.file, at.line, _STEPS_OF_BUDGETS)]:
                one, rank = Place(line.file, line.line, ""), _rank_of_budget(line)
                if line in near and rank != 0:
                    rank = 1 if differs((one.file, one.line), *sides) else 3
                if rank is not None:
                    found[one] = min(rank, found.get(one, rank))
    for one, whole in stated.items():
        rank = _rank_of_budget(one)
        if rank == 0 or not whole or (rank and _COMPUTES.search(one.code())):
            found[one] = min(0, found.get(one, 0))
    # What is given to calls, and to objects of dataclasses.
    handed += [
        Place(*line, "")
        for line, fields in sides[0].made.items()
        if any(word in fields for word in _OF_BUDGETS)
    ]
    found.update(dict.fromkeys(handed, 0))
    run = [one for one in found if was_run((one.file, one.line), *sides)]
    # Of lines of a rank those come first that hold a number, and of these those that compute it.
    held = {**dict.fromkeys(handed, 1), **{one: 2 * whole for one, whole in stated.items()}}
    run.sort(key=lambda one: (found[one], held.get(one, 3), _hands_on(one)))
    own = [Place(one.file, one.line, "") for stack in stacks for one in stack[:1]]
    first = [one for one in run if one not in own and not _hands_on(one) and found[one] < 2][:1]
    return [shown(one) for one in run], [(shown(one), found[one] == 0) for one in first]


def computing_lines(target: Target, data: ExaminedData, seed: int) -> List[str]:
    """The lines of a run, in primitives too, that compute a part of a budget or a scale.

    The last one comes first.
    """
    Taps.open()
    watch = Watch({})
    with watch:
        run_once(target, data, Tape(), seed)
    lines = [Place(*at, "") for at in dict.fromkeys(watch.way[::-1])]
    return [shown(one) for one in lines if _rank_of_budget(one) == 0 and not _hands_on(one)]


def _hands_on(line: Place) -> bool:
    """Whether a line only gives a number another name, or begins a loop."""
    return _DECIDES_NOTHING.match(line.code()) is not None


def _rank_of_budget(line: Place) -> Optional[int]:
    """0 if a line computes a part of a budget or a sensitivity, 2 if it names one, or None."""
    code = line.code().lower()
    if not any(word in code for word in _OF_BUDGETS):
        return None
    return 0 if _COMPUTES_BUDGET.match(code) else 2


def _relative(before: Call, after: Call) -> Optional[List[float]]:
    """How far the values moved in units of the noise: the L1 and the L2 length.

    For draws among probabilities, the sum of the largest logarithms of their ratios, twice.
    """
    first, second = (np.asarray(one.value, dtype=float) for one in (before, after))
    if first.shape != second.shape or not _equal(before.scale, after.scale):
        return None
    size = np.size(plain(before.answer))
    if before.family == "categorical":
        return [_ratios(first, second).max(initial=0.0) * size] * 2
    with np.errstate(all="ignore"):
        moved = np.abs(first - second) / np.asarray(before.scale, dtype=float)
    moved = np.where(first == second, 0.0, moved)
    if moved.size < size:
        # One value under many draws, each of which shows it.
        moved = np.broadcast_to(moved, np.shape(plain(before.answer)))
    return [float(moved.sum()), float(np.sqrt(np.square(moved).sum()))]


def _ratios(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The logarithms of the ratios of probabilities, without their signs."""
    with np.errstate(all="ignore"):
        found = np.abs(np.log(first) - np.log(second))
    return np.where(first == second, 0.0, found)


def _moved(first: Any, second: Any) -> Optional[List[float]]:
    """The L1, the L2 and the largest difference of two values; None if they are no numbers."""
    try:
        one, other = (_numbers_of(value) for value in (first, second))
    except (TypeError, ValueError, RuntimeError):
        return None
    if first is None or second is None:
        return None
    if one.shape != other.shape:
        return None if one.ndim else [float("inf")] * 3
    with np.errstate(all="ignore"):
        by = np.abs(one - other)
    by = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, by)
    by = np.where(np.isnan(by), np.inf, by)
    return [float(by.sum()), float(np.sqrt(np.square(by).sum())), float(by.max(initial=0.0))]


def _numbers_of(value: Any) -> Any:
    """An array of floats; also of a tensor, whose gradient nobody needs."""
    detached = value.detach().cpu() if hasattr(value, "detach") else value
    return np.asarray(detached, dtype=float)


def _equal(first: Any, second: Any) -> bool:
    try:
        if callable(first) and callable(second):
            return True
        one, other = np.asarray(first), np.asarray(second)
        if one.dtype.kind == "f" and other.dtype.kind in "fiu":
            return one.shape == other.shape and bool(
                np.allclose(one, other, rtol=_ROUNDING, atol=0.0, equal_nan=True)
            )
        return one.shape == other.shape and bool(np.all(one == other))
    except Exception:  # objects of the examined library may refuse to be compared
        return repr(first) == repr(second)


def _short(value: Any) -> str:
    value = plain(value)
    if isinstance(value, np.generic):
        value = value.item()
    shown = value if isinstance(value, str) else repr(value)
    return shown if len(shown) <= 120 else shown[:117] + "..."
