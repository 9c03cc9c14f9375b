"""Noise that is the same in every run, because a seed is fixed: it hides nothing."""

from __future__ import annotations

import math
import re
from typing import Any, Dict, List, Optional, Set, Tuple

import numpy as np

from .differences import SeenDifference, at_call, equal, moved, numbers_of
from .releases import same
from .runs import ExaminedData, Run, Taps, Target, loaded, run_once
from .sources import is_examined
from .tape import Call, Place, Tape, recording

# How often whole numbers have to be the same before their noise counts as fixed.
_MORE_RUNS = 24
# The logarithm of how likely choices in all these runs may be the same and count as fixed.
_BY_CHANCE = math.log(1e-9)


def fixed_noise(
    target: Target, first: ExaminedData, second: ExaminedData, recorded: Run, seed: int
) -> Tuple[List[SeenDifference], Set[str]]:
    """Noise that is the same with another seed, and what of the release it leaves bare."""
    fresh = run_once(target, first, Tape(), seed)
    numbered = dict(fresh.tape.numbered())
    calls: Dict[Any, Call] = {}
    differ: Set[Any] = set()
    whole: Set[Any] = set()
    chance: Dict[Any, float] = {}
    for key, call in recorded.tape.numbered():
        if call.family == "categorical":
            # What is chosen among candidates comes twice by chance: at most by this.
            likely = float(np.max(call.value, initial=0.0))
            chance[call.key] = chance.get(call.key, 0.0) + (math.log(likely) if likely > 0.0 else 0)
        elif moved(call.value, call.answer) is None or _is_stated(call):
            continue
        calls.setdefault(call.key, call)
        if key not in numbered or not equal(call.answer, numbered[key].answer):
            differ.add(call.key)
        if not _has_fractions(call.answer):
            whole.add(call.key)
    fixed = [
        key
        for key in calls
        if key not in differ and (1 + _MORE_RUNS) * chance.get(key, -math.inf) < _BY_CHANCE
    ]
    if whole & set(fixed):
        # Whole numbers come twice by chance, but not in many runs.
        fixed = _still_fixed(target, first, recorded, fixed, seed)
    if not fixed:
        return [], set()
    lines = _seeding_lines(fresh.tape)
    found = []
    for key in fixed:
        one = at_call("seed", calls[key], calls[key].primitive, "the same", "in every run")
        one.origins, one.source = list(lines), lines[0] if lines else None
        found.append(one)
    other = run_once(target, second, Tape(), seed)
    bare = {
        path
        for path, part in recorded.parts.items()
        if same(part, fresh.parts.get(path)) and not same(part, other.parts.get(path))
    }
    return found, bare


def draws(name: str, directory: Optional[str], data: ExaminedData, seed: int) -> Dict[str, Any]:
    """The draws that hide values in the first run of a new process, and where it sets seeds.

    ``draws`` has for each the primitive, the line, its text and the answer; ``seeded`` the lines
    that made generators with a fixed seed, also those that only an import runs.
    """
    importing = Tape()
    Taps.open()
    with recording(importing):
        target = loaded(name, directory)
    Taps.open()
    run = run_once(target, data, Tape(), seed)
    found = []
    for _, call in run.tape.numbered():
        if moved(call.value, call.answer) is not None and _has_fractions(call.answer):
            line, code = (call.place.at, call.place.code) if call.place else ("", "")
            found.append([call.primitive, line, code, repr(np.ravel(call.answer)[:9])])
    seeded = [*_seeding_lines(importing), *_seeding_lines(run.tape)]
    return {"draws": found, "seeded": [one.shown for one in seeded]}


def _seeding_lines(tape: Tape) -> List[Place]:
    found = [at for at in dict.fromkeys(tape.seeded) if is_examined(at.file)]
    # The line that states the seed, and not those that hand it on.
    return sorted(found, key=lambda at: re.search(r"\b\d", at.code) is None)


def _still_fixed(
    target: Target, data: ExaminedData, recorded: Run, keys: List[Any], seed: int
) -> List[Any]:
    """The lines whose noise is the same in many more runs."""
    for number in range(1, _MORE_RUNS + 1):
        again = dict(run_once(target, data, Tape(), seed + number).tape.numbered())
        differ = {
            call.key
            for key, call in recorded.tape.numbered()
            if key not in again or not equal(call.answer, again[key].answer)
        }
        keys = [key for key in keys if key not in differ]
        if not keys:
            break
    return keys


def _is_stated(call: Call) -> bool:
    """Whether an answer shows no noise: a parameter, such as the end of a range, or no number."""
    if not np.all(np.isfinite(numbers_of(call.answer))):
        return True
    return any(equal(call.answer, one) for one in call.parameters.values())


def _has_fractions(answer: Any) -> bool:
    """Whether numbers are not whole, so that they do not come twice by chance."""
    numbers = numbers_of(answer)
    return bool(np.any(np.isfinite(numbers) & (np.mod(numbers, 1.0) != 0.0)))
