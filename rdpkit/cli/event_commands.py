"""Commands about one event, named by its mechanism with options, or by a TOML file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import CompletionItem

from rdpkit._validate import did_you_mean
from rdpkit.adjacency import Adjacency
from rdpkit.cli.docstrings import Description, described, example_values
from rdpkit.cli.event_options import count_option
from rdpkit.cli.option_types import completions, dashed, option_name, parameter_name
from rdpkit.cli.output import TO_FILE, to_file, to_file_choice
from rdpkit.events import MECHANISMS, Event, Repeated, event_from_parameters
from rdpkit.formats.tables import mechanism_name, read_event

Options = Callable[[], list[click.Option]]
COUNT = "count"


# What others call our options. They are suggested and never taken, because units may differ.
_OTHER_NAMES = {
    "sigma": ("noise-std", "noise-multiplier", "feature-noise"),
    "noise": ("noise-std", "noise-multiplier", "feature-noise"),
    "noise-multiplier": ("noise-std",),
    "noise-std": ("noise-multiplier", "feature-noise"),
    "scale": ("noise-std", "noise-multiplier"),
    "q": ("sampling-probability",),
    "sample-rate": ("sampling-probability",),
    "sampling-rate": ("sampling-probability",),
    "steps": ("count",),
    "iterations": ("count",),
    "compositions": ("count",),
    "repeat": ("count",),
    "sensitivity": ("record-norm", "clip-norm"),
    "max-grad-norm": ("record-norm", "clip-norm"),
    "l2-norm-clip": ("record-norm", "clip-norm"),
    "n": ("dataset-size", "population-size", "records"),
    "neighbors": ("adjacency",),
    "neighbours": ("adjacency",),
    "neighboring-relation": ("adjacency",),
    "eps": ("epsilon", "target-epsilon"),
    "claim": ("claimed-epsilon",),
    "batch": ("batch-size",),
    "lot-size": ("batch-size",),
    "dataset": ("dataset-size",),
    "data-size": ("dataset-size",),
    "examples": ("dataset-size",),
    "target": ("target-epsilon",),
}


class EventCommand(click.Command):
    """A command about one event, which knows what others call its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click; an option that is not known may have another name here."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = {name for option in self.params for name in option.opts}
            others = _OTHER_NAMES.get(dashed(error.option_name.lstrip("-")), ())
            found = [f"--{name}" for name in others if f"--{name}" in known]
            if not found:
                raise
            name = error.option_name
            message = f"No such option {name!r}. Did you mean {' or '.join(map(repr, found))}?"
            raise click.NoSuchOption(name, message, ctx=ctx) from None


class EventCommands(click.Group):
    """A command whose subcommands are mechanisms, and any TOML file that describes an event."""

    def __init__(
        self,
        *,
        mechanisms: Collection[str],  # Those that options can describe, as the library spells them
        # The options that describe the event of a mechanism.
        event_options: Callable[[type[Event]], list[click.Option]],
        shared_options: Options,  # Options of every subcommand
        # ``run(source, given, **values)``: ``source`` is a mechanism as the library spells it, or
        # the name of a file, ``given`` are the parameters of the event that options gave, and
        # ``values`` are the shared options and those of files.
        run: Callable[..., None],
        refusal: Callable[[str], str],  # What to say about a mechanism that options cannot describe
        # Whether the event may be repeated, by ``--count``. What it says is then in ``given``, and
        # :func:`event_of` makes of it a :class:`rdpkit.Repeated`.
        counted: bool = False,
        file_options: Options = list,  # Options that only files have
        # Options, one an item, that complete the example in the docstring of an event.
        example: Callable[[type[Event]], list[str]],
        # As ``others`` of :func:`rdpkit.cli.output.to_file`.
        files: Mapping[str, str] = MappingProxyType({}),
        **rest: Any,
    ) -> None:
        super().__init__(subcommand_metavar="EVENT [OPTIONS]", **rest)
        self._mechanisms = mechanisms
        self._event_options = event_options
        self._counted = counted
        self._file_options = file_options
        self._shared_options = shared_options
        self._run = run
        self._refusal = refusal
        self._example = example
        self._files = files

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Mechanisms that options can describe."""
        return [dashed(name) for name in self._mechanisms]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a mechanism or a file."""
        if cmd_name.endswith(".toml"):
            options = [*self._file_options(), *self._shared_options()]
            text = f"The event that {cmd_name} describes."
            return self._command(cmd_name, self._with_count([]), options, text)
        name = mechanism_name(cmd_name)
        if name not in MECHANISMS:
            return None
        if name not in self._mechanisms:
            if ctx.resilient_parsing:
                return None
            raise click.UsageError(self._refusal(name))
        own = self._with_count(self._event_options(MECHANISMS[name]))
        description = described(MECHANISMS[name])
        text = "\n\n".join(description.paragraphs) + self._example_of(name, description, ctx)
        return self._command(name, own, self._shared_options(), text, description.summary)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, with an error that lists the mechanisms and suggests the nearest."""
        if args and mechanism_name(args[0]) in MECHANISMS:
            args = [dashed(args[0]), *args[1:]]
        elif ctx.resilient_parsing or not args or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        elif self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            raise click.UsageError(
                f"Expected EVENT to be a TOML file or one of {', '.join(known)}, "
                f"got {args[0]!r}.{did_you_mean(dashed(args[0]), known)}"
            )
        return super().resolve_command(ctx, args)

    def _with_count(self, options: list[click.Option]) -> list[click.Option]:
        named = any(option.name == COUNT for option in options)
        return options if named or not self._counted else [*options, count_option()]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Mechanisms, and files and folders whose names begin so."""
        known = [dashed(name) for name in self._mechanisms]
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [*completions(known, dashed(incomplete)), CompletionItem(incomplete, type="file")]

    def _command(
        self,
        source: str,
        own: list[click.Option],
        shared: list[click.Option],
        text: str,
        summary: str = "",
    ) -> click.Command:
        names = {option.name for option in own}

        def callback(**values: Any) -> None:
            given = {key: values.pop(key) for key in list(values) if key in names}
            given = {parameter_name(k): value for k, value in given.items() if value is not None}
            self._run(source, given, **values)

        if not any(option.name in ("output", TO_FILE) for option in shared):
            callback = to_file(callback, self._files)
            shared = [*shared, to_file_choice()]

        return EventCommand(
            dashed(source) if source in MECHANISMS else source,
            callback=callback,
            params=[*own, *shared],
            help=text,
            short_help=summary or text,
        )

    def _example_of(self, name: str, description: Description, ctx: click.Context) -> str:
        """A command line made of the example in the docstring; empty if there is none."""
        values = example_values(description, MECHANISMS[name].__name__)
        if values is None:
            return ""
        words = [f"{ctx.command_path} {dashed(name)}"]
        for key, value in values.items():
            shown = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            if value is True:
                words.append(f"--{dashed(key)}")
            elif value is not False and value is not None and key != "adjacency":
                words.append(f"--{dashed(option_name(key))} {shlex.quote(shown)}")
        lines, width = [""], 72
        for word in [*words, *self._example(MECHANISMS[name])]:
            if len(lines[-1]) + len(word) > width:
                lines[-1] += " \\"
                lines.append("   ")
            lines[-1] += f" {word}" if lines[-1] else word
        return "\n\nExample:\n\n\b\n" + "\n".join(lines)


def example_adjacency(event_type: type[Event]) -> str:
    """An option with a neighbouring relation that an event is described under."""
    known = event_type.adjacencies
    chosen = Adjacency.REPLACE_ONE if Adjacency.REPLACE_ONE in known else known[0]
    return f"--adjacency {dashed(chosen.value)}"


def event_of(
    source: str,  # A mechanism as the library spells it, or the name of a file
    # The parameters of the event that options gave, and perhaps ``count``.
    given: Mapping[str, Any],
    adjacency: str,  # The neighbouring relation, which is a parameter of a few mechanisms
) -> Event:
    """The event that a mechanism and its options, or a file, describe, as often as they say."""
    if source not in MECHANISMS:
        return repeated(read_event(source), given.get(COUNT))
    own = COUNT in MECHANISMS[source].__dataclass_fields__
    parameters = {name: value for name, value in given.items() if own or name != COUNT}
    event = event_from_parameters(source, with_adjacency(source, parameters, adjacency))
    return event if own else repeated(event, given.get(COUNT))


def repeated(event: Event, count: int | None) -> Event:
    """The event as often as ``--count`` says; without it once, as it is."""
    return event if count is None else Repeated(event=event, count=count)


def with_adjacency(mechanism: str, given: Mapping[str, Any], adjacency: str) -> dict[str, Any]:
    """The parameters of an event; a few mechanisms have the adjacency among them."""
    if "adjacency" in MECHANISMS[mechanism].__dataclass_fields__:
        return {**given, "adjacency": adjacency}
    return dict(given)


def made_of_events(name: str) -> str:
    """What to say about a mechanism that is made of other events."""
    return (
        f"{dashed(name)} is made of other events: describe it in a TOML file and name the file "
        "instead."
    )
