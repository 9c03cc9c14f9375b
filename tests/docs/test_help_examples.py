"""The examples that the help shows are run, in a folder where a budget has been begun."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from rdpkit.cli import main
from rdpkit.events import MECHANISMS

QUICK = "delta"
BUDGET = ["--epsilon", "1e6", "--delta", "1e-5", "--delta-for-events", "1e-6"]


def commands(command: click.Command, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        yield names
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, (*names, name))


def run(words):
    return CliRunner().invoke(main, words)


def examples(names):
    """The command lines that a help shows, without the name of the program."""
    text = run([*names, "--help"]).output
    shown = re.search(r"^ *Examples?:\n\n(.*?)^Options:", text, re.M | re.S)
    if shown is None:
        return []
    lines = shown[1].replace("\\\n", " ").strip().splitlines()
    return [shlex.split(line)[1:] for line in lines if line.strip()]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(
            names,
            id=" ".join(names),
            marks=pytest.mark.thorough if names[0] == QUICK else pytest.mark.slow,
        )
        for names in commands(main)
    ],
)
def test_the_examples_of_a_help_run(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    event = MECHANISMS.get(names[-1].replace("-", "_"))
    adjacency = event.adjacencies[0].value if event is not None else "replace_one"
    begun = run(["ledger", "new", "budget.jsonl", *BUDGET, "--adjacency", adjacency])
    assert begun.exit_code == 0
    for words in examples(names):
        assert tuple(words[: len(names)]) == names
        done = run(words)
        assert done.exit_code == 0, f"{shlex.join(words)}\n{done.output}"


def test_every_event_has_an_example():
    for names in commands(main):
        if names[0] in ("epsilon", "delta", "compare", "calibrate", "sweep", "tradeoff"):
            assert len(examples(names)) == 1, names
