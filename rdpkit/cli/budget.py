"""A privacy budget in a file, which is spent release by release: a part of ``rdpkit ledger``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from rdpkit.cli.event_commands import COUNT, EventCommands, event_of, made_of_events
from rdpkit.cli.event_options import WITH_OPTIONS, event_options
from rdpkit.cli.option_types import NUMBER
from rdpkit.cli.output import OUT_OF_REACH, CommandError, format_choice
from rdpkit.events import EpsilonDelta, Event
from rdpkit.formats.records import as_plain
from rdpkit.formats.tables import event_to_table
from rdpkit.formats.text import as_json, printable, rounded_down, rounded_up
from rdpkit.planning.budgets import BudgetExceededError, PrivacyFilter
from rdpkit.planning.budgets.ledger import LedgerFile


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
    show_budget(found, output_format)


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


spend = EventCommands(
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


def is_budget(path: Path) -> bool:
    """Whether a file holds one budget, and not the releases from data sets."""
    if not path.exists():
        return False
    file = LedgerFile(path)
    with file.locked():
        first = file.new_entries()[:1]
    return bool(first) and "composition" in first[0]


def show_budget(found: PrivacyFilter, output_format: str) -> None:
    """Say what was spent of a budget, and what is left."""
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
