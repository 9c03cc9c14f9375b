"""Which lines of the examined code are named: where values that differ were computed, and of what.

Both runs are made once more, line by line (:mod:`sources`), and what they show is followed through
the text of the code (:mod:`slices`).
"""

from __future__ import annotations

import math
import re
from typing import Any, Dict, List, Optional, Tuple

from .differences import SeenDifference
from .runs import ExaminedData, Run, Taps, Target, run_once
from .slices import assigned_before, given_for, lines_that_set, statement_at
from .sources import Watch, differs, first_common, parting_before, partings, was_run
from .tape import Call, Place, Tape

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


def add_lines(
    found: List[SeenDifference],
    target: Target,
    data: Tuple[ExaminedData, ExaminedData],
    runs: Tuple[Run, Run],
    seed: int,
) -> Tuple[Dict[Place, bool], List[Watch]]:
    """Add the lines at which values that differ were computed.

    Returned are the lines that computed numbers which calls say of their budgets and sensitivities,
    with whether these are whole, and the two runs.
    """
    sides: List[Watch] = []
    stated = _stated_numbers(runs[0].tape)
    for side, one in enumerate(data):
        values: Dict[Any, Any] = {}
        if not side:
            values = {(_STATED, *number): number[1] for number in stated}
        for place, difference in enumerate(found):
            for part, value in enumerate(difference.values[side]):
                values[place, part] = value
            for part, value in enumerate(difference.values[1 - side]):
                values[place, part, _OTHER] = value
            if difference.kind == "sensitivity" and not side and len(data[0]) > len(data[1]):
                by = _by_how_much(difference)
                values[place, _MOVED] = by
                if by is not None and math.isfinite(by):
                    values[place, _MOVED, "rounded"] = round(by, 9)
        sides.append(Watch(values))
        # The noise of the first run comes back, so that all values are those that were seen.
        tape = Tape(earlier=runs[0].tape, order=runs[side].tape.order)
        with sides[side]:
            run_once(target, one, tape, seed)
    branches = partings(*sides)
    for place, difference in enumerate(found):
        if difference.kind in _OF_BRANCHES:
            difference.branch = parting_before(branches, difference.place)
        _add_source(difference, place, sides)
        if difference.place is None:
            difference.place = _naming_line(difference, sides)
        _add_origins(difference, place, sides)
    # A number with a fraction is held by few lines, and a whole one by many.
    stated.sort(key=lambda one: float(one[1]).is_integer())
    whole = {
        line: float(one[1]).is_integer()
        for one in stated[::-1]
        for line in sides[0].found[(_STATED, *one)]
    }
    return dict(list(whole.items())[::-1]), sides


def _stated_numbers(tape: Tape) -> List[Tuple[str, Any]]:
    """What calls say of their budgets and sensitivities: names and numbers, whole ones twice."""
    found: Dict[Tuple[str, Any], None] = {}
    for call in tape.calls[:_MOST_STATED]:
        for name, one in call.parameters.items():
            if isinstance(one, (int, float)) and any(word in name for word in _OF_BUDGETS):
                kinds = (int, float) if float(one).is_integer() else (float,)
                found.update(dict.fromkeys((kind.__name__, kind(one)) for kind in kinds))
    return list(found)


def _by_how_much(difference: SeenDifference) -> Optional[float]:
    """What a record that only D has contributes to a number; None for whatever else."""
    first, second = (side[0] for side in difference.values)
    try:
        return float(first) - float(second)
    except (TypeError, ValueError):
        return None


def _add_source(difference: SeenDifference, place: int, sides: List[Watch]) -> None:
    """Add the first line that held the value itself or what holds it, or else an array with it."""
    declared = difference.declared
    if difference.source is not None and declared is not None and declared % 1.0:
        # Where the number comes from, and not where it is handed over.
        held = sides[0].found.get((_STATED, "float", declared), [])
        if held and statement_at(*held[0]) != statement_at(*difference.source):
            difference.source = held[0]
    source = _computing_line(difference, place, sides)
    if source is None or source == difference.place:
        return
    if difference.place is None:
        difference.place = source
    elif difference.source is not None:
        # The line that states a parameter stays; that of the value comes beside it.
        difference.origins.append(source)
    else:
        difference.source = source


def _computing_line(difference: SeenDifference, place: int, sides: List[Watch]) -> Optional[Place]:
    for held in ("found", "weak"):
        sources: List[Tuple[int, Place]] = []
        for part in range(min(len(one) for one in difference.values)):
            # A line that holds both numbers in either run says nothing.
            first, second = (getattr(side, held).get((place, part), []) for side in sides)
            both = [at for side in sides for at in side.found.get((place, part, _OTHER), [])]
            source = first_common(first, second, both)
            if source is not None:
                sources.append((sides[0].when.get(((place, part), source), part), source))
        if sources:
            return min(sources, key=lambda one: one[0])[1]
    return None


def _naming_line(difference: SeenDifference, sides: List[Watch]) -> Optional[Place]:
    """The line that gives a part of the release its name: an attribute, a key or a keyword.

    The last line of all is that of the release itself, if both runs return there.
    """
    names = re.findall(r"\.(\w+)|\['([^']*)'\]", difference.what)
    name = "".join(names[-1]) if names else ""
    named = (at for at in sides[0].way if name and at.line in lines_that_set(at.file, name))
    last = {side.way[-1] for side in sides if side.way and side.is_whole}
    of_release = len(last) == 1 and difference.kind in ("value", "structure")
    returns = [at for at in last if of_release and at.code.startswith("return ")]
    return next(named, returns[0] if returns else None)


def _add_origins(difference: SeenDifference, place: int, sides: List[Watch]) -> None:
    """Add the lines that assign what the lines read that are known so far."""
    read = [one for one in (difference.place, difference.source) if one is not None]
    # A parameter that differs is none of the value that the same line hides.
    read = read[:: -1 if difference.kind == "parameter" else 1]
    lines = [one for at in read for one in assigned_before(*at)]
    # What a function is given, its callers have computed.
    for at in difference.stack[1:_CALLERS]:
        lines += [at, *assigned_before(*at, _STEPS)]
    # What one record changes comes first, and of it what that record alone contributes.
    lines.sort(key=lambda one: not differs(one, *sides))
    changed = (at for at in lines if differs(at, *sides) and not at.code.startswith("for "))
    difference.reads = next(changed, None)
    keys = [(place, _MOVED), (place, _MOVED, "rounded")]
    alone = [line for key in keys for line in sides[0].found.get(key, [])[:1]][:1]
    moved = [one for line in alone for one in (line, *assigned_before(*line))]
    difference.origins += [*moved, *lines]


def budget_lines(
    call: Call, stated: Dict[Place, bool], sides: List[Watch]
) -> Tuple[List[str], List[Tuple[str, bool]]]:
    """The lines that a call's noise and value are computed of, and those that name a budget.

    Those that compute a part of a budget or a sensitivity come first, the outermost before others,
    then what one record changes. The one that most likely decides is named again, with whether it
    is about the scale.
    """
    found: Dict[Place, int] = {}
    handed: List[Place] = []

    def add(line: Place, rank: int) -> None:
        found[line] = min(rank, found.get(line, rank))

    for stack in (call.built, call.places):
        for depth, at in reversed(list(enumerate(stack[:_FRAMES_OF_BUDGETS]))):
            near = assigned_before(*at, _STEPS) if depth < _CALLERS else []
            for line in given_for(at, stack[depth - 1], _OF_BUDGETS) if depth else []:
                add(line, 0)
            rank = _rank_of_budget(at)
            if rank is not None:
                add(at, rank)
                handed += [at] if _COMPUTES.search(at.code) else []
            for line in [*near, *assigned_before(*at, _STEPS_OF_BUDGETS)]:
                rank = _rank_of_budget(line)
                if line in near and rank != 0:
                    rank = 1 if differs(line, *sides) else 3
                if rank is not None:
                    add(line, rank)
    for line, whole in stated.items():
        rank = _rank_of_budget(line)
        if rank == 0 or not whole or (rank and _COMPUTES.search(line.code)):
            add(line, 0)
    # What is given to calls, and to objects of dataclasses.
    made = sides[0].made.items()
    handed += [at for at, fields in made if any(word in fields for word in _OF_BUDGETS)]
    for line in handed:
        add(line, 0)
    run = [one for one in found if was_run(one, *sides)]
    # Of lines of a rank those come first that hold a number, and of these those that compute it.
    held = {**dict.fromkeys(handed, 1), **{one: 2 * whole for one, whole in stated.items()}}
    run.sort(key=lambda one: (found[one], held.get(one, 3), _hands_on(one)))
    own = [*call.built[:1], *call.places[:1]]
    first = [one for one in run if one not in own and not _hands_on(one) and found[one] < 2][:1]
    return [one.shown for one in run], [(one.shown, found[one] == 0) for one in first]


def computing_lines(target: Target, data: ExaminedData, seed: int) -> List[str]:
    """The lines of a run, in primitives too, that compute a part of a budget or a scale.

    The last one comes first.
    """
    Taps.open()
    watch = Watch({})
    with watch:
        run_once(target, data, Tape(), seed)
    lines = dict.fromkeys(watch.way[::-1])
    return [one.shown for one in lines if _rank_of_budget(one) == 0 and not _hands_on(one)]


def _hands_on(line: Place) -> bool:
    """Whether a line only gives a number another name, or begins a loop."""
    return _DECIDES_NOTHING.match(line.code) is not None


def _rank_of_budget(line: Place) -> Optional[int]:
    """0 if a line computes a part of a budget or a sensitivity, 2 if it names one, or None."""
    code = line.code.lower()
    if not any(word in code for word in _OF_BUDGETS):
        return None
    return 0 if _COMPUTES_BUDGET.match(code) else 2
