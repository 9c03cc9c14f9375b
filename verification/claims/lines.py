"""The lines of a TOML file at which its claims begin."""

from __future__ import annotations

import re

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


def claim_lines(text: str, count: int) -> list[int]:
    """The lines, from 1, of the headers ``[[claim]]``.

    Parameters
    ----------
    text : str
        A TOML file without mistakes.
    count : int
        How many claims it holds.

    Returns
    -------
    list of int
        One a claim. Claims without headers, as inline tables, all begin at the first line.
    """
    hidden: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text):
        if "\n" in token.group():
            hidden.append(token.span())
    found = []
    number, place, next_hidden = 1, 0, 0
    for line in text.split("\n"):
        while next_hidden < len(hidden) and hidden[next_hidden][1] <= place:
            next_hidden += 1
        inside = next_hidden < len(hidden) and hidden[next_hidden][0] < place
        if not inside and _HEADER.match(line):
            found.append(number)
        number += 1
        place += len(line) + 1
    return found if len(found) == count else [1] * count
