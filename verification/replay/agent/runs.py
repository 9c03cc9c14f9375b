"""One run of a target: its calls of noise go to a tape, and all that comes out is kept.

What goes in are data sets made of plain values.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import io
import itertools
import logging
import operator
import re
import sys
import traceback
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional

import numpy as np

from .generators import generator, tap_generators
from .releases import parts_of
from .tape import Place, Tape, place_here, recording, replaced
from .taps import tap_libraries


class ExaminedData:
    """Records, as ``features`` and ``labels``, as a table, and as a frame."""

    def __init__(self, columns: Dict[str, List[Any]], numbers: List[str]) -> None:
        self.table = copy.deepcopy(columns)
        self._numbers = numbers  # The columns that are the features

    def __len__(self) -> int:
        return len(next(iter(self.table.values()), []))

    def first(self, count: int, then: Optional[ExaminedData] = None) -> ExaminedData:
        """The first records, and those at further places of another data set, if there is one."""
        rest = {} if then is None else then.table
        columns = {
            name: values[:count] + rest.get(name, [])[count:] for name, values in self.table.items()
        }
        return ExaminedData(columns, self._numbers)

    @property
    def dimension(self) -> int:
        """How many features a record has."""
        return int(self.features.shape[1])

    @property
    def features(self) -> np.ndarray:
        """The columns of numbers, shape (records, columns); a missing value is NaN."""
        found = [
            [float("nan") if one is None else float(one) for one in values]
            for name, values in self.table.items()
            if name in self._numbers
        ]
        return np.array(found, dtype=float).reshape(len(found), len(self)).T.copy()

    @property
    def labels(self) -> np.ndarray:
        """The column ``label``, or zeros."""
        values = self.table.get("label", [0] * len(self))
        return np.array(values, dtype=None if values else int)

    @property
    def frame(self) -> Any:
        """The table as a pandas data frame."""
        import pandas  # noqa: PLC0415 - only targets that ask for a frame need it

        return pandas.DataFrame(self.table)


_MOST_YIELDED = 5_000
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")

Target = Callable[[ExaminedData, np.random.Generator], Any]


@dataclass
class Run:
    """One run: its calls, and all that came out."""

    tape: Tape
    parts: Dict[str, Any] = field(default_factory=dict)
    error: str = ""
    error_place: Optional[Place] = None
    messages: Dict[str, Optional[Place]] = field(default_factory=dict)
    wholes: Dict[str, Any] = field(default_factory=dict)
    """The arrays, lists and objects of the release, by their paths."""
    origin: Any = None
    """The released object, in whose class the lines that set its attributes are looked up."""


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
        tap_generators(cls._open)
        tap_libraries(cls._open)
        cls._modules = len(sys.modules)

    @classmethod
    def close(cls) -> None:
        """Take them away."""
        if cls._open is not None:
            cls._open.close()
            cls._open = None


def run_once(target: Target, data: ExaminedData, tape: Tape, seed: int) -> Run:
    """Run the target, with a tape, and keep everything that comes out."""
    run = Run(tape=tape)
    with heard() as said:
        try:
            with recording(tape):
                run.origin = release_of(target, data, generator(seed))
                run.parts = parts_of(run.origin, run.wholes)
        except (Exception, SystemExit) as error:
            run.error = _ADDRESS.sub("0x", "%s: %s" % (type(error).__name__, error))
            frame = traceback.extract_tb(error.__traceback__)[-1]
            run.error_place = Place(frame.filename, frame.lineno or 0)
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
            text = "%s: %s" % (record.levelname, record.getMessage())
            logged.setdefault(text, Place(record.pathname, record.lineno))

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
            said.setdefault(text, Place(one.filename, one.lineno))
        said.update(logged)
        said.update(zip(output.getvalue().split("\n"), output.places))
        said.pop("", None)
