"""The report: what is on the page, that nothing hostile becomes HTML, and the command."""

import html
import json
import math
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.remedies import remedies
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.html import AuditedFile, Provenance, curves, page
from rdpkit.verification.outputs.html.claim_view import slugs
from rdpkit.verification.outputs.html.figures import Axis
from rdpkit.verification.outputs.news import sentences
from tests.cli import commands
from tests.verification.claim_files import text

HOSTILE = (
    "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
)
CLAIMS = "\n".join(
    [
        text(id='"loose"', epsilon="3.0"),
        text(id='"wrong"', epsilon="0.1", bound='"gaussian"'),
        text(id='"open"', parameters={"noise_std": "5.0"}, missing='["record_norm"]'),
        text(
            id=json.dumps("hostile " + HOSTILE),
            source=json.dumps(HOSTILE + "' \" onfocus=alert(1) {{ 7*7 }} \\u202e <!--"),
            notes=json.dumps([HOSTILE]),
        ),
    ]
)


def provenance(**changes):
    given = {
        "title": "A report",
        "made": "then",
        "files": [AuditedFile(path="c", name="claims.toml", digest="0" * 64, audit="")],
        "versions": versions(),
        "settings": {"bounds": "all"},
    }
    return Provenance(**{**given, **changes})


@pytest.fixture(scope="module")
def findings():
    return list(audit(loads(CLAIMS)))


@pytest.fixture(scope="module")
def content(findings):
    return page(findings, [curves(f) for f in findings], provenance())


class Tags(HTMLParser):
    """Every tag with its attributes, and the text outside of scripts and styles."""

    def __init__(self, content):
        super().__init__()
        self.tags, self.words, self.inside = [], [], None
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.words.append(data)

    def handle_endtag(self, tag):
        self.inside = None


def test_hostile_text_is_shown_and_is_no_tag(content):
    tags = Tags(content)
    assert HOSTILE in "".join(tags.words)
    assert not [tag for tag, _ in tags.tags if tag == "img"]
    assert not [a for _, attributes in tags.tags for a in attributes if a.startswith("on")]
    # One script, and it is the project's own.
    assert [attributes for tag, attributes in tags.tags if tag == "script"] == [{}]
    # Template marks in a claim are text, and characters that turn it around are spelled out.
    assert "{{ 7*7 }}" in html.unescape(content)
    assert "\u202e" not in content


def test_the_page_loads_nothing_and_its_policy_says_so(content):
    assert "default-src &#39;none&#39;" in content or "default-src 'none'" in content
    attributes = [a for _, a in Tags(content).tags]
    for name in ("src", "href", "action", "data-src", "poster", "srcset"):
        links = [a[name] for a in attributes if name in a]
        assert all(link.startswith(("#", "data:")) for link in links), links
    assert not re.search(r"@import|url\(", content)


def test_every_number_and_verdict_is_on_the_page(findings, content):
    words = " ".join(" ".join(Tags(content).words).split())
    wrong = findings[1]
    for line in wrong.refutation:
        assert line in words
    for finding in findings:
        assert finding.soundness.value in words
        for side in (finding.published, finding.upper, finding.lower):
            assert side is None or side.bound in words
    for name, value in versions().items():
        assert name in words
        assert value in words
    assert "not given by the source" in words


def test_the_worst_claims_come_first_and_the_news_before_them(findings, content):
    tags = Tags(content)
    words = " ".join(" ".join(tags.words).split())
    for sentence in sentences(findings):
        assert sentence in words
    ids = [a["id"] for tag, a in tags.tags if tag == "h3"]
    # The hostile one claims little less than the loose one.
    assert ids[:2] == ["claim-wrong", "claim-open"]
    assert set(ids[2:]) == {"claim-loose", "claim-" + slugs(["hostile " + HOSTILE])[0]}
    # Each is still found by its place in the file.
    places = [a["id"] for tag, a in tags.tags if tag == "li" and "data-number" in a]
    assert places[:2] == ["claim-2", "claim-3"]
    known = [a["id"] for _, a in tags.tags if "id" in a]
    assert len(known) == len(set(known))


def test_every_word_that_can_be_pressed_is_explained(content):
    tags = [a for _, a in Tags(content).tags]
    pressed = {a["popovertarget"] for a in tags if "popovertarget" in a}
    explained = {a["id"] for a in tags if "popover" in a}
    assert pressed <= explained
    assert {"word-refuted", "word-slack", "word-lower", "word-upper"} <= explained
    assert {"word-published", "word-claimed", "word-delta", "word-adjacency"} <= explained


def test_what_mends_a_claim_is_on_the_page(findings, content):
    words = " ".join(" ".join(Tags(content).words).split())
    (remedy, *_) = remedies(findings[1])
    assert remedy.sentence in words
    assert all(line in words for line in remedy.lines)


@settings(max_examples=40)
@given(st.lists(st.text(max_size=8), max_size=8))
def test_anchors_are_their_own_whatever_the_ids_are(ids):
    found = slugs(ids)
    assert len({slug.lower() for slug in found}) == len(ids)
    for slug in found:
        assert re.fullmatch(r"[A-Za-z0-9._-]+", slug)
        # claim-12 is the twelfth claim, whatever it is called.
        assert not slug.isdecimal()


def test_a_usual_id_is_its_own_anchor():
    assert slugs(["dpcda-theorem1-l128-t10000", "a b", "a b", "12"]) == [
        "dpcda-theorem1-l128-t10000",
        "a-b",
        "a-b-2",
        "id-12",
    ]


def test_places_on_the_axis_keep_the_order_of_the_numbers():
    axis = Axis.around([0.02, 5.0, math.inf, 0.0])
    assert (axis.low, axis.high, axis.zero, axis.infinite) == (-2, 1, True, True)
    places = [float(axis.place(v)[:-1]) for v in (0.0, 0.02, 0.5, 5.0, math.inf)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, 100.0)
    # 0 and infinity have places of their own, which no other number takes.
    assert places[0] < float(axis.place(0.01)[:-1]) < float(axis.place(10.0)[:-1]) < places[-1]
    assert Axis.around([0.01, 10.0]).place(0.1) == "33.33%"
    assert [text for _, text, _ in axis.ticks] == ["0", "0.01", "0.1", "1", "10", "\N{INFINITY}"]
    assert Axis.around([]).ticks


def test_the_command_writes_a_page_and_the_same_one_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(CLAIMS)
    pages = []
    for _ in range(2):
        options = ["-o", "r.html", "--jobs", "1", "--cache", "c.jsonl", "--bounds", "rdp"]
        done = commands.run("audit", "a.toml", *options)
        assert done.exit_code == 1, done.output  # a claim differs from its formula
        pages.append((tmp_path / "r.html").read_text())
    assert pages[0] == pages[1]
    assert "2023-11-14 22:13 UTC" in pages[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.toml", "c.jsonl", "r.html"]
