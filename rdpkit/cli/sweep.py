"""``rdpkit sweep``: epsilon over a grid or a table of configurations."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from rdpkit import __version__, analysis, supervisor
from rdpkit.accountants.sweeps import CONVERSIONS, sweep_epsilon
from rdpkit.adjacency import Adjacency
from rdpkit.cli.event_commands import (
    about_one_event,
    adjacency_option,
    bound_option,
    conversion_option,
    made_of_events,
    with_help,
)
from rdpkit.cli.option_types import dashed, option_name
from rdpkit.cli.output import format_choice, print_answer
from rdpkit.cli.progress import jobs_option, threads_option, work_shown
from rdpkit.cli.sweep_rows import Columns, FileSource, MechanismSource, Source, columns_of
from rdpkit.events import (
    MECHANISMS,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    PoissonSampledGaussian,
    Repeated,
)
from rdpkit.formats import columns as files
from rdpkit.formats.journal import Journal
from rdpkit.formats.records import as_plain
from rdpkit.formats.screen import aligned
from rdpkit.formats.text import how_many, printable, rounded_up

_SHOWN_ROWS = 40


def _axes(event_type: type[Event]) -> list[click.Option]:
    """An option for every parameter of a mechanism; numbers take several values."""
    options = [
        click.Option(
            ["--" + dashed(option_name(parameter.name)), option_name(parameter.name)],
            metavar="AXIS" if parameter.kind in ("number", "integer") else "VALUE",
            help=text,
        )
        for parameter, text in with_help(event_type)
    ]
    return [*options, _count_option("1")]


def _count_option(default: str | None) -> click.Option:
    return click.Option(
        ["--count"],
        metavar="AXIS",
        default=default,
        show_default=True,
        help="How many times the event is released on the same data.",
    )


@about_one_event(
    "--delta 1e-5,1e-6",
    event_options=_axes,
    file_options=[
        click.Option(
            ["--vary"],
            multiple=True,
            metavar="PATH=AXIS",
            help="A number of the file, like event.noise_std or events[0].count, and its values; "
            "may be repeated.",
        ),
        _count_option(None),
    ],
    counted=False,
    refusal=lambda name: f"{made_of_events(name)} Name the numbers that vary with --vary.",
)
@click.option("--delta", metavar="AXIS", help="Each in (0, 1), for example 1e-5.")
@adjacency_option
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    help="A CSV or Parquet file with a column for each parameter that differs from row to "
    "row, instead of a grid.",
)
@bound_option(
    "Answer row by row with this bound: best, best-rdp or an id. By default all rows "
    "of a sampled Gaussian are answered at once from Renyi divergences (mironov2019, "
    "swap-coupling or wang2019), and other events row by row with best-rdp.",
    default=None,
)
@conversion_option("By default balle2020 for all rows at once, and optimal row by row.")
@click.option(
    "--keep-going",
    is_flag=True,
    help="Report rows with bad values in a column 'error', and answer the others.",
)
@jobs_option("the rows between, where they are answered one by one")
@threads_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the whole table to this file: .csv or .parquet. Rows that are answered "
    "one by one are kept in FILE.unfinished meanwhile, and the same command goes on from "
    "there.",
)
@format_choice("text", "csv", "json")
def sweep(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    table: Path | None,
    output: Path | None,
    **values: Any,
) -> None:
    """Epsilon over a grid or a table of configurations.

    EVENT is a mechanism, or a TOML file that describes one. An AXIS is a list of values or a range:
    X,X,... or FROM:TO:COUNT, with :log at the end for equal ratios.

    Exit status: 0 fine, 1 some rows were skipped, 2 bad usage or bad input.
    """
    if output is not None:
        files.check_suffix(output)
    question_of = {name: values.pop(name) for name in ("bound", "conversion", "keep_going", "jobs")}
    question = Question(adjacency=Adjacency.parse(adjacency), **question_of)
    kind: Source
    if source in MECHANISMS:
        kind = MechanismSource.of(source, adjacency)
    else:
        kind = FileSource.of(source, counted=values["count"] is not None)
    columns = columns_of(kind, {**{option_name(k): v for k, v in given.items()}, **values}, table)
    height = len(columns["delta"])
    journal = None
    if output is not None:
        unfinished = output.with_name(f"{output.name}.unfinished")
        journal = Journal(unfinished, mark="rdpkit-sweep-1", kind="row")
    with work_shown() as work:
        answers = answers_to(
            columns, kind, question, lambda done, total: work.show("sweep", done, total), journal
        )
    result = _table(columns, answers, question)
    if output is not None and journal is not None:
        files.write(output, result)
        journal.remove()
    print_answer(partial(_rows, result), _lines(result, output), csv=partial(files.as_csv, result))
    failed = [i for i, answer in enumerate(answers) if answer.error is not None]
    if failed:
        first = answers[failed[0]].error or ""
        skipped = "row was" if height == 1 else "rows were"
        text = f"{len(failed)} of {height} {skipped} skipped; row {failed[0] + 1}: {first}"
        click.echo(printable(text), err=True)
        sys.exit(1)


def _table(columns: Columns, answers: Sequence[Answer], question: Question) -> Columns:
    """The columns of the rows and of their answers."""
    result = {
        name: [",".join(map(str, v)) if isinstance(v, tuple) else v for v in values]
        for name, values in columns.items()
    }
    result["adjacency"] = [question.adjacency.value] * len(answers)
    for name in ("epsilon", "order", "bound", "conversion"):
        result[name] = [getattr(answer, name) for answer in answers]
    if question.keep_going:
        result["error"] = [answer.error for answer in answers]
    return result


def _rows(result: Columns) -> dict[str, Any]:
    rows = [dict(zip(result, row, strict=True)) for row in zip(*result.values(), strict=True)]
    return {"rows": as_plain(rows)}


def _lines(result: Columns, output: Path | None) -> Iterator[str]:
    """The first rows, without the columns that are the same in all of them."""
    height = len(result["epsilon"])
    if output is not None:
        yield f"{how_many(height, 'row')} in {output}"
        return
    constant = {n for n, values in result.items() if n != "epsilon" and len(set(values)) <= 1}
    shown = [name for name in result if name not in constant or height == 1]
    for name, values in result.items():
        if height > 1 and name in constant and values[0] is not None:
            yield f"{name}: {values[0]}"
    rows = [
        [_cell(name, result[name][index]) for name in shown]
        for index in range(min(height, _SHOWN_ROWS))
    ]
    yield from aligned(shown, rows, left=("bound", "error"))
    if height > _SHOWN_ROWS:
        yield f"and {height - _SHOWN_ROWS} more rows: --output FILE.csv writes all of them"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "epsilon":
        return rounded_up(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


Progressing = Callable[[int, int], None]

_Work = tuple[Event | str, Any, Any]
"""The event of a row, or what is wrong with it, how often it is released, and delta."""


class Answer(NamedTuple):
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


def _sampled(event: Event, question: Question) -> tuple[str, str, float, float, int] | None:
    """A sampled Gaussian as ``sweep_epsilon`` takes it; None for an event of another kind.

    These are its bound, its sampling, noise multiplier and probability, and how many releases.
    """
    count = 1
    while isinstance(event, Repeated):
        count *= event.count
        event = event.event
    relation = question.adjacency
    if isinstance(event, Gaussian):
        return "gaussian", "poisson", event.noise_multiplier(relation), 1.0, count
    if isinstance(event, PoissonSampledGaussian) and relation is not Adjacency.REPLACE_ONE:
        z = event.noise_multiplier(relation)
        return "mironov2019", "poisson", z, event.sampling_probability, count
    if isinstance(event, FixedSizeSampledGaussian):
        z, q = event.noise_multiplier, event.sample_size / event.population_size
        if relation is Adjacency.REPLACE_ONE:
            return "wang2019", "fixed_size", z, q, count
        if relation is Adjacency.ADD_OR_REMOVE_ONE and q < 1.0:
            return "swap-coupling", "poisson", z, q, count
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
    if not rows:
        return answers
    # All events are of one mechanism: they differ in numbers only.
    (bound, *_), (sampling, *_), z, q, releases = zip(*filter(None, described), strict=True)
    steps = [_number(counts[row]) * each for row, each in zip(rows, releases, strict=True)]
    conversion = question.conversion or "balle2020"
    found = sweep_epsilon(
        noise_multiplier=np.array(z, dtype=np.float64),
        sampling_probability=np.array(q, dtype=np.float64),
        steps=np.array(steps, dtype=np.float64),
        delta=np.array([_number(deltas[row]) for row in rows], dtype=np.float64),
        # A Gaussian without sampling has the same divergence under every relation.
        adjacency=Adjacency.ADD_OR_REMOVE_ONE if sampling == "poisson" else question.adjacency,
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
        best = None if np.isnan(order) else order
        answers[row] = Answer(float(found.epsilon[place]), best, bound, conversion)
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
    known: dict[int, Answer] = {}
    for place, key in enumerate(keys):
        if journal is not None and key in journal:
            epsilon, order, *names = journal.get(key)
            order = None if order is None else float(order)
            known[place] = Answer(float(epsilon), order, *names)
    missing = [place for place in range(len(work)) if place not in known]

    def kept() -> Iterator[tuple[int, Answer]]:
        ask = partial(_ask, question=question)
        items = [work[place] for place in missing]
        for number, answer in supervisor.as_finished(ask, items, jobs=question.jobs):
            if journal is not None and answer.error is None:
                place = missing[number]
                journal.add(keys[place], as_plain(list(answer[:4])), name=f"row {place + 1}")
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
    return Answer(found.epsilon, found.order, found.bound, found.conversion)
