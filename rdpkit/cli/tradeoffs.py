"""``rdpkit tradeoff`` and ``rdpkit gdp``: what an attack on one record achieves at most."""

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
from rdpkit.formats.text import as_json, printable, rounded_down, rounded_up
from rdpkit.tradeoffs.curve import RATES, SMALLEST_DELTA, TradeoffCurve
from rdpkit.tradeoffs.curve import tradeoff as curve_of
from rdpkit.tradeoffs.gaussian import GaussianDP
from rdpkit.tradeoffs.gaussian import gdp as gdp_of

_DRAWN = (".svg", ".png")


def _smallest_delta_option(default: str) -> click.Option:
    return click.Option(
        ["--smallest-delta"],
        type=NUMBER,
        help="The smallest delta for which the answer is to hold, in (0, 1).  "
        f"[default: {default}]",
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
        help="Draw the curve to this file, SVG or PNG by its suffix. Needs matplotlib.",
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
        raise ValueError(f"Expected --plot to be an SVG or PNG file, got {str(plot)!r}.")
    event = event_of(source, given, adjacency)
    smallest = SMALLEST_DELTA if smallest_delta is None else smallest_delta
    found = curve_of(event, adjacency=adjacency, smallest_delta=smallest)
    table = found.as_dict(RATES if fpr is None else fpr)
    if plot is not None:
        from rdpkit.tradeoffs.drawing import save  # noqa: PLC0415 - it needs an optional library

        save(found, plot)
    if output_format == "json":
        click.echo(as_json(table))
    elif output_format == "csv":
        click.echo("fpr,tpr_attained,tpr_proven,fnr_proven,fnr_attained")
        for row in table["curve"]:
            (low, high), (least, most) = row["tpr"], row["fnr"]
            click.echo(f"{row['fpr']!r},{low!r},{high!r},{least!r},{most!r}")
    else:
        click.echo("\n".join(printable(line) for line in _lines(found, table)))


def _lines(found: TradeoffCurve, table: dict[str, Any]) -> list[str]:
    low, high = table["advantage"]
    rows = [("FPR", "TPR attained", "TPR at most")]
    for row in table["curve"]:
        attained, proven = row["tpr"]
        rows.append((f"{row['fpr']:g}", rounded_down(attained), rounded_up(proven)))
    return [
        *(f"{rate:<10} {attained:<13} {proven}" for rate, attained, proven in rows),
        "",
        f"advantage  {rounded_up(high)} at most, {rounded_down(low)} attained",
        f"adjacency  {found.adjacency.value}",
        *(f"assumes    {text}" for text in found.assumptions),
        "note       FPR: how often an attack accuses somebody who was not in the data; TPR: how "
        "often it finds somebody who was.",
        *(
            []
            if found.attained or found.gaussian is not None
            else ["note       no pair of data sets is known, so that what is attained is guessing"]
        ),
    ]


def _gdp(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    smallest_delta: float | None,
    output_format: str,
) -> None:
    event = event_of(source, given, adjacency)
    found = gdp_of(event, adjacency=adjacency, smallest_delta=smallest_delta)
    if output_format == "json":
        click.echo(as_json(found.as_dict()))
    else:
        click.echo("\n".join(printable(line) for line in _mu_lines(found)))


def _mu_lines(found: GaussianDP) -> list[str]:
    everywhere = "no mu is known to hold for every delta"
    if math.isfinite(found.everywhere):
        everywhere = f"mu = {rounded_up(found.everywhere)} holds for every delta"
    return [
        f"mu          {rounded_up(found.mu)} (upper)",
        f"lower       {rounded_down(found.lower)} (a pair of data sets refutes every smaller mu)",
        f"regret      {rounded_up(found.regret.upper)} (upper)",
        f"holds for   delta >= {found.smallest_delta:g}, epsilon up to "
        f"{rounded_up(found.largest_epsilon)}",
        f"everywhere  {everywhere}",
        f"adjacency   {found.adjacency.value}",
        *(f"assumes     {text}" for text in found.assumptions),
        *(f"note        {text}" for text in found.notes),
    ]


def _about_attacks(
    name: str,
    run: Callable[..., None],
    options: Callable[[], list[click.Option]],
    formats: tuple[str, ...],
    *,
    text: str,
) -> EventCommands:
    return EventCommands(
        name=name,
        mechanisms=WITH_OPTIONS,
        event_options=event_options,
        counted=True,
        shared_options=lambda: [adjacency_option(), *options(), format_choice(*formats)],
        run=run,
        refusal=made_of_events,
        example=lambda event_type: [example_adjacency(event_type)],
        help=f"{text} EVENT is a mechanism, or a TOML file that describes one.",
    )


tradeoff = _about_attacks(
    "tradeoff",
    _tradeoff,
    lambda: [_fpr_option(), _smallest_delta_option(f"{SMALLEST_DELTA:g}"), _plot_option()],
    ("text", "json", "csv"),
    text="What any attack on one record achieves at most: true positive rates at false positive "
    "rates, and the advantage.",
)

gdp = _about_attacks(
    "gdp",
    _gdp,
    lambda: [_smallest_delta_option(f"{SMALLEST_DELTA:g}, less for events that leak very little")],
    ("text", "json"),
    text="The smallest mu of Gaussian differential privacy that is proven, and its regret.",
)
