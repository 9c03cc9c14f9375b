"""``rdpkit plan``: the order of mixture and the noise of the highest signal-to-noise ratio."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from rdpkit.calibration import UnreachableTargetError
from rdpkit.cli.event_commands import (
    METAVAR,
    AboutAnEvent,
    delta_option,
    options_of,
)
from rdpkit.cli.partial_events import check_nothing_missing, filled
from rdpkit.events import MECHANISMS, Event, event_from_parameters
from rdpkit.events.mixing import Mixing
from rdpkit.planning import OBJECTIVES, Plan
from rdpkit.planning import plan as find
from rdpkit.tables import event_in_file, read_toml
from rdpkit.text import as_json, guarantee_lines, printable

# Status 1 is a check that failed: the target is out of reach.
_OUT_OF_REACH = 1


def _integers(ctx: click.Context, option: click.Parameter, value: str | None) -> list[int] | None:
    try:
        return None if value is None else [int(item) for item in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of integers like 10,20,30") from None


def _numbers(ctx: click.Context, option: click.Parameter, value: str | None) -> list[float] | None:
    try:
        return None if value is None else [float(item) for item in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers like 0.2,0.5") from None


def _chosen(mixing: Mixing) -> set[str]:
    """What a plan chooses, and a description may leave out."""
    names = {mixing.mixed, mixing.releases, mixing.noise}
    return names | ({mixing.label_noise} if mixing.label_noise else set())


class _Planned(AboutAnEvent):
    """Events that can be planned, of which what is chosen may be left out."""

    def options_of(self, name: str) -> list[click.Option] | None:
        """The options for a mechanism, those that are chosen not required."""
        if MECHANISMS[name].mixing is None:
            return None
        options = options_of(MECHANISMS[name])
        assert options is not None
        for option in options:
            option.required = False
        # The list of releases to try takes the place of the one number.
        return [option for option in options if option.name != "releases"]

    def without_options(self, name: str) -> str:
        """What to say about a mechanism that cannot be planned."""
        known = ", ".join(name for name, kind in MECHANISMS.items() if kind.mixing is not None)
        return f"Expected EVENT to be one of {known}, which can be planned, got {name!r}."

    def event(self, name: str, given: dict[str, Any], values: dict[str, Any]) -> Event:
        """The event, with something in the place of what is chosen."""
        table = read_toml(name) if name not in MECHANISMS else {"mechanism": name, **given}
        kind = MECHANISMS.get(str(table.get("mechanism")))
        if kind is not None and kind.mixing is None:
            raise ValueError(self.without_options(kind.mechanism))
        if kind is not None and kind.mixing is not None:
            chosen = _chosen(kind.mixing)
            releases = kind.mixing.releases
            if values["releases"] is None and releases not in table:
                own = releases.replace("_", "-")
                choice = "" if own == "releases" else f" or '--{own}'"
                raise click.UsageError(f"Missing option '--releases'{choice}.")
            table = filled(table, lambda path: path in chosen)
        if name not in MECHANISMS:
            return event_in_file(name, table)
        mechanism = str(table.pop("mechanism"))
        check_nothing_missing(mechanism, table)
        return event_from_parameters(mechanism, table)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal, and nothing in a pipe."""
    with Progress(
        TextColumn("planning"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _print(found: Plan) -> None:
    best = found.best
    width = 16
    lines = [
        f"{'order of mixture':{width}} {best.order_of_mixture}",
        f"{'releases':{width}} {best.releases}",
        f"{'noise':{width}} {best.noise!r}",
    ]
    if best.label_noise is not None:
        lines.append(f"{'label noise':{width}} {best.label_noise!r}")
    lines.append(f"{found.objective:{width}} {best.score:.6g} ({OBJECTIVES[found.objective]})")
    for line in guarantee_lines(found.guarantee):
        name, _, rest = line.partition(" ")
        lines.append(f"{name:{width}} {rest.strip()}")
    lines += [f"{'note':{width}} {text}" for text in found.notes]
    click.echo("\n".join(printable(line) for line in lines))
    click.echo()
    table = Table(box=None, pad_edge=False, header_style="bold")
    shares = any(choice.label_share is not None for choice in found.choices)
    headings = ["l", "releases", *(["label share"] if shares else []), "noise", "mean", "variation"]
    for heading in headings:
        table.add_column(heading, justify="right")
    for choice in found.choices:
        share = [f"{choice.label_share:g}"] if shares else []
        table.add_row(
            f"{choice.order_of_mixture}{' *' if choice == best else '  '}",
            str(choice.releases),
            *share,
            f"{choice.noise:.6g}",
            f"{choice.mean:.6g}",
            f"{choice.variation:.6g}",
        )
    console = Console() if sys.stdout.isatty() else Console(width=100)
    console.print(table)


def _answer(event: Event, *, output_format: str, **question: Any) -> None:
    try:
        with _progress() as tell:
            found = find(event, **question, progress=tell)
    except UnreachableTargetError as error:
        click.echo(printable(f"Error: {' '.join(str(error).split())}"), err=True)
        sys.exit(_OUT_OF_REACH)
    if output_format == "json":
        click.echo(as_json(found.as_dict()))
    elif output_format == "csv":
        click.echo(found.as_csv(), nl=False)
    else:
        _print(found)


plan = _Planned(
    name="plan",
    answer=_answer,
    formats=("text", "json", "csv"),
    extra=[
        click.Option(
            ["--target-epsilon"], type=float, required=True, help="At most this, in nats."
        ),
        delta_option(),
        click.Option(
            ["--objective"],
            type=click.Choice(list(OBJECTIVES)),
            default="variation",
            show_default=True,
            help="What is maximised: the signal-to-noise ratio of a release, where the signal is "
            "how records differ (variation) or their mean; total-: times the releases.",
        ),
        click.Option(
            ["--orders-of-mixture"],
            callback=_integers,
            metavar="N,N,...",
            help="Records in a release, to be tried.  [default: a search for the best]",
        ),
        click.Option(
            ["--releases"],
            callback=_integers,
            metavar="N,N,...",
            help="Numbers of releases to be tried, of each class where they are per class.  "
            "[default: the event's own]",
        ),
        click.Option(
            ["--label-shares"],
            callback=_numbers,
            metavar="X,X,...",
            help="For dpmix, parts of the budget for labels, to be tried.  [default: the best for "
            "--label-weight]",
        ),
        click.Option(
            ["--label-weight"],
            type=float,
            default=0.5,
            show_default=True,
            help="For dpmix, how much the labels' ratio counts, in (0, 1).",
        ),
        click.Option(
            ["--bound"], default="best", show_default=True, help="As for rdpkit calibrate."
        ),
    ],
    help="The order of mixture, releases and noise of the highest signal-to-noise ratio that a "
    "target allows, certified. EVENT is a mechanism, or a TOML file that describes one; what is "
    "chosen may be left out.\n\nExit status: 0 fine, 1 the target is out of reach, 2 bad usage or "
    "bad input.",
    subcommand_metavar=METAVAR,
)
