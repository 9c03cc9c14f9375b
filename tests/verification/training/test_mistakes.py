"""The table of what is said of mistakes, and the code that fills in its numbers."""

import ast
import string
from pathlib import Path

import pytest

from rdpkit.verification.training.mistakes import TrainingMistakeKind, mistake_of, words

SOURCES = Path(__file__).parents[3] / "verification" / "training"
# Whoever compares a claim with a training has words of their own.
ELSEWHERE = {TrainingMistakeKind.CLAIM_DIFFERS}


def ways():
    for kind, said in words().items():
        own = {name: value for name, value in said.items() if isinstance(value, dict)}
        for way, table in own.items() or {"": {}}.items():
            yield kind, way, {**said, **table}


def placeholders(said):
    texts = (said["message"], said["advice"])
    return {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}


TABLE = {(kind, way): placeholders(said) for kind, way, said in ways()}


def calls():
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "mistake_of":
                yield path.name, node


def matching(node):
    """The rows that a call may mean, by the way that it names, the kind, and what it measured."""
    kind, *rest = node.args
    named = TrainingMistakeKind[kind.attr].value if isinstance(kind, ast.Attribute) else None
    way = rest[0].value if rest else ""
    measured = {one.arg for one in node.keywords}
    return {
        row
        for row, wanted in TABLE.items()
        if (isinstance(kind, ast.Starred) or row[1] == way)
        and named in (None, row[0])
        and wanted == measured
    }


def test_every_kind_has_words():
    assert set(words()) == {kind.value for kind in set(TrainingMistakeKind) - ELSEWHERE}


def test_every_call_fills_in_a_row_and_every_row_is_used():
    found = [(name, node.lineno, matching(node)) for name, node in calls()]
    assert [(name, line) for name, line, rows in found if not rows] == []
    assert set(TABLE) == {row for _, _, rows in found for row in rows}


@pytest.mark.parametrize(("kind", "way"), TABLE)
def test_texts_are_sentences(kind, way):
    numbers = dict.fromkeys(TABLE[kind, way], 1)
    said = mistake_of(TrainingMistakeKind(kind), *filter(None, [way]), **numbers)
    assert said.message[0].isupper() or said.message.startswith(("1", "train()"))
    assert said.advice.endswith(".")
