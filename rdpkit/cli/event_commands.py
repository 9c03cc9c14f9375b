"""Commands about one event: by its mechanism, with options, or by a TOML file that describes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rdpkit.adjacency import Adjacency
from rdpkit.cli.output import one_line_errors
from rdpkit.events import MECHANISMS, Event, Parameter, event_from_parameters, parameters_of
from rdpkit.tables import read_event

Answer = Callable[..., None]


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


def options_of(event_type: type[Event]) -> list[click.Option] | None:
    """An option for every parameter; None if some of them are events."""
    found = [_option(parameter) for parameter in parameters_of(event_type)]
    options = [option for option in found if option is not None]
    return options if len(options) == len(found) else None


class AboutAnEvent(click.Group):
    """A command whose subcommands are the mechanisms, and any TOML file.

    Parameters
    ----------
    answer : callable
        Called with the event and the other options.
    extra : list of click.Option
        Options beside the event's own and ``--adjacency``.
    formats : tuple of str
        What ``--format`` accepts.
    """

    def __init__(
        self,
        *,
        answer: Answer,
        extra: list[click.Option],
        formats: tuple[str, ...] = ("text", "json"),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._answer = answer
        self._extra = extra
        self._formats = formats

    def options_of(self, name: str) -> list[click.Option] | None:
        """The options for a mechanism; None if it needs a file."""
        return options_of(MECHANISMS[name])

    def without_options(self, name: str) -> str:
        """What to say about a mechanism that options cannot describe."""
        return (
            f"{name} is made of other events: describe it in a TOML file and name the file instead."
        )

    def event(self, name: str, given: dict[str, Any], values: dict[str, Any]) -> Event:
        """The event that a mechanism's options, or a file, describe; ``values`` are the others."""
        return event_from_parameters(name, given) if name in MECHANISMS else read_event(name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Mechanisms that options can describe."""
        return [name for name in MECHANISMS if self.options_of(name) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a mechanism or a file."""
        if cmd_name in MECHANISMS:
            options = self.options_of(cmd_name)
            if options is None:
                raise click.UsageError(self.without_options(cmd_name))
            return self._command(
                cmd_name, options, self._shared("adjacency" in {o.name for o in options})
            )
        if cmd_name.endswith(".toml"):
            return self._command(cmd_name, [], self._shared(taken=False))
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
            self._answer(self.event(name, parameters, values), **values)

        return click.Command(
            name,
            callback=callback,
            params=[*options, *shared],
            help=f"The event {name}." if name in MECHANISMS else f"The event in {name}.",
        )

    def _shared(self, taken: bool) -> list[click.Option]:
        adjacency = click.Option(
            ["--adjacency"],
            type=click.Choice([member.value for member in Adjacency]),
            required=True,
            help="The neighbouring relation; there is no default.",
        )
        form = click.Option(
            ["--format", "output_format"],
            type=click.Choice(self._formats),
            default="text",
            show_default=True,
            help="text for people, " + " or ".join(self._formats[1:]) + " for programs.",
        )
        return [*([] if taken else [adjacency]), *self._extra, form]


def delta_option() -> click.Option:
    """The option ``--delta``."""
    return click.Option(["--delta"], type=float, required=True, help="In (0, 1).")


def conversion_option() -> click.Option:
    """The option ``--conversion``."""
    return click.Option(
        ["--conversion"],
        type=click.Choice(["mironov2017", "balle2020", "optimal"]),
        help="From RDP to (epsilon, delta); by default optimal, and the paper's own for a "
        "published bound.",
    )


METAVAR = "EVENT [OPTIONS]"
"""How a command's subcommands are shown in its help."""
