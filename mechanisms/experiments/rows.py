"""Results: a row for each finished run, in the journal of its experiment, and their summaries."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdpkit.formats import columns as tables
from rdpkit.formats.journal import Journal
from rdpkit.formats.text import rounded_up
from rdpkit.mechanisms.experiments.experiment import Cell, Experiment, short

Row = Mapping[str, Any]
ROWS = "rows.journal"
"""The file of the finished runs of an experiment, in a folder of the experiment's name."""
EARLIER_ROWS = "rows"
"""The folder in which earlier versions kept a file for each run."""


def finished_runs(
    folder: Path,  # Of one experiment
) -> Journal:
    """The rows of finished runs, by :meth:`Cell.key`."""
    if (folder / EARLIER_ROWS).is_dir():
        raise ValueError(
            f"{folder / EARLIER_ROWS}: results of an earlier version of rdpkit, a file each, "
            f"are not read: now all are in {ROWS}. Move that folder away, or choose another one."
        )
    return Journal(folder / ROWS, mark="rdpkit-rows-1", kind="row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The mean and the spread of several runs of one cell."""

    row: Row  # The columns that all runs share
    seeds: int  # Number of runs
    mean: float  # Mean accuracy
    std: float | None
    """Its standard deviation over runs (n - 1 in the denominator); None for one run."""
    published: float | None  # What the source printed

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **{k: v for k, v in self.row.items() if k != "cell"},
            "seeds": self.seeds,
            "mean_accuracy": self.mean,
            "std_accuracy": self.std,
            "published_accuracy": self.published,
        }


OF_ONE_RUN = ("seed", "accuracy", "epochs", "best_epoch", "synthesis_seconds", "training_seconds")


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """Group rows by cell, in the order in which cells first occur."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(f"{row['experiment']}/{row['cell']}", []).append(row)
    found = []
    for group in groups.values():
        values = [float(row["accuracy"]) for row in group]
        shared = {k: v for k, v in group[0].items() if k not in OF_ONE_RUN}
        found.append(
            Summary(
                row={k: v for k, v in shared.items() if k != "published_accuracy"},
                seeds=len(values),
                mean=statistics.fmean(values),
                std=statistics.stdev(values) if len(values) > 1 else None,
                published=shared.get("published_accuracy"),
            )
        )
    return found


def published_for(experiment: Experiment, cell: Cell) -> float | None:
    """The accuracy that the source printed for a cell, by its varied values joined by commas."""
    return experiment.published.get(",".join(map(short, cell.varied.values())))


def columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows as columns of a table; varied values get columns of their own."""
    flat = [{k: v for k, v in row.items() if k != "varied"} for row in rows]
    for target, row in zip(flat, rows, strict=True):
        for key, value in row["varied"].items():
            target[key] = json.dumps(value) if isinstance(value, (dict, list)) else value
    names = list(dict.fromkeys(name for row in flat for name in row))
    return {name: [row.get(name) for row in flat] for name in names}


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write rows to CSV or Parquet, by the file's ending."""
    tables.write(path, columns(rows))


# Summaries of results as the cells of a table.

COLUMNS = ("data set", "mechanism", "releases", "setting", "epsilon", "delta", "adjacency",
           "private", "model", "seeds", "accuracy", "published")  # fmt: skip

# What speaks against a release, by the name of the check that fails.
_REASONS = {
    "secret_noise": "noise not secret",
    "public_parameters": "exact numbers shown",
    "preconditions": "assumes things of the data",
    "delta": "delta too large",
    "epsilon": "epsilon too large",
    "code_path": "code not tested",
}


def cells(summary: Summary) -> tuple[str, ...]:
    """A text for each of :data:`COLUMNS`: epsilon rounded up, accuracy with its spread over seeds.

    The texts come from files and are not escaped.
    """
    row = summary.row
    epsilon = row["epsilon"]
    varied = ", ".join(f"{k.split('.')[-1]}={short(v)}" for k, v in row["varied"].items())
    spread = "" if summary.std is None else f" +- {summary.std:.4f}"
    return (
        row["dataset"],
        row["mechanism"],
        row["kind"],
        varied,
        "none" if epsilon is None else rounded_up(epsilon),
        "" if epsilon is None else f"{row['delta']:g}",
        "" if epsilon is None else row["adjacency"],
        private(summary),
        row["model"],
        str(summary.seeds),
        f"{summary.mean:.4f}{spread}",
        "" if summary.published is None else f"{summary.published:g}",
    )


def private(summary: Summary) -> str:
    """Whether the manifests call the releases private, and what speaks against it."""
    row = summary.row
    if row["epsilon"] is None:
        return "no guarantee"
    if row["private"]:
        return "yes"
    reasons = [_REASONS.get(name, name) for name in row["failed_checks"]]
    return "no" if not reasons else "no: " + ", ".join(reasons)
