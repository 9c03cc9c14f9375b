"""The page of the zoo says what its entries say."""

from pathlib import Path

import pytest

pytest.importorskip("opacus")

from rdpkit.verification.training import zoo

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "training-zoo.md"


def row(entry):
    kinds = ", ".join(f"`{kind.value}`" for kind in entry.kinds)
    texts = (entry.mistake, entry.correction, entry.check, kinds, entry.style, entry.seen_in)
    return f"| `{entry.name}` | " + " | ".join(texts) + " |"


def test_the_page_has_a_row_for_each_entry():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [row(entry) for entry in zoo.ENTRIES.values()]


def test_the_page_counts_them():
    assert f"{len(zoo.ENTRIES)} mistakes" in PAGE.read_text()
