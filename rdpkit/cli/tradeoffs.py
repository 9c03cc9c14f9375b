"""``rdpkit tradeoff``: what an attack on one record achieves at most, and mu of Gaussian DP."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rdpkit.cli.event_commands import EventCommands, event_of, example_adjacency, made_of_events
from rdpkit.cli.event_options import WITH_OPTIONS, adjacency_option, event_options
from rdpkit.cli.option_types import NUMBER, ListType
from rdpkit.cli.output import format_choice
from rdpkit.formats.columns import as_csv, as_tex
from rdpkit.formats.text import as_json, printable, rounded_down, rounded_up
from rdpkit.tradeoffs.curve import RATES, SMALLEST_DELTA, TradeoffCurve
from rdpkit.tradeoffs.curve import tradeoff as curve_of
from rdpkit.tradeoffs.gaussian import GaussianDP, gdp_of_curve

_DRAWN = (".svg", ".png", ".pdf")


def _smallest_delta_option() -> click.Option:
    return click.Option(
        ["--smallest-delta"],
        type=NUMBER,
        help="The smallest delta for which the answer is to hold, in (0, 1).  "
        f"[default: {SMALLEST_DELTA:g}, less for the mu of events that leak very little]",
    )


def _fpr_option() -> click.Option:
    shown = ",".join(f"{rate:g}" for rate in RATES)
    return click.Option(
        ["--fpr"],
        type=ListType(float),
        help=f"False positive rates in [0, 1], for example 0.01,0.1.  [default: {shown}]",
    )


def _plot_option() -> click.Option:
    return click.Option(
        ["--plot"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Draw the curve to this file, SVG, PNG or PDF by its suffix, as -o does with such a "
        "name. Needs matplotlib.",
    )


def _tradeoff(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    fpr: list[float] | None,
    smallest_delta: float | None,
    plot: Path | None,
    output_format: str,
) -> None:
    if plot is not None and plot.suffix.lower() not in _DRAWN:
        raise ValueError(f"Expected --plot to end in .svg, .png or .pdf, got {str(plot)!r}.")
    event = event_of(source, given, adjacency)
    smallest = SMALLEST_DELTA if smallest_delta is None else smallest_delta
    found = curve_of(event, adjacency=adjacency, smallest_delta=smallest)
    mu = gdp_of_curve(event, found, closer=smallest_delta is None)
    table = {**found.as_dict(RATES if fpr is None else fpr), "gdp": mu.as_dict()}
    if plot is not None:
        from rdpkit.tradeoffs.drawing import save  # noqa: PLC0415 - it needs an optional library

        save(found, plot)
    if output_format == "json":
        click.echo(as_json(table))
    elif output_format == "csv":
        click.echo(as_csv(_columns(table, repr, repr)), nl=False)
    elif output_format == "tex":
        click.echo(as_tex(_columns(table, rounded_down, rounded_up), "rrrrr"), nl=False)
    else:
        click.echo("\n".join(printable(line) for line in _lines(found, table, mu)))


def _columns(
    table: dict[str, Any], down: Callable[[float], str], up: Callable[[float], str]
) -> dict[str, list[str]]:
    """The curve as columns of texts; attained rates and proven ones are rounded to their sides."""
    found: dict[str, list[str]] = {
        name: [] for name in ("fpr", "tpr_attained", "tpr_proven", "fnr_proven", "fnr_attained")
    }
    for row in table["curve"]:
        (low, high), (least, most) = row["tpr"], row["fnr"]
        cells = (f"{row['fpr']!r}", down(low), up(high), down(least), up(most))
        for name, cell in zip(found, cells, strict=True):
            found[name].append(cell)
    return found


def _lines(found: TradeoffCurve, table: dict[str, Any], mu: GaussianDP) -> list[str]:
    low, high = table["advantage"]
    rows = [("FPR", "TPR attained", "TPR at most")]
    for row in table["curve"]:
        attained, proven = row["tpr"]
        rows.append((f"{row['fpr']:g}", rounded_down(attained), rounded_up(proven)))
    return [
        *(f"{rate:<10} {attained:<13} {proven}" for rate, attained, proven in rows),
        "",
        f"advantage   {rounded_up(high)} at most, {rounded_down(low)} attained",
        *_mu_lines(mu),
        f"adjacency   {found.adjacency.dashed}",
        *(f"assumes     {text}" for text in found.assumptions),
        "note        FPR: how often an attack accuses somebody who was not in the data; TPR: how "
        "often it finds somebody who was.",
        *(f"note        {text}" for text in mu.notes),
    ]


def _mu_lines(found: GaussianDP) -> list[str]:
    everywhere = "no mu is known to hold for every delta"
    if math.isfinite(found.everywhere):
        everywhere = f"mu = {rounded_up(found.everywhere)} holds for every delta"
    return [
        f"mu          {rounded_up(found.mu)} at most for Gaussian DP, for delta >= "
        f"{found.smallest_delta:g} and epsilon up to {rounded_up(found.largest_epsilon)}; a pair "
        f"of data sets refutes every mu below {rounded_down(found.lower)}",
        f"regret      {rounded_up(found.regret.upper)} at most",
        f"everywhere  {everywhere}",
    ]


tradeoff = EventCommands(
    name="tradeoff",
    mechanisms=WITH_OPTIONS,
    event_options=event_options,
    counted=True,
    shared_options=lambda: [
        adjacency_option(),
        _fpr_option(),
        _smallest_delta_option(),
        _plot_option(),
        format_choice("text", "json", "csv", "tex"),
    ],
    files=dict.fromkeys(_DRAWN, "plot"),
    run=_tradeoff,
    refusal=made_of_events,
    example=lambda event_type: [example_adjacency(event_type)],
    help="What any attack on one record achieves at most: true positive rates at false positive "
    "rates, the advantage, and the smallest mu of Gaussian differential privacy that is proven. "
    "EVENT is a mechanism, or a TOML file that describes one.",
)
