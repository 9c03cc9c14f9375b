"""Markdown and badges: verdicts, a row a claim, colours, and text that stays text."""

import dataclasses
import html
import json
import re
from xml.etree import ElementTree as Xml

import pytest

from rdpkit.formats.text import escaped_markdown
from rdpkit.verification.auditing.baseline import BaselineComparison, Change, Moved
from rdpkit.verification.auditing.rules import DEFAULT, FailOn
from rdpkit.verification.outputs import AuditResult, summaries
from rdpkit.verification.outputs.summaries import badge_json, badge_svg
from tests.verification.finding_examples import (
    HOSTILE,
    finding,
    hostile,
    one_of_each,
    refuted,
    unproven,
)


def summary(*result):
    return summaries.summary(AuditResult(*result))


def rows(text):
    return [line for line in text.splitlines() if line.startswith("| :")]


def test_a_row_a_claim_those_that_fail_first():
    text = summary(one_of_each(), DEFAULT)
    assert "**1 of 4 fails.**" in text
    found = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows(text)]
    assert [(row[0], row[1]) for row in found] == [
        (":x:", "r"),
        (":white_check_mark:", "a"),
        (":warning:", "u"),
        (":warning:", "m"),
    ]
    assert html.unescape(found[0][2]) == "epsilon 0.5 at delta 1e-05 (replace-one)"
    assert found[0][3:] == ["0.9900", "1.000", "0.5", "differs", "refuted"]


def test_a_failure_says_where_it_is_and_what_to_change():
    text = html.unescape(summary([refuted()], DEFAULT))
    assert "### r" in text
    assert "folder/a b.claims.toml, line 7" in text
    assert "- epsilon 0.5 at delta 1e-05 (replace-one) is refuted" in text
    assert "- what to change: raise the claim: epsilon = 1.0" in text


def test_all_pass():
    assert "All pass." in summary([finding()], DEFAULT)
    # Claims that are false break no rule of an audit that was asked for none, and pass nothing.
    page = summary(one_of_each(), FailOn.parse(["nothing"]))
    assert "All pass." not in page
    assert "None breaks a rule that this audit was asked for." in page


def test_hostile_text_is_text():
    text = summary(hostile(), DEFAULT)
    assert len(rows(text)) == len(HOSTILE)
    for row in rows(text):
        assert row.count("|") == 9
    assert "<" not in text
    assert "](" not in text
    assert "\x1b" not in text
    assert "@" not in text
    assert "www." not in text
    assert "://" not in text
    assert not re.search(r"(?<!:x):x:(?! \|)", text)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_escaped_reads_the_same(text):
    shown = html.unescape(escaped_markdown(text))
    expected = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    assert shown == expected


def test_long_text_is_cut():
    assert len(escaped_markdown("x" * 5000)) == 300


@pytest.mark.thorough
def test_very_many_claims_fit_into_a_summary():
    text = summary([finding(f"claim {n}") for n in range(5000)], DEFAULT)
    assert len(text.encode()) < 200_000
    assert "And 4700 more." in text
    many = summary([refuted(f"r{n}") for n in range(5000)], DEFAULT)
    assert len(many.encode()) < 1_000_000
    assert "more that fail" in many


def test_what_moved_is_a_table():
    moved = Moved(what="upper", before="1", now="2", worse=True)
    text = summary(
        [finding()],
        DEFAULT,
        BaselineComparison(changes=(Change(id="<b>", moved=(moved,)),)),
    )
    assert "**Worse than the baseline.**" in text
    assert "| &#60;b&#62; | :x: upper | 1 | 2 |" in text
    nothing = summary([finding()], DEFAULT, BaselineComparison(changes=()))
    assert "Not worse than the baseline." in nothing


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
