"""The drawing of a region: a bar a row, with its sentence, and nothing of a claim as markup."""

import itertools
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.verification.auditing.regions.region import Region
from rdpkit.verification.outputs.html.region_drawing import region_drawing
from tests.verification.auditing.regions.test_sentences import region
from tests.verification.finding_examples import HOSTILE

BANDS = [("true", 1, 1200), ("open", 1201, 1299), ("refuted", 1300, 1e6)]


def drawn(found):
    return ElementTree.fromstring(f"<div>{region_drawing(found)}</div>")


def rectangles(bar):
    found = []
    for one in bar.iter("rect"):
        left = float(one.get("x").rstrip("%"))
        found.append((one.get("class"), left, left + float(one.get("width").rstrip("%"))))
    return found


def test_a_bar_for_each_row_with_its_sentence():
    found = region(((("delta", 1e-5),), BANDS), ((("delta", 1e-6),), BANDS[1:]))
    bars = [bar for bar in drawn(found).iter("svg") if bar.get("role") == "img"]
    assert [bar.get("aria-label") for bar in bars] == list(found.sentences)
    (opened, true, refuted), (_, also_refuted) = map(rectangles, bars)
    assert [one[0] for one in (opened, true, refuted)] == [
        *("band-open", "band-true", "band-refuted")
    ]
    # The open band lies behind the others, and is seen between them.
    assert opened[1] == true[1]
    assert true[2] < refuted[1]
    assert refuted[2] == pytest.approx(opened[2])
    assert also_refuted[0] == "band-refuted"


def test_what_was_not_looked_at_is_not_drawn():
    found = region(((), [("true", 1, 300), ("refuted", 301, 60_000)]))
    (bar,) = [bar for bar in drawn(found).iter("svg") if bar.get("role") == "img"]
    assert max(right for _, _, right in rectangles(bar)) < 99.0


@given(
    st.lists(st.floats(1e-40, 1e40), min_size=2, max_size=4, unique=True).map(sorted),
    st.sampled_from(["true", "open", "refuted"]),
)
def test_any_bands_are_inside_of_the_drawing(ends, first):
    verdicts = ["true", "open", "refuted"]
    start = verdicts.index(first)
    bands = [
        (verdicts[(start + place) % 3], low, high)
        for place, (low, high) in enumerate(itertools.pairwise(ends))
    ]
    found = region(((), bands), whole=False, search=("noise_std",))
    for bar in drawn(found).iter("svg"):
        for _, left, right in rectangles(bar):
            assert -0.01 <= left <= right <= 100.3


def test_nothing_of_a_claims_file_is_markup():
    for text in HOSTILE:
        found = region(((("x", text),), BANDS), because=text)
        content = str(region_drawing(found))
        tags = set(re.findall(r"<(\w+)", content))
        assert tags <= {"figure", "ul", "li", "p", "svg", "rect", "text", "figcaption"}
    none = Region(mechanism="x", search=(), whole=False, rows=(), because=HOSTILE[0])
    assert "<script" not in region_drawing(none)
