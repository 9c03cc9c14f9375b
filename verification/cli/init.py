"""``rdpkit claims init``: propose claims for the privacy libraries that a repository calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rdpkit.cli.output import asked_format, format_option, print_answer
from rdpkit.formats.files import write_whole
from rdpkit.formats.text import how_many, printable
from rdpkit.verification.claims.editing import as_toml
from rdpkit.verification.claims.format import FORMAT
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.claims.scanning.calls import (
    LIBRARIES,
    FoundCall,
    Repository,
    found_calls,
    parsed,
)
from rdpkit.verification.claims.scanning.proposals import (
    ClaimProposal,
    Known,
    identifiers,
    proposals,
    without_missing,
)

_HEAD = """\
# Privacy claims of this repository, proposed by `rdpkit claims init` from calls in its code.
# Each is a question to you: is this what is trained and what is said of it? Fill in what is
# missing, take it off the list `missing`, and `rdpkit audit` decides whether the claim holds.
format = {format}
"""
_ADJACENCY = {
    "add_or_remove_one": "one record more or less, as the library's accountant counts",
    "replace_one": "one record replaced by another: check that you mean this",
}

# A workflow for GitHub, and where it is looked for.
_WORKFLOW = """\
# Recomputes the claims of *.claims.toml for every pull request.
name: privacy
on: [pull_request]
permissions:
  contents: read
jobs:
  claims:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      # The repository of rdpkit is an action: put its owner and a version or commit here.
      - uses: OWNER/rdpkit@VERSION
"""
_WORKFLOW_PATH = ".github/workflows/privacy.yml"


def _claims_text(found: Sequence[ClaimProposal]) -> str:
    """A claims file; it can be read, and a proposal that could not be is left without numbers."""
    parts = [_HEAD.format(format=FORMAT)]
    for name, one in zip(identifiers(found), found, strict=True):
        text = _claim(name, one)
        try:
            loads(text)
        except ValueError:
            text = _claim(name, without_missing(one))
        parts.append(text)
    content = "\n".join(parts)
    loads(content)
    return content


def _claim(name: str, one: ClaimProposal) -> str:
    lines = [
        "[[claim]]",
        f"id = {as_toml(name)}",
        f"source = {as_toml(printable(one.source))}",
        f"mechanism = {as_toml(one.mechanism)}",
        f"adjacency = {as_toml(one.adjacency)}  # {_ADJACENCY[one.adjacency]}",
    ]
    for key in ("epsilon", "delta"):
        stated: Known | None = getattr(one, key)
        if stated is not None:
            lines.append(_line(key, stated))
        else:
            lines.append(f"# {key} = ...")
    if one.missing:
        lines.append("missing = [")
        lines += [
            f"    {as_toml(printable(f'{key}: {meaning}'))},"
            for key, meaning in one.missing.items()
        ]
        lines.append("]")
    if one.notes:
        lines.append(f"notes = [{', '.join(as_toml(printable(note)) for note in one.notes)}]")
    if one.mechanism == "unmodelled":
        return "\n".join(lines) + "\n"
    lines.append("[claim.parameters]")
    tables = {key: known for key, known in one.known.items() if isinstance(known.value, dict)}
    lines += [_line(key, known) for key, known in one.known.items() if key not in tables]
    lines += [
        f"# {key} = ..." for key in one.missing if key not in ("epsilon", "delta", "parameters")
    ]
    lines += [printable(text) for text in one.comments]
    for key, known in tables.items():
        lines += [f"[claim.parameters.{key}]"]
        lines += _inner_tables(f"claim.parameters.{key}", known.value)
    return "\n".join(lines) + "\n"


def _inner_tables(path: str, values: dict[str, Any]) -> list[str]:
    lines = [
        f"{key} = {as_toml(value)}" for key, value in values.items() if not isinstance(value, dict)
    ]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += [f"[{path}.{key}]", *_inner_tables(f"{path}.{key}", value)]
    return lines


def _line(key: str, known: Known) -> str:
    is_epsilon = key == "epsilon" and isinstance(known.value, str)
    value = known.value if is_epsilon else as_toml(known.value)
    comment = " ".join(printable(known.comment).split())
    return f"{key} = {value}" + (f"  # {comment}" if known.comment else "")


_NAME = "privacy.claims.toml"
_BADGE = "privacy-badge.svg"
_SHOWN = 40


@click.command()
@click.argument(
    "folder",
    metavar="[DIR]",
    default=Path(),
    type=click.Path(path_type=Path, file_okay=False, exists=True),
)
@click.option("--write", is_flag=True, help="Write the files without asking.")
@click.option(
    "--name",
    default=_NAME,
    show_default=True,
    help="The claims file, in DIR; its name ends in .claims.toml, so that pytest finds it.",
)
@click.option("--tests/--no-tests", default=False, show_default=True, help="Read tests, too.")
@format_option
def init(*, folder: Path, write: bool, name: str, tests: bool) -> None:
    """Look for calls of privacy libraries in DIR, and propose claims about them.

    Opacus, TensorFlow Privacy, jax-privacy, diffprivlib and dp-accounting are known. Code and
    notebooks are read as text; nothing is imported or run. What the code says in numbers goes into
    a claims file, with its file and line, and what it does not say is listed as missing. A workflow
    for GitHub and a badge are proposed besides. Nothing is written without --write or a yes, and
    no file is ever overwritten.

    Exit status: 0 fine, 2 bad usage or bad input.
    """
    if Path(name).name != name or not name.endswith(".toml"):
        raise ValueError(f"Expected --name to be a file name that ends in .toml, got {name!r}.")
    repository = Repository(root=folder, tests=tests)
    calls, problems = _calls(repository)
    files = {}
    if calls:
        files = {name: _claims_text(proposals(calls)), _WORKFLOW_PATH: _WORKFLOW}
    new = {path: text for path, text in files.items() if not (folder / path).exists()}
    written: list[str] = []
    if asked_format() == "text":
        _show(repository, calls, problems, files, new)
    if new and (write or (asked_format() == "text" and _agreed(list(new)))):
        for path, text in new.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / path, text)
            written.append(path)
    table = {
        "found": [_as_dict(call) for call in calls],
        "problems": problems,
        "files": files,
        "already_there": [path for path in files if path not in new],
        "written": written,
        "badge": _badge(name) if calls else None,
    }
    lines = [f"wrote {path}" for path in written]
    if calls and not written:
        lines = ["Nothing was written." if new else "All of it is there already."]
    print_answer(table, lines)


def _calls(repository: Repository) -> tuple[list[FoundCall], list[str]]:
    """The calls in a repository, and the files that could not be read."""
    calls: list[FoundCall] = []
    problems: list[str] = []
    for source in repository.files(tuple(word.encode() for word in LIBRARIES)):
        try:
            calls += found_calls(parsed(source))
        except ValueError as error:
            problems.append(str(error))
    return calls, [*problems, *(repository.problems or [])]


def _badge(name: str) -> dict[str, str]:
    return {
        "line": f"![privacy claims]({_BADGE})",
        "command": f"rdpkit audit {name} --badge {_BADGE}",
    }


def _show(
    repository: Repository,
    calls: Sequence[FoundCall],
    problems: Sequence[str],
    files: dict[str, str],
    new: dict[str, str],
) -> None:
    read = how_many(repository.read, "Python file or notebook", "Python files and notebooks")
    tests = f"; {how_many(repository.left_out, 'test')} left out" if repository.left_out else ""
    if not calls:
        names = ", ".join(LIBRARIES.values())
        click.echo(f"Read {read}{tests}. There is no call of {names} in what was read.")
        click.echo("A claim about any mechanism: rdpkit claims new (it asks for what it needs).")
    else:
        counts = Counter(LIBRARIES[call.library] for call in calls)
        found = ", ".join(
            how_many(count, f"call of {name}", f"calls of {name}") for name, count in counts.items()
        )
        click.echo(f"Read {read}{tests}. Found {found}:")
        for call in calls[:_SHOWN]:
            click.echo(printable(f"  {call.place}: {call.function}{_said(call)}"))
        if len(calls) > _SHOWN:
            click.echo(f"  and {len(calls) - _SHOWN} more, which the claims file has as well")
    for problem in problems:
        click.echo(printable(f"Warning: {problem}"), err=True)
    for path, text in files.items():
        state = "" if path in new else " (there already, and left as it is)"
        click.echo(f"\n----- {printable(path)}{state}")
        if path in new:
            click.echo("\n".join(map(printable, text.rstrip("\n").split("\n"))))
    if calls:
        badge = _badge(next(iter(files)))
        click.echo(f"\n----- a badge for the README, which `{badge['command']}` draws")
        click.echo(f"{badge['line']}\n")


def _said(call: FoundCall) -> str:
    """The arguments of a call that stand for numbers."""
    known = [
        f"{name} = {argument.literal.value}"
        for name, argument in call.arguments.items()
        if argument.literal is not None
        and not name.isdigit()
        and isinstance(argument.literal.value, int | float)
    ]
    return f" ({', '.join(known)})" if known else ""


def _as_dict(call: FoundCall) -> dict[str, object]:
    """Plain values for JSON."""
    return {
        "library": LIBRARIES[call.library],
        "function": call.function,
        "file": call.path,
        "line": call.line,
        "place": call.place,
        "arguments": {
            name: {
                "text": one.text,
                "value": None if one.literal is None else one.literal.value,
                "from": None if one.literal is None else one.literal.origin or None,
            }
            for name, one in call.arguments.items()
        },
    }


def _agreed(paths: Sequence[str]) -> bool:
    """Whether somebody wants the files; nobody there to answer is a no."""
    try:
        return click.confirm(f"Write {' and '.join(map(printable, paths))}?", default=False)
    except click.Abort:
        click.echo("")
        return False
