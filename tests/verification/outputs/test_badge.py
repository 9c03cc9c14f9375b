"""The badge: words and colours, as a picture and as JSON."""

import dataclasses
import json
from xml.etree import ElementTree as Xml

import pytest

from rdpkit.verification.auditing.rules import DEFAULT, FailOn
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.badge import badge_json, badge_svg
from tests.verification.finding_examples import finding, one_of_each, refuted, unproven


def approximate():
    found = refuted("a")
    claim = dataclasses.replace(found.claim, approximation="by a central limit theorem")
    return dataclasses.replace(found, claim=claim)


@pytest.mark.parametrize(
    ("findings", "words", "message", "colour"),
    [
        ([], ["refuted"], "none", "lightgrey"),
        ([finding(), finding("b")], ["refuted"], "2 sound", "brightgreen"),
        ([finding(), unproven()], ["refuted"], "1 unproven, 1 sound", "yellow"),
        ([finding(), unproven()], ["unproven"], "1 unproven, 1 sound", "red"),
        ([refuted(), finding()], ["refuted"], "1 refuted, 1 sound", "red"),
        ([refuted(), finding()], ["nothing"], "1 refuted, 1 sound", "yellow"),
        ([finding()], ["slack>1.05"], "1 slack", "red"),
        ([approximate(), finding()], ["nothing"], "1 approximation, 1 sound", "yellow"),
    ],
)
def test_words_and_colour(findings, words, message, colour):
    found = json.loads(badge_json(AuditResult(findings, FailOn.parse(words))))
    assert found == {
        "schemaVersion": 1,
        "label": "privacy claims",
        "message": message,
        "color": colour,
        "isError": colour == "red",
    }


def test_the_picture_says_the_same_to_a_screen_reader():
    root = Xml.fromstring(badge_svg(AuditResult(one_of_each(), DEFAULT)))
    name = "{http://www.w3.org/2000/svg}"
    title = root.find(f"{name}title").text
    assert root.get("role") == "img"
    assert root.get("aria-label") == title
    assert title == "privacy claims: 1 refuted, 2 unproven, 1 sound"
    texts = [text.text for text in root.iter(f"{name}text")]
    assert ": ".join(texts) == title
    widths = [float(rect.get("width")) for rect in root.iter(f"{name}rect")]
    assert widths[1] + widths[2] == widths[0] == float(root.get("width"))


def test_there_is_nothing_in_it_that_runs_or_loads():
    text = badge_svg(AuditResult(one_of_each(), DEFAULT))
    assert "script" not in text
    assert "href" not in text
