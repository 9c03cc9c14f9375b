"""Summaries of results as the cells of a table."""

from __future__ import annotations

from rdpkit.formats.text import rounded_up
from rdpkit.mechanisms.algorithms import find_mechanism
from rdpkit.mechanisms.experiments.experiment import short
from rdpkit.mechanisms.experiments.rows import Summary

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
