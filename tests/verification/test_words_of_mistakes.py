"""The tables of what is said of mistakes, and the code that fills in their numbers."""

import ast
import string
from pathlib import Path

import pytest

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, words
from rdpkit.verification.training.mistakes import TrainingMistakeKind, mistake_of

ROOT = Path(__file__).parents[2] / "verification"
# The room, its kinds, how its code makes a mistake, and kinds that another room has words for.
ROOMS = {
    "blackbox": (MistakeKind, Mistake.seen, "Mistake.seen", set()),
    "training": (
        TrainingMistakeKind,
        mistake_of,
        "mistake_of",
        {TrainingMistakeKind.CLAIM_DIFFERS},
    ),
}


def placeholders(said):
    texts = (said["message"], said["advice"])
    return {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}


def rows(room):
    for kind, said in words(f"rdpkit.verification.{room}").items():
        own = {name: value for name, value in said.items() if isinstance(value, dict)}
        for way, table in own.items() or {"": {}}.items():
            yield (kind, way), placeholders({**said, **table})


TABLES = {room: dict(rows(room)) for room in ROOMS}


def matching(node, room):
    """The rows that a call may mean, by the way that it names, the kind, and what it measured."""
    kind, *rest = node.args
    named = ROOMS[room][0][kind.attr].value if isinstance(kind, ast.Attribute) else None
    way = rest[0].value if rest else ""
    measured = {one.arg for one in node.keywords}
    return {
        row
        for row, wanted in TABLES[room].items()
        if (isinstance(kind, ast.Starred) or row[1] == way)
        and named in (None, row[0])
        and wanted == measured
    }


@pytest.mark.parametrize("room", ROOMS)
def test_every_kind_has_words(room):
    kinds, _, _, elsewhere = ROOMS[room]
    assert {kind for kind, _ in TABLES[room]} == {kind.value for kind in set(kinds) - elsewhere}


@pytest.mark.parametrize("room", ROOMS)
def test_every_call_fills_in_a_row_and_every_row_is_used(room):
    used = set()
    for path in (ROOT / room).rglob("*.py"):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if ROOMS[room][2] in source else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == ROOMS[room][2]:
                found = matching(node, room)
                assert found, f"{path.name}:{node.lineno}"
                used |= found
    assert used == set(TABLES[room])


@pytest.mark.parametrize(
    ("room", "kind", "way"), [(room, *row) for room, table in TABLES.items() for row in table]
)
def test_texts_are_sentences(room, kind, way):
    kinds, make, _, _ = ROOMS[room]
    numbers = dict.fromkeys(TABLES[room][kind, way], 1)
    said = make(kinds(kind), *filter(None, [way]), **numbers)
    assert said.message[0].isupper() or said.message.startswith(("1", "train()"))
    assert said.advice.endswith(".")
