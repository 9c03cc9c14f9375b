"""The command line: one group; commands of the upper layers join through entry points."""

from __future__ import annotations

from importlib.metadata import entry_points

import click

from rdpkit import __version__
from rdpkit.cli.calibrate import calibrate
from rdpkit.cli.guarantees import compare, delta, epsilon
from rdpkit.cli.plan import plan
from rdpkit.cli.sweep import sweep

GROUP = "rdpkit.commands"


class _Commands(click.Group):
    """Built-in commands, and those that other layers register under ``rdpkit.commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted({*super().list_commands(ctx), *(e.name for e in entry_points(group=GROUP))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported only now."""
        built_in = super().get_command(ctx, cmd_name)
        if built_in is not None:
            return built_in
        for entry in entry_points(group=GROUP):
            if entry.name == cmd_name:
                loaded: click.Command = entry.load()
                return loaded
        return None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rdpkit")
def main() -> None:
    """Privacy accounting: is this claim true, and how much better could it be said?

    Exit status: 0 fine, 1 the check failed, 2 bad usage or bad input.
    """


main.add_command(epsilon)
main.add_command(delta)
main.add_command(compare)
main.add_command(calibrate)
main.add_command(plan)
main.add_command(sweep)
