"""How much noise it takes: rdpkit calibrate and rdpkit plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import click

from rdpkit import _validate
from rdpkit._validate import no_such
from rdpkit.calibration import (
    AttackCalibration,
    Calibration,
    CalibrationError,
    UnreachableTargetError,
    calibrate_attack,
)
from rdpkit.calibration import calibrate as find_value
from rdpkit.calibration.parameters import Value, stands_for
from rdpkit.cli.event_commands import (
    COUNT,
    about_one_event,
    adjacency_option,
    bound_option,
    conversion_option,
    delta_option,
    event_options,
    example_adjacency,
    repeated,
    target_epsilon_option,
    with_adjacency,
)
from rdpkit.cli.option_types import (
    NUMBER,
    ListType,
    NameType,
    dashed,
    names_of,
    parameters_of_event,
)
from rdpkit.cli.output import (
    OUT_OF_REACH,
    CommandError,
    format_choice,
    format_option,
    print_answer,
    to_file_option,
    with_options,
)
from rdpkit.cli.progress import work_shown
from rdpkit.events import MECHANISMS, Event, Parameter, parameters_of
from rdpkit.events.mixing import Mixing
from rdpkit.formats.screen import aligned
from rdpkit.formats.tables import event_from_table, event_in_file, mechanism_name, read_toml
from rdpkit.formats.text import guarantee_rows, in_columns, rounded_down, rounded_up
from rdpkit.planning import OBJECTIVES, Plan
from rdpkit.planning import plan as find_plan

Wanted = Callable[[str], bool]
"""Whether the parameter at a path is searched for."""

# Values of a usual size that events accept whatever their other parameters are.
_FITTING: Mapping[str, Any] = {
    "sampling_probability": 0.5,
    "min_eigenvalue": 0.5,
    "population_size": _validate.LARGEST_INTEGER,
    "records": 10**6,
}
_FITTING_KIND: Mapping[str, Any] = {"number": 1.0, "integer": 1}


def with_placeholders(
    # As in a TOML file: ``mechanism`` and its parameters, where events are tables themselves.
    # Mistakes in it are kept; whoever builds the event reports them.
    table: Mapping[str, Any],
    wanted: Wanted,  # Which parameters are searched for
    prefix: str = "",  # The path of the table
) -> dict[str, Any]:
    """The table of an event, with a value in every place that is searched for and left empty."""
    result = dict(table)
    kind = MECHANISMS.get(mechanism_name(str(table.get("mechanism"))))
    if kind is None:
        return result
    for parameter in parameters_of(kind):
        path = prefix + parameter.name
        inner = table.get(parameter.name)
        if parameter.kind == "event" and isinstance(inner, Mapping):
            result[parameter.name] = with_placeholders(inner, wanted, f"{path}.")
        elif parameter.kind == "events" and isinstance(inner, list):
            result[parameter.name] = [
                with_placeholders(part, wanted, f"{path}[{i}].")
                if isinstance(part, Mapping)
                else part
                for i, part in enumerate(inner)
            ]
        elif inner is None and parameter.required and wanted(path):
            value = _fitting(parameter, table)
            if value is not None:
                result[parameter.name] = value
    return result


def _fitting(parameter: Parameter, table: Mapping[str, Any]) -> Any:
    if parameter.name == "record_norm":
        # A diameter that is given must not exceed twice the norm.
        diameter = table.get("record_diameter")
        return max(1.0, diameter) if isinstance(diameter, (int, float)) else 1.0
    if parameter.kind == "integers":
        return 1 if parameter.one_for_all else None
    return _FITTING.get(parameter.name, _FITTING_KIND.get(parameter.kind))


def check_nothing_missing(mechanism: str, given: Mapping[str, Any]) -> None:
    """Check that options gave everything that a mechanism requires.

    Raises click.UsageError if not; the message names the first option that is missing.
    """
    for parameter in parameters_of(MECHANISMS[mechanism]):
        if parameter.required and parameter.name not in given:
            raise click.UsageError(f"Missing option '--{parameter.name.replace('_', '-')}'.")


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


def _calibrated_event(
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


def _rows(found: Calibration | AttackCalibration) -> list[tuple[str, str]]:
    """What was found in words, each with the name of what it says."""
    rows = [(path, _shown(value)) for path, value in found.values.items()]
    near = ", ".join(f"{path} = {_shown(value)}" for path, value in (found.misses or {}).items())
    misses = ("misses", near or "none in the range")
    if isinstance(found, Calibration):
        left = rounded_down(found.slack, 2)
        return [
            *rows,
            ("target", f"{found.target_epsilon:g}, of which {left} is left"),
            misses,
            ("certified", "yes" if found.certified else "no"),
            *guarantee_rows(found.guarantee),
            *(("note", text) for text in found.notes),
        ]
    return [
        *rows,
        ("target", f"{found.measure} <= {found.target:g}"),
        ("proven", f"{found.measure} <= {rounded_up(found.reached)}"),
        misses,
        ("adjacency", found.adjacency.dashed),
        *(("assumes", text) for text in found.assumptions),
    ]


_ATTACKS = {
    "target_advantage": "In place of an epsilon: the largest advantage of an attack, its true "
    "minus its false positive rate, in (0, 1).",
    "target_tpr": "In place of an epsilon: the largest true positive rate of an attack at the "
    "false positive rate --at-fpr.",
    "at_fpr": "The false positive rate of --target-tpr, for example 0.01.",
    "target_mu": "In place of an epsilon: the largest mu of Gaussian differential privacy.",
    "smallest_delta": "The smallest delta for which --target-mu is to hold.  [default: 1e-10]",
}
_attack_options = with_options(
    *(click.option(f"--{dashed(name)}", type=NUMBER, help=text) for name, text in _ATTACKS.items())
)


def _example(event_type: type[Event]) -> list[str]:
    """Options that ask for the first noise of a mechanism, or else for how often it is repeated."""
    names = [p.name for p in parameters_of(event_type) if "noise" in p.name]
    chosen = [f"--parameter {name}" for name in [*names, "count"][:1]]
    return [*chosen, "--target-epsilon 3", example_adjacency(event_type), "--delta 1e-5"]


# None of the options of an event is required.
@about_one_event(event_options=partial(event_options, required=False), example=_example)
@adjacency_option
@click.option(
    "--parameter",
    multiple=True,
    callback=_parameters,
    shell_complete=names_of(parameters_of_event),
    metavar="NAME",
    help="What to choose: a parameter's name, or its path (event.noise_std, "
    "events[0].count). NAME,NAME keeps the ratio of the values given, and "
    "NAME=1,NAME=2 states one. A value need not be given for it.  [default: the one that "
    "is left out]",
)
@target_epsilon_option(required=False)
@delta_option(required=False)
@_attack_options
@bound_option(
    "The theorem to use. best: the one that needs the least noise. best-rdp: Renyi "
    "divergences alone, which is faster. Or the id of an upper or a published bound."
)
@conversion_option()
@click.option(
    "--tolerance",
    type=NUMBER,
    help="For parameters that are no integers, how close the answer is to a value that "
    "misses the target, relative to its size.  [default: 1e-6, and 1e-4 by loss "
    "distributions]",
)
@click.option(
    "--prefer",
    type=NameType.of("size", ["smallest", "largest"]),
    help="Which size to choose for a sample whose mean is released, because several may "
    "meet the target.  [default: smallest]",
)
@format_option
@to_file_option
def calibrate(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    parameter: str | tuple[str, ...] | dict[str, float] | None,
    output_format: str,
    **question: Any,
) -> None:
    """The value of a parameter that meets a target, with a certificate.

    EVENT is a mechanism, or a TOML file that describes one; the parameter that is chosen may be
    left out.

    Exit status: 0 fine, 1 the target is out of reach, 2 bad usage or bad input.
    """
    attacks = {name: question.pop(name) for name in _ATTACKS}
    of_attacks = any(attacks[name] is not None for name in _ATTACKS)
    _check_question(question, attacks if of_attacks else {})
    if parameter is None:
        parameter = _left_out(source, given)
    event = _calibrated_event(source, given, searched=parameter, adjacency=adjacency)
    found: Calibration | AttackCalibration
    try:
        if of_attacks:
            tolerance = question["tolerance"]
            rest = {} if tolerance is None else {"tolerance": tolerance}
            found = calibrate_attack(
                event, parameter=parameter, adjacency=adjacency, **attacks, **rest
            )
        else:
            found = find_value(event, parameter=parameter, adjacency=adjacency, **question)
    except CalibrationError as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None
    width = max(10, *map(len, found.values))
    print_answer(output_format, found.as_dict(), in_columns(_rows(found), width))


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


def _planned_event(
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


def _plan_lines(found: Plan) -> list[str]:
    """The plan, and every order of mixture that was tried; a star marks the best."""
    best = found.best
    labels = [] if best.label_noise is None else [("label noise", repr(best.label_noise))]
    about = [
        ("order of mixture", str(best.order_of_mixture)),
        ("releases", str(best.releases)),
        ("noise", repr(best.noise)),
        *labels,
        (found.objective, f"{best.score:.6g} ({OBJECTIVES[found.objective]})"),
        *guarantee_rows(found.guarantee),
        *(("note", text) for text in found.notes),
    ]
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
    return [*in_columns(about, 16), "", *aligned(headings, rows)]


@about_one_event(
    mechanisms=_PLANNED,
    event_options=_options,
    counted=False,
    refusal=_refusal,
    example=lambda event: ["--target-epsilon 1", example_adjacency(event), "--delta 1e-5"],
)
@adjacency_option
@target_epsilon_option()
@delta_option(pure=False)
@click.option(
    "--objective",
    type=NameType.of("objective", OBJECTIVES),
    default="variation",
    show_default=True,
    help="What is maximised: the signal-to-noise ratio of a release, where the signal is "
    "how records differ (variation) or their mean; total-: times the releases.",
)
@click.option(
    "--orders-of-mixture",
    type=ListType(int),
    help="Numbers of records in a release to try.  [default: a search for the best]",
)
@click.option(
    "--releases",
    type=ListType(int),
    help="Numbers of releases to try; where every class has its own, for each class.  "
    "[default: the event's own]",
)
@click.option(
    "--label-shares",
    type=ListType(float),
    help="For dpmix, the parts of the budget to try for labels.  [default: the best for "
    "--label-weight]",
)
@click.option(
    "--label-weight",
    type=NUMBER,
    default=0.5,
    show_default=True,
    help="For dpmix, how much the labels' ratio counts, in (0, 1).",
)
@bound_option("As for rdpkit calibrate.")
@format_choice("text", "json", "csv")
@to_file_option
def plan(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    releases: list[int] | None,
    output_format: str,
    **question: Any,
) -> None:
    """The order of mixture, the number of releases and the noise that are best for a target.

    They give the highest signal-to-noise ratio within a target epsilon, certified. EVENT is a
    mechanism, or a TOML file that describes one; what is chosen may be left out.

    Exit status: 0 fine, 1 the target is out of reach, 2 bad usage or bad input.
    """
    event = _planned_event(source, given, releases=releases, adjacency=adjacency)
    try:
        with work_shown() as work:
            found = find_plan(
                event,
                adjacency=adjacency,
                releases=releases,
                **question,
                progress=lambda done, total: work.show("plan", done, total),
            )
    except UnreachableTargetError as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None
    if output_format == "csv":
        click.echo(found.as_csv(), nl=False)
    else:
        print_answer(output_format, found.as_dict(), _plan_lines(found))
