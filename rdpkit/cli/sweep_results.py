"""Answers to the rows of a sweep: in one call where that is known, else row by row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rdpkit import analysis
from rdpkit.accountants.sweeps import CONVERSIONS, sweep_epsilon
from rdpkit.adjacency import Adjacency
from rdpkit.events import (
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    PoissonSampledGaussian,
    Repeated,
)

Build = Callable[[Mapping[str, Any]], Event]
Progressing = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row of the result; epsilon is None where ``error`` says why."""

    epsilon: float | None
    order: float | None = None
    bound: str | None = None
    conversion: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked about every row, and which columns are no parameters of the event."""

    own: tuple[str, ...]
    adjacency: Adjacency
    bound: str | None
    conversion: str | None
    keep_going: bool
    jobs: int


def answer(
    columns: dict[str, list[Any]], build: Build, question: Question, tell: Progressing
) -> list[Answer]:
    """One answer a row."""
    names = [name for name in columns if name not in question.own]
    rows = list(zip(*(columns[name] for name in names), strict=True))
    rows = rows or [()] * len(columns["delta"])
    events: dict[tuple[Any, ...], Event | str] = {}
    for index, row in enumerate(rows):
        # 1 and 1.0 are one key, but not one value for an integer.
        key = tuple((type(value), value) for value in row)
        if key in events:
            continue
        given = {n: v for n, v in zip(names, row, strict=True) if v is not None}
        try:
            events[key] = build(given)
        except (ValueError, TypeError) as error:
            if not question.keep_going:
                raise ValueError(f"Row {index + 1}: {error}") from None
            events[key] = str(error)
    found = [events[tuple((type(value), value) for value in row)] for row in rows]
    together = question.bound is None and question.conversion in (None, *CONVERSIONS)
    if together and all(isinstance(e, str) or _sampled(e, question) for e in events.values()):
        return _in_one_go(found, columns, question, tell)
    return _one_by_one(found, columns, question, tell)


class _Sampled(NamedTuple):
    """A sampled Gaussian as a sweep takes it."""

    bound: str
    sampling: str
    noise_multiplier: float
    sampling_probability: float
    releases: int


def _sampled(event: Event, question: Question) -> _Sampled | None:
    """What the event is to a sweep; None for an event of another kind."""
    count = 1
    while isinstance(event, Repeated):
        count *= event.count
        event = event.event
    replace = question.adjacency is Adjacency.REPLACE_ONE
    if isinstance(event, Gaussian):
        z = event.noise_multiplier(question.adjacency)
        return _Sampled("gaussian", "poisson", z, 1.0, count)
    if isinstance(event, PoissonSampledGaussian) and not replace:
        z = event.noise_multiplier(question.adjacency)
        return _Sampled("mironov2019", "poisson", z, event.sampling_probability, count)
    if isinstance(event, FixedSizeSampledGaussian):
        q = event.sample_size / event.population_size
        if replace or q < 1.0:
            sampling = "fixed_size" if replace else "poisson"
            bound = "wang2019" if replace else "swap-coupling"
            return _Sampled(bound, sampling, event.noise_multiplier, q, count)
    return None


def _in_one_go(
    events: Sequence[Event | str],
    columns: dict[str, list[Any]],
    question: Question,
    tell: Progressing,
) -> list[Answer]:
    answers = [Answer(epsilon=None, error=e if isinstance(e, str) else None) for e in events]
    described = [None if isinstance(e, str) else _sampled(e, question) for e in events]
    rows = [i for i, what in enumerate(described) if what is not None]
    known = [what for what in described if what is not None]
    if not rows:
        return answers
    # All events are of one mechanism: they differ in numbers only.
    bound, sampling = known[0].bound, known[0].sampling
    counts = _counts(columns, question)
    numbers = {
        "noise_multiplier": [what.noise_multiplier for what in known],
        "sampling_probability": [what.sampling_probability for what in known],
        "steps": [
            _number(counts[row]) * what.releases for row, what in zip(rows, known, strict=True)
        ],
        "delta": [_number(columns["delta"][row]) for row in rows],
    }
    conversion = question.conversion or "balle2020"
    # A Gaussian without sampling has the same divergence under either relation.
    relation = Adjacency.ADD_OR_REMOVE_ONE if sampling == "poisson" else question.adjacency
    found = sweep_epsilon(
        **{name: np.array(values, dtype=np.float64) for name, values in numbers.items()},
        adjacency=relation,
        sampling=sampling,
        conversion=conversion,
        invalid="skip",
        progress=tell,
    )
    for place, row in enumerate(rows):
        error = found.errors.get(place)
        if error is not None:
            error = error.replace(f"[{place}]", "", 1).replace("steps", "count", 1)
            if not question.keep_going:
                raise ValueError(f"Row {row + 1}: {error}")
            answers[row] = Answer(epsilon=None, error=error)
            continue
        order = float(found.order[place])
        answers[row] = Answer(
            epsilon=float(found.epsilon[place]),
            order=None if np.isnan(order) else order,
            bound=bound,
            conversion=conversion,
        )
    return answers


def _counts(columns: dict[str, list[Any]], question: Question) -> list[Any]:
    """How often each row's event is released."""
    return columns["count"] if "count" in question.own else [1] * len(columns["delta"])


def _number(value: Any) -> float:
    """A number, or NaN for what the sweep then reports as not accepted."""
    plain_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain_number else float("nan")


def _one_by_one(
    events: Sequence[Event | str],
    columns: dict[str, list[Any]],
    question: Question,
    tell: Progressing,
) -> list[Answer]:
    work = list(zip(events, _counts(columns, question), columns["delta"], strict=True))
    answers = []
    for index, answer in enumerate(_asked(work, question)):
        if answer.error is not None and not question.keep_going:
            raise ValueError(f"Row {index + 1}: {answer.error}")
        answers.append(answer)
        tell(index + 1, len(work))
    return answers


_Work = tuple[Event | str, Any, Any]


def _asked(work: list[_Work], question: Question) -> Iterator[Answer]:
    if question.jobs == 1 or len(work) == 1:
        yield from (_ask(item, question) for item in work)
        return
    with ProcessPoolExecutor(min(question.jobs, len(work))) as pool:
        try:
            yield from pool.map(_ask, work, itertools.repeat(question), chunksize=4)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _ask(work: _Work, question: Question) -> Answer:
    event, count, delta = work
    if isinstance(event, str):
        return Answer(epsilon=None, error=event)
    try:
        if isinstance(count, float) and count.is_integer():
            count = int(count)
        found = analysis.epsilon(
            event if count == 1 else Repeated(event=event, count=count),
            delta=delta,
            adjacency=question.adjacency,
            bound=question.bound or analysis.BEST_RDP,
            conversion=question.conversion,
        )
    except (ValueError, ArithmeticError) as error:
        return Answer(epsilon=None, error=str(error))
    return Answer(
        epsilon=found.epsilon, order=found.order, bound=found.bound, conversion=found.conversion
    )
