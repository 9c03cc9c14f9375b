"""Runs of a mechanism, shared between processes.

Every run has a generator of its own, which is made from the seed, the purpose of the run and its
number in the sequence. If the mechanism makes many runs at once, every block of runs has one.
So the results depend on the seed alone, and not on how many processes share the work.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TextIO

import numpy as np

from rdpkit import _validate, supervisor
from rdpkit.verification.blackbox.checks import two_sample_p_value
from rdpkit.verification.blackbox.encoding import (
    ReleaseLayout,
    ReleaseStructure,
    kind_in_words,
    layout_of,
    points_of,
)
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.release_parts import (
    NOT_FINITE,
    RAISED,
    MechanismError,
    ReleasePart,
    digest,
    one_of,
    raised,
    take_apart,
)
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.targets import Mechanism, TargetReference
from rdpkit.verification.estimators.base import Array, Diagnostic, DiagnosticKind

# The number of runs in a block, for mechanisms that make many at once.
_BLOCK = 1024
# Work is shared with other processes only if it takes more seconds than this.
_WORTH_SHARING = 1.0
# The largest number of values of all outputs that are kept at once.
_MOST_KEPT = 2**27
# Runs on each side that show the structure of a release, and how many more if it may vary.
_PROBES, _MORE_PROBES = 4, 28
# The keys of runs that are made here, far from those that callers use.
_LAYOUT_KEY, _COMPARISON_KEY, _ORDER_KEY = 2**16, 2**16 + 1, 2**16 + 3
# Runs on each side that are compared with single calls.
_COMPARED, _FEWEST_COMPARED = 200, 20
# Seconds that single calls may take for that.
_COMPARING = 5.0
# More kinds of releases than these are values and no kinds; and how much more frequent one has to
# be on one data set before that pair is looked at first.
_MOST_KINDS, _APART = 4, 0.2
MANY_FALSE_ALARM_RATE = 1e-3
"""A method ``many`` that returns what single calls do is said to differ with at most this
probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some runs on one data set."""

    target: TargetReference  # The mechanism to run
    dataset: LabelledData  # The data set
    side: int  # 0 if it is D, 1 if it is D'; one of {0, 1}
    seed: int  # The seed of the whole verification
    key: tuple[int, ...]  # The purpose of these runs, as numbers
    # Their numbers in the sequence of all runs with that key.
    start: int
    count: int
    layout: ReleaseLayout  # How a release becomes a row of numbers
    at_once: bool  # Whether the mechanism is asked for many releases at once
    scores: tuple[NamedScore, ...] | None
    """Scores to return of each release; None to return the release itself."""


def generator(seed: int, *key: int) -> np.random.Generator:
    """The random generator of a seed and a key, as ``SeedSequence.spawn`` would make it."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=key))


class RaisedError(MechanismError):
    """The error, as its cause, that the code raised: an output, if it does not always do so."""


class ManyRaisedError(MechanismError):
    """The error of a method many(): it is no output, because all releases of the call have it."""


_LOCK = threading.Lock()
# What standard output was when each run began that has not ended.
_KEPT: list[TextIO] = []


@contextmanager
def _prints_redirected() -> Iterator[None]:
    """Redirect what mechanisms print to standard error, because standard output is for results.

    Unlike ``contextlib.redirect_stdout``, this works for threads that overlap in any order.
    """
    with _LOCK:
        _KEPT.append(sys.stdout)
        sys.stdout = sys.stderr
    try:
        yield
    finally:
        with _LOCK:
            kept = _KEPT.pop()
            # The run that ends last finds what was there before all of them.
            if not _KEPT:
                sys.stdout = kept


def run_part(part: Part) -> tuple[Array, int, int]:
    """Make some runs.

    Raises MechanismError if what a run returns is no release; the message says which run it was.
    Returns the releases, or their scores; how many releases had a structure that the layout does
    not know; in how many runs the code raised an error.
    """
    found, unexpected, raised_here = [], 0, 0
    with _prints_redirected():
        for place, count, parts in _batches(part):
            with _naming_run(part, place):
                batch, others = part.layout.rows(parts, count)
            found.append(batch)
            unexpected += others
            raised_here += count * (parts[:1] != [] and parts[0].path == RAISED)
    rows = np.concatenate(found)
    if part.scores is not None:
        rows = np.stack([score.of(rows) for score in part.scores], axis=1)
    return rows, unexpected, raised_here


def digests_of(part: Part) -> list[tuple[str, ...]]:
    """Make some runs, and return hashes of each release: of the whole, and of each of its parts.

    Raises MechanismError if a run fails.
    """
    found = []
    with _prints_redirected():
        for _, count, parts in _batches(part):
            for place in range(count):
                of_one = one_of(parts, place)
                found.append((digest(of_one), *(digest([one]) for one in of_one if len(parts) > 1)))
    return found


def _batches(
    part: Part,
    *,
    errors: bool = False,  # Whether errors of the code are raised; otherwise they are releases
) -> Iterator[tuple[int, int, list[ReleasePart]]]:
    """The number of the first run, how many runs, and their releases along the first axes."""
    mechanism: Any = part.target.mechanism()
    summary = part.target.summary
    size = _BLOCK if part.at_once else 1
    end = part.start + part.count
    for place in range(part.start, end, size):
        count = min(size, end - place)
        rng = generator(part.seed, *part.key, part.side, place)
        if not part.at_once:
            releases: list[Any] | None = [_called(part, place, mechanism, part.dataset, rng)]
        else:
            found = _called(part, place, mechanism.many, part.dataset, rng, count)
            if isinstance(found, RaisedError):
                raise ManyRaisedError(
                    f"{found}. An error of many() ends all releases of its call, and says nothing "
                    "of each: remove many(), so that single calls are tested, which may raise."
                ) from found.__cause__
            with _naming_run(part, place):
                releases = _listed(found, count, split=summary is not None)
            if releases is None:
                yield place, count, _batch_of_many(part, place, found, count)
        for at, release in enumerate(releases or (), place):
            if summary is not None and not isinstance(release, RaisedError):
                release = _called(part, at, summary, release)  # noqa: PLW2901
            if isinstance(release, RaisedError) and errors:
                raise release
            with _naming_run(part, at):
                parts = (
                    raised(release.__cause__ or release)
                    if isinstance(release, RaisedError)
                    else take_apart(release, part.layout.points)
                )
            yield at, 1, [replace(one, values=one.values[None]) for one in parts]


def _listed(
    found: Any,  # What it returned
    count: int,  # How many releases it was asked for
    *,
    split: bool,  # Whether releases in arrays are to be taken out of them
) -> list[Any] | None:
    """The releases that a method many() returned, one by one; None if they are in arrays."""
    if isinstance(found, list) and len(found) == count:
        plain = not split and all(isinstance(one, float | int | np.ndarray | list) for one in found)
        if not plain:
            return found
        try:
            return None if np.asarray(found).dtype.kind in "biuf" else found
        except (ValueError, TypeError):
            return found
    if not split:
        return None
    try:
        if isinstance(found, tuple):
            return [tuple(one[place] for one in found) for place in range(count)]
        if isinstance(found, dict):
            return [{key: one[place] for key, one in found.items()} for place in range(count)]
        return [found[place] for place in range(count)]
    except (LookupError, TypeError) as error:
        raise MechanismError(
            f"returned {type(found).__name__} from many(dataset, rng, {count}), of which not all "
            f"releases could be taken ({error}); expected {count} releases along the first axis, "
            "or a list of them"
        ) from None


def _batch_of_many(part: Part, place: int, found: Any, count: int) -> list[ReleasePart]:
    with _naming_run(part, place):
        parts = [
            replace(one, values=np.zeros((count, 0))) if one.is_order else one
            for one in take_apart(found, part.layout.points)
        ]
        shapes = [one.values.shape for one in parts]
        if not shapes or any(shape[:1] != (count,) for shape in shapes):
            shown = " and ".join(map(str, shapes[:6])) or "nothing"
            raise MechanismError(
                f"returned arrays of shape {shown} from many(dataset, rng, {count}); expected "
                f"{count} releases along the first axis, or a list of them"
            )
    return parts


def _called(part: Part, place: int, function: Mechanism, *arguments: Any) -> Any:
    """What a function of the target returns, or the error that stands for what it raised."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        frame, said = traceback.extract_tb(error.__traceback__)[-1], _validate.words_of(error)
        hint = (
            "; the arrays of a data set are read-only: copy them before changing them"
            if "read-only" in said
            else ""
        )
        found = RaisedError(
            f"{_where(part, place)} raised {type(error).__name__}: {said} (at {frame.filename}:"
            f"{frame.lineno}){hint}"
        )
        found.__cause__ = error
        return found


@contextmanager
def _naming_run(part: Part, place: int) -> Iterator[None]:
    """Add to an error about a release which run made it."""
    try:
        yield
    except MechanismError as error:
        raise MechanismError(f"{_where(part, place)} {error}.") from None
    except (RecursionError, OverflowError) as error:
        # Lists that hold themselves, and whole numbers that are no floats.
        raise MechanismError(
            f"{_where(part, place)} returned what cannot be taken apart: {error}."
        ) from None


def _where(part: Part, place: int) -> str:
    data = "D" if part.side == 0 else "D'"
    return f"{part.target.name}, run {place} on {data}, seed {part.seed},"


class MechanismRunner:
    """Runs a target on pairs of data sets."""

    def __init__(
        self,
        target: TargetReference,  # The mechanism to run
        *,
        seed: int,  # All generators are made from it
        # Processes; None for what ``joblib.parallel_config`` says, and otherwise one.
        jobs: int | None,
    ) -> None:
        self.target = target
        self.seed = seed
        self._jobs = jobs
        self._seconds_a_run = 0.0
        self._layouts: dict[Neighbours, ReleaseLayout] = {}
        self._many_raised = ""
        self.at_once = hasattr(target.mechanism(), "many")
        """Whether the mechanism is asked for many releases at once."""
        self.runs = 0
        """How many runs were drawn, on both sides together."""
        self.unexpected = 0
        """How many of them had a structure that was not seen when the layout was made."""
        self.raised = [0, 0]
        """In how many runs on D, and on D', the code raised an error."""

    def seconds_for(self, runs: int) -> float:
        """About how many seconds this number of runs takes, in all processes together."""
        spent = self._seconds_a_run * runs
        return spent if spent <= _WORTH_SHARING else spent / supervisor.processes(self._jobs)

    def affordable(self, seconds: float) -> int:
        """About how many runs can be made in this time."""
        if seconds <= 0.0:
            return 0
        return int(seconds / max(self._seconds_a_run, 1e-9) * supervisor.processes(self._jobs))

    def layout_for(self, pair: Neighbours) -> ReleaseLayout:
        """How releases on this pair become rows of numbers.

        It is made from a few runs on both data sets, with keys of their own, and kept. Those runs
        are not counted in ``runs``. Raises MechanismError if a run fails, or releases hold no
        value.
        """
        if pair not in self._layouts:
            try:
                self._layouts[pair] = self._layout_of(pair)
            except ManyRaisedError as error:
                self._go_on_singly()
                self._many_raised = str(error)
                self._layouts[pair] = self._layout_of(pair)
        return self._layouts[pair]

    def _go_on_singly(self, seconds: float = 0.0) -> None:
        """Make single calls from now on; ``seconds`` is what one takes, if that is known."""
        self.at_once = False
        self._layouts = {}
        self._seconds_a_run = seconds

    def _layout_of(self, pair: Neighbours) -> ReleaseLayout:
        blank = ReleaseLayout(fields=(), points=points_of(pair))
        seen = self._structures(pair, blank, start=0, count=_PROBES)
        first = self._parts(pair, blank, key=(_LAYOUT_KEY,), start=0, count=1)[0]
        if all(one[:1] and one[0].path == RAISED for _, one in seen):
            # Code that raises in every run has no outputs: its error is that of the test.
            with _prints_redirected():
                next(_batches(first, errors=True))
        if all(any(part.path.endswith(NOT_FINITE) for part in one) for _, one in seen):
            raise MechanismError(
                f"{self.target.name} returned NaN or infinities in every run; such a release has "
                "no verdict."
            )
        structures = [one for _, one in seen]
        # More releases are looked at before their structure is taken for fixed, if it may vary.
        if len(set(structures)) > 1 or not structures[0] or any(one.loose for one in structures[0]):
            seen += self._structures(pair, blank, start=_PROBES, count=_MORE_PROBES)
        with _naming_run(first, 0):
            layout = layout_of([one for _, one in seen], points=blank.points)
        return replace(layout, kinds=_difference(seen))

    def compare_many(
        self,
        pair: Neighbours,  # The data sets
        *,
        # If single calls would take longer than this, fewer runs are compared, or only the
        # structures of a few releases if time is too short for that.
        seconds: float = _COMPARING,
    ) -> Diagnostic | None:
        """Compare a method ``many`` of the target with single calls.

        If they differ, a diagnostic says so, and all later runs are single calls. The runs have
        keys of their own, and are not counted in ``runs``. Raises MechanismError if a run fails.

        Guarantee
        ---------
        If both return independent releases with the same distribution, they are said to differ with
        probability at most 1e-3.
        """
        if not self.at_once:
            return None
        singly = MechanismRunner(self.target, seed=self.seed, jobs=self._jobs)
        singly.at_once = False
        layout, own = self.layout_for(pair), singly.layout_for(pair)
        seen = self._many_raised
        if layout.varying:
            # The structures of a few releases may differ by chance, so rows are compared.
            singly._layouts = {pair: layout}
        elif own.varying or not np.array_equal(layout.is_number, own.is_number):
            seen = (
                f"many() returns releases of shape {layout.describe()}, and a single call one of "
                f"shape {own.describe()}."
            )
        count = min(_COMPARED, singly.affordable(seconds) // 2)
        if not seen and count >= _FEWEST_COMPARED:
            runs = self.runs
            many: list[Array] = []
            try:
                many += self.draw(pair, key=(_COMPARISON_KEY, 0), start=0, count=count)
            except ManyRaisedError as error:
                seen = str(error)
            single = singly.draw(pair, key=(_COMPARISON_KEY, 1), start=0, count=count)
            self.runs = runs
            for side, data in enumerate(("D", "D'") if many else ()):
                found, what = two_sample_p_value(
                    many[side], single[side], layout.is_number, name=layout.name
                )
                if 2.0 * found <= MANY_FALSE_ALARM_RATE and not seen:
                    seen = (
                        f"{count} releases on {data} that many() returned, and {count} single "
                        f"calls, differ in {what} (p-value {2.0 * found:.2g}, Kolmogorov's test)."
                    )
        if not seen:
            return None
        self._go_on_singly(singly._seconds_a_run)
        return Diagnostic(
            kind=DiagnosticKind.MANY_DIFFERS,
            message=f"{seen} The test was made with single calls.",
            advice="Let many(dataset, rng, count) return independent releases, each with the "
            "distribution of a single call, or remove it.",
        )

    def _structures(
        self, pair: Neighbours, blank: ReleaseLayout, *, start: int, count: int
    ) -> list[tuple[int, ReleaseStructure]]:
        """The structures of some releases, each with its side."""
        parts = self._parts(pair, blank, key=(_LAYOUT_KEY,), start=start, count=count)
        began = time.perf_counter()
        found: list[tuple[int, ReleaseStructure]] = []
        with _prints_redirected():
            for part in parts:
                for _, made, release in _batches(part):
                    # Releases in arrays have one structure, but for numbers that are none.
                    alike = not any(one.exceptional for one in release)
                    ones = [one_of(release, at) for at in range(1 if alike else made)]
                    seen = [(part.side, tuple(one.known() for one in its)) for its in ones]
                    found += seen * (made if alike else 1)
        # A small block says little about the pace of large ones.
        if not self.at_once:
            pace = (time.perf_counter() - began) / (2 * count)
            self._seconds_a_run = min(pace, self._seconds_a_run or pace)
        return found

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

        Raises MechanismError if a run fails.
        """
        layout = self.layout_for(pair)
        most = _MOST_KEPT // (2 * layout.size)
        if scores is None and count > most:
            raise ValueError(
                f"{count} training runs on each side, of {layout.size} numbers each, are too many "
                f"to keep: expected at most {most} training runs, or smaller releases."
            )
        parts = self._parts(pair, layout, key=key, start=start, count=count, scores=scores)
        if (
            self._seconds_a_run * 2 * count > _WORTH_SHARING
            and supervisor.processes(self._jobs) > 1
        ):
            found = dict(enumerate(supervisor.in_order(run_part, parts, jobs=self._jobs)))
        else:
            began = time.perf_counter()
            # The order of runs on D and D' is drawn, so that what changes with time, or from one
            # run to the next, is not taken for a difference between the data sets.
            order = generator(self.seed, _ORDER_KEY, self.runs).permutation(len(parts)).tolist()
            found = dict(zip(order, map(run_part, [parts[at] for at in order]), strict=True))
            # First runs import modules and fill caches, so the fastest pace seen is kept.
            pace = (time.perf_counter() - began) / (2 * count)
            self._seconds_a_run = min(pace, self._seconds_a_run or pace)
        self.runs += 2 * count
        rows: list[list[Array]] = [[], []]
        for place, part in enumerate(parts):
            of_part, unexpected, raised_here = found[place]
            rows[part.side].append(of_part)
            self.unexpected += unexpected
            self.raised[part.side] += raised_here
        return np.concatenate(rows[0]), np.concatenate(rows[1])

    def _parts(
        self,
        pair: Neighbours,
        layout: ReleaseLayout,
        *,
        key: tuple[int, ...],
        start: int,
        count: int,
        scores: Sequence[NamedScore] | None = None,
    ) -> list[Part]:
        """The runs in parts that processes can share: those on D, then those on D'."""
        # Blocks are never cut.
        size, end = _BLOCK, start + count
        if not self.at_once:
            # Each part takes about a quarter of a second, and there are at least sixteen parts.
            fitting = int(0.25 / self._seconds_a_run) if self._seconds_a_run else _BLOCK
            size = max(1, min(fitting, _BLOCK, -(-count // 16)))
        return [
            Part(
                target=self.target,
                dataset=dataset,
                side=side,
                seed=self.seed,
                key=key,
                start=place,
                count=min(size, end - place),
                layout=layout,
                at_once=self.at_once,
                scores=None if scores is None else tuple(scores),
            )
            for side, dataset in enumerate((pair.first, pair.second))
            for place in range(start, end, size)
        ]


def _difference(seen: list[tuple[int, ReleaseStructure]]) -> str:
    """Kinds that only one of the data sets has, in words; empty if there are many kinds."""
    sides = [Counter(one for side, one in seen if side == wanted) for wanted in (0, 1)]
    kinds, total = set(sides[0]) | set(sides[1]), sides[0].total()
    if len(kinds) == 1 or len(kinds) > _MOST_KINDS:
        return ""
    if max(abs(sides[0][one] - sides[1][one]) for one in kinds) < _APART * total:
        return ""
    words = [
        ", ".join(f"{count} with {kind_in_words(one)}" for one, count in side.most_common())
        for side in sides
    ]
    return f"of {total} releases on D {words[0]}; on D' {words[1]}"
