"""``rdpkit budget``: a privacy budget in a file, which is spent release by release."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from rdpkit.cli.event_commands import COUNT, EventCommands, event_of, made_of_events
from rdpkit.cli.event_options import WITH_OPTIONS, adjacency_option, delta_option, event_options
from rdpkit.cli.option_types import NUMBER, ListType, NameType
from rdpkit.cli.output import (
    OUT_OF_REACH,
    CommandError,
    format_choice,
    format_option,
    one_line_errors,
    to_file_option,
)
from rdpkit.events import EpsilonDelta, Event
from rdpkit.formats.records import as_plain
from rdpkit.formats.tables import event_to_table, read_event
from rdpkit.formats.text import as_json, printable, rounded_down, rounded_up
from rdpkit.planning.budgets import BudgetExceededError, PrivacyFilter
from rdpkit.planning.budgets.rules import COMPOSITIONS


@click.group()
def budget() -> None:
    """Spend a privacy budget release by release; what exceeds it is refused.

    The budget is a file. Every release is charged, and the charge is on the disk, before the
    command ends: charge first, and release only if the exit status is 0.
    """


@budget.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--epsilon", type=NUMBER, required=True, help="The whole budget's epsilon, in nats, above 0."
)
@click.option(
    "--composition",
    type=NameType("composition", {name: name for name in COMPOSITIONS}),
    default=COMPOSITIONS[0],
    show_default=True,
    help="What adds up. renyi: Renyi divergences at orders that are fixed now. zcdp: rho. "
    "gaussian: 1 / noise multiplier^2, for Gaussian events alone. basic: epsilons. fixed-schedule: "
    "ordinary composition, which holds only if no event and not their number depends on an output.",
)
@click.option(
    "--orders", type=ListType(float), help="For renyi: the orders, with equal weights, like 8,16."
)
@click.option(
    "--planned",
    metavar="EVENT.toml",
    type=click.Path(path_type=Path, dir_okay=False),
    help="For renyi: use the one order that is best for this event, which is what is intended.",
)
@click.option(
    "--delta-for-events",
    type=NUMBER,
    default=0.0,
    help="The part of delta for releases that are spent with a delta of their own.  [default: 0]",
)
@format_option
@to_file_option
@one_line_errors
def new(path: Path, planned: Path | None, output_format: str, **values: Any) -> None:
    """Make the file PATH with a new budget."""
    if planned is not None:
        values["planned"] = read_event(planned)
    _show(PrivacyFilter(**values).save(path), output_format)


new.params[1:1] = [delta_option(), adjacency_option()]


@budget.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@format_option
@to_file_option
@one_line_errors
def show(path: Path, output_format: str) -> None:
    """Say what was spent of the budget in PATH, and what is left."""
    _show(PrivacyFilter.load(path), output_format)


def _spend(
    source: str,
    given: dict[str, Any],
    *,
    path: Path,
    own_delta: float,
    label: str,
    output_format: str,
) -> None:
    found = PrivacyFilter.load(path)
    times = given.pop(COUNT, None)
    event = event_of(source, given, found.adjacency.value)
    try:
        found.spend(event, count=1 if times is None else times, delta=own_delta, label=label)
    except BudgetExceededError as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None
    _show(found, output_format)


def _spend_options() -> list[click.Option]:
    return [
        click.Option(
            ["--budget", "path"],
            type=click.Path(path_type=Path, dir_okay=False),
            required=True,
            metavar="PATH",
            help="The file of the budget.",
        ),
        click.Option(
            ["--own-delta"],
            type=NUMBER,
            default=0.0,
            help="Charge each release as (epsilon, this delta)-DP, for events without finite Renyi "
            "divergences.  [default: 0]",
        ),
        click.Option(["--label"], default="", help="What to call the release in the file."),
        format_choice("text", "json"),
    ]


def _spend_example(event_type: type[Event]) -> list[str]:
    """The file, and for an event that has a delta one that covers it."""
    return [*(["--own-delta 1e-7"] if event_type is EpsilonDelta else []), "--budget budget.jsonl"]


budget.add_command(
    EventCommands(
        name="spend",
        mechanisms=WITH_OPTIONS,
        event_options=event_options,
        counted=True,
        shared_options=_spend_options,
        run=_spend,
        refusal=made_of_events,
        example=_spend_example,
        help="Charge a release before it is made; exit status 1 if it exceeds the budget, and "
        "nothing is spent. EVENT is a mechanism, or a TOML file that describes one.",
    )
)


def _show(found: PrivacyFilter, output_format: str) -> None:
    left, used = found.remaining, found.used
    if output_format == "json":
        table = {
            "epsilon": found.epsilon,
            "delta": found.delta,
            "adjacency": found.adjacency.value,
            "composition": found.composition,
            "used": used,
            "remaining": {
                "epsilon": left.epsilon,
                "noise_multiplier": as_plain(left.noise_multiplier),
                "delta": left.delta,
            },
            "charges": [
                {
                    "event": event_to_table(one.event),
                    "count": one.count,
                    "delta": one.delta,
                    "label": one.label,
                }
                for one in found.spendings
            ],
        }
        click.echo(as_json(table))
        return
    lines = [
        f"budget: epsilon {found.epsilon:g} at delta {found.delta:g}, {found.adjacency.dashed}, "
        f"composed by {found.composition}",
        f"charges: {len(found.spendings)}",
        f"used: {rounded_up(used)} of epsilon; left: {rounded_down(left.epsilon)}",
    ]
    if left.noise_multiplier is not None:
        fits = (
            f"with noise of {rounded_up(left.noise_multiplier)} sensitivities or more"
            if math.isfinite(left.noise_multiplier)
            else "none"
        )
        lines.append(f"one more Gaussian release: {fits}")
    for one in found.spendings[-10:]:
        name = f" ({one.label})" if one.label else ""
        lines.append(f"  {one.event.mechanism} x {one.count}{name}")
    click.echo("\n".join(printable(line) for line in lines))
