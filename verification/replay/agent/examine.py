"""Record a run on D, replay it on D', and say in what the two differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple

import numpy as np

from .differences import SeenDifference, differences, equal, moved, relative, reused
from .lines import add_lines, budget_lines
from .noise import plain
from .releases import CLOSED, MORE_PARTS
from .runs import ExaminedData, Run, Taps, Target, run_once
from .seeds import fixed_noise
from .slices import assigned_before, makes_seed, picks_records
from .tape import TIES, Call, Place, Tape

_MOST_DIFFERENCES, _MOST_PARTS, _MOST_NAMED = 40, 200, 5
# Runs with other noise, after which values that are the same follow from the data alone.
_FRESH_RUNS = 3

# The noise of runs that differed, by the target and the seed.
_MOST_KEPT, _MOST_KEPT_CALLS = 64, 5_000
_kept: Dict[Tuple[Target, int], Tape] = {}


@dataclass
class _Recorded:
    """The run on D, and what differs for other reasons than a record."""

    target: Target
    run: Run
    seed: int
    picking: List[Place]
    """The lines whose draws only choose which records are taken, which hides nothing."""
    escaped: List[Place]
    """Those of other draws that were not seen to be put on a value."""
    anyway: FrozenSet[Tuple[str, str]] = frozenset()
    """What differs on D itself, by its kind and its part, once that was asked."""

    @classmethod
    def of(cls, target: Target, data: ExaminedData, tape: Tape, seed: int) -> _Recorded:
        run = run_once(target, data, tape, seed)
        return cls(target, run, seed, *_picking_and_escaped(run.tape))

    def replayed(self, data: ExaminedData, order: Optional[Dict[Any, Any]] = None) -> Run:
        """A run with the same noise."""
        tape = Tape(earlier=self.run.tape, order=order or {})
        return run_once(self.target, data, tape, self.seed)

    def compare_with_itself(self, data: ExaminedData) -> None:
        """What differs on D is drawn from where no tap is, and says nothing about the record."""
        found = differences(self.run, self.replayed(data))
        self.anyway = frozenset((one.kind, one.what) for one in found)

    def of_the_record(self, found: List[SeenDifference]) -> List[SeenDifference]:
        """The differences that are not seen on D as well."""
        return [one for one in found if (one.kind, one.what) not in self.anyway]

    def told(self, found: List[SeenDifference]) -> List[SeenDifference]:
        """The differences but for a sample that nobody has to draw, which tells nothing."""
        return [one for one in found if one.kind != "calls" or one.place not in self.picking]


def examined(
    target: Target,
    first: ExaminedData,  # D
    second: ExaminedData,  # D'
    *,
    seed: int,  # The generator that the target is handed comes from it
    again: bool = True,  # Whether another run on D, with another seed, shows if noise is drawn anew
    traced: bool = False,  # Whether lines that computed what differs are looked for, in slower runs
    kept: bool = False,  # Whether the noise is that of :func:`parts_at`
) -> Dict[str, Any]:
    """What one record changes when the noise of the run on D is replayed on D'.

    A replay on D itself comes first. What differs there is drawn from where no tap is, so that it
    says nothing about the record, and it is left out and named.

    In the answer, ``usable`` is whether the target ran on at least one of the two, ``calls`` what
    every call of noise hid and how far the record moved that, and ``unseen`` what could not be
    seen, in words.
    """
    Taps.open()
    # No seed governs noise of the system: what was seen with it is looked at again with the same.
    before = _kept.get((target, seed)) if traced or kept else None
    tape = Tape(earlier=before, distance=2 if len(first) == len(second) else 1)
    recorded = _Recorded.of(target, first, tape, seed)
    recorded.compare_with_itself(first)
    replayed = _replayed(recorded, second)
    if recorded.run.error and replayed.error:
        return {"usable": False, "error": recorded.run.error}
    found: List[SeenDifference] = []
    parts: Set[str] = set()
    if again:
        found, parts = fixed_noise(target, first, second, recorded.run, seed + 1)
    found += [*reused(replayed.tape), *differences(recorded.run, replayed)]
    found = recorded.of_the_record(found)
    matched = replayed.tape.matched()
    uneven = replayed.tape.uneven()
    calls = [_described(*one, uneven) for one in matched]
    if traced:
        data, runs = (first, second), (recorded.run, replayed)
        stated, sides = add_lines(found, target, data, runs, seed)
        for said, (call, _, _) in zip(calls, matched):
            lines, said["computed"] = budget_lines(call, stated, sides)
            said["budget"] = said["budget"] or lines
    elif found:
        _keep(recorded)
    parts |= {one.what for one in found if one.kind in ("value", "structure")}
    found = recorded.told(found)
    # A number may differ by what such noise hides. Anything else may not.
    possible = [one for one in found if recorded.escaped and one.kind == "value"]
    found = [one for one in found if one not in possible]
    for one in possible if traced else ():
        one.origins += [at for line in recorded.escaped for at in (line, *assigned_before(*line))]
    return {
        "usable": True,
        "differences": [one.plain() for one in found[:_MOST_DIFFERENCES]],
        "possible": [one.plain() for one in possible[:_MOST_DIFFERENCES]],
        "parts": sorted("" if one == "release" else one for one in parts)[:_MOST_PARTS],
        "calls": calls,
        "released": _released(recorded.run),
        "keeps_state": any(kind == "calls" for kind, _ in recorded.anyway),
        "samples": bool(recorded.anyway)
        or (again and _samples(target, second, replayed.tape, seed)),
        "unseen": _unseen(recorded),
    }


def _unseen(recorded: _Recorded) -> List[str]:
    """What could not be seen, in words."""
    parts, noise = recorded.run.parts, recorded.anyway
    found = ["a draw at %s is put on nothing that was seen" % one.at for one in recorded.escaped]
    found += [
        "what a sample of records changes, which is drawn at %s" % one.at
        for one in recorded.picking
    ]
    if noise:
        same_data = sorted({what or "the release" for _, what in noise})[:_MOST_NAMED]
        text = "not the same again on the same data, with the same noise: %s"
        found.append(text % ", ".join(same_data))
    closed = [path for path in parts if path.endswith(CLOSED)]
    found += ["what %s holds is not looked into" % (path or "the release") for path in closed]
    if MORE_PARTS in parts:
        found.append("the release has more parts than are compared")
    return found


def _keep(recorded: _Recorded) -> None:
    if len(recorded.run.tape.calls) < _MOST_KEPT_CALLS:
        _kept[recorded.target, recorded.seed] = recorded.run.tape
        if len(_kept) > _MOST_KEPT:
            del _kept[next(iter(_kept))]


def parts_at(target: Target, chain: List[ExaminedData], seed: int) -> int:
    """The place in a chain of neighbours before which, with the same noise, nothing differs yet.

    The noise is kept. Values under noise move along a chain; nothing else does. It is 0 where both
    ends are the same.
    """
    Taps.open()
    recorded = _Recorded.of(target, chain[0], Tape(), seed)
    _kept.pop((target, seed), None)
    _keep(recorded)
    kinds = ["structure", "calls", "parameter", *([] if recorded.escaped else ["value"])]

    def parts(data: ExaminedData) -> bool:
        found = recorded.of_the_record(differences(recorded.run, recorded.replayed(data)))
        return any(one.kind in kinds for one in recorded.told(found))

    if recorded.run.error or not parts(chain[-1]):
        return 0
    recorded.compare_with_itself(chain[0])
    if not parts(chain[-1]):
        return 0
    low, high = 0, len(chain) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if parts(chain[middle]) else (middle, high)
    return low


def _replayed(recorded: _Recorded, data: ExaminedData) -> Run:
    """The run with the noise of another one, drawn in the order in which less differs."""
    found = recorded.replayed(data)
    least = len(differences(recorded.run, found))
    tried: List[Any] = [{}]
    for reordered in [found.tape.reordered(one) for one in TIES] if least else ():
        order = {key: one for key, one in reordered.items() if key != one}
        if not least or order in tried:
            continue
        tried.append(order)
        other = recorded.replayed(data, order)
        differing = len(differences(recorded.run, other))
        if differing < least:
            found, least = other, differing
    return found


def _samples(target: Target, data: ExaminedData, replayed: Tape, seed: int) -> bool:
    """Whether what noise hides is another value with other draws, as that of a sample is.

    It is asked of D', which may lack the record that differs: a sample of the records of one user
    alone makes nobody else more private.
    """
    if not replayed.escaped and all(one.followed for one in replayed.draws):
        return False
    tapes = [run_once(target, data, Tape(), seed + one).tape for one in range(_FRESH_RUNS)]
    runs = [{key: call.value for key, call in tape.numbered()} for tape in tapes]
    differs = any(not equal(one[key], runs[0].get(key)) for one in runs[1:] for key in one)
    if not differs or len(data) < 2:
        return differs
    # Draws that sample records are more where there are more records. Others, such as the places at
    # which a search begins, sample none.
    half = run_once(target, data.first(len(data) // 2), Tape(earlier=replayed), seed)
    return bool(half.error) or _amounts(replayed) != _amounts(half.tape)


def _amounts(tape: Tape) -> List[str]:
    """Of how many records or numbers is drawn what is not seen to be put on a value."""
    lines = tape.loose()
    drawn = [one for one in tape.calls if one.place in lines]
    of = ((one.key, one.amount, np.shape(one.value), np.shape(one.answer)) for one in drawn)
    return sorted(map(repr, of))


def _picking_and_escaped(tape: Tape) -> Tuple[List[Place], List[Place]]:
    """The lines whose draws were not seen to be put on a value.

    Those that choose which records are taken, which hides nothing, are told from the others.
    """
    arrays: Dict[Optional[Place], bool] = {}
    for call in tape.calls:
        several = isinstance(call.answer, list) or getattr(call.answer, "ndim", 0) > 0
        arrays[call.place] = arrays.get(call.place, True) and several
    picking: List[Place] = []
    escaped: List[Place] = []
    for line in sorted(tape.loose()):
        if not makes_seed(*line):
            picks = line in arrays and picks_records(*line, arrays[line])
            (picking if picks else escaped).append(line)
    return picking, escaped


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


def _described(
    call: Call, before: Optional[Call], after: Optional[Call], uneven: Set[Any]
) -> Dict[str, Any]:
    """What accounting needs of a call in both runs."""
    asked = call.built[:1] if call.alone and (before is None or after is None) else ()
    by = of_noise = None
    known = before is not None and after is not None and call.key not in uneven
    if before is not None and after is not None and known:
        by = moved(before.value, after.value)
        of_noise = relative(before, after) if call.family else None
    return {
        "primitive": call.primitive,
        "family": call.family,
        "known": known,
        "hides": call.value is not None,
        "moved": by,
        "relative": of_noise,
        "declared": call.declared,
        "line": call.place.at if call.place else "",
        "code": call.place.code if call.place else "",
        "budget": [one.shown for one in asked],
        "computed": [],
    }
