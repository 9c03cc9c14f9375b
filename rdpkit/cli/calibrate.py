"""``rdpkit calibrate``: the value of a parameter that meets a target."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import click

from rdpkit._validate import no_such
from rdpkit.calibration import (
    AttackCalibration,
    Calibration,
    CalibrationError,
    calibrate_attack,
)
from rdpkit.calibration import calibrate as find
from rdpkit.calibration.parameters import Value, stands_for
from rdpkit.cli.completion import bounds_of_event, names_of, parameters_of_event
from rdpkit.cli.event_commands import (
    COUNT,
    EventCommands,
    example_adjacency,
    made_of_events,
    repeated,
    with_adjacency,
)
from rdpkit.cli.event_options import (
    WITH_OPTIONS,
    adjacency_option,
    conversion_option,
    delta_option,
    event_options,
    target_epsilon_option,
)
from rdpkit.cli.option_types import NUMBER, NameType, dashed
from rdpkit.cli.output import OUT_OF_REACH, CommandError, format_choice
from rdpkit.cli.placeholders import check_nothing_missing, with_placeholders
from rdpkit.events import MECHANISMS, Event, parameters_of
from rdpkit.formats.tables import event_from_table, event_in_file, read_toml
from rdpkit.formats.text import as_json, printable, rounded_down, rounded_up, with_guarantee

_OF_ATTACKS = ("target_advantage", "target_tpr", "at_fpr", "target_mu", "smallest_delta")


def _parameters(
    ctx: click.Context, option: click.Parameter, value: tuple[str, ...]
) -> str | tuple[str, ...] | dict[str, float] | None:
    """One name, several, names with their share of a ratio, or None to find it out."""
    if not value:
        return None
    # Options have dashes, so names may be written with them, but not shares: 1e-3.
    items = [
        name.strip().replace("-", "_") + equals + share
        for text in value
        for name, equals, share in (item.partition("=") for item in text.split(","))
    ]
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


def _event(
    source: str, given: dict[str, Any], *, searched: str | Collection[str], adjacency: str
) -> Event:
    """The event, with placeholders for the parameters that are searched for."""
    names = [searched] if isinstance(searched, str) else list(searched)

    def wanted(path: str) -> bool:
        return any(stands_for(name, path) for name in names)

    if source not in MECHANISMS:
        found = event_in_file(source, with_placeholders(read_toml(source), wanted))
        return repeated(found, given.get(COUNT))
    _check_names(source, names)
    count = given.pop("count", None)
    table = {"mechanism": source, **with_adjacency(source, given, adjacency)}
    # A tuple of names asks for the ratio of the values that were given, so none may be left out.
    if not isinstance(searched, tuple):
        table = with_placeholders(table, wanted)
    check_nothing_missing(source, table)
    if count is None and not wanted("count"):
        return event_from_table(table)
    return event_from_table({"mechanism": "repeated", "event": table, "count": count or 1})


def _left_out(source: str, given: Mapping[str, Any]) -> str:
    """The parameter to choose where none is named: the one that was left out."""
    found: list[str] = []

    def note(path: str) -> bool:
        if not path.endswith("adjacency"):
            found.append(path)
        return False

    table = {"mechanism": source, **given} if source in MECHANISMS else read_toml(source)
    with_placeholders(table, note)
    if len(found) == 1:
        return found[0]
    names = [f"--{dashed(name)}" for name in found] if source in MECHANISMS else found
    left = f"{', '.join(names)} are left out" if found else "all are given"
    raise click.UsageError(
        f"Missing option '--parameter'. Without it, leave out the one that is to be found; {left}."
    )


def _check_names(mechanism: str, names: list[str]) -> None:
    """Say at once that a name is unknown, not that the option of another parameter is missing."""
    known = [*(parameter.name for parameter in parameters_of(MECHANISMS[mechanism])), "count"]
    for name in names:
        if "." not in name and not any(stands_for(name, one) for one in known):
            raise no_such("parameter", name, known)


def _shown(value: Value) -> str:
    """All digits, because a rounded value may miss the target."""
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
    return with_guarantee(lines, found.guarantee, found.notes, width)


def _run(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    parameter: str | tuple[str, ...] | dict[str, float] | None,
    output_format: str,
    **question: Any,
) -> None:
    attacks = {name: question.pop(name) for name in _OF_ATTACKS}
    of_attacks = any(attacks[name] is not None for name in _OF_ATTACKS)
    _check_question(question, attacks if of_attacks else {})
    if parameter is None:
        parameter = _left_out(source, given)
    event = _event(source, given, searched=parameter, adjacency=adjacency)
    found: Calibration | AttackCalibration
    try:
        if of_attacks:
            tolerance = question["tolerance"]
            rest = {} if tolerance is None else {"tolerance": tolerance}
            found = calibrate_attack(
                event, parameter=parameter, adjacency=adjacency, **attacks, **rest
            )
        else:
            found = find(event, parameter=parameter, adjacency=adjacency, **question)
    except CalibrationError as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None
    if output_format == "json":
        click.echo(as_json(found.as_dict()))
        return
    lines = _lines(found) if isinstance(found, Calibration) else _attack_lines(found)
    click.echo("\n".join(printable(line) for line in lines))


def _check_question(question: dict[str, Any], attacks: dict[str, Any]) -> None:
    """Either an epsilon and a delta, or a target of attacks, which neither goes with."""
    for name in ("target_epsilon", "delta"):
        if not attacks and question[name] is None:
            raise click.UsageError(f"Missing option '--{dashed(name)}'.")
    others = ("target_epsilon", "delta", "conversion", "prefer")
    mixed = [name for name in others if attacks and question[name] is not None]
    if mixed:
        named = [f"--{dashed(name)}" for name, value in attacks.items() if value is not None]
        raise click.UsageError(
            f"Expected {named[0]} without --{dashed(mixed[0])}: an attack has neither."
            if mixed[0] in others[:2]
            else f"Expected {named[0]} without --{dashed(mixed[0])}."
        )


def _attack_lines(found: AttackCalibration) -> list[str]:
    width = max(10, *(len(path) for path in found.values))

    def listed(values: Mapping[str, Value]) -> str:
        return ", ".join(f"{path} = {_shown(value)}" for path, value in values.items())

    rows = [
        *((path, _shown(value)) for path, value in found.values.items()),
        ("target", f"{found.measure} <= {found.target:g}"),
        ("proven", f"{found.measure} <= {rounded_up(found.reached)}"),
        ("misses", listed(found.misses or {}) or "none in the range"),
        ("adjacency", found.adjacency.dashed),
        *(("assumes", text) for text in found.assumptions),
    ]
    return [f"{name:{width}} {text}" for name, text in rows]


def _optional(option: click.Option) -> click.Option:
    """An option that may be left out where a target of attacks is given."""
    option.required = False
    return option


def _attack_options() -> list[click.Option]:
    texts = {
        "target_advantage": "In place of an epsilon: the largest advantage of an attack, its true "
        "minus its false positive rate, in (0, 1).",
        "target_tpr": "In place of an epsilon: the largest true positive rate of an attack at the "
        "false positive rate --at-fpr.",
        "at_fpr": "The false positive rate of --target-tpr, for example 0.01.",
        "target_mu": "In place of an epsilon: the largest mu of Gaussian differential privacy.",
        "smallest_delta": "The smallest delta for which --target-mu is to hold.  [default: 1e-10]",
    }
    return [
        click.Option([f"--{dashed(name)}"], type=NUMBER, help=texts[name]) for name in _OF_ATTACKS
    ]


def _shared_options() -> list[click.Option]:
    return [
        adjacency_option(),
        click.Option(
            ["--parameter"],
            multiple=True,
            callback=_parameters,
            shell_complete=names_of(parameters_of_event),
            metavar="NAME",
            help="What to choose: a parameter's name, or its path (event.noise_std, "
            "events[0].count). NAME,NAME keeps the ratio of the values given, and "
            "NAME=1,NAME=2 states one. A value need not be given for it.  [default: the one that "
            "is left out]",
        ),
        _optional(target_epsilon_option()),
        _optional(delta_option()),
        *_attack_options(),
        click.Option(
            ["--bound"],
            shell_complete=names_of(bounds_of_event),
            default="best",
            show_default=True,
            help="The theorem to use. best: the one that needs the least noise. best-rdp: Renyi "
            "divergences alone, which is faster. Or the id of an upper or a published bound.",
        ),
        conversion_option(),
        click.Option(
            ["--tolerance"],
            type=NUMBER,
            help="For parameters that are no integers, how close the answer is to a value that "
            "misses the target, relative to its size.  [default: 1e-6, and 1e-4 by loss "
            "distributions]",
        ),
        click.Option(
            ["--prefer"],
            type=NameType.of("size", ["smallest", "largest"]),
            help="Which size to choose for a sample whose mean is released, because several may "
            "meet the target.  [default: smallest]",
        ),
        format_choice("text", "json"),
    ]


def _example(event_type: type[Event]) -> list[str]:
    """Options that ask for the first noise of a mechanism, or else for how often it is repeated."""
    names = [p.name for p in parameters_of(event_type) if "noise" in p.name]
    chosen = [f"--parameter {name}" for name in [*names, "count"][:1]]
    return [*chosen, "--target-epsilon 3", example_adjacency(event_type), "--delta 1e-5"]


calibrate = EventCommands(
    name="calibrate",
    mechanisms=WITH_OPTIONS,
    # None of them is required.
    event_options=partial(event_options, required=False),
    counted=True,
    shared_options=_shared_options,
    run=_run,
    refusal=made_of_events,
    help="The value of a parameter that meets a target, with a certificate. EVENT is a mechanism, "
    "or a TOML file that describes one; the parameter that is chosen may be left out.\n\nExit "
    "status: 0 fine, 1 the target is out of reach, 2 bad usage or bad input.",
    example=_example,
)
