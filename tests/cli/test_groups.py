"""The program's own help: every command in one group, and nothing imported to print it."""

import subprocess
import sys

import click
from click.testing import CliRunner

from rdpkit import cli


def test_every_command_of_ours_is_in_one_group_and_no_other_is():
    ctx = click.Context(cli.main)
    listed = [name for group in cli._HELP.values() for name in group]
    assert sorted(listed) == cli.main.list_commands(ctx)
    assert len(cli._HELP) == 5
    for group in cli._HELP.values():
        assert all(text.endswith(".") and text[0].isupper() for text in group.values())


def test_commands_of_others_are_listed_behind_ours(monkeypatch):
    @click.command(help="What somebody else adds.")
    def more():
        pass

    listed = cli.main.list_commands(click.Context(cli.main))
    monkeypatch.setattr(cli.Commands, "list_commands", lambda self, ctx: [*listed, "more"])
    monkeypatch.setattr(cli.Commands, "get_command", lambda self, ctx, name: more)
    told = CliRunner().invoke(cli.main, ["--help"]).output
    assert told.index("More commands") > told.index("ledger")
    assert "What somebody else adds." in told


def test_help_imports_no_command():
    code = (
        "import sys\nfrom rdpkit.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([n for n in sys.modules if n.startswith('rdpkit.') and n.count('.') > 1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
