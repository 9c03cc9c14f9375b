"""``rdpkit epsilon``, ``rdpkit delta`` and ``rdpkit compare``: questions about one event.

The event is named by its mechanism, with its parameters as options, or by a TOML file whose
top-level keys are ``mechanism`` and its parameters (nested events are tables).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from rdpkit import analysis
from rdpkit.adjacency import Adjacency
from rdpkit.cli.output import (
    as_json,
    guarantee_lines,
    one_line_errors,
    rounded_up,
)
from rdpkit.events import MECHANISMS, Event, Parameter, event_from_parameters, parameters_of
from rdpkit.guarantee import Guarantee

Answer = Callable[..., None]


def event_from_file(path: str | Path) -> Event:
    """Read an event from a TOML file.

    Raises
    ------
    ValueError
        If the file is not TOML, or does not describe an event; the message names the file.
    OSError
        If the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except (ValueError, RecursionError) as error:  # beyond TOML's own: bytes, too many digits
        raise ValueError(f"{path}: not a TOML file: {error}") from None
    mechanism = content.pop("mechanism", None)
    if not isinstance(mechanism, str):
        raise ValueError(
            f"{path}: expected a key 'mechanism', one of " + ", ".join(sorted(MECHANISMS)) + "."
        )
    try:
        return event_from_parameters(mechanism, content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _integer_list(ctx: click.Context, option: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    try:
        found = [int(item) for item in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of integers like 10,20,30") from None
    return found


def _integer_or_list(ctx: click.Context, option: click.Parameter, value: str | None) -> Any:
    """One integer for all classes, or one for each."""
    found = _integer_list(ctx, option, value)
    return found[0] if found is not None and len(found) == 1 else found


def _number_list(ctx: click.Context, option: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    try:
        return [float(item) for item in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers like 1.5,2,4") from None


def _option(parameter: Parameter) -> click.Option | None:
    """The option for one parameter; None for nested events, which need a file."""
    name = "--" + parameter.name.replace("_", "-")
    common: dict[str, Any] = {"required": parameter.required, "help": parameter.describe()}
    match parameter.kind:
        case "integer":
            return click.Option([name], type=int, **common)
        case "number":
            return click.Option([name], type=float, **common)
        case "integers":
            read = _integer_or_list if parameter.one_for_all else _integer_list
            return click.Option([name], callback=read, metavar="N,N,...", **common)
        case "numbers":
            return click.Option([name], callback=_number_list, metavar="X,X,...", **common)
        case "choice":
            return click.Option([name], type=click.Choice(parameter.choices), **common)
        case "flag":
            return click.Option([name], is_flag=True, help=parameter.describe())
        case _:
            return None


def _options(event_type: type[Event]) -> list[click.Option] | None:
    found = [_option(parameter) for parameter in parameters_of(event_type)]
    options = [option for option in found if option is not None]
    return options if len(options) == len(found) else None


class _AboutAnEvent(click.Group):
    """A command whose subcommands are the mechanisms, and any TOML file."""

    def __init__(self, *, answer: Answer, extra: list[click.Option], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._answer = answer
        self._extra = extra

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Mechanisms that options can describe."""
        return [name for name, kind in MECHANISMS.items() if _options(kind) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a mechanism or a file."""
        if cmd_name in MECHANISMS:
            options = _options(MECHANISMS[cmd_name])
            if options is None:
                raise click.UsageError(
                    f"{cmd_name} is made of other events: describe it in a TOML file and name "
                    "the file instead."
                )
            return self._command(
                cmd_name, options, _shared(self._extra, "adjacency" in {o.name for o in options})
            )
        if cmd_name.endswith(".toml"):
            return self._command(cmd_name, [], _shared(self._extra, taken=False))
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, with an error that lists the mechanisms."""
        if args and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                f"Expected EVENT to be a TOML file or one of {', '.join(self.list_commands(ctx))}, "
                f"got {args[0]!r}."
            )
        return super().resolve_command(ctx, args)

    def _command(
        self, name: str, options: list[click.Option], shared: list[click.Option]
    ) -> click.Command:
        own = {option.name for option in options}

        @one_line_errors
        def callback(**values: Any) -> None:
            given = {
                key: values.pop(key) for key in list(values) if key in own and key != "adjacency"
            }
            if "adjacency" in own:
                given["adjacency"] = values["adjacency"]
            parameters = {key: value for key, value in given.items() if value is not None}
            event = (
                event_from_parameters(name, parameters)
                if name in MECHANISMS
                else event_from_file(name)
            )
            self._answer(event, **values)

        return click.Command(
            name,
            callback=callback,
            params=[*options, *shared],
            help=f"The event {name}." if name in MECHANISMS else f"The event in {name}.",
        )


def _shared(extra: list[click.Option], taken: bool) -> list[click.Option]:
    adjacency = click.Option(
        ["--adjacency"],
        type=click.Choice([member.value for member in Adjacency]),
        required=True,
        help="The neighbouring relation; there is no default.",
    )
    text = click.Option(
        ["--format", "output_format"],
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="text for people, json for programs.",
    )
    return [*([] if taken else [adjacency]), *extra, text]


def _delta_option() -> click.Option:
    return click.Option(["--delta"], type=float, required=True, help="In (0, 1).")


def _bound_option() -> click.Option:
    return click.Option(
        ["--bound"],
        default=analysis.BEST,
        show_default=True,
        help="Id of a bound, or best: the smallest sound upper bound.",
    )


def _conversion_option() -> click.Option:
    return click.Option(
        ["--conversion"],
        type=click.Choice(["mironov2017", "balle2020", "optimal"]),
        help="From RDP to (epsilon, delta); by default optimal, and the paper's own for a "
        "published bound.",
    )


def _print(guarantee: Guarantee, output_format: str) -> None:
    if output_format == "json":
        click.echo(as_json(guarantee.as_dict()))
    else:
        click.echo("\n".join(guarantee_lines(guarantee)))


def _answer_epsilon(
    event: Event,
    *,
    adjacency: str,
    delta: float,
    bound: str,
    conversion: str | None,
    output_format: str,
) -> None:
    _print(
        analysis.epsilon(
            event, delta=delta, adjacency=adjacency, bound=bound, conversion=conversion
        ),
        output_format,
    )


def _answer_delta(
    event: Event,
    *,
    adjacency: str,
    epsilon: float,
    bound: str,
    conversion: str | None,
    output_format: str,
) -> None:
    _print(
        analysis.delta(
            event, epsilon=epsilon, adjacency=adjacency, bound=bound, conversion=conversion
        ),
        output_format,
    )


def _answer_compare(event: Event, *, adjacency: str, delta: float, output_format: str) -> None:
    found = analysis.compare(event, delta=delta, adjacency=adjacency)
    if output_format == "json":
        click.echo(as_json({"bounds": [g.as_dict() for g in found]}))
        return
    table = Table(title=f"epsilon at delta = {delta:g}, {adjacency}", title_justify="left")
    for heading in ("bound", "kind", "epsilon", "order", "conversion"):
        table.add_column(heading, justify="right" if heading in ("epsilon", "order") else "left")
    for g in found:
        table.add_row(
            g.bound,
            g.kind.value,
            rounded_up(g.epsilon),
            "" if g.order is None else f"{g.order:.5g}",
            g.conversion or "",
        )
    console = Console()
    console.print(table)
    for text in dict.fromkeys(text for g in found for text in g.assumptions):
        console.print(f"assumes: {text}", markup=False, highlight=False)


_METAVAR = "EVENT [OPTIONS]"

epsilon = _AboutAnEvent(
    name="epsilon",
    answer=_answer_epsilon,
    extra=[_delta_option(), _bound_option(), _conversion_option()],
    help="Epsilon at a delta. EVENT is a mechanism, or a TOML file that describes one.",
    subcommand_metavar=_METAVAR,
)

delta = _AboutAnEvent(
    name="delta",
    answer=_answer_delta,
    extra=[
        click.Option(["--epsilon"], type=float, required=True, help="At least 0."),
        _bound_option(),
        _conversion_option(),
    ],
    help="Delta at an epsilon. EVENT is a mechanism, or a TOML file that describes one.",
    subcommand_metavar=_METAVAR,
)

compare = _AboutAnEvent(
    name="compare",
    answer=_answer_compare,
    extra=[_delta_option()],
    help="Every bound side by side. EVENT is a mechanism, or a TOML file that describes one.",
    subcommand_metavar=_METAVAR,
)
