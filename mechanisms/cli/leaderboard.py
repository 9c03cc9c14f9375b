"""``rdpkit leaderboard``: every mechanism on the same data at the same, sound epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdpkit.cli.output import format_option, one_line_errors, to_file_option
from rdpkit.formats.records import did_you_mean
from rdpkit.formats.text import as_json, how_many, printable, rounded_up

if TYPE_CHECKING:
    from rdpkit.mechanisms.experiments.rows import Summary


@click.command()
@click.argument(
    "results", nargs=-1, required=True, type=click.Path(path_type=Path, file_okay=False)
)
@click.option("--dataset", help="Only this data set.")
@click.option("--epsilon", type=float, help="Only settings with at most this epsilon.")
@click.option(
    "--min-seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Only settings with at least this many finished runs.",
)
@click.option("--markdown", is_flag=True, help="Print a Markdown table.")
@click.option(
    "--overview",
    "as_overview",
    is_flag=True,
    help="Print Markdown with one line a mechanism, and a column for each adjacency and target.",
)
@format_option
@to_file_option
@one_line_errors
def leaderboard(
    *,
    results: tuple[Path, ...],
    dataset: str | None,
    epsilon: float | None,
    min_seeds: int,
    markdown: bool,
    as_overview: bool,
    output_format: str,
) -> None:
    """Rank the results of rdpkit evaluate in the folders RESULTS.

    Settings are compared within one data set, adjacency, delta and target epsilon, the best mean
    accuracy first, with its standard deviation over seeds. Beside them stand ceilings: what the
    same models read from the private records themselves. Other settings without a finite guarantee
    are a group of their own. The table says of each setting what it releases, and whether the
    manifest calls it private.
    """
    from rdpkit.mechanisms.experiments.overview import (  # noqa: PLC0415
        in_order,
        is_ceiling,
        overview,
    )
    from rdpkit.mechanisms.experiments.rows import read_all, summarise  # noqa: PLC0415
    from rdpkit.mechanisms.experiments.summary_table import as_markdown  # noqa: PLC0415

    found = [read_all(folder) for folder in results]
    for problem in (problem for _, problems in found for problem in problems):
        click.echo(printable(f"left out: {problem}"), err=True)
    summaries = [summary for rows, _ in found for summary in summarise(rows)]
    kept = [
        s
        for s in summaries
        if s.seeds >= min_seeds
        and (dataset is None or s.row["dataset"] == dataset)
        and (epsilon is None or (s.row["epsilon"] is not None and s.row["epsilon"] <= epsilon))
    ]
    if not kept:
        known = sorted({summary.row["dataset"] for summary in summaries})
        hint = "" if dataset is None or dataset in known else did_you_mean(dataset, known)
        raise ValueError(
            f"Expected results that the options admit, got none of "
            f"{how_many(len(summaries), 'setting')}, on {', '.join(known) or 'no data set'}.{hint}"
        )
    ranked = in_order(kept)
    if output_format == "json":
        click.echo(as_json([s.as_dict() for s in ranked]))
        return
    ceilings = [s for s in summaries if is_ceiling(s) and s.seeds >= min_seeds]
    if as_overview:
        datasets = {s.row["dataset"] for s in ranked}
        more = [s for s in ceilings if s.row["dataset"] in datasets and s not in ranked]
        click.echo(overview([*ranked, *more]))
        return
    groups = _groups(ranked, ceilings)
    if markdown:
        click.echo(as_markdown([summary for members in groups.values() for summary in members]))
        return
    from rdpkit.mechanisms.cli.evaluate import print_summaries  # noqa: PLC0415

    for name, members in groups.items():
        print_summaries(members, title=printable(name))


def _groups(ranked: list[Summary], ceilings: list[Summary]) -> dict[str, list[Summary]]:
    """What is compared with each other, each group with the ceilings of its data set."""
    from rdpkit.mechanisms.experiments.overview import is_ceiling, target  # noqa: PLC0415

    groups: dict[str, list[Summary]] = {}
    with_guarantee = {s.row["dataset"] for s in ranked if target(s) is not None}
    for summary in ranked:
        # Ceilings stand in every group of their data set, and alone only where there is none.
        if not (is_ceiling(summary) and summary.row["dataset"] in with_guarantee):
            groups.setdefault(_group(summary), []).append(summary)
    for members in groups.values():
        if target(members[0]) is not None:
            members += [s for s in ceilings if s.row["dataset"] == members[0].row["dataset"]]
            members.sort(key=lambda summary: -summary.mean)
    return groups


def _group(summary: Summary) -> str:
    from rdpkit.mechanisms.experiments.overview import target  # noqa: PLC0415

    row, epsilon = summary.row, target(summary)
    if epsilon is None:
        return f"{row['dataset']}: no guarantee"
    return (
        f"{row['dataset']}: epsilon {rounded_up(epsilon)}, delta {row['delta']:g}, "
        f"{row['adjacency']}"
    )
