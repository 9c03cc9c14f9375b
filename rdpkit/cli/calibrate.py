"""``rdpkit calibrate``: the value of a parameter that meets a target."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from rdpkit.calibration import Calibration, CalibrationError
from rdpkit.calibration import calibrate as find
from rdpkit.calibration.parameters import Value
from rdpkit.cli.event_commands import (
    METAVAR,
    AboutAnEvent,
    conversion_option,
    delta_option,
    options_of,
)
from rdpkit.cli.partial_events import check_nothing_missing, filled, named
from rdpkit.events import MECHANISMS, Event, event_from_parameters
from rdpkit.tables import event_in_file, read_toml
from rdpkit.text import as_json, guarantee_lines, printable, rounded_down

# Status 1 is a check that failed: the target is out of reach.
_OUT_OF_REACH = 1


def _parameters(
    ctx: click.Context, option: click.Parameter, value: tuple[str, ...]
) -> str | tuple[str, ...] | dict[str, float]:
    """One name, several, or names with their share of a ratio."""
    items = [item.strip() for text in value for item in text.split(",")]
    stated = [item.partition("=") for item in items if "=" in item]
    if not all(items) or (stated and len(stated) < len(items)):
        raise click.BadParameter(
            f"{','.join(value)!r} is not NAME, NAME,NAME (in the event's ratio) or "
            "NAME=SHARE,NAME=SHARE"
        )
    if not stated:
        return items[0] if len(items) == 1 else tuple(items)
    try:
        return {name: float(share) for name, _, share in stated}
    except ValueError:
        raise click.BadParameter(
            f"{','.join(value)!r} is not a ratio like feature_noise=1,label_noise=2"
        ) from None


class _Calibrated(AboutAnEvent):
    """Events of which the parameter that is calibrated may be left out."""

    def options_of(self, name: str) -> list[click.Option] | None:
        """The options for a mechanism, none of them required, and how often it is repeated."""
        options = options_of(MECHANISMS[name])
        if options is None:
            return None
        for option in options:
            option.required = option.name == "adjacency"
        count = click.Option(
            ["--count"], type=int, help="Releases, one after the other.  [default: one]"
        )
        return [*options, count]

    def event(self, name: str, given: dict[str, Any], values: dict[str, Any]) -> Event:
        """The event, with something in the place of what is calibrated."""
        asked = values["parameter"]
        wanted = named([asked] if isinstance(asked, str) else list(asked))
        if name not in MECHANISMS:
            return event_in_file(name, filled(read_toml(name), wanted))
        count = given.pop("count", None)
        table = filled({"mechanism": name, **given}, wanted)
        if isinstance(asked, tuple):
            # Their ratio is that of the values given.
            table = {"mechanism": name, **given}
        mechanism = str(table.pop("mechanism"))
        check_nothing_missing(mechanism, table)
        if count is None and not wanted("count"):
            return event_from_parameters(mechanism, table)
        inner = {"mechanism": mechanism, **table}
        return event_from_parameters("repeated", {"event": inner, "count": count or 1})


def _shown(value: Value) -> str:
    """All digits: a rounded value may miss the target."""
    return ", ".join(map(repr, value)) if isinstance(value, tuple) else repr(value)


def _lines(found: Calibration) -> list[str]:
    def listed(values: Mapping[str, Value]) -> str:
        return ", ".join(f"{path} = {_shown(value)}" for path, value in values.items())

    width = max(10, *(len(path) for path in found.values))
    lines = [f"{path:{width}} {_shown(value)}" for path, value in found.values.items()]
    lines += [
        f"{'target':{width}} {found.target_epsilon:g}, of which {rounded_down(found.slack, 2)} "
        "is left",
        f"{'misses':{width}} {listed(found.misses or {}) or 'none in the range'}",
        f"{'certified':{width}} {'yes' if found.certified else 'no'}",
    ]
    for line in guarantee_lines(found.guarantee):
        name, _, rest = line.partition(" ")
        lines.append(f"{name:{width}} {rest.strip()}")
    lines += [f"{'note':{width}} {text}" for text in found.notes]
    return lines


def _answer(event: Event, *, output_format: str, **question: Any) -> None:
    try:
        found = find(event, **question)
    except CalibrationError as error:
        click.echo(printable(f"Error: {' '.join(str(error).split())}"), err=True)
        sys.exit(_OUT_OF_REACH)
    if output_format == "json":
        click.echo(as_json(found.as_dict()))
    else:
        click.echo("\n".join(printable(line) for line in _lines(found)))


calibrate = _Calibrated(
    name="calibrate",
    answer=_answer,
    extra=[
        click.Option(
            ["--parameter"],
            required=True,
            multiple=True,
            callback=_parameters,
            metavar="NAME",
            help="What to choose: a parameter's name, or its path (event.noise_std, "
            "events[0].count). NAME,NAME keeps the ratio of the values given, and "
            "NAME=1,NAME=2 states one. A value need not be given for it.",
        ),
        click.Option(
            ["--target-epsilon"], type=float, required=True, help="At most this, in nats."
        ),
        delta_option(),
        click.Option(
            ["--bound"],
            default="best",
            show_default=True,
            help="best: the least noise. best-rdp: by Renyi divergences alone, faster. Or "
            "the id of an upper or published bound.",
        ),
        conversion_option(),
        click.Option(
            ["--tolerance"],
            type=float,
            help="For numbers, how close what meets and what misses are.  [default: 1e-6, and "
            "1e-4 by loss distributions]",
        ),
        click.Option(
            ["--prefer"],
            type=click.Choice(["smallest", "largest"]),
            help="Of the sizes of a sample whose mean is released.  [default: smallest]",
        ),
    ],
    help="The value of a parameter that meets a target, with a certificate. EVENT is a mechanism, "
    "or a TOML file that describes one; what is chosen may be left out.\n\nExit status: 0 fine, 1 "
    "the target is out of reach, 2 bad usage or bad input.",
    subcommand_metavar=METAVAR,
)
