"""Answers to the rows of a sweep: all in one call for sampled Gaussians, otherwise row by row."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rdpkit import __version__, analysis, supervisor
from rdpkit.accountants.sweeps import CONVERSIONS, sweep_epsilon
from rdpkit.adjacency import Adjacency
from rdpkit.cli.sweep_rows import Columns, Source
from rdpkit.events import (
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    PoissonSampledGaussian,
    Repeated,
)
from rdpkit.formats.journal import Journal
from rdpkit.formats.records import as_plain

Progressing = Callable[[int, int], None]

_Work = tuple[Event | str, Any, Any]
"""The event of a row, or what is wrong with it, how often it is released, and delta."""


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
    """What is asked about every row."""

    adjacency: Adjacency
    bound: str | None
    conversion: str | None
    keep_going: bool
    jobs: int


def answers_to(
    columns: Columns,
    source: Source,
    question: Question,
    tell: Progressing,
    journal: Journal | None = None,
) -> list[Answer]:
    """One answer for each row; answers that take long are kept in the journal meanwhile."""
    events = _events(columns, source, question)
    different = {id(event): event for event in events}.values()
    together = question.bound is None and question.conversion in (None, *CONVERSIONS)
    counts = columns["count"] if "count" in source.own else [1] * len(events)
    if together and all(isinstance(e, str) or _sampled(e, question) for e in different):
        return _in_one_go(events, counts, columns["delta"], question, tell)
    work = list(zip(events, counts, columns["delta"], strict=True))
    return _one_by_one(work, question, tell, journal)


def _events(columns: Columns, source: Source, question: Question) -> list[Event | str]:
    """The event of each row, or what is wrong with the row; equal rows share one event."""
    names = [name for name in columns if name not in source.own]
    rows: list[tuple[Any, ...]] = list(zip(*(columns[name] for name in names), strict=True))
    rows = rows or [()] * len(columns["delta"])
    known: dict[tuple[Any, ...], Event | str] = {}
    found = []
    for index, row in enumerate(rows):
        # Python takes 1 and 1.0 for the same key, but only one of them is an integer.
        key = tuple((type(value), value) for value in row)
        if key not in known:
            given = {n: v for n, v in zip(names, row, strict=True) if v is not None}
            try:
                known[key] = source.event(given)
            except (ValueError, TypeError) as error:
                if not question.keep_going:
                    raise ValueError(f"Row {index + 1}: {error}") from None
                known[key] = str(error)
        found.append(known[key])
    return found


class _Sampled(NamedTuple):
    """A sampled Gaussian by the numbers that ``sweep_epsilon`` takes."""

    bound: str
    sampling: str
    noise_multiplier: float
    sampling_probability: float
    releases: int


def _sampled(event: Event, question: Question) -> _Sampled | None:
    """The numbers of a sampled Gaussian; None for an event of another kind."""
    count = 1
    while isinstance(event, Repeated):
        count *= event.count
        event = event.event
    relation = question.adjacency
    if isinstance(event, Gaussian):
        return _Sampled("gaussian", "poisson", event.noise_multiplier(relation), 1.0, count)
    if isinstance(event, PoissonSampledGaussian) and relation is not Adjacency.REPLACE_ONE:
        z = event.noise_multiplier(relation)
        return _Sampled("mironov2019", "poisson", z, event.sampling_probability, count)
    if isinstance(event, FixedSizeSampledGaussian):
        z, q = event.noise_multiplier, event.sample_size / event.population_size
        if relation is Adjacency.REPLACE_ONE:
            return _Sampled("wang2019", "fixed_size", z, q, count)
        if relation is Adjacency.ADD_OR_REMOVE_ONE and q < 1.0:
            return _Sampled("swap-coupling", "poisson", z, q, count)
    return None


def _in_one_go(
    events: Sequence[Event | str],
    counts: Sequence[Any],
    deltas: Sequence[Any],
    question: Question,
    tell: Progressing,
) -> list[Answer]:
    """The answers for sampled Gaussians, from one call of ``sweep_epsilon``."""
    answers = [Answer(epsilon=None, error=e if isinstance(e, str) else None) for e in events]
    described = [None if isinstance(e, str) else _sampled(e, question) for e in events]
    rows = [i for i, what in enumerate(described) if what is not None]
    known = [what for what in described if what is not None]
    if not rows:
        return answers
    # All events are of one mechanism: they differ in numbers only.
    bound, sampling = known[0].bound, known[0].sampling
    numbers = {
        "noise_multiplier": [what.noise_multiplier for what in known],
        "sampling_probability": [what.sampling_probability for what in known],
        "steps": [
            _number(counts[row]) * what.releases for row, what in zip(rows, known, strict=True)
        ],
        "delta": [_number(deltas[row]) for row in rows],
    }
    conversion = question.conversion or "balle2020"
    # A Gaussian without sampling has the same divergence under every relation.
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


def _number(value: Any) -> float:
    """A number, or NaN for what the sweep then reports as not accepted."""
    plain_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain_number else float("nan")


def _one_by_one(
    work: list[_Work], question: Question, tell: Progressing, journal: Journal | None
) -> list[Answer]:
    """The answers for events of any kind, shared between processes.

    What a journal holds is not computed again. Each new answer is put into it at once, so that the
    same command goes on where it was killed.
    """
    keys = [_key(item, question) for item in work]
    known = {
        place: _answer_in(journal.get(key))
        for place, key in enumerate(keys)
        if journal is not None and key in journal
    }
    missing = [place for place in range(len(work)) if place not in known]

    def kept() -> Iterator[tuple[int, Answer]]:
        ask = functools.partial(_ask, question=question)
        items = [work[place] for place in missing]
        for number, answer in supervisor.as_finished(ask, items, jobs=question.jobs):
            if journal is not None and answer.error is None:
                place = missing[number]
                entry = as_plain([answer.epsilon, answer.order, answer.bound, answer.conversion])
                journal.add(keys[place], entry, name=f"row {place + 1}")
            yield number, answer

    for place, answer in zip(missing, supervisor.ordered(kept()), strict=True):
        if answer.error is not None and not question.keep_going:
            raise ValueError(f"Row {place + 1}: {answer.error}")
        known[place] = answer
        tell(len(known), len(work))
    return [known[place] for place in range(len(work))]


def _key(work: _Work, question: Question) -> str:
    """All that an answer depends on."""
    asked = (question.adjacency.value, question.bound, question.conversion)
    return hashlib.sha256(repr((__version__, *work, *asked)).encode()).hexdigest()


def _answer_in(entry: list[Any]) -> Answer:
    epsilon, order, bound, conversion = entry
    return Answer(
        epsilon=float(epsilon),
        order=None if order is None else float(order),
        bound=bound,
        conversion=conversion,
    )


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
