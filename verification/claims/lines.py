"""The lines of a TOML file at which its claims and their keys stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADER = re.compile(r"""[ \t]*\[\[[ \t]*(?:claim|"claim"|'claim')[ \t]*\]\]""")
# Comments and strings; text inside one of them is never a header, even if it looks like one.
_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


def claim_lines(
    text: str,  # A TOML file without mistakes
    count: int,  # How many claims it holds
) -> list[int]:
    """The lines, from 1, of the headers ``[[claim]]``.

    One a claim. Claims without headers, as inline tables, all begin at the first line.
    """
    found = [number for number, line in _outside_strings(text) if _HEADER.match(line)]
    return found if len(found) == count else [1] * count


def key_line(text: str, key: str, start: int) -> int:
    """The line of a key of the claim that begins at line ``start``, or that line itself."""
    name = re.escape(key.partition("[")[0])
    written = re.compile(rf"""[ \t]*(\[+[ \t]*claim\.)?["']?{name}["']?[ \t]*[=\]]""")
    for number, line in _outside_strings(text):
        if number > start and _HEADER.match(line):
            break
        if number > start and written.match(line):
            return number
    return start


def _outside_strings(text: str) -> Iterator[tuple[int, str]]:
    """The lines, with numbers from 1, that do not begin inside of a string."""
    hidden = [token.span() for token in _TOKEN.finditer(text) if "\n" in token.group()]
    place, next_hidden = 0, 0
    for number, line in enumerate(text.split("\n"), start=1):
        while next_hidden < len(hidden) and hidden[next_hidden][1] <= place:
            next_hidden += 1
        if not (next_hidden < len(hidden) and hidden[next_hidden][0] < place):
            yield number, line
        place += len(line) + 1
