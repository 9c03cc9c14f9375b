"""``rdpkit evaluate``: how good a release is, or the results of an experiment."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.option_types import ADJACENCY, FOLDER, INTEGER, NUMBER
from rdpkit.cli.output import OUT_OF_REACH, asked_format, print_answer, with_options
from rdpkit.cli.progress import work_shown
from rdpkit.formats.files import write_whole
from rdpkit.formats.text import as_json, how_many, printable
from rdpkit.mechanisms.cli.options import (
    chosen_experiment,
    experiment_options,
    file_option,
    refuse,
    running,
)
from rdpkit.mechanisms.cli.tables import TABLES

if TYPE_CHECKING:
    from rdpkit.mechanisms.experiments.experiment import Cell
    from rdpkit.mechanisms.experiments.runner import Runner, Summary


RELEASES = (*TABLES, ".npz", ".safetensors", ".json")
"""How the names of releases end; everything else is an experiment."""

REPORTS = (".html", ".md", ".json")
"""How the names of reports end."""

_WHERE = "FILE|DATASET"
release_options = with_options(
    click.option(
        "--real",
        metavar=_WHERE,
        help="Evaluate a release: the records that it was made from, as a CSV, Parquet, Arrow or "
        "NPZ file, a folder of images, or the name of a data set such as mnist.",
    ),
    click.option(
        "--test",
        metavar=_WHERE,
        help="Real records to test models on.  [default: those of the data set, or 30 % of --real]",
    ),
    click.option(
        "--holdout",
        metavar=_WHERE,
        help="Real records kept out of the release by chance: attack it with a membership test.",
    ),
    click.option(
        "--target",
        multiple=True,
        metavar="COLUMN",
        help="Predict this column; may be given several times.  [default: the last categories]",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="NAME",
        help="Train this model: logistic, boosting, forest, nearest, perceptron, qda, convnet; may "
        "be given several times.",
    ),
    click.option(
        "--schema",
        type=click.Path(path_type=Path),
        metavar="FILE.toml",
        help="What is publicly known of the columns of a table.  [default: that of the manifest]",
    ),
    click.option(
        "--public-test",
        "public",
        is_flag=True,
        help="All real records given are public, so that the report costs nothing.",
    ),
    click.option(
        "--epsilon", type=NUMBER, help="Make a report with noise, which costs this epsilon."
    ),
    click.option("--delta", type=NUMBER, help="The delta of the report with noise."),
    click.option(
        "--adjacency", type=ADJACENCY, help="The neighbours of the report with noise: replace-one."
    ),
    click.option("--seed", type=click.IntRange(min=0), help="Of splits and models.  [default: 0]"),
    click.option(
        "--rows",
        type=INTEGER,
        help="Train and test models on at most so many records.  [default: 10000]",
    ),
)
"""A decorator for the options of the evaluation of a release."""
_READ = ("real", "test", "holdout", "schema")
_OF_BUDGET = ("epsilon", "delta", "adjacency")


def evaluated(
    release: str,
    given: dict[str, Any],
    *,
    output: Path | None,
    data_dir: Path | None,
) -> None:
    """Evaluate a release, write and print the report; status 1 if its guarantee is refuted."""
    if given["real"] is None:
        raise ValueError("Expected --real: the records that the release was made from.")
    if output is not None and output.suffix.lower() not in REPORTS:
        raise ValueError(
            f"Expected --output to end in {', '.join(REPORTS)} for a release, got {str(output)!r}."
        )
    inputs = [Path(one) for one in (release, *map(given.get, _READ)) if one is not None]
    taken = {path.absolute() for path in inputs} | {inputs[0].with_suffix(".json").absolute()}
    if output is not None and output.absolute() in taken:
        raise ValueError(
            f"Expected --output to be another file than those that are read, got {str(output)!r}."
        )
    from rdpkit.mechanisms.evaluation.utility import (  # noqa: PLC0415  (it imports scikit-learn)
        evaluate_release,
    )
    from rdpkit.mechanisms.evaluation.utility.outputs import (  # noqa: PLC0415
        utility_markdown,
        utility_page,
    )
    from rdpkit.mechanisms.evaluation.utility.outputs.view import (  # noqa: PLC0415
        alarm_words,
        cost_words,
        short_rows,
    )
    from rdpkit.mechanisms.evaluation.utility.trained import PROGRESS  # noqa: PLC0415

    asked = {n: v for n, v in given.items() if v is not None and n not in _OF_BUDGET}
    with work_shown() as work:
        before = PROGRESS.set(lambda done, total: work.show("models", done, total))
        try:
            report = evaluate_release(release, **asked, budget=_budget(given), directory=data_dir)
        finally:
            PROGRESS.reset(before)
    if output is not None:
        suffix = output.suffix.lower()
        written = {".html": utility_page, ".md": utility_markdown}.get(suffix)
        write_whole(output, written(report) if written else as_json(report.as_dict()) + "\n")
    where = [] if output is None else [f"report     {output}"]
    alarm, rows = alarm_words(report), short_rows(report)
    width = max(len(row[0]) for row in rows)
    lines = [*([alarm] if alarm else []), cost_words(report)[0]]
    lines += [f"{name:{width}}  {value}  (good: {good})" for name, value, _, good in rows]
    print_answer(report.as_dict(), [*lines, *where])
    if report.refuted:
        raise click.exceptions.Exit(OUT_OF_REACH)


def _budget(given: dict[str, Any]) -> Any:
    asked = {name: given[name] for name in _OF_BUDGET}
    if all(value is None for value in asked.values()):
        return None
    lacking = [f"--{name}" for name, value in asked.items() if value is None]
    if lacking:
        raise ValueError(f"Expected {' and '.join(lacking)} for a report with noise.")
    from rdpkit.mechanisms.evaluation.utility import Budget  # noqa: PLC0415

    return Budget(**asked)


@click.command()
@click.option(
    "--results",
    type=FOLDER,
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
    of_file = experiment is not None and Path(experiment).suffix.lower() in RELEASES
    if experiment is not None and of_file and not list_them:
        evaluated(experiment, of_release, output=output, data_dir=data_dir)
        return
    ends = ", ".join(RELEASES)
    refuse(of_release, expected=f"a release (a file that ends in {ends})", got="an experiment")
    found = chosen_experiment(experiment, list_them=list_them)
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

    # The ending is checked before the hours of work that an experiment may take.
    if output is not None:
        tables.check_suffix(output)
    with running(data_dir, device) as runner:
        if release_file is not None:
            _one_release(runner, found.cells[0], release_file, found.seeds)
            return
        outcome = runner.run(found, results)
    from rdpkit.mechanisms.experiments.runner import summarise, write_table  # noqa: PLC0415

    summaries = summarise(outcome.rows)
    if output is not None:
        write_table(output, outcome.rows)
    if asked_format() == "text":
        print_summaries(summaries, title=found.title or found.name)
        return
    table = {"experiment": found.name, "runs": len(outcome.rows), "resumed": outcome.resumed}
    print_answer({**table, "settings": [summary.as_dict() for summary in summaries]}, [])


def _one_release(runner: Runner, cell: Cell, path: Path, seeds: Sequence[int]) -> None:
    """Train on a release from a file, and test."""
    from rdpkit.mechanisms.releases.release import load_release  # noqa: PLC0415

    made = load_release(path)
    values = [float(runner.evaluate(cell, made, seed)["accuracy"]) for seed in seeds]
    mean = statistics.fmean(values)
    std = statistics.stdev(values) if len(values) > 1 else None
    described = {
        "release": str(path),
        "private": made.manifest.private,
        "seeds": len(values),
        "mean_accuracy": mean,
        "std_accuracy": std,
    }
    spread = "" if std is None else f" +- {std:.4f}"
    line = f"{path}: accuracy {mean:.4f}{spread} over {how_many(len(values), 'seed')}"
    print_answer(described, [line])


def print_summaries(summaries: Sequence[Summary], *, title: str) -> None:
    """A table for people."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from rdpkit.mechanisms.experiments.runner import COLUMNS, cells  # noqa: PLC0415

    table = Table(title=printable(title), title_justify="left", box=None, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, overflow="fold")
    for summary in summaries:
        table.add_row(*(printable(text) for text in cells(summary)))
    width = None if Console().is_terminal else 200
    Console(width=width, markup=False).print(table)
