"""The pages of the documentation, and the blocks of commands and of output in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMANDS = frozenset({"sh", "bash", "shell", "console", "zsh-session", "shell-session"})

_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,}|~{3,}) *(?P<info>[^`\n]*)$")
_DIRECTIVE = re.compile(r"^\{(?:code-block|code|sourcecode)\} *(?P<language>\S*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page: its language, the line of its fence, its text, and what is between.

    ``adjoining`` says that nothing but empty lines separates it from the block before.
    """

    language: str
    line: int
    text: str
    adjoining: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A block of commands as bash takes it, and what the page says that it prints."""

    line: int
    script: str
    shown: str | None


def pages() -> list[Path]:
    """README.md and every page below docs/, without what is built."""
    built = ROOT / "docs" / "_build"
    below = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(path for path in below if built not in path.parents)]


def blocks(text: str) -> Iterator[Block]:
    """Every fenced block of a page, in order."""
    lines = text.split("\n")
    at, ended = 0, None
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            at += 1
            continue
        start, indent, marks = at, len(fence["indent"]), fence["marks"]
        close = re.compile(rf"^ *{re.escape(marks[0])}{{{len(marks)},}} *$")
        at += 1
        while at < len(lines) and not close.match(lines[at]):
            at += 1
        inside = [
            line[min(indent, len(line) - len(line.lstrip())) :] for line in lines[start + 1 : at]
        ]
        info = fence["info"].strip()
        directive = _DIRECTIVE.match(info)
        if directive is not None:
            info = directive["language"]
            while inside and (not inside[0].strip() or inside[0].startswith(":")):
                del inside[0]
        between = lines[ended:start] if ended is not None else ["text"]
        yield Block(
            language=info.split(" ")[0].lower(),
            line=start + 1,
            text="\n".join(inside) + "\n",
            adjoining=not any(line.strip() for line in between),
        )
        at += 1
        ended = at


def steps(text: str) -> Iterator[Step]:
    """The blocks of commands of a page, each with the output that the page shows for it.

    The output is a block of the language ``text`` right below. In a block ``console`` commands have
    the prompt ``$``, and all other lines are output.
    """
    found = list(blocks(text))
    for index, block in enumerate(found):
        if block.language not in COMMANDS:
            continue
        script, shown = block.text, None
        if block.language == "console" or re.match(r"\$ ", script):
            script, shown = _session(block.text)
        after = found[index + 1] if index + 1 < len(found) else None
        if shown is None and after is not None and after.language == "text" and after.adjoining:
            shown = after.text
        yield Step(line=block.line, script=script, shown=shown)


def _session(text: str) -> tuple[str, str | None]:
    commands, output, goes_on = [], [], False
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif goes_on:
            commands.append(line.removeprefix("> "))
        else:
            output.append(line)
            continue
        goes_on = line.endswith("\\")
    return "\n".join(commands) + "\n", "\n".join(output) if any(output) else None


def is_shown(shown: str, printed: str) -> bool:
    """Whether what a page shows occurs in what was printed.

    Three dots stand for anything, and differences of blanks count for nothing: a page may be
    narrower than a terminal.
    """
    parts = [re.escape(part).replace(r"\.\.\.", ".*?") for part in shown.split()]
    return (
        re.search(r"\s+".join(parts).replace(r"\s+.*?\s+", r"\s.*?"), " " + printed, re.S)
        is not None
    )
