"""Running a mechanism many times, in as many processes as there are, with the same result.

Every run, or for a mechanism that makes many at once every block of them, has a generator of its
own, numbered by what it is for and where in the sequence it stands. So results depend on the seed
and on nothing else: not on how many processes share the work, nor on which one ran what.
"""

from __future__ import annotations

import math
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.scores import NamedScore
from rdpkit.verification.blackbox.targets import Mechanism, TargetReference
from rdpkit.verification.estimators.base import Array

from rdpkit import supervisor

# Runs of a block, for mechanisms that make many at once.
_BLOCK = 1024
# Seconds of work below which starting other processes does not pay.
_WORTH_SHARING = 1.0
# Entries of all outputs that are kept at once.
_MOST_KEPT = 2**27


class MechanismError(ValueError):
    """The mechanism raised, or returned what is no release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a release looks.

    Parameters
    ----------
    parts : tuple of tuple of int
        The shape of each array in it.
    """

    parts: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """Numbers in a release."""
        return sum(math.prod(part) for part in self.parts)

    def describe(self) -> str:
        """In words."""
        return " and ".join(str(part) for part in self.parts)


def flatten(release: Any) -> tuple[Array, Shape]:
    """A release as one row of numbers: an array, or a tuple or list of arrays, like (X, y).

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
        raise MechanismError(f"returned what is no array: {error}") from None


def _check_numbers(values: Array) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        first = float(values[bad][0])
        raise MechanismError(
            f"returned {first} ({int(bad.sum())} of {values.size} numbers are not finite); a "
            "release that is no number has no verdict"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some runs on one data set.

    Parameters
    ----------
    target : TargetReference
        What is run.
    dataset : LabelledData
        The data set.
    side : {0, 1}
        0 if it is D, 1 if it is D'.
    seed : int
        Of the whole verification.
    key : tuple of int
        What these runs are for.
    start, count : int
        Their place in the sequence of all runs with that key.
    shape : Shape or None
        What every release must look like; None: like the first one.
    scores : tuple of NamedScore or None
        What to return of each release; None: all of it.
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
        """The generator of the run, or of the block, that starts at ``place``."""
        return generator(self.seed, *self.key, self.side, place)


def generator(seed: int, *key: int) -> np.random.Generator:
    """The generator that a seed and a key stand for, as ``SeedSequence.spawn`` would make it."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=key))


class _Aside:
    """What mechanisms print goes to standard error: standard output is for results.

    ``contextlib.redirect_stdout`` is not for several threads that enter and leave as they like.
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


_ASIDE = _Aside()


def run_part(part: Part) -> tuple[Array, Shape]:
    """Make some runs: releases as rows, or their scores, and how a release looks.

    Raises
    ------
    MechanismError
        If a run fails; the message says which one, where and why.
    """
    with _ASIDE:
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
        with _about(part, place):
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
        with _about(part, place):
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
            "; the arrays of a data set are read-only, copy before changing them"
            if "read-only" in str(error)
            else ""
        )
        raise MechanismError(
            f"{_where(part, place)} raised {type(error).__name__}: {error} (at {frame.filename}:"
            f"{frame.lineno}){hint}"
        ) from error


class _about:  # noqa: N801 - reads as a word in a with statement
    """Say in an error which run it is about."""

    def __init__(self, part: Part, place: int) -> None:
        self._where = _where(part, place)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        if isinstance(error, MechanismError):
            raise MechanismError(f"{self._where} {error}.") from None


def _where(part: Part, place: int) -> str:
    data = "D" if part.side == 0 else "D'"
    return f"{part.target.name}, run {place} on {data}, seed {part.seed},"


class MechanismRunner:
    """Runs a target on pairs of data sets.

    Parameters
    ----------
    target : TargetReference
        What to run.
    seed : int
        What all generators come from.
    jobs : int or None
        Processes; None: what joblib's context says, one if there is none.
    """

    def __init__(self, target: TargetReference, *, seed: int, jobs: int | None) -> None:
        self.target = target
        self.seed = seed
        self._jobs = jobs
        self._seconds_a_run = 0.0
        self.shape: Shape | None = None
        self.runs = 0

    def seconds_for(self, runs: int) -> float:
        """About how long so many runs take, in processes that share them."""
        spent = self._seconds_a_run * runs
        return spent if spent <= _WORTH_SHARING else spent / supervisor.processes(self._jobs)

    def affordable(self, seconds: float) -> int:
        """About how many runs fit into this time."""
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
        """Releases on D and on D', ``count`` each, as rows, or their scores, one a column.

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
        """Parts of whole blocks: (start, count)."""
        size = _BLOCK
        if not hasattr(self.target.mechanism(), "many"):
            # A part of a second each, and one at least for every process.
            fitting = int(0.25 / self._seconds_a_run) if self._seconds_a_run else _BLOCK
            size = max(1, min(fitting, _BLOCK, -(-count // 16)))
        return [
            (place, min(size, start + count - place)) for place in range(start, start + count, size)
        ]

    def _check_room(self, count: int) -> None:
        assert self.shape is not None
        if 2 * count * self.shape.size > _MOST_KEPT:
            raise ValueError(
                f"{count} training runs a side of {self.shape.size} numbers each are too many to "
                f"keep: expected at most {_MOST_KEPT // (2 * self.shape.size)} training runs, or a "
                "mechanism that returns less."
            )


__all__ = ["MechanismError", "MechanismRunner", "Part", "Shape", "flatten", "generator", "run_part"]
