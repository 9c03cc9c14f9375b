"""Every public name is described on exactly one page of the Python interface."""

import re
from collections import Counter
from pathlib import Path

import pytest

import rdpkit
import rdpkit.mechanisms
import rdpkit.verification

DOCS = Path(__file__).parents[2] / "docs"
API = DOCS / "reference" / "api"
OBJECT = re.compile(r"^\.\. auto(?:class|function|data|exception):: (\S+)$", re.MULTILINE)
MODULE = re.compile(r"^\.\. automodule:: (\S+)\n   :members: ?(.*)$", re.MULTILINE)


def full_names(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return OBJECT.findall(text) + [
        f"{module}.{name}"
        for module, names in MODULE.findall(text)
        for name in names.split(", ")
        if name
    ]


EVENTS = {kind.__name__ for kind in rdpkit.events.MECHANISMS.values()}
PAGES = sorted(API.glob("*.md"))


@pytest.mark.parametrize(
    "name",
    [
        *sorted({*rdpkit.__all__, *rdpkit._HOMES, *EVENTS}),
        *rdpkit.mechanisms.__all__,
        *rdpkit.verification.__all__,
    ],
)
def test_a_public_name_is_on_one_page(name):
    pages = [path.name for path in PAGES for one in full_names(path) if one.endswith(f".{name}")]
    assert len(pages) == 1, f"{name} is on {pages or 'no page of docs/reference/api'}"


def test_nothing_is_described_twice():
    counts = Counter(name for path in DOCS.rglob("*.md") for name in full_names(path))
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_says_when_to_use_it(path):
    first = path.read_text(encoding="utf-8").split("\n\n")[1]
    assert path.stem == "index" or first.startswith("For ")


def test_the_overview_names_every_page():
    overview = (API / "index.md").read_text(encoding="utf-8")
    for path in PAGES:
        assert path.stem == "index" or f"]({path.name})" in overview
