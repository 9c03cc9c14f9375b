"""Every mechanism on the same data at the same, sound epsilon: results of ``rdpkit evaluate``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rdpkit.adjacency import Adjacency
from rdpkit.cli.option_types import FOLDER
from rdpkit.cli.output import (
    answer_options,
    asked_format,
    one_line_errors,
)
from rdpkit.formats.records import did_you_mean
from rdpkit.formats.text import as_json, escaped_markdown, how_many, printable, rounded_up
from rdpkit.mechanisms.cli.evaluate import print_summaries
from rdpkit.mechanisms.experiments.experiment import short
from rdpkit.mechanisms.experiments.runner import (
    COLUMNS,
    EARLIER_ROWS,
    ROWS,
    Row,
    Summary,
    cells,
    finished_runs,
    private,
    summarise,
)

Column = tuple[str, float]
"""Adjacency and target epsilon."""

# What columns and other cells of a line show already.
_SHOWN = ("privacy.target_epsilon", "privacy.adjacency", "dataset.name", "dataset", "privacy",
          "mechanism", "mechanism.name", "model", "model.name")  # fmt: skip
_CEILING = "real records"


def target(summary: Summary) -> float | None:
    """The epsilon that was asked for, or that of the releases; None without a guarantee."""
    row = summary.row
    found: float | None = (
        row["target_epsilon"] if row["target_epsilon"] is not None else row["epsilon"]
    )
    return None if row["epsilon"] is None else found


def is_ceiling(summary: Summary) -> bool:
    """Whether what was read are the private records themselves."""
    return target(summary) is None and summary.row["kind"] == _CEILING


def overview(summaries: Sequence[Summary]) -> str:
    """A Markdown table for each data set, ceilings first, then by the best accuracy of a line.

    Texts of files are escaped. A cell has the mean accuracy, its standard deviation over seeds, and
    the number of seeds.
    """
    names = dict.fromkeys(str(summary.row["dataset"]) for summary in summaries)
    return "\n\n".join(
        f"**{escaped_markdown(name)}**\n\n"
        + _table([one for one in summaries if one.row["dataset"] == name])
        for name in names
    )


def _table(summaries: Sequence[Summary]) -> str:
    columns = sorted({column for one in summaries if (column := _column(one)) is not None})
    lines: dict[tuple[str, ...], dict[Column | None, Summary]] = {}
    for summary in summaries:
        lines.setdefault(_line(summary), {})[_column(summary)] = summary
    head = ("what is read", "mechanism", "setting", "model", "private",
            *(f"{_relation(relation)}, {epsilon:g}" for relation, epsilon in columns))  # fmt: skip
    ordered = sorted(lines.items(), key=lambda item: _rank(item[1]))
    # A column of settings is left out where no line has any.
    kept = [i for i in range(len(head)) if i != 2 or any(line[2] for line in lines)]
    rows = [head, ("---",) * len(head)]
    for line, found in ordered:
        without = found.get(None)
        shown = [
            _accuracy(found[column]) if column in found else _everywhere(without)
            for column in columns
        ]
        rows.append(tuple(escaped_markdown(text) for text in (*line, _private(found), *shown)))
    return "\n".join("| " + " | ".join(row[i] for i in kept) + " |" for row in rows)


def _column(summary: Summary) -> Column | None:
    epsilon = target(summary)
    return None if epsilon is None else (str(summary.row["adjacency"]), float(epsilon))


def _line(summary: Summary) -> tuple[str, str, str, str]:
    row = summary.row
    varied: Mapping[str, Any] = row["varied"]
    setting = ", ".join(
        f"{key.split('.')[-1]}={short(value)}" for key, value in varied.items() if key not in _SHOWN
    )
    return str(row["kind"]), str(row["mechanism"]), setting, str(row["model"])


def _rank(found: Mapping[Column | None, Summary]) -> tuple[bool, float]:
    return not all(map(is_ceiling, found.values())), -max(one.mean for one in found.values())


def _private(found: Mapping[Column | None, Summary]) -> str:
    """What speaks against any of a line's releases."""
    texts = dict.fromkeys(private(one) for one in found.values())
    reasons = [text.removeprefix("no: ").split(", ") for text in texts if text.startswith("no: ")]
    if not reasons or len(reasons) < len(texts):
        return "; ".join(texts)
    return "no: " + ", ".join(dict.fromkeys(reason for some in reasons for reason in some))


def _everywhere(summary: Summary | None) -> str:
    """What has no guarantee stands in every column."""
    return "" if summary is None else _accuracy(summary)


def _accuracy(summary: Summary) -> str:
    spread = "" if summary.std is None else f" ± {summary.std:.4f}"
    return f"{summary.mean:.4f}{spread} ({summary.seeds})"


def _relation(name: str) -> str:
    match Adjacency.parse(name):
        case Adjacency.REPLACE_ONE:
            return "replace"
        case Adjacency.ADD_OR_REMOVE_ONE:
            return "add or remove"
        case Adjacency.ZERO_OUT:
            return "zero out"


def read_all(folder: Path) -> tuple[list[Row], list[str]]:
    """All rows below a folder, of any experiments, and what is damaged there."""
    found = {path.parent for name in (ROWS, EARLIER_ROWS) for path in folder.rglob(name)}
    if not found:
        raise ValueError(f"Expected {folder} to have results of rdpkit evaluate, got none.")
    journals = [finished_runs(one) for one in sorted(found)]
    rows = [journal.get(key) for journal in journals for key in journal]
    return rows, [problem for journal in journals for problem in journal.damaged]


def as_markdown(summaries: Sequence[Summary]) -> str:
    """One line a setting; texts of files are escaped."""
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    lines += [tuple(escaped_markdown(cell) for cell in cells(one)) for one in summaries]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def in_order(summaries: Iterable[Summary]) -> list[Summary]:
    """By data set, adjacency, target, delta, and then the best mean first."""

    def rank(summary: Summary) -> tuple[str, str, float, float, float]:
        row, epsilon = summary.row, target(summary)
        finite = float("inf") if epsilon is None else float(epsilon)
        return row["dataset"], row["adjacency"], finite, float(row["delta"]), -summary.mean

    return sorted(summaries, key=rank)


@click.command()
@click.argument("results", nargs=-1, required=True, type=FOLDER)
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
@answer_options("text", "json")
@one_line_errors
def leaderboard(
    *,
    results: tuple[Path, ...],
    dataset: str | None,
    epsilon: float | None,
    min_seeds: int,
    markdown: bool,
    as_overview: bool,
) -> None:
    """Rank the results of rdpkit evaluate in the folders RESULTS.

    Settings are compared within one data set, adjacency, delta and target epsilon, the best mean
    accuracy first, with its standard deviation over seeds. Beside them stand ceilings: what the
    same models read from the private records themselves. Other settings without a finite guarantee
    are a group of their own. The table says of each setting what it releases, and whether the
    manifest calls it private.
    """

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
    if asked_format() == "json":
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

    for name, members in groups.items():
        print_summaries(members, title=printable(name))


def _groups(ranked: list[Summary], ceilings: list[Summary]) -> dict[str, list[Summary]]:
    """What is compared with each other, each group with the ceilings of its data set."""
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
    row, epsilon = summary.row, target(summary)
    if epsilon is None:
        return f"{row['dataset']}: no guarantee"
    return (
        f"{row['dataset']}: epsilon {rounded_up(epsilon)}, delta {row['delta']:g}, "
        f"{row['adjacency']}"
    )


if __name__ == "__main__":
    leaderboard()
