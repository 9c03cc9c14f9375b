"""The text of a claims file that proposes claims, and of a workflow that checks it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rdpkit.formats.numbers import printable
from rdpkit.verification.claims.format import FORMAT
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.claims.scanning.proposals import (
    ClaimProposal,
    Known,
    identifiers,
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

WORKFLOW = """\
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
"""A workflow for GitHub."""

WORKFLOW_PATH = ".github/workflows/privacy.yml"
"""Where GitHub looks for it."""


def badge_line(
    name: str,  # The picture, which ``rdpkit audit --badge`` writes
) -> str:
    """A line for the README that shows a badge."""
    return f"![privacy claims]({name})"


def claims_text(
    found: Sequence[ClaimProposal],  # At least one
) -> str:
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
        lines += _table(f"claim.parameters.{key}", known.value)
    return "\n".join(lines) + "\n"


def _table(path: str, values: dict[str, Any]) -> list[str]:
    lines = [
        f"{key} = {as_toml(value)}" for key, value in values.items() if not isinstance(value, dict)
    ]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += [f"[{path}.{key}]", *_table(f"{path}.{key}", value)]
    return lines


def _line(key: str, known: Known) -> str:
    is_epsilon = key == "epsilon" and isinstance(known.value, str)
    value = known.value if is_epsilon else as_toml(known.value)
    return f"{key} = {value}" + (f"  # {_comment(known.comment)}" if known.comment else "")


def _comment(text: str) -> str:
    return " ".join(printable(text).split())


def as_toml(value: Any) -> str:
    """A plain value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Every JSON string is a TOML string, except that TOML does not allow DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
