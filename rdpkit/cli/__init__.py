"""The command line: one group, whose commands are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from rdpkit import __version__
from rdpkit.extensions import declared

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Other distributions, and the upper layers of this one, register commands under this name.
_ENTRY_POINTS = "rdpkit.commands"
_BUILT_IN = {
    "calibrate": "rdpkit.cli.noise",
    "delta": "rdpkit.cli.guarantees",
    "dpsgd": "rdpkit.cli.dpsgd",
    "epsilon": "rdpkit.cli.guarantees",
    "plan": "rdpkit.cli.noise",
    "sweep": "rdpkit.cli.sweep",
    "tradeoff": "rdpkit.cli.guarantees",
}

# What help says of the commands, without importing any. Those of other distributions are imported.
_HELP = {
    "How private a release is": {
        "epsilon": "The privacy loss epsilon of an event at a given delta, by one bound or all.",
        "delta": "The delta of an event at a given epsilon.",
        "dpsgd": "What a DP-SGD run is worth: a certified epsilon, and what is assumed.",
        "tradeoff": "What any attack on one record achieves at most.",
    },
    "How much noise it takes": {
        "calibrate": "The value of a parameter that meets a target, with a proof.",
        "plan": "Order of mixture, releases and noise of DP-CDA, for most accuracy.",
        "sweep": "Epsilon over a grid or a table of configurations.",
    },
    "Whether a claim is true": {
        "audit": "Recompute the claims of this folder, and bound what is true.",
        "certify": "A certificate of an epsilon, which a small program checks.",
        "claims": "Write claims, find those of code, check them, mend them, print the schema.",
    },
    "Whether code keeps its claim": {
        "verify": "Test a claim against the code that makes the release.",
        "verify-training": "Check whether a training does what its accountant was told.",
    },
    "Private releases, and what they cost": {
        "synthesize": "Make a private release of a table, or of images.",
        "evaluate": "Say how good a release is.",
        "ledger": "Keep together what releases cost, and what is left of a budget.",
    },
}

# Commands of earlier versions: what the same one is called, and what does the same.
_RENAMED = {"budget": "ledger"}
_MOVED = {
    "compare": "epsilon EVENT --bound all",
    "explorer": "audit --explorer DIR",
    "fix": "claims fix",
    "init": "claims init",
    "report": "audit --report FILE",
    "schema": "synthesize DATA --draft-schema",
}


class CommandsByName(click.Group):
    """Commands whose error about an unknown name says what is near, or where it is now."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, with the nearest name, and all, where there is no command of that name."""
        unknown = args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None
        if unknown and not ctx.resilient_parsing:
            from rdpkit._validate import did_you_mean  # noqa: PLC0415 - only for errors
            from rdpkit.cli.option_types import UnknownName  # noqa: PLC0415

            known = self.list_commands(ctx)
            if args[0] in _MOVED:
                raise click.UsageError(f"rdpkit {args[0]} is now 'rdpkit {_MOVED[args[0]]}'.")
            hint = did_you_mean(args[0], known)
            raise UnknownName(f"No such command {args[0]!r}.{hint}", known, ctx)
        return super().resolve_command(ctx, args)


class Commands(CommandsByName):
    """Commands that are imported when they are asked for; every error has the same form."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted({*_BUILT_IN, *(entry.name for entry in declared(_ENTRY_POINTS))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now.

        If a library is missing, it is a command that says which one.
        """
        cmd_name = _RENAMED.get(cmd_name, cmd_name)
        try:
            if cmd_name in _BUILT_IN:
                built_in: click.Command = getattr(import_module(_BUILT_IN[cmd_name]), cmd_name)
                return built_in
            return next((e.load() for e in declared(_ENTRY_POINTS) if e.name == cmd_name), None)
        except ModuleNotFoundError as error:
            from rdpkit.cli.output import without_library  # noqa: PLC0415 - only for errors

            return without_library(cmd_name, error)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in groups, by what somebody wants to know."""
        names = self.list_commands(ctx)
        others = set(names).difference(*_HELP.values())
        found = {name: self.get_command(ctx, name) for name in sorted(others)}
        more = {name: one.get_short_help_str() for name, one in found.items() if one is not None}
        for title, commands in {**_HELP, "More commands": more}.items():
            rows = [(name, text) for name, text in commands.items() if name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of commands, of which none is imported, and options."""
        from rdpkit.cli.option_types import completions  # noqa: PLC0415 - only for shells

        return [
            *completions(self.list_commands(ctx), incomplete),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click, with errors in the form of this program."""
        with _errors_of_one_form(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a signal ends it with the status that shells expect."""
        # Not needed for --version and --help, which end before this.
        from rdpkit.supervisor import Interrupted, interruptible  # noqa: PLC0415

        with _errors_of_one_form(ctx):
            try:
                with interruptible():
                    return super().invoke(ctx)
            except Interrupted as signal:
                click.echo(f"rdpkit: stopped by {signal}.", err=True)
                ctx.exit(signal.status)


@contextmanager
def _errors_of_one_form(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except (click.Abort, click.exceptions.Exit, BrokenPipeError):
        raise
    except Exception as error:
        from rdpkit.cli.output import reported  # noqa: PLC0415 - only for errors

        raise reported(error, ctx) from error


@click.group(
    cls=Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        # Options and names may be written with underscores.
        "token_normalize_func": lambda name: name.replace("_", "-"),
    },
)
@click.version_option(__version__, prog_name="rdpkit")
@click.option(
    "--debug",
    is_flag=True,
    envvar="RDPKIT_DEBUG",
    expose_value=False,
    callback=lambda ctx, option, value: ctx.meta.__setitem__("rdpkit.debug", value),
    help="Show where in the program an error came from. The environment variable RDPKIT_DEBUG=1 "
    "does the same.",
)
def main() -> None:
    """Privacy accounting: is this claim true, and how much better could it be said?

    Exit status: 0 everything is fine, 1 a check failed, 2 bad usage or bad input, 70 the program
    failed, 130 or 143 it was stopped.
    """
