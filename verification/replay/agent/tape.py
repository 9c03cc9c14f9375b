"""The calls of noise primitives in one run, and their answers again in another run.

A private algorithm sees its data through noise alone. If every draw of noise answers in a second
run, on a neighbouring data set, what it answered in the first, then nothing else may differ but the
values that were given to the noise. A :class:`Tape` keeps calls, and gives their answers again. The
functions that draw are replaced for a while by others, whose calls go to the tape that is current.
"""

from __future__ import annotations

import copy
import functools
import linecache
import os
import random
import secrets
import sys
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import numpy as np

_HERE = os.path.dirname(os.path.abspath(__file__))
# Methods of Python's generators call each other.
_OF_DRAWS = (random.__file__, secrets.__file__)
TIES = ("own", "first", "last")
"""Which of several calls that hid the same is taken."""
_MOST_FRAMES = 60
_MOST_CALLS = 200_000


class TooManyCallsError(ValueError):
    """The examined code draws more often than a tape keeps."""


class Place(NamedTuple):
    """A line of the examined code."""

    file: str
    line: int

    @property
    def code(self) -> str:
        """The text of the line; empty if the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def at(self) -> str:
        """The file and the number of the line."""
        return "%s:%d" % self

    @property
    def shown(self) -> str:
        """The line with its text."""
        return "%s  %s" % (self.at, self.code)


@dataclass
class Call:
    """One call of a primitive: what it was given, and what it answered."""

    primitive: str
    """What drew, such as ``Laplace`` or ``normal noise``."""
    places: Tuple[Place, ...]
    """The lines that led to it, the innermost first."""
    parameters: Dict[str, Any]
    """What the noise depends on; equal in both runs, unless the code is at fault."""
    value: Any
    """What the noise hides; None for a draw that hides nothing."""
    answer: Any
    """What the examined code was given."""
    sensitivity: Optional[float] = None
    """By how much the call says that one record may move the value."""
    key: Any = None
    """The primitive and the line, by which calls of two runs are matched."""
    family: str = ""
    """The distribution of the noise, where what was spent follows from it."""
    scale: Any = None
    """The scale of that distribution."""
    declared: Optional[Tuple[float, float]] = None
    """The epsilon and delta that the call itself says to spend."""
    length: str = "euclidean"
    """How a move is measured: ``euclidean``, ``largest`` of the entries, ``spread`` from the
    least to the largest, or ``spectral``.
    """
    stated_at: Optional[Place] = None
    """The line at which the examined code stated the parameters, if that is another one."""
    built: Tuple[Place, ...] = ()
    """The lines that led to where the primitive was constructed, if that is somewhere else."""
    noise: Any = None
    """What was put on the value, where that was seen."""
    origin: Any = ()
    """The numbers of the draws that the noise is made of."""
    amount: Any = None
    """Of how many it was drawn, for a draw that is put on nothing."""
    alone: bool = False
    """Whether it is made for one user, or one group, by itself: where these are not in the data, it
    is not called, which is one of its answers and no difference.
    """

    @property
    def place(self) -> Optional[Place]:
        """The line that drew."""
        return self.places[0] if self.places else None

    @property
    def hidden(self) -> str:
        """What it hides, and by which noise, in words that can be compared."""
        is_array = isinstance(self.value, np.ndarray)
        return repr((self.value.tobytes() if is_array else self.value, self.parameters))


@dataclass
class Draw:
    """A draw of noise, and whether it was seen to be put on a value."""

    place: Optional[Place]
    number: int = 0
    followed: bool = False


@dataclass
class Tape:
    """The calls of one run."""

    earlier: Optional[Tape] = None
    """The run whose answers are given again. A call has the answer of the call with the same number
    among those of the same primitive at the same line.
    """
    distance: int = 1
    """In how many records the data sets of the two runs differ: 2 where one is replaced."""
    order: Dict[Any, Any] = field(default_factory=dict)
    """Which call of the earlier run answers which of this one, where that is another one."""
    calls: List[Call] = field(default_factory=list)
    escaped: List[Place] = field(default_factory=list)
    """Where noise was used in a way that is not followed: in a product of two draws, say."""
    draws: List[Draw] = field(default_factory=list)
    seeded: List[Place] = field(default_factory=list)
    """The lines that led to a generator with a fixed seed."""
    _numbers: Dict[Any, int] = field(default_factory=Counter)
    _index: Dict[Any, Call] = field(default_factory=dict)
    _local: threading.local = field(default_factory=threading.local)

    def call(
        self,
        primitive: str,
        draw: Callable[[], Any],  # Primitives that it calls are not looked at
        *,
        # Whether an earlier answer is an answer to this call, too; it is drawn anew otherwise
        fits: Callable[[Any], bool] = lambda answer: True,
        **stated: Any,  # Fields of :class:`Call`
    ) -> Any:
        """The answer of a primitive, drawn or given again."""
        if self.is_quiet:
            return draw()
        if len(self.calls) >= _MOST_CALLS:
            raise TooManyCallsError("Expected at most %d draws of noise in one run." % _MOST_CALLS)
        places = places_here()
        key = (primitive, places[0] if places else None)
        number = self._numbers[key]
        self._numbers[key] += 1
        before = self._before((key, number))
        with self.quiet():
            # Kept as they are now: the examined code may change its arrays later.
            kept = {name: copied(one) for name, one in stated.items()}
            again = before is not None and fits(before.answer)
            answer = before.answer if before is not None and again else draw()
        call = Call(
            primitive=primitive,
            places=places,
            parameters=kept.pop("parameters", {}),
            value=kept.pop("value", None),
            answer=copied(answer),
            key=key,
            **kept,
        )
        self.calls.append(call)
        self._index[key, number] = call
        return copied(answer)

    def _before(self, key: Any) -> Optional[Call]:
        """The call of the earlier run that answers a call of this one."""
        if self.earlier is None:
            return None
        return self.earlier._index.get(self.order.get(key, key))

    @property
    def is_quiet(self) -> bool:
        """Whether a primitive is being computed, so that those that it calls are not looked at."""
        return bool(getattr(self._local, "inside", False))

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """A context in which primitives that are called are not looked at."""
        before = self.is_quiet
        self._local.inside = True
        try:
            yield
        finally:
            self._local.inside = before

    def drawn(self) -> Draw:
        """Remember a draw of noise, which somebody should put on a value."""
        if self.is_quiet:
            return Draw(None, len(self.draws))
        found = Draw(place_here(), len(self.draws))
        self.draws.append(found)
        return found

    def seeds(self, seed: Any) -> None:
        """Remember that a generator with a fixed seed is made, if it is one."""
        if isinstance(seed, (int, np.integer)):
            self.seeded.extend(places_here()[:4])
            # One that follows from the data makes noise that does.
            self.call("generator", lambda: None, parameters={"seed": int(seed)}, alone=True)

    def escapes(self) -> None:
        """Remember that noise is used in a way that is not followed."""
        if not self.is_quiet:
            self.escaped.extend(places_here()[:1])

    def loose(self) -> Set[Place]:
        """The lines whose draws were not seen to be put on a value."""
        drawn = {one.place for one in self.draws if not one.followed and one.place is not None}
        return drawn.union(self.escaped)

    def uneven(self) -> Set[Any]:
        """The primitives and lines that were called more often in one run than in the other.

        Which call of the one is which of the other is not known there.
        """
        assert self.earlier is not None
        counts = self.earlier._numbers
        return {key for key in {*counts, *self._numbers} if counts[key] != self._numbers[key]}

    def numbered(self) -> Iterator[Tuple[Any, Call]]:
        """The calls, each with its primitive, line and number."""
        return iter(self._index.items())

    def matched(self) -> List[Tuple[Call, Optional[Call], Optional[Call]]]:
        """Every call, as it is in the earlier run and in this one; None where there is none."""
        assert self.earlier is not None
        ordered = {self.order.get(key, key): call for key, call in self._index.items()}
        before = self.earlier._index
        known = {**ordered, **before}
        return [(known[key], before.get(key), ordered.get(key)) for key in {**before, **ordered}]

    def reordered(self, ties: str) -> Dict[Any, Any]:
        """The order in which the earlier run has calls that hide the same.

        Which of several draws of the same noise hides which value may follow from the data: from
        the order in which records name groups, say. So a call is matched with one that hid the same
        value, and the others with what is left, in their order. Of several such calls it is that
        with its own number, the first or the last one: ``ties`` is one of ``TIES``.
        """
        assert self.earlier is not None
        moved: Dict[Any, List[Any]] = {}
        left: Dict[Any, List[Any]] = {}
        own, earlier = self._index, self.earlier._index
        for index, other, places in ((own, earlier, moved), (earlier, own, left)):
            for (key, number), call in index.items():
                same = other.get((key, number))
                settled = ties == "own" and same is not None and same.hidden == call.hidden
                if call.value is not None and not settled:
                    places.setdefault(key, []).append((number, call.hidden))
        found = {}
        turned = -1 if ties == "last" else 1
        for key, calls in moved.items():
            found.update(_matched(key, calls[::turned], left.get(key, [])[::turned]))
        return found


def _matched(key: Any, calls: List[Any], earlier: List[Any]) -> Dict[Any, Any]:
    """For numbered calls the earlier ones that hid the same, and else those that are left."""
    rest, found = list(earlier), {}
    open_calls = []
    for number, hidden in calls:
        same = next((one for one in rest if one[1] == hidden), None)
        if same is None:
            open_calls.append(number)
        else:
            rest.remove(same)
            found[key, number] = (key, same[0])
    for number, one in zip(sorted(open_calls), sorted(rest)):
        found[key, number] = (key, one[0])
    # What has none is matched with no call at all.
    for number in sorted(open_calls)[len(rest) :]:
        found[key, number] = (key, -1 - number)
    return found


def place_here() -> Optional[Place]:
    """The line of the examined code that is being executed."""
    return (places_here() or (None,))[0]


def is_of_the_agent(file: str) -> bool:
    """Whether a file is of this package, whose lines are never at fault."""
    return file.startswith(_HERE)


def copied(value: Any) -> Any:
    """A copy, or the value itself where it cannot be copied."""
    try:
        return copy.deepcopy(value)
    except Exception:  # anything may be raised by an object of the examined library
        return value


def places_here() -> Tuple[Place, ...]:
    """The lines of the examined code that led here, the innermost first."""
    found: List[Place] = []
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and len(found) < _MOST_FRAMES:
        name = frame.f_code.co_filename
        if name.startswith(_HERE):
            # Below the outermost call of the agent, everything is its own.
            if frame.f_code.co_name == "run_once":
                break
        elif not name.startswith("<") and name not in _OF_DRAWS:
            found.append(Place(name, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


# This folder may be imported under two names, by an agent and by code that decorates a primitive.
# Both have to see the same tapes.
_CURRENT: List[Tape] = sys.__dict__.setdefault("_rdpkit_replay_tapes", [])


def current() -> Optional[Tape]:
    """The tape of the run that is going on, if there is one."""
    return _CURRENT[-1] if _CURRENT else None


@contextmanager
def recording(tape: Tape) -> Iterator[Tape]:
    """A context in which calls of primitives go to a tape."""
    _CURRENT.append(tape)
    try:
        yield tape
    finally:
        _CURRENT.pop()


def escapes() -> None:
    """Remember of noise of the current run, if there is one, that it is not followed further."""
    tape = current()
    if tape is not None:
        tape.escapes()


def replaced(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Replace an attribute until the stack is closed."""
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, value)
    if own:
        stack.callback(setattr, owner, name, before)
    else:
        stack.callback(delattr, owner, name)


def taped(
    draw: Callable[..., Any], answer: Callable[..., Any], *, inside: bool = False
) -> Callable[..., Any]:
    """A function whose calls are answered by ``answer(tape, draw, ...)``, where there is a tape.

    Within another primitive it is as it was, unless ``inside`` says otherwise.
    """

    @functools.wraps(draw)
    def call(*args: Any, **given: Any) -> Any:
        tape = current()
        if tape is None or (tape.is_quiet and not inside):
            return draw(*args, **given)
        return answer(tape, draw, *args, **given)

    return call


def tap_method(
    stack: ExitStack, owner: Any, name: str, answer: Callable[..., Any], *, inside: bool = False
) -> None:
    """Replace a function of a class or a module, if it has one itself, by one that is taped."""
    if name in vars(owner):
        replaced(stack, owner, name, taped(getattr(owner, name), answer, inside=inside))


def seeding(seed: Callable[..., Any]) -> Callable[..., Any]:
    """A function that sets a seed, which is remembered."""

    def answer(tape: Tape, seed: Callable[..., Any], *args: Any, **given: Any) -> Any:
        for one in (*args, *given.values()):
            tape.seeds(one)
        return seed(*args, **given)

    return taped(seed, answer, inside=True)
