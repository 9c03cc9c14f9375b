"""The report in a browser: filters, curves, keyboard, a phone, and hostile text that stays text."""

from __future__ import annotations

import shutil
import warnings

import pytest

from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.html import curves, page
from tests.verification.many_claims import many_claims
from tests.verification.outputs.test_html import CLAIMS, HOSTILE, provenance

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium and chromedriver"),
    # One browser for all of them.
    pytest.mark.xdist_group("browser"),
    # The driver's own pipes are closed when they are collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def browser():
    selenium = pytest.importorskip("selenium", reason="selenium is not installed")
    from selenium import webdriver

    assert selenium
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--window-size=1200,1000",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    findings = list(audit(loads(CLAIMS)))
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page(findings, [curves(f.claim) for f in findings], provenance()))
    return path.as_uri()


def names(browser):
    """What the claims that can be seen are called, in the order in which they stand."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.claim .id')].filter(c => c.checkVisibility())"
        ".map(c => c.textContent)"
    )


def complaints(browser):
    """What the console says, without remarks for debugging."""
    return [e["message"] for e in browser.get_log("browser") if e["level"] != "DEBUG"]


def click(browser, selector):
    browser.find_element("css selector", selector).click()


def reset(browser):
    """The page takes up a reset once the browser has carried it out: wait for it."""
    from selenium.webdriver.support.ui import WebDriverWait

    click(browser, "button[type=reset]")
    WebDriverWait(browser, 20).until(lambda page: len(names(page)) == 4)


def test_filters_find_claims_and_say_how_many(browser, address):
    browser.get(address)
    assert len(names(browser)) == 4
    click(browser, "[name=soundness][value=sound]")
    click(browser, "[name=soundness][value=unproven]")
    refuted = names(browser)
    assert "wrong" in refuted
    assert "loose" not in refuted
    status = browser.find_element("id", "shown").text
    assert status == f"{len(refuted)} of 4 claims shown"
    reset(browser)
    browser.find_element("id", "text").send_keys("LOOSE")
    assert names(browser) == ["loose"]
    reset(browser)
    click(browser, "[name=reproduction][value=differs]")
    click(browser, "[name=reproduction][value=unnamed]")
    assert names(browser) == ["open"]
    reset(browser)
    click(browser, "#sort option[value=verdict]")
    assert names(browser) == ["wrong", "open", "loose", f"hostile {HOSTILE}"]
    assert complaints(browser) == []


def test_a_claim_opens_by_keyboard_and_shows_its_curves(browser, address):
    from selenium.webdriver.common.keys import Keys

    browser.get(address)
    summary = browser.find_element("css selector", "#claim-2 summary")
    summary.send_keys(Keys.ENTER)
    details = browser.find_element("css selector", "#claim-2 details")
    assert details.get_attribute("open") is not None
    assert "Counterexample" in details.text
    # Drawn once the claim is open: two canvases with something on them, and tables beside them.
    inked = browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "setTimeout(() => done([...document.querySelectorAll('#claim-2 canvas')].map(c =>"
        " c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))), 200)"
    )
    assert inked == [True, True]
    assert len(browser.find_elements("css selector", "#claim-2 .scroll tbody tr")) == 34 + 21
    for drawing in browser.find_elements("css selector", "#claim-2 .curves [role=img]"):
        assert "table follows" in drawing.get_attribute("aria-label").lower()
    # Other claims draw nothing before they are asked to.
    assert not browser.find_elements("css selector", "#claim-1 canvas")
    assert complaints(browser) == []


def test_hostile_text_is_shown_and_never_run(browser, address):
    browser.get(address)
    shown = names(browser)
    assert f"hostile {HOSTILE}" in shown
    browser.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    browser.find_element("id", "text").send_keys("onerror")
    assert len(names(browser)) == 1
    assert browser.title == "A report"
    assert not browser.find_elements("css selector", "img")
    assert complaints(browser) == []
    # Even code that got in would not run: the policy of the page forbids it.
    ran = browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.ran = true';"
        "document.body.append(s); return window.ran === true"
    )
    assert ran is False
    assert any(
        "Content Security Policy" in entry["message"] for entry in browser.get_log("browser")
    )


def test_it_fits_a_phone_in_the_dark(browser, address):
    def emulate(command, **values):
        browser.execute_cdp_cmd(f"Emulation.{command}", values)

    emulate("setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    emulate("setEmulatedMedia", features=dark)
    try:
        browser.get(address)
        browser.execute_script(
            "document.querySelectorAll('details').forEach(d => { d.open = true; })"
        )
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 360
        red, green, blue = (
            int(part)
            for part in browser.execute_script(
                "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"
            )
        )
        assert max(red, green, blue) < 64
        assert complaints(browser) == []
    finally:
        emulate("clearDeviceMetricsOverride")
        emulate("setEmulatedMedia", features=[])


def test_every_control_has_a_name_and_every_picture_too(browser, address):
    browser.get(address)
    unnamed = browser.execute_script(
        "return [...document.querySelectorAll('input, select, button')].filter(e =>"
        " !(e.labels && e.labels.length && e.labels[0].textContent.trim())"
        " && !e.textContent.trim())"
        ".concat([...document.querySelectorAll('[role=img]')].filter(e =>"
        " !e.getAttribute('aria-label'))).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert browser.execute_script("return document.documentElement.lang") == "en"
    assert browser.find_element("id", "shown").get_attribute("role") == "status"


@pytest.mark.slow
def test_a_thousand_claims_are_light_enough(browser, tmp_path):
    claims = loads(many_claims(1000))
    findings = list(audit(claims, bounds="rdp", workers=2))
    path = tmp_path / "report.html"
    path.write_text(page(findings, [curves(claim) for claim in claims], provenance()))
    assert path.stat().st_size < 6_000_000
    browser.get(path.as_uri())
    assert len(names(browser)) == 1000
    browser.find_element("id", "text").send_keys("gaussian-10")
    assert 0 < len(names(browser)) < 1000
    assert complaints(browser) == []
