"""The lines of a claims file, and changes that keep its comments, layout and spelling of numbers.

Only the lines of the claim that is changed are read by a library that keeps layouts (tomlkit); all
other lines are copied. What comes out is read again, and must be the old content with the
changes and nothing else.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

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


Change = tuple[str, str, str]
"""A key's path in the claim, its value before, and its value after: empty to take the line out."""

_MARK = "\ufeff"
_NOTHING = re.compile(r"\s*(#|$)")
_STEP = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """A piece of a text, and what is to be there instead."""

    # Where the piece begins, from 1.
    line: int
    column: int
    # Where it ends: the column is that of the first character after it.
    end_line: int
    end_column: int
    text: str  # The new text


class ClaimsText:
    """The text of a claims file, in which single claims are changed."""

    def __init__(self, text: str) -> None:
        # Some editors begin a file with a mark of its encoding, which is no TOML.
        self._mark = text[: len(text) - len(text.removeprefix(_MARK))]
        text = text.removeprefix(_MARK)
        self.text = text
        tables = _parsed(text).get("claim")
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            raise ValueError("Expected at least one [[claim]].")
        self._ids = [table.get("id") for table in tables]
        self._starts = claim_lines(text, len(tables))

    def edited(
        self,
        identifier: str,  # The claim's id
        # Paths of keys, with their old and new values as TOML. The old ones are not looked at.
        changes: Iterable[Change],
    ) -> str:
        """The text with changes in one claim."""
        lines = self.text.split("\n")
        first, last, _, new = self._changed_block(identifier, list(changes))
        return self._mark + "\n".join([*lines[:first], new, *lines[last:]])

    def replacements(self, identifier: str, changes: Iterable[Change]) -> list[Replacement]:
        """The pieces of the text that differ after changes in one claim."""
        first, _, old, new = self._changed_block(identifier, list(changes))
        return [
            dataclasses.replace(one, line=one.line + first, end_line=one.end_line + first)
            for one in replacements(f"{old}\n", f"{new}\n")
        ]

    def _changed_block(self, identifier: str, wanted: list[Change]) -> tuple[int, int, str, str]:
        """The lines of a claim: where they begin and end, as they are, and as they are to be."""
        if self._ids.count(identifier) != 1:
            raise ValueError(f"Expected one claim with the id {identifier!r} in the file.")
        place = self._ids.index(identifier)
        lines = self.text.split("\n")
        first, last, inside = self._block(place, len(lines))
        block = "\n".join([*lines[first:last], ""])
        changed = _changed(block, inside, wanted)
        expected = _parsed(block)
        for key, _, value in wanted:
            _set(expected["claim"][inside], key, _parsed(f"x = {value}")["x"] if value else None)
        if _parsed(changed) != expected:
            raise ValueError("The claim cannot be changed without changing more than it.")
        moved = _moved(_lines(block), _lines(changed))
        if sum(max(b - a, d - c) for a, b, c, d in moved) > len(wanted):
            raise ValueError("The claim cannot be changed without changing its layout.")
        return first, last, block.removesuffix("\n"), changed.removesuffix("\n")

    def _block(self, place: int, count: int) -> tuple[int, int, int]:
        """The lines of a claim, and its place inside of them; all lines if it has no header."""
        if len(set(self._starts)) < len(self._starts) or self._starts == [1]:
            return 0, count, place
        first, last = self._starts[place] - 1, [*self._starts[1:], count + 1][place] - 1
        # What stands above the next claim belongs to that; a new line goes above it.
        lines = self.text.split("\n")
        while last > first + 1 and _NOTHING.match(lines[last - 1]):
            last -= 1
        return first, last, 0


def replacements(
    # The two texts.
    old: str,
    new: str,
) -> list[Replacement]:  # Of a changed line the part that changed; lines that come or go as a whole
    """The pieces of a text that differ from another one, line by line."""
    before, after = _lines(old), _lines(new)
    found = []
    for a, b, c, d in _moved(before, after):
        if b - a == d - c:
            found += [
                _within(number, was, now)
                for number, (was, now) in enumerate(
                    zip(before[a:b], after[c:d], strict=True), start=a + 1
                )
            ]
        else:
            text = "".join(after[c:d])
            found.append(Replacement(line=a + 1, column=1, end_line=b + 1, end_column=1, text=text))
    return found


def _lines(text: str) -> list[str]:
    """Lines with their ends; other than of Python's own, a line ends at a line feed alone."""
    found = [f"{line}\n" for line in text.split("\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def _moved(before: list[str], after: list[str]) -> list[tuple[int, int, int, int]]:
    """Which lines are replaced by which."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [(a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]


def _within(number: int, was: str, now: str) -> Replacement:
    """What differs in one line, as a whole value: the part behind the key."""
    head = 0
    while head < min(len(was), len(now)) and was[head] == now[head]:
        head += 1
    # A number is replaced as a whole, not digit by digit.
    while head > 0 and was[head - 1] not in " =,[{":
        head -= 1
    tail = 0
    while tail < min(len(was), len(now)) - head and was[-1 - tail] == now[-1 - tail]:
        tail += 1
    while tail > 0 and was[len(was) - tail] not in " ,]}#\r\n":
        tail -= 1
    end = len(was) - tail
    return Replacement(
        line=number,
        column=head + 1,
        end_line=number,
        end_column=end + 1,
        text=now[head : len(now) - tail],
    )


def unified_diff(name: str, old: str, new: str) -> str:
    """The difference of two texts in the form that ``patch`` reads; empty if there is none."""
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def as_toml(value: Any) -> str:
    """A plain value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, str):
        # Every JSON string is a TOML string, except that TOML does not allow DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a TOML file: {error}") from None


def _changed(block: str, place: int, changes: list[Change]) -> str:
    """Lines of TOML with changes in one of the claims that they hold."""
    # Imported here because most commands change no file.
    import tomlkit  # noqa: PLC0415
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        document = tomlkit.parse(block)
        claim = document["claim"][place]
        for key, _, value in changes:
            _set(claim, key, tomlkit.value(value) if value else None)
        return tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ValueError(f"the lines of the claim cannot be changed: {error}") from None


def _set(table: Any, key: str, value: Any) -> None:
    """Put a value at the path of a key in nested tables; None takes the key out."""
    steps: list[str | int] = [
        match[1] if match[1] is not None else int(match[2]) for match in _STEP.finditer(key)
    ]
    try:
        for step in steps[:-1]:
            table = table[step]
        if value is None:
            del table[steps[-1]]
        else:
            table[steps[-1]] = value
    except (KeyError, IndexError, TypeError):
        raise ValueError(f"there is no {key} in the claim") from None
