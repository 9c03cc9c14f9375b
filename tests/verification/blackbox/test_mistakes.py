"""Mistakes: the error rate of their names, what is said of them, and the code that says it."""

from __future__ import annotations

import ast
import math
import string
from pathlib import Path

import pytest

from rdpkit.verification.blackbox.mistakes import MistakeKind, NamingLevels, mistake_of, words


@pytest.mark.parametrize("processes", [True, False])
@pytest.mark.parametrize("scores", [0, 1, 7, 500])
def test_what_names_spend_adds_up_to_at_most_the_rate(processes, scores):
    levels = NamingLevels(0.05, processes=processes)
    given = [levels.processes, *(levels.next() for _ in range(scores))]
    assert math.fsum(given) <= 0.05
    assert sorted(levels.budget.spent.values()) == sorted(given)
    assert min(given[1:], default=1.0) > 0.0


ROOT = Path(__file__).parents[3] / "verification"
ROOMS = ("blackbox", "training", "pytest_plugin")


def placeholders(said):
    texts = (said["message"], said["advice"])
    return {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}


def rows():
    for kind, said in words().items():
        own = {name: value for name, value in said.items() if isinstance(value, dict)}
        for way, table in own.items() or {"": {}}.items():
            yield (kind, way), placeholders({**said, **table})


TABLE = dict(rows())


def matching(node):
    """The rows that a call may mean, by the way that it names, the kind, and what it measured."""
    kind, *rest = node.args
    owner, _, name = ast.unparse(kind).rpartition(".")
    named = MistakeKind[name].value if owner == "MistakeKind" else None
    # A way that is a name, like a kind that is a starred one, may be any that has these values.
    named_way = rest[0].value if rest and isinstance(rest[0], ast.Constant) else ""
    any_way = isinstance(kind, ast.Starred) or (rest and isinstance(rest[0], ast.Name))
    measured = {one.arg for one in node.keywords}
    return {
        row
        for row, wanted in TABLE.items()
        if (any_way or row[1] == named_way) and named in (None, row[0]) and wanted == measured
    }


def test_every_kind_has_words():
    # What a claim says otherwise than its training is said by the audit.
    assert {kind for kind, _ in TABLE} == set(MistakeKind) - {MistakeKind.CLAIM_DIFFERS}


def test_every_call_fills_in_a_row_and_every_row_is_used():
    used = set()
    for path in [one for room in ROOMS for one in (ROOT / room).rglob("*.py")]:
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if "mistake_of" in source else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "mistake_of":
                found = matching(node)
                assert found, f"{path.name}:{node.lineno}"
                used |= found
    assert used == set(TABLE)


@pytest.mark.parametrize(("kind", "way"), TABLE)
def test_texts_are_sentences(kind, way):
    said = mistake_of(MistakeKind(kind), way, **dict.fromkeys(TABLE[kind, way], 1))
    assert said.message[0].isupper() or said.message.startswith(("1", "train()"))
    assert said.advice.endswith((".", "?"))
