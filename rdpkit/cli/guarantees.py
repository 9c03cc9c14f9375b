"""``rdpkit epsilon``, ``rdpkit delta`` and ``rdpkit compare``: questions about one event.

The event is named by its mechanism, with its parameters as options, or by a TOML file whose
top-level keys are ``mechanism`` and its parameters (nested events are tables).
"""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from rdpkit import analysis
from rdpkit.bounds.base import Kind
from rdpkit.cli.event_commands import METAVAR, AboutAnEvent, conversion_option, delta_option
from rdpkit.events import Event
from rdpkit.guarantee import Guarantee
from rdpkit.text import as_json, guarantee_lines, rounded_down, rounded_up


def _bound_option() -> click.Option:
    return click.Option(
        ["--bound"],
        default=analysis.BEST,
        show_default=True,
        help="Id of a bound, or best: the smallest sound upper bound.",
    )


def _print(guarantee: Guarantee, output_format: str) -> None:
    if output_format == "json":
        click.echo(as_json(guarantee.as_dict()))
    else:
        click.echo("\n".join(guarantee_lines(guarantee)))


def _answer_epsilon(
    event: Event,
    *,
    adjacency: str,
    delta: float,
    bound: str,
    conversion: str | None,
    output_format: str,
) -> None:
    _print(
        analysis.epsilon(
            event, delta=delta, adjacency=adjacency, bound=bound, conversion=conversion
        ),
        output_format,
    )


def _answer_delta(
    event: Event,
    *,
    adjacency: str,
    epsilon: float,
    bound: str,
    conversion: str | None,
    output_format: str,
) -> None:
    _print(
        analysis.delta(
            event, epsilon=epsilon, adjacency=adjacency, bound=bound, conversion=conversion
        ),
        output_format,
    )


def _answer_compare(event: Event, *, adjacency: str, delta: float, output_format: str) -> None:
    found = analysis.compare(event, delta=delta, adjacency=adjacency)
    if output_format == "json":
        click.echo(as_json({"bounds": [g.as_dict() for g in found]}))
        return
    table = Table(title=f"epsilon at delta = {delta:g}, {adjacency}", title_justify="left")
    for heading in ("bound", "kind", "epsilon", "order", "conversion"):
        table.add_column(heading, justify="right" if heading in ("epsilon", "order") else "left")
    for g in found:
        table.add_row(
            g.bound,
            g.kind.value,
            rounded_down(g.epsilon) if g.kind is Kind.LOWER else rounded_up(g.epsilon),
            "" if g.order is None else f"{g.order:.5g}",
            g.conversion or "",
        )
    console = Console()
    console.print(table)
    for text in dict.fromkeys(text for g in found for text in g.assumptions):
        console.print(f"assumes: {text}", markup=False, highlight=False)


epsilon = AboutAnEvent(
    name="epsilon",
    answer=_answer_epsilon,
    extra=[delta_option(), _bound_option(), conversion_option()],
    help="Epsilon at a delta. EVENT is a mechanism, or a TOML file that describes one.",
    subcommand_metavar=METAVAR,
)

delta = AboutAnEvent(
    name="delta",
    answer=_answer_delta,
    extra=[
        click.Option(["--epsilon"], type=float, required=True, help="At least 0."),
        _bound_option(),
        conversion_option(),
    ],
    help="Delta at an epsilon. EVENT is a mechanism, or a TOML file that describes one.",
    subcommand_metavar=METAVAR,
)

compare = AboutAnEvent(
    name="compare",
    answer=_answer_compare,
    extra=[delta_option()],
    help="Every bound side by side. EVENT is a mechanism, or a TOML file that describes one.",
    subcommand_metavar=METAVAR,
)
