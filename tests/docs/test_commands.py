"""Every command of every page runs, in the order of the page, in an empty directory.

A page is followed as a reader follows it who copies one block after the other into bash: nothing
is there but what the page itself has made. A command that ends with a status other than 0 ends the
block, as under ``bash -e``. Where a page means that, it writes ``|| echo "exit status $?"`` behind
the command, and the status must be 1, or the one that the page shows: a mistake in a command, which
is status 2, is never meant unless the page says so. Below a block a page may show what it prints.
"""

import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rdpkit.cli import main
from rdpkit.cli.option_types import dashed
from tests.docs.pages import COMMANDS, ROOT, Step, blocks, is_shown, pages, steps

# Pages whose commands take more than about five seconds together, by the names of their files.
LONG = {
    "audit-of-the-papers.md",
    "baselines.md",
    "calibration.md",
    "continuous.md",
    "dpsgd.md",
    "experiments.md",
    "explorer.md",
    "mechanisms.md",
    "pytest.md",
    "quickstart.md",
    "register.md",
    "tables.md",
    "training.md",
    "verify.md",
    "zoo.md",
}
# Pages of a few seconds, which run with the longer tests of CI.
MIDDLE = {"evaluate.md", "images.md", "ledger.md", "replay.md"}
MEANT = '|| echo "exit status $?"'
# The README has two lines that install the package from its repository; .ci/run runs them.
INSTALLS = "python3 -m pip install -c constraints.txt . && rdpkit audit --papers\n"

PAGES = [
    pytest.param(
        path,
        id=path.relative_to(ROOT).as_posix(),
        marks=[
            *([pytest.mark.slow] if path.name in LONG else []),
            *([pytest.mark.thorough] if path.name in MIDDLE else []),
        ],
    )
    for path in pages()
    if any(True for _ in steps(path.read_text(encoding="utf-8")))
]


def steps_of(path: Path) -> list[Step]:
    found = list(steps(path.read_text(encoding="utf-8")))
    if path == ROOT / "README.md":
        installs = [step for step in found if step.script.startswith(INSTALLS)]
        assert len(installs) == 1
        found.remove(installs[0])
    return found


@pytest.fixture
def environment(tmp_path):
    """An empty home, and the commands that an installed package has."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, words in {
        # What the installed command runs, under its own name.
        "rdpkit": ["-c", "from rdpkit.cli import main; main(prog_name='rdpkit')"],
        "pytest": ["-m", "pytest"],
        "python": [],
        "python3": [],
    }.items():
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *words])} "$@"\n')
        script.chmod(0o755)
    (tmp_path / "home").mkdir()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RDPKIT_", "PYTEST_", "COV_"))
        and name not in ("COLUMNS", "VIRTUAL_ENV")
    }
    return kept | {
        "PATH": f"{commands}{os.pathsep}{kept['PATH']}",
        "HOME": str(tmp_path / "home"),
        "MPLCONFIGDIR": str(Path.home() / ".config" / "matplotlib"),
    }


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="pages are written for bash")
@pytest.mark.parametrize("path", PAGES)
def test_the_commands_of_a_page_run_in_order(path, tmp_path, environment):
    here = tmp_path / "empty"
    here.mkdir()
    for step in steps_of(path):
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step.script],
            cwd=here,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=1800,
        )
        where = f"{path.relative_to(ROOT)}:{step.line}\n{step.script}\n{done.stdout}"
        assert done.returncode == 0, f"exit status {done.returncode}: {where}"
        statuses = re.findall(r"^exit status (\d+)$", done.stdout, re.M)
        shown = re.findall(r"^exit status (\d+)$", step.shown or "", re.M)
        assert statuses == (shown or ["1"] * step.script.count(MEANT)), where
        assert len(statuses) == step.script.count(MEANT), where
        if step.shown is not None:
            assert is_shown(step.shown, done.stdout), f"does not print\n{step.shown}\n{where}"


@functools.cache
def options_of(command: click.Command) -> set[str]:
    found = {"--help", "-h"}
    for parameter in command.params:
        found |= {dashed(name) for name in (*parameter.opts, *parameter.secondary_opts)}
    return found


@functools.cache
def children(command: click.Command) -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: child for name, child in found.items() if child is not None}


def unknown_words(words: list[str]) -> list[str]:
    """Options and commands in a command line that rdpkit does not have."""
    command: click.Command = main
    known = options_of(main)
    wrong = []
    for word in words[1:]:
        if word.startswith("-") and not re.match(r"-\d", word):
            wrong += [word] if dashed(word.partition("=")[0]) not in known else []
            continue
        below = children(command)
        name = dashed(word)
        if name in below:
            command = below[name]
            known |= options_of(command)
        elif command is main:
            return [word]
        elif below:  # a file, or a word such as EVENT, in the place of a name
            known = known.union(*map(options_of, below.values()))
            command = click.Command(None)
    return wrong


def lines_of_commands(text: str) -> list[str]:
    """Whatever looks like a command of ours: in blocks that do not run, and in sentences."""
    found = []
    for block in blocks(text):
        if block.language not in COMMANDS:
            joined = block.text.replace("\\\n", " ")
            found += re.findall(r"^ *(?:\$ |- run: |- )?(rdpkit [a-z].*)$", joined, re.M)
    outside = re.sub(r"^( *)(`{3,}|~{3,}).*?^\1?\2 *$", "", text, flags=re.M | re.S)
    return found + [
        " ".join(code.split()) for code in re.findall(r"`(rdpkit [a-z][^`]*)`", outside)
    ]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_that_are_only_named_exist(path):
    for line in lines_of_commands(path.read_text(encoding="utf-8")):
        words = shlex.split(line, comments=True)
        assert unknown_words(words) == [], line


def test_a_page_that_is_long_is_there():
    assert {path.name for path in pages()} >= LONG
