"""Commands about one event, named by its mechanism with options or by a TOML file; the options."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from rdpkit._validate import did_you_mean
from rdpkit.adjacency import MEANINGS, Adjacency
from rdpkit.cli.option_types import (
    ADJACENCY,
    INTEGER,
    NUMBER,
    NameType,
    UnknownName,
    bounds_of_event,
    completions,
    dashed,
    list_of,
    names_of,
    option_name,
    parameter_name,
)
from rdpkit.events import (
    MECHANISMS,
    Event,
    Parameter,
    Repeated,
    event_from_parameters,
    parameters_of,
)
from rdpkit.formats.tables import mechanism_name, read_event

WITH_OPTIONS = tuple(
    name
    for name, event_type in MECHANISMS.items()
    if all(parameter.kind not in ("event", "events") for parameter in parameters_of(event_type))
)
"""The mechanisms that options can describe; one that is made of other events needs a file."""

MECHANISM = NameType.of("mechanism", WITH_OPTIONS)
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
        "integers": list_of(int, one_for_all=parameter.one_for_all),
        "numbers": list_of(float),
        "choice": NameType.of(parameter.name, parameter.choices),
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


adjacency_option = click.option(
    "--adjacency",
    type=ADJACENCY,
    required=True,
    help="When two data sets are neighbours; there is no default. "
    f"{'. '.join(f'{dashed(one.value)}: {MEANINGS[one]}' for one in Adjacency)}. In short "
    "add-remove and replace.",
)

claimed_epsilon_option = click.option(
    "--claimed-epsilon",
    metavar="NUMBER",
    help="An epsilon that somebody claims, with the digits that are printed. The answer says "
    "whether it is sound, refuted or unproven; the exit status is 1 if it is refuted.",
)


def delta_option(*, required: bool = True, pure: bool = True) -> Callable[..., Any]:
    """The option ``--delta``; ``pure``: whether it may be 0."""
    condition = "in [0, 1), where 0 is pure differential privacy" if pure else "in (0, 1)"
    return click.option(
        "--delta",
        type=NUMBER,
        required=required,
        help=f"The delta of (epsilon, delta)-differential privacy, {condition}; smaller than one "
        "over the number of records, for example 1e-5.",
    )


def bound_option(
    text: str, default: str | None = "best", more: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """The option ``--bound``, and what it says; ``more`` are names that no theorem has."""
    return click.option(
        "--bound",
        shell_complete=names_of(lambda ctx: [*more, *bounds_of_event(ctx)]),
        default=default,
        show_default=default is not None,
        help=text,
    )


def target_epsilon_option(*, required: bool = True) -> Callable[..., Any]:
    """The option ``--target-epsilon``."""
    return click.option(
        "--target-epsilon",
        type=NUMBER,
        required=required,
        help="The largest epsilon that is wanted, in nats, for example 1.0.",
    )


def conversion_option(
    default: str = "By default the tightest, optimal, and for a published bound the one that its "
    "paper uses.",
) -> Callable[..., Any]:
    """The option ``--conversion``, and which one is taken where it is not given."""
    return click.option(
        "--conversion",
        type=NameType.of("conversion", ["mironov2017", "balle2020", "optimal"]),
        help=f"The theorem that turns Renyi divergences into (epsilon, delta). {default}",
    )


_HEADING = re.compile(r"^(\S[^\n]*)\n-{3,}[ ]*$", re.MULTILINE)
_ROLE = re.compile(r":[\w:]+:`~?([^`]*)`")


def described(documented: object) -> tuple[list[str], str]:
    """The paragraphs before the first section of a docstring, and the section of examples."""
    first, *pieces = _HEADING.split(inspect.getdoc(documented) or "")
    sections = dict(zip(pieces[::2], pieces[1::2], strict=True))
    paragraphs = [plain(text) for text in re.split(r"\n\s*\n", first.strip()) if text]
    return paragraphs, sections.get("Examples", "").strip()


def plain(text: str) -> str:
    """Text of a docstring without its markup, in one line."""
    return " ".join(_ROLE.sub(r"\1", text).replace("``", "").split())


def example_values(
    examples: str,  # In the docstring of the class
    # The name of the class. Its arguments are used if all are named and written as literals.
    constructor: str,
) -> dict[str, object] | None:
    """The arguments of the first call of a constructor in the examples; None if there is none."""
    lines = (line[4:] for line in examples.splitlines() if line[:4] in (">>> ", "... "))
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or node.args or not node.keywords:
            continue
        if ast.unparse(node.func).rpartition(".")[2] == constructor:
            with suppress(ValueError):
                return {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    return None


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


_COUNT = click.Option(
    ["--count"],
    type=INTEGER,
    help="How many times the event is released on the same data.  [default: 1]",
)


def made_of_events(name: str) -> str:
    """What to say about a mechanism that is made of other events."""
    return (
        f"{dashed(name)} is made of other events: describe it in a TOML file and name the file "
        "instead."
    )


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
        # ``run(source, given, **values)``: ``source`` is a mechanism as the library spells it, or
        # the name of a file, ``given`` are the parameters of the event that options gave, and
        # ``values`` are the options that it is decorated with, and those of files.
        run: Callable[..., None],
        *,
        # Options, one an item, that complete the example in the docstring of an event.
        example: Callable[[type[Event]], list[str]],
        # Mechanisms that options can describe, as the library spells them, these options, and what
        # to say about another mechanism.
        mechanisms: Collection[str] = WITH_OPTIONS,
        event_options: Callable[[type[Event]], list[click.Option]] = event_options,
        refusal: Callable[[str], str] = made_of_events,
        # Whether the event may be repeated, by ``--count``. What it says is then in ``given``, and
        # :func:`event_of` makes of it a :class:`rdpkit.Repeated`.
        counted: bool = True,
        file_options: Sequence[click.Option] = (),  # Options that only files have
        **rest: Any,
    ) -> None:
        super().__init__(subcommand_metavar="EVENT [OPTIONS]", **rest)
        self._mechanisms = mechanisms
        self._event_options = event_options
        self._counted = counted
        self._file_options = file_options
        # In the order of help; decorators are applied from below.
        self._shared_options = list(reversed(getattr(run, "__click_params__", [])))
        self._run = run
        self._refusal = refusal
        self._example = example

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Mechanisms that options can describe."""
        return [dashed(name) for name in self._mechanisms]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a mechanism or a file."""
        if cmd_name.endswith(".toml"):
            text = f"The event that {cmd_name} describes."
            return self._command(cmd_name, self._with_count([]), self._file_options, text, text)
        name = mechanism_name(cmd_name)
        if name not in MECHANISMS:
            return None
        if name not in self._mechanisms:
            if ctx.resilient_parsing:
                return None
            raise click.UsageError(self._refusal(name))
        own = self._with_count(self._event_options(MECHANISMS[name]))
        paragraphs, examples = described(MECHANISMS[name])
        text = "\n\n".join(paragraphs) + self._example_of(name, examples, ctx)
        summary = re.split(r"(?<=\.)\s+(?=[A-Z])", paragraphs[0], maxsplit=1)[0]
        return self._command(dashed(name), own, (), text, summary)

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
            raise UnknownName(
                "Expected EVENT to be a TOML file or a mechanism, got "
                f"{args[0]!r}.{did_you_mean(dashed(args[0]), known)}",
                known,
                ctx,
            )
        return super().resolve_command(ctx, args)

    def _with_count(self, options: list[click.Option]) -> list[click.Option]:
        named = any(option.name == COUNT for option in options)
        return options if named or not self._counted else [*options, _COUNT]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Mechanisms, and files and folders whose names begin so."""
        known = [dashed(name) for name in self._mechanisms]
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [*completions(known, dashed(incomplete)), CompletionItem(incomplete, type="file")]

    def _command(
        self,
        name: str,
        own: list[click.Option],
        of_files: Sequence[click.Option],
        text: str,
        summary: str,
    ) -> click.Command:
        source = name if name.endswith(".toml") else mechanism_name(name)
        names = {option.name for option in own}

        def callback(**values: Any) -> None:
            given = {key: values.pop(key) for key in list(values) if key in names}
            given = {parameter_name(k): value for k, value in given.items() if value is not None}
            self._run(source, given, **values)

        return EventCommand(
            name,
            callback=callback,
            params=[*own, *of_files, *self._shared_options],
            help=text,
            short_help=summary,
        )

    def _example_of(self, name: str, examples: str, ctx: click.Context) -> str:
        """A command line made of the example in the docstring; empty if there is none."""
        values = example_values(examples, MECHANISMS[name].__name__)
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


def about_one_event(
    *example: str,  # Options that complete the example of an event, beside its neighbours
    kind: type[EventCommands] = EventCommands,
    **rest: Any,
) -> Callable[[Callable[..., None]], EventCommands]:
    """The decorator, above all others, of what a command about one event runs; as in click."""

    def completed(event_type: type[Event]) -> list[str]:
        return [example_adjacency(event_type), *example]

    def made(run: Callable[..., None]) -> EventCommands:
        usual = {"name": run.__name__, "help": inspect.getdoc(run), "example": completed}
        return kind(run, **{**usual, **rest})

    return made


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
