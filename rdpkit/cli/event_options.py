"""Options that describe an event, and options that commands about events share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rdpkit._validate import did_you_mean
from rdpkit.adjacency import Adjacency
from rdpkit.cli.docstrings import described
from rdpkit.events import MECHANISMS, Event, Parameter, parameters_of

# Only recent versions of click know that this class is generic.
if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType


def dashed(name: str) -> str:
    """A name as the command line spells it; underscores are accepted as well."""
    return name.replace("_", "-")


class NameType(_Type):
    """One of a few names, with dashes or underscores.

    Parameters
    ----------
    kind : str
        What is named, for the help.
    known : dict of str to str
        The library's spelling of each name that is accepted.
    shown : int, optional
        How many of the names the help shows; by default all.
    """

    def __init__(self, kind: str, known: dict[str, str], shown: int | None = None) -> None:
        self.name = kind
        self._known = {dashed(name): value for name, value in known.items()}
        self._shown = list(self._known)[:shown]

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The names."""
        return "[" + "|".join(self._shown) + "]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as the library spells it."""
        text = dashed(str(value).strip())
        if text not in self._known:
            hint = did_you_mean(text, self._known)
            self.fail(f"{value!r} is not one of {', '.join(self._known)}.{hint}", param, ctx)
        return self._known[text]


class ListType(_Type):
    """Numbers with commas between them.

    Parameters
    ----------
    read : callable
        Reads one item: int or float.
    one_for_all : bool
        Whether a single number may stand for a list of equal ones.
    """

    def __init__(self, read: Callable[[str], float], *, one_for_all: bool = False) -> None:
        self._read = read
        self._one_for_all = one_for_all
        self.name = "N,N,..." if read is int else "X,X,..."

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """What a list looks like."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The numbers, or the one number for all."""
        if not isinstance(value, str):
            return value
        try:
            found = [self._read(item) for item in value.split(",")]
        except ValueError:
            like = "integers like 10,20,30" if self._read is int else "numbers like 1.5,2,4"
            self.fail(f"{value!r} is not a list of {like}", param, ctx)
        return found[0] if self._one_for_all and len(found) == 1 else found


ADJACENCY = NameType(
    "adjacency",
    {
        **{member.value: member.value for member in Adjacency},
        "add_remove": Adjacency.ADD_OR_REMOVE_ONE.value,
        "replace": Adjacency.REPLACE_ONE.value,
    },
    shown=len(Adjacency),
)
"""A neighbouring relation: add-or-remove-one or replace-one, or in short add-remove or replace."""


def _has_options(event_type: type[Event]) -> bool:
    """Whether options can describe an event; one that is made of other events needs a file."""
    return all(parameter.kind not in ("event", "events") for parameter in parameters_of(event_type))


WITH_OPTIONS = tuple(name for name, event_type in MECHANISMS.items() if _has_options(event_type))
"""The mechanisms that options can describe, as the library spells them."""

MECHANISM = NameType("mechanism", {name: name for name in WITH_OPTIONS})
"""The type of an argument that names one of them."""


def event_options(event_type: type[Event], *, required: bool = True) -> list[click.Option]:
    """An option for every parameter of an event but its adjacency, which every command has.

    Parameters
    ----------
    event_type : type of Event
        One that :data:`WITH_OPTIONS` names. Its docstring becomes the help.
    required : bool
        Whether parameters without a default have to be given.
    """
    texts = described(event_type).parameters
    return [
        _option(parameter, texts.get(parameter.name, ""), required)
        for parameter in parameters_of(event_type)
        if parameter.name != "adjacency"
    ]


def _option(parameter: Parameter, text: str, required: bool) -> click.Option:
    text = text or f"{parameter.describe()[:1].upper()}{parameter.describe()[1:]}."
    types: dict[str, Any] = {
        "integer": int,
        "number": float,
        "integers": ListType(int, one_for_all=parameter.one_for_all),
        "numbers": ListType(float),
        "choice": NameType(parameter.name, {choice: choice for choice in parameter.choices}),
    }
    name = "--" + dashed(parameter.name)
    if parameter.kind == "flag":
        return click.Option([name, parameter.name], is_flag=True, help=text)
    return click.Option(
        [name, parameter.name],
        type=types[parameter.kind],
        required=required and parameter.required,
        help=text,
    )


def adjacency_option() -> click.Option:
    """The option ``--adjacency``."""
    return click.Option(
        ["--adjacency"],
        type=ADJACENCY,
        required=True,
        help="When two data sets are neighbours; there is no default. add-or-remove-one: one has "
        "a record more. replace-one: one record differs. In short add-remove and replace.",
    )


def delta_option() -> click.Option:
    """The option ``--delta``."""
    return click.Option(
        ["--delta"],
        type=float,
        required=True,
        help="The delta of (epsilon, delta)-differential privacy, in (0, 1); smaller than one over "
        "the number of records, for example 1e-5.",
    )


def target_epsilon_option() -> click.Option:
    """The option ``--target-epsilon``."""
    return click.Option(
        ["--target-epsilon"],
        type=float,
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
        type=click.Choice(["mironov2017", "balle2020", "optimal"]),
        help=f"The theorem that turns Renyi divergences into (epsilon, delta). {default}",
    )


def format_choice(*formats: str) -> click.Option:
    """The option ``--format`` with some formats; the first is the default."""
    return click.Option(
        ["--format", "output_format"],
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="text for people, " + " or ".join(formats[1:]) + " for programs.",
    )


__all__ = [
    "ADJACENCY",
    "MECHANISM",
    "WITH_OPTIONS",
    "ListType",
    "NameType",
    "adjacency_option",
    "conversion_option",
    "dashed",
    "delta_option",
    "event_options",
    "format_choice",
    "target_epsilon_option",
]
