"""``rdpkit sweep``: epsilon over a grid or a table of configurations."""

from __future__ import annotations

import copy
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from rdpkit import columns as tables
from rdpkit.adjacency import Adjacency
from rdpkit.cli import parameter_ranges as axes
from rdpkit.cli.output import one_line_errors
from rdpkit.cli.sweep_results import Answer, Build, Progressing, Question, answer
from rdpkit.events import MECHANISMS, Event, Parameter, event_from_parameters, parameters_of
from rdpkit.guarantee import plain
from rdpkit.tables import read_toml
from rdpkit.text import as_json, printable, rounded_up

_SHOWN = 40
_VARIED = re.compile(r"[A-Za-z_]\w*|\[\d+\]")


class _Sweeps(click.Group):
    """Subcommands are the mechanisms, and any TOML file that describes an event."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Mechanisms that options can describe."""
        return [name for name, kind in MECHANISMS.items() if _options(kind) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a mechanism or a file."""
        if cmd_name.endswith(".toml"):
            return _command(cmd_name, [_vary_option()])
        options = _options(MECHANISMS[cmd_name]) if cmd_name in MECHANISMS else None
        return None if options is None else _command(cmd_name, [*options, _count_option()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, with an error that lists the mechanisms."""
        if args and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                f"Expected EVENT to be one of {', '.join(self.list_commands(ctx))}, or a TOML "
                f"file with --vary for an event made of others, got {args[0]!r}."
            )
        return super().resolve_command(ctx, args)


def _options(kind: type[Event]) -> list[click.Option] | None:
    """An option for every parameter; None if some of them are events."""
    found = []
    for parameter in parameters_of(kind):
        if parameter.kind in ("event", "events"):
            return None
        if parameter.name == "adjacency":
            continue
        is_axis = parameter.kind in ("number", "integer")
        found.append(
            click.Option(
                ["--" + parameter.name.replace("_", "-"), parameter.name],
                metavar="AXIS" if is_axis else "VALUE",
                help=f"{axes.SYNTAX}." if is_axis else parameter.describe(),
            )
        )
    return found


def _vary_option() -> click.Option:
    return click.Option(
        ["--vary"],
        multiple=True,
        metavar="PATH=AXIS",
        help="A number of the file, like event.noise_std or events[0].count, and its values; may "
        "be repeated.",
    )


def _count_option() -> click.Option:
    return click.Option(
        ["--count"],
        metavar="AXIS",
        default="1",
        show_default=True,
        help="Releases, one after the other.",
    )


def _shared_options() -> list[click.Option]:
    return [
        click.Option(["--delta"], metavar="AXIS", help="Each in (0, 1)."),
        click.Option(
            ["--adjacency"],
            type=click.Choice([member.value for member in Adjacency]),
            required=True,
            help="The neighbouring relation; there is no default.",
        ),
        click.Option(
            ["--table"],
            type=click.Path(path_type=Path),
            help="A CSV or Parquet file with a column for each parameter that differs from row to "
            "row, instead of a grid.",
        ),
        click.Option(
            ["--bound"],
            help="Ask for this bound, row by row: best, best-rdp or an id. By default a sampled "
            "Gaussian is swept in one go from Renyi divergences (mironov2019, swap-coupling or "
            "wang2019), and anything else is asked for its best-rdp.",
        ),
        click.Option(
            ["--conversion"],
            type=click.Choice(["mironov2017", "balle2020", "optimal"]),
            help="From RDP to epsilon; by default balle2020 in one go, optimal row by row.",
        ),
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
            help="Processes, where rows are asked one by one.",
        ),
        click.Option(
            ["-o", "--output"],
            type=click.Path(path_type=Path),
            help="Write the whole table here: .csv or .parquet.",
        ),
        click.Option(
            ["--format", "output_format"],
            type=click.Choice(["text", "csv", "json"]),
            default="text",
            show_default=True,
            help="What to print: text for people (the first rows), csv or json for programs.",
        ),
    ]


def _command(name: str, options: list[click.Option]) -> click.Command:
    return click.Command(
        name,
        callback=one_line_errors(_run_for(name)),
        params=[*options, *_shared_options()],
        help=f"Epsilon of {name} over a grid or a table.",
    )


def _run_for(name: str) -> Callable[..., None]:
    def run(
        *,
        adjacency: str,
        table: Path | None,
        bound: str | None,
        conversion: str | None,
        keep_going: bool,
        jobs: int,
        output: Path | None,
        output_format: str,
        **given: Any,
    ) -> None:
        if output is not None:
            tables.check_suffix(output)
        content = None if name in MECHANISMS else read_toml(name)
        columns, build = _configurations(name, content, table, given, Adjacency.parse(adjacency))
        if "delta" not in columns:
            raise ValueError("Expected --delta, or a column 'delta' in the table.")
        question = Question(
            own=("delta",) if content is not None else ("count", "delta"),
            adjacency=Adjacency.parse(adjacency),
            bound=bound,
            conversion=conversion,
            keep_going=keep_going,
            jobs=jobs,
        )
        height = len(columns["delta"])
        with _progress(height) as tell:
            answers = answer(columns, build, question, tell)
        result = _result(columns, answers, question)
        if output is not None:
            tables.write(output, result)
        _print(result, output, output_format)
        failed = [i for i, answer in enumerate(answers) if answer.error is not None]
        if failed:
            first = answers[failed[0]].error or ""
            click.echo(
                printable(
                    f"{len(failed)} of {height} rows were skipped; row {failed[0] + 1}: {first}"
                ),
                err=True,
            )
            sys.exit(1)

    return run


def _configurations(
    name: str,
    content: dict[str, Any] | None,
    table: Path | None,
    given: dict[str, Any],
    adjacency: Adjacency,
) -> tuple[dict[str, list[Any]], Build]:
    """The columns of the sweep, and how an event is made from a row."""
    own: dict[str, list[Any]] = {}
    if content is None:
        own["count"] = axes.integers("--count", given["count"])
    if given["delta"] is not None:
        own["delta"] = axes.numbers("--delta", given["delta"])
    if content is None:
        specification = {p.name: p for p in parameters_of(MECHANISMS[name])}
        grid = {
            key: _axis(specification[key], text)
            for key, text in given.items()
            if key in specification and text is not None
        }
        known = tuple(specification)

        def build(row: Mapping[str, Any]) -> Event:
            parameters = {key: _fitting(specification[key], row[key]) for key in row}
            if "adjacency" in specification:
                parameters["adjacency"] = adjacency.value
            return event_from_parameters(name, parameters)

    else:
        grid = dict(_varied(text) for text in given["vary"])
        known = ()
        for path in grid:
            _replaced(content, path, None)

        def build(row: Mapping[str, Any]) -> Event:
            changed = copy.deepcopy(content)
            for path, value in row.items():
                changed = _replaced(changed, path, value)
            mechanism = changed.pop("mechanism", None)
            return event_from_parameters(mechanism, changed)

    together = {**grid, **own}
    if table is None:
        combinations = list(itertools.product(*together.values()))
        columns = {key: [row[i] for row in combinations] for i, key in enumerate(together)}
        return columns, build
    rows = tables.read(table)
    for column in rows:
        if content is not None and column != "delta":
            _replaced(content, column, None)
        elif content is None and column not in (*known, "count", "delta"):
            raise ValueError(
                f"{table}: expected columns among {', '.join(known)}, count, delta, got {column!r}."
            )
    height = len(next(iter(rows.values()), []))
    constants = {}
    for key, values in together.items():
        if key in rows:
            continue
        if len(values) != 1:
            raise ValueError(f"Expected one value for {key} beside a table, got {len(values)}.")
        constants[key] = values * height
    return {**rows, **constants}, build


def _axis(parameter: Parameter, text: str) -> list[Any]:
    """The values of one parameter: several for numbers, one for anything else."""
    name = "--" + parameter.name.replace("_", "-")
    match parameter.kind:
        case "number":
            return axes.numbers(name, text)
        case "integer":
            return axes.integers(name, text)
        case "integers" | "numbers":
            read = axes.integers if parameter.kind == "integers" else axes.numbers
            found = read(name, text)
            return [found[0] if parameter.one_for_all and len(found) == 1 else tuple(found)]
        case "flag":
            if text not in ("true", "false"):
                raise ValueError(f"Expected {name} to be true or false, got {text!r}.")
            return [text == "true"]
        case _:
            return [text]


def _fitting(parameter: Parameter, value: Any) -> Any:
    """An integer for an integer that a table holds as a float."""
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if parameter.kind == "integer" and whole else value


def _varied(text: str) -> tuple[str, list[float]]:
    path, separator, axis = text.partition("=")
    if not separator or not _VARIED.findall(path):
        raise ValueError(f"Expected --vary to be PATH=AXIS, got {text!r}.")
    found = axes.numbers(f"--vary {path}", axis)
    return path, [int(v) if v.is_integer() else v for v in found]


def _replaced(content: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The content with one number replaced; None checks the path and replaces nothing."""
    parts = [int(p[1:-1]) if p.startswith("[") else p for p in _VARIED.findall(path)]
    place: Any = content
    try:
        for part in parts[:-1]:
            place = place[part]
        present = place[parts[-1]]
    except (KeyError, IndexError, TypeError):
        present = None
    if isinstance(present, bool) or not isinstance(present, (int, float)):
        raise ValueError(f"Expected {path!r} to be the path of a number in the file.")
    if value is not None:
        # A number that happens to be whole stays a float where the file has one.
        place[parts[-1]] = float(value) if isinstance(present, float) else value
    return content


def _result(
    columns: dict[str, list[Any]], answers: list[Answer], question: Question
) -> dict[str, list[Any]]:
    height = len(answers)
    result = {
        name: [",".join(map(str, v)) if isinstance(v, tuple) else v for v in values]
        for name, values in columns.items()
    }
    result["adjacency"] = [question.adjacency.value] * height
    for name in ("epsilon", "order", "bound", "conversion"):
        result[name] = [getattr(answer, name) for answer in answers]
    if question.keep_going:
        result["error"] = [answer.error for answer in answers]
    return result


@contextmanager
def _progress(total: int) -> Iterator[Progressing]:
    """A progress bar on a terminal, and nothing in a pipe."""
    with Progress(
        TextColumn("sweeping"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as progress:
        task = progress.add_task("", total=total)
        yield lambda done, _: progress.update(task, completed=done)


def _print(result: dict[str, list[Any]], output: Path | None, output_format: str) -> None:
    height = len(result["epsilon"])
    if output_format == "json":
        rows = [
            {
                name: plain(v) if isinstance(v, float) else v
                for name, v in zip(result, row, strict=True)
            }
            for row in zip(*result.values(), strict=True)
        ]
        click.echo(as_json({"rows": rows}))
        return
    if output_format == "csv":
        click.echo(tables.as_csv(result), nl=False)
        return
    if output is not None:
        click.echo(f"{height} rows in {printable(str(output))}")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    constant = {n for n, values in result.items() if n != "epsilon" and len(set(values)) <= 1}
    shown = [name for name in result if name not in constant or height == 1]
    for name in shown:
        table.add_column(name, justify="left" if name in ("bound", "error") else "right")
    for index in range(min(height, _SHOWN)):
        table.add_row(*(_cell(name, result[name][index]) for name in shown))
    console = Console() if sys.stdout.isatty() else Console(width=150)
    if height > 1:
        for name, values in result.items():
            if name in constant and values[0] is not None:
                line = f"{name}: {printable(str(values[0]))}"
                console.print(line, markup=False, highlight=False)
    console.print(table)
    if height > _SHOWN:
        click.echo(f"and {height - _SHOWN} more rows: --output FILE.csv writes all of them")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "epsilon":
        return rounded_up(value)
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))


sweep = _Sweeps(
    name="sweep",
    help="Epsilon over a grid or a table of configurations. EVENT is a mechanism, or a TOML file "
    "that describes one.\n\nExit status: 0 fine, 1 some rows were skipped, 2 bad usage or bad "
    "input.",
    subcommand_metavar="EVENT [OPTIONS]",
)
