"""``rdpkit evaluate``: how good a release is, or the results of an experiment."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.formats.text import as_json, how_many, printable
from rdpkit.mechanisms.cli.experiment_options import (
    chosen_experiment,
    experiment_options,
    file_option,
    running,
)
from rdpkit.mechanisms.cli.release_options import (
    evaluated,
    is_release,
    refuse_for_experiments,
    release_options,
)

if TYPE_CHECKING:
    from rdpkit.mechanisms.experiments.experiment import Cell
    from rdpkit.mechanisms.experiments.rows import Summary
    from rdpkit.mechanisms.experiments.runner import Runner


@click.command()
@click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    show_default=True,
    help="The folder of results; runs that it has already are not repeated.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), help="Run only so many of the experiment's seeds."
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="KEY=VALUE",
    help="Run only settings whose varied KEY has this VALUE; may be given several times.",
)
@file_option(
    "--release",
    "release_file",
    metavar="FILE.json",
    text="Evaluate this release with the experiment's data, model and training; nothing is kept.",
)
@file_option(
    "-o",
    "--output",
    "output",
    metavar="FILE",
    text="Also write the report on a release (.html, .md or .json), or all rows of an experiment "
    "(.csv or .parquet).",
)
@release_options
@experiment_options
def evaluate(
    *,
    experiment: str | None,
    list_them: bool,
    results: Path,
    seeds: int | None,
    conditions: tuple[str, ...],
    release_file: Path | None,
    output: Path | None,
    data_dir: Path | None,
    device: str | None,
    output_format: str,
    **of_release: Any,
) -> None:
    """Say how good a release is, or run EXPERIMENT.

    \b
    rdpkit evaluate synth.csv --real data.parquet -o report.html
    rdpkit evaluate release.npz --real mnist

    The argument is a release: a table, or arrays with their manifest. Models are trained on it and
    tested on real records, and its columns are compared with the real ones. The report says what
    it costs: without --epsilon it is not to be published unless the real records are public.

    Or it is an experiment: a TOML file, or the name of one of the package (--list). It is run:
    release, train and test for every setting and seed. Every finished run is kept at once; run the
    same command again after an interruption, and it goes on.
    """  # noqa: D301 - click reads the mark of a block that is not wrapped
    if is_release(experiment) and not list_them:
        evaluated(
            experiment, of_release, output=output, data_dir=data_dir, output_format=output_format
        )
        return
    refuse_for_experiments(of_release)
    found = chosen_experiment(experiment, list_them=list_them, output_format=output_format)
    if found is None:
        return
    if seeds is not None:
        if seeds > len(found.seeds):
            raise ValueError(f"Expected --seeds to be at most {len(found.seeds)}, got {seeds}.")
        found = replace(found, seeds=found.seeds[:seeds])
    if conditions:
        from rdpkit.mechanisms.experiments.experiment import selected  # noqa: PLC0415

        found = selected(found, conditions)
    from rdpkit.formats import columns as tables  # noqa: PLC0415
    from rdpkit.mechanisms.experiments import rows  # noqa: PLC0415

    # The ending is checked before the hours of work that an experiment may take.
    if output is not None:
        tables.check_suffix(output)
    with running(data_dir, device) as runner:
        if release_file is not None:
            _one_release(runner, found.cells[0], release_file, found.seeds, output_format)
            return
        outcome = runner.run(found, results)
    summaries = rows.summarise(outcome.rows)
    if output is not None:
        rows.write_table(output, outcome.rows)
    if output_format == "json":
        click.echo(
            as_json(
                {
                    "experiment": found.name,
                    "runs": len(outcome.rows),
                    "resumed": outcome.resumed,
                    "settings": [summary.as_dict() for summary in summaries],
                }
            )
        )
        return
    print_summaries(summaries, title=found.title or found.name)


def _one_release(
    runner: Runner, cell: Cell, path: Path, seeds: Sequence[int], output_format: str
) -> None:
    """Train on a release from a file, and test."""
    from rdpkit.mechanisms.releases.release import load_release  # noqa: PLC0415

    made = load_release(path)
    values = [float(runner.evaluate(cell, made, seed)["accuracy"]) for seed in seeds]
    mean = statistics.fmean(values)
    std = statistics.stdev(values) if len(values) > 1 else None
    if output_format == "json":
        described = {
            "release": str(path),
            "private": made.manifest.private,
            "seeds": len(values),
            "mean_accuracy": mean,
            "std_accuracy": std,
        }
        click.echo(as_json(described))
        return
    spread = "" if std is None else f" +- {std:.4f}"
    click.echo(
        printable(f"{path}: accuracy {mean:.4f}{spread} over {how_many(len(values), 'seed')}")
    )


def print_summaries(summaries: Sequence[Summary], *, title: str) -> None:
    """A table for people."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from rdpkit.mechanisms.experiments.rows import COLUMNS, cells  # noqa: PLC0415

    table = Table(title=printable(title), title_justify="left", box=None, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, overflow="fold")
    for summary in summaries:
        table.add_row(*(printable(text) for text in cells(summary)))
    width = None if Console().is_terminal else 200
    Console(width=width, markup=False).print(table)
