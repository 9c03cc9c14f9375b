"""``rdpkit evaluate RELEASE``: its options, and what they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import click

from rdpkit.cli.option_types import ADJACENCY, INTEGER, NUMBER
from rdpkit.cli.output import OUT_OF_REACH
from rdpkit.cli.progress import work_shown
from rdpkit.formats.files import write_whole
from rdpkit.formats.text import as_json, printable
from rdpkit.mechanisms.cli.given_options import refuse, with_options

if TYPE_CHECKING:
    from rdpkit.mechanisms.evaluation.utility import UtilityReport

RELEASES = (".csv", ".parquet", ".arrow", ".feather", ".npz", ".safetensors", ".json")
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
        "targets",
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
        is_flag=True,
        help="All real records given are public, so that the report costs nothing.",
    ),
    click.option(
        "--epsilon", type=NUMBER, help="Make a report with noise, which costs this epsilon."
    ),
    click.option("--delta", type=NUMBER, help="The delta of the report with noise."),
    click.option(
        "--adjacency",
        type=ADJACENCY,
        help="The neighbours of the report with noise: replace-one.",
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


def is_release(name: str | None) -> TypeGuard[str]:
    """Whether the argument of ``rdpkit evaluate`` is a release, judged by how its name ends."""
    return name is not None and Path(name).suffix.lower() in RELEASES


def refuse_for_experiments(given: dict[str, Any]) -> None:
    """Say that an option is for releases, if one was given."""
    ends = ", ".join(RELEASES)
    refuse(given, expected=f"a release (a file that ends in {ends})", got="an experiment")


def evaluated(
    release: str,
    given: dict[str, Any],
    *,
    output: Path | None,
    data_dir: Path | None,
    output_format: str,
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
    from rdpkit.mechanisms.evaluation.utility.trained import PROGRESS  # noqa: PLC0415

    with work_shown() as work:
        before = PROGRESS.set(lambda done, total: work.show("models", done, total))
        try:
            report = _report(release, given, data_dir)
        finally:
            PROGRESS.reset(before)
    if output is not None:
        write_whole(output, _text(report, output.suffix.lower()))
    if output_format == "json":
        click.echo(as_json(report.as_dict()))
    else:
        click.echo("\n".join(printable(line) for line in summary_lines(report)))
        if output is not None:
            click.echo(printable(f"report     {output}"))
    if report.refuted:
        raise click.exceptions.Exit(OUT_OF_REACH)


def _report(release: str, given: dict[str, Any], data_dir: Path | None) -> UtilityReport:
    from rdpkit.mechanisms.evaluation.utility import (  # noqa: PLC0415  (it imports scikit-learn)
        ROWS,
        evaluate_release,
    )

    return evaluate_release(
        release,
        real=given["real"],
        test=given["test"],
        holdout=given["holdout"],
        target=given["targets"],
        models=given["models"],
        schema=given["schema"],
        public=given["public_test"],
        budget=_budget(given),
        seed=given["seed"] or 0,
        rows=given["rows"] or ROWS,
        directory=data_dir,
    )


def summary_lines(report: UtilityReport) -> list[str]:
    """The most important numbers, a line each."""
    from rdpkit.mechanisms.evaluation.utility.outputs.view import (  # noqa: PLC0415
        alarm_words,
        cost_words,
        short_rows,
    )

    alarm = alarm_words(report)
    lines = [alarm] if alarm else []
    lines.append(cost_words(report)[0])
    width = max(len(row[0]) for row in short_rows(report))
    for name, value, _, good in short_rows(report):
        lines.append(f"{name:{width}}  {value}  (good: {good})")
    return lines


def _text(report: UtilityReport, suffix: str) -> str:
    from rdpkit.mechanisms.evaluation.utility.outputs import (  # noqa: PLC0415
        utility_markdown,
        utility_page,
    )

    if suffix == ".html":
        return utility_page(report)
    return utility_markdown(report) if suffix == ".md" else as_json(report.as_dict()) + "\n"


def _budget(given: dict[str, Any]) -> Any:
    asked = {name: given[name] for name in ("epsilon", "delta", "adjacency")}
    if all(value is None for value in asked.values()):
        return None
    lacking = [f"--{name}" for name, value in asked.items() if value is None]
    if lacking:
        raise ValueError(f"Expected {' and '.join(lacking)} for a report with noise.")
    from rdpkit.mechanisms.evaluation.utility import Budget  # noqa: PLC0415

    return Budget(**asked)
