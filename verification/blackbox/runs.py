"""Runs of a mechanism, shared between processes.

Every run has a generator of its own, which is made from the seed, the purpose of the run and its
number in the sequence. If the mechanism makes many runs at once, every block of runs has one.
So the results depend on the seed alone, and not on how many processes share the work.
"""

from __future__ import annotations

import math
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from rdpkit import supervisor
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.scores import NamedScore
from rdpkit.verification.blackbox.targets import Mechanism, TargetReference
from rdpkit.verification.estimators.base import Array

# The number of runs in a block, for mechanisms that make many at once.
_BLOCK = 1024
# Work is shared with other processes only if it takes more seconds than this.
_WORTH_SHARING = 1.0
# The largest number of values of all outputs that are kept at once.
_MOST_KEPT = 2**27


class MechanismError(ValueError):
    """The mechanism raised an error, or returned something that is not a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shapes of the arrays of a release.

    Parameters
    ----------
    parts : tuple of tuple of int
        The shape of each array in it.
    """

    parts: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """How many numbers are in a release."""
        return sum(math.prod(part) for part in self.parts)

    def describe(self) -> str:
        """The shapes in words."""
        return " and ".join(str(part) for part in self.parts)


def flatten(release: Any) -> tuple[Array, Shape]:
    """A release, an array or a tuple of arrays like (X, y), as one row of numbers.

    Raises
    ------
    MechanismError
        If it is empty or holds anything but finite real numbers.
    """
    parts = list(release) if isinstance(release, tuple) else [release]
    arrays = []
    for part in parts:
        array = _array(part)
        if array.dtype.kind not in "biuf":
            raise MechanismError(
                f"returned {array.dtype} of shape {array.shape}; a release is an array of real "
                "numbers, or a tuple of arrays"
            )
        arrays.append(array)
    shape = Shape(parts=tuple(array.shape for array in arrays))
    if shape.size == 0:
        raise MechanismError("returned an empty release")
    row = np.concatenate([array.astype(np.float64).ravel() for array in arrays])
    _check_numbers(row)
    return row, shape


def _array(value: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise MechanismError(f"returned something that is not an array: {error}") from None


def _check_numbers(values: Array) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        first = float(values[bad][0])
        raise MechanismError(
            f"returned {first} ({int(bad.sum())} of {values.size} numbers are not finite); such a "
            "release has no verdict"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some runs on one data set.

    Parameters
    ----------
    target : TargetReference
        The mechanism to run.
    dataset : LabelledData
        The data set.
    side : {0, 1}
        0 if it is D, 1 if it is D'.
    seed : int
        The seed of the whole verification.
    key : tuple of int
        The purpose of these runs, as numbers.
    start, count : int
        Their numbers in the sequence of all runs with that key.
    shape : Shape or None
        The shape that every release must have; None for the shape of the first release.
    scores : tuple of NamedScore or None
        Scores to return of each release; None to return the release itself.
    """

    target: TargetReference
    dataset: LabelledData
    side: int
    seed: int
    key: tuple[int, ...]
    start: int
    count: int
    shape: Shape | None
    scores: tuple[NamedScore, ...] | None

    def generator(self, place: int) -> np.random.Generator:
        """The random generator of the run, or block of runs, with this number."""
        return generator(self.seed, *self.key, self.side, place)


def generator(seed: int, *key: int) -> np.random.Generator:
    """The random generator of a seed and a key, as ``SeedSequence.spawn`` would make it."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=key))


class _PrintsRedirected:
    """Redirect what mechanisms print to standard error, because standard output is for results.

    Unlike ``contextlib.redirect_stdout``, this works for threads that overlap in any order.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._kept: TextIO | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._kept, sys.stdout = sys.stdout, sys.stderr
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._kept is not None:
                sys.stdout = self._kept


_PRINTS_REDIRECTED = _PrintsRedirected()


def run_part(part: Part) -> tuple[Array, Shape]:
    """Make some runs and return the releases, or their scores, as rows, and a release's shape.

    Raises
    ------
    MechanismError
        If a run fails; the message says which run it was, where and why.
    """
    with _PRINTS_REDIRECTED:
        mechanism = part.target.mechanism()
        if hasattr(mechanism, "many"):
            rows, shape = _at_once(part, mechanism)
        else:
            rows, shape = _one_by_one(part, mechanism)
    if part.scores is None:
        return rows, shape
    return np.stack([score.of(rows) for score in part.scores], axis=1), shape


def _at_once(part: Part, mechanism: Any) -> tuple[Array, Shape]:
    shape, blocks = part.shape, []
    for place in range(part.start, part.start + part.count, _BLOCK):
        count = min(_BLOCK, part.start + part.count - place)
        found = _called(part, place, mechanism.many, part.dataset, part.generator(place), count)
        with _naming_run(part, place):
            array = _array(found)
            if array.dtype.kind not in "biuf" or array.ndim < 1 or array.shape[0] != count:
                raise MechanismError(
                    f"returned {array.dtype} of shape {array.shape} from many(dataset, rng, "
                    f"{count}); expected {count} releases along the first axis"
                )
            seen = Shape(parts=(array.shape[1:],))
            if seen.size == 0:
                raise MechanismError("returned an empty release")
            shape = _same(shape, seen)
            block = array.reshape(count, -1).astype(np.float64)
            _check_numbers(block)
        blocks.append(block)
    assert shape is not None
    return np.concatenate(blocks), shape


def _one_by_one(part: Part, mechanism: Mechanism) -> tuple[Array, Shape]:
    shape, rows = part.shape, []
    for place in range(part.start, part.start + part.count):
        found = _called(part, place, mechanism, part.dataset, part.generator(place))
        with _naming_run(part, place):
            row, seen = flatten(found)
            shape = _same(shape, seen)
        rows.append(row)
    assert shape is not None
    return np.stack(rows), shape


def _same(expected: Shape | None, seen: Shape) -> Shape:
    if expected is not None and seen != expected:
        raise MechanismError(
            f"returned a release of shape {seen.describe()} after one of shape "
            f"{expected.describe()}; return a summary that always has the same shape"
        )
    return seen


def _called(part: Part, place: int, function: Mechanism, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        hint = (
            "; the arrays of a data set are read-only: copy them before changing them"
            if "read-only" in str(error)
            else ""
        )
        raise MechanismError(
            f"{_where(part, place)} raised {type(error).__name__}: {error} (at {frame.filename}:"
            f"{frame.lineno}){hint}"
        ) from error


@contextmanager
def _naming_run(part: Part, place: int) -> Iterator[None]:
    """Add to an error about a release which run made it."""
    try:
        yield
    except MechanismError as error:
        raise MechanismError(f"{_where(part, place)} {error}.") from None


def _where(part: Part, place: int) -> str:
    data = "D" if part.side == 0 else "D'"
    return f"{part.target.name}, run {place} on {data}, seed {part.seed},"


class MechanismRunner:
    """Runs a target on pairs of data sets.

    Parameters
    ----------
    target : TargetReference
        The mechanism to run.
    seed : int
        All generators are made from it.
    jobs : int or None
        Processes; None for what ``joblib.parallel_config`` says, and otherwise one.
    """

    def __init__(self, target: TargetReference, *, seed: int, jobs: int | None) -> None:
        self.target = target
        self.seed = seed
        self._jobs = jobs
        self._seconds_a_run = 0.0
        self.shape: Shape | None = None
        self.runs = 0

    def seconds_for(self, runs: int) -> float:
        """About how many seconds this number of runs takes, in all processes together."""
        spent = self._seconds_a_run * runs
        return spent if spent <= _WORTH_SHARING else spent / supervisor.processes(self._jobs)

    def affordable(self, seconds: float) -> int:
        """About how many runs can be made in this time."""
        if seconds <= 0.0:
            return 0
        return int(seconds / max(self._seconds_a_run, 1e-9) * supervisor.processes(self._jobs))

    def draw(
        self,
        pair: Neighbours,
        *,
        key: tuple[int, ...],
        start: int,
        count: int,
        scores: Sequence[NamedScore] | None = None,
    ) -> tuple[Array, Array]:
        """``count`` releases on D and as many on D', as rows; or their scores, as columns.

        Raises
        ------
        MechanismError
            If a run fails.
        """
        if self.shape is not None and scores is None:
            self._check_room(count)
        parts = [
            Part(
                target=self.target,
                dataset=dataset,
                side=side,
                seed=self.seed,
                key=key,
                start=place,
                count=size,
                shape=self.shape,
                scores=None if scores is None else tuple(scores),
            )
            for side, dataset in enumerate((pair.first, pair.second))
            for place, size in self._cut(start, count)
        ]
        found = self._run(parts, 2 * count)
        shapes = {shape for _, shape in found}
        if len(shapes) > 1:
            one, two = sorted(shape.describe() for shape in shapes)[:2]
            raise MechanismError(
                f"{self.target.name} returned releases of shapes {one} and {two}; return a "
                "summary that always has the same shape."
            )
        self.shape = found[0][1]
        self.runs += 2 * count
        half = len(parts) // 2
        return (
            np.concatenate([rows for rows, _ in found[:half]]),
            np.concatenate([rows for rows, _ in found[half:]]),
        )

    def _run(self, parts: list[Part], runs: int) -> list[tuple[Array, Shape]]:
        """Run the parts, in several processes where that saves time."""
        if self._seconds_a_run * runs > _WORTH_SHARING and supervisor.processes(self._jobs) > 1:
            return list(supervisor.in_order(run_part, parts, jobs=self._jobs))
        began = time.perf_counter()
        found = [run_part(part) for part in parts]
        # First runs import modules and fill caches, so the fastest pace seen is kept.
        pace = (time.perf_counter() - began) / runs
        self._seconds_a_run = min(pace, self._seconds_a_run or pace)
        return found

    def _cut(self, start: int, count: int) -> list[tuple[int, int]]:
        """Cut the runs into parts (start, count); blocks are never cut."""
        size = _BLOCK
        if not hasattr(self.target.mechanism(), "many"):
            # Each part takes about a quarter of a second, and there are at least sixteen parts.
            fitting = int(0.25 / self._seconds_a_run) if self._seconds_a_run else _BLOCK
            size = max(1, min(fitting, _BLOCK, -(-count // 16)))
        return [
            (place, min(size, start + count - place)) for place in range(start, start + count, size)
        ]

    def _check_room(self, count: int) -> None:
        assert self.shape is not None
        most = _MOST_KEPT // (2 * self.shape.size)
        if count > most:
            raise ValueError(
                f"{count} training runs on each side, of {self.shape.size} numbers each, are too "
                f"many to keep: expected at most {most} training runs, or smaller releases."
            )


__all__ = ["MechanismError", "MechanismRunner", "Part", "Shape", "flatten", "generator", "run_part"]
