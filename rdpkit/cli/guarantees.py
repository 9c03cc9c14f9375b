"""``rdpkit epsilon``, ``rdpkit delta`` and ``rdpkit compare``: questions about one event.

The event is named by its mechanism, with its parameters as options, or by a TOML file whose
top-level keys are ``mechanism`` and its parameters (nested events are tables).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rdpkit import analysis
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.cli.claimed import checked_claim, claim_lines, exit_if_refuted
from rdpkit.cli.completion import bounds_of_event, names_of
from rdpkit.cli.event_commands import EventCommands, event_of, example_adjacency, made_of_events
from rdpkit.cli.event_options import (
    WITH_OPTIONS,
    adjacency_option,
    claimed_epsilon_option,
    conversion_option,
    delta_option,
    event_options,
)
from rdpkit.cli.option_types import NUMBER
from rdpkit.cli.output import format_choice
from rdpkit.formats.columns import as_csv, as_tex
from rdpkit.formats.screen import aligned, entry
from rdpkit.formats.text import as_json, guarantee_lines, printable, rounded_down, rounded_up
from rdpkit.guarantee import Guarantee


def _bound_option() -> click.Option:
    return click.Option(
        ["--bound"],
        shell_complete=names_of(bounds_of_event),
        default=analysis.BEST,
        show_default=True,
        help="The theorem to use, by the id that 'rdpkit compare' shows. best: the one with the "
        "smallest proven upper bound.",
    )


def _lower_option() -> click.Option:
    return click.Option(
        ["--lower"],
        is_flag=True,
        help="Also what an explicit pair of neighbouring data sets attains: no bound can be "
        "smaller; it takes about a quarter longer.",
    )


def _epsilon_option() -> click.Option:
    return click.Option(
        ["--epsilon"],
        type=NUMBER,
        required=True,
        help="The privacy loss, in nats, at least 0, for example 1.0.",
    )


def _answer_with(question: Callable[..., Guarantee]) -> Callable[..., None]:
    """The run of a command that asks one question and prints the guarantee."""

    def run(
        source: str, given: dict[str, Any], *, adjacency: str, output_format: str, **values: Any
    ) -> None:
        found = question(event_of(source, given, adjacency), adjacency=adjacency, **values)
        if output_format == "json":
            click.echo(as_json(found.as_dict()))
        else:
            click.echo("\n".join(guarantee_lines(found)))

    return run


def _epsilon(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    output_format: str,
    claimed_epsilon: str | None,
    **values: Any,
) -> None:
    event = event_of(source, given, adjacency)
    found = analysis.epsilon(event, adjacency=adjacency, **values)
    claim = None
    if claimed_epsilon is not None:
        claim = checked_claim(event, claimed_epsilon, delta=values["delta"], adjacency=adjacency)
    if output_format == "json":
        extra = {} if claim is None else {"claim": claim.as_dict()}
        click.echo(as_json({**found.as_dict(), **extra}))
    else:
        lines = [*guarantee_lines(found), *([] if claim is None else claim_lines(claim))]
        click.echo("\n".join(printable(line) for line in lines))
    exit_if_refuted(claim)


def _compare(
    source: str, given: dict[str, Any], *, adjacency: str, delta: float, output_format: str
) -> None:
    found = analysis.compare(event_of(source, given, adjacency), delta=delta, adjacency=adjacency)
    if output_format == "json":
        click.echo(as_json({"bounds": [g.as_dict() for g in found]}))
        return
    headings = ("bound", "kind", "epsilon", "order", "conversion")
    rows = [
        (
            g.bound,
            g.kind.value,
            rounded_down(g.epsilon) if g.kind is Kind.LOWER else rounded_up(g.epsilon),
            "" if g.order is None else f"{g.order:.5g}",
            g.conversion or "",
        )
        for g in found
    ]
    columns = dict(zip(headings, zip(*rows, strict=True), strict=True))
    if output_format == "csv":
        click.echo(as_csv(columns), nl=False)
        return
    if output_format == "tex":
        click.echo(as_tex(columns, "llrrl"), nl=False)
        return
    click.echo(f"epsilon at delta = {delta:g}, {Adjacency.parse(adjacency).dashed}\n")
    lines = aligned(headings, rows, left=("bound", "kind", "conversion"))
    assumed = dict.fromkeys(text for g in found for text in g.assumptions)
    lines += [line for text in assumed for line in ("", *entry("assumes", text, 9))]
    click.echo("\n".join(map(printable, lines)))


def about_one_event(
    name: str,
    run: Callable[..., None],
    options: Callable[[], list[click.Option]],
    *,
    text: str,
    example: str,
    formats: Callable[[], list[click.Option]] = lambda: [format_choice("text", "json")],
    kind: type[EventCommands] = EventCommands,
) -> EventCommands:
    """A command whose subcommands are mechanisms, with the options that describe them."""
    return kind(
        name=name,
        mechanisms=WITH_OPTIONS,
        event_options=event_options,
        counted=True,
        shared_options=lambda: [adjacency_option(), *options(), *formats()],
        run=run,
        refusal=made_of_events,
        example=lambda event_type: [example_adjacency(event_type), example],
        help=f"{text} EVENT is a mechanism, or a TOML file that describes one.",
    )


epsilon = about_one_event(
    "epsilon",
    _epsilon,
    lambda: [
        delta_option(),
        _bound_option(),
        conversion_option(),
        _lower_option(),
        claimed_epsilon_option(),
    ],
    text="The privacy loss epsilon of an event at a given delta.",
    example="--delta 1e-5",
)

delta = about_one_event(
    "delta",
    _answer_with(analysis.delta),
    lambda: [_epsilon_option(), _bound_option(), conversion_option(), _lower_option()],
    text="The delta of an event at a given epsilon.",
    example="--epsilon 1",
)

compare = about_one_event(
    "compare",
    _compare,
    lambda: [delta_option()],
    formats=lambda: [format_choice("text", "json", "csv", "tex")],
    text="All bounds on the epsilon of an event, in one table.",
    example="--delta 1e-5",
)
