"""Results of one data set as one table: a line for each mechanism, a column for each target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.formats.text import escaped_markdown
from rdpkit.mechanisms.experiments.experiment import short
from rdpkit.mechanisms.experiments.rows import Summary
from rdpkit.mechanisms.experiments.summary_table import kind, private

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
    return target(summary) is None and kind(summary) == _CEILING


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
    return kind(summary), str(row["mechanism"]), setting, str(row["model"])


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


def in_order(summaries: Iterable[Summary]) -> list[Summary]:
    """By data set, adjacency, target, delta, and then the best mean first."""

    def rank(summary: Summary) -> tuple[str, str, float, float, float]:
        row, epsilon = summary.row, target(summary)
        finite = float("inf") if epsilon is None else float(epsilon)
        return row["dataset"], row["adjacency"], finite, float(row["delta"]), -summary.mean

    return sorted(summaries, key=rank)
