"""Options that describe an event, and options that commands about events share."""

from __future__ import annotations

import re
from typing import Any

import click

from rdpkit.adjacency import MEANINGS, Adjacency
from rdpkit.cli.docstrings import plain
from rdpkit.cli.option_types import (
    ADJACENCY,
    INTEGER,
    NUMBER,
    ListType,
    NameType,
    dashed,
    option_name,
)
from rdpkit.events import MECHANISMS, Event, Parameter, parameters_of


def _has_options(event_type: type[Event]) -> bool:
    """Whether options can describe an event; one that is made of other events needs a file."""
    return all(parameter.kind not in ("event", "events") for parameter in parameters_of(event_type))


WITH_OPTIONS = tuple(name for name, event_type in MECHANISMS.items() if _has_options(event_type))
"""The mechanisms that options can describe, as the library spells them."""

MECHANISM = NameType("mechanism", {name: name for name in WITH_OPTIONS})
"""The type of an argument that names one of them."""


def event_options(
    # One that :data:`WITH_OPTIONS` names. What its fields declare becomes the help.
    event_type: type[Event],
    *,
    required: bool = True,  # Whether parameters without a default have to be given
) -> list[click.Option]:
    """An option for every parameter of an event but its adjacency, which every command has."""
    return [_option(parameter, text, required) for parameter, text in with_help(event_type)]


def with_help(event_type: type[Event]) -> list[tuple[Parameter, str]]:
    """Every parameter of an event but its adjacency, with the help of the option for it."""
    found = [one for one in parameters_of(event_type) if one.name != "adjacency"]
    names = re.compile(r"\b(" + "|".join(one.name for one in found) + r")\b")

    def text(parameter: Parameter) -> str:
        words = plain(parameter.text or parameter.describe())
        return names.sub(lambda name: dashed(name[0]), words)

    return [(parameter, text(parameter)) for parameter in found]


def _option(parameter: Parameter, text: str, required: bool) -> click.Option:
    types: dict[str, Any] = {
        "integer": INTEGER,
        "number": NUMBER,
        "integers": ListType(int, one_for_all=parameter.one_for_all),
        "numbers": ListType(float),
        "choice": NameType(parameter.name, {choice: choice for choice in parameter.choices}),
    }
    name = "--" + dashed(option_name(parameter.name))
    if parameter.kind == "flag":
        return click.Option([name, parameter.name], is_flag=True, help=text)
    return click.Option(
        [name, option_name(parameter.name)],
        type=types[parameter.kind],
        required=required and parameter.required,
        help=text,
    )


def adjacency_option() -> click.Option:
    """The option ``--adjacency``."""
    meanings = ". ".join(f"{dashed(one.value)}: {MEANINGS[one]}" for one in Adjacency)
    return click.Option(
        ["--adjacency"],
        type=ADJACENCY,
        required=True,
        help=f"When two data sets are neighbours; there is no default. {meanings}. In short "
        "add-remove and replace.",
    )


def count_option() -> click.Option:
    """The option ``--count``, of every command that is given an event."""
    return click.Option(
        ["--count"],
        type=INTEGER,
        help="How many times the event is released on the same data.  [default: 1]",
    )


def claimed_epsilon_option() -> click.Option:
    """The option ``--claimed-epsilon``: a number whose truth is to be decided."""
    return click.Option(
        ["--claimed-epsilon"],
        metavar="NUMBER",
        help="An epsilon that somebody claims, with the digits that are printed. The answer says "
        "whether it is sound, refuted or unproven; the exit status is 1 if it is refuted.",
    )


def delta_option(*, required: bool = True, pure: bool = True) -> click.Option:
    """The option ``--delta``; ``pure``: whether it may be 0."""
    condition = "in [0, 1), where 0 is pure differential privacy" if pure else "in (0, 1)"
    return click.Option(
        ["--delta"],
        type=NUMBER,
        required=required,
        help=f"The delta of (epsilon, delta)-differential privacy, {condition}; smaller than one "
        "over the number of records, for example 1e-5.",
    )


def target_epsilon_option() -> click.Option:
    """The option ``--target-epsilon``."""
    return click.Option(
        ["--target-epsilon"],
        type=NUMBER,
        required=True,
        help="The largest epsilon that is wanted, in nats, for example 1.0.",
    )


def conversion_option(
    default: str = "By default the tightest, optimal, and for a published bound the one that its "
    "paper uses.",
) -> click.Option:
    """The option ``--conversion``, and which one is taken where it is not given."""
    return click.Option(
        ["--conversion"],
        type=NameType.of("conversion", ["mironov2017", "balle2020", "optimal"]),
        help=f"The theorem that turns Renyi divergences into (epsilon, delta). {default}",
    )
