"""Summaries of results as a Markdown table, for documents."""

from __future__ import annotations

from collections.abc import Sequence

from rdpkit.mechanisms.experiments.experiment import short
from rdpkit.mechanisms.experiments.rows import Summary

from rdpkit.text import rounded_up

_COLUMNS = ("data set", "mechanism", "setting", "epsilon", "adjacency", "model", "seeds",
            "accuracy", "published")  # fmt: skip


def as_markdown(summaries: Sequence[Summary]) -> str:
    """One line a setting; epsilon rounded up, accuracy with its standard deviation over seeds."""
    lines = [_joined(_COLUMNS), _joined(["---"] * len(_COLUMNS))]
    for summary in summaries:
        row = summary.row
        varied = ", ".join(f"{k.split('.')[-1]} {short(v)}" for k, v in row["varied"].items())
        spread = "" if summary.std is None else f" ± {summary.std:.4f}"
        cells = (
            row["dataset"],
            row["mechanism"],
            varied,
            "none" if row["epsilon"] is None else rounded_up(row["epsilon"]),
            "" if row["epsilon"] is None else row["adjacency"],
            row["model"],
            summary.seeds,
            f"{summary.mean:.4f}{spread}",
            "" if summary.published is None else f"{summary.published:g}",
        )
        lines.append(_joined([str(cell).replace("|", "\\|") for cell in cells]))
    return "\n".join(lines)


def _joined(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
