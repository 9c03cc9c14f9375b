"""``rdpkit plan``: the order of mixture and the noise of the highest signal-to-noise ratio."""

from __future__ import annotations

from typing import Any

import click

from rdpkit.calibration import UnreachableTargetError
from rdpkit.cli.completion import bounds_of_event, names_of
from rdpkit.cli.event_commands import EventCommands, example_adjacency, with_adjacency
from rdpkit.cli.event_options import (
    adjacency_option,
    delta_option,
    event_options,
    target_epsilon_option,
)
from rdpkit.cli.option_types import NUMBER, ListType, NameType, dashed
from rdpkit.cli.output import OUT_OF_REACH, CommandError, format_choice
from rdpkit.cli.placeholders import check_nothing_missing, with_placeholders
from rdpkit.cli.progress import work_shown
from rdpkit.events import MECHANISMS, Event
from rdpkit.events.mixing import Mixing
from rdpkit.formats.screen import aligned
from rdpkit.formats.tables import event_from_table, event_in_file, mechanism_name, read_toml
from rdpkit.formats.text import as_json, printable, with_guarantee
from rdpkit.planning import OBJECTIVES, Plan
from rdpkit.planning import plan as find

_PLANNED = [name for name, kind in MECHANISMS.items() if kind.mixing is not None]


def _chosen(mixing: Mixing) -> set[str]:
    """What a plan chooses, and a description may leave out."""
    names = {mixing.mixed, mixing.releases, mixing.noise}
    return names | ({mixing.label_noise} if mixing.label_noise else set())


def _options(event_type: type[Event]) -> list[click.Option]:
    """The options of a mechanism, none of them required."""
    # The list of releases to try takes the place of the one number.
    found = event_options(event_type, required=False)
    return [option for option in found if option.name != "releases"]


def _refusal(name: str) -> str:
    known = ", ".join(map(dashed, _PLANNED))
    return f"Expected EVENT to be one of {known}, which can be planned, got {dashed(name)!r}."


def _event(
    source: str, given: dict[str, Any], *, releases: list[int] | None, adjacency: str
) -> Event:
    """The event, with placeholders for what the plan chooses."""
    if source in MECHANISMS:
        table = {"mechanism": source, **with_adjacency(source, given, adjacency)}
    else:
        table = read_toml(source)
    kind = MECHANISMS.get(mechanism_name(str(table.get("mechanism"))))
    if kind is not None and kind.mixing is None:
        raise ValueError(_refusal(kind.mechanism))
    if kind is not None and kind.mixing is not None:
        chosen = _chosen(kind.mixing)
        own = kind.mixing.releases
        if releases is None and own not in table:
            choice = "" if own == "releases" else f" or '--{dashed(own)}'"
            raise click.UsageError(f"Missing option '--releases'{choice}.")
        table = with_placeholders(table, lambda path: path in chosen)
    if source not in MECHANISMS:
        return event_in_file(source, table)
    check_nothing_missing(source, table)
    return event_from_table(table)


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
    lines = with_guarantee(lines, found.guarantee, found.notes, width)
    click.echo("\n".join(printable(line) for line in lines))
    click.echo()
    _print_choices(found)


def _print_choices(found: Plan) -> None:
    """Every order of mixture that was tried; a star marks the best."""
    shares = any(choice.label_share is not None for choice in found.choices)
    headings = ["l", "releases", *(["label share"] if shares else []), "noise", "mean", "variation"]
    rows = [
        (
            f"{choice.order_of_mixture}{' *' if choice == found.best else '  '}",
            str(choice.releases),
            *([f"{choice.label_share:g}"] if shares else []),
            f"{choice.noise:.6g}",
            f"{choice.mean:.6g}",
            f"{choice.variation:.6g}",
        )
        for choice in found.choices
    ]
    click.echo("\n".join(aligned(headings, rows)))


def _run(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    releases: list[int] | None,
    output_format: str,
    **question: Any,
) -> None:
    event = _event(source, given, releases=releases, adjacency=adjacency)
    try:
        with work_shown() as work:
            found = find(
                event,
                adjacency=adjacency,
                releases=releases,
                **question,
                progress=lambda done, total: work.show("plan", done, total),
            )
    except UnreachableTargetError as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None
    if output_format == "json":
        click.echo(as_json(found.as_dict()))
    elif output_format == "csv":
        click.echo(found.as_csv(), nl=False)
    else:
        _print(found)


def _shared_options() -> list[click.Option]:
    return [
        adjacency_option(),
        target_epsilon_option(),
        delta_option(pure=False),
        click.Option(
            ["--objective"],
            type=NameType.of("objective", OBJECTIVES),
            default="variation",
            show_default=True,
            help="What is maximised: the signal-to-noise ratio of a release, where the signal is "
            "how records differ (variation) or their mean; total-: times the releases.",
        ),
        click.Option(
            ["--orders-of-mixture"],
            type=ListType(int),
            help="Numbers of records in a release to try.  [default: a search for the best]",
        ),
        click.Option(
            ["--releases"],
            type=ListType(int),
            help="Numbers of releases to try; where every class has its own, for each class.  "
            "[default: the event's own]",
        ),
        click.Option(
            ["--label-shares"],
            type=ListType(float),
            help="For dpmix, the parts of the budget to try for labels.  [default: the best for "
            "--label-weight]",
        ),
        click.Option(
            ["--label-weight"],
            type=NUMBER,
            default=0.5,
            show_default=True,
            help="For dpmix, how much the labels' ratio counts, in (0, 1).",
        ),
        click.Option(
            ["--bound"],
            shell_complete=names_of(bounds_of_event),
            default="best",
            show_default=True,
            help="As for rdpkit calibrate.",
        ),
        format_choice("text", "json", "csv"),
    ]


plan = EventCommands(
    name="plan",
    mechanisms=_PLANNED,
    event_options=_options,
    shared_options=_shared_options,
    run=_run,
    refusal=_refusal,
    help="The order of mixture, the number of releases and the noise that give the highest "
    "signal-to-noise ratio within a target epsilon, certified. EVENT is a mechanism, or a TOML "
    "file that describes one; what is chosen may be left out.\n\nExit status: 0 fine, 1 the "
    "target is out of reach, 2 bad usage or bad input.",
    example=lambda event_type: [
        "--target-epsilon 1",
        example_adjacency(event_type),
        "--delta 1e-5",
    ],
)
