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
from rdpkit.calibration.search_variable import Value, stands_for
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
from rdpkit.cli.option_types import NUMBER, NameType, dashed, list_of, names_of, parameters_of_event
from rdpkit.cli.output import OUT_OF_REACH, CommandError, answer_options, print_answer, with_options
from rdpkit.cli.progress import work_shown
from rdpkit.events import MECHANISMS, Event, Parameter, parameters_of
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


def _table(source: str, given: Mapping[str, Any], adjacency: str) -> dict[str, Any]:
    """The table of an event, which options or a file describe, perhaps not all of it."""
    if source in MECHANISMS:
        return {"mechanism": source, **with_adjacency(source, given, adjacency)}
    return read_toml(source)


def _event(source: str, table: Mapping[str, Any]) -> Event:
    """The event of a table; the first option that is missing is named."""
    if source not in MECHANISMS:
        return event_in_file(source, table)
    for parameter in parameters_of(MECHANISMS[source]):
        if parameter.required and parameter.name not in table:
            raise click.UsageError(f"Missing option '--{dashed(parameter.name)}'.")
    return event_from_table(table)


def _parameters(
    ctx: click.Context, option: click.Parameter, value: tuple[str, ...]
) -> str | tuple[str, ...] | dict[str, float] | None:
    """One name, several, names with their share of a ratio, or None to find it out."""
    if not value:
        return None
    given = ",".join(value)
    # Options have dashes, so names may be written with them, but not shares: 1e-3.
    parts = (item.partition("=") for item in given.split(","))
    items = [(name.strip().replace("-", "_"), sign, share) for name, sign, share in parts]
    names, signs, shares = zip(*items, strict=True)
    if len(set(signs)) > 1 or not all(map(any, items)):
        raise click.BadParameter(
            f"{given!r} is not NAME, NAME,NAME (in the event's ratio) or NAME=SHARE,NAME=SHARE"
        )
    if "" in signs:
        return names[0] if len(names) == 1 else names
    try:
        return dict(zip(names, map(float, shares), strict=True))
    except ValueError:
        raise click.BadParameter(
            f"{given!r} is not a ratio like feature_noise=1,label_noise=2"
        ) from None


def _calibrated_event(
    source: str, given: dict[str, Any], *, searched: str | Collection[str], adjacency: str
) -> Event:
    """The event, with placeholders for the parameters that are searched for."""
    names = [searched] if isinstance(searched, str) else list(searched)

    def wanted(path: str) -> bool:
        return any(stands_for(name, path) for name in names)

    count = given.pop(COUNT, None)
    if source in MECHANISMS:
        _check_names(source, names)
        count = 1 if count is None and wanted(COUNT) else count
    table = _table(source, given, adjacency)
    # Several names of options ask for the ratio of their values, so none may be left out.
    if source not in MECHANISMS or not isinstance(searched, tuple):
        table = with_placeholders(table, wanted)
    return repeated(_event(source, table), count)


def _left_out(source: str, given: Mapping[str, Any], adjacency: str) -> str:
    """The parameter to choose where none is named: the one that was left out."""
    found: list[str] = []

    def note(path: str) -> bool:
        if not path.endswith("adjacency"):
            found.append(path)
        return False

    with_placeholders(_table(source, given, adjacency), note)
    if len(found) == 1:
        return found[0]
    names = [f"--{dashed(name)}" for name in found] if source in MECHANISMS else found
    left = f"{', '.join(names)} are left out" if found else "all are given"
    raise click.UsageError(
        f"Missing option '--parameter'. Without it, leave out the one that is to be found; {left}."
    )


def _check_names(mechanism: str, names: list[str]) -> None:
    """Say at once that a name is unknown, not that the option of another parameter is missing."""
    known = [*(parameter.name for parameter in parameters_of(MECHANISMS[mechanism])), COUNT]
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
@answer_options("text", "json")
def calibrate(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    parameter: str | tuple[str, ...] | dict[str, float] | None,
    **question: Any,
) -> None:
    """The value of a parameter that meets a target, with a certificate.

    EVENT is a mechanism, or a TOML file that describes one; the parameter that is chosen may be
    left out.

    Exit status: 0 fine, 1 the target is out of reach, 2 bad usage or bad input.
    """
    asked = {name: question.pop(name) for name in _ATTACKS}
    attacks = {name: value for name, value in asked.items() if value is not None}
    _check_question(question, attacks)
    if parameter is None:
        parameter = _left_out(source, given, adjacency)
    event = _calibrated_event(source, given, searched=parameter, adjacency=adjacency)
    found: Calibration | AttackCalibration
    try:
        if attacks:
            if question["tolerance"] is not None:
                attacks["tolerance"] = question["tolerance"]
            found = calibrate_attack(event, parameter=parameter, adjacency=adjacency, **attacks)
        else:
            found = find_value(event, parameter=parameter, adjacency=adjacency, **question)
    except CalibrationError as error:
        raise CommandError(str(error), status=OUT_OF_REACH) from None
    width = max(10, *map(len, found.values))
    print_answer(found.as_dict(), in_columns(_rows(found), width))


def _check_question(question: dict[str, Any], attacks: dict[str, Any]) -> None:
    """Either an epsilon and a delta, or a target of attacks, which neither goes with."""
    needed = ("target_epsilon", "delta")
    for name in (*needed, "bound", "conversion", "prefer"):
        if attacks and question[name] not in (None, "best"):
            why = ": an attack has neither" if name in needed else ""
            one = dashed(next(iter(attacks)))
            raise click.UsageError(f"Expected --{one} without --{dashed(name)}{why}.")
        if not attacks and name in needed and question[name] is None:
            raise click.UsageError(f"Missing option '--{dashed(name)}'.")


_PLANNED = [name for name, kind in MECHANISMS.items() if kind.mixing is not None]


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
    table = _table(source, given, adjacency)
    kind = MECHANISMS.get(mechanism_name(str(table.get("mechanism"))))
    if kind is None:
        return _event(source, table)
    mixing = kind.mixing
    if mixing is None:
        raise ValueError(_refusal(kind.mechanism))
    if releases is None and mixing.releases not in table:
        choice = "" if mixing.releases == "releases" else f" or '--{dashed(mixing.releases)}'"
        raise click.UsageError(f"Missing option '--releases'{choice}.")
    chosen = (mixing.mixed, mixing.releases, mixing.noise, mixing.label_noise)
    return _event(source, with_placeholders(table, lambda path: path in chosen))


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
    type=list_of(int),
    help="Numbers of records in a release to try.  [default: a search for the best]",
)
@click.option(
    "--releases",
    type=list_of(int),
    help="Numbers of releases to try; where every class has its own, for each class.  "
    "[default: the event's own]",
)
@click.option(
    "--label-shares",
    type=list_of(float),
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
@answer_options("text", "json", "csv")
def plan(
    source: str,
    given: dict[str, Any],
    *,
    adjacency: str,
    releases: list[int] | None,
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
    print_answer(found.as_dict(), _plan_lines(found), csv=found.as_csv)
