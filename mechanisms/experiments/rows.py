"""Results: one row for each finished run, in a file of its own, and summaries of rows."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdpkit.formats import columns as tables
from rdpkit.formats.files import write_whole
from rdpkit.formats.text import rounded_up
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.experiments.experiment import Cell, Experiment, short

Row = Mapping[str, Any]
FORMAT = 1


_NAMES = {
    str: "a string",
    int: "an integer",
    float: "a number",
    dict: "a table",
    type(None): "null",
}
_TEXT, _NUMBER = (str,), (int, float)
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("experiment", "cell", "dataset", "mechanism", "model", "adjacency"), _TEXT),
    **dict.fromkeys(("epsilon", "target_epsilon", "published_accuracy"), (*_NUMBER, type(None))),
    "delta": _NUMBER,
    "varied": (dict,),
}
"""What every row must have for a summary, and of which type."""


class Rows:
    """The rows of one experiment in a folder. Each is written completely or not at all."""

    def __init__(
        self,
        folder: Path,  # Made when the first row is written
    ) -> None:
        self.folder = folder

    def _path(self, cell: Cell, seed: int) -> Path:
        return self.folder / f"{cell.key(seed)}.json"

    def find(self, cell: Cell, seed: int) -> Row | None:
        """The row of a run that has finished, or None."""
        path = self._path(cell, seed)
        return read_row(path) if path.exists() else None

    def write(self, cell: Cell, seed: int, row: Row) -> None:
        """Write the row of a run at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"format": FORMAT, **row}, indent=1, allow_nan=False) + "\n"
        write_whole(self._path(cell, seed), text.encode())


def read_row(path: Path) -> Row:
    """One row from its file."""
    try:
        row = json.loads(path.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: no row of results: {error}; remove it to run again.") from None
    if not isinstance(row, dict) or row.get("format") != FORMAT:
        raise ValueError(f"{path}: expected a row of results of format {FORMAT}.")
    for key, kinds in _KINDS.items():
        if key not in row:
            raise ValueError(f"{path}: the row of results lacks the key {key!r}.")
        if not isinstance(row[key], kinds):
            wanted = " or ".join(_NAMES[kind] for kind in kinds)
            raise ValueError(f"{path}: expected {key} to be {wanted}, got {row[key]!r:.80}.")
    accuracy = row.get("accuracy")
    if not isinstance(accuracy, (int, float)) or not 0.0 <= accuracy <= 1.0:
        raise ValueError(f"{path}: expected accuracy in [0, 1], got {accuracy!r}.")
    return row


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
            **{k: v for k, v in self.row.items() if k not in ("format", "cell")},
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
    key = ",".join(_written(value) for value in cell.varied.values())
    return experiment.published.get(key)


def _written(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:g}"
    return short(value)


def columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows as columns of a table; varied values get columns of their own."""
    flat = [{**{k: v for k, v in row.items() if k not in ("varied", "format")}} for row in rows]
    for target, row in zip(flat, rows, strict=True):
        for key, value in row.get("varied", {}).items():
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
        kind(summary),
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


def kind(summary: Summary) -> str:
    """What was released; rows of earlier versions do not say it themselves."""
    found = summary.row.get("kind")
    if found is None:
        try:
            found = find_mechanism(summary.row["mechanism"]).kind
        except ValueError:
            found = ""
    return str(found)


def private(summary: Summary) -> str:
    """Whether the manifests call the releases private, and what speaks against it."""
    row = summary.row
    if row["epsilon"] is None:
        return "no guarantee"
    if row.get("private"):
        return "yes"
    failed = row.get("failed_checks")
    reasons = [_REASONS.get(str(name), str(name)) for name in failed or ()]
    return "no" if not reasons else "no: " + ", ".join(reasons)
