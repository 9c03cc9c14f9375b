"""``python -m benchmarks``: measure, judge, and write tables and plots."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import imports, judge, machine, plots, report, runner, scaling, timing
from benchmarks.model import Work
from benchmarks.results import Results, write
from benchmarks.work import all_works

PAGE = timing.ROOT / "docs" / "reference" / "benchmarks.md"
DOCS = timing.ROOT / "docs" / "benchmarks"
ELSEWHERE = timing.ROOT / "build" / "benchmarks"

SCALING = "scaling"

_IMPORT_ROUNDS = {True: 2, False: 15}
_SCALING = {True: (1, 0.4), False: (5, 15.0)}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quick", is_flag=True, help="Few cases and rounds: under a minute.")
@click.option(
    "--only",
    multiple=True,
    metavar="WORK",
    help="Measure this work only; may be given again. --list names them.",
)
@click.option("--list", "list_works", is_flag=True, help="Name the works and stop.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="What is printed.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where results.json and the plots go.  [default: a full run rewrites docs/benchmarks and "
    "the page docs/reference/benchmarks.md; any other goes to build/benchmarks]",
)
@click.option(
    "--render",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="RESULTS.json",
    help="Measure nothing: write tables and plots from an earlier run.",
)
@click.option("--check", is_flag=True, help="Exit with status 1 if a goal is not met.")
@click.option("--peak-memory", nargs=3, hidden=True, metavar="WORK CASE LIBRARY")
def main(  # noqa: PLR0917  (click passes them by name)
    quick: bool,
    only: tuple[str, ...],
    list_works: bool,
    output_format: str,
    output: Path | None,
    render: Path | None,
    check: bool,
    peak_memory: tuple[str, str, str] | None,
) -> None:
    """Measure rdpkit beside other libraries on the same work."""
    works = all_works()
    if peak_memory is not None:
        click.echo(json.dumps(runner.peak_memory(works, peak_memory)))
        return
    titles = {
        **{work.id: work.title for work in works},
        imports.WORK: "Import",
        SCALING: "Growth of cost with orders, configurations and releases",
    }
    if list_works:
        for name, title in titles.items():
            click.echo(f"{name:18} {title}")
        return
    unknown = [name for name in only if name not in titles]
    if unknown:
        raise click.UsageError(
            f"Expected --only to be one of {', '.join(titles)}, got {unknown[0]!r}."
        )
    if render is not None:
        try:
            results = Results.from_json(render.read_text(encoding="utf-8"))
        except ValueError as error:
            raise click.UsageError(f"{render}: {error}") from None
    else:
        results = _measure(works, only or tuple(titles), quick=quick)
    whole = render is not None or not (quick or only)
    _put(results, output, whole=whole)
    click.echo(results.as_json() if output_format == "json" else report.render(results), nl=False)
    if check and any(outcome.met is False for outcome in results.outcomes):
        sys.exit(1)


def _measure(works: list[Work], chosen: tuple[str, ...], *, quick: bool) -> Results:
    effort = timing.QUICK if quick else timing.FULL
    results = Results(machine=machine.describe(_command()))
    works = [work for work in works if work.id in chosen]
    steps = sum(
        len(runner.cases_of(work, quick=quick))
        * (effort.rounds + len(runner.adapters_of(work, quick=quick)))
        for work in works
    )
    steps += (_IMPORT_ROUNDS[quick] + 1) * (imports.WORK in chosen)
    steps += len(scaling.SERIES) * (SCALING in chosen)
    with _progress(steps) as (advance, show):
        for work in works:
            results.works.append({"id": work.id, "title": work.title, "about": work.about})
            for index, case in enumerate(runner.cases_of(work, quick=quick)):
                show(f"{work.id}: {case.id}")
                results.rows += runner.measure(
                    work,
                    case,
                    effort,
                    quick=quick,
                    with_memory=not quick and index == 0,
                    on_step=advance,
                )
            results.outcomes += judge.outcomes(work, results.rows)
        if imports.WORK in chosen:
            show("import")
            results.works.append(
                {
                    "id": imports.WORK,
                    "title": "Import",
                    "about": "In fresh interpreters, without their own start.",
                }
            )
            results.rows += imports.measure(
                rounds=_IMPORT_ROUNDS[quick], quick=quick, on_step=advance
            )
            results.outcomes += imports.outcomes(results.rows)
        if SCALING in chosen:
            repeats, lasting = _SCALING[quick]
            for series in scaling.SERIES:
                show(f"scaling: {series.title}, {series.library}")
                sizes = scaling.quick_sizes(series) if quick else series.sizes
                results.curves.append(
                    scaling.measure(series, repeats=repeats, seconds=lasting, sizes=sizes)
                )
                advance()
            results.outcomes += scaling.outcomes(results.curves)
    return results


def _command() -> str:
    return shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])


@contextmanager
def _progress(steps: int) -> Iterator[tuple[Callable[[], None], Callable[[str], None]]]:
    """A bar on a terminal, nothing in a pipe."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield (lambda: None), (lambda _: None)
        return
    columns: Any = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=steps)
        yield (lambda: bar.advance(task)), (lambda text: bar.update(task, description=text))


def _put(results: Results, output: Path | None, *, whole: bool) -> None:
    """Files; the documentation's own only from a whole run."""
    documentation = whole and output is None
    folder = output or (DOCS if documentation else ELSEWHERE)
    text = report.render(results)
    files = {folder / "results.json": results.as_json().encode()}
    if documentation:
        page = report.into_page(PAGE.read_text(encoding="utf-8"), text)
        files[PAGE] = page.encode()
    else:
        files[folder / "results.md"] = text.encode()
    drawings: list[tuple[str, Callable[[], bytes], bool]] = [
        ("ratios.svg", lambda: plots.ratios(results), plots.has_ratios(results)),
        ("scaling.svg", lambda: plots.scaling(results.curves), bool(results.curves)),
    ]
    for name, draw, possible in drawings:
        if possible:
            try:
                files[folder / name] = draw()
            except (ImportError, ValueError) as error:
                click.echo(f"{name} was not drawn: {error}", err=True)
    for path, content in files.items():
        write(path, content)
    shown = folder.relative_to(timing.ROOT) if folder.is_relative_to(timing.ROOT) else folder
    click.echo(f"wrote {len(files)} files to {shown}", err=True)


if __name__ == "__main__":
    main()
