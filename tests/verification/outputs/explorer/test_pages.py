"""The explorer's pages: what is on them, that nothing hostile becomes HTML, and names that stay."""

from __future__ import annotations

import dataclasses
import html
import json
import re

import pytest

from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.findings import ClaimVerdict, Side, Soundness
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.claims.claim import Work
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.explorer import (
    Audit,
    Explorer,
    check_folder,
    pages,
    works_of,
    write_folder,
)
from rdpkit.verification.outputs.explorer.pages import Citation, anchor
from rdpkit.verification.outputs.html import AuditedFile
from rdpkit.verification.outputs.words import instead, sentence
from tests.verification.finding_examples import (
    HOSTILE,
    claim,
    finding,
    hostile,
    one_of_each,
    refuted,
)
from tests.verification.outputs.test_html import CLAIMS, Tags

AUDIT = Audit(version="1.2", date="2026-11-22")


def file(path="folder/a b.claims.toml", **changes):
    given = {"path": path, "name": path, "digest": "0" * 64, "audit": "rdpkit audit x"}
    return AuditedFile(**{**given, **changes})


def explorer(findings, **changes):
    given = {
        "title": "Claims",
        "works": works_of(findings, [file(name) for name in {f.claim.origin: 0 for f in findings}]),
        "audit": AUDIT,
        "versions": versions(),
    }
    return Explorer(**{**given, **changes})


def explorer_of(text):
    """The explorer of the claims of one file."""
    findings = list(audit(loads(text, origin="claims.toml")))
    one = file("claims.toml", audit="rdpkit audit claims.toml")
    return explorer(findings, works=works_of(findings, [one]))


@pytest.fixture(scope="module")
def made():
    return dict(pages(explorer_of(CLAIMS)))


def test_every_claim_has_a_page_and_a_place_that_the_list_names(made):
    assert set(made) == {"index.html", "works/claims.html", "explorer.json"}
    listed = json.loads(made["explorer.json"])
    assert listed["files"] == list(made)
    assert len(listed["claims"]) == 4
    ids = {a["id"] for _, a in Tags(made["works/claims.html"]).tags if "id" in a}
    links = [a["href"] for _, a in Tags(made["index.html"]).tags if "href" in a]
    for one in listed["claims"]:
        page, _, place = one["page"].partition("#")
        assert page in made
        assert place in ids
        assert one["page"] in links
    inside = [a["href"] for _, a in Tags(made["works/claims.html"]).tags if "href" in a]
    assert {link[1:] for link in inside if link.startswith("#")} - {"main"} <= ids


def test_the_verdict_is_said_in_words_with_its_numbers(made):
    text = html.unescape(re.sub(r"<[^>]+>", "", made["works/claims.html"]))
    assert "False. The source says epsilon 0.1; two neighbouring data sets leak at least" in text
    assert "What is true instead: epsilon 0." in text
    assert "at delta 1e-05 is true of the same release." in text
    assert "True, and too cautious. The source says epsilon 3.0; epsilon 0." in text
    assert "What is missing in what was read\n\nrecord_norm" in text
    assert "rdpkit audit claims.toml --explain wrong" in text


def test_pages_run_no_script_but_their_own_and_load_nothing(made):
    for name, content in made.items():
        if not name.endswith(".html"):
            continue
        elements = Tags(content).tags
        policy = next(a["content"] for tag, a in elements if a.get("http-equiv"))
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not any("src" in attributes for _, attributes in elements)
        assert not any(key.startswith("on") for _, a in elements for key in a)
        assert not any("style" in attributes for _, attributes in elements)
        for address in (a["href"] for _, a in elements if "href" in a):
            assert re.match(r"https?://|#|data:,$|[a-z./-]+\.html(#|$)", address), address


def test_nothing_hostile_becomes_an_element():
    plain = dict(pages(explorer([refuted("x", notes=("n",))])))
    bad = dict(pages(explorer(hostile())))
    kinds = [sorted({tag for tag, _ in Tags(p["index.html"]).tags}) for p in (plain, bad)]
    assert kinds[0] == kinds[1]
    assert json.loads(bad.pop("explorer.json"))["claims"][0]["id"] == HOSTILE[0]
    for content in bad.values():
        assert "<img" not in content
        assert "<script>alert" not in content
        assert "\x1b" not in content
        assert content.count("</script>") == len(re.findall("<script", content))


def test_an_address_that_is_no_page_of_the_web_is_no_link():
    for url in (
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//x",
        "https://x y",
    ):
        found = one_of_each()
        work = Work(title="A work", url=url)
        found = [
            dataclasses.replace(f, claim=dataclasses.replace(f.claim, work=work)) for f in found
        ]
        (page,) = (text for name, text in pages(explorer(found)) if name.startswith("works/"))
        assert "Source</a>" not in page
    work = Work(title="A work", url="https://example.org/a?b=1&c=2")
    found = [dataclasses.replace(f, claim=dataclasses.replace(f.claim, work=work)) for f in found]
    (page,) = (text for name, text in pages(explorer(found)) if name.startswith("works/"))
    assert 'href="https://example.org/a?b=1&amp;c=2"' in page


def test_names_never_change_and_never_meet():
    assert anchor("dpcda-theorem1-l128-t10000") == "claim-dpcda-theorem1-l128-t10000"
    assert anchor("a b") != anchor("a-b") != anchor("a/b") != anchor("a b")
    assert re.fullmatch(r"[A-Za-z0-9._-]+", anchor(HOSTILE[0]))
    names = ["one/claims.toml", "two/claims.toml", "con.toml", "../..", "A b.claims.toml", "é.toml"]
    found = [finding("x", origin=name) for name in names]
    works = works_of(found, [file(name) for name in names])
    slugs = [work.slug for work in works]
    assert slugs[0] == "claims"
    assert len(set(slugs)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*", slug) for slug in slugs)
    with pytest.raises(ValueError, match=r"Expected files to hold 'three.toml'"):
        works_of([finding("x", origin="three.toml")], [file(names[0])])


def test_sentences_of_every_verdict():
    said = {one.verdict: sentence(one) for one in one_of_each()}
    assert list(said) == [ClaimVerdict.TRUE, ClaimVerdict.FALSE, ClaimVerdict.OPEN, "incomplete"]
    assert said[ClaimVerdict.OPEN] == (
        "Open. The source says epsilon 0.995; epsilon 1.00000 is proven, and two neighbouring data "
        "sets leak at least 0.990000."
    )
    sound, wrong, unproven, missing = one_of_each()
    assert instead(sound) == instead(missing) == ""
    assert instead(wrong) == "epsilon 1.0 at delta 1e-05 is true of the same release."
    assert instead(unproven) == "epsilon 1.000 at delta 1e-05 is true of the same release."


def test_a_claim_is_shown_with_all_its_digits_and_so_is_what_is_just_above_it():
    said, above = "1.0677358464697515", 1.0677358464697577
    upper = Side(bound="pld-upper", epsilon=above, computed=(1.067, above), rigorous=True)
    claimed = claim(epsilon=said, delta=1.6657508770018431e-06)
    found = finding(claim=claimed, upper=upper, soundness=Soundness.UNPROVEN)
    assert f"epsilon {said};" in sentence(found)
    assert "epsilon 1.0677358464697" in instead(found)
    assert "at delta 1.6657508770018431e-06 is true" in instead(found)
    upper = dataclasses.replace(upper, epsilon=1.0000000000000016, computed=(0.999, 1 + 2e-15))
    found = dataclasses.replace(found, claim=claim(epsilon="1.0"), upper=upper)
    assert "1.00000 is proven" not in sentence(found)
    assert instead(found).startswith("epsilon 1.001 ")


def test_what_is_attained_has_as_many_digits_as_show_that_the_claim_is_false():
    wrong = refuted(
        claim=claim(epsilon="12.595"),
        lower=Side(bound="pair-lower", epsilon=12.5952),
        upper=Side(bound="pld-upper", epsilon=12.5953),
    )
    assert sentence(wrong) == (
        "False by its last digit alone. The source says epsilon 12.595; two neighbouring data "
        "sets leak at least 12.5952."
    )


def test_a_citation_has_all_that_repeats_the_audit():
    (work,) = works_of(one_of_each(), [file()])
    cited = Citation.of_work(work, AUDIT, "4 claims_{%}")
    for part in ("rdpkit 1.2", "2026-11-22", "0" * 64, "rdpkit audit x"):
        assert part in cited.as_text()
        assert part in cited.as_bibtex()
    assert r"4 claims\_\{\%\}" in cited.as_bibtex()
    assert cited.as_bibtex().startswith("@misc{rdpkit-a-b-")


def test_pages_are_the_same_every_time():
    first, second = (dict(pages(explorer(one_of_each()))) for _ in range(2))
    assert first == second


def test_the_folder_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out"
    sizes = write_folder(path, pages(explorer(one_of_each())))
    assert {p.relative_to(path).as_posix() for p in path.rglob("*.*")} == set(sizes)
    before = (path / "index.html").read_bytes()

    def broken():
        yield "index.html", "new"
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_folder(path, broken())
    assert (path / "index.html").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    write_folder(path, pages(explorer(one_of_each(), title="Others")))
    assert b"Others" in (path / "index.html").read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    check_folder(tmp_path)
    check_folder(tmp_path / "new")
    with pytest.raises(ValueError, match="in a folder that exists"):
        check_folder(tmp_path / "no" / "new")
    path = tmp_path / "out"
    write_folder(path, pages(explorer(one_of_each())))
    check_folder(path)
    (path / "works" / "mine.txt").write_text("notes")
    with pytest.raises(ValueError, match=r"which holds 'works/mine.txt'"):
        write_folder(path, pages(explorer(one_of_each())))
    assert (path / "works" / "mine.txt").read_text() == "notes"
    other = tmp_path / "photos"
    other.mkdir()
    (other / "explorer.json").write_text('{"format": "else", "files": ["explorer.json"]}')
    with pytest.raises(ValueError, match=r"which holds 'explorer.json'"):
        check_folder(other)
    with pytest.raises(ValueError, match="to be a folder"):
        check_folder(other / "explorer.json")
