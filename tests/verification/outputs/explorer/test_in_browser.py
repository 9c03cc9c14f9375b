"""The explorer in a browser, from a disk and with no network: links, filters, copies."""

from __future__ import annotations

import dataclasses

import pytest

from rdpkit.formats.files import write_whole
from rdpkit.verification.outputs.explorer import pages, write_folder
from rdpkit.verification.outputs.explorer.pages import Citation
from rdpkit.verification.outputs.words import statement
from tests.browser import IN_BROWSER, Browser, assert_usable
from tests.verification.claim_files import text
from tests.verification.outputs.explorer.test_pages import CLAIMS, explorer_of
from tests.verification.outputs.test_html import HOSTILE

pytestmark = IN_BROWSER

TRAINING = """
[work]
title = "Training"
year = 2016
kind = "training"
url = "https://example.org/training"
""" + text(
    id='"trained"', mechanism='"repeated"', epsilon="2.0",
    parameters="{count = 50, event = {mechanism = 'gaussian', noise_std = 20, record_norm = 1}}",
)  # fmt: skip


@pytest.fixture(scope="module")
def made():
    one, other = explorer_of(CLAIMS), explorer_of(TRAINING)
    (work,) = other.works
    works = [*one.works, dataclasses.replace(work, slug="training")]
    return dataclasses.replace(one, works=works)


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "out"
    write_folder(path, pages(made))
    return path


def shown(browser):
    """The claims of the first page that can be seen."""
    return browser.run(
        "return [...document.querySelectorAll('#claims tbody tr')]"
        ".filter(row => row.checkVisibility()).map(row => row.cells[0].textContent)"
    )


def choose(browser, field, value):
    browser.run(
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event('input', {bubbles: true}));"
        "field.dispatchEvent(new Event('change', {bubbles: true}));",
        field,
        value,
    )


def test_filters_and_their_links(browser, folder):
    browser.open(folder / "index.html")
    assert len(shown(browser)) == 5
    choose(browser, "verdict", "refuted")
    assert shown(browser) == ["wrong"]
    assert browser.find("#shown").text == "1 of 2 works, 1 of 5 claims"
    address = browser.run("return location.href")
    browser.open(address)
    assert shown(browser) == ["wrong"]
    browser.click("#filters button")
    browser.settle()
    choose(browser, "kind", "training")
    assert shown(browser) == ["trained"]
    choose(browser, "kind", "")
    choose(browser, "text", "LOOSE")
    assert shown(browser) == ["loose"]
    choose(browser, "text", "")
    choose(browser, "sort", "new")
    assert shown(browser)[0] == "trained"
    assert f"hostile {HOSTILE}" in shown(browser)
    assert browser.complaints() == []
    assert browser.driver.title == "Claims"


def test_a_claim_is_cited_as_its_work_is(browser, made, folder):
    (work,) = (one for one in made.works if one.slug == "training")
    browser.open(folder / "works" / "training.html")
    browser.open_all()
    (finding,) = work.findings
    said = Citation.of_work(work, made.audit, f"sound: {statement(finding.claim)}")
    said = dataclasses.replace(
        said,
        key=f"{said.key}-trained",
        title=f"{said.title}: the claim trained",
        command=f"{said.command} --explain trained",
    )
    blocks = browser.run(
        "return [...document.querySelectorAll('.cite pre')].map(b => b.textContent)"
    )
    assert blocks == [said.as_text(), said.as_bibtex()]
    browser.command(
        "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
    )
    browser.click(".cite pre + p button")
    browser.settle()
    assert browser.find(".cite pre + p .copied").text == "copied"
    # What the page of a hostile claim says is text, too.
    browser.open(folder / "works" / "claims.html")
    browser.open_all()
    assert browser.driver.title == "claims.toml: Claims"
    assert browser.complaints() == []


def test_everything_is_there_without_scripts(browser, folder):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(folder / "works" / "training.html")
        shown_text = browser.find("body").text
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    for part in ("True", "claimed", "proven", "Cite this audit"):
        assert part in shown_text
    assert not browser.driver.find_elements("css selector", "input")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", "works/training", "works/claims"])
def test_everybody_can_use_it(browser, folder, name):
    def prepare(browser: Browser) -> None:
        browser.open_all()
        browser.settle()

    kept = assert_usable(
        browser,
        folder / f"{name}.html",
        name=f"explorer-{name.rsplit('/', 1)[-1]}",
        labels=".scale span, .sandwich text",
        prepare=prepare,
    )
    assert len(kept) == 6
    assert all(picture.stat().st_size > 5000 for picture in kept)


@pytest.mark.thorough
def test_one_size_and_scheme_of_each_page(browser, folder):
    # The others are in the slow suite.
    for name in ("index", "works/training"):
        assert_usable(
            browser,
            folder / f"{name}.html",
            name=f"explorer-first-{name.rsplit('/', 1)[-1]}",
            sizes=("phone",),
            schemes=("dark",),
        )


def test_a_title_is_text(browser, made, tmp_path):
    page = next(page for name, page in pages(dataclasses.replace(made, title=HOSTILE)))
    write_whole(tmp_path / "index.html", page)
    browser.open(tmp_path / "index.html")
    assert browser.find("h1").text == HOSTILE
    assert browser.complaints() == []
