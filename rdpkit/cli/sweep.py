"""``rdpkit sweep``: epsilon over a grid or a table of configurations."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rdpkit.adjacency import Adjacency
from rdpkit.cli.completion import bounds_of_event, names_of
from rdpkit.cli.event_commands import EventCommands, example_adjacency, made_of_events
from rdpkit.cli.event_options import (
    WITH_OPTIONS,
    adjacency_option,
    conversion_option,
    with_help,
)
from rdpkit.cli.option_types import dashed, option_name
from rdpkit.cli.output import format_choice
from rdpkit.cli.parameter_ranges import SYNTAX
from rdpkit.cli.progress import new_threads_option, work_shown
from rdpkit.cli.sweep_answers import Answer, Question, answers_to
from rdpkit.cli.sweep_rows import Columns, FileSource, MechanismSource, Source, columns_of
from rdpkit.events import MECHANISMS, Event
from rdpkit.formats import columns as files
from rdpkit.formats.journal import Journal
from rdpkit.formats.records import as_plain
from rdpkit.formats.screen import aligned
from rdpkit.formats.text import as_json, how_many, printable, rounded_up

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


def _vary_option() -> click.Option:
    return click.Option(
        ["--vary"],
        multiple=True,
        metavar="PATH=AXIS",
        help="A number of the file, like event.noise_std or events[0].count, and its values; may "
        "be repeated.",
    )


def _shared_options() -> list[click.Option]:
    return [
        click.Option(["--delta"], metavar="AXIS", help="Each in (0, 1), for example 1e-5."),
        adjacency_option(),
        click.Option(
            ["--table"],
            type=click.Path(path_type=Path),
            help="A CSV or Parquet file with a column for each parameter that differs from row to "
            "row, instead of a grid.",
        ),
        click.Option(
            ["--bound"],
            shell_complete=names_of(bounds_of_event),
            help="Answer row by row with this bound: best, best-rdp or an id. By default all rows "
            "of a sampled Gaussian are answered at once from Renyi divergences (mironov2019, "
            "swap-coupling or wang2019), and other events row by row with best-rdp.",
        ),
        conversion_option("By default balle2020 for all rows at once, and optimal row by row."),
        click.Option(
            ["--keep-going"],
            is_flag=True,
            help="Report rows with bad values in a column 'error', and answer the others.",
        ),
        click.Option(
            ["--jobs"],
            type=click.IntRange(min=1),
            default=lambda: os.cpu_count() or 1,
            show_default="all cores",
            help="Processes to share the rows between, where they are answered one by one.",
        ),
        new_threads_option(),
        click.Option(
            ["-o", "--output"],
            type=click.Path(path_type=Path),
            help="Write the whole table to this file: .csv or .parquet. Rows that are answered "
            "one by one are kept in FILE.unfinished meanwhile, and the same command goes on from "
            "there.",
        ),
        format_choice("text", "csv", "json"),
    ]


def _run(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    table: Path | None,
    output: Path | None,
    output_format: str,
    **values: Any,
) -> None:
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
    journal = None if output is None else _journal(output)
    with work_shown() as work:
        answers = answers_to(
            columns, kind, question, lambda done, total: work.show("sweep", done, total), journal
        )
    result = _table(columns, answers, question)
    if output is not None and journal is not None:
        files.write(output, result)
        journal.remove()
    _print(result, output, output_format)
    failed = [i for i, answer in enumerate(answers) if answer.error is not None]
    if failed:
        first = answers[failed[0]].error or ""
        skipped = "row was" if height == 1 else "rows were"
        text = f"{len(failed)} of {height} {skipped} skipped; row {failed[0] + 1}: {first}"
        click.echo(printable(text), err=True)
        sys.exit(1)


def _journal(output: Path) -> Journal:
    """The rows that are finished, in a file beside the output until the output is written."""
    return Journal(output.with_name(f"{output.name}.unfinished"), mark="rdpkit-sweep-1", kind="row")


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


def _print(result: Columns, output: Path | None, output_format: str) -> None:
    if output_format == "json":
        rows = [dict(zip(result, row, strict=True)) for row in zip(*result.values(), strict=True)]
        click.echo(as_json({"rows": as_plain(rows)}))
    elif output_format == "csv":
        click.echo(files.as_csv(result), nl=False)
    elif output is not None:
        click.echo(f"{how_many(len(result['epsilon']), 'row')} in {printable(str(output))}")
    else:
        _print_text(result)


def _print_text(result: Columns) -> None:
    """The first rows, without the columns that are the same in all of them."""
    height = len(result["epsilon"])
    constant = {n for n, values in result.items() if n != "epsilon" and len(set(values)) <= 1}
    shown = [name for name in result if name not in constant or height == 1]
    lines = [
        f"{name}: {values[0]}"
        for name, values in result.items()
        if height > 1 and name in constant and values[0] is not None
    ]
    rows = [
        [_cell(name, result[name][index]) for name in shown]
        for index in range(min(height, _SHOWN_ROWS))
    ]
    lines += aligned(shown, rows, left=("bound", "error"))
    if height > _SHOWN_ROWS:
        lines.append(f"and {height - _SHOWN_ROWS} more rows: --output FILE.csv writes all of them")
    click.echo("\n".join(map(printable, lines)))


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "epsilon":
        return rounded_up(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


sweep = EventCommands(
    name="sweep",
    mechanisms=WITH_OPTIONS,
    event_options=_axes,
    file_options=lambda: [_vary_option(), _count_option(None)],
    shared_options=_shared_options,
    run=_run,
    refusal=lambda name: f"{made_of_events(name)} Name the numbers that vary with --vary.",
    help="Epsilon over a grid or a table of configurations. EVENT is a mechanism, or a TOML file "
    f"that describes one. An AXIS is a list of values or a range: {SYNTAX}.\n\nExit status: 0 "
    "fine, 1 some rows were skipped, 2 bad usage or bad input.",
    example=lambda event_type: [example_adjacency(event_type), "--delta 1e-5,1e-6"],
)
